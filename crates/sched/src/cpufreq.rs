// SPDX-License-Identifier: GPL-2.0-or-later
//! Where the scheduler asks for a frequency.

use crate::ctx::Ctx;
use crate::ids::{CfsRqId, CpuId};
use crate::sched::Sched;

impl Sched {
    /// The utilisation of a cfs_rq has changed; that of the root one concerns the governor: `cfs_rq_util_change()`.
    #[inline]
    pub(crate) fn cfs_rq_util_change(&mut self, ctx: &mut Ctx<'_>, id: CfsRqId) {
        if id.index() < self.rqs.len() {
            let cpu = self.cfs_rqs[id.index()].cpu;
            self.cpufreq_update_util(ctx, cpu);
        }
    }

    /// Asks the governor to look at a CPU.
    pub(crate) fn cpufreq_update_util(&mut self, _ctx: &mut Ctx<'_>, _cpu: CpuId) {}

    /// Asks the governor to raise the frequency for a task that waited for I/O.
    pub(crate) fn cpufreq_iowait(&mut self, _ctx: &mut Ctx<'_>, _cpu: CpuId) {}
}
