// SPDX-License-Identifier: GPL-2.0-or-later
//! Frequency domains with their governors, limits and energy models: what is remembered of them.

pub mod domain;
pub mod energy_model;
pub(crate) mod iowait;
pub mod limits;
pub(crate) mod sugov;

use alloc::vec::Vec;
use domain::FrequencyDomain;
use energy_model::PerfDomain;
use limits::FrequencyLimits;
use sugov::{SugovCpu, SugovPolicy};

/// Frequency domains and their governors.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cpufreq {
    /// The domains, in the order in which they were set.
    pub policies: Vec<CpufreqPolicy>,
    /// Whether the governors run.
    pub(crate) is_started: bool,
    /// Which policy's governor wants to hear of each CPU; empty as long as none does.
    pub(crate) hooks: Vec<Option<u32>>,
    /// What schedutil knows of each CPU; empty as long as it drives none.
    pub(crate) cpus: Vec<SugovCpu>,
    /// Domains with an energy model, if tasks may be placed for the sake of energy; those of the highest CPUs first.
    pub(crate) perf_domains: Vec<PerfDomain>,
}

/// A frequency domain with its state: the kernel's `struct cpufreq_policy`.
#[derive(Clone, Debug)]
pub(crate) struct CpufreqPolicy {
    pub domain: FrequencyDomain,
    /// The present frequency, in kHz.
    pub cur_khz: u64,
    /// Up to which frequency it may go.
    pub(crate) limits: FrequencyLimits,
    /// The governor's state, if it is schedutil.
    pub(crate) sugov: Option<SugovPolicy>,
}
