// SPDX-License-Identifier: GPL-2.0-or-later
//! What is shown of a run at one moment: texts and numbers, taken from the machine and from who has listened.

use super::watcher::{DecisionKind, ShownDecision, Watcher};
use crate::output::figures::cpu_list;
use fairlab_machine::sim::{Machine, START};
use fairlab_sched::ids::{CpuId, TaskId};
use fairlab_sched::task::TaskState;
use fairlab_sched::topology::DomainId;
use fairlab_sched::units::{Nanos, SCHED_CAPACITY_SCALE};
use std::collections::VecDeque;

/// Rates are those of so much simulated time before the moment.
const RATES_OF: Nanos = Nanos::from_millis(100);
/// So many tasks of a queue have a name.
const MOST_QUEUED: usize = 12;

/// Whether the run goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    Paused,
    Goes,
    /// On the way to a decision, of which there were so many.
    Seeks {
        kind: Option<DecisionKind>,
        seen: u64,
    },
    /// The run is at its end.
    Over,
}

/// A CPU.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct CpuLine {
    pub(super) cpu: u32,
    /// The running task; none: it idles, or is offline.
    pub(super) task: Option<String>,
    pub(super) nr_running: u32,
    pub(super) util_avg: u64,
    pub(super) capacity: u64,
    /// Its frequency: in MHz, or as a part of the highest in percent where that is not known.
    pub(super) frequency: String,
    /// In which state it idles.
    pub(super) idle: String,
}

/// A sched domain of the chosen CPU.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct DomainLine {
    pub(super) name: &'static str,
    pub(super) span: String,
    pub(super) interval_ms: u32,
    /// How long ago the CPU has balanced it, in ms.
    pub(super) last_ms: u64,
}

/// All that is shown.
#[derive(Clone, Debug)]
pub(super) struct View {
    pub(super) title: String,
    pub(super) now: Nanos,
    pub(super) whole: Nanos,
    pub(super) mode: Mode,
    /// Simulated in a second.
    pub(super) speed: Nanos,
    pub(super) cpus: Vec<CpuLine>,
    /// The CPU whose queue and domains are shown.
    pub(super) chosen: usize,
    /// The first CPU that fits on the screen.
    pub(super) first: usize,
    /// Who waits on the chosen CPU, and how many more there are.
    pub(super) queue: (Vec<String>, usize),
    pub(super) domains: Vec<DomainLine>,
    /// Of what there is so much in a simulated second.
    pub(super) rates: Vec<(&'static str, u64)>,
    /// The last decisions, the newest first.
    pub(super) decisions: Vec<String>,
    /// Why the last one was made.
    pub(super) why: Option<Vec<String>>,
    /// What was counted when, for rates.
    counted: VecDeque<(Nanos, [u64; RATES.len()])>,
}

/// What has rates.
const RATES: [&str; 6] = ["switch", "wakeup", "migr.", "select", "pass", "kick"];

impl View {
    /// Of a run that is about to begin, and waits for a key.
    pub(super) fn new(machine: &Machine, title: &str, speed: Nanos) -> Self {
        Self {
            title: title.to_owned(),
            now: Nanos::ZERO,
            whole: machine.duration(),
            mode: Mode::Paused,
            speed,
            cpus: Vec::new(),
            chosen: 0,
            first: 0,
            queue: (Vec::new(), 0),
            domains: Vec::new(),
            rates: Vec::new(),
            decisions: Vec::new(),
            why: None,
            counted: VecDeque::new(),
        }
    }

    /// Looks at the machine.
    pub(super) fn update_view(&mut self, machine: &Machine, watcher: &Watcher) {
        self.now = machine.elapsed();
        self.cpus = machine.sched().cpu_ids().map(|cpu| cpu_line(machine, watcher, cpu)).collect();
        let chosen = CpuId::from_index(self.chosen);
        self.queue = queue(machine, watcher, chosen);
        self.domains = domains(machine, chosen);
        self.decisions = watcher.decisions().map(|(at, decision)| sentence(machine, watcher, *at, decision)).collect();
        self.count(machine, watcher);
    }

    fn count(&mut self, machine: &Machine, watcher: &Watcher) {
        let counters = machine.counters();
        let of = |kind| watcher.seen(Some(kind));
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
        let enough = self.now.saturating_since(RATES_OF);
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
    let idle = match watcher.asleep(cpu) {
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

/// The name of a task; a CPU's own by what they are.
fn name(machine: &Machine, watcher: &Watcher, task: TaskId) -> String {
    let of_cpu = || {
        let cpu = machine.sched().task(task).cpu;
        if machine.sched().snapshot(cpu).stop == task { format!("migration/{}", cpu.0) } else { "idle".to_owned() }
    };
    watcher.host_of(task).map_or_else(of_cpu, |place| machine.tasks()[place].name.clone())
}

fn queue(machine: &Machine, watcher: &Watcher, cpu: CpuId) -> (Vec<String>, usize) {
    let sched = machine.sched();
    let all = (0..sched.nr_tasks()).map(TaskId::from_index);
    let waits = |&task: &TaskId| {
        let p = sched.task(task);
        p.cpu == cpu && p.is_queued() && p.state == TaskState::Running && sched.curr(cpu) != task
    };
    let idle = sched.idle_task(cpu);
    let waiting: Vec<TaskId> = all.filter(waits).filter(|&task| task != idle).collect();
    let names = waiting.iter().take(MOST_QUEUED).map(|&task| name(machine, watcher, task)).collect();
    (names, waiting.len().saturating_sub(MOST_QUEUED))
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
            span: cpu_list(&span),
            interval_ms: sd.balance_interval,
            last_ms: ticks * tick.0 / 1_000_000,
        }
    };
    domains.chain(cpu).map(line).collect()
}

/// A decision in a line.
fn sentence(machine: &Machine, watcher: &Watcher, at: Nanos, decision: &ShownDecision) -> String {
    let at = at.saturating_since(START).0;
    let at = format!("{:>5}.{:06} ms", at / 1_000_000, at % 1_000_000);
    let what = match decision {
        ShownDecision::Wakeup(d) => {
            let task = name(machine, watcher, d.task);
            format!("{task}: CPU {} -> {} {}", d.prev.0, d.cpu.0, d.rule.name())
        }
        ShownDecision::Balance(d) => {
            let moved = if d.nr_moved > 0 { format!(", {} moved", d.nr_moved) } else { String::new() };
            let why = d.balanced.map_or_else(|| d.verdict.name(), |balanced| balanced.name());
            format!("CPU {} balances level {}: {why}{moved}", d.dst_cpu.0, d.level)
        }
        ShownDecision::Kick(d) => {
            let target = d.target.map_or_else(|| "nobody".to_owned(), |target| format!("CPU {}", target.0));
            format!("CPU {} asks {target} to balance: {}", d.cpu.0, d.reason.name())
        }
    };
    format!("{at}  {what}")
}
