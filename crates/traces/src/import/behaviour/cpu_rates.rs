// SPDX-License-Identifier: GPL-2.0-or-later
//! Speeds of CPUs during a trace, from their capacities and the trace's frequency events.

use crate::import::event::{Recording, TraceEvent, TraceEventKind};
use fairlab_machine::hardware::Hardware;
use fairlab_sched::units::{Capacity, SCHED_CAPACITY_SCALE};

#[derive(Clone, Debug)]
struct RateCpu {
    capacity: Capacity,
    /// Highest frequency in kHz; `None` if unknown.
    highest_khz: Option<u64>,
    /// Current frequency as a share of 1024 of the highest.
    part: Capacity,
    /// Whether the trace has frequency events of this CPU, but none up to now.
    awaits_frequency_event: bool,
    /// Exit latency of each idle state, in ns.
    exit_ns: Vec<u64>,
}

#[derive(Clone, Debug)]
pub(super) struct CpuRates {
    cpus: Vec<RateCpu>,
}

impl CpuRates {
    /// Returns the speeds at the start of a trace. Without a machine all CPUs have full capacity, and their
    /// highest frequencies are those in the trace.
    pub(super) fn new(recording: &Recording, machine: Option<&Hardware>) -> Self {
        let mut seen: Vec<Option<u64>> = vec![None; recording.nr_cpus as usize];
        for event in &recording.events {
            if let TraceEventKind::Frequency { cpu, khz } = event.kind
                && let Some(seen) = seen.get_mut(cpu as usize)
            {
                *seen = Some(seen.unwrap_or(0).max(khz));
            }
        }
        let cpus = seen.into_iter().enumerate().map(|(cpu, seen)| {
            let domain = machine.and_then(|machine| {
                machine.frequency_domains.iter().find(|domain| domain.cpus().any(|own| own.index() == cpu))
            });
            let states = machine.and_then(|machine| machine.idle_states.get(cpu));
            let capacity = machine.and_then(|machine| machine.topology.capacity.get(cpu));
            // Frequencies that the machine does not have belong to another machine.
            let highest = domain.filter(|domain| seen.is_none_or(|seen| domain.khz().contains(&seen)));
            RateCpu {
                capacity: capacity.copied().unwrap_or(SCHED_CAPACITY_SCALE),
                highest_khz: highest.and_then(|domain| domain.khz().last().copied()).or(seen),
                part: SCHED_CAPACITY_SCALE,
                awaits_frequency_event: seen.is_some(),
                exit_ns: states.into_iter().flatten().map(|state| state.exit_latency.0).collect(),
            }
        });
        Self { cpus: cpus.collect() }
    }

    /// Work that a CPU does in a nanosecond, in units of 2^-20 ns at full speed.
    pub(super) fn speed(&self, cpu: u32) -> u64 {
        self.cpus.get(cpu as usize).map_or(SCHED_CAPACITY_SCALE * SCHED_CAPACITY_SCALE, |cpu| cpu.capacity * cpu.part)
    }

    /// Applies a frequency event. Returns the CPU and its new share of 1024, if that changed.
    pub(super) fn change(&mut self, event: &TraceEvent) -> Option<(u32, Capacity)> {
        let TraceEventKind::Frequency { cpu: number, khz } = event.kind else { return None };
        let cpu = self.cpus.get_mut(number as usize)?;
        cpu.awaits_frequency_event = false;
        // Rounded as the kernel does.
        let part = khz.saturating_mul(SCHED_CAPACITY_SCALE) / cpu.highest_khz?.max(1);
        let part = part.clamp(1, SCHED_CAPACITY_SCALE);
        (std::mem::replace(&mut cpu.part, part) != part).then_some((number, part))
    }

    /// Whether the frequency of a CPU is unknown because its first frequency event is still to come.
    pub(super) fn is_frequency_unknown(&self, cpu: u32) -> bool {
        self.cpus.get(cpu as usize).is_some_and(|cpu| cpu.awaits_frequency_event)
    }

    /// Exit latency of a CPU's idle state in ns; 0 if unknown.
    pub(super) fn exit_ns(&self, cpu: u32, state: u32) -> u64 {
        let states = self.cpus.get(cpu as usize).map(|cpu| &cpu.exit_ns);
        states.and_then(|states| states.get(state as usize)).copied().unwrap_or(0)
    }

    pub(super) fn capacities(&self) -> Vec<Capacity> {
        self.cpus.iter().map(|cpu| cpu.capacity).collect()
    }
}
