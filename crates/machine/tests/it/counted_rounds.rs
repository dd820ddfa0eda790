// SPDX-License-Identifier: GPL-2.0-or-later
//! Simulated rounds beside counted ones: operations of the count sheets on a machine of one instruction per nanosecond.
//!
//! The table is part of the book. `FAIRLAB_BLESS=1 cargo test -p fairlab-machine --test it counted_rounds` writes it.

use fairlab_board::parse;
use fairlab_machine::hardware::Hardware;
use fairlab_machine::observer::NoObserver;
use fairlab_machine::sim::{Machine, Setup};
use fairlab_sched::series::KernelSeries;
use fairlab_sched::units::Nanos;
use fairlab_workload::bench::hackbench::Hackbench;
use fairlab_workload::bench::micro::{Micro, MicroTest};
use std::fmt::Write;
use std::path::{Path, PathBuf};

const SHEETS: [&str; 2] = ["6.12-x86_64", "6.12-arm64"];
/// Rounds that are left out, because the first ones differ, and rounds in all.
const ROUNDS: [u64; 2] = [300, 600];
/// Rounds of messaging, as in the counted program: what happens in a round depends on those before.
const MESSAGING_ROUNDS: [u64; 2] = [200, 700];
/// Latency of a cache line with which lines are distinguished from instructions.
const LINE_NS: u64 = 50;

/// Operations of other sizes than 1 byte, and without, from which a formula takes a number: bytes of a message.
const BYTES: [&str; 4] =
    ["pass-pipe size=65536", "pass-unix size=65536", "pass-udp size=4096", "pingpong-tcp-2cpus size=65536"];

