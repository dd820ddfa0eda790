// SPDX-License-Identifier: GPL-2.0-or-later
//! Counts of a program per transaction, from the events of its runs.

use super::Program;
use super::trace::{Event, Kind};
use anyhow::{Context, Result, ensure};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;

/// Heads of the tables.
pub(super) const TOTALS: &str = "\
# SPDX-License-Identifier: GPL-2.0-or-later
# Real programs on a booted kernel, by `cargo xtask real-programs`. Numbers are per transaction: those of `transactions` are in the middle
# half of a run with events. Two runs without events give `instructions` (user and kernel, idle time included) and `switches`.
program\tkernel\tcommand\ttransactions\tcalls\tuser instructions\twake-ups\tblocking switches\tpreemptions\tinstructions\tswitches
";
pub(super) const CALLS: &str = "\
# SPDX-License-Identifier: GPL-2.0-or-later
# System calls of real programs per transaction, by `cargo xtask real-programs`: mean bytes asked for and returned, share that blocks,
# wake-ups in a call, and user instructions before it since the task's last call (median and mean).
program\tkernel\ttask\tcall\tper transaction\tbytes\treturned\tblocks\twake-ups\tuser median\tuser mean
";
pub(super) const FORKS: &str = "\
# SPDX-License-Identifier: GPL-2.0-or-later
# Tasks that real programs create, by `cargo xtask real-programs`.
program\tkernel\tparent\tchild\ttasks
";

/// User instructions between two calls of the calibrating program, the call included.
const CALIBRATED: u64 = 4;

/// Calls whose third argument is a number of bytes: `read`, `write`, `pread64`, `sendto`, `recvfrom`.
const TRANSFERS: [u64; 5] = [0, 1, 17, 44, 45];

/// Instructions of the tracer between the end of a call and the begin of the next.
#[derive(Clone, Copy, Debug, Default)]
struct TracerCost {
    /// After a call that did not block.
    plain: u64,
    /// After a call that blocked: the return to user space also restores registers.
    blocked: u64,
}

/// System calls of one kind by tasks of one name.
#[derive(Clone, Debug, Default)]
struct CallCounts {
    count: u64,
    bytes: u64,
    returned: u64,
    blocked: u64,
    wakeups: u64,
    /// User instructions before a call, if no interrupt or switch was between.
    undisturbed: Vec<u64>,
    /// User instructions before a call that an interrupt or switch preceded, without the time of other tasks.
    disturbed: Vec<u64>,
}

impl CallCounts {
    /// Returns the undisturbed values, or all if three of four are disturbed, because they are longer than a tick.
    fn user(&self) -> Vec<u64> {
        let mut values = self.undisturbed.clone();
        if 3 * values.len() < self.disturbed.len() {
            values.extend(&self.disturbed);
        }
        values
    }

    fn mean_user(&self) -> f64 {
        let user = self.user();
        user.iter().sum::<u64>() as f64 / user.len().max(1) as f64
    }
}

/// State of a task while its events are followed.
#[derive(Clone, Debug, Default)]
struct TaskState {
    call: Option<u64>,
    blocks: bool,
    wakeups: u64,
    /// End of the last call.
    exit: Option<u64>,
    has_blocked: bool,
    is_disturbed: bool,
    /// Time away from the CPU since `exit`.
    away: u64,
    left: Option<u64>,
}

/// Sums of a part of a run.
#[derive(Clone, Debug, Default)]
struct Sums {
    calls: BTreeMap<(String, u64), CallCounts>,
    wakeups: u64,
    blocking: u64,
    preemptions: u64,
}

/// Rows of a program.
pub(super) struct Summary {
    rows: [String; 3],
}

impl Summary {
    /// Counts the runs of a program: calibration, with events, and two without.
    pub(super) fn new(
        program: &Program,
        series: &str,
        runs: &[Vec<Event>],
        names: &BTreeMap<u64, String>,
    ) -> Result<Self> {
        let [calibration, traced, quiet @ ..] = runs else { anyhow::bail!("no run with events") };
        let cost = tracer_cost(calibration, names)?;
        let counted: Vec<bool> = traced.iter().map(|event| program.tasks.contains(&event.name)).collect();
        let (window, transactions) = window(program, traced, names)?;
        let sums = sums(program, traced, &counted, window, cost);
        let per = |count: f64| count / transactions;
        let (mut totals, mut calls, mut forks) = (String::new(), String::new(), String::new());
        let (mut nr_calls, mut user) = (0.0, 0.0);
        for ((task, call), counts) in &sums.calls {
            let count = counts.count as f64;
            // Rare calls belong to the begin or the end.
            if per(count) < 0.005 {
                continue;
            }
            nr_calls += count;
            user += count * counts.mean_user();
            let name = names.get(call).map_or("?", String::as_str);
            let (bytes, returned) = if TRANSFERS.contains(call) {
                (format!("{:.0}", counts.bytes as f64 / count), format!("{:.0}", counts.returned as f64 / count))
            } else {
                ("-".to_owned(), "-".to_owned())
            };
            writeln!(
                calls,
                "{}\t{series}\t{task}\t{name}\t{:.3}\t{bytes}\t{returned}\t{:.3}\t{:.3}\t{}\t{:.0}",
                program.name,
                per(count),
                counts.blocked as f64 / count,
                counts.wakeups as f64 / count,
                median(&counts.user()).unwrap_or_default(),
                counts.mean_user()
            )?;
        }
        let (instructions, switches) = quiet_cost(program, quiet).unwrap_or_default();
        writeln!(
            totals,
            "{}\t{series}\t{}\t{transactions:.0}\t{:.3}\t{:.0}\t{:.3}\t{:.3}\t{:.3}\t{instructions}\t{switches}",
            program.name,
            program.command,
            per(nr_calls),
            per(user),
            per(sums.wakeups as f64),
            per(sums.blocking as f64),
            per(sums.preemptions as f64)
        )?;
        for ((parent, child), count) in created(program, traced) {
            writeln!(forks, "{}\t{series}\t{parent}\t{child}\t{count}", program.name)?;
        }
        Ok(Self { rows: [totals, calls, forks] })
    }

