// SPDX-License-Identifier: GPL-2.0-or-later
//! Idle states: how deep a CPU sleeps, and how long it takes to come back.
//!
//! A menu-like choice: the expected idle time is the least of the time to the CPU's next known timer and of the average of
//! its last eight idle times; the deepest state is taken whose target residency fits. The first interrupt that comes then
//! waits for the state's exit latency. A machine without idle states, such as that of a scenario, comes back at once.

use super::Machine;
use crate::event::EventKind;
use crate::observer::{MachineEvent, Observer};
use fairlab_sched::ids::CpuId;
use fairlab_sched::units::Nanos;

/// How many idle times the expectation remembers: as many as the kernel's menu governor.
const NR_INTERVALS: usize = 8;

/// The idle state of a CPU, and what its choice has learnt.
#[derive(Clone, Debug, Default)]
pub(crate) struct IdleState {
    /// Which state it is in; none while it is busy or has no states.
    current: Option<usize>,
    /// Since when.
    since: Nanos,
    /// An interrupt wakes it: when it will be back.
    back_at: Option<Nanos>,
    /// The last idle times, the oldest one at `next`.
    intervals: [u64; NR_INTERVALS],
    next: usize,
    residency: Vec<IdleResidency>,
}

/// How long and how often a CPU was in an idle state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IdleResidency {
    /// How often.
    pub entries: u64,
    /// How long in sum.
    pub time: Nanos,
}

impl IdleState {
    pub(super) fn new(nr_states: usize) -> Self {
        Self {
            residency: vec![IdleResidency::default(); nr_states],
            intervals: [u64::MAX; NR_INTERVALS],
            ..Self::default()
        }
    }

    /// The average of the remembered idle times; unbounded until there are enough of them.
    fn typical_interval(&self) -> u64 {
        if self.intervals.contains(&u64::MAX) {
            return u64::MAX;
        }
        self.intervals.iter().sum::<u64>() / NR_INTERVALS as u64
    }
}

impl Machine {
    /// A CPU begins to wait for interrupts.
    pub(super) fn enter_idle_state(&mut self, observer: &mut dyn Observer, cpu: CpuId) {
        let states = &self.hardware.idle_states[cpu.index()];
        let host = &mut self.cpus[cpu.index()];
        host.idle.since = self.now;
        host.idle.back_at = None;
        let to_timer = host.timer_at.saturating_since(self.now).0;
        let expected = to_timer.min(host.idle.typical_interval());
        let deepest = states.iter().rposition(|state| state.target_residency.0 <= expected);
        host.idle.current = deepest.or(if states.is_empty() { None } else { Some(0) });
        if let Some(state) = host.idle.current {
            host.idle.residency[state].entries += 1;
            self.sched.set_idle_exit_latency(cpu, Some(states[state].exit_latency));
        }
        let state = host.idle.current;
        observer.machine_event(self.now, &MachineEvent::IdleEnter { cpu, state });
    }

    /// A CPU runs something other than its idle task.
    pub(super) fn leave_idle_state(&mut self, cpu: CpuId) {
        let idle = &mut self.cpus[cpu.index()].idle;
        idle.back_at = None;
        if let Some(state) = idle.current.take() {
            self.sched.set_idle_exit_latency(cpu, None);
            let time = self.now - idle.since;
            idle.residency[state].time += time;
            idle.intervals[idle.next] = time.0;
            idle.next = (idle.next + 1) % NR_INTERVALS;
        }
    }

    /// Whether an interrupt has to wait because its CPU is still coming out of an idle state; it is then put off until that
    /// is over.
    pub(super) fn is_put_off_by_idle_exit(&mut self, kind: EventKind) -> bool {
        use EventKind::{Ipi, SleepEnd, Timer};
        let cpu = match kind {
            Ipi(cpu, _) | Timer(cpu, _) => cpu,
            SleepEnd(_, task, _) => self.tasks[task as usize].sleep_cpu,
            _ => return false,
        };
        let idle = &mut self.cpus[cpu.index()].idle;
        let Some(state) = idle.current else { return false };
        let latency = self.hardware.idle_states[cpu.index()][state].exit_latency;
        let back_at = *idle.back_at.get_or_insert(self.now + latency);
        if self.now >= back_at {
            self.wake_from_idle_state(cpu);
            return false;
        }
        self.events.push(back_at, kind);
        true
    }

    /// Whether a CPU is on its way out of an idle state.
    pub(super) fn is_leaving_idle_state(&self, cpu: CpuId) -> bool {
        let idle = &self.cpus[cpu.index()].idle;
        idle.current.is_some() && idle.back_at.is_some_and(|back_at| back_at > self.now)
    }

    /// An idle CPU has something to do, such as an interrupt. Where that takes time, it sleeps anew afterwards if it still
    /// idles.
    pub(super) fn wake_from_idle_state(&mut self, cpu: CpuId) {
        if self.cpus[cpu.index()].idle.current.is_some() {
            self.leave_idle_state(cpu);
            self.cpus[cpu.index()].kernel.will_sleep = true;
        }
    }

    /// How long and how often a CPU was in each of its idle states, up to the last time that it left one. The end of a run
    /// counts as leaving.
    pub fn idle_residency(&self, cpu: CpuId) -> &[IdleResidency] {
        &self.cpus[cpu.index()].idle.residency
    }
}
