// SPDX-License-Identifier: GPL-2.0-or-later
//! Count sheets: tables of tab-separated values, means over several counts.

use super::counts::{Counts, Operation};
use anyhow::{Result, bail};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::Path;

/// Fewest rounds of an operation in a count.
const MIN_ROUNDS: u64 = 400;

/// Share of an operation's instructions below which a function is summed up with others of its part.
const MIN_SHARE: f64 = 0.01;

/// Instructions below which a part without cache lines, or a function, is left out.
const MIN_INSTRUCTIONS: f64 = 1.0;

/// Writes the sheet of several counts.
pub(super) fn write(
    directory: &Path,
    release: &str,
    arch: &str,
    machine: &str,
    command_line: &str,
    counts: &[Vec<Operation>],
) -> Result<()> {
    let names: Vec<&str> = counts[0].iter().map(|operation| operation.name.as_str()).collect();
    if counts.iter().any(|count| count.iter().map(|operation| operation.name.as_str()).ne(names.iter().copied())) {
        bail!("counts have different operations");
    }
    let head = format!(
        "# Linux {release}, {arch}, {machine}, {command_line}\n# Means of a round over {} counts. `cargo xtask count` writes this \
         file; the book's page \"Counted costs\" explains it.\n",
        counts.len()
    );
    let mut operations = head.clone() + "operation\trounds\tdropped\tinstructions\tmin\tmax\ttransfers\tupgrades\n";
    let mut parts = head.clone()
        + "operation\tside\tpart\tcalls\tinstructions\tloads\tstores\ttransfers\tupgrades\treturns\tindirect\tatomics\n";
    let mut functions = head.clone() + "operation\tside\tpart\tfunction\tcalls\tinstructions\ttransfers\tupgrades\n";
    let mut lines = head + "operation\tside\towner\ttransfers\tupgrades\n";
    for place in 0..names.len() {
        let of: Vec<&Operation> = counts.iter().map(|count| &count[place]).collect();
        write_operation(&of, &mut operations, &mut parts, &mut functions, &mut lines);
    }
    fs::create_dir_all(directory)?;
    for (name, text) in [("operations", operations), ("parts", parts), ("functions", functions), ("lines", lines)] {
        fs::write(directory.join(name).with_extension("tsv"), text)?;
    }
    for operation in counts.iter().flatten().filter(|operation| operation.rounds < MIN_ROUNDS) {
        println!(
            "warning: {}: {} rounds kept of {}",
            operation.name,
            operation.rounds,
            operation.rounds + operation.dropped
        );
    }
    Ok(())
}