/// Whether no formula takes a number from an operation, so that the simulated round is a prediction: round trips on one
/// CPU, between processes, of other sizes, and in groups of other depths than 5.
fn is_prediction(operation: &str) -> bool {
    if BYTES.contains(&operation) {
        return false;
    }
    let mut words = operation.split(' ');
    words.next().is_some_and(|name| name.ends_with("-1cpu")) || words.any(|word| word != "size=1" && word != "groups=5")
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Time of all CPUs in tasks and in the kernel, in nanoseconds.
fn busy_ns(sheet: &str, series: KernelSeries, line_ns: u64, micro: Micro, levels: u32) -> u64 {
    let fact = |key: &str, value: u64| format!("{key} = {{ value = {value}, source = \"test\" }}\n");
    let text = format!(
        "name = \"x\"\npreemption = \"voluntary\"\n[cpus]\ncount = 2\n[processor]\nsheet = \"{sheet}\"\n{}{}[processor.line_ns]\n{}",
        fact("instructions_per_us", 1000),
        fact("line_share_percent", 100),
        fact("llc", line_ns)
    );
    let machine = parse("x.toml", &text).unwrap_or_else(|error| panic!("{error}"));
    let mut workload = micro.workload();
    workload.groups = Hackbench { group_levels: levels, ..Hackbench::default() }.workload().groups;
    for task in &mut workload.tasks {
        task.start.group = Some(workload.groups.len().checked_sub(1));
    }
    let setup = Setup::new(KernelSeries::V6_1, Hardware::from_description(&machine), workload, Nanos::from_secs(10));
    let setup = Setup { series, ..setup };
    let mut machine = Machine::new(setup).expect("the machine is possible");
    machine.run(&mut NoObserver).expect("the tasks make progress");
    machine.counters().per_cpu.iter().map(|cpu| (cpu.work + cpu.kernel).0).sum()
}

/// Instructions and cache lines of a round.
fn simulated(sheet: &str, series: KernelSeries, model: Model) -> (f64, f64) {
    let Model { test, bytes, levels } = model;
    let per_round = |line_ns| {
        let [first, last] = if matches!(test, MicroTest::Messaging(_)) { MESSAGING_ROUNDS } else { ROUNDS };
        let busy =
            |rounds| busy_ns(sheet, series, line_ns, Micro { bytes, ..Micro::new(test, rounds, [0, 1]) }, levels);
        (busy(last) - busy(first)) as f64 / (last - first) as f64
    };
    let instructions = per_round(0);
    (instructions, (per_round(LINE_NS) - instructions) / LINE_NS as f64)
}

/// Model of an operation of a sheet.
#[derive(Clone, Copy)]
struct Model {
    test: MicroTest,
    bytes: u32,
    /// Levels of task groups.
    levels: u32,
}

/// Returns the model of a sheet's operation, if there is one.
fn model_of(operation: &str) -> Option<Model> {
    let (name, words) = operation.split_once(' ').unwrap_or((operation, ""));
    let test = MicroTest::from_name(name).filter(|test| test.is_modelled())?;
    let number = |prefix: &str| words.split(' ').find_map(|word| word.strip_prefix(prefix)?.parse().ok());
    Some(Model { test, bytes: number("size=").unwrap_or(1), levels: number("groups=").unwrap_or(0) })
}

fn table(sheet: &str) -> String {
    let read = |file: &str| {
        std::fs::read_to_string(root().join("sheets").join(sheet).join(file)).expect("the sheet has the table")
    };
    let parts = read("parts.tsv");
    let spinning = |operation: &str| -> f64 {
        let rows = parts.lines().map(|line| line.split('\t').collect::<Vec<_>>());
        let own = rows.filter(|row| row.len() > 4 && row[0] == operation && row[2] == "spin");
        own.map(|row| row[4].parse::<f64>().expect("a number")).sum()
    };
    let mut text = String::from(
        "| Operation | Counted | Spread | CFS | Ratio | EEVDF | Ratio | Lines counted | CFS | EEVDF |\n\
         |---|---|---|---|---|---|---|---|---|---|\n",
    );
    let mut predictions = 0;
    let (mut close, mut within) = ([0; 2], [0; 2]);
    for line in read("operations.tsv").lines().filter(|line| !line.starts_with('#')).skip(1) {
        let row: Vec<&str> = line.split('\t').collect();
        let Some(model) = model_of(row[0]) else { continue };
        let number = |place: usize| row[place].parse::<f64>().expect("a number");
        let counted = number(3) - spinning(row[0]);
        let spread = (number(5) - number(4)) / number(3);
        let rounds = KernelSeries::ALL.map(|series| simulated(sheet, series, model));
        let is_prediction = is_prediction(row[0]);
        predictions += u32::from(is_prediction);
        let mut columns = String::new();
        for (index, &(instructions, _)) in rounds.iter().enumerate() {
            let ratio = instructions / counted;
            close[index] += u32::from(is_prediction && (ratio - 1.0).abs() <= 0.1);
            within[index] += u32::from(is_prediction && (ratio - 1.0).abs() <= 3.0 * spread);
            let _ = write!(columns, "{instructions:.0} | {ratio:.2} | ");
        }
        let words: Vec<&str> = row[0].split(' ').filter(|word| *word != "size=1").collect();
        let _ = writeln!(
            text,
            "| {}{} | {counted:.0} | {:.1} % | {columns}{:.0} | {:.0} | {:.0} |",
            words.join(" "),
            if is_prediction { " *" } else { "" },
            100.0 * spread,
            number(6) + number(7),
            // No negative zero.
            rounds[0].1.round() + 0.0,
            rounds[1].1.round() + 0.0,
        );
    }
    let _ = writeln!(
        text,
        "\nOf {predictions} predictions, {} (CFS) and {} (EEVDF) are within 10 %, and {} and {} within three times the spread of five counts.",
        close[0], close[1], within[0], within[1]
    );
    text
}

#[test]
fn simulated_rounds_are_beside_counted_ones_in_the_book() {
    let page = root().join("docs/book/src/validation/counted-rounds.md");
    let mut text = std::fs::read_to_string(&page).expect("the book has the page");
    for sheet in SHEETS {
        let (begin, end) = (format!("<!-- table: {sheet} -->\n\n"), format!("\n<!-- end: {sheet} -->"));
        let from = text.find(&begin).expect("the page has a place for the table") + begin.len();
        let to = from + text[from..].find(&end).expect("the table has an end");
        let table = table(sheet);
        if std::env::var_os("FAIRLAB_BLESS").is_some() {
            text.replace_range(from..to, &table);
        } else {
            assert_eq!(table, text[from..to], "if costs were to change, FAIRLAB_BLESS=1 writes the table of {sheet}");
        }
    }
    if std::env::var_os("FAIRLAB_BLESS").is_some() {
        std::fs::write(page, text).expect("the page can be written");
    }
}
