// SPDX-License-Identifier: GPL-2.0-or-later
//! Idle states: which state a CPU enters, whether its tick stops, and how long its exit takes.
//!
//! The governor chooses a state when the idle task enters its loop, and again after each interrupt that
//! brought no work. The first interrupt waits until the CPU has left its state. A machine without idle states,
//! such as that of a scenario, stops its tick and leaves idle at once.

use crate::engine::Engine;
use crate::event::EventKind;
use crate::interface::observation::MachineEvent;
use crate::observer::Observer;
use crate::parts::cpu::IdleLoop;
use crate::parts::idle::{GovernorDecision, GovernorInput, PollEnd};
use crate::state::Machine;
use fairlab_sched::ids::CpuId;
use fairlab_sched::interface::policy::IdleRequest;
use fairlab_sched::paths::idle::IdleTick;
use fairlab_sched::units::Nanos;

impl<E: Engine> Machine<E> {
    /// Lets the governor of a CPU that enters or continues its idle loop choose a state. Returns the decision
    /// about the tick.
    #[inline]
    pub(crate) fn choose_idle_state(&mut self, cpu: CpuId) -> IdleTick {
        let has_states = !self.hardware.idle_states[cpu.index()].is_empty();
        if has_states { self.choose_among_states(cpu) } else { IdleTick::Stop }
    }

    fn choose_among_states(&mut self, cpu: CpuId) -> IdleTick {
        let to_timer = self.next_timer(cpu).saturating_since(self.now);
        let tick_is_stopped = self.sched.is_tick_stopped(cpu);
        let idle = &mut self.cpus[cpu.index()].idle;
        let known = GovernorInput {
            to_timer,
            to_tick: idle.next_tick().saturating_since(self.now),
            tick: self.hardware.tick,
            is_tick_stopped: tick_is_stopped,
            latency_limit: self.cpu_dma_latency.limit(),
        };
        let GovernorDecision { mut state, mut stops_tick } =
            idle.select(&self.hardware.idle_states[cpu.index()], known);
        if let Some(own) = self.policy_idle_state(cpu, known, state) {
            (state, stops_tick) = (own, tick_is_stopped || !self.hardware.idle_states[cpu.index()][own].polls);
        }
        self.cpus[cpu.index()].idle.choose(state);
        match stops_tick {
            false => IdleTick::Retain,
            true if !tick_is_stopped && to_timer <= known.tick => IdleTick::RetainForTimer,
            true => IdleTick::Stop,
        }
    }

    /// Returns the choice of a custom policy, if there is one for idle states. The governor is asked first,
    /// so that it continues to learn.
    fn policy_idle_state(&mut self, cpu: CpuId, known: GovernorInput, kernel: usize) -> Option<usize> {
        if !self.policy_slot.as_ref().is_some_and(|seat| seat.scope().idle_states) {
            return None;
        }
        let next = self.next_timer(cpu);
        let to_timer = if next == Nanos::NEVER { next } else { next.saturating_since(self.now) };
        let states = self.cpus[cpu.index()].idle.infos(&self.hardware.idle_states[cpu.index()]);
        let seat = self.policy_slot.as_mut()?;
        let latency_limit = known.latency_limit;
        seat.choose_idle_state(&IdleRequest { now: self.now, cpu, states, to_timer, latency_limit, kernel })
    }

    /// Returns the next timer of a CPU, excluding its tick.
    fn next_timer(&mut self, cpu: CpuId) -> Nanos {
        let (host, tasks) = (&mut self.cpus[cpu.index()], &self.tasks);
        let sleep_end = host.idle.next_sleep(|task, version| tasks[task as usize].sleep_version != version);
        host.timer.at().min(sleep_end).min(self.background.next_expiry(cpu))
    }

    /// Records the end of a sleep as a timer of the CPU on which the sleep begins.
    pub(crate) fn record_sleep(&mut self, cpu: CpuId, until: Nanos, task: u32, version: u32) {
        if !self.hardware.idle_states[cpu.index()].is_empty() {
            self.cpus[cpu.index()].idle.add_sleep(until, task, version);
        }
    }

    /// Moves the timers of a CPU that goes offline to another CPU.
    pub(crate) fn move_sleeps(&mut self, from: CpuId, to: CpuId) {
        let moved = self.cpus[from.index()].idle.take_sleeps();
        self.cpus[to.index()].idle.inherit_sleeps(moved);
    }

