// SPDX-License-Identifier: GPL-2.0-or-later
//! How fast a CPU gets on: its capacity, its frequency, and what the other threads of its core leave it.
//!
//! Where threads of a core share it (`[smt]`), a thread that rests leaves its part to the others, at once. Where the hardware
//! chooses frequencies (`[turbo]`), it looks from time to time how many cores of a package are busy, and the kernel learns at
//! ticks at what frequency a CPU has run since the last one: `scale_freq_tick()` (6.1). A CPU rests from its entry into an idle
//! state until it leaves it; one that polls rests too, since a loop of pauses takes hardly anything from the others.

use super::{Machine, START};
use crate::description::Turbo;
use crate::engine::Engine;
use crate::event::EventKind;
use crate::hardware::Hardware;
use fairlab_sched::ids::CpuId;
use fairlab_sched::topology::CpuPlace;
use fairlab_sched::units::{CAPACITY_SHIFT, Capacity, Nanos, SCHED_CAPACITY_SCALE};

/// What CPUs share that makes them slower or faster: nothing, on most machines.
#[derive(Clone, Debug, Default)]
pub(crate) struct CpuSpeeds {
    /// Whether anything is shared, so that it matters who rests.
    are_shared: bool,
    rests: Vec<bool>,
    cores: Vec<Core>,
    packages: Vec<Package>,
    clocks: Vec<Clock>,
}

/// A core.
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
    /// How many of its cores are busy.
    busy_cores: u64,
    /// The hardware is about to look.
    looks: bool,
    /// Of 1024, where capacity is full.
    freq: Capacity,
}

/// What a CPU's APERF and MPERF have counted since the last tick: time in which it did not rest.
#[derive(Clone, Copy, Debug, Default)]
struct Clock {
    since: Nanos,
    /// Times the frequency, of 1024 where capacity is full.
    actual: u64,
    base: u64,
}

/// Units of a kind, each with its CPUs.
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
        let freq = hardware.turbo.as_ref().map_or(SCHED_CAPACITY_SCALE, |turbo| allowed(turbo, 0));
        let packages = units(places, |place| place.package).into_iter();
        Self {
            are_shared: true,
            rests: vec![true; places.len()],
            cores: cores.collect(),
            packages: packages.map(|cpus| Package { cpus, busy_cores: 0, looks: false, freq }).collect(),
            clocks: vec![Clock { since: START, ..Clock::default() }; places.len()],
        }
    }
}

/// The frequency that hardware may have with so many busy cores in a package, of 1024 where capacity is full.
fn allowed(turbo: &Turbo, busy_cores: u64) -> Capacity {
    if !turbo.is_enabled() {
        return turbo.part(turbo.base_khz());
    }
    let place = turbo.busy_cores().iter().position(|&cores| busy_cores <= cores);
    turbo.part(turbo.khz()[place.unwrap_or_else(|| turbo.khz().len() - 1)])
}

/// What `arch_scale_freq_capacity()` becomes: time at the actual frequency over time at the one that counts as full.
fn scale(clock: Clock, turbo: &Turbo) -> Option<Capacity> {
    let full = u128::from(clock.base) * u128::from(turbo.part(turbo.reference_khz()));
    let part = (u128::from(clock.actual) << CAPACITY_SHIFT).checked_div(full)?;
    (part > 0).then(|| SCHED_CAPACITY_SCALE.min(part as u64))
}

impl<E: Engine> Machine<E> {
    /// The frequency of a CPU at the start of a run, where the hardware chooses it.
    pub(super) fn start_clocks(&mut self) {
        if let Some(turbo) = &self.hardware.turbo {
            let freq = allowed(turbo, 0);
            self.cpus.iter_mut().for_each(|cpu| cpu.freq = freq);
        }
        self.cpus.iter_mut().for_each(super::SimCpu::set_rate);
    }

    /// A CPU goes to rest.
    #[inline]
    pub(super) fn begin_to_rest(&mut self, cpu: CpuId) {
        if self.paces.are_shared && !self.paces.rests[cpu.index()] {
            self.set_rest(cpu, true);
        }
    }

    /// A CPU has something to do.
    #[inline]
    pub(super) fn end_rest(&mut self, cpu: CpuId) {
        if self.paces.are_shared && self.paces.rests[cpu.index()] {
            self.set_rest(cpu, false);
        }
    }

    fn set_rest(&mut self, cpu: CpuId, rests: bool) {
        self.charge_clock(cpu);
        self.paces.rests[cpu.index()] = rests;
        let place = self.hardware.topology.cpus[cpu.index()].core as usize;
        let core = &mut self.paces.cores[place];
        let before = core.nr_busy;
        core.nr_busy = if rests { before - 1 } else { before + 1 };
        let (nr_busy, package) = (core.nr_busy, core.package);
        self.share_core(place);
        match (before, nr_busy) {
            (0, _) => self.paces.packages[package].busy_cores += 1,
            (_, 0) => self.paces.packages[package].busy_cores -= 1,
            _ => return,
        }
        self.expect_turbo(package);
    }

