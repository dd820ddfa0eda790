// SPDX-License-Identifier: GPL-2.0-or-later
//! Snapshots of the kernel's side, in the machine's types.

use super::{Object, raw};
use fairlab_machine::snapshot::{
    BandwidthSnapshot, DomainSnapshot, LlcSnapshot, NohzSnapshot, RqSnapshot, SchedstatSnapshot, TaskSnapshot,
};
use fairlab_sched::state::group::bandwidth::BandwidthStats;
use fairlab_sched::types::pelt::SchedAvg;
use fairlab_sched::units::Nanos;

/// Calls a function that fills a structure, and returns the structure.
macro_rules! read_snapshot {
    ($object:expr, $function:ident($($arg:expr),*)) => {{
        let mut shown = Default::default();
        // SAFETY: as for all calls (rules 2 to 4): the structure is borrowed for the length of the call, and
        // its layout was compared.
        unsafe { ($object.functions.$function)($($arg,)* &raw mut shown) };
        shown
    }};
}

impl Object {
    pub(crate) fn nohz(&self) -> NohzSnapshot {
        let shown: raw::RawNohz = read_snapshot!(self, fl_show_nohz());
        NohzSnapshot {
            nr_cpus: shown.nr_cpus,
            has_blocked: shown.has_blocked != 0,
            needs_update: shown.needs_update != 0,
            next_balance: shown.next_balance,
            next_blocked: shown.next_blocked,
        }
    }

    pub(crate) fn llc(&self, cpu: u32) -> Option<LlcSnapshot> {
        let shown: raw::RawLlc = read_snapshot!(self, fl_show_llc(self.cpu(cpu)));
        (shown.is_first != 0).then_some(LlcSnapshot {
            size: shown.size,
            nr_idle_scan: shown.nr_idle_scan,
            has_idle_cores: shown.has_idle_cores != 0,
            nr_busy_cpus: shown.nr_busy_cpus,
        })
    }

    /// Returns the load-balancing state of the sched domains of a CPU, lowest first.
    pub fn domains(&self, cpu: u32) -> Vec<super::SchedDomainState> {
        let shown: raw::RawSchedstat = read_snapshot!(self, fl_show_schedstat(self.cpu(cpu)));
        let of = |domain: &raw::RawDomain| super::SchedDomainState {
            name: domain.name.iter().map_while(|&letter| (letter != 0).then_some(char::from(letter as u8))).collect(),
            level: domain.level,
            nr_balance_failed: domain.nr_balance_failed,
            cache_nice_tries: domain.cache_nice_tries,
            imbalance_pct: domain.imbalance_pct,
            balance_interval: domain.balance_interval,
        };
        shown.domains[..shown.nr_domains as usize].iter().map(of).collect()
    }

    pub(crate) fn rq(&self, cpu: u32) -> RqSnapshot {
        let shown = self.raw_rq(cpu);
        RqSnapshot {
            nr_running: shown.nr_running,
            h_nr_running: shown.h_nr_running,
            util_avg: shown.util_avg,
            runnable_avg: shown.runnable_avg,
            load_avg: shown.load_avg,
            cpu_capacity: shown.cpu_capacity,
            misfit_task_load: shown.misfit_task_load,
            clock: shown.clock,
            clock_pelt: shown.clock_pelt,
            lost_idle_time: shown.lost_idle_time,
            min_vruntime: shown.min_vruntime,
            next_balance: shown.next_balance as u64,
            avg_idle: shown.avg_idle,
        }
    }

    /// Returns the frequency of a CPU, as a share of the highest, of 1024.
    pub fn frequency(&self, cpu: u32) -> u32 {
        self.raw_rq(cpu).frequency
    }

    /// Returns the number of the task that a runqueue counts as running.
    pub fn rq_curr(&self, cpu: u32) -> u32 {
        self.raw_rq(cpu).curr
    }

    fn raw_rq(&self, cpu: u32) -> raw::RawRq {
        read_snapshot!(self, fl_show_rq(self.cpu(cpu)))
    }

    pub(crate) fn task(&self, task: u32) -> TaskSnapshot {
        let shown: raw::RawTask = read_snapshot!(self, fl_show_task(task));
        let avg = shown.avg;
        TaskSnapshot {
            cpu: shown.cpu,
            on_rq: shown.on_rq,
            avg: SchedAvg {
                last_update_time: avg.last_update_time,
                load_sum: avg.load_sum,
                runnable_sum: avg.runnable_sum,
                util_sum: avg.util_sum,
                period_contrib: avg.period_contrib,
                load_avg: avg.load_avg,
                runnable_avg: avg.runnable_avg,
                util_avg: avg.util_avg,
                ..SchedAvg::default()
            },
            vruntime: shown.vruntime,
            sum_exec_runtime: shown.sum_exec_runtime,
            util_est: shown.util_est,
        }
    }

    /// Returns limits and counters of a group; `None` if the tree was built without quotas.
    pub(crate) fn bandwidth(&self, group: u32) -> Option<BandwidthSnapshot> {
        let mut shown = raw::RawBandwidth::default();
        let is_known = call!(self, fl_show_bandwidth(super::c_cpu(group), &raw mut shown)) != 0;
        is_known.then(|| BandwidthSnapshot {
            quota: u64::try_from(shown.quota).ok().map(Nanos),
            period: Nanos(shown.period),
            burst: Nanos(shown.burst),
            stats: BandwidthStats {
                nr_periods: shown.nr_periods,
                nr_throttled: shown.nr_throttled,
                throttled_time: shown.throttled_time,
                nr_burst: shown.nr_burst,
                burst_time: shown.burst_time,
            },
        })
    }

    pub(crate) fn schedstat(&self, cpu: u32) -> SchedstatSnapshot {
        let shown: raw::RawSchedstat = read_snapshot!(self, fl_show_schedstat(self.cpu(cpu)));
        let domains = &shown.domains[..shown.nr_domains as usize];
        SchedstatSnapshot { calls: shown.calls, times: shown.times, domains: domains.iter().map(domain).collect() }
    }
}

fn domain(shown: &raw::RawDomain) -> DomainSnapshot {
    DomainSnapshot {
        level: shown.level,
        lb: shown.lb,
        alb: shown.alb,
        sb: shown.sb,
        ttwu: shown.ttwu,
        max_newidle_lb_cost: shown.max_newidle_lb_cost,
        balance_interval: shown.balance_interval,
        imb_numa_nr: shown.imb_numa_nr,
    }
}
