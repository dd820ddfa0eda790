// SPDX-License-Identifier: GPL-2.0-or-later
//! What an engine shows of its state, in the kernel's terms: the same figures of the built-in scheduler as of a compiled kernel, so that
//! traces and statistics can be compared line by line.

use fairlab_sched::ids::{CpuId, TaskId};
use fairlab_sched::sched::Sched;
use fairlab_sched::task::OnRq;
use fairlab_sched::topology::{CpuIdleType, SchedDomain};
use fairlab_sched::types::pelt::SchedAvg;

/// Idle balancing: the kernel's `nohz`. Times are jiffies since its own beginning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NohzSnapshot {
    /// CPUs whose tick is stopped.
    pub nr_cpus: u32,
    /// Whether one of them may have blocked load.
    pub has_blocked: bool,
    /// Whether `next_balance` has to be gathered anew.
    pub needs_update: bool,
    /// When one of them has to balance.
    pub next_balance: i64,
    /// When blocked load is brought up to date.
    pub next_blocked: i64,
}

/// A last-level cache: the kernel's `sched_domain_shared` of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LlcSnapshot {
    /// CPUs.
    pub size: u32,
    /// How many of them a wake-up looks at.
    pub nr_idle_scan: i32,
    /// Whether a core may be idle as a whole.
    pub has_idle_cores: bool,
    /// CPUs that are not idle.
    pub nr_busy_cpus: i32,
}

/// A runqueue. Averages are those of the root cfs_rq, times in ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RqSnapshot {
    /// Runnable tasks of all classes.
    pub nr_running: u32,
    /// Runnable fair tasks, those of groups among them.
    pub h_nr_running: u32,
    /// `util_avg`.
    pub util_avg: u64,
    /// `runnable_avg`.
    pub runnable_avg: u64,
    /// `load_avg`.
    pub load_avg: u64,
    /// What is left of the capacity for fair tasks.
    pub cpu_capacity: u64,
    /// Load of a task that is too big for the CPU.
    pub misfit_task_load: u64,
    /// `rq->clock`.
    pub clock: u64,
    /// The clock of load tracking.
    pub clock_pelt: u64,
    /// Time that load tracking has lost.
    pub lost_idle_time: u64,
    /// `min_vruntime`; since 6.12.59 `zero_vruntime`.
    pub min_vruntime: u64,
    /// When the CPU balances next, in jiffies.
    pub next_balance: u64,
    /// For how long it idles on average.
    pub avg_idle: u64,
}

/// A task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TaskSnapshot {
    /// The CPU to which it belongs.
    pub cpu: u32,
    /// `on_rq`: 0 no, 1 yes, 2 on its way.
    pub on_rq: u32,
    /// Averages of its entity. `util_est` stands by itself.
    pub avg: SchedAvg,
    /// In ns.
    pub vruntime: u64,
    /// CPU time, in ns.
    pub sum_exec_runtime: u64,
    /// `util_est` in one number: average and last value; since 6.8 one alone.
    pub util_est: u64,
}

/// Counters of a CPU in `/proc/schedstat`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SchedstatSnapshot {
    /// `yld_count`, `sched_count`, `sched_goidle`, `ttwu_count`, `ttwu_local`.
    pub calls: [u32; 5],
    /// `rq_cpu_time`, `run_delay`, `pcount`.
    pub times: [u64; 3],
    /// Its domains, the narrowest first.
    pub domains: Vec<DomainSnapshot>,
}

/// Counters of a domain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DomainSnapshot {
    /// Its place in the topology table.
    pub level: u32,
    /// `lb_count`, `_balanced`, `_failed`, `_gained`, `_hot_gained`, `_nobusyq`, `_nobusyg` of each idle type, in the kernel's own order.
    pub lb: [[u32; 7]; 3],
    /// `alb_count`, `_failed`, `_pushed`.
    pub alb: [u32; 3],
    /// `sbe_count` and `sbf_count`.
    pub sb: [u32; 2],
    /// `ttwu_wake_remote`, `ttwu_move_affine`, `ttwu_move_balance`.
    pub ttwu: [u32; 3],
    /// The highest price of a newly-idle pass, in ns.
    pub max_newidle_lb_cost: u64,
    /// In ms.
    pub balance_interval: u32,
    /// Running tasks that may stay together.
    pub imb_numa_nr: u32,
}

/// How the built-in scheduler shows itself.
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
        let of_cpu = &domains.cpus[cpu.index()];
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
        let rq = sched.snapshot(cpu);
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

    pub(crate) fn schedstat_snapshot(sched: &Sched, cpu: CpuId) -> SchedstatSnapshot {
        let stats = sched.snapshot(cpu).stats;
        let domains = sched.domains();
        SchedstatSnapshot {
            calls: [stats.yld_count, stats.sched_count, stats.sched_goidle, stats.ttwu_count, stats.ttwu_local],
            times: [stats.rq_cpu_time, stats.run_delay, stats.pcount],
            domains: domains.chain(cpu).map(|sd| domain_snapshot(&domains.domains[sd])).collect(),
        }
    }
}

fn domain_snapshot(sd: &SchedDomain) -> DomainSnapshot {
    let stats = &sd.stats;
    let lb = CpuIdleType::ALL.map(|idle| {
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