    /// The threads of a core have another part of it.
    fn share_core(&mut self, core: usize) {
        let nr_busy = self.paces.cores[core].nr_busy.max(1);
        let Some(&share) = self.hardware.smt_shares.get(nr_busy - 1) else { return };
        for thread in 0..self.paces.cores[core].threads.len() {
            let cpu = self.paces.cores[core].threads[thread];
            if self.cpus[cpu.index()].share != share {
                self.change_rate(cpu, |host| host.share = share);
            }
        }
    }

    /// A CPU gets faster or slower: what its task does ends earlier or later.
    ///
    /// That is the task of the last switch that was applied. The scheduler may be further: a switch that it has decided on
    /// after this change follows among the effects. A phase of kernel code ends when it would have ended.
    fn change_rate(&mut self, cpu: CpuId, change: impl FnOnce(&mut super::SimCpu)) {
        let task = self.cpus[cpu.index()].task.map(|task| task as usize);
        if let Some(task) = task {
            self.account(task);
        }
        let host = &mut self.cpus[cpu.index()];
        change(host);
        host.set_rate();
        if let Some(task) = task {
            self.plan(task);
        }
    }

    /// A CPU has another frequency.
    pub(super) fn change_speed(&mut self, cpu: CpuId, freq: Capacity) {
        self.record_frequency(cpu);
        self.change_rate(cpu, |host| host.freq = freq);
    }

    /// If a package may have another frequency now, the hardware will find that when it looks next.
    fn expect_turbo(&mut self, package: usize) {
        let Some(turbo) = &self.hardware.turbo else { return };
        let its = &mut self.paces.packages[package];
        if its.looks || allowed(turbo, its.busy_cores) == its.freq {
            return;
        }
        its.looks = true;
        let every = turbo.evaluation().0;
        let at = START + Nanos(((self.now - START).0 / every + 1).saturating_mul(every));
        self.events.push(at, EventKind::Turbo(package as u32));
    }

    /// The hardware looks how many cores of a package are busy.
    pub(super) fn choose_turbo(&mut self, package: usize) {
        let turbo = self.hardware.turbo.as_ref().expect("only such hardware looks");
        let its = &mut self.paces.packages[package];
        its.looks = false;
        let freq = allowed(turbo, its.busy_cores);
        if its.freq == freq {
            return;
        }
        its.freq = freq;
        for place in 0..its.cpus.len() {
            let cpu = self.paces.packages[package].cpus[place];
            self.charge_clock(cpu);
            self.change_speed(cpu, freq);
        }
    }

    /// APERF and MPERF of a CPU come up to date.
    fn charge_clock(&mut self, cpu: CpuId) {
        let (now, freq) = (self.now, self.cpus[cpu.index()].freq);
        let clock = &mut self.paces.clocks[cpu.index()];
        let time = (now - core::mem::replace(&mut clock.since, now)).0;
        if !self.paces.rests[cpu.index()] {
            clock.actual = clock.actual.saturating_add(time.saturating_mul(freq));
            clock.base = clock.base.saturating_add(time);
        }
    }

    /// A tick begins: the kernel reads APERF and MPERF, and scales utilisation by them from now on.
    #[inline]
    pub(super) fn read_clocks(&mut self, cpu: CpuId) {
        if self.hardware.turbo.as_ref().is_some_and(Turbo::is_scale_invariant) {
            self.charge_clock(cpu);
            let clock = core::mem::take(&mut self.paces.clocks[cpu.index()]);
            self.paces.clocks[cpu.index()].since = clock.since;
            if let Some(part) = self.hardware.turbo.as_ref().and_then(|turbo| scale(clock, turbo)) {
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
        let parts = [0, 1, 2, 3, 4, 5, 8, 9].map(|cores| allowed(&turbo(""), cores));
        assert_eq!(parts, [1638, 1638, 1638, 1228, 1228, 1024, 1024, 1024]);
        assert_eq!(allowed(&turbo("enabled = false"), 1), 819);
    }

    #[test]
    fn the_kernel_takes_the_frequency_of_four_busy_cores_for_full() {
        let clock = |actual, base| Clock { since: START, actual, base };
        assert_eq!(scale(clock(1024 * 100, 100), &turbo("")), Some(1024 * 1024 / 1228));
        assert_eq!(scale(clock(1638 * 100, 100), &turbo("")), Some(1024), "what is above counts as full");
        assert_eq!(scale(clock(0, 0), &turbo("")), None, "it has not run, so nothing is known");
        assert_eq!(scale(clock(819 * 100, 100), &turbo("enabled = false")), Some(1024));
        assert_eq!(scale(clock(1024 * 100, 100), &turbo("reference_khz = 4_000_000")), Some(1024 * 1024 / 1638));
    }
}
