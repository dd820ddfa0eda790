// SPDX-License-Identifier: GPL-2.0-or-later
//! Plain language: avoided words in prose, comment statistics, type names, and passages for readers.
//!
//! The rules are in STYLE.md. `cargo xtask tidy` runs [`problems`]; `cargo xtask language` prints numbers.

mod code_spans;
mod commits;
mod draw;
mod extract;
mod local_names;
mod names;
mod pages;
mod statistics;
pub(crate) mod words;

use anyhow::{Context, Result};
use clap::{Args as ClapArgs, Subcommand};
use extract::Passage;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// File with exceptions, and with what remains by area.
const SETTINGS: &str = "xtask/language.toml";
/// List of avoided words and its tests, which contain them.
const WORDS: [&str; 3] = ["xtask/src/language/words.rs", "xtask/src/language/local_names.rs", "xtask/words.toml"];
/// Directories without sources of the project.
const IGNORED: [&str; 5] = ["target", "fuzz", "runs", "__pycache__", "node_modules"];

#[derive(ClapArgs)]
pub(crate) struct LanguageArgs {
    #[command(subcommand)]
    what: LanguageCommand,
}

#[derive(Subcommand)]
enum LanguageCommand {
    /// Print every avoided word with its place.
    Words {
        /// Only files whose path begins with this.
        #[arg(default_value = "")]
        path: String,
    },
    /// Print comment lines per 100 lines of code, and the share of short doc comments, by crate.
    Comments,
    /// Print type names that are defined more than once in a crate, and predicates that take `&mut`.
    Names,
    /// Print the words of each page and of each part of the book, without generated blocks.
    Pages,
    /// Draw passages for readers, ten each from pages, messages, comments and the changelog.
    Draw {
        /// Seeds, for example hashes of commits.
        #[arg(required = true)]
        seeds: Vec<String>,
    },
}

/// Exceptions and remaining numbers, from `xtask/language.toml`.
struct Settings {
    /// Commits after this one are checked.
    commits_since: String,
    exceptions: Vec<WordException>,
    /// Number of avoided words that an area may still have. It may only fall.
    remaining: BTreeMap<String, usize>,
    /// Names of the kernel and of other programs that code spans contain.
    names_elsewhere: BTreeSet<String>,
}

/// A use of an avoided word that stays.
struct WordException {
    path: String,
    word: String,
}

/// A problem and its file.
struct LocatedProblem {
    path: String,
    problem: words::Problem,
}

pub(crate) fn run(root: &Path, args: &LanguageArgs) -> Result<()> {
    match &args.what {
        LanguageCommand::Words { path } => {
            let located: Vec<LocatedProblem> = located(&files(root)?, &Settings::read(root)?);
            let wanted: Vec<&LocatedProblem> = located.iter().filter(|place| place.path.starts_with(path)).collect();
            wanted.iter().for_each(|place| println!("{}", place.sentence()));
            println!("{} avoided words", wanted.len());
        }
        LanguageCommand::Comments => statistics::print(&files(root)?),
        LanguageCommand::Names => names::print(&files(root)?)?,
        LanguageCommand::Pages => pages::print(&files(root)?),
        LanguageCommand::Draw { seeds } => draw::print(&files(root)?, seeds),
    }
    Ok(())
}

/// Returns one sentence per problem: areas with more avoided words than remain allowed, exceptions without use, names in code
/// spans that do not exist, commit subjects. `commands` are those of `cargo xtask`.
pub(crate) fn problems(root: &Path, commands: &[String]) -> Result<Vec<String>> {
    let settings = Settings::read(root)?;
    let files = files(root)?;
    let mut by_area: BTreeMap<String, Vec<LocatedProblem>> = BTreeMap::new();
    for place in located(&files, &settings) {
        by_area.entry(area(&place.path).to_owned()).or_default().push(place);
    }
    let mut wrong = Vec::new();
    for (area, places) in &by_area {
        let nr_allowed = settings.remaining.get(area).copied().unwrap_or(0);
        if places.len() > nr_allowed {
            wrong.extend(places.iter().take(20).map(LocatedProblem::sentence));
            wrong.push(format!("{area}: {} avoided words, {nr_allowed} are allowed", places.len()));
        }
    }
    for (area, nr_allowed) in &settings.remaining {
        let nr_found = by_area.get(area).map_or(0, Vec::len);
        if nr_found < *nr_allowed {
            wrong.push(format!(
                "{SETTINGS}: {area} has {nr_found} avoided words left: lower its number from {nr_allowed}"
            ));
        }
    }
    wrong.extend(code_spans::problems(root, &files, &settings, commands)?);
    wrong.extend(local_names::problems(&files));
    wrong.extend(commits::problems(root, &settings.commits_since));
    Ok(wrong)
}

