// SPDX-License-Identifier: GPL-2.0-or-later
//! Speed of CPUs: capacity, frequency, and the share of a core that its other threads leave.
//!
//! Threads that share a core (`[smt]`) release their share at once when they rest. Where the hardware chooses
//! frequencies (`[turbo]`), it periodically checks how many cores of a package are busy. The kernel computes
//! the average frequency since the last tick at each tick: `scale_freq_tick()` (6.1). A CPU rests from its
//! entry into an idle state until its exit. A polling CPU rests too, because a loop of PAUSE instructions
//! takes hardly any resources from other threads.

use super::{Machine, START};
use crate::description::Turbo;
use crate::engine::Engine;
use crate::event::EventKind;
use crate::hardware::Hardware;
use fairlab_sched::ids::CpuId;
use fairlab_sched::topology::CpuPlace;
use fairlab_sched::units::{Capacity, Nanos, SCHED_CAPACITY_SCALE, SCHED_CAPACITY_SHIFT};

/// State of shared cores and packages; empty on most machines.
#[derive(Clone, Debug, Default)]
pub(crate) struct CpuSpeeds {
    /// Whether the machine has SMT shares or turbo, so that resting CPUs matter.
    are_shared: bool,
    rests: Vec<bool>,
    cores: Vec<Core>,
    packages: Vec<Package>,
    clocks: Vec<CpuClock>,
}

#[derive(Clone, Debug, Default)]
struct Core {
    threads: Vec<CpuId>,
    nr_busy: usize,
    package: usize,
}

/// A package, whose cores have one frequency.
#[derive(Clone, Debug, Default)]
struct Package {
    cpus: Vec<CpuId>,
    /// Number of cores with a thread that does not rest.
    busy_cores: u64,
    /// Whether an evaluation of the turbo frequency is queued.
    is_evaluation_pending: bool,
    /// Present frequency as a fraction of the frequency of full capacity (1024).
    freq: Capacity,
}

/// Increments of a CPU's APERF and MPERF since the last tick; both stop while the CPU rests.
#[derive(Clone, Copy, Debug, Default)]
struct CpuClock {
    since: Nanos,
    /// Time multiplied by the frequency as a fraction of 1024 (APERF).
    actual: u64,
    base: u64,
}

/// Groups CPUs by core or package.
fn units(places: &[CpuPlace], unit: fn(&CpuPlace) -> u32) -> Vec<Vec<CpuId>> {
    let nr = places.iter().map(unit).max().map_or(0, |highest| highest as usize + 1);
    let mut units = vec![Vec::new(); nr];
    places.iter().enumerate().for_each(|(cpu, place)| units[unit(place) as usize].push(CpuId::from_index(cpu)));
    units
}

impl CpuSpeeds {
    pub(super) fn new(hardware: &Hardware) -> Self {
        let places = &hardware.topology.cpus;
        if hardware.smt_shares.is_empty() && hardware.turbo.is_none() {
            return Self::default();
        }
        let cores = units(places, |place| place.core).into_iter().map(|threads| Core {
            package: threads.first().map_or(0, |cpu| places[cpu.index()].package as usize),
            nr_busy: 0,
            threads,
        });
        let freq = hardware.turbo.as_ref().map_or(SCHED_CAPACITY_SCALE, |turbo| turbo_freq(turbo, 0));
        let packages = units(places, |place| place.package).into_iter();
        Self {
            are_shared: true,
            rests: vec![true; places.len()],
            cores: cores.collect(),
            packages: packages
                .map(|cpus| Package { cpus, busy_cores: 0, is_evaluation_pending: false, freq })
                .collect(),
            clocks: vec![CpuClock { since: START, ..CpuClock::default() }; places.len()],
        }
    }
}

/// Returns the turbo frequency of a package with this number of busy cores, as a fraction of the frequency of
/// full capacity (1024).
fn turbo_freq(turbo: &Turbo, busy_cores: u64) -> Capacity {
    if !turbo.is_enabled() {
        return turbo.freq_scale(turbo.base_khz());
    }
    let place = turbo.busy_cores().iter().position(|&cores| busy_cores <= cores);
    turbo.freq_scale(turbo.khz()[place.unwrap_or_else(|| turbo.khz().len() - 1)])
}

