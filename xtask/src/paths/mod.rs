// SPDX-License-Identifier: GPL-2.0-or-later
//! Instructions of the built-in scheduler and of the reference program, by path of the scheduler.
//!
//! Both run the same scenarios under valgrind's callgrind. Each instruction belongs to one path. In fairlab it
//! is the path of the source function that the debug information names for it, so inlined code counts where it
//! is written. Code that no path names, such as small accessors and the standard library, belongs to the path
//! of the compiled function that contains it. In the reference it is the path of the compiled function, since
//! the kernel's part has no line numbers; its functions are rarely inlined. Compiled functions that no path names
//! belong to the paths of their callers. `xtask/paths.toml` has the paths.

mod profile;
mod sources;
mod table;

use crate::instructions::KERNELS;
use crate::programs::{self, RunInput};
use crate::{mixes, oracle, release, valgrind};
use anyhow::{Context, Result, bail};
use clap::Args as ClapArgs;
use profile::Profile;
use sources::Sources;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use table::{PathSums, PathTable};

#[derive(ClapArgs)]
pub(crate) struct PathsArgs {
    /// Record fairlab's counts instead of comparing them with the recorded ones.
    #[arg(long, conflicts_with = "ci")]
    record: bool,
    /// Report missing valgrind or a missing reference program as SKIPPED. Without the latter, only compare with the
    /// record.
    #[arg(long)]
    ci: bool,
    /// Also list the most expensive functions that no path names.
    #[arg(long)]
    other: bool,
    /// Profile the profile-guided program that is published, without comparing it with the record.
    #[arg(long, conflicts_with_all = ["record", "ci"])]
    shipped: bool,
    /// Profile runs that print their summaries and findings, without comparing them with the record.
    #[arg(long, conflicts_with_all = ["record", "ci"])]
    printed: bool,
    /// Also count misses of a simulated first-level instruction cache of 32 KiB with 8 ways.
    #[arg(long, conflicts_with_all = ["record", "ci"])]
    misses: bool,
    /// Only scenarios with NAME in their names.
    #[arg(long, value_name = "NAME", conflicts_with_all = ["record", "ci"])]
    filter: Option<String>,
}

impl PathsArgs {
    /// Whether the runs are those of the record.
    fn is_of_record(&self) -> bool {
        !self.shipped && !self.printed
    }
}

const RECORD: &str = "golden/paths.toml";
const HEAD: &str = "# SPDX-License-Identifier: GPL-2.0-or-later\n\
                    # Instructions of the plain release build, by scenario and path of the scheduler, counted by valgrind.\n\
                    # Recorded by: cargo xtask paths --record\n";
/// Name of what no path contains.
const OTHER: &str = "other";
/// Largest increase of a path, in percent of its recorded count.
const BOUND_PERCENT: u64 = 3;
/// Increases below this part of a whole run, in thousandths, are allowed: inlining moves code between paths.
const IGNORED_THOUSANDTHS: u64 = 3;
/// Number of functions that `--other` lists.
const NR_OTHER: usize = 15;

/// Counts by path, in the order of the table; `other` is last.
type PathCounts = Vec<(String, u64)>;
/// Recorded counts by path.
type RecordedCounts = BTreeMap<String, u64>;

