// SPDX-License-Identifier: GPL-2.0-or-later
//! Speed of CPUs: frequency, and the share of a core that its other threads leave.
//!
//! Threads that share a core (`[smt]`) release their share at once when they rest. Where the hardware chooses
//! frequencies (`[turbo]`), it periodically checks how many cores of a package are busy. The kernel computes
//! the average frequency since the last tick at each tick: `scale_freq_tick()` (6.1).

use crate::base::clock::START;
use crate::hardware::Hardware;
use crate::parts::units::FULL_SPEED;
use fairlab_board::Turbo;
use fairlab_sched::ids::CpuId;
use fairlab_sched::topology::CpuPlace;
use fairlab_sched::units::{Capacity, Nanos, SCHED_CAPACITY_SCALE, SCHED_CAPACITY_SHIFT};

/// Frequency of a CPU, ordered by its fraction of full frequency.
///
/// One word: the fraction in the high half, the frequency in kHz in the low half. Both are compared whenever
/// time is accounted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct CpuFrequency(u64);

impl CpuFrequency {
    /// Returns a frequency from its fraction of full frequency (1024) and, if the machine names frequencies,
    /// its value in kHz.
    pub fn new(part: Capacity, khz: Option<u64>) -> Self {
        Self(part << 32 | khz.unwrap_or(0).min(u64::from(u32::MAX)))
    }

    /// Fraction of the frequency of full capacity (1024); above 1024 in turbo with few busy cores. Frequencies
    /// that differ by less than 1/1024 share it.
    #[inline]
    pub const fn part(self) -> Capacity {
        self.0 >> 32
    }

    /// Frequency in kHz; `None` if the machine names no frequencies.
    pub const fn khz(self) -> Option<u64> {
        match self.0 & u32::MAX as u64 {
            0 => None,
            khz => Some(khz),
        }
    }
}

/// Speed of a CPU relative to its capacity.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CpuRate {
    freq: CpuFrequency,
    /// Frequency of the latest switch that the driver has started.
    next: CpuFrequency,
    /// Throughput that the other threads of the core leave to this CPU, as a fraction of 1024.
    share: u64,
    /// Capacity of the CPU; `None` if its work is not scaled.
    capacity: Option<Capacity>,
    /// Work in 1 ns.
    speed: u64,
    /// Version of the latest frequency switch that the driver has started.
    version: u32,
}

impl CpuRate {
    /// Returns the rate of a CPU that has its core for itself.
    pub(crate) fn new(freq: CpuFrequency, capacity: Option<Capacity>) -> Self {
        let rate = Self { freq, next: freq, share: SCHED_CAPACITY_SCALE, capacity, speed: 0, version: 0 };
        Self { speed: rate.present_speed(), ..rate }
    }

    fn present_speed(&self) -> u64 {
        let part = (self.freq.part() * self.share) >> SCHED_CAPACITY_SHIFT;
        self.capacity.map_or(FULL_SPEED, |capacity| capacity * part)
    }

    /// Present frequency.
    #[inline]
    pub(crate) fn freq(&self) -> CpuFrequency {
        self.freq
    }

    /// Share of the core, as a fraction of 1024.
    #[inline]
    pub(crate) fn share(&self) -> u64 {
        self.share
    }

    /// Work that the CPU does in 1 ns, in units of 2^-20 ns of full speed.
    #[inline]
    pub(crate) fn speed(&self) -> u64 {
        self.speed
    }

    /// Sets the frequency.
    #[inline]
    pub(crate) fn set_freq(&mut self, freq: CpuFrequency) {
        self.freq = freq;
        self.speed = self.present_speed();
    }

    /// Sets the share of the core.
    #[inline]
    pub(crate) fn set_share(&mut self, share: u64) {
        self.share = share;
        self.speed = self.present_speed();
    }

    /// Begins a frequency switch and returns its version. Switches in progress become stale.
    pub(crate) fn begin_switch(&mut self, next: CpuFrequency) -> u32 {
        self.version = self.version.wrapping_add(1);
        self.next = next;
        self.version
    }

