// SPDX-License-Identifier: GPL-2.0-or-later
//! Where functions are in an object, and which of them are counted as which operation: the table `engine/operations.txt`.

use crate::error::{KernelError, at};
use crate::object::CountedOps;
use fairlab_sched::work::KernelOp;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

/// An entry of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpEntry {
    /// The operation.
    pub op: KernelOp,
    /// How often it counts for each call.
    pub times: i32,
    /// The function.
    pub function: &'static str,
    /// The function that has to run meanwhile.
    pub within: Option<&'static str>,
    /// Whether that one has to be the innermost of all that are in the table: it calls the function itself.
    pub is_direct: bool,
}

/// The table.
///
/// # Panics
/// If the table is malformed; a test reads it.
pub fn table() -> Vec<OpEntry> {
    let entry = |line: &'static str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let (op, times, function, within, is_direct) = match words[..] {
            [op, times, function] => (op, times, function, None, false),
            [op, times, function, "in", within] => (op, times, function, Some(within), false),
            [op, times, function, "by", within] => (op, times, function, Some(within), true),
            _ => panic!("operations.txt: `{line}` is no entry"),
        };
        let op = KernelOp::ALL.iter().copied().find(|known| known.name() == op);
        OpEntry {
            op: op.unwrap_or_else(|| panic!("operations.txt: `{line}`: no operation of that name")),
            times: times.parse().expect("a number"),
            function,
            within,
            is_direct,
        }
    };
    crate::entries(crate::embedded("operations.txt")).map(entry).collect()
}

/// The file beside an object that says where its functions are.
pub fn beside(object: &Path) -> PathBuf {
    object.with_extension("functions")
}

/// What stands in that file: name and place of each function, from what `nm -P` says of the object.
pub fn functions(nm: &str) -> String {
    let mut text = String::new();
    for line in nm.lines() {
        let mut words = line.split_whitespace();
        let (Some(name), Some("T" | "t" | "W"), Some(place)) = (words.next(), words.next(), words.next()) else {
            continue;
        };
        writeln!(text, "{name} {place}").expect("a string takes text");
    }
    text
}

/// What is counted in an object: all of the table that it has.
///
/// # Errors
/// If the file beside it cannot be read.
pub fn counted(object: &Path) -> Result<Vec<CountedOps>, KernelError> {
    let path = beside(object);
    let text = fs::read_to_string(&path).map_err(at(&path))?;
    Ok(resolve(&text))
}

/// Places of an object's functions by their names.
///
/// # Errors
/// If the file beside it cannot be read.
pub fn places(object: &Path) -> Result<BTreeMap<String, u64>, KernelError> {
    let path = beside(object);
    let text = fs::read_to_string(&path).map_err(at(&path))?;
    Ok(text.lines().filter_map(name_and_place).collect())
}

/// Names of an object's functions by their places; parts that the compiler has made of a function have its name.
///
/// # Errors
/// If the file beside it cannot be read.
pub fn names(object: &Path) -> Result<BTreeMap<u64, String>, KernelError> {
    let path = beside(object);
    let text = fs::read_to_string(&path).map_err(at(&path))?;
    let whole = |name: &str| name.split('.').next().unwrap_or(name).to_owned();
    Ok(text.lines().filter_map(name_and_place).map(|(name, place)| (place, whole(&name))).collect())
}

fn name_and_place(line: &str) -> Option<(String, u64)> {
    let (name, place) = line.split_once(' ')?;
    Some((name.to_owned(), u64::from_str_radix(place, 16).ok()?))
}

fn resolve(functions: &str) -> Vec<CountedOps> {
    let places: BTreeMap<String, u64> = functions.lines().filter_map(name_and_place).collect();
    let counted = |entry: OpEntry| {
        let within = match entry.within {
            None => None,
            Some(name) => Some(*places.get(name)?),
        };
        let function = *places.get(entry.function)?;
        let is_direct = entry.is_direct;
        Some(CountedOps { function, operation: entry.op as usize, times: entry.times, within, is_direct })
    };
    table().into_iter().filter_map(counted).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_object_lacks_counts_nothing_and_the_rest_has_its_place() {
        let nm = "cpu_runnable_without t 1a0 20\nupdate_cfs_group t 2b0 20\nenqueue_task_fair t 3c0 8\nother T 500 8\ndata D 600\n\
                  idle_cpu T 700 8\n_nohz_idle_balance t 800 8\n";
        let text = functions(nm);
        let known = "cpu_runnable_without 1a0\nupdate_cfs_group 2b0\nenqueue_task_fair 3c0\nother 500\nidle_cpu 700\n_nohz_idle_balance 800\n";
        assert_eq!(text, known);
        let counted = resolve(&text);
        let of = |op: KernelOp| counted.iter().filter(|one| one.operation == op as usize).copied().collect::<Vec<_>>();
        let stat = CountedOps {
            function: 0x1a0,
            operation: KernelOp::GroupStatCpu as usize,
            times: 1,
            within: None,
            is_direct: false,
        };
        assert_eq!(of(KernelOp::GroupStatCpu), [stat]);
        let tickless: Vec<_> =
            of(KernelOp::TicklessCpu).iter().map(|one| (one.function, one.within, one.is_direct)).collect();
        assert_eq!(tickless, [(0x700, Some(0x800), true)]);
        let levels: Vec<_> = of(KernelOp::GroupLevel).iter().map(|one| (one.function, one.times, one.within)).collect();
        assert_eq!(levels, [(0x2b0, 1, Some(0x3c0))]);
        assert!(of(KernelOp::Tick).is_empty());
    }
}
