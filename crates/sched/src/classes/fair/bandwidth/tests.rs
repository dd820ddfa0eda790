// SPDX-License-Identifier: GPL-2.0-or-later
use crate::interface::ctx::Ctx;
use crate::interface::probe::NoSchedObserver;
use crate::paths::sched::{Sched, SchedConfig};
use crate::state::group::bandwidth::{Bandwidth, BandwidthError, CfsBandwidth};
use crate::state::new_task::NewTask;
use crate::state::rq::cfs_rq::CfsRq;
use crate::state::task::Policy;
use crate::state::topology::{CpuPlace, MachineTopology, TopologyLevel};
use crate::types::cpumask::CpuMask;
use crate::types::ids::{CpuId, GroupId, TaskId};
use crate::types::series::KernelSeries;
use crate::types::units::Nanos;
use crate::types::work::OpCounts;
use std::string::ToString;
use std::vec;
use std::vec::Vec;

const CPU0: CpuId = CpuId(0);
const CPU1: CpuId = CpuId(1);

const fn ms(time: u64) -> Nanos {
    Nanos(time * 1_000_000)
}

fn limits(quota_ms: u64, period_ms: u64, burst_ms: u64) -> Bandwidth {
    Bandwidth::new(Some(ms(quota_ms)), ms(period_ms), ms(burst_ms)).expect("the kernel accepts it")
}

/// A scheduler whose time the test sets. It starts at 1 s.
struct BandwidthTestMachine {
    sched: Sched,
    now: Nanos,
}

impl BandwidthTestMachine {
    fn new(nr_cpus: u32) -> Self {
        let place = |cpu| CpuPlace { core: cpu, cluster: cpu, llc: 0, package: 0, node: 0 };
        let topology = MachineTopology {
            cpus: (0..nr_cpus).map(place).collect(),
            capacity: vec![1024; nr_cpus as usize],
            levels: vec![TopologyLevel::Mc],
            distances: vec![vec![10]],
        };
        let mut sched =
            Sched::new(SchedConfig { topology, tick_ns: 4_000_000, jiffies: 249, series: KernelSeries::V6_1 })
                .expect("the machine is possible");
        sched.boot(ms(999));
        sched.handle_jiffy(250);
        Self { sched, now: ms(1000) }
    }

