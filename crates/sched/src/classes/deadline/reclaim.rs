// SPDX-License-Identifier: GPL-2.0-or-later
//! Greedy reclamation of unused bandwidth (GRUB): tasks with `SCHED_FLAG_RECLAIM` consume their budgets more
//! slowly while other tasks leave bandwidth unused.
//!
//! Models `grub_reclaim()` and `init_dl_rq_bw_ratio()` (6.1). The rule is that of
//! Abeni, Lipari, Parri and Sun, "Multicore CPU Reclaiming: Parallel or Sequential?" (2016), in the form of
//! the kernel's Documentation/scheduler/sched-deadline.rst, 2.2.

use crate::state::deadline::entity::{BW_SHIFT, to_ratio};
use crate::state::deadline::{DlRoot, DlRq};
use crate::types::kernel_rules::KernelRules;
use crate::types::tunables::Tunables;

/// Bandwidth of a whole CPU.
const BW_UNIT: u64 = 1 << BW_SHIFT;
/// Number of fractional bits of the reciprocal of the reclaimable bandwidth.
const RATIO_SHIFT: u32 = 8;

impl DlRq {
    /// Returns the budget that a reclaiming task with the bandwidth `own` consumes while it runs for `delta_ns`.
    ///
    /// The time is multiplied by `max(u / u_max, 1 - u_inactive - u_extra)`. `u` is the task's bandwidth,
    /// `u_max` the bandwidth that deadline tasks may have on a CPU, `u_inactive` the bandwidth of the CPU's
    /// inactive tasks, and `u_extra` the CPU's share of the bandwidth that is not admitted.
    // DIFFERS: 6.12 counts the bandwidth of a CPU's fair server twice where it computes the bandwidth that a deadline
    // task may reclaim, because the server exists when the runqueue is attached to its root domain
    // (`__dl_server_attach_root()`). Fairlab counts it once, so a reclaiming task runs longer: 7.6 instead of 6.3 ms of
    // each 10 ms if it has a fifth of a CPU and is alone.
    pub(crate) fn grub_reclaim(
        &self,
        root: &DlRoot,
        limits: &Tunables,
        rules: &KernelRules,
        own: u64,
        delta_ns: u64,
    ) -> u64 {
        let (ratio, most) = reclaimable(limits);
        let u_inactive = self.this_bw().wrapping_sub(self.running_bw());
        let u_extra = most.wrapping_sub(root.admitted_per_cpu());
        let unused = u_inactive.wrapping_add(u_extra);
        if rules.reclaims_from_max_bw {
            // 6.12 multiplies either share by the reciprocal.
            let share = if unused > most.wrapping_sub(own) { own } else { most - unused };
            return delta_ns.wrapping_mul((share * ratio) >> RATIO_SHIFT) >> BW_SHIFT;
        }
        let least = (own * ratio) >> RATIO_SHIFT;
        let counts = if unused > BW_UNIT.wrapping_sub(least) { least } else { BW_UNIT - unused };
        delta_ns.wrapping_mul(counts) >> BW_SHIFT
    }
}

/// Returns the bandwidth that deadline tasks may have on a CPU: its reciprocal, and the bandwidth itself.
fn reclaimable(limits: &Tunables) -> (u64, u64) {
    let Ok(runtime_us) = u64::try_from(limits.rt_runtime_us) else { return (1 << RATIO_SHIFT, BW_UNIT) };
    let (runtime, period) = (runtime_us * 1000, limits.rt_period_ns());
    (to_ratio(runtime, period) >> (BW_SHIFT - RATIO_SHIFT), to_ratio(period, runtime))
}
