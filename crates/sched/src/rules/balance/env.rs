// SPDX-License-Identifier: GPL-2.0-or-later
//! What one pass of balancing carries along: the kernel's `struct lb_env` (6.1).

use crate::interface::balance::{BalanceDecision, BalanceVerdict, MigrationType};
use crate::state::rq::task_list::TaskList;
use crate::state::topology::DomainId;
use crate::types::cpumask::CpuMask;
use crate::types::idle_type::CpuIdleType;
use crate::types::ids::CpuId;

/// How many tasks are looked at before the busiest runqueue's lock is dropped for a moment (`SCHED_NR_MIGRATE_BREAK`).
pub(crate) const NR_MIGRATE_BREAK: u32 = 32;

/// What has turned up while tasks were looked at: the kernel's `LBF_*`, and two of the state before 5.12.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LbFlags {
    /// No task so far may run on the destination: LBF_ALL_PINNED.
    pub all_pinned: bool,
    /// The lock should be dropped before going on: LBF_NEED_BREAK.
    pub need_break: bool,
    /// Some task may run on another CPU of the destination's group, `new_dst_cpu`: LBF_DST_PINNED.
    pub dst_pinned: bool,
    /// Some task may not run on the destination: LBF_SOME_PINNED.
    pub some_pinned: bool,
    /// The busiest runqueue had lost its tasks when its lock was taken.
    pub emptied: bool,
    /// A policy of one's own has said from where to pull.
    pub by_policy: bool,
    /// A stopper pushes the running task: LBF_ACTIVE_LB.
    pub active: bool,
    /// Blocked load of tickless CPUs is updated on the way: LBF_NOHZ_STATS, gone in 5.12.
    pub nohz_stats: bool,
    /// Some of them still has blocked load: LBF_NOHZ_AGAIN, gone in 5.12.
    pub nohz_again: bool,
}

/// One pass of balancing.
#[derive(Clone, Debug)]
pub(crate) struct LbEnv {
    /// The domain that is balanced.
    pub sd: DomainId,
    /// In which state the CPU is for which it is balanced.
    pub idle: CpuIdleType,
    /// Where tasks are to go. Another CPU of the group can take over that role, see [`LbFlags::dst_pinned`].
    pub dst_cpu: CpuId,
    /// Where tasks come from; the destination itself as long as that is unknown.
    pub src_cpu: CpuId,
    /// Another CPU of the group that may take a pinned task.
    pub new_dst_cpu: CpuId,
    /// The CPUs that take part.
    pub cpus: CpuMask,
    /// Whether those are all CPUs of the domain.
    pub has_all_cpus: bool,
    /// Whether the other CPUs of the destination's core are idle.
    pub dst_core_idle: bool,
    /// What is to be moved.
    pub migration: MigrationType,
    /// How much of it is left to be moved.
    pub imbalance: i64,
    /// What has turned up.
    pub flags: LbFlags,
    /// How many tasks were looked at (`loop`).
    pub nr_looked: u32,
    /// How many may be at the most (`loop_max`).
    pub max_looked: u32,
    /// How many may be before the lock is dropped (`loop_break`).
    pub break_at: u32,
    /// Tasks that have left their runqueue and are on no other yet.
    pub tasks: TaskList,
    /// What will be told of the pass.
    pub decision: BalanceDecision,
}

impl LbEnv {
    /// A pass for `dst_cpu`, executed by `on`.
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
            nr_looked: 0,
            max_looked: 0,
            break_at: NR_MIGRATE_BREAK,
            tasks: TaskList::default(),
            decision: BalanceDecision {
                on,
                dst_cpu,
                level,
                idle,
                verdict: BalanceVerdict::NotOurs,
                balanced: None,
                local_type: None,
                busiest_type: None,
                busiest_group: None,
                busiest_queue: None,
                migration: None,
                imbalance: 0,
                nr_cpus: 0,
                nr_locks: 0,
                nr_scanned: 0,
                nr_moved: 0,
                redos: 0,
                raced: 0,
                emptied: 0,
            },
        }
    }

    /// Leaves out a CPU from now on.
    pub(crate) fn leave_out(&mut self, cpu: CpuId) {
        self.cpus.clear(cpu);
        self.has_all_cpus = false;
    }

    /// Starts to look at a runqueue from its oldest task.
    pub(crate) fn restart_looking(&mut self) {
        self.nr_looked = 0;
        self.break_at = NR_MIGRATE_BREAK;
    }
}