    fn on<R>(&mut self, cpu: CpuId, act: impl FnOnce(&mut Sched, &mut Ctx<'_>) -> R) -> R {
        let mut effects = Vec::new();
        let mut ctx = Ctx {
            cpu,
            now: self.now,
            clock_offset: Nanos::ZERO,
            self_timed: None,
            effects: &mut effects,
            observer: &mut NoSchedObserver,
            wants_accounting: false,
            wants_lags: false,
            op_counts: &mut OpCounts::default(),
            policy: None,
        };
        let result = act(&mut self.sched, &mut ctx);
        while self.sched.need_resched(cpu) {
            self.sched.handle_reschedule(&mut ctx);
        }
        result
    }

    fn group(&mut self, parent: GroupId, bandwidth: Option<Bandwidth>) -> GroupId {
        self.on(CPU0, |sched, ctx| {
            let group = sched.create_group(ctx, parent);
            if let Some(bandwidth) = bandwidth {
                sched.set_group_bandwidth(ctx, group, bandwidth).expect("it is not the root group");
            }
            group
        })
    }

    /// Forks a task that may use only one CPU.
    fn task(&mut self, cpu: CpuId, group: GroupId) -> TaskId {
        let cpus_allowed = CpuMask::from_cpus(self.sched.nr_cpus(), [cpu]);
        let new =
            NewTask { pid: 1000, policy: Policy::Normal, nice: 0, group, cpus_allowed, uclamp: None, slice: None };
        self.on(cpu, |sched, ctx| sched.handle_fork(ctx, new))
    }

    fn tick_at(&mut self, cpu: CpuId, time: Nanos) {
        self.now = time;
        self.on(cpu, |sched, ctx| sched.handle_tick(ctx));
    }

    fn timer_at(&mut self, cpu: CpuId, time: Nanos) {
        self.now = time;
        self.on(cpu, |sched, ctx| sched.handle_timer(ctx));
    }

    fn cfs_rq(&self, group: GroupId, cpu: CpuId) -> &CfsRq {
        &self.sched.fair.cfs_rqs[self.sched.fair.cfs_rq_of_group(group, cpu)]
    }

    fn clock(&self, group: GroupId, cpu: CpuId) -> u64 {
        self.cfs_rq(group, cpu).clock_pelt(&self.sched.rqs[cpu])
    }

    fn is_idle(&self, cpu: CpuId) -> bool {
        self.sched.is_idle_task_running(cpu)
    }
}

#[test]
fn what_the_kernel_refuses_is_refused_with_the_way_out() {
    let long = Nanos(((1 << 44) - 1) * 1000);
    let table = [
        (Some(Nanos(999_999)), ms(100), ms(0), "a quota of 999.999us is too short; it must be at least 1ms"),
        (Some(ms(1)), Nanos(999_999), ms(0), "a period of 999.999us is too short; it must be at least 1ms"),
        (None, Nanos(5), ms(0), "a period of 5ns is too short; it must be at least 1ms"),
        (Some(ms(1)), Nanos(1_000_000_001), ms(0), "a period of 1.000000001s is too long; it must be at most 1s"),
        (Some(ms(2)), ms(100), ms(3), "a burst of 3ms is too long; it must be at most the quota of 2ms"),
    ];
    for (quota, period, burst, message) in table {
        let error = Bandwidth::new(quota, period, burst).expect_err(message);
        assert_eq!(error.to_string(), message);
    }
    assert!(Bandwidth::new(Some(long), ms(100), ms(0)).is_ok());
    assert_eq!(Bandwidth::new(Some(long), ms(100), Nanos(1)), Err(BandwidthError::RuntimeTooLong(Nanos(long.0 + 1))));
    assert!(Bandwidth::new(Some(ms(1)), ms(1), ms(1)).is_ok());
    assert!(Bandwidth::new(None, ms(1000), ms(500)).is_ok(), "without a quota the burst is ignored");
}

#[test]
fn the_root_group_has_no_quota() {
    let mut machine = BandwidthTestMachine::new(1);
    let result = machine.on(CPU0, |sched, ctx| sched.set_group_bandwidth(ctx, GroupId::ROOT, limits(5, 10, 0)));
    assert_eq!(result, Err(BandwidthError::RootGroup));
}

#[test]
fn a_pool_holds_a_quota_and_a_burst_at_the_most() {
    let mut pool = CfsBandwidth::new();
    pool.set(limits(10, 100, 4));
    assert_eq!(pool.runtime, 10_000_000);
    pool.refill();
    assert_eq!(pool.runtime, 14_000_000);
    assert_eq!((pool.stats.nr_burst, pool.stats.burst_time), (0, 0));
    assert_eq!(pool.take(13_000_000), 13_000_000);
    pool.refill();
    assert_eq!(pool.runtime, 11_000_000);
    assert_eq!((pool.stats.nr_burst, pool.stats.burst_time), (1, 3_000_000), "3 ms more than the quota were used");
    assert_eq!(pool.take(20_000_000), 11_000_000);
    assert_eq!(pool.take(1), 0);
}

#[test]
fn periods_end_at_multiples_of_their_length() {
    let mut pool = CfsBandwidth::new();
    pool.set(limits(10, 30, 0));
    assert_eq!(pool.forward_period(1_000_000_000, 1), 34);
    assert_eq!(pool.period_expires, 1_020_000_000);
    assert_eq!(pool.forward_period(1_019_999_999, 1), 0);
    assert_eq!(pool.forward_period(1_020_000_000, 1), 1);
    assert_eq!(pool.forward_period(1_110_000_000, 1), 3);
    assert_eq!(pool.period_expires, 1_140_000_000);
    assert!(!pool.is_refilled_within(1_135_000_000, 5_000_000));
    assert!(pool.is_refilled_within(1_135_000_001, 5_000_000));
}

#[test]
fn a_period_is_no_shorter_than_what_timers_resolve() {
    let mut pool = CfsBandwidth::new();
    pool.set(limits(1, 2, 0));
    assert_eq!(pool.forward_period(1_001_000_000, 4_000_000), 251);
    assert_eq!(pool.period_expires, 1_004_000_000);
    assert_eq!(pool.forward_period(1_004_000_000, 1), 1);
    assert_eq!(pool.period_expires, 1_006_000_000);
}

#[test]
fn periods_that_are_too_short_are_doubled_while_they_stay_below_a_second() {
    let mut pool = CfsBandwidth::new();
    pool.set(limits(10, 125, 5));
    pool.scale_up();
    assert_eq!(pool.limits, limits(20, 250, 10));
    pool.scale_up();
    assert_eq!(pool.limits, limits(40, 500, 20));
    pool.scale_up();
    assert_eq!(pool.limits, limits(40, 500, 20), "a period of 1 s would be the longest one");
}

#[test]
fn walks_over_groups_visit_the_newest_child_first() {
    let mut machine = BandwidthTestMachine::new(1);
    let a = machine.group(GroupId::ROOT, None);
    let [b, c] = [(); 2].map(|()| machine.group(a, None));
    let d = machine.group(b, None);
    machine.group(GroupId::ROOT, None);
    let sched = &machine.sched;
    let down: Vec<_> = core::iter::successors(Some(a), |&group| sched.fair.next_downwards(a, group)).collect();
    assert_eq!(down, [a, c, b, d]);
    let up: Vec<_> =
        core::iter::successors(Some(sched.fair.first_upwards(a)), |&group| sched.fair.next_upwards(a, group)).collect();
    assert_eq!(up, [c, d, b, a]);
}

#[test]
fn a_group_without_quota_accounts_for_nothing_and_needs_no_timer() {
    let mut machine = BandwidthTestMachine::new(1);
    let group = machine.group(GroupId::ROOT, None);
    machine.task(CPU0, group);
    machine.tick_at(CPU0, ms(1004));
    let cfs_rq = machine.cfs_rq(group, CPU0);
    assert_eq!((cfs_rq.runtime_enabled, cfs_rq.runtime_remaining), (false, 0));
    assert!(!machine.sched.group(group).bandwidth.period_active);
}

#[test]
fn a_group_that_has_used_its_quota_leaves_the_cpu_with_everything_below() {
    let mut machine = BandwidthTestMachine::new(1);
    let top = machine.group(GroupId::ROOT, Some(limits(3, 10, 0)));
    let below = machine.group(top, None);
    machine.task(CPU0, below);
    assert!(!machine.is_idle(CPU0));
    machine.tick_at(CPU0, ms(1004));
    assert!(machine.is_idle(CPU0));
    assert_eq!(machine.sched.rqs[CPU0].nr_running, 0);
    assert_eq!(machine.sched.fair.root_cfs_rq(CPU0).h_nr_running, 0);
    assert_eq!(machine.cfs_rq(top, CPU0).h_nr_running, 1, "the task is still the group's");
    assert_eq!(machine.cfs_rq(top, CPU0).runtime_remaining, -1_000_000, "what was used too much is owed");
    assert!(machine.cfs_rq(top, CPU0).throttled && !machine.cfs_rq(below, CPU0).throttled);
    assert_eq!((machine.cfs_rq(top, CPU0).throttle_count, machine.cfs_rq(below, CPU0).throttle_count), (1, 1));

    machine.timer_at(CPU0, ms(1010));
    assert!(!machine.is_idle(CPU0));
    assert_eq!(machine.cfs_rq(below, CPU0).throttle_count, 0);
    let pool = &machine.sched.group(top).bandwidth;
    assert_eq!(pool.runtime, 2_000_000 - 1, "the debt, and 1 ns to continue with");
    assert_eq!((pool.stats.nr_periods, pool.stats.nr_throttled, pool.stats.throttled_time), (1, 1, 6_000_000));
}

#[test]
fn the_load_tracking_clock_stands_still_while_the_group_is_throttled() {
    let mut machine = BandwidthTestMachine::new(1);
    let top = machine.group(GroupId::ROOT, Some(limits(3, 10, 0)));
    let below = machine.group(top, None);
    machine.task(CPU0, below);
    machine.tick_at(CPU0, ms(1004));
    let before = [top, below].map(|group| (machine.clock(group, CPU0), machine.cfs_rq(group, CPU0).avg.util_avg));
    machine.timer_at(CPU0, ms(1010));
    let after = [top, below].map(|group| (machine.clock(group, CPU0), machine.cfs_rq(group, CPU0).avg.util_avg));
    assert_eq!(before, after);
    machine.tick_at(CPU0, ms(1012));
    assert_eq!(machine.clock(below, CPU0), before[1].0 + 2_000_000);
}

#[test]
fn a_group_goes_on_when_no_group_above_is_throttled_either() {
    let mut machine = BandwidthTestMachine::new(1);
    let top = machine.group(GroupId::ROOT, Some(limits(3, 20, 0)));
    let below = machine.group(top, Some(limits(3, 10, 0)));
    machine.task(CPU0, below);
    machine.tick_at(CPU0, ms(1004));
    assert_eq!(machine.cfs_rq(below, CPU0).throttle_count, 2);
    machine.timer_at(CPU0, ms(1010));
    assert_eq!(machine.cfs_rq(below, CPU0).throttle_count, 1);
    assert!(!machine.cfs_rq(below, CPU0).throttled && machine.is_idle(CPU0));
    machine.timer_at(CPU0, ms(1020));
    assert!(!machine.is_idle(CPU0));
    assert_eq!(machine.sched.fair.root_cfs_rq(CPU0).h_nr_running, 1);
}

#[test]
fn a_group_that_is_created_below_a_throttled_one_is_throttled() {
    let mut machine = BandwidthTestMachine::new(1);
    let top = machine.group(GroupId::ROOT, Some(limits(3, 10, 0)));
    machine.task(CPU0, top);
    machine.tick_at(CPU0, ms(1004));
    let below = machine.group(top, None);
    assert_eq!(machine.cfs_rq(below, CPU0).throttle_count, 1);
    machine.task(CPU0, below);
    assert!(machine.is_idle(CPU0), "a new task waits like the others");
    machine.timer_at(CPU0, ms(1010));
    assert_eq!(machine.sched.fair.root_cfs_rq(CPU0).h_nr_running, 2);
}

#[test]
fn without_its_quota_a_throttled_group_goes_on_at_once() {
    let mut machine = BandwidthTestMachine::new(1);
    let group = machine.group(GroupId::ROOT, Some(limits(3, 10, 0)));
    machine.task(CPU0, group);
    machine.tick_at(CPU0, ms(1004));
    assert!(machine.is_idle(CPU0));
    machine.now = ms(1005);
    machine
        .on(CPU0, |sched, ctx| sched.set_group_bandwidth(ctx, group, Bandwidth::UNLIMITED))
        .expect("not the root group");
    assert!(!machine.is_idle(CPU0));
    assert!(machine.sched.group(group).bandwidth.throttled.is_empty());
    machine.timer_at(CPU0, ms(1010));
    assert!(!machine.sched.group(group).bandwidth.period_active, "the timer stops at its next expiry");
}

#[test]
fn what_one_cpu_gives_back_lets_another_go_on_before_the_period_ends() {
    let mut machine = BandwidthTestMachine::new(2);
    let group = machine.group(GroupId::ROOT, Some(limits(20, 100, 0)));
    machine.sched.tunables_mut().cfs_bandwidth_slice_us = 15_000;
    machine.task(CPU0, group);
    machine.task(CPU1, group);
    assert_eq!(machine.cfs_rq(group, CPU0).runtime_remaining, 15_000_000);
    assert_eq!(machine.cfs_rq(group, CPU1).runtime_remaining, 5_000_000);
    machine.tick_at(CPU1, ms(1008));
    assert!(machine.is_idle(CPU1));
    machine.sched.tunables_mut().cfs_bandwidth_slice_us = 5_000;

    machine.on(CPU0, |sched, ctx| sched.handle_block(ctx));
    assert_eq!(machine.cfs_rq(group, CPU0).runtime_remaining, 1_000_000, "1 ms is kept for the next wake-up");
    let pool = &machine.sched.group(group).bandwidth;
    assert_eq!((pool.runtime, pool.slack_started), (6_000_000, true));

    machine.timer_at(CPU0, ms(1013));
    assert_eq!(machine.cfs_rq(group, CPU1).runtime_remaining, 1);
    assert!(machine.sched.need_resched(CPU1));
    assert_eq!(machine.sched.group(group).bandwidth.runtime, 3_000_000 - 1);
}

#[test]
fn what_was_given_back_is_not_handed_out_shortly_before_the_period_ends() {
    let mut machine = BandwidthTestMachine::new(2);
    let group = machine.group(GroupId::ROOT, Some(limits(20, 100, 0)));
    machine.sched.tunables_mut().cfs_bandwidth_slice_us = 15_000;
    machine.task(CPU0, group);
    machine.task(CPU1, group);
    machine.tick_at(CPU1, ms(1008));
    machine.sched.tunables_mut().cfs_bandwidth_slice_us = 5_000;
    machine.on(CPU0, |sched, ctx| sched.handle_block(ctx));
    assert!(machine.sched.group(group).bandwidth.slack_started);
    // The timer is late.
    machine.timer_at(CPU0, ms(1099));
    let pool = &machine.sched.group(group).bandwidth;
    assert_eq!((pool.runtime, pool.slack_started), (6_000_000, false));
    assert!(machine.is_idle(CPU1) && machine.cfs_rq(group, CPU1).throttled);
}

#[test]
fn returned_quota_stays_in_the_pool_while_no_cfs_rq_is_throttled() {
    let mut machine = BandwidthTestMachine::new(1);
    let group = machine.group(GroupId::ROOT, Some(limits(20, 100, 0)));
    machine.task(CPU0, group);
    assert_eq!(machine.cfs_rq(group, CPU0).runtime_remaining, 5_000_000);
    machine.now = ms(1002);
    machine.on(CPU0, |sched, ctx| sched.handle_block(ctx));
    assert_eq!(machine.cfs_rq(group, CPU0).runtime_remaining, 1_000_000);
    let pool = &machine.sched.group(group).bandwidth;
    assert_eq!((pool.runtime, pool.slack_started), (17_000_000, false));
}

#[test]
fn the_period_timer_stops_after_a_period_without_use_of_the_pool() {
    let mut machine = BandwidthTestMachine::new(1);
    let group = machine.group(GroupId::ROOT, Some(limits(5, 10, 0)));
    machine.timer_at(CPU0, ms(1010));
    assert!(machine.sched.group(group).bandwidth.period_active);
    machine.timer_at(CPU0, ms(1020));
    assert!(!machine.sched.group(group).bandwidth.period_active);
    machine.now = ms(1057);
    machine.task(CPU0, group);
    let pool = &machine.sched.group(group).bandwidth;
    assert_eq!((pool.period_active, pool.period_expires), (true, 1_060_000_000));
}