    /// Lets a CPU wait for interrupts in the chosen state.
    pub(crate) fn enter_idle_state(&mut self, observer: &mut dyn Observer<E>, cpu: CpuId) {
        if !self.cpus[cpu.index()].idle.has_choice() {
            self.choose_idle_state(cpu);
        }
        let states = &self.hardware.idle_states[cpu.index()];
        let idle = &mut self.cpus[cpu.index()].idle;
        let state = idle.enter_chosen(self.now);
        if let Some(place) = state {
            self.sched.set_idle_exit_latency(cpu, Some(states[place].exit_latency));
            if states[place].polls
                && let Some(end) = idle.arm_poll_limit(self.now, states, self.hardware.tick)
            {
                self.events.push(end, EventKind::PollLimit(cpu));
            }
        }
        self.begin_rest(cpu);
        self.deliver_details(observer);
        if self.interest.events {
            observer.machine_event(self.now, &MachineEvent::IdleEnter { cpu, state });
        }
    }

    /// Ends polling on a CPU if the time limit has passed. Returns whether it has; the governor then chooses
    /// again.
    pub(crate) fn end_polling(&mut self, cpu: CpuId) -> bool {
        let states = &self.hardware.idle_states[cpu.index()];
        match self.cpus[cpu.index()].idle.poll_end(self.now, states, self.hardware.tick) {
            PollEnd::NotPolling => false,
            PollEnd::Later(end) => {
                self.events.push(end, EventKind::PollLimit(cpu));
                false
            }
            PollEnd::Now => {
                self.wake_from_idle_state(cpu);
                true
            }
        }
    }

    /// Marks a CPU as awake and updates its governor and residency counters.
    pub(crate) fn leave_idle_state(&mut self, cpu: CpuId) {
        self.end_rest(cpu);
        let idle = &mut self.cpus[cpu.index()].idle;
        idle.reset();
        if idle.is_in_state() {
            idle.leave(self.now, &self.hardware.idle_states[cpu.index()], self.hardware.tick);
            self.report_detail(MachineEvent::IdleExit { cpu });
            self.sched.set_idle_exit_latency(cpu, None);
        }
    }

    /// Whether an interrupt must wait because its CPU is still leaving an idle state. If so, the interrupt is
    /// queued again for the end of the exit.
    pub(crate) fn defer_to_idle_exit(&mut self, kind: EventKind) -> bool {
        use EventKind::{Background, Ipi, NetRx, SleepEnd, Tick, Timer};
        let cpu = match kind {
            Ipi(cpu, _) | Timer(cpu, _) | Tick(cpu) | NetRx(cpu) | Background(cpu, _) => cpu,
            SleepEnd(_, task, _) => self.tasks[task as usize].sleep_cpu,
            _ => return false,
        };
        let states = &self.hardware.idle_states[cpu.index()];
        let idle = &mut self.cpus[cpu.index()].idle;
        let Some(back_at) = idle.exit_done_at(self.now, states, matches!(kind, Tick(_))) else { return false };
        if self.now >= back_at {
            self.wake_from_idle_state(cpu);
            return false;
        }
        // The grid of ticks continues meanwhile.
        let kind = if let Tick(cpu) = kind { EventKind::LateTick(cpu) } else { kind };
        self.events.push(back_at, kind);
        true
    }

    /// Whether a CPU is leaving an idle state.
    pub(crate) fn is_leaving_idle_state(&self, cpu: CpuId) -> bool {
        self.cpus[cpu.index()].idle.is_leaving(self.now)
    }

    /// Wakes an idle CPU that has work, such as an interrupt. If it is still idle afterwards, it enters an
    /// idle state again.
    pub(crate) fn wake_from_idle_state(&mut self, cpu: CpuId) {
        if self.cpus[cpu.index()].idle.is_in_state() {
            self.leave_idle_state(cpu);
            self.cpus[cpu.index()].kernel.will_sleep = true;
        }
    }

    /// Whether a CPU that idles with a running tick was interrupted, so that its governor must choose again.
    pub(crate) fn needs_idle_state_choice(&self, cpu: CpuId) -> bool {
        let host = &self.cpus[cpu.index()];
        host.idle_loop == IdleLoop::Ticking && host.kernel.will_sleep && !host.idle.has_choice()
    }
}