impl LocatedProblem {
    fn sentence(&self) -> String {
        format!("{}:{}: \"{}\"; {}", self.path, self.problem.line, self.problem.found, self.problem.hint)
    }
}

impl Settings {
    fn read(root: &Path) -> Result<Self> {
        let text = fs::read_to_string(root.join(SETTINGS)).context(SETTINGS)?;
        let table: toml::Table = text.parse().context(SETTINGS)?;
        let string = |table: &toml::Table, key: &str| -> Result<String> {
            let value = table.get(key).and_then(toml::Value::as_str);
            Ok(value.with_context(|| format!("{SETTINGS}: `{key}` is missing"))?.to_owned())
        };
        let mut exceptions = Vec::new();
        for exception in table.get("exceptions").and_then(toml::Value::as_array).into_iter().flatten() {
            let exception = exception.as_table().with_context(|| format!("{SETTINGS}: an exception is not a table"))?;
            string(exception, "reason")?;
            exceptions.push(WordException { path: string(exception, "path")?, word: string(exception, "word")? });
        }
        let mut remaining = BTreeMap::new();
        for (area, number) in table.get("remaining").and_then(toml::Value::as_table).into_iter().flatten() {
            let number = number.as_integer().and_then(|number| usize::try_from(number).ok());
            remaining.insert(area.clone(), number.with_context(|| format!("{SETTINGS}: `{area}` is not a number"))?);
        }
        let mut names_elsewhere = BTreeSet::new();
        for (_, names) in table.get("names_elsewhere").and_then(toml::Value::as_table).into_iter().flatten() {
            let names = names.as_array().into_iter().flatten().filter_map(toml::Value::as_str);
            names_elsewhere.extend(names.map(str::to_owned));
        }
        Ok(Self { commits_since: string(&table, "commits_since")?, exceptions, remaining, names_elsewhere })
    }
}

/// Returns every avoided word that no exception covers.
fn located(files: &[ProseFile], settings: &Settings) -> Vec<LocatedProblem> {
    let mut located = Vec::new();
    for file in files {
        for problem in file.passages.iter().flat_map(words::problems) {
            let is_exempt = |rule: &WordException| file.path.starts_with(&rule.path) && rule.word == problem.found;
            if !settings.exceptions.iter().any(is_exempt) {
                located.push(LocatedProblem { path: file.path.clone(), problem });
            }
        }
    }
    located
}

/// A file of the repository with prose.
struct ProseFile {
    path: String,
    text: String,
    passages: Vec<Passage>,
}

/// Reads all files with prose, ordered by path. Recorded data of tests, fuzz targets and hidden directories are left out.
fn files(root: &Path) -> Result<Vec<ProseFile>> {
    let enters = |name: &str, last: &str| !name.ends_with("tests/data") && !last.starts_with('.');
    let mut files = Vec::new();
    for (name, path) in entries(root, enters)? {
        if path.is_dir() || WORDS.contains(&name.as_str()) {
            continue;
        }
        let Ok(text) = fs::read_to_string(&path) else { continue };
        if let Some(passages) = extract::passages(&name, &text) {
            files.push(ProseFile { path: name, text, passages });
        }
    }
    files.sort_by(|left, right| left.path.cmp(&right.path));
    Ok(files)
}

/// Returns files and directories below the root, with their names from there. `enters` gets the name of a directory and the
/// last part of it; directories without sources of the project are never entered.
fn entries(root: &Path, enters: impl Fn(&str, &str) -> bool) -> Result<Vec<(String, PathBuf)>> {
    let (mut found, mut directories) = (Vec::new(), vec![root.to_owned()]);
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(&directory).with_context(|| directory.display().to_string())? {
            let path = entry?.path();
            let name = path.strip_prefix(root).expect("below the root").display().to_string();
            let last = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            if path.is_dir() {
                if IGNORED.contains(&last) || !enters(&name, last) {
                    continue;
                }
                directories.push(path.clone());
            }
            found.push((name, path));
        }
    }
    Ok(found)
}

/// The crate of a file, or its topmost directory, or `pages` for files at the root.
fn area(path: &str) -> &str {
    let path = path.strip_prefix("crates/").unwrap_or(path);
    path.split_once('/').map_or("pages", |(first, _)| first)
}
