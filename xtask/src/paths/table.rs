// SPDX-License-Identifier: GPL-2.0-or-later
//! The table of paths, and sums by it.

use super::profile::{CompiledFunction, CostLine, Profile};
use super::sources::Sources;
use super::{OTHER, PathCounts, RecordedCounts};
use crate::table;
use anyhow::{Context, Result};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

const FILE: &str = "xtask/paths.toml";

/// Longest chain of calls between functions without a path.
const MAX_CALL_DEPTH: usize = 100;

/// Paths with the code that belongs to them.
pub(super) struct PathTable {
    paths: Vec<SchedulerPath>,
}

struct SchedulerPath {
    name: String,
    fairlab: Vec<String>,
    reference: Vec<String>,
}

/// Instructions of a run by path.
pub(super) struct PathSums {
    pub(super) counts: PathCounts,
    /// Functions without a path, with their own instructions, the most expensive first.
    pub(super) without_path: Vec<(String, u64)>,
}

impl PathTable {
    pub(super) fn load(root: &Path) -> Result<Self> {
        let text = fs::read_to_string(root.join(FILE)).context(FILE)?;
        let file: toml::Table = text.parse().context(FILE)?;
        let paths = file.get("path").and_then(toml::Value::as_array).context("xtask/paths.toml has no [[path]]")?;
        Ok(Self { paths: paths.iter().map(SchedulerPath::from_toml).collect::<Result<_>>().context(FILE)? })
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.paths.iter().map(|path| path.name.as_str())
    }

    /// Returns the sums of a profile by path, from the path of each function and a path of lines that counts first.
    /// The instructions of functions without a path belong to the paths of their callers, in proportion to the
    /// instructions of the calls.
    pub(super) fn sum(
        &self,
        profile: &Profile,
        functions: &[Option<usize>],
        mut path_of_line: impl FnMut(&CostLine) -> Option<usize>,
    ) -> PathSums {
        let mut sums = vec![0; self.paths.len() + 1];
        let mut pending: BTreeMap<usize, u64> = BTreeMap::new();
        for line in &profile.lines {
            match path_of_line(line).or(functions[line.function]) {
                Some(path) => sums[path] += line.count,
                None => *pending.entry(line.function).or_default() += line.count,
            }
        }
        let mut without_path: Vec<_> =
            pending.iter().map(|(index, count)| (profile.functions[*index].name.clone(), *count)).collect();
        without_path.sort_by_key(|(_, count)| Reverse(*count));
        let callers = callers(profile);
        for _ in 0..MAX_CALL_DEPTH {
            for (function, count) in std::mem::take(&mut pending) {
                let callers = callers.get(&function).map_or(&[][..], Vec::as_slice);
                let whole: u64 = callers.iter().map(|(_, cost)| cost).sum();
                let mut rest = count;
                for (caller, cost) in callers {
                    let share = (u128::from(count) * u128::from(*cost) / u128::from(whole.max(1))) as u64;
                    rest -= share;
                    match functions[*caller] {
                        Some(path) => sums[path] += share,
                        None => *pending.entry(*caller).or_default() += share,
                    }
                }
                sums[self.paths.len()] += rest;
            }
        }
        sums[self.paths.len()] += pending.values().sum::<u64>();
        let counts = self.names().chain([OTHER]).map(str::to_owned).zip(sums).collect();
        PathSums { counts, without_path }
    }

    /// Returns the path of a source line of fairlab, that of the function that contains it.
    pub(super) fn path_of_source(&self, sources: &mut Sources, file: &str, line: u32) -> Option<usize> {
        sources.name_at(file, line).and_then(|name| self.path_of_module(&name))
    }

    fn path_of_module(&self, name: &str) -> Option<usize> {
        let matches =
            |entry: &str| name.strip_prefix(entry).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"));
        let longest = |path: &SchedulerPath| path.fairlab.iter().filter(|entry| matches(entry)).map(String::len).max();
        let all = self.paths.iter().enumerate().filter_map(|(index, path)| Some((longest(path)?, index)));
        all.max_by_key(|(length, _)| *length).map(|(_, index)| index)
    }

