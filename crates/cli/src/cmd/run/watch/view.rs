// SPDX-License-Identifier: GPL-2.0-or-later
//! Content of the screen at one moment: texts and numbers, taken from the machine and from its observer.

use super::watcher::{DecisionKind, RecordedDecision, Watcher};
use crate::output::figures::format_cpu_list;
use fairlab_machine::sim::{Machine, START};
use fairlab_sched::ids::{CpuId, TaskId};
use fairlab_sched::task::TaskState;
use fairlab_sched::topology::DomainId;
use fairlab_sched::units::{Nanos, SCHED_CAPACITY_SCALE};
use std::collections::VecDeque;

/// Simulated time over which rates are computed.
const RATE_WINDOW: Nanos = Nanos::from_millis(100);
/// Largest number of queued tasks that are listed by name.
const MAX_QUEUED_NAMES: usize = 12;

/// Mode of a watched run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Mode {
    #[default]
    Paused,
    Goes,
    /// Runs until a decision follows; `seen` decisions of this kind have been made before.
    Seeks {
        kind: Option<DecisionKind>,
        seen: u64,
    },
    /// The run has ended.
    Over,
}

/// Line about a CPU.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct CpuLine {
    pub(super) cpu: u32,
    /// Running task; `None` for an idle or offline CPU.
    pub(super) task: Option<String>,
    pub(super) nr_running: u32,
    pub(super) util_avg: u64,
    pub(super) capacity: u64,
    /// Frequency in MHz, or as a percentage of the highest one if the frequency is unknown.
    pub(super) frequency: String,
    /// Name of the idle state.
    pub(super) idle: String,
}

/// Line about a sched domain of the selected CPU.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct DomainLine {
    pub(super) name: &'static str,
    pub(super) span: String,
    pub(super) interval_ms: u32,
    /// Time since the CPU has balanced this domain, in milliseconds.
    pub(super) last_ms: u64,
}

/// Content of the screen.
#[derive(Clone, Debug, Default)]
pub(super) struct View {
    pub(super) title: String,
    pub(super) now: Nanos,
    pub(super) whole: Nanos,
    pub(super) mode: Mode,
    /// Simulated time per second.
    pub(super) speed: Nanos,
    pub(super) cpus: Vec<CpuLine>,
    /// Index of the CPU whose queue and domains are shown.
    pub(super) chosen: usize,
    /// Index of the first visible CPU.
    pub(super) first: usize,
    /// Names of tasks that wait on the selected CPU, and the number of further ones.
    pub(super) queue: (Vec<String>, usize),
    pub(super) domains: Vec<DomainLine>,
    /// Names and rates of events, per simulated second.
    pub(super) rates: Vec<(&'static str, u64)>,
    /// Last decisions, newest first.
    pub(super) decisions: Vec<String>,
    /// Explanation of the last decision.
    pub(super) why: Option<Vec<String>>,
    /// Counters with their times, for rates.
    counted: VecDeque<(Nanos, [u64; RATES.len()])>,
}

/// Names of the events with rates.
const RATES: [&str; 6] = ["switch", "wakeup", "migr.", "select", "pass", "kick"];

impl View {
    /// Creates the view of a run that has not begun and waits for a key.
    pub(super) fn new(machine: &Machine, title: &str, speed: Nanos) -> Self {
        Self { title: title.to_owned(), whole: machine.duration(), speed, ..Self::default() }
    }

    /// Updates the view from the machine.
    pub(super) fn update(&mut self, machine: &Machine, watcher: &Watcher) {
        self.now = machine.elapsed();
        self.cpus = machine.sched().cpu_ids().map(|cpu| cpu_line(machine, watcher, cpu)).collect();
        let chosen = CpuId::from_index(self.chosen);
        self.queue = queued_names(machine, watcher, chosen);
        self.domains = domains(machine, chosen);
        self.decisions =
            watcher.decisions().map(|(at, decision)| decision_text(machine, watcher, *at, decision)).collect();
        self.update_rates(machine, watcher);
    }

