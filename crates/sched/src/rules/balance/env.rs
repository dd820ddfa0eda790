// SPDX-License-Identifier: GPL-2.0-or-later
//! Variables of one load-balance pass: the kernel's `struct lb_env` (6.1).

use crate::interface::balance::{BalanceDecision, MigrationType};
use crate::state::rq::task_list::TaskList;
use crate::state::topology::DomainId;
use crate::types::cpumask::CpuMask;
use crate::types::idle_type::CpuIdleType;
use crate::types::ids::CpuId;

/// Number of tasks that are scanned before the busiest runqueue's lock is dropped (`SCHED_NR_MIGRATE_BREAK`).
pub(crate) const NR_MIGRATE_BREAK: u32 = 32;

/// Findings of the task scan: the kernel's `LBF_*` flags, two of them from before 5.13, and two flags of
/// fairlab.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LbFlags {
    /// No task so far may run on the destination (LBF_ALL_PINNED).
    pub all_pinned: bool,
    /// The lock should be dropped before the scan continues (LBF_NEED_BREAK).
    pub need_break: bool,
    /// Some task may run on another CPU of the destination's group, `new_dst_cpu` (LBF_DST_PINNED).
    pub dst_pinned: bool,
    /// Some task may not run on the destination (LBF_SOME_PINNED).
    pub some_pinned: bool,
    /// The busiest runqueue had lost its tasks when its lock was taken.
    pub emptied: bool,
    /// The policy hook has chosen the source.
    pub by_policy: bool,
    /// A stopper pushes the running task (LBF_ACTIVE_LB).
    pub active: bool,
    /// The pass updates the blocked load of tickless CPUs (LBF_NOHZ_STATS, until 5.13).
    pub nohz_stats: bool,
    /// A tickless CPU still has blocked load (LBF_NOHZ_AGAIN, until 5.13).
    pub nohz_again: bool,
}

/// Load-balance pass over one domain.
#[derive(Clone, Debug)]
pub(crate) struct LbEnv {
    pub sd: DomainId,
    /// Idle type of the CPU for which the domain is balanced.
    pub idle: CpuIdleType,
    /// Destination of the tasks. Another CPU of the group can become the destination, see
    /// [`LbFlags::dst_pinned`].
    pub dst_cpu: CpuId,
    /// Source of the tasks; the destination itself until a source is known.
    pub src_cpu: CpuId,
    /// Other CPU of the group that may take a pinned task.
    pub new_dst_cpu: CpuId,
    /// CPUs that take part.
    pub cpus: CpuMask,
    /// Whether `cpus` contains all CPUs of the domain.
    pub has_all_cpus: bool,
    /// Whether the other CPUs of the destination's core are idle.
    pub dst_core_idle: bool,
    /// Kind of quantity to be moved.
    pub migration: MigrationType,
    /// Remaining quantity to be moved, in units of `migration`.
    pub imbalance: i64,
    pub flags: LbFlags,
    /// Number of tasks scanned so far (`loop`).
    pub loop_count: u32,
    /// Maximum number of tasks to scan (`loop_max`).
    pub loop_max: u32,
    /// Number of scanned tasks after which the lock is dropped (`loop_break`).
    pub loop_break: u32,
    /// Tasks that are detached and not attached yet.
    pub tasks: TaskList,
    /// Decision record that is reported at the end of the pass.
    pub decision: BalanceDecision,
}

impl LbEnv {
    /// Creates a pass for `dst_cpu`, executed by `on`.
    pub(crate) fn new(on: CpuId, sd: DomainId, level: u32, dst_cpu: CpuId, idle: CpuIdleType, cpus: CpuMask) -> Self {
        Self {
            sd,
            idle,
            dst_cpu,
            src_cpu: dst_cpu,
            new_dst_cpu: dst_cpu,
            cpus,
            has_all_cpus: false,
            dst_core_idle: false,
            migration: MigrationType::Load,
            imbalance: 0,
            flags: LbFlags::default(),
            loop_count: 0,
            loop_max: 0,
            loop_break: NR_MIGRATE_BREAK,
            tasks: TaskList::default(),
            decision: BalanceDecision::new(on, dst_cpu, level, idle),
        }
    }

    /// Excludes a CPU from the rest of the pass.
    pub(crate) fn exclude_cpu(&mut self, cpu: CpuId) {
        self.cpus.clear(cpu);
        self.has_all_cpus = false;
    }

    /// Restarts the scan of a runqueue at its oldest task.
    pub(crate) fn restart_scan(&mut self) {
        self.loop_count = 0;
        self.loop_break = NR_MIGRATE_BREAK;
    }
}
