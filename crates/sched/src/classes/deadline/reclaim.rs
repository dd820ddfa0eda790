// SPDX-License-Identifier: GPL-2.0-or-later
//! Greedy reclamation of unused bandwidth (GRUB): tasks with `SCHED_FLAG_RECLAIM` consume their budgets more
//! slowly while other tasks leave bandwidth unused.
//!
//! Models `grub_reclaim()`, `init_dl_rq_bw_ratio()`, `__dl_add()` and `__dl_sub()` (6.1). The rule is that of
//! Abeni, Lipari, Parri and Sun, "Multicore CPU Reclaiming: Parallel or Sequential?" (2016), in the form of
//! the kernel's Documentation/scheduler/sched-deadline.rst, 2.2.

use crate::state::State;
use crate::state::deadline::entity::{BW_SHIFT, to_ratio};
use crate::types::ids::{CpuId, TaskId};

/// Bandwidth of a whole CPU.
const BW_UNIT: u64 = 1 << BW_SHIFT;
/// Number of fractional bits of the reciprocal of the reclaimable bandwidth.
const RATIO_SHIFT: u32 = 8;

impl State {
    /// Sets whether a task reclaims unused bandwidth with its next deadline policy. Later policies do not.
    pub fn set_reclaims(&mut self, task: TaskId, reclaims: bool) {
        self.tasks[task].dl.next_reclaims = reclaims;
    }

    /// Adds admitted bandwidth, in equal parts on all active CPUs.
    pub(crate) fn add_admitted(&mut self, bw: u64) {
        let nr_cpus = self.hotplug.active.weight() as u64;
        let root = &mut self.dl_root;
        root.total_bw = root.total_bw.wrapping_add(bw);
        root.admitted_per_cpu = root.admitted_per_cpu.wrapping_add(bw / nr_cpus);
    }

    /// Removes admitted bandwidth, in equal parts from all active CPUs.
    pub(crate) fn sub_admitted(&mut self, bw: u64) {
        let nr_cpus = self.hotplug.active.weight() as u64;
        let root = &mut self.dl_root;
        root.total_bw = root.total_bw.wrapping_sub(bw);
        root.admitted_per_cpu = root.admitted_per_cpu.wrapping_sub(bw / nr_cpus);
    }

    /// Redistributes the admitted bandwidth after a change of the number of active CPUs.
    // DIFFERS: when sched domains are rebuilt, fairlab distributes the admitted deadline bandwidth over the
    // active CPUs. 6.1 subtracts it a second time, so that less and less bandwidth can be reclaimed.
    pub(crate) fn spread_admitted(&mut self) {
        let nr_cpus = self.hotplug.active.weight() as u64;
        self.dl_root.admitted_per_cpu = self.tasks.iter().map(|p| p.dl.dl_bw / nr_cpus).sum();
    }

    /// Returns the budget that a reclaiming task consumes while it runs for `delta_ns`.
    ///
    /// The time is multiplied by `max(u / u_max, 1 - u_inactive - u_extra)`. `u` is the task's bandwidth,
    /// `u_max` the bandwidth that deadline tasks may have on a CPU, `u_inactive` the bandwidth of the CPU's
    /// inactive tasks, and `u_extra` the CPU's share of the bandwidth that is not admitted.
    // DIFFERS: 6.12 counts the bandwidth of a CPU's fair server twice where it computes the bandwidth that a deadline
    // task may reclaim, because the server exists when the runqueue is attached to its root domain
    // (`__dl_server_attach_root()`). Fairlab counts it once, so a reclaiming task runs longer: 7.6 instead of 6.3 ms of
    // each 10 ms if it has a fifth of a CPU and is alone.
    pub(crate) fn grub_reclaim(&self, cpu: CpuId, task: TaskId, delta_ns: u64) -> u64 {
        let dl = &self.rqs[cpu].dl;
        let (ratio, most) = self.reclaimable();
        let u_inactive = dl.this_bw.wrapping_sub(dl.running_bw);
        let u_extra = most.wrapping_sub(self.dl_root.admitted_per_cpu);
        let own = self.tasks[task].dl.dl_bw;
        let unused = u_inactive.wrapping_add(u_extra);
        if self.rules.reclaims_from_max_bw {
            // 6.12 multiplies either share by the reciprocal.
            let share = if unused > most.wrapping_sub(own) { own } else { most - unused };
            return delta_ns.wrapping_mul((share * ratio) >> RATIO_SHIFT) >> BW_SHIFT;
        }
        let least = (own * ratio) >> RATIO_SHIFT;
        let counts = if unused > BW_UNIT.wrapping_sub(least) { least } else { BW_UNIT - unused };
        delta_ns.wrapping_mul(counts) >> BW_SHIFT
    }

    /// Returns the bandwidth that deadline tasks may have on a CPU: its reciprocal, and the bandwidth itself.
    fn reclaimable(&self) -> (u64, u64) {
        let Ok(runtime_us) = u64::try_from(self.tunables.rt_runtime_us) else { return (1 << RATIO_SHIFT, BW_UNIT) };
        let (runtime, period) = (runtime_us * 1000, self.tunables.rt_period_us * 1000);
        (to_ratio(runtime, period) >> (BW_SHIFT - RATIO_SHIFT), to_ratio(period, runtime))
    }
}