    /// Returns the rows of the three tables.
    pub(super) fn rows(&self) -> &[String; 3] {
        &self.rows
    }
}

/// Returns the names of system calls by number, from the C library's headers.
pub(super) fn call_names() -> Result<BTreeMap<u64, String>> {
    let path = "/usr/include/x86_64-linux-gnu/asm/unistd_64.h";
    let text = fs::read_to_string(path).with_context(|| format!("{path}; Debian's package is linux-libc-dev"))?;
    let numbers = text.lines().filter_map(|line| {
        let (name, number) = line.strip_prefix("#define __NR_")?.split_once(' ')?;
        Some((number.trim().parse().ok()?, name.to_owned()))
    });
    Ok(numbers.collect())
}

fn median(values: &[u64]) -> Option<u64> {
    let mut values = values.to_vec();
    values.sort_unstable();
    values.get(values.len() / 2).copied()
}

fn tracer_cost(calibration: &[Event], names: &BTreeMap<u64, String>) -> Result<TracerCost> {
    let counted: Vec<bool> = calibration.iter().map(|event| event.name == "calibrate").collect();
    let range = 0..calibration.len();
    let mut sums = Sums::default();
    count(calibration, &counted, range, TracerCost::default(), &mut sums);
    let after = |name: &str| {
        let call = sums.calls.iter().find(|((_, call), _)| names.get(call).is_some_and(|found| found == name));
        median(&call?.1.user())?.checked_sub(CALIBRATED)
    };
    let cost = after("getppid").zip(after("nanosleep")).map(|(plain, blocked)| TracerCost { plain, blocked });
    cost.context("the calibration has no calls")
}

/// Returns the events that count, and the number of their transactions.
fn window(
    program: &Program,
    events: &[Event],
    names: &BTreeMap<u64, String>,
) -> Result<(core::ops::Range<usize>, f64)> {
    // Without a call, only the whole runs count.
    let Some((task, call, size)) = &program.call else { return Ok((0..0, 1.0)) };
    let is_marker = |event: &Event| match event.kind {
        Kind::Enter { call: number, bytes } => {
            event.name == *task && names.get(&number).is_some_and(|name| name == call) && (*size == 0 || bytes == *size)
        }
        _ => false,
    };
    let places: Vec<usize> = (0..events.len()).filter(|&place| is_marker(&events[place])).collect();
    ensure!(places.len() >= 8, "{} calls of {call} by {task} are too few", places.len());
    let (first, last) = (places.len() / 4, places.len() * 3 / 4);
    Ok((places[first]..places[last], (last - first) as f64 / program.calls as f64))
}

fn sums(
    program: &Program,
    events: &[Event],
    counted: &[bool],
    window: core::ops::Range<usize>,
    cost: TracerCost,
) -> Sums {
    let mut sums = Sums::default();
    count(events, counted, window.clone(), cost, &mut sums);
    for (event, _) in events[window.clone()].iter().zip(&counted[window.clone()]) {
        if let Kind::Waking { name } = &event.kind {
            sums.wakeups += u64::from(program.tasks.contains(name));
        }
    }
    for (event, _) in events[window.clone()].iter().zip(&counted[window]).filter(|(_, is_counted)| **is_counted) {
        if let Kind::Switch { blocks, .. } = event.kind {
            *(if blocks { &mut sums.blocking } else { &mut sums.preemptions }) += 1;
        }
    }
    sums
}

