// SPDX-License-Identifier: GPL-2.0-or-later
//! Addresses of the functions in an object, and the functions that are counted as kernel operations: the
//! table `engine/operations.txt`.

use crate::error::{KernelError, io_error_at};
use crate::object::CountedOps;
use fairlab_sched::work::KernelOp;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

/// Entry of the table `operations.txt`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpEntry {
    /// Operation that the function is counted as.
    pub op: KernelOp,
    /// Counts per call; negative if the entry corrects another one.
    pub times: i32,
    /// Name of the function in the kernel.
    pub function: &'static str,
    /// Function that must be running for a call to count; `None` if every call counts.
    pub within: Option<&'static str>,
    /// Whether `within` has to be the innermost running function of the table, which means that it calls the
    /// function itself.
    pub is_direct: bool,
}

/// Returns the table of counted functions.
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
            _ => panic!("operations.txt: `{line}` is not an entry"),
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
    crate::table_lines(crate::embedded_text("operations.txt")).map(entry).collect()
}

/// Returns the path of the file beside an object that lists the addresses of its functions.
pub fn symbol_file(object: &Path) -> PathBuf {
    object.with_extension("functions")
}

/// Returns the contents of that file, the name and address of each function, from the output of `nm -P`.
pub fn function_list(nm: &str) -> String {
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

/// Returns the counted functions of an object: all entries of the table whose functions it has.
///
/// # Errors
/// If the file beside the object cannot be read.
pub fn counted_ops(object: &Path) -> Result<Vec<CountedOps>, KernelError> {
    let path = symbol_file(object);
    let text = fs::read_to_string(&path).map_err(io_error_at(&path))?;
    Ok(resolve(&text))
}

/// Returns the addresses of an object's functions by their names.
///
/// # Errors
/// If the file beside the object cannot be read.
pub fn addresses_by_name(object: &Path) -> Result<BTreeMap<String, u64>, KernelError> {
    let path = symbol_file(object);
    let text = fs::read_to_string(&path).map_err(io_error_at(&path))?;
    Ok(text.lines().filter_map(name_and_address).collect())
}

/// Returns the names of an object's functions by their addresses. Parts that the compiler split off have the
/// name of their function.
///
/// # Errors
/// If the file beside the object cannot be read.
pub fn names_by_address(object: &Path) -> Result<BTreeMap<u64, String>, KernelError> {
    let path = symbol_file(object);
    let text = fs::read_to_string(&path).map_err(io_error_at(&path))?;
    let whole = |name: &str| name.split('.').next().unwrap_or(name).to_owned();
    Ok(text.lines().filter_map(name_and_address).map(|(name, place)| (place, whole(&name))).collect())
}

fn name_and_address(line: &str) -> Option<(String, u64)> {
    let (name, place) = line.split_once(' ')?;
    Some((name.to_owned(), u64::from_str_radix(place, 16).ok()?))
}

fn resolve(functions: &str) -> Vec<CountedOps> {
    let places: BTreeMap<String, u64> = functions.lines().filter_map(name_and_address).collect();
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
        let nm = "cpu_runnable_without t 1a0 20\nenqueue_entity t 2b0 20\nenqueue_task_fair t 3c0 8\nother T 500 8\ndata D 600\n\
                  idle_cpu T 700 8\n_nohz_idle_balance t 800 8\n";
        let text = function_list(nm);
        let known = "cpu_runnable_without 1a0\nenqueue_entity 2b0\nenqueue_task_fair 3c0\nother 500\nidle_cpu 700\n_nohz_idle_balance 800\n";
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