/// Returns the value of `arch_scale_freq_capacity()`: the average frequency as a fraction of the reference
/// frequency. `None` if the CPU has not run.
fn freq_scale(clock: CpuClock, turbo: &Turbo) -> Option<Capacity> {
    let full = u128::from(clock.base) * u128::from(turbo.freq_scale(turbo.reference_khz()));
    let part = (u128::from(clock.actual) << SCHED_CAPACITY_SHIFT).checked_div(full)?;
    (part > 0).then(|| SCHED_CAPACITY_SCALE.min(part as u64))
}

impl<E: Engine> Machine<E> {
    /// Sets the frequencies of all CPUs at the start of a run on hardware with turbo.
    pub(super) fn start_clocks(&mut self) {
        if let Some(turbo) = &self.hardware.turbo {
            let freq = turbo_freq(turbo, 0);
            self.cpus.iter_mut().for_each(|cpu| cpu.freq = freq);
        }
        self.cpus.iter_mut().for_each(super::SimCpu::update_rate);
    }

    /// Marks a CPU as resting.
    #[inline]
    pub(super) fn begin_rest(&mut self, cpu: CpuId) {
        if self.speeds.are_shared && !self.speeds.rests[cpu.index()] {
            self.set_rest(cpu, true);
        }
    }

    /// Marks a CPU as busy.
    #[inline]
    pub(super) fn end_rest(&mut self, cpu: CpuId) {
        if self.speeds.are_shared && self.speeds.rests[cpu.index()] {
            self.set_rest(cpu, false);
        }
    }

    fn set_rest(&mut self, cpu: CpuId, rests: bool) {
        self.charge_clock(cpu);
        self.speeds.rests[cpu.index()] = rests;
        let place = self.hardware.topology.cpus[cpu.index()].core as usize;
        let core = &mut self.speeds.cores[place];
        let before = core.nr_busy;
        core.nr_busy = if rests { before - 1 } else { before + 1 };
        let (nr_busy, package) = (core.nr_busy, core.package);
        self.share_core(place);
        match (before, nr_busy) {
            (0, _) => self.speeds.packages[package].busy_cores += 1,
            (_, 0) => self.speeds.packages[package].busy_cores -= 1,
            _ => return,
        }
        self.schedule_turbo_evaluation(package);
    }

    /// Updates the share of each thread of a core.
    fn share_core(&mut self, core: usize) {
        let nr_busy = self.speeds.cores[core].nr_busy.max(1);
        let Some(&share) = self.hardware.smt_shares.get(nr_busy - 1) else { return };
        for thread in 0..self.speeds.cores[core].threads.len() {
            let cpu = self.speeds.cores[core].threads[thread];
            if self.cpus[cpu.index()].share != share {
                self.change_rate(cpu, |host| host.share = share);
            }
        }
    }

    /// Changes the rate of a CPU, so that the work of its task ends earlier or later.
    ///
    /// The task is that of the last applied switch. The scheduler may already have decided on a further
    /// switch, which follows among the effects. A kernel phase in progress keeps its end.
    fn change_rate(&mut self, cpu: CpuId, change: impl FnOnce(&mut super::SimCpu)) {
        let task = self.cpus[cpu.index()].task.map(|task| task as usize);
        if let Some(task) = task {
            self.account(task);
        }
        let host = &mut self.cpus[cpu.index()];
        change(host);
        host.update_rate();
        if let Some(task) = task {
            self.plan(task);
        }
    }

    /// Sets the frequency of a CPU.
    pub(super) fn change_speed(&mut self, cpu: CpuId, freq: Capacity) {
        self.record_frequency(cpu);
        self.change_rate(cpu, |host| host.freq = freq);
    }