/// Follows the tasks, and adds their system calls that begin in the window.
fn count(events: &[Event], counted: &[bool], window: core::ops::Range<usize>, cost: TracerCost, sums: &mut Sums) {
    let mut tasks: BTreeMap<u32, TaskState> = BTreeMap::new();
    for (place, event) in events.iter().enumerate() {
        if let Kind::Switch { next, .. } = event.kind {
            let next = tasks.entry(next).or_default();
            next.away += next.left.take().map_or(0, |left| event.time - left);
        }
        if !counted[place] {
            continue;
        }
        let task = tasks.entry(event.task).or_default();
        match &event.kind {
            Kind::Enter { call, bytes } => {
                let counts = sums.calls.entry((event.name.clone(), *call)).or_default();
                if let (Some(exit), true) = (task.exit, window.contains(&place)) {
                    let tracer = if task.has_blocked { cost.blocked } else { cost.plain };
                    let user = (event.time - exit).saturating_sub(task.away + tracer);
                    let list = if task.is_disturbed { &mut counts.disturbed } else { &mut counts.undisturbed };
                    list.push(user);
                }
                let is_in = window.contains(&place);
                counts.count += u64::from(is_in);
                if is_in && TRANSFERS.contains(call) {
                    counts.bytes += bytes;
                }
                *task = TaskState { call: is_in.then_some(*call), ..TaskState::default() };
            }
            Kind::Exit { result } => {
                if let Some(call) = task.call {
                    let counts = sums.calls.entry((event.name.clone(), call)).or_default();
                    if TRANSFERS.contains(&call) {
                        counts.returned += u64::try_from(*result).unwrap_or(0);
                    }
                    counts.blocked += u64::from(task.blocks);
                    counts.wakeups += task.wakeups;
                }
                *task = TaskState { exit: Some(event.time), has_blocked: task.blocks, ..TaskState::default() };
            }
            Kind::Switch { blocks, .. } => {
                task.blocks |= blocks;
                task.is_disturbed = true;
                task.left = Some(event.time);
            }
            Kind::Waking { .. } => task.wakeups += 1,
            Kind::Tick => task.is_disturbed = true,
            Kind::Fork { .. } | Kind::Mark { .. } => {}
        }
    }
}

/// Returns instructions and switches of a transaction, from the difference between two runs.
fn quiet_cost(program: &Program, runs: &[Vec<Event>]) -> Option<(String, String)> {
    let [short, long] = program.counts?;
    let of_run = |run: &Vec<Event>| {
        let marks: Vec<(u64, u64)> = run
            .iter()
            .filter_map(|event| match event.kind {
                Kind::Mark { switches } => Some((event.time, switches)),
                _ => None,
            })
            .collect();
        let [begin, end] = marks.as_slice() else { return None };
        Some(((end.0 - begin.0) as f64, (end.1 - begin.1) as f64))
    };
    let (first, last) = (of_run(runs.first()?)?, of_run(runs.get(1)?)?);
    let transactions = ((long - short) * program.each) as f64;
    Some((format!("{:.0}", (last.0 - first.0) / transactions), format!("{:.3}", (last.1 - first.1) / transactions)))
}

/// Returns how many tasks of each name those of the program create, by name of the parent.
fn created<'a>(program: &Program, events: &'a [Event]) -> BTreeMap<(&'a str, &'a str), u64> {
    let names: BTreeMap<u32, &str> = events.iter().map(|event| (event.task, event.name.as_str())).collect();
    let mut counts = BTreeMap::new();
    for event in events {
        let Kind::Fork { child } = event.kind else { continue };
        let child = names.get(&child).copied().unwrap_or("?");
        if program.tasks.iter().any(|task| task == child) {
            *counts.entry((event.name.as_str(), child)).or_default() += 1;
        }
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_has_its_user_instructions_its_block_and_its_wakeups() {
        let event = |name: &str, task, time, kind| Event { name: name.to_owned(), task, time, kind };
        let events = [
            event("a", 1, 100, Kind::Exit { result: 0 }),
            event("a", 1, 150, Kind::Enter { call: 1, bytes: 8 }),
            event("a", 1, 160, Kind::Waking { name: "b".to_owned() }),
            event("a", 1, 170, Kind::Exit { result: 8 }),
            event("a", 1, 200, Kind::Enter { call: 0, bytes: 16 }),
            event("a", 1, 210, Kind::Switch { blocks: true, next: 2 }),
            event("b", 2, 300, Kind::Switch { blocks: true, next: 1 }),
            event("a", 1, 310, Kind::Exit { result: 4 }),
            event("a", 1, 350, Kind::Tick),
            event("a", 1, 400, Kind::Enter { call: 1, bytes: 8 }),
        ];
        let counted: Vec<bool> = events.iter().map(|event| event.name == "a").collect();
        let mut sums = Sums::default();
        count(&events, &counted, 0..events.len(), TracerCost { plain: 10, blocked: 20 }, &mut sums);
        let write = &sums.calls[&("a".to_owned(), 1)];
        assert_eq!((write.count, write.wakeups, write.blocked, write.bytes, write.returned), (2, 1, 0, 16, 8));
        assert_eq!((write.undisturbed.as_slice(), write.disturbed.as_slice()), ([40].as_slice(), [70].as_slice()));
        let read = &sums.calls[&("a".to_owned(), 0)];
        assert_eq!((read.blocked, read.returned, read.user()), (1, 4, vec![20]));
    }
}
