// SPDX-License-Identifier: GPL-2.0-or-later
//! `[turbo]`: a machine whose hardware chooses frequencies by the number of busy cores of a package, as
//! Intel's and AMD's servers do.
//!
//! Full capacity and all costs refer to the frequency of a package with all cores busy, the last one of
//! `khz`. The kernel does not choose the frequency, but it measures the frequency at ticks with APERF and
//! MPERF.

use super::error::DescriptionFault;
use super::frequency::MAX_KHZ;
use super::raw::{OptionalKey, RawFrequencyDomain, RawTurbo};
use super::values::{MAX_SPAN_NS, number, optional_number};
use fairlab_sched::units::{Capacity, Nanos, SCHED_CAPACITY_SCALE};
use toml::Spanned;

/// Interval at which hardware evaluates its frequency: 500 us on Haswell-EP and later (Hackenberg et al., *An
/// energy efficiency feature survey of the Intel Haswell processor*, 2015).
const EVALUATION: Nanos = Nanos(500_000);
/// Number of busy cores whose turbo frequency the kernel takes as full: `intel_set_max_freq_ratio()` (6.1).
const REFERENCE_CORES: u64 = 4;

/// Frequencies that the hardware chooses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turbo {
    pub(super) base_khz: u64,
    pub(super) busy_cores: Vec<u64>,
    pub(super) khz: Vec<u64>,
    pub(super) enabled: bool,
    pub(super) scale_invariant: bool,
    pub(super) reference_khz: u64,
    pub(super) evaluation: Nanos,
    pub(super) source: String,
}

impl Turbo {
    /// Frequency in kHz at which MPERF counts, and at which CPUs run without turbo.
    pub const fn base_khz(&self) -> u64 {
        self.base_khz
    }

    /// Number of busy cores of a package up to which each frequency holds, ascending. With more busy cores
    /// the last frequency holds.
    pub fn busy_cores(&self) -> &[u64] {
        &self.busy_cores
    }

    /// Frequency for each entry of [`Turbo::busy_cores`], in kHz, descending and not below the base
    /// frequency.
    pub fn khz(&self) -> &[u64] {
        &self.khz
    }

    /// Whether the hardware may exceed the base frequency (`no_turbo` of `intel_pstate` is 0).
    pub const fn is_enabled(&self) -> bool {
        self.enabled
    }

    /// Whether the kernel scales utilisation by the measured frequency: `arch_scale_freq_tick()`, since 5.7
    /// on x86.
    pub const fn is_scale_invariant(&self) -> bool {
        self.scale_invariant
    }

    /// Frequency in kHz that the kernel takes as full capacity.
    pub const fn reference_khz(&self) -> u64 {
        if self.enabled { self.reference_khz } else { self.base_khz }
    }

    /// Interval between two evaluations of the number of busy cores.
    pub const fn evaluation(&self) -> Nanos {
        self.evaluation
    }

    /// Source of the numbers.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Frequency in kHz at which CPUs have their full capacity: that of a package with all cores busy.
    pub fn full_khz(&self) -> u64 {
        self.khz[self.khz.len() - 1]
    }

    /// Returns a frequency as a fraction of that of full capacity (1024). Turbo frequencies exceed 1024.
    pub fn freq_scale(&self, khz: u64) -> Capacity {
        khz * SCHED_CAPACITY_SCALE / self.full_khz()
    }
}

pub(super) fn from_raw(
    raw: &OptionalKey<RawTurbo>,
    domains: &[Spanned<RawFrequencyDomain>],
) -> Result<Option<Turbo>, DescriptionFault> {
    let Some(raw) = raw.as_ref() else { return Ok(None) };
    if !domains.is_empty() {
        let help =
            "keep `[turbo]` where the hardware chooses frequencies, or `[[frequency_domain]]` where the kernel does";
        return Err(DescriptionFault::from_value(raw, "the machine has frequency domains too", help));
    }
    let raw = raw.get_ref();
    let base_khz = number(&raw.base_khz, 1..=MAX_KHZ, "kHz")?;
    let mut busy_cores: Vec<u64> = Vec::new();
    for entry in raw.busy_cores.get_ref() {
        let least = busy_cores.last().map_or(1, |last| last + 1);
        busy_cores.push(number(entry, least..=u64::from(super::cpus::MAX_CPUS), "cores")?);
    }
    if busy_cores.is_empty() || busy_cores.len() != raw.khz.get_ref().len() {
        let message = format!("{} frequencies for {} numbers of cores", raw.khz.get_ref().len(), busy_cores.len());
        return Err(DescriptionFault::from_value(
            &raw.khz,
            message,
            "write one frequency for each entry of `busy_cores`, and at least one",
        ));
    }
    let mut khz: Vec<u64> = Vec::new();
    for entry in raw.khz.get_ref() {
        let most = khz.last().copied().unwrap_or(base_khz * 16);
        khz.push(number(entry, base_khz..=most, "kHz")?);
    }
    let few = busy_cores.iter().position(|&cores| cores >= REFERENCE_CORES).unwrap_or(busy_cores.len() - 1);
    Ok(Some(Turbo {
        reference_khz: optional_number(&raw.reference_khz, base_khz..=MAX_KHZ, "kHz", khz[few])?,
        evaluation: Nanos(optional_number(&raw.evaluation_ns, 1..=MAX_SPAN_NS, "ns", EVALUATION.0)?),
        enabled: raw.enabled.unwrap_or(true),
        scale_invariant: raw.scale_invariant.unwrap_or(true),
        source: raw.source.get_ref().clone(),
        base_khz,
        busy_cores,
        khz,
    }))
}
