// SPDX-License-Identifier: GPL-2.0-or-later
//! Changes of CPU speeds: frequencies, shares of cores, and the transition time of frequency drivers.
//!
//! A CPU rests from its entry into an idle state until its exit. A polling CPU rests too, because a loop of
//! PAUSE instructions takes hardly any resources from other threads.

use crate::engine::Engine;
use crate::event::EventKind;
use crate::observer::{MachineEvent, Observer};
use crate::parts::speed::{CpuFrequency, CpuRate, turbo_freq};
use crate::state::Machine;
use fairlab_board::Turbo;
use fairlab_sched::ids::CpuId;
use fairlab_sched::units::Nanos;

impl<E: Engine> Machine<E> {
    /// Sets the frequencies of all CPUs at the start of a run on hardware with turbo.
    pub(crate) fn start_clocks(&mut self) {
        if let Some(turbo) = &self.hardware.turbo {
            let freq = turbo_freq(turbo, 0);
            self.cpus.iter_mut().for_each(|cpu| cpu.rate.set_freq(freq));
        }
    }

    /// Marks a CPU as resting.
    #[inline]
    pub(crate) fn begin_rest(&mut self, cpu: CpuId) {
        if self.speeds.changes_rest(cpu, true) {
            self.set_rest(cpu, true);
        }
    }

    /// Marks a CPU as busy.
    #[inline]
    pub(crate) fn end_rest(&mut self, cpu: CpuId) {
        if self.speeds.changes_rest(cpu, false) {
            self.set_rest(cpu, false);
        }
    }

    fn set_rest(&mut self, cpu: CpuId, rests: bool) {
        self.charge_clock(cpu);
        let core = self.hardware.topology.cpus[cpu.index()].core as usize;
        let package = self.speeds.mark_rest(cpu, core, rests);
        self.share_core(core);
        if let Some(package) = package {
            self.schedule_turbo_evaluation(package);
        }
    }

    /// Updates the share of each thread of a core.
    fn share_core(&mut self, core: usize) {
        let nr_busy = self.speeds.nr_busy_threads(core).max(1);
        let Some(&share) = self.hardware.smt_shares.get(nr_busy - 1) else { return };
        for thread in 0..self.speeds.threads(core).len() {
            let cpu = self.speeds.threads(core)[thread];
            if self.cpus[cpu.index()].rate.share() != share {
                self.change_rate(cpu, |rate| rate.set_share(share));
            }
        }
    }

    /// Changes the rate of a CPU, so that the work of its task ends earlier or later.
    ///
    /// The task is that of the last applied switch. The scheduler may already have decided on a further
    /// switch, which follows among the effects. A kernel phase in progress keeps its end.
    fn change_rate(&mut self, cpu: CpuId, change: impl FnOnce(&mut CpuRate)) {
        let task = self.cpus[cpu.index()].task.map(|task| task as usize);
        if let Some(task) = task {
            self.account(task);
        }
        change(&mut self.cpus[cpu.index()].rate);
        if let Some(task) = task {
            self.plan(task);
        }
    }

    /// Sets the frequency of a CPU.
    pub(crate) fn change_speed(&mut self, cpu: CpuId, freq: CpuFrequency) {
        self.record_frequency(cpu);
        self.change_rate(cpu, |rate| rate.set_freq(freq));
        self.report_detail(MachineEvent::Speed { cpu, part: freq.part(), khz: freq.khz() });
    }

    /// Queues an evaluation of a package's turbo frequency if the frequency has to change.
    fn schedule_turbo_evaluation(&mut self, package: usize) {
        let Some(turbo) = &self.hardware.turbo else { return };
        if let Some(at) = self.speeds.plan_evaluation(package, turbo, self.now) {
            self.events.push(at, EventKind::Turbo(package as u32));
        }
    }

    /// Evaluates the number of busy cores of a package and sets its frequency.
    pub(crate) fn evaluate_turbo(&mut self, observer: &mut dyn Observer<E>, package: usize) {
        let turbo = self.hardware.turbo.as_ref().expect("only hardware with turbo queues evaluations");
        let Some(freq) = self.speeds.evaluate(package, turbo) else { return };
        for place in 0..self.speeds.package_cpus(package).len() {
            let cpu = self.speeds.package_cpus(package)[place];
            self.charge_clock(cpu);
            self.change_speed(cpu, freq);
            if let Some(khz) = freq.khz() {
                observer.machine_event(self.now, &MachineEvent::TurboFrequency { cpu, khz });
            }
        }
    }

    fn charge_clock(&mut self, cpu: CpuId) {
        self.speeds.update_clock(cpu, self.now, self.cpus[cpu.index()].rate.freq().part());
    }

    /// Reads APERF and MPERF at the beginning of a tick. The kernel scales utilisation by the result from now
    /// on.
    #[inline]
    pub(crate) fn read_clocks(&mut self, cpu: CpuId) {
        if self.hardware.turbo.as_ref().is_some_and(Turbo::is_scale_invariant) {
            self.charge_clock(cpu);
            if let Some(turbo) = &self.hardware.turbo
                && let Some(part) = self.speeds.read_clock(cpu, turbo)
            {
                self.sched.handle_frequency(cpu, part);
            }
        }
    }

    /// Returns the transition latency of a domain's driver.
    pub(crate) fn driver_latency(&self, domain: usize) -> Nanos {
        self.hardware.transition_latencies.get(domain).copied().unwrap_or_default()
    }

    /// Applies the scheduler's new frequency to a CPU. It takes effect after the driver's transition latency,
    /// or at once if the thread has waited for the transition.
    pub(crate) fn switch_frequency(&mut self, cpu: CpuId, freq: CpuFrequency) {
        let place = self.hardware.frequency_domains.iter().position(|domain| domain.contains(cpu));
        let latency = place.map_or(Nanos::ZERO, |place| {
            let is_over = self.hardware.frequency_domains[place].has_governor_thread();
            if is_over { Nanos::ZERO } else { self.driver_latency(place) }
        });
        if latency == Nanos::ZERO {
            return self.change_speed(cpu, freq);
        }
        let version = self.cpus[cpu.index()].rate.begin_switch(freq);
        self.events.push(self.now + latency, EventKind::Switched(cpu, version));
    }

    /// Adds the time at the present frequency of a CPU to its counters. Must be called before the frequency
    /// changes and when the idle task starts or stops.
    pub(crate) fn record_frequency(&mut self, cpu: CpuId) {
        self.counters.per_cpu[cpu.index()].add_frequency_time(self.now, self.cpus[cpu.index()].rate.freq());
    }

    /// Adds the idle time of a CPU up to now to its counters.
    pub(crate) fn account_idle(&mut self, cpu: CpuId) {
        self.counters.per_cpu[cpu.index()].add_idle_time(self.now, self.cpus[cpu.index()].rate.freq());
    }
}
