// SPDX-License-Identifier: GPL-2.0-or-later
//! Functions that are counted as kernel operations: the table `engine/operations.txt`.

use crate::functions::ObjectFunctions;
use fairlab_sched::work::KernelOp;

/// Names of a function of the kernel in different trees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionNames(pub Vec<&'static str>);

impl FunctionNames {
    fn parse(text: &'static str) -> Self {
        Self(text.split('|').collect())
    }

    /// Returns the name that an object has for the function.
    pub fn in_object(&self, functions: &ObjectFunctions) -> Option<&'static str> {
        self.0.iter().copied().find(|name| functions.has(name))
    }
}

/// Entry of the table `operations.txt`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpEntry {
    /// Operation that the function is counted as.
    pub op: KernelOp,
    /// Counts per call; negative if the entry corrects another one.
    pub times: i32,
    /// Function of the kernel.
    pub function: FunctionNames,
    /// Function that must be running for a call to count; `None` if every call counts.
    pub within: Option<FunctionNames>,
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
            function: FunctionNames::parse(function),
            within: within.map(FunctionNames::parse),
            is_direct,
        }
    };
    crate::table_lines(crate::embedded_text("operations.txt")).map(entry).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn every_entry_can_be_read_and_a_function_has_the_name_of_the_object() {
        let table = table();
        assert!(table.iter().any(|entry| entry.times < 0) && table.iter().any(|entry| entry.times == 0));
        let pass = table.iter().find(|entry| entry.op == KernelOp::BalancePass).expect("it is there");
        let object = |name: &str| ObjectFunctions {
            addresses: BTreeMap::from([(name.to_owned(), 0x10)]),
            ..ObjectFunctions::default()
        };
        assert_eq!(pass.function.in_object(&object("sched_balance_rq")), Some("sched_balance_rq"));
        assert_eq!(pass.function.in_object(&object("load_balance")), Some("load_balance"));
        assert_eq!(pass.function.in_object(&object("other")), None);
    }
}
