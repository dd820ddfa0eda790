// SPDX-License-Identifier: GPL-2.0-or-later
//! Which functions of a tree are counted as which operation: the table `engine/operations.txt`, and where those functions are in an object.

use crate::error::{KernelError, at};
use crate::object::Counted;
use fairlab_sched::work::Op;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

/// An entry of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The operation.
    pub op: Op,
    /// How often it counts for each call.
    pub times: i32,
    /// The function.
    pub function: &'static str,
    /// The function that has to run meanwhile.
    pub within: Option<&'static str>,
}

/// The table.
///
/// # Panics
/// If the table is malformed; a test reads it.
pub fn table() -> Vec<Entry> {
    let entry = |line: &'static str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let (op, times, function, within) = match words[..] {
            [op, times, function] => (op, times, function, None),
            [op, times, function, "in", within] => (op, times, function, Some(within)),
            _ => panic!("operations.txt: `{line}` is no entry"),
        };
        let op = Op::ALL.iter().copied().find(|known| known.name() == op);
        Entry {
            op: op.unwrap_or_else(|| panic!("operations.txt: `{line}`: no operation of that name")),
            times: times.parse().expect("a number"),
            function,
            within,
        }
    };
    crate::entries(crate::embedded("operations.txt")).map(entry).collect()
}

/// The file beside an object that says where its functions are.
pub fn beside(object: &Path) -> PathBuf {
    object.with_extension("functions")
}

/// What stands in that file: name and place of each function of the table, from what `nm -P` says of the object.
pub fn functions(nm: &str) -> String {
    let table = table();
    let wanted: BTreeSet<&str> =
        table.iter().flat_map(|entry| [Some(entry.function), entry.within]).flatten().collect();
    let mut text = String::new();
    for line in nm.lines() {
        let mut words = line.split_whitespace();
        let (Some(name), Some("T" | "t" | "W"), Some(place)) = (words.next(), words.next(), words.next()) else {
            continue;
        };
        if wanted.contains(name) {
            writeln!(text, "{name} {place}").expect("a string takes text");
        }
    }
    text
}

/// What is counted in an object: all of the table that it has.
///
/// # Errors
/// If the file beside it cannot be read.
pub fn counted(object: &Path) -> Result<Vec<Counted>, KernelError> {
    let path = beside(object);
    let text = fs::read_to_string(&path).map_err(at(&path))?;
    Ok(resolve(&text))
}

fn resolve(functions: &str) -> Vec<Counted> {
    let place = |line: &str| {
        let (name, place) = line.split_once(' ')?;
        Some((name.to_owned(), u64::from_str_radix(place, 16).ok()?))
    };
    let places: BTreeMap<String, u64> = functions.lines().filter_map(place).collect();
    let counted = |entry: Entry| {
        let within = match entry.within {
            None => None,
            Some(name) => Some(*places.get(name)?),
        };
        let function = *places.get(entry.function)?;
        Some(Counted { function, operation: entry.op as usize, times: entry.times, within })
    };
    table().into_iter().filter_map(counted).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_object_lacks_counts_nothing_and_the_rest_has_its_place() {
        let nm = "idle_cpu_without t 1a0 20\nupdate_cfs_group t 2b0 20\nenqueue_task_fair t 3c0 8\nother T 500 8\ndata D 600\n";
        let text = functions(nm);
        assert_eq!(text, "idle_cpu_without 1a0\nupdate_cfs_group 2b0\nenqueue_task_fair 3c0\n");
        let counted = resolve(&text);
        let of = |op: Op| counted.iter().filter(|one| one.operation == op as usize).copied().collect::<Vec<_>>();
        let stat = Counted { function: 0x1a0, operation: Op::GroupStatCpu as usize, times: 1, within: None };
        assert_eq!(of(Op::GroupStatCpu), [stat]);
        let levels: Vec<_> = of(Op::GroupLevel).iter().map(|one| (one.function, one.times, one.within)).collect();
        assert_eq!(levels, [(0x2b0, 1, Some(0x3c0))]);
        assert!(of(Op::Tick).is_empty());
    }
}
