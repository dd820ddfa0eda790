// SPDX-License-Identifier: GPL-2.0-or-later
//! What of a CPU's utilisation counts when a frequency is chosen or energy is estimated.
//!
//! Models `effective_cpu_util()` and `scale_irq_capacity()` (6.1).

use crate::state::State;
use crate::types::ids::{CpuId, TaskId};

/// What utilisation is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UtilType {
    /// To choose a frequency: deadline tasks count with what they have reserved.
    Frequency,
    /// To estimate energy: deadline tasks count with what they use.
    Energy,
}

impl State {
    /// Utilisation of a CPU by all classes, with `util_cfs` by the fair one.
    ///
    /// Rules, in order:
    /// 1. Runnable real-time tasks want the highest frequency, as long as nobody uses clamps, which say it better.
    /// 2. Interrupts that fill the CPU leave nothing to think about.
    /// 3. Fair and real-time utilisation; for a frequency within the clamps of the CPU and of `coming`, a task that would
    ///    be added to it.
    /// 4. If that and deadline utilisation fill what there is, all of it.
    /// 5. Otherwise their sum, of which interrupts take their part, and the interrupts' own.
    /// 6. For a frequency, deadline tasks count with the bandwidth that they have reserved, not with what they use.
    pub(crate) fn effective_cpu_util(&self, cpu: CpuId, util_cfs: u64, kind: UtilType, coming: Option<TaskId>) -> u64 {
        let rq = &self.rqs[cpu.index()];
        let max = rq.cpu_capacity_orig;
        if !self.uclamp_is_used() && kind == UtilType::Frequency && rq.rt.is_runnable() {
            return max;
        }
        let irq = rq.avg_irq.util_avg;
        if irq >= max {
            return max;
        }
        let mut util = util_cfs + rq.avg_rt.util_avg;
        if kind == UtilType::Frequency {
            util = self.uclamp_rq_util_with(cpu, util, coming);
        }
        let deadline = rq.avg_dl.util_avg;
        if util + deadline >= max {
            return max;
        }
        if kind == UtilType::Energy {
            util += deadline;
        }
        util = scale_irq_capacity(util, irq, max) + irq;
        if kind == UtilType::Frequency {
            util += self.cpu_bw_dl(cpu);
        }
        util.min(max)
    }
}

/// The part of a utilisation that interrupts leave.
const fn scale_irq_capacity(util: u64, irq: u64, max: u64) -> u64 {
    util * (max - irq) / max
}
