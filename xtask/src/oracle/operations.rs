// SPDX-License-Identifier: GPL-2.0-or-later
//! Comparison of the operation counts of two schedulers in equal calls, by operation and path.

use crate::table;
use anyhow::{Context, Result};
use fairlab_sched::work::{KernelOp, NR_OPS};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Counts of one operation on one path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct OpComparison {
    tested: u64,
    reference: u64,
    /// Number of calls in which a side counted the operation, and of those with equal counts.
    calls: u64,
    equal: u64,
    /// First call with different counts.
    first: Option<String>,
}

impl OpComparison {
    fn record(&mut self, tested: u64, reference: u64, differs: impl Fn(u64, u64) -> String) {
        self.tested += tested;
        self.reference += reference;
        self.calls += 1;
        self.equal += u64::from(tested == reference);
        if tested != reference && self.first.is_none() {
            self.first = Some(differs(tested, reference));
        }
    }
}

/// Counts of all operations.
#[derive(Default)]
pub(super) struct OpComparisons {
    /// Counts by operation and path.
    counts: BTreeMap<(KernelOp, String), OpComparison>,
    /// Number of scenarios in which an operation was counted, and of those in which it is equal in all calls.
    scenarios: BTreeMap<KernelOp, (u32, u32)>,
    calls: u64,
    /// Number of scenarios, and of those with equal counts throughout.
    compared: u32,
    same: u32,
}

impl OpComparisons {
    /// Compares the counts of one scenario, one line per call. A call is identified by its time, CPU and
    /// path: one side may do in two calls what the other does in one, such as moving a task with the stopper
    /// of a different CPU, and other calls must still match.
    pub(super) fn of(name: &str, tested: &str, reference: &str) -> Result<Self> {
        let mut calls = BTreeMap::<(u64, u64, String), [[u64; NR_OPS]; 2]>::new();
        for (side, text) in [tested, reference].into_iter().enumerate() {
            for line in text.lines() {
                let call: Value = serde_json::from_str(line).with_context(|| format!("{name}: {line}"))?;
                let (t, cpu, path) = (call["t"].as_u64(), call["cpu"].as_u64(), call["path"].as_str());
                let key = t.zip(cpu).zip(path).with_context(|| format!("{name}: {line}"))?;
                let counts = &mut calls.entry((key.0.0, key.0.1, key.1.to_owned())).or_insert([[0; NR_OPS]; 2])[side];
                for &op in KernelOp::ALL {
                    counts[op as usize] += call[op.name()].as_u64().unwrap_or(0);
                }
            }
        }
        let mut all = Self { compared: 1, calls: calls.len() as u64, ..Self::default() };
        for ((t, cpu, path), [tested, reference]) in calls {
            let differs = |tested, reference| format!("{name}: {t} ns, CPU {cpu}: {tested} and {reference}");
            for &op in KernelOp::ALL {
                let (tested, reference) = (tested[op as usize], reference[op as usize]);
                if tested != 0 || reference != 0 {
                    all.counts.entry((op, path.clone())).or_default().record(tested, reference, differs);
                }
            }
        }
        for op in KernelOp::ALL {
            let operation_entry: Vec<&OpComparison> = all
                .counts
                .iter()
                .filter(|((operation_entry, _), _)| operation_entry == op)
                .map(|(_, operation_entry)| operation_entry)
                .collect();
            if !operation_entry.is_empty() {
                all.scenarios.insert(
                    *op,
                    (
                        1,
                        u32::from(
                            operation_entry
                                .iter()
                                .all(|operation_entry| operation_entry.calls == operation_entry.equal),
                        ),
                    ),
                );
            }
        }
        all.same = u32::from(all.scenarios.values().all(|(counted, equal)| counted == equal));
        Ok(all)
    }

