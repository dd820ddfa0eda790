// SPDX-License-Identifier: GPL-2.0-or-later
//! Summary of the CPUs: busy and idle time, idle states, frequencies, ticks, interrupts and switches.

use crate::each_field;
use crate::states::{CpuActivity, CpuState, hotplug};
use fairlab_machine::engine::Engine;
use fairlab_machine::observer::MachineEvent;
use fairlab_machine::sim::{CpuCounters, CpuFrequency, FrequencyTimes, Machine};
use fairlab_sched::ids::{CpuId, TaskId};
use fairlab_sched::units::{Capacity, Nanos, SCHED_CAPACITY_SCALE};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Default)]
struct CpuTimes {
    activity: CpuActivity,
    since: Nanos,
    running: Nanos,
    stopper: Nanos,
    idle: Nanos,
    offline: Nanos,
    /// Time of device interrupts and time that a hypervisor took, which are shares of the states.
    interrupts: Nanos,
    stolen: Nanos,
}

/// Time that a CPU spent at one frequency.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct FrequencyTime {
    /// Frequency in kHz, if the machine defines one.
    pub khz: Option<u64>,
    /// Frequency relative to the highest one, where 1024 is the highest.
    pub part: Capacity,
    /// Time at this frequency, in nanoseconds.
    pub ns: u64,
    /// Part of that time in which the idle task ran, in nanoseconds.
    #[serde(default)]
    pub idle_ns: u64,
}

/// Time that a CPU spent in one idle state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct IdleTime {
    /// Name of the idle state.
    pub state: String,
    /// Number of entries into the state.
    pub entries: u64,
    /// Time in the state, in nanoseconds.
    pub ns: u64,
}

/// Counts of packets and of softirq handling, on one CPU or on all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct SoftirqCounts {
    /// Number of packets that arrived from outside of the machine.
    pub packets: u64,
    /// Number of packets that were dropped because the backlog was full.
    pub packets_dropped: u64,
    /// Largest number of packets and messages that waited on one CPU at a time, including the warm-up.
    pub longest_backlog: u64,
    /// Number of wake-ups of ksoftirqd.
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
            longest_backlog: counters.max_backlog,
            ksoftirqd_wakeups: counters.ksoftirqd_wakeups,
        }
    }

    /// Returns the counts of all CPUs of a machine, since the start of its run.
    pub fn of_machine(machine: &Machine<impl Engine>) -> Self {
        let cpus = machine.counters().per_cpu.iter().map(Self::of);
        cpus.fold(Self::default(), Self::combined)
    }

    #[must_use]
    pub(crate) fn combined(mut self, other: Self) -> Self {
        each_field!(self += other: packets packets_dropped ksoftirqd_wakeups);
        self.longest_backlog = self.longest_backlog.max(other.longest_backlog);
        self
    }

    fn subtract(&mut self, before: &Self) {
        each_field!(self -= before: packets packets_dropped ksoftirqd_wakeups);
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes fields by reference")]
const fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// Summary of one CPU.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct CpuSummary {
    /// Number of the CPU.
    pub cpu: u32,
    /// Capacity at the highest frequency, where 1024 is the largest capacity.
    pub capacity: Capacity,
    /// Last-level cache, named by the first CPU that shares it.
    pub llc: u32,
    /// Time in which a task or the stopper ran, in nanoseconds.
    pub busy_ns: u64,
    /// Part of the busy time in which the stopper ran, in nanoseconds. Stoppers are not tasks of the
    /// workload.
    #[serde(default)]
    pub stopper_ns: u64,
    /// Time in which the idle task ran, in nanoseconds.
    pub idle_ns: u64,
    /// Time in which the CPU was offline, in nanoseconds. Busy, idle and offline time are the measured time.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub offline_ns: u64,
    /// Part of busy and idle time in which device interrupts ran, in nanoseconds.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub interrupt_ns: u64,
    /// Part of busy and idle time that a hypervisor took, in nanoseconds.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub stolen_ns: u64,
    /// Number of context switches.
    pub switches: u64,
    /// Number of ticks that the CPU handled.
    pub ticks: u64,
    /// Number of reschedule interrupts that were sent to this CPU.
    pub reschedule_ipis: u64,
    /// Number of call-function interrupts that were sent to this CPU.
    pub call_function_ipis: u64,
    /// Time in kernel code including waits for locks, in nanoseconds. It is part of the busy time, except for
    /// `kernel_in_idle_ns`.
    pub kernel_ns: u64,
    /// Part of the kernel time in which the idle task handled interrupts or other work, in nanoseconds. It is
    /// part of the idle time, but not of any idle state.
    #[serde(default)]
    pub kernel_in_idle_ns: u64,
    /// Packets and wake-ups of ksoftirqd; absent if there were none.
    #[serde(default, skip_serializing_if = "SoftirqCounts::is_nothing")]
    pub softirqs: SoftirqCounts,
    /// Time at each frequency, in ascending order; empty for a CPU with one frequency.
    pub frequencies: Vec<FrequencyTime>,
    /// Time in each idle state, shallowest first.
    pub idle_states: Vec<IdleTime>,
}

#[derive(Clone, Debug)]
pub(crate) struct CpuStats {
    tracks: Vec<CpuTimes>,
    /// Counts at the end of the warm-up; empty without one.
    baseline: Vec<CpuSummary>,
}