    /// Queues an evaluation of a package's turbo frequency if the frequency has to change.
    fn schedule_turbo_evaluation(&mut self, package: usize) {
        let Some(turbo) = &self.hardware.turbo else { return };
        let its = &mut self.speeds.packages[package];
        if its.is_evaluation_pending || turbo_freq(turbo, its.busy_cores) == its.freq {
            return;
        }
        its.is_evaluation_pending = true;
        let every = turbo.evaluation().0;
        let at = START + Nanos(((self.now - START).0 / every + 1).saturating_mul(every));
        self.events.push(at, EventKind::Turbo(package as u32));
    }

    /// Evaluates the number of busy cores of a package and sets its frequency.
    pub(super) fn evaluate_turbo(&mut self, package: usize) {
        let turbo = self.hardware.turbo.as_ref().expect("only hardware with turbo queues evaluations");
        let its = &mut self.speeds.packages[package];
        its.is_evaluation_pending = false;
        let freq = turbo_freq(turbo, its.busy_cores);
        if its.freq == freq {
            return;
        }
        its.freq = freq;
        for place in 0..its.cpus.len() {
            let cpu = self.speeds.packages[package].cpus[place];
            self.charge_clock(cpu);
            self.change_speed(cpu, freq);
        }
    }

    /// Brings the APERF and MPERF of a CPU up to date.
    fn charge_clock(&mut self, cpu: CpuId) {
        let (now, freq) = (self.now, self.cpus[cpu.index()].freq);
        let clock = &mut self.speeds.clocks[cpu.index()];
        let time = (now - core::mem::replace(&mut clock.since, now)).0;
        if !self.speeds.rests[cpu.index()] {
            clock.actual = clock.actual.saturating_add(time.saturating_mul(freq));
            clock.base = clock.base.saturating_add(time);
        }
    }

    /// Reads APERF and MPERF at the beginning of a tick. The kernel scales utilisation by the result from now
    /// on.
    #[inline]
    pub(super) fn read_clocks(&mut self, cpu: CpuId) {
        if self.hardware.turbo.as_ref().is_some_and(Turbo::is_scale_invariant) {
            self.charge_clock(cpu);
            let clock = core::mem::take(&mut self.speeds.clocks[cpu.index()]);
            self.speeds.clocks[cpu.index()].since = clock.since;
            if let Some(part) = self.hardware.turbo.as_ref().and_then(|turbo| freq_scale(clock, turbo)) {
                self.sched.handle_frequency(cpu, part);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::description::parse;

    fn turbo(rest: &str) -> Turbo {
        let text = format!(
            "name = \"t\"\n[cpus]\ncount = 8\n[turbo]\nbase_khz = 2_000_000\nbusy_cores = [2, 4, 8]\n\
             khz = [4_000_000, 3_000_000, 2_500_000]\nsource = \"made up\"\n{rest}"
        );
        parse("t.toml", &text).expect("well-formed").turbo().expect("it has turbo").clone()
    }

    #[test]
    fn fewer_busy_cores_may_be_faster() {
        let parts = [0, 1, 2, 3, 4, 5, 8, 9].map(|cores| turbo_freq(&turbo(""), cores));
        assert_eq!(parts, [1638, 1638, 1638, 1228, 1228, 1024, 1024, 1024]);
        assert_eq!(turbo_freq(&turbo("enabled = false"), 1), 819);
    }

    #[test]
    fn the_kernel_takes_the_frequency_of_four_busy_cores_for_full() {
        let clock = |actual, base| CpuClock { since: START, actual, base };
        assert_eq!(freq_scale(clock(1024 * 100, 100), &turbo("")), Some(1024 * 1024 / 1228));
        assert_eq!(freq_scale(clock(1638 * 100, 100), &turbo("")), Some(1024), "what is above counts as full");
        assert_eq!(freq_scale(clock(0, 0), &turbo("")), None, "it has not run, so nothing is known");
        assert_eq!(freq_scale(clock(819 * 100, 100), &turbo("enabled = false")), Some(1024));
        assert_eq!(freq_scale(clock(1024 * 100, 100), &turbo("reference_khz = 4_000_000")), Some(1024 * 1024 / 1638));
    }
}