    /// Adds the counts of another scenario.
    pub(super) fn add(&mut self, other: Self) {
        for (key, operation_entry) in other.counts {
            let sum = self.counts.entry(key).or_default();
            sum.tested += operation_entry.tested;
            sum.reference += operation_entry.reference;
            sum.calls += operation_entry.calls;
            sum.equal += operation_entry.equal;
            sum.first = sum.first.take().or(operation_entry.first);
        }
        for (op, (counted, equal)) in other.scenarios {
            let sum = self.scenarios.entry(op).or_default();
            *sum = (sum.0 + counted, sum.1 + equal);
        }
        self.calls += other.calls;
        self.compared += other.compared;
        self.same += other.same;
    }

    /// Returns the table of all operations, and of the paths with different counts.
    pub(super) fn table(&self) -> String {
        let row = |op: &KernelOp| {
            let operation_entry = self
                .counts
                .iter()
                .filter(|((operation_entry, _), _)| operation_entry == op)
                .map(|(_, operation_entry)| operation_entry);
            let sum = operation_entry.fold([0; 4], |sum, operation_entry| {
                [
                    sum[0] + operation_entry.tested,
                    sum[1] + operation_entry.reference,
                    sum[2] + operation_entry.calls,
                    sum[3] + operation_entry.equal,
                ]
            });
            let (counted, equal) = self.scenarios.get(op).copied().unwrap_or_default();
            let [tested, reference, calls, same] = sum;
            let mut row = vec![op.name().to_owned()];
            row.extend([tested, reference, calls, calls - same].map(|number| number.to_string()));
            row.push(format!("{equal}/{counted}"));
            row
        };
        let rows: Vec<Vec<String>> = KernelOp::ALL.iter().map(row).collect();
        let mut text = format!(
            "\n{} scenarios, {} calls; scenarios with equal operations in all calls: {}\n\n",
            self.compared, self.calls, self.same
        );
        text +=
            &table::render(1, &["operation", "compared", "reference", "calls", "unequal", "scenarios equal"], &rows);
        let differing = self.counts.iter().filter(|(_, operation_entry)| operation_entry.equal < operation_entry.calls);
        let rows: Vec<Vec<String>> = differing
            .map(|((op, path), operation_entry)| {
                let mut row =
                    vec![op.name().to_owned(), path.clone(), operation_entry.first.clone().unwrap_or_default()];
                let numbers = [
                    operation_entry.tested,
                    operation_entry.reference,
                    operation_entry.calls,
                    operation_entry.calls - operation_entry.equal,
                ];
                row.extend(numbers.map(|number| number.to_string()));
                row
            })
            .collect();
        if !rows.is_empty() {
            let head = ["operation", "path", "first call that differs", "compared", "reference", "calls", "unequal"];
            write!(text, "\n{}", table::render(3, &head, &rows)).expect("a string takes text");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::OpComparisons;

    #[test]
    fn calls_are_compared_one_by_one_so_that_sums_hide_nothing() {
        let tested = "{\"t\":1,\"cpu\":0,\"path\":\"tick\",\"Tick\":1,\"RqLock\":2}\n{\"t\":2,\"cpu\":0,\"path\":\"tick\",\"Tick\":1}\n";
        let reference = "{\"t\":1,\"cpu\":0,\"path\":\"tick\",\"Tick\":1}\n{\"t\":2,\"cpu\":0,\"path\":\"tick\",\"Tick\":1,\"RqLock\":2}\n";
        let mut sum = OpComparisons::default();
        sum.add(OpComparisons::of("a", tested, reference).expect("the same calls"));
        sum.add(OpComparisons::of("b", tested, tested).expect("the same calls"));
        let table = sum.table();
        let row = |name: &str| {
            let line = table.lines().find(|line| line.starts_with(name)).expect("there is a row for each operation");
            line.split_whitespace().skip(1).map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(row("Tick"), ["4", "4", "4", "0", "2/2"]);
        assert_eq!(row("RqLock"), ["4", "4", "3", "2", "1/2"]);
        assert_eq!(row("Fork"), ["0", "0", "0", "0", "0/0"]);
        assert!(table.contains("a: 1 ns, CPU 0: 2 and 0") && table.contains("in all calls: 1"), "{table}");
        assert!(OpComparisons::of("c", tested, "no line").is_err());
    }
}