    /// Returns the frequency of the switch with this version, unless a later one has begun.
    #[inline]
    pub(crate) fn switched(&self, version: u32) -> Option<CpuFrequency> {
        (version == self.version).then_some(self.next)
    }
}

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
    /// Present frequency.
    freq: CpuFrequency,
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
    pub(crate) fn new(hardware: &Hardware) -> Self {
        let places = &hardware.topology.cpus;
        if hardware.smt_shares.is_empty() && hardware.turbo.is_none() {
            return Self::default();
        }
        let cores = units(places, |place| place.core).into_iter().map(|threads| Core {
            package: threads.first().map_or(0, |cpu| places[cpu.index()].package as usize),
            nr_busy: 0,
            threads,
        });
        let freq = hardware.turbo.as_ref().map_or_else(CpuFrequency::default, |turbo| turbo_freq(turbo, 0));
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

    /// Whether a CPU changes from busy to resting or back, on a machine on which that matters.
    #[inline]
    pub(crate) fn changes_rest(&self, cpu: CpuId, rests: bool) -> bool {
        self.are_shared && self.rests[cpu.index()] != rests
    }

    /// Marks a CPU of a core as resting or busy. Returns the package if its number of busy cores changes.
    pub(crate) fn mark_rest(&mut self, cpu: CpuId, core: usize, rests: bool) -> Option<usize> {
        self.rests[cpu.index()] = rests;
        let core = &mut self.cores[core];
        let before = core.nr_busy;
        core.nr_busy = if rests { before - 1 } else { before + 1 };
        let package = &mut self.packages[core.package];
        match (before, core.nr_busy) {
            (0, _) => package.busy_cores += 1,
            (_, 0) => package.busy_cores -= 1,
            _ => return None,
        }
        Some(core.package)
    }

    /// Number of threads of a core that do not rest.
    pub(crate) fn nr_busy_threads(&self, core: usize) -> usize {
        self.cores[core].nr_busy
    }

    /// Threads of a core.
    pub(crate) fn threads(&self, core: usize) -> &[CpuId] {
        &self.cores[core].threads
    }

    /// CPUs of a package.
    pub(crate) fn package_cpus(&self, package: usize) -> &[CpuId] {
        &self.packages[package].cpus
    }

    /// Returns the time of the next evaluation of a package's frequency, if the frequency has to change and
    /// no evaluation is queued yet.
    pub(crate) fn plan_evaluation(&mut self, package: usize, turbo: &Turbo, now: Nanos) -> Option<Nanos> {
        let package = &mut self.packages[package];
        if package.is_evaluation_pending || turbo_freq(turbo, package.busy_cores) == package.freq {
            return None;
        }
        package.is_evaluation_pending = true;
        let every = turbo.evaluation().0;
        Some(START + Nanos(((now - START).0 / every + 1).saturating_mul(every)))
    }

    /// Evaluates the number of busy cores of a package. Returns its frequency if it changes.
    pub(crate) fn evaluate(&mut self, package: usize, turbo: &Turbo) -> Option<CpuFrequency> {
        let package = &mut self.packages[package];
        package.is_evaluation_pending = false;
        let freq = turbo_freq(turbo, package.busy_cores);
        (core::mem::replace(&mut package.freq, freq) != freq).then_some(freq)
    }

    /// Brings the APERF and MPERF of a CPU, which has run at `freq`, up to date.
    pub(crate) fn update_clock(&mut self, cpu: CpuId, now: Nanos, freq: Capacity) {
        let clock = &mut self.clocks[cpu.index()];
        let time = (now - core::mem::replace(&mut clock.since, now)).0;
        if !self.rests[cpu.index()] {
            clock.actual = clock.actual.saturating_add(time.saturating_mul(freq));
            clock.base = clock.base.saturating_add(time);
        }
    }

    /// Reads and resets the APERF and MPERF of a CPU. Returns the average frequency, if the CPU has run.
    pub(crate) fn read_clock(&mut self, cpu: CpuId, turbo: &Turbo) -> Option<Capacity> {
        let clock = core::mem::take(&mut self.clocks[cpu.index()]);
        self.clocks[cpu.index()].since = clock.since;
        freq_scale(clock, turbo)
    }
}

/// Returns the turbo frequency of a package with this number of busy cores.
pub(crate) fn turbo_freq(turbo: &Turbo, busy_cores: u64) -> CpuFrequency {
    let place = turbo.busy_cores().iter().position(|&cores| busy_cores <= cores);
    let of_cores = turbo.khz()[place.unwrap_or_else(|| turbo.khz().len() - 1)];
    let khz = if turbo.is_enabled() { of_cores } else { turbo.base_khz() };
    CpuFrequency::new(turbo.freq_scale(khz), Some(khz))
}

/// Returns the value of `arch_scale_freq_capacity()`: the average frequency as a fraction of the reference
/// frequency. `None` if the CPU has not run.
fn freq_scale(clock: CpuClock, turbo: &Turbo) -> Option<Capacity> {
    let full = u128::from(clock.base) * u128::from(turbo.freq_scale(turbo.reference_khz()));
    let part = (u128::from(clock.actual) << SCHED_CAPACITY_SHIFT).checked_div(full)?;
    (part > 0).then(|| SCHED_CAPACITY_SCALE.min(part as u64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairlab_board::parse;

    fn turbo(rest: &str) -> Turbo {
        let text = format!(
            "name = \"t\"\n[cpus]\ncount = 8\n[turbo]\nbase_khz = 2_000_000\nbusy_cores = [2, 4, 8]\n\
             khz = [4_000_000, 3_000_000, 2_500_000]\nsource = \"made up\"\n{rest}"
        );
        parse("t.toml", &text).expect("well-formed").turbo().expect("it has turbo").clone()
    }

    #[test]
    fn fewer_busy_cores_may_be_faster() {
        let parts = [0, 1, 2, 3, 4, 5, 8, 9].map(|cores| turbo_freq(&turbo(""), cores).part());
        assert_eq!(parts, [1638, 1638, 1638, 1228, 1228, 1024, 1024, 1024]);
        assert_eq!(turbo_freq(&turbo("enabled = false"), 1).part(), 819);
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