    /// Returns the path of a function of the reference program: an exact name counts before patterns.
    pub(super) fn path_of_reference(&self, function: &CompiledFunction) -> Option<usize> {
        let is_exact = |path: &SchedulerPath| path.reference.contains(&function.name);
        let matches = |entry: &String| match (entry.strip_prefix('*'), entry.strip_suffix('*')) {
            (Some(end), _) => function.name.ends_with(end),
            (_, Some(start)) => function.name.starts_with(start),
            _ => entry.ends_with('/') && function.file.contains(&format!("/{entry}")),
        };
        let by_pattern = |path: &SchedulerPath| path.reference.iter().any(matches);
        self.paths.iter().position(is_exact).or_else(|| self.paths.iter().position(by_pattern))
    }
}

/// Returns the callers of each function with the instructions of their calls, without recursive calls.
fn callers(profile: &Profile) -> BTreeMap<usize, Vec<(usize, u64)>> {
    let mut callers: BTreeMap<usize, Vec<(usize, u64)>> = BTreeMap::new();
    for (&(caller, callee), &cost) in profile.calls.iter().filter(|((caller, callee), _)| caller != callee) {
        callers.entry(callee).or_default().push((caller, cost));
    }
    callers
}

impl SchedulerPath {
    fn from_toml(path: &toml::Value) -> Result<Self> {
        let text = |value: &toml::Value| value.as_str().map(str::to_owned);
        let list = |key: &str| -> Result<Vec<String>> {
            let entries = path.get(key).and_then(toml::Value::as_array);
            let entries = entries.with_context(|| format!("a path has no {key}"))?;
            entries.iter().map(|one| text(one).context("an entry is not a text")).collect()
        };
        let name = path.get("name").and_then(text).context("a path has no name")?;
        Ok(Self { name, fairlab: list("fairlab")?, reference: list("reference")? })
    }
}

