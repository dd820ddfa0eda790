// SPDX-License-Identifier: GPL-2.0-or-later
//! Conversion of a fuzz case to a scenario.

use super::case::{CaseMachine, CasePolicy, CaseProgram, FuzzCase};
use std::fmt::Write as _;

/// Returns the scenario's text, with `head` as comment lines at its beginning. It names the kernel if one is given.
pub fn text(case: &FuzzCase, head: &[String], kernel: Option<&str>) -> String {
    let mut text = String::new();
    for line in head {
        writeln!(text, "# {line}").expect("text can be written");
    }
    for line in lines(case, kernel) {
        writeln!(text, "{line}").expect("text can be written");
    }
    text
}

/// Name of a group in scenarios and file names.
pub(super) fn group_name(place: usize) -> String {
    format!("g{place}")
}

/// Name of the tasks of a set.
pub(super) fn task_name(place: usize, program: CaseProgram) -> String {
    let kind = match program {
        CaseProgram::Hog => "hog",
        CaseProgram::Sleeper { .. } => "sleeper",
        CaseProgram::Waker { .. } => "waker",
    };
    format!("{kind}{}", letters(place))
}

/// Name of the partners of a waker set.
pub(super) fn partner_name(place: usize) -> String {
    format!("wakee{}", letters(place))
}

/// Returns letters for the index of a set: digits at the end of a name are the task's number.
fn letters(place: usize) -> String {
    let letter = |digit: usize| char::from(b'A' + u8::try_from(digit % 26).expect("a letter"));
    if place < 26 { letter(place).to_string() } else { format!("{}{}", letter(place / 26 - 1), letter(place)) }
}

fn lines(case: &FuzzCase, kernel: Option<&str>) -> Vec<String> {
    let mut lines = Vec::new();
    match &case.machine {
        CaseMachine::Named(name, _) => lines.push(format!("machine {name}")),
        CaseMachine::Shape(shape) => {
            lines.push(format!("cpus {}", shape.nr_cpus));
            let (smt, llc, node) = (shape.smt, shape.llc, shape.node);
            lines.push(format!("topo smt={smt} llc={llc} pkg={node} node={node}"));
            let parts = [(smt > 1, 'S'), (llc > smt, 'M'), (node > llc, 'P')];
            let levels: String = parts.iter().filter(|(is_there, _)| *is_there).map(|(_, letter)| letter).collect();
            lines.push(format!("levels {levels}A"));
            if shape.nr_little > 0 {
                let capacity = |cpu| if cpu < shape.nr_little { "512" } else { "1024" };
                let capacities: Vec<&str> = (0..shape.nr_cpus).map(capacity).collect();
                lines.push(format!("caps {}", capacities.join(" ")));
                lines.push("scale 1".to_owned());
            }
        }
    }
    lines.push(format!("end {}ms", case.end_ms));
    lines.extend(kernel.map(|kernel| format!("kernel {kernel}")));
    lines.extend(
        case.features.iter().map(|(feature, is_on)| format!("feature {} {}", feature.name(), u8::from(*is_on))),
    );
    lines.extend(case.tunables.iter().map(|(name, value)| format!("tune {name} {value}")));
    for (place, group) in case.groups.iter().enumerate() {
        let quota = group.quota_ms.map_or_else(String::new, |quota| format!(" quota={quota}ms"));
        lines.push(format!("group {} shares={}{quota}", group_name(place), group.shares));
    }
    for (place, set) in case.tasks.iter().enumerate() {
        let mut options = vec![format!("n={}", set.number)];
        let mut option = |is_there: bool, text: String| options.extend(is_there.then_some(text));
        option(set.cpu > 0, format!("cpu={}", set.cpu));
        option(set.start_ms > 0, format!("start={}ms", set.start_ms));
        let (first, last) = set.mask.unwrap_or_default();
        option(set.mask.is_some(), format!("mask={first}-{last}"));
        option(set.group.is_some(), format!("group={}", group_name(set.group.unwrap_or_default())));
        match set.class {
            CasePolicy::Normal => {}
            CasePolicy::Batch => option(true, "batch".to_owned()),
            CasePolicy::Idle => option(true, "idlepol".to_owned()),
            CasePolicy::Fifo => option(true, "fifo=10".to_owned()),
        }
        option(set.nice != 0, format!("nice={}", set.nice));
        let options = options.join(" ");
        let name = task_name(place, set.program);
        match set.program {
            CaseProgram::Hog => lines.push(format!("task {name} {options} run 10ms")),
            CaseProgram::Sleeper { run_us, sleep_us } => {
                lines.push(format!("task {name} {options} loop run {} sleep {}", time(run_us), time(sleep_us)));
            }
            CaseProgram::Waker { run_us, sleep_us } => {
                let partner = partner_name(place);
                let (run, sleep) = (time(run_us), time(sleep_us));
                lines.push(format!("task {partner} {options} loop wait run {run}"));
                lines.push(format!("task {name} {options} loop run {run} wake {partner} sleep {sleep}"));
            }
        }
    }
    lines
}

/// Formats a time in milliseconds if it is a whole number of them, otherwise in microseconds.
fn time(us: u64) -> String {
    if us.is_multiple_of(1000) { format!("{}ms", us / 1000) } else { format!("{us}us") }
}