    fn update_rates(&mut self, machine: &Machine, watcher: &Watcher) {
        let counters = machine.counters();
        let of = |kind| watcher.nr_seen(Some(kind));
        let now = [
            counters.switches,
            counters.wakeups,
            counters.migrations,
            of(DecisionKind::Wakeup),
            of(DecisionKind::Balance),
            of(DecisionKind::Kick),
        ];
        if self.counted.back().is_none_or(|(at, _)| *at < self.now) {
            self.counted.push_back((self.now, now));
        }
        let enough = self.now.saturating_since(RATE_WINDOW);
        while self.counted.get(1).is_some_and(|(at, _)| *at <= enough) {
            self.counted.pop_front();
        }
        let (since, before) = self.counted.front().copied().unwrap_or((self.now, now));
        let span = self.now.saturating_since(since).0;
        let rate = |place: usize| {
            let more = u128::from(now[place] - before[place]);
            (more * 1_000_000_000).checked_div(u128::from(span)).unwrap_or(0) as u64
        };
        self.rates = RATES.iter().enumerate().map(|(place, name)| (*name, rate(place))).collect();
    }
}

fn cpu_line(machine: &Machine, watcher: &Watcher, cpu: CpuId) -> CpuLine {
    let (sched, hardware) = (machine.sched(), machine.hardware());
    let (figures, curr) = (sched.snapshot(cpu), sched.curr(cpu));
    let is_online = sched.is_online(cpu);
    let part = figures.freq_capacity;
    let khz = hardware.khz_of(cpu, part);
    let percent = || format!("{} %", 100 * part / SCHED_CAPACITY_SCALE);
    let idle = match watcher.idle_state(cpu) {
        _ if !is_online => "offline".to_owned(),
        Some(state) if curr == figures.idle => {
            hardware.idle_states[cpu.index()].get(state).map_or_else(|| "idle".to_owned(), |state| state.name.clone())
        }
        None if curr == figures.idle => "idle loop".to_owned(),
        _ => String::new(),
    };
    CpuLine {
        cpu: cpu.0,
        task: (curr != figures.idle).then(|| name(machine, watcher, curr)),
        nr_running: figures.nr_running,
        util_avg: figures.cfs_avg.util_avg,
        capacity: figures.cpu_capacity,
        frequency: khz.map_or_else(percent, |khz| (khz / 1000).to_string()),
        idle,
    }
}

/// Returns the name of a task; per-CPU tasks are named after their role.
fn name(machine: &Machine, watcher: &Watcher, task: TaskId) -> String {
    let of_cpu = || {
        let cpu = machine.sched().task(task).cpu;
        if machine.sched().snapshot(cpu).stop == task { format!("migration/{}", cpu.0) } else { "idle".to_owned() }
    };
    watcher.sim_index(task).map_or_else(of_cpu, |place| machine.tasks()[place].name.clone())
}

fn queued_names(machine: &Machine, watcher: &Watcher, cpu: CpuId) -> (Vec<String>, usize) {
    let sched = machine.sched();
    let all = (0..sched.nr_tasks()).map(TaskId::from_index);
    let waits = |&task: &TaskId| {
        let p = sched.task(task);
        p.cpu == cpu && p.is_queued() && p.state == TaskState::Running && sched.curr(cpu) != task
    };
    let idle = sched.idle_task(cpu);
    let waiting: Vec<TaskId> = all.filter(waits).filter(|&task| task != idle).collect();
    let names = waiting.iter().take(MAX_QUEUED_NAMES).map(|&task| name(machine, watcher, task)).collect();
    (names, waiting.len().saturating_sub(MAX_QUEUED_NAMES))
}

fn domains(machine: &Machine, cpu: CpuId) -> Vec<DomainLine> {
    let (sched, tick) = (machine.sched(), machine.hardware().tick);
    let domains = sched.domains();
    let line = |sd: DomainId| {
        let sd = &domains.domains[sd];
        let ticks = sched.jiffies().saturating_sub(sd.last_balance);
        let span: Vec<u32> = sd.span.iter().map(|cpu| cpu.0).collect();
        DomainLine {
            name: sd.name,
            span: format_cpu_list(&span),
            interval_ms: sd.balance_interval,
            last_ms: ticks * tick.0 / 1_000_000,
        }
    };
    domains.chain(cpu).map(line).collect()
}

/// Describes a decision in one line.
fn decision_text(machine: &Machine, watcher: &Watcher, at: Nanos, decision: &RecordedDecision) -> String {
    let at = at.saturating_since(START).0;
    let at = format!("{:>5}.{:06} ms", at / 1_000_000, at % 1_000_000);
    let what = match decision {
        RecordedDecision::Wakeup(d) => {
            let task = name(machine, watcher, d.task);
            format!("{task}: CPU {} -> {} {}", d.prev.0, d.cpu.0, d.rule.name())
        }
        RecordedDecision::Balance(d) => {
            let moved = if d.nr_moved > 0 { format!(", {} moved", d.nr_moved) } else { String::new() };
            let why = d.balanced.map_or_else(|| d.verdict.name(), |balanced| balanced.name());
            format!("CPU {} balances level {}: {why}{moved}", d.dst_cpu.0, d.level)
        }
        RecordedDecision::Kick(d) => {
            let target = d.target.map_or_else(|| "no CPU".to_owned(), |target| format!("CPU {}", target.0));
            format!("CPU {} kicks {target} to balance: {}", d.cpu.0, d.reason.name())
        }
    };
    format!("{at}  {what}")
}
