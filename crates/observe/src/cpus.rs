// SPDX-License-Identifier: GPL-2.0-or-later
//! What the CPUs did: busy and idle time, idle states, frequencies, ticks, interrupts and switches.

use fairlab_machine::engine::Engine;
use fairlab_machine::hardware::Hardware;
use fairlab_machine::sim::{CpuCounters, Machine};
use fairlab_sched::ids::{CpuId, TaskId};
use fairlab_sched::units::{Capacity, Nanos, SCHED_CAPACITY_SCALE};
use serde::{Deserialize, Serialize};

/// What runs on a CPU.
#[derive(Clone, Copy, Debug)]
enum RunningOn {
    Idle,
    Stopper,
    Task,
}

/// What is known of a CPU.
#[derive(Clone, Debug)]
struct CpuTimes {
    /// What runs there now, since `since`.
    runs: RunningOn,
    since: Nanos,
    tasks: Nanos,
    stopper: Nanos,
    idle: Nanos,
}

/// Time at a frequency.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct FrequencyTime {
    /// The frequency, if the machine says what it is.
    pub khz: Option<u64>,
    /// Part of the highest frequency, of 1024.
    pub part: Capacity,
    /// Time.
    pub ns: u64,
    /// Of it, time in which the idle task ran.
    #[serde(default)]
    pub idle_ns: u64,
}

/// Time in an idle state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct IdleTime {
    /// The state.
    pub state: String,
    /// How often it was entered.
    pub entries: u64,
    /// Time.
    pub ns: u64,
}

/// What softirqs had to do with packets, on a CPU or on all of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct SoftirqCounts {
    /// Packets that came from outside.
    pub packets: u64,
    /// Those for which there was no room.
    pub packets_dropped: u64,
    /// The most packets and messages that have waited on one CPU at a time, a warm-up among it.
    pub longest_backlog: u64,
    /// How often ksoftirqd was woken.
    pub ksoftirqd_wakeups: u64,
}

impl SoftirqCounts {
    const fn is_nothing(&self) -> bool {
        self.packets == 0 && self.longest_backlog == 0 && self.ksoftirqd_wakeups == 0
    }

    fn of(counters: &CpuCounters) -> Self {
        Self {
            packets: counters.packets,
            packets_dropped: counters.packets_dropped,
            longest_backlog: counters.longest_backlog,
            ksoftirqd_wakeups: counters.ksoftirqd_wakeups,
        }
    }

    /// Those of all CPUs of a machine together, since the start of its run.
    pub fn of_machine(machine: &Machine<impl Engine>) -> Self {
        let cpus = machine.counters().per_cpu.iter().map(Self::of);
        cpus.fold(Self::default(), Self::combined)
    }

    /// Both together.
    #[must_use]
    pub(crate) fn combined(self, other: Self) -> Self {
        Self {
            packets: self.packets + other.packets,
            packets_dropped: self.packets_dropped + other.packets_dropped,
            longest_backlog: self.longest_backlog.max(other.longest_backlog),
            ksoftirqd_wakeups: self.ksoftirqd_wakeups + other.ksoftirqd_wakeups,
        }
    }

    fn subtract(&mut self, before: &Self) {
        self.packets -= before.packets;
        self.packets_dropped -= before.packets_dropped;
        self.ksoftirqd_wakeups -= before.ksoftirqd_wakeups;
    }
}

/// What is told of a CPU.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct CpuSummary {
    /// Its number.
    pub cpu: u32,
    /// Its capacity at its highest frequency, of 1024.
    pub capacity: Capacity,
    /// Its last-level cache: the first CPU that shares it.
    pub llc: u32,
    /// Time in which a task ran.
    pub busy_ns: u64,
    /// Of it, time in which its stopper ran. Stoppers are no tasks of the workload.
    #[serde(default)]
    pub stopper_ns: u64,
    /// Time in which its idle task ran.
    pub idle_ns: u64,
    /// Context switches.
    pub switches: u64,
    /// Ticks that were served.
    pub ticks: u64,
    /// Reschedule interrupts that were sent to it.
    pub reschedule_ipis: u64,
    /// Call-function interrupts that were sent to it.
    pub call_function_ipis: u64,
    /// Time in kernel code, with waiting for locks. It is part of the busy time but for [`Self::kernel_in_idle_ns`].
    pub kernel_ns: u64,
    /// Of it, interrupts and what else the idle task served. It is part of the idle time, but of no idle state's.
    #[serde(default)]
    pub kernel_in_idle_ns: u64,
    /// Packets, and its ksoftirqd; left out where there was neither.
    #[serde(default, skip_serializing_if = "SoftirqCounts::is_nothing")]
    pub softirqs: SoftirqCounts,
    /// Time at each frequency, ascending; empty if it has only one.
    pub frequencies: Vec<FrequencyTime>,
    /// Time in each idle state, shallowest first.
    pub idle_states: Vec<IdleTime>,
}

/// Follows the CPUs of a machine.
#[derive(Clone, Debug)]
pub struct CpuStats {
    tracks: Vec<CpuTimes>,
    /// What the machine had counted when it was told to forget; empty before.
    baseline: Vec<CpuSummary>,
}

impl CpuStats {
    /// Follows the CPUs of a machine that has not started: all are idle.
    pub fn new(machine: &Machine<impl Engine>) -> Self {
        let track = CpuTimes {
            runs: RunningOn::Idle,
            since: machine.now(),
            tasks: Nanos::ZERO,
            stopper: Nanos::ZERO,
            idle: Nanos::ZERO,
        };
        Self { tracks: vec![track; machine.hardware().nr_cpus()], baseline: Vec::new() }
    }