impl CpuStats {
    pub(crate) fn new(machine: &Machine<impl Engine>) -> Self {
        let track = CpuTimes { since: machine.now(), ..CpuTimes::default() };
        Self { tracks: vec![track; machine.hardware().nr_cpus()], baseline: Vec::new() }
    }

    pub(crate) fn reset(&mut self, machine: &Machine<impl Engine>, at: Nanos) {
        self.baseline = Vec::new();
        self.baseline = self.summaries_at(machine, at);
    }

    #[inline]
    pub(crate) fn on_switch(&mut self, now: Nanos, cpu: CpuId, next: TaskId) {
        let nr_cpus = self.tracks.len();
        let track = &mut self.tracks[cpu.index()];
        track.settle(now);
        track.activity.switch(next, nr_cpus);
    }

    pub(crate) fn machine_event(&mut self, now: Nanos, event: &MachineEvent) {
        if let MachineEvent::LostTime { cpu, took, is_stolen } = *event {
            let track = &mut self.tracks[cpu.index()];
            *(if is_stolen { &mut track.stolen } else { &mut track.interrupts }) += took;
        } else if let Some((cpu, online)) = hotplug(event) {
            let track = &mut self.tracks[cpu.index()];
            track.settle(now);
            track.activity.set_online(online);
        }
    }

    pub(crate) fn summaries(&self, machine: &Machine<impl Engine>) -> Vec<CpuSummary> {
        let hardware = machine.hardware();
        let mut summaries = self.summaries_at(machine, machine.now());
        for summary in &mut summaries {
            let cpu = CpuId(summary.cpu);
            let has_frequencies =
                hardware.turbo.is_some() || hardware.frequency_domains.iter().any(|domain| domain.contains(cpu));
            let is_full = summary.frequencies.iter().all(|time| time.part == SCHED_CAPACITY_SCALE || time.ns == 0);
            if is_full && !has_frequencies {
                summary.frequencies.clear();
            }
        }
        summaries
    }

    fn summaries_at(&self, machine: &Machine<impl Engine>, now: Nanos) -> Vec<CpuSummary> {
        let (hardware, topology) = (machine.hardware(), &machine.hardware().topology);
        let of_cpu = |(index, track): (usize, &CpuTimes)| {
            let mut track = track.clone();
            track.settle(now);
            let counters = &machine.counters().per_cpu[index];
            let cpu = CpuId::from_index(index);
            let (kernel, kernel_in_idle) = machine.kernel_times(cpu, now);
            let states = hardware.idle_states[index].iter().zip(machine.idle_residency(cpu, now));
            let llc = topology.cpus[index].llc;
            CpuSummary {
                cpu: cpu.0,
                capacity: topology.capacity[index],
                llc: topology.cpus.iter().position(|place| place.llc == llc).map_or(cpu.0, |first| first as u32),
                busy_ns: (track.running + track.stopper).0,
                stopper_ns: track.stopper.0,
                idle_ns: track.idle.0,
                offline_ns: track.offline.0,
                interrupt_ns: track.interrupts.0,
                stolen_ns: track.stolen.0,
                switches: counters.switches,
                ticks: counters.ticks,
                reschedule_ipis: counters.resched_ipis,
                call_function_ipis: counters.call_ipis,
                kernel_ns: kernel.0,
                kernel_in_idle_ns: kernel_in_idle.0,
                softirqs: SoftirqCounts::of(counters),
                frequencies: frequency_times(&machine.frequency_times(cpu, now)),
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
    /// Subtracts the counts of the warm-up.
    fn subtract(&mut self, before: &Self) {
        each_field!(self -= before:
            busy_ns stopper_ns idle_ns offline_ns interrupt_ns stolen_ns switches ticks reschedule_ipis
            call_function_ipis kernel_ns kernel_in_idle_ns);
        self.softirqs.subtract(&before.softirqs);
        for old in &before.frequencies {
            if let Some(time) = self.frequencies.iter_mut().find(|time| (time.part, time.khz) == (old.part, old.khz)) {
                time.ns -= old.ns;
                time.idle_ns -= old.idle_ns;
            }
        }
        for (time, old) in self.idle_states.iter_mut().zip(&before.idle_states) {
            time.entries -= old.entries;
            time.ns -= old.ns;
        }
    }
}

impl CpuTimes {
    fn settle(&mut self, now: Nanos) {
        let time = now - std::mem::replace(&mut self.since, now);
        *match self.activity.state() {
            CpuState::Running => &mut self.running,
            CpuState::Stopper => &mut self.stopper,
            CpuState::Idle => &mut self.idle,
            CpuState::Offline => &mut self.offline,
        } += time;
    }
}

fn frequency_times(times: &FrequencyTimes) -> Vec<FrequencyTime> {
    let idle_at = |freq| times.idle.iter().find(|&&(at, _)| at == freq).map_or(0, |&(_, time)| time.0);
    let of_frequency = |&(freq, time): &(CpuFrequency, Nanos)| FrequencyTime {
        khz: freq.khz(),
        part: freq.part(),
        ns: time.0,
        idle_ns: idle_at(freq),
    };
    times.whole.iter().map(of_frequency).collect()
}