/// Returns a table of a scenario: each path with its share of the run, and its ratio to the reference.
pub(super) fn render(
    scenario: &str,
    built_in: &PathCounts,
    reference: Option<&PathCounts>,
    recorded: Option<&RecordedCounts>,
) -> String {
    let sum = |counts: &PathCounts| counts.iter().map(|(_, count)| count).sum::<u64>();
    let percent = |count: u64, whole: u64| format!("{:.1} %", count as f64 * 100.0 / whole.max(1) as f64);
    let row = |name: &str, count: u64, in_reference: Option<u64>, before: Option<u64>| {
        let mut row = vec![name.to_owned(), count.to_string(), percent(count, sum(built_in))];
        if let (Some(compared), Some(all)) = (in_reference, reference) {
            row.extend([compared.to_string(), percent(compared, sum(all))]);
            row.push(if compared == 0 { "-".to_owned() } else { format!("{:.2}", count as f64 / compared as f64) });
        }
        row.extend(before.map(|before| format!("{:+.2} %", (count as f64 / before.max(1) as f64 - 1.0) * 100.0)));
        row
    };
    let before = |name: &str| recorded.map(|all| all.get(name).copied().unwrap_or_default());
    let mut rows: Vec<_> = built_in
        .iter()
        .enumerate()
        .map(|(index, (name, count))| row(name, *count, reference.map(|all| all[index].1), before(name)))
        .collect();
    rows.push(row("all", sum(built_in), reference.map(sum), recorded.map(|all| all.values().sum())));
    let mut header = vec![scenario, "fairlab", "share"];
    header.extend(reference.iter().flat_map(|_| ["reference", "share", "ratio"]));
    header.extend(recorded.iter().map(|_| "change"));
    table::render(1, &header, &rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn function(name: &str, file: &str) -> CompiledFunction {
        CompiledFunction { name: name.to_owned(), file: file.to_owned(), line: 1 }
    }

    #[test]
    fn the_longest_entry_and_the_exact_name_count() {
        let table = PathTable::load(&crate::root()).expect("the table is valid");
        let name = |index: Option<usize>| index.map_or(OTHER, |index| table.paths[index].name.as_str());
        assert_eq!(name(table.path_of_module("sched::classes::fair::cfs::enqueue::enqueue_entity_cfs")), "enqueue");
        assert_eq!(name(table.path_of_module("sched::classes::fair::cfs::enqueue::dequeue_entity_cfs")), "dequeue");
        assert_eq!(name(table.path_of_module("sched::paths::wakeful")), OTHER);
        assert_eq!(name(table.path_of_reference(&function("enqueue_entity", "???"))), "enqueue");
        assert_eq!(name(table.path_of_reference(&function("set_next_task_idle", "???"))), "pick");
        assert_eq!(name(table.path_of_reference(&function("settle", "/a/host/program.c"))), "machine");
        assert_eq!(name(table.path_of_reference(&function("memcpy", "???"))), OTHER);
    }

    #[test]
    fn code_without_a_path_belongs_to_its_callers() {
        let path = |name: &str| SchedulerPath { name: name.to_owned(), fairlab: Vec::new(), reference: Vec::new() };
        let table = PathTable { paths: vec![path("tick"), path("pick")] };
        let cost = |function, line, count| CostLine { function, file: String::new(), line, count };
        // `main` calls `tick`, `pick` and `copy`; the last is also called by the others, and calls `fill` and itself.
        let functions = ["main", "tick", "pick", "copy", "fill"].map(|name| function(name, "")).into();
        let lines = vec![cost(0, 1, 5), cost(1, 1, 10), cost(2, 1, 20), cost(2, 2, 7), cost(3, 1, 100), cost(4, 1, 10)];
        let calls = [((0, 1), 66), ((0, 2), 55), ((0, 3), 11), ((1, 3), 66), ((2, 3), 33), ((3, 3), 500), ((3, 4), 10)];
        let profile = Profile { functions, lines, calls: calls.into(), instruction_misses: None };
        let sums = table.sum(&profile, &[None, Some(0), Some(1), None, None], |line| (line.line == 2).then_some(0));
        let counts = [("tick", 10 + 7 + 66), ("pick", 20 + 33), (OTHER, 5 + 11)];
        assert_eq!(sums.counts, counts.map(|(name, count)| (name.to_owned(), count)));
        let without_path = [("copy", 100), ("fill", 10), ("main", 5)];
        assert_eq!(sums.without_path, without_path.map(|(name, count)| (name.to_owned(), count)));
    }

    #[test]
    fn a_row_has_shares_the_ratio_and_the_change() {
        let counts = |a, b| vec![("wake-up".to_owned(), a), (OTHER.to_owned(), b)];
        let recorded = RecordedCounts::from([("wake-up".to_owned(), 20), (OTHER.to_owned(), 20)]);
        let text = render("numa", &counts(10, 30), Some(&counts(20, 0)), Some(&recorded));
        let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(rows[0], ["numa", "fairlab", "share", "reference", "share", "ratio", "change"]);
        assert_eq!(rows[2], ["wake-up", "10", "25.0", "%", "20", "100.0", "%", "0.50", "-50.00", "%"]);
        assert_eq!(rows[3], ["other", "30", "75.0", "%", "0", "0.0", "%", "-", "+50.00", "%"]);
        assert_eq!(rows[4], ["all", "40", "100.0", "%", "20", "100.0", "%", "2.00", "+0.00", "%"]);
        let short = render("numa", &counts(10, 30), None, None);
        assert_eq!(short.lines().next().map(str::trim_end), Some("numa     fairlab    share"));
    }

    #[test]
    fn every_module_and_function_of_the_table_exists() {
        let root = crate::root().join("crates");
        for entry in
            PathTable::load(&crate::root()).expect("the table is valid").paths.iter().flat_map(|path| &path.fairlab)
        {
            let mut names = entry.split("::");
            let mut at = root.join(names.next().expect("a crate")).join("src");
            let names: Vec<_> = names.collect();
            let is_module = |at: &Path| at.is_dir() || at.with_extension("rs").is_file();
            for (index, name) in names.iter().enumerate() {
                let next = at.join(name);
                if is_module(&next) {
                    at = next;
                    continue;
                }
                let files = [at.with_extension("rs"), at.join("mod.rs")];
                let texts = files.iter().filter_map(|file| fs::read_to_string(file).ok());
                let is_there = texts.into_iter().any(|text| text.contains(&format!("fn {name}")));
                assert!(is_there && index + 1 == names.len(), "{entry}: {name} does not exist");
            }
        }
    }
}