    /// Forgets what was measured so far.
    pub(crate) fn reset(&mut self, machine: &Machine<impl Engine>, at: Nanos) {
        self.baseline = Vec::new();
        self.baseline = self.summaries_at(machine, at);
    }

    /// A CPU switches to another task.
    #[inline]
    pub fn on_switch(&mut self, now: Nanos, cpu: CpuId, next: TaskId) {
        let nr_cpus = self.tracks.len();
        let track = &mut self.tracks[cpu.index()];
        track.settle(now);
        // Idle tasks are numbered first, then the stoppers, each as the CPUs are.
        track.runs = match next.index() / nr_cpus {
            0 => RunningOn::Idle,
            1 => RunningOn::Stopper,
            _ => RunningOn::Task,
        };
    }

    /// What was found, after the end of a run.
    pub fn summaries(&self, machine: &Machine<impl Engine>) -> Vec<CpuSummary> {
        self.summaries_at(machine, machine.now())
    }

    fn summaries_at(&self, machine: &Machine<impl Engine>, now: Nanos) -> Vec<CpuSummary> {
        let (hardware, topology) = (machine.hardware(), &machine.hardware().topology);
        let of_cpu = |(index, track): (usize, &CpuTimes)| {
            let mut track = track.clone();
            track.settle(now);
            let counters = &machine.counters().per_cpu[index];
            let cpu = CpuId::from_index(index);
            let states = hardware.idle_states[index].iter().zip(machine.idle_residency(cpu));
            let llc = topology.cpus[index].llc;
            CpuSummary {
                cpu: cpu.0,
                capacity: topology.capacity[index],
                llc: topology.cpus.iter().position(|place| place.llc == llc).map_or(cpu.0, |first| first as u32),
                busy_ns: (track.tasks + track.stopper).0,
                stopper_ns: track.stopper.0,
                idle_ns: track.idle.0,
                switches: counters.switches,
                ticks: counters.ticks,
                reschedule_ipis: counters.resched_ipis,
                call_function_ipis: counters.call_ipis,
                kernel_ns: counters.kernel.0,
                kernel_in_idle_ns: counters.kernel_in_idle.0,
                softirqs: SoftirqCounts::of(counters),
                frequencies: frequency_times(counters, hardware, cpu),
                idle_states: states
                    .map(|(state, spent)| IdleTime {
                        state: state.name.clone(),
                        entries: spent.entries,
                        ns: spent.time.0,
                    })
                    .collect(),
            }
        };
        let mut summaries: Vec<CpuSummary> = self.tracks.iter().enumerate().map(of_cpu).collect();
        for (summary, before) in summaries.iter_mut().zip(&self.baseline) {
            summary.subtract(before);
        }
        summaries
    }
}

impl CpuSummary {
    /// Takes away what was counted before.
    fn subtract(&mut self, before: &Self) {
        let Self {
            cpu: _,
            capacity: _,
            llc: _,
            busy_ns,
            stopper_ns,
            idle_ns,
            switches,
            ticks,
            reschedule_ipis,
            call_function_ipis,
            kernel_ns,
            kernel_in_idle_ns,
            softirqs,
            frequencies,
            idle_states,
        } = before;
        self.busy_ns -= busy_ns;
        self.stopper_ns -= stopper_ns;
        self.idle_ns -= idle_ns;
        self.switches -= switches;
        self.ticks -= ticks;
        self.reschedule_ipis -= reschedule_ipis;
        self.call_function_ipis -= call_function_ipis;
        self.kernel_ns -= kernel_ns;
        self.kernel_in_idle_ns -= kernel_in_idle_ns;
        self.softirqs.subtract(softirqs);
        for old in frequencies {
            if let Some(time) = self.frequencies.iter_mut().find(|time| time.part == old.part) {
                time.ns -= old.ns;
                time.idle_ns -= old.idle_ns;
            }
        }
        for (time, old) in self.idle_states.iter_mut().zip(idle_states) {
            time.entries -= old.entries;
            time.ns -= old.ns;
        }
    }
}

impl CpuTimes {
    fn settle(&mut self, now: Nanos) {
        let time = now - std::mem::replace(&mut self.since, now);
        *match self.runs {
            RunningOn::Task => &mut self.tasks,
            RunningOn::Stopper => &mut self.stopper,
            RunningOn::Idle => &mut self.idle,
        } += time;
    }
}

fn frequency_times(counters: &CpuCounters, hardware: &Hardware, cpu: CpuId) -> Vec<FrequencyTime> {
    let times = &counters.at_frequency;
    let is_fixed = hardware.turbo.is_none() && !hardware.frequency_domains.iter().any(|domain| domain.contains(cpu));
    if is_fixed && times.iter().all(|&(part, _)| part == SCHED_CAPACITY_SCALE) {
        return Vec::new();
    }
    let idle_at = |part| {
        let idle = counters.idle_at_frequency.iter().find(|&&(at, _)| at == part);
        idle.map_or(0, |&(_, time)| time.0)
    };
    let of_part = |&(part, time): &(Capacity, Nanos)| FrequencyTime {
        khz: hardware.khz_of(cpu, part),
        part,
        ns: time.0,
        idle_ns: idle_at(part),
    };
    times.iter().map(of_part).collect()
}