fn write_operation(
    of: &[&Operation],
    operations: &mut String,
    parts: &mut String,
    functions: &mut String,
    lines: &mut String,
) {
    let name = &of[0].name;
    // The kernel's part of the counts: what the guest's own program executes is not part of the operation.
    let kernel = |operation: &&Operation| {
        let mut sum = Counts::default();
        operation.parts.iter().filter(|((side, _), _)| side != "user").for_each(|(_, counts)| sum += *counts);
        sum
    };
    let sums: Vec<Counts> = of.iter().map(kernel).collect();
    let mean_of = |figure: fn(&Counts) -> f64| sums.iter().map(figure).sum::<f64>() / sums.len() as f64;
    let instructions = mean_of(|counts| counts.instructions);
    let _ = writeln!(
        operations,
        "{name}\t{}\t{}\t{:.1}\t{:.1}\t{:.1}\t{:.1}\t{:.1}",
        of.iter().map(|operation| operation.rounds).min().unwrap_or_default(),
        of.iter().map(|operation| operation.dropped).max().unwrap_or_default(),
        instructions,
        sums.iter().map(|counts| counts.instructions).fold(f64::INFINITY, f64::min),
        sums.iter().map(|counts| counts.instructions).fold(0.0, f64::max),
        mean_of(|counts| counts.transfers),
        mean_of(|counts| counts.upgrades),
    );
    for ((side, part), counts) in mean(of, |operation| &operation.parts) {
        let Counts { calls, instructions, loads, stores, transfers, upgrades, returns, indirect, atomics } = counts;
        if instructions >= MIN_INSTRUCTIONS || transfers + upgrades >= 0.05 {
            let row =
                [instructions, loads, stores, transfers, upgrades, returns, indirect, atomics].map(number).join("\t");
            let _ = writeln!(parts, "{name}\t{side}\t{part}\t{}\t{row}", digits(calls, 3));
        }
    }
    let mut rest: BTreeMap<(String, String), Counts> = BTreeMap::new();
    let row = |functions: &mut String, (side, part): &(String, String), function: &str, counts: Counts| {
        let row = [counts.calls, counts.instructions, counts.transfers, counts.upgrades].map(number).join("\t");
        let _ = writeln!(functions, "{name}\t{side}\t{part}\t{function}\t{row}");
    };
    for ((part, function), counts) in mean(of, |operation| &operation.functions) {
        if counts.instructions >= MIN_SHARE * instructions && part.0 != "user" {
            row(functions, &part, &function, counts);
        } else {
            *rest.entry(part).or_default() += counts;
        }
    }
    for (part, counts) in
        rest.iter().filter(|(part, counts)| counts.instructions >= MIN_INSTRUCTIONS && part.0 != "user")
    {
        row(functions, part, "*", Counts { calls: 0.0, ..*counts });
    }
    for ((side, owner), counts) in mean(of, |operation| &operation.lines) {
        if counts.transfers + counts.upgrades >= 0.05 {
            let _ =
                writeln!(lines, "{name}\t{side}\t{owner}\t{}\t{}", number(counts.transfers), number(counts.upgrades));
        }
    }
}

/// Means of the counts by key.
fn mean<K: Ord + Clone>(of: &[&Operation], map: impl Fn(&Operation) -> &BTreeMap<K, Counts>) -> BTreeMap<K, Counts> {
    let mut sums: BTreeMap<K, Counts> = BTreeMap::new();
    for operation in of {
        for (key, counts) in map(operation) {
            *sums.entry(key.clone()).or_default() += *counts;
        }
    }
    sums.values_mut().for_each(|counts| *counts = counts.scaled(1.0 / of.len() as f64));
    sums
}

/// Writes a number with one digit after the point where it has one.
fn number(value: f64) -> String {
    digits(value, 1)
}

/// Writes a number with at most `digits` digits after the point.
fn digits(value: f64, digits: usize) -> String {
    let text = format!("{value:.digits$}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sheet_has_means_without_the_guests_own_program() {
        let operation = |instructions: f64| {
            let counts = Counts { instructions, calls: 1.0, ..Counts::default() };
            let key = |side: &str, part: &str| (side.to_owned(), part.to_owned());
            Operation {
                name: "empty-call".to_owned(),
                rounds: 500,
                dropped: 1,
                parts: [(key("user", "user"), counts), (key("getppid", "call"), counts)].into(),
                functions: [((key("getppid", "call"), "f".to_owned()), counts)].into(),
                ..Operation::default()
            }
        };
        let (a, b) = (operation(100.0), operation(103.0));
        let [mut operations, mut parts, mut functions, mut lines] = [(); 4].map(|()| String::new());
        write_operation(&[&a, &b], &mut operations, &mut parts, &mut functions, &mut lines);
        assert_eq!(operations, "empty-call\t500\t1\t101.5\t100.0\t103.0\t0.0\t0.0\n");
        assert_eq!(
            parts,
            "empty-call\tgetppid\tcall\t1\t101.5\t0\t0\t0\t0\t0\t0\t0\nempty-call\tuser\tuser\t1\t101.5\t0\t0\t0\t0\t0\t0\t0\n"
        );
        assert_eq!(functions, "empty-call\tgetppid\tcall\tf\t1\t101.5\t0\t0\n");
        assert_eq!(lines, "");
    }
}
