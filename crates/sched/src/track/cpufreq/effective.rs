// SPDX-License-Identifier: GPL-2.0-or-later
//! Utilisation of a CPU for the choice of a frequency or the estimate of energy.
//!
//! Models `effective_cpu_util()` and `scale_irq_capacity()` (6.1 and 6.12), and `sugov_effective_cpu_perf()` (6.12).

use crate::state::cpufreq::energy_model::map_util_perf;
use crate::state::rq::Rq;
use crate::state::task::Uclamp;

/// Purpose of a utilisation: the kernel's `enum cpu_util_type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UtilType {
    /// Choice of a frequency: deadline tasks count with their reserved bandwidth.
    Frequency,
    /// Estimate of energy: deadline tasks count with their actual utilisation.
    Energy,
}

/// Utilisation of a CPU by all classes, and the limits within which it should run (6.12).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PerfRequest {
    pub util: u64,
    pub min: u64,
    pub max: u64,
}

impl PerfRequest {
    /// Returns the performance to request: the utilisation and a quarter more, but at most `max` and at least `min`
    /// (`sugov_effective_cpu_perf()`).
    pub(crate) fn performance(self) -> u64 {
        map_util_perf(self.util).min(self.max).max(self.min)
    }
}

impl Rq {
    /// Returns the utilisation of a CPU by all classes with the limits of its performance (6.12).
    ///
    /// Rules, in order:
    /// 1. Interrupts that fill the CPU demand all of it.
    /// 2. The lower limit is the time of interrupts with the bandwidth of deadline tasks, or the lower clamp. Runnable
    ///    real-time tasks demand the highest frequency as long as no clamps are used.
    /// 3. The upper limit is the upper clamp.
    /// 4. The utilisation of the classes is scaled down by the share of interrupts, whose utilisation is added.
    pub(crate) fn perf_request(&self, util_cfs: u64, uclamp_is_used: bool) -> PerfRequest {
        let scale = self.cpu_capacity_orig;
        let irq = self.avg_irq.util_avg;
        if irq >= scale {
            return PerfRequest { util: scale, min: scale, max: scale };
        }
        let clamps = self.uclamp.clamps();
        let mut min = (irq + self.dl.cpu_bw()).max(u64::from(clamps.min));
        if !uclamp_is_used && self.rt.is_runnable() {
            min = min.max(scale);
        }
        let max = scale.min(u64::from(clamps.max));
        let util = util_cfs + self.avg_rt.util_avg + self.avg_dl.util_avg;
        let util = if util >= scale { scale } else { (scale_irq_capacity(util, irq, scale) + irq).min(scale) };
        PerfRequest { util, min, max }
    }

    /// Returns the utilisation of a CPU by all classes, with `util_cfs` by the fair class.
    ///
    /// Rules, in order:
    /// 1. Runnable real-time tasks demand the highest frequency, as long as no clamps are used, which would
    ///    be more precise.
    /// 2. Interrupts that fill the CPU demand all of it.
    /// 3. Add fair and real-time utilisation. For a frequency, limit the sum to the clamps of the CPU and to
    ///    `coming`, those of a task that would be added to it.
    /// 4. If that sum and deadline utilisation fill the CPU, return its whole capacity.
    /// 5. Otherwise scale the sum down by the share of interrupts, and add the utilisation of interrupts.
    /// 6. For a frequency, deadline tasks count with their reserved bandwidth, not with their utilisation.
    pub(crate) fn effective_cpu_util(
        &self,
        util_cfs: u64,
        kind: UtilType,
        coming: Option<Uclamp>,
        uclamp_is_used: bool,
    ) -> u64 {
        let max = self.cpu_capacity_orig;
        if !uclamp_is_used && kind == UtilType::Frequency && self.rt.is_runnable() {
            return max;
        }
        let irq = self.avg_irq.util_avg;
        if irq >= max {
            return max;
        }
        let mut util = util_cfs + self.avg_rt.util_avg;
        if kind == UtilType::Frequency && uclamp_is_used {
            util = self.uclamp.util_with(util, coming);
        }
        let deadline = self.avg_dl.util_avg;
        if util + deadline >= max {
            return max;
        }
        if kind == UtilType::Energy {
            util += deadline;
        }
        util = scale_irq_capacity(util, irq, max) + irq;
        if kind == UtilType::Frequency {
            util += self.dl.cpu_bw();
        }
        util.min(max)
    }
}

/// Share of a utilisation that interrupts leave.
const fn scale_irq_capacity(util: u64, irq: u64, max: u64) -> u64 {
    util * (max - irq) / max
}
