// SPDX-License-Identifier: GPL-2.0-or-later
//! State of cpufreq: frequency domains with their governors, limits and energy models.

pub mod domain;
pub mod energy_model;
pub(crate) mod iowait;
pub mod limits;
pub(crate) mod sugov;

use crate::types::arena::Arena;
use crate::types::ids::CpuId;
use alloc::vec::Vec;
use domain::FrequencyDomain;
use energy_model::PerfDomain;
use limits::FrequencyLimits;
use sugov::{SugovCpu, SugovPolicy};

/// State of all frequency domains and their governors.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cpufreq {
    /// Frequency domains, in the order in which they were set.
    pub policies: Vec<CpufreqPolicy>,
    /// Whether the governors run.
    pub(crate) is_started: bool,
    /// By CPU: index of the policy whose governor receives the CPU's updates; empty as long as no governor
    /// does.
    pub(crate) hooks: Arena<CpuId, Option<u32>>,
    /// By CPU: state of schedutil; empty as long as schedutil drives no domain.
    pub(crate) cpus: Arena<CpuId, SugovCpu>,
    /// Domains with an energy model, those of the highest-numbered CPUs first; empty if EAS is impossible.
    pub(crate) perf_domains: Vec<PerfDomain>,
}

/// A frequency domain with its state: the kernel's `struct cpufreq_policy`.
#[derive(Clone, Debug)]
pub(crate) struct CpufreqPolicy {
    pub domain: FrequencyDomain,
    /// Present frequency, in kHz.
    pub cur_khz: u64,
    /// Upper limits of the frequency.
    pub(crate) limits: FrequencyLimits,
    /// State of schedutil, if it is the governor.
    pub(crate) sugov: Option<SugovPolicy>,
}