/// Returns names and texts of the scenarios, which write no trace.
fn scenarios(root: &Path) -> Result<[(&'static str, String); 5]> {
    let file = |name: &str| {
        let path = root.join("scenarios").join(name);
        let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        // The reference is one kernel, and does not know the statement.
        let lines = text.lines().filter(|line| !line.starts_with("kernel "));
        anyhow::Ok(lines.chain(["trace 0", ""]).collect::<Vec<_>>().join("\n"))
    };
    Ok([
        ("eight-cpus", file("eight-cpus.scn")?),
        ("numa", file("numa.scn")?),
        ("crowded-16", mixes::crowded(16, "100ms")),
        ("crowded-64", mixes::crowded(64, "30ms")),
        ("light-64", mixes::light(64, "300ms")),
    ])
}

pub(crate) fn run(root: &Path, args: &PathsArgs) -> Result<()> {
    if !valgrind::find_or_skip(args.ci)? {
        return Ok(());
    }
    let compiler = valgrind::compiler(root)?;
    let is_compared = args.is_of_record() && !args.record;
    let record = if is_compared { Some(read_record(root, &compiler)?) } else { None };
    let mut profiler = Profiler {
        root,
        program: if args.shipped { release::build_program(root)? } else { programs::build_program(root)? },
        folder: programs::target(root).join("paths"),
        table: PathTable::load(root)?,
        sources: Sources::new(root),
        args,
    };
    fs::create_dir_all(&profiler.folder).with_context(|| profiler.folder.display().to_string())?;
    let (mut text, mut grown) = (format!("{HEAD}compiler = \"{compiler}\"\n"), Vec::new());
    for (kernel, suffix) in KERNELS {
        let reference = match oracle::find_or_skip(root, args.ci)? {
            Some(place) => oracle::build_or_skip(&place, kernel, args.ci)?,
            None => None,
        };
        for (scenario, lines) in scenarios(root)? {
            let name = format!("{scenario}{suffix}");
            if args.filter.as_ref().is_some_and(|filter| !name.contains(filter)) {
                continue;
            }
            let (built_in, reference) = profiler.count(kernel, reference.as_deref(), &lines).context(name.clone())?;
            let find = |all: &'_ BTreeMap<String, RecordedCounts>| all.get(&name).cloned();
            let recorded = record.as_ref().map(|all| find(all).with_context(|| format!("{RECORD} has no {name}")));
            let recorded = recorded.transpose()?;
            let compared = reference.as_ref().map(|it| &it.counts);
            println!("{}", table::render(&name, &built_in.counts, compared, recorded.as_ref()));
            if let Some(misses) = built_in.misses {
                let reference = reference.as_ref().and_then(|it| it.misses);
                let compared = reference.map_or_else(String::new, |misses| format!(", reference: {misses}"));
                println!("misses of the instruction cache: {misses}{compared}\n");
            }
            let paths = recorded.map_or_else(Vec::new, |recorded| grown_paths(&recorded, &built_in.counts));
            grown.extend(paths.into_iter().map(|path| format!("{name}: {path}")));
            text += &record_table(&name, &built_in.counts);
        }
    }
    if args.record {
        return fs::write(root.join(RECORD), text).context(RECORD);
    }
    if !grown.is_empty() {
        bail!(
            "paths execute over {BOUND_PERCENT} % more instructions than recorded: {}\n\
             help: if the change is worth it, state that in the commit, and run cargo xtask paths --record",
            grown.join("; ")
        );
    }
    Ok(())
}

/// Counts of one profiled run of a program.
struct ProfiledRun {
    counts: PathCounts,
    /// Misses of the first-level instruction cache, if they were counted.
    misses: Option<u64>,
}

/// Programs that are profiled, and what assigns their instructions to paths.
struct Profiler<'a> {
    root: &'a Path,
    program: PathBuf,
    /// Directory for profiles and scenarios.
    folder: PathBuf,
    table: PathTable,
    sources: Sources,
    args: &'a PathsArgs,
}

impl Profiler<'_> {
    /// Returns the counts of the built-in scheduler and of the reference, if there is one.
    fn count(
        &mut self,
        kernel: &str,
        reference: Option<&Path>,
        scenario: &str,
    ) -> Result<(ProfiledRun, Option<ProfiledRun>)> {
        let input = RunInput::Text(scenario.to_owned());
        let mut arguments = vec!["run", "--kernel", kernel];
        if !self.args.printed {
            arguments.extend(["--trace-jsonl", "-"]);
        }
        let profile = self.profile(&self.program, &arguments, Some(&input))?;
        let Self { table, sources, .. } = self;
        let functions = profile.functions.iter();
        let paths: Vec<_> = functions.map(|it| table.path_of_source(sources, &it.file, it.line)).collect();
        let sums = table.sum(&profile, &paths, |line| table.path_of_source(sources, &line.file, line.line));
        let built_in = self.counts("fairlab", sums, &profile);
        let Some(reference) = reference else { return Ok((built_in, None)) };
        let file = self.folder.join("scenario.scn");
        fs::write(&file, scenario).with_context(|| file.display().to_string())?;
        let profile = self.profile(reference, &[&file.display().to_string()], None)?;
        let paths: Vec<_> = profile.functions.iter().map(|it| self.table.path_of_reference(it)).collect();
        let sums = self.table.sum(&profile, &paths, |_| None);
        Ok((built_in, Some(self.counts("reference", sums, &profile))))
    }

    /// Returns the counts of sums. With `--other`, prints the most expensive functions without a path.
    fn counts(&self, program: &str, sums: PathSums, profile: &Profile) -> ProfiledRun {
        let nr_listed = if self.args.other { NR_OTHER } else { 0 };
        for (function, count) in sums.without_path.iter().take(nr_listed) {
            println!("no path, {program}: {count} {function}");
        }
        ProfiledRun { counts: sums.counts, misses: profile.instruction_misses }
    }

    fn profile(&self, program: &Path, args: &[&str], input: Option<&RunInput>) -> Result<Profile> {
        let out = self.folder.join("callgrind.out");
        let mut command = valgrind::callgrind(&out);
        if self.args.misses {
            command.args(valgrind::CACHES);
        }
        command.args(["--compress-strings=no", "--compress-pos=no"]).arg(program).args(args);
        programs::run_to_end(&mut command, self.root, input)?;
        Profile::read(&out)
    }
}

