// SPDX-License-Identifier: GPL-2.0-or-later
//! Snapshots of an engine's state in kernel terms. The built-in scheduler and compiled kernels fill the same
//! fields, so that traces and statistics can be compared line by line.

use fairlab_sched::ids::{CpuId, GroupId, TaskId};
use fairlab_sched::sched::Sched;
use fairlab_sched::series::KernelSeries;
use fairlab_sched::state::group::bandwidth::BandwidthStats;
use fairlab_sched::task::OnRq;
use fairlab_sched::topology::{CpuIdleType, SchedDomain};
use fairlab_sched::types::pelt::SchedAvg;
use fairlab_sched::units::Nanos;

/// State of nohz idle balancing (`nohz`). Times are jiffies relative to the kernel's initial jiffies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NohzSnapshot {
    /// CPUs whose tick is stopped.
    pub nr_cpus: u32,
    /// Whether one of these CPUs may have blocked load.
    pub has_blocked: bool,
    /// Whether `next_balance` must be recomputed.
    pub needs_update: bool,
    /// Jiffy at which one of the CPUs is due for balancing.
    pub next_balance: i64,
    /// Jiffy at which blocked load is due for an update.
    pub next_blocked: i64,
}

/// State of a last-level cache domain (`sched_domain_shared`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LlcSnapshot {
    /// Number of CPUs in the domain.
    pub size: u32,
    /// Number of CPUs that a wake-up scans for an idle one.
    pub nr_idle_scan: i32,
    /// Whether an idle core may exist.
    pub has_idle_cores: bool,
    /// Number of CPUs that are not idle.
    pub nr_busy_cpus: i32,
}

/// State of a runqueue. Averages are those of the root cfs_rq; times are in ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RqSnapshot {
    /// Number of runnable tasks of all classes.
    pub nr_running: u32,
    /// Number of runnable fair tasks, including those in groups.
    pub h_nr_running: u32,
    /// Utilisation of the root cfs_rq.
    pub util_avg: u64,
    /// Runnable average of the root cfs_rq.
    pub runnable_avg: u64,
    /// Load average of the root cfs_rq.
    pub load_avg: u64,
    /// Capacity that is left for fair tasks.
    pub cpu_capacity: u64,
    /// Load of a task that is too big for the CPU; 0 if there is none.
    pub misfit_task_load: u64,
    /// Field `rq->clock`, in ns.
    pub clock: u64,
    /// `cfs_rq` clock of load tracking (`clock_pelt`).
    pub clock_pelt: u64,
    /// Idle time that load tracking has skipped.
    pub lost_idle_time: u64,
    /// Field `min_vruntime`; since 6.12.59 `zero_vruntime`.
    pub min_vruntime: u64,
    /// Jiffy at which the CPU balances next.
    pub next_balance: u64,
    /// Average idle time of the CPU.
    pub avg_idle: u64,
}

/// State of a task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TaskSnapshot {
    /// CPU of the task (`task_cpu()`).
    pub cpu: u32,
    /// Field `on_rq`: 0 not queued, 1 queued, 2 migrating.
    pub on_rq: u32,
    /// Averages of its entity, except `util_est`.
    pub avg: SchedAvg,
    /// Virtual runtime in ns.
    pub vruntime: u64,
    /// CPU time in ns.
    pub sum_exec_runtime: u64,
    /// Packed `util_est`: the average in the upper 32 bits, the last value in the lower ones. Since 6.8 a
    /// single value.
    pub util_est: u64,
}

/// Counters of a CPU in `/proc/schedstat`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SchedstatSnapshot {
    /// Fields `yld_count`, `sched_count`, `sched_goidle`, `ttwu_count`, `ttwu_local`.
    pub calls: [u32; 5],
    /// Fields `rq_cpu_time`, `run_delay`, `pcount`.
    pub times: [u64; 3],
    /// Sched domains of the CPU, narrowest first.
    pub domains: Vec<DomainSnapshot>,
}

/// Counters of a sched domain in `/proc/schedstat`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DomainSnapshot {
    /// Index in the topology table.
    pub level: u32,
    /// Fields `lb_count`, `_balanced`, `_failed`, `_gained`, `_hot_gained`, `_nobusyq`, `_nobusyg` of each
    /// idle type, in the kernel's order.
    pub lb: [[u32; 7]; 3],
    /// Fields `alb_count`, `_failed`, `_pushed`.
    pub alb: [u32; 3],
    /// Fields `sbe_count` and `sbf_count`.
    pub sb: [u32; 2],
    /// Fields `ttwu_wake_remote`, `ttwu_move_affine`, `ttwu_move_balance`.
    pub ttwu: [u32; 3],
    /// Maximum cost of a newly-idle balancing pass, in ns.
    pub max_newidle_lb_cost: u64,
    /// Balancing interval in ms.
    pub balance_interval: u32,
    /// Number of running tasks that may be imbalanced between NUMA nodes (`imb_numa_nr`).
    pub imb_numa_nr: u32,
}

