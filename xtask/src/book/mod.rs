// SPDX-License-Identifier: GPL-2.0-or-later
//! The book as a static site that opens from disk, with the page of `fairlab lab` beside it.
//!
//! mdBook renders the pages. Below a code block with commands `fairlab run` and `fairlab compare`, and below a workload, the site has a
//! button that opens the same runs in the page of `fairlab lab` ([`buttons`]). A run that this page does not have gets no
//! button ([`arms`]). The sources of the book contain no buttons. `cargo xtask browser` compares the runs that buttons open with
//! native ones.

mod arms;
mod blocks;
pub(crate) mod buttons;
mod link;
mod specs;

use crate::{lab, programs};
use anyhow::{Context, Result, ensure};
use buttons::{BookPage, RunnableText, add_buttons};
use clap::Args as ClapArgs;
use mdbook_driver::MDBook;
use mdbook_driver::book::Chapter;
use mdbook_driver::config::Config;
use specs::SpecReader;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Directory of the book's sources.
const BOOK: &str = "docs/book";
/// Name of the page of `fairlab lab` in the site.
pub(crate) const LAB: &str = "lab.html";

#[derive(ClapArgs)]
pub(crate) struct BookArgs {
    /// Directory of the site, whose content is replaced [default: target/site]
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// List all buttons, and the commands without one with the reason.
    #[arg(short, long)]
    verbose: bool,
}

/// Site of the book.
pub(crate) struct Site {
    pub(crate) directory: PathBuf,
    /// Commands and files of all pages that have a button or could have one.
    pub(crate) texts: Vec<RunnableText>,
}

pub(crate) fn run(root: &Path, args: &BookArgs) -> Result<()> {
    let site = build(root, args.output.as_deref())?;
    if args.verbose {
        for RunnableText { place, text, button } in &site.texts {
            match button {
                Ok(_) => println!("{place}: button: {text}"),
                Err(reason) => println!("{place}: no button: {text}\n    {reason}"),
            }
        }
    }
    let nr_buttons = site.texts.iter().filter(|text| text.button.is_ok()).count();
    println!(
        "{}: {nr_buttons} buttons; {} commands and files have none{}; open it in a browser",
        site.directory.join("index.html").display(),
        site.texts.len() - nr_buttons,
        if args.verbose { "" } else { " (--verbose lists them)" },
    );
    Ok(())
}

/// Builds the site in a directory, or in `target/site`.
pub(crate) fn build(root: &Path, directory: Option<&Path>) -> Result<Site> {
    let directory = directory.map_or_else(|| programs::target(root).join("site"), Path::to_owned);
    let directory = std::path::absolute(directory)?;
    check_directory(&directory)?;
    let (page, program) = (lab::build(root)?, specs::build_program(root)?);
    let mut config = Config::from_disk(root.join(BOOK).join("book.toml"))?;
    config.build.build_dir.clone_from(&directory);
    let mut book = MDBook::load_with_config(root.join(BOOK), config)?;
    let (examples, mut texts, mut result) = (lab::examples(root)?, Vec::new(), Ok(()));
    book.book.for_each_chapter_mut(|chapter| {
        if result.is_ok() {
            result = prepare_chapter(root, chapter, &examples, &program).map(|of_chapter| texts.extend(of_chapter));
        }
    });
    result?;
    book.build()?;
    fs::copy(&page, directory.join(LAB)).with_context(|| page.display().to_string())?;
    Ok(Site { directory, texts })
}

/// Rejects a directory with other content than a site, since all its content is replaced.
fn check_directory(directory: &Path) -> Result<()> {
    let is_empty =
        fs::read_dir(directory).map_or(Ok(true), |mut entries| entries.next().transpose().map(|entry| entry.is_none()));
    ensure!(
        is_empty? || directory.join(LAB).exists(),
        "{}: the directory has other content than a site\nhelp: name an empty directory, or one that does not exist",
        directory.display()
    );
    Ok(())
}

/// Adds the buttons to a chapter.
fn prepare_chapter(
    root: &Path,
    chapter: &mut Chapter,
    examples: &BTreeMap<String, String>,
    program: &Path,
) -> Result<Vec<RunnableText>> {
    let Some(path) = &chapter.path else { return Ok(Vec::new()) };
    let name = format!("{BOOK}/src/{}", path.display());
    let lab = "../".repeat(path.components().count() - 1) + LAB;
    let page = BookPage { name: &name, text: &chapter.content, lab: &lab };
    let (content, texts) = add_buttons(&page, examples, &SpecReader::new(root, program)?)?;
    chapter.content = content;
    Ok(texts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_site_is_replaced() {
        let directory = tempfile::tempdir().expect("there is room for temporary files");
        let place = directory.path();
        assert!(check_directory(place).is_ok() && check_directory(&place.join("new")).is_ok());
        fs::write(place.join("letter"), "text").expect("it can be written");
        let error = check_directory(place).expect_err("it has a letter").to_string();
        assert!(error.contains("help: name an empty directory"), "{error}");
        fs::write(place.join(LAB), "page").expect("it can be written");
        assert!(check_directory(place).is_ok());
    }
}