/// Returns the recorded counts by scenario.
fn read_record(root: &Path, compiler: &str) -> Result<BTreeMap<String, RecordedCounts>> {
    let text = fs::read_to_string(root.join(RECORD)).context(RECORD)?;
    let mut all: toml::Table = text.parse().context(RECORD)?;
    let recorded = all.remove("compiler").context("the compiler is missing").context(RECORD)?;
    if recorded.as_str() != Some(compiler) {
        bail!(
            "{RECORD} was recorded with {recorded}, and this compiler is {compiler}\n\
             help: check out code that is fast enough and run cargo xtask paths --record"
        );
    }
    all.try_into().context(RECORD)
}

fn record_table(scenario: &str, counts: &PathCounts) -> String {
    let lines = counts.iter().map(|(path, count)| format!("\"{path}\" = {count}\n"));
    format!("\n[{scenario}]\n{}", lines.collect::<String>())
}

/// Returns the paths whose counts are higher than recorded by more than the bound.
fn grown_paths(recorded: &RecordedCounts, counts: &PathCounts) -> Vec<String> {
    let whole: u64 = recorded.values().sum();
    let is_grown = |path: &str, count: u64| {
        let before = recorded.get(path).copied().unwrap_or_default();
        let increase = count.saturating_sub(before);
        increase * 100 > before * BOUND_PERCENT && increase * 1000 > whole * IGNORED_THOUSANDTHS
    };
    counts.iter().filter(|(path, count)| is_grown(path, *count)).map(|(path, _)| path.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_fails_only_if_it_grows_by_more_than_both_bounds() {
        let recorded = BTreeMap::from([("a".to_owned(), 100_000), ("b".to_owned(), 900_000), ("c".to_owned(), 100)]);
        let counts = |a, b, c| vec![("a".to_owned(), a), ("b".to_owned(), b), ("c".to_owned(), c)];
        assert_eq!(grown_paths(&recorded, &counts(103_000, 900_000, 100)), Vec::<String>::new());
        assert_eq!(grown_paths(&recorded, &counts(103_001, 900_000, 2_000)), ["a"]);
        assert_eq!(grown_paths(&recorded, &counts(90_000, 928_000, 100)), ["b"]);
        assert_eq!(grown_paths(&BTreeMap::new(), &counts(1, 0, 0)), ["a"]);
    }

    #[test]
    fn the_record_has_every_scenario_and_path() {
        let text = fs::read_to_string(crate::root().join(RECORD)).expect("the record exists");
        let record: toml::Table = text.parse().expect("it is TOML");
        let table = PathTable::load(&crate::root()).expect("the table is valid");
        let names = scenarios(&crate::root()).expect("the scenarios exist").map(|(name, _)| name);
        for (name, suffix) in names.into_iter().flat_map(|name| KERNELS.map(|(_, suffix)| (name, suffix))) {
            let counts = record[&format!("{name}{suffix}")].as_table().expect("it has counts");
            let mut names: Vec<_> = table.names().chain([OTHER]).collect();
            names.sort_unstable();
            assert!(counts.keys().eq(&names), "{name}");
        }
    }

    #[test]
    fn a_record_is_read_as_it_is_written_and_belongs_to_one_compiler() {
        let folder = std::env::temp_dir().join(format!("xtask-paths-{}", std::process::id()));
        fs::create_dir_all(folder.join("golden")).expect("it can be made");
        let counts = vec![("wake-up".to_owned(), 5), (OTHER.to_owned(), 7)];
        let text = format!("{HEAD}compiler = \"rustc 1\"\n{}", record_table("a-1", &counts));
        fs::write(folder.join(RECORD), text).expect("it can be written");
        let record = read_record(&folder, "rustc 1").expect("it is valid");
        assert!(record["a-1"].iter().eq(&BTreeMap::from_iter(counts)));
        let error = read_record(&folder, "rustc 2").expect_err("it is another compiler").to_string();
        assert!(error.contains("cargo xtask paths --record"), "{error}");
        fs::remove_dir_all(folder).expect("it can be removed");
    }
}