/// CPU bandwidth of a group: its limits and the counters of `cpu.stat`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BandwidthSnapshot {
    /// Runtime per period; `None` without a limit.
    pub quota: Option<Nanos>,
    /// Length of a period.
    pub period: Nanos,
    /// Runtime that may be saved up beyond the quota.
    pub burst: Nanos,
    /// Counters since the group was created. Counters that the kernel does not have are 0.
    pub stats: BandwidthStats,
}

/// Snapshot functions of the built-in scheduler.
pub(crate) struct BuiltInScheduler;

impl BuiltInScheduler {
    pub(crate) fn nohz_snapshot(sched: &Sched) -> NohzSnapshot {
        let nohz = sched.nohz();
        NohzSnapshot {
            nr_cpus: nohz.nr_cpus,
            has_blocked: nohz.has_blocked,
            needs_update: nohz.needs_update,
            next_balance: nohz.next_balance as i64,
            next_blocked: nohz.next_blocked as i64,
        }
    }

    pub(crate) fn llc_snapshot(sched: &Sched, cpu: CpuId) -> Option<LlcSnapshot> {
        let domains = sched.domains();
        let of_cpu = &domains.cpus[cpu];
        let (_, shared) = of_cpu.sd_llc.zip(of_cpu.sd_llc_shared).filter(|_| of_cpu.sd_llc_id == cpu)?;
        let shared = &domains.shared[shared];
        Some(LlcSnapshot {
            size: of_cpu.sd_llc_size,
            nr_idle_scan: shared.nr_idle_scan,
            has_idle_cores: shared.has_idle_cores,
            nr_busy_cpus: shared.nr_busy_cpus,
        })
    }

    pub(crate) fn rq_snapshot(sched: &Sched, cpu: CpuId) -> RqSnapshot {
        let rq = Sched::snapshot(sched, cpu);
        RqSnapshot {
            nr_running: rq.nr_running,
            h_nr_running: rq.h_nr_running,
            util_avg: rq.cfs_avg.util_avg,
            runnable_avg: rq.cfs_avg.runnable_avg,
            load_avg: rq.cfs_avg.load_avg,
            cpu_capacity: rq.cpu_capacity,
            misfit_task_load: rq.misfit_task_load,
            clock: rq.clock,
            clock_pelt: rq.clock_pelt,
            lost_idle_time: rq.lost_idle_time,
            min_vruntime: rq.min_vruntime,
            next_balance: rq.next_balance,
            avg_idle: rq.avg_idle.0,
        }
    }

    pub(crate) fn task_snapshot(sched: &Sched, task: TaskId) -> TaskSnapshot {
        let (task, se) = (sched.task(task), sched.entity(task));
        TaskSnapshot {
            cpu: task.cpu.0,
            on_rq: match task.on_rq {
                OnRq::No => 0,
                OnRq::Queued => 1,
                OnRq::Migrating => 2,
            },
            avg: se.avg,
            vruntime: se.vruntime,
            sum_exec_runtime: se.sum_exec_runtime,
            util_est: u64::from(se.avg.util_est.ewma) << 32 | u64::from(se.avg.util_est.enqueued),
        }
    }

    #[expect(clippy::unnecessary_wraps, reason = "an engine may have no quotas")]
    pub(crate) fn bandwidth_snapshot(sched: &Sched, group: GroupId) -> Option<BandwidthSnapshot> {
        let bandwidth = &sched.group(group).bandwidth;
        let (quota, period, burst) = bandwidth.limits.parts();
        Some(BandwidthSnapshot { quota, period, burst, stats: bandwidth.stats })
    }

    pub(crate) fn schedstat_snapshot(sched: &Sched, cpu: CpuId) -> SchedstatSnapshot {
        let stats = Sched::snapshot(sched, cpu).stats;
        let domains = sched.domains();
        SchedstatSnapshot {
            calls: [stats.yld_count, stats.sched_count, stats.sched_goidle, stats.ttwu_count, stats.ttwu_local],
            times: [stats.rq_cpu_time, stats.run_delay, stats.pcount],
            domains: domains.chain(cpu).map(|sd| domain_snapshot(&domains.domains[sd], sched.series())).collect(),
        }
    }
}

fn domain_snapshot(sd: &SchedDomain, series: KernelSeries) -> DomainSnapshot {
    let stats = &sd.stats;
    let lb = CpuIdleType::in_order_of(series).map(|idle| {
        let lb = &stats.lb[idle];
        [lb.count, lb.balanced, lb.failed, lb.gained, lb.hot_gained, lb.nobusyq, lb.nobusyg]
    });
    DomainSnapshot {
        level: sd.level,
        lb,
        alb: [stats.alb_count, stats.alb_failed, stats.alb_pushed],
        sb: [stats.sbe_count, stats.sbf_count],
        ttwu: [stats.ttwu_wake_remote, stats.ttwu_move_affine, stats.ttwu_move_balance],
        max_newidle_lb_cost: sd.max_newidle_lb_cost,
        balance_interval: sd.balance_interval,
        imb_numa_nr: sd.imb_numa_nr,
    }
}
