// SPDX-License-Identifier: GPL-2.0-or-later
//! Tests of each rule of the class, on the smallest machine that shows it.

use crate::interface::ctx::{Ctx, Effect};
use crate::interface::probe::NoSchedObserver;
use crate::paths::sched::{Sched, SchedConfig};
use crate::state::new_task::NewTask;
use crate::state::prio::MAX_RT_PRIO;
use crate::state::task::{Policy, Uclamp};
use crate::state::timers::Timer;
use crate::state::topology::{CpuPlace, MachineTopology, TopologyLevel};
use crate::types::cpumask::CpuMask;
use crate::types::features::Feature;
use crate::types::ids::{CpuId, GroupId, TaskId};
use crate::types::series::KernelSeries;
use crate::types::units::Nanos;
use crate::types::work::{KernelOp, OpCounts};
use std::vec;
use std::vec::Vec;

const TICK: Nanos = Nanos(4_000_000);
const CPU0: CpuId = CpuId(0);
const CPU1: CpuId = CpuId(1);

/// A scheduler whose time the test sets. Interrupts arrive when the test delivers them.
struct RtTestMachine {
    sched: Sched,
    now: Nanos,
    effects: Vec<Effect>,
    work: OpCounts,
}

impl RtTestMachine {
    fn with_capacity(capacity: Vec<u64>) -> Self {
        let nr_cpus = capacity.len() as u32;
        let place = |cpu| CpuPlace { core: cpu, cluster: cpu, llc: 0, package: 0, node: 0 };
        let topology = MachineTopology {
            cpus: (0..nr_cpus).map(place).collect(),
            capacity,
            levels: vec![TopologyLevel::Mc],
            distances: vec![vec![10]],
        };
        let mut sched =
            Sched::new(SchedConfig { topology, tick_ns: TICK.0, jiffies: 1000, series: KernelSeries::V6_1 })
                .expect("a machine");
        sched.set_timer_resolution(TICK);
        sched.boot(Nanos(999_000_000));
        Self { sched, now: Nanos(1_000_000_000), effects: Vec::new(), work: OpCounts::default() }
    }

    fn new(nr_cpus: usize) -> Self {
        Self::with_capacity(vec![1024; nr_cpus])
    }

    fn feature(mut self, feature: Feature) -> Self {
        self.sched.features.set(feature, true);
        self
    }

    fn on<R>(&mut self, cpu: CpuId, act: impl FnOnce(&mut Sched, &mut Ctx<'_>) -> R) -> R {
        let ctx = &mut Ctx {
            cpu,
            now: self.now,
            clock_offset: Nanos::ZERO,
            self_timed: None,
            effects: &mut self.effects,
            observer: &mut NoSchedObserver,
            wants_accounting: false,
            wants_lags: false,
            op_counts: &mut self.work,
            policy: None,
        };
        act(&mut self.sched, ctx)
    }

    /// Forks a task on a CPU, and lets that CPU reschedule.
    fn fork_with(&mut self, cpu: CpuId, policy: Policy, allowed: &[CpuId], uclamp: Option<Uclamp>) -> TaskId {
        let cpus_allowed = CpuMask::from_cpus(self.sched.nr_cpus(), allowed.iter().copied());
        let new = NewTask { pid: 1000, policy, nice: 0, group: GroupId::ROOT, cpus_allowed, uclamp, slice: None };
        let task = self.on(cpu, |sched, ctx| sched.handle_fork(ctx, new));
        self.settle();
        task
    }

    fn fork(&mut self, cpu: CpuId, policy: Policy) -> TaskId {
        let all: Vec<_> = self.sched.cpu_ids().collect();
        self.fork_with(cpu, policy, &all, None)
    }

    fn pinned(&mut self, cpu: CpuId, policy: Policy) -> TaskId {
        self.fork_with(cpu, policy, &[cpu], None)
    }

    /// Lets all CPUs reschedule that must.
    fn settle(&mut self) {
        while let Some(cpu) = self.sched.cpu_ids().find(|&cpu| self.sched.need_resched(cpu)) {
            self.on(cpu, |sched, ctx| sched.handle_reschedule(ctx));
        }
    }

    fn block(&mut self, cpu: CpuId) {
        self.on(cpu, |sched, ctx| sched.handle_block(ctx));
        self.settle();
    }

    fn set_policy(&mut self, task: TaskId, policy: Policy) {
        let set = self.on(CPU0, |sched, ctx| sched.set_policy(ctx, task, policy));
        assert!(set.is_ok(), "a real-time or fair policy is always granted");
        self.settle();
    }

    /// Lets time pass with ticks, and timers at the first tick after their expiry. Returns the time that each
    /// CPU ran its initial `curr`.
    fn pass(&mut self, time: Nanos) -> Vec<Nanos> {
        let currs: Vec<_> = self.sched.cpu_ids().map(|cpu| self.sched.curr(cpu)).collect();
        let mut ran = vec![Nanos::ZERO; currs.len()];
        for _ in 0..time.0 / TICK.0 {
            self.now += TICK;
            for (cpu, &curr) in self.sched.cpu_ids().zip(&currs) {
                if self.sched.curr(cpu) == curr {
                    ran[cpu.index()] += TICK;
                }
            }
            for cpu in self.sched.cpu_ids() {
                self.on(cpu, |sched, ctx| {
                    sched.handle_tick(ctx);
                    sched.handle_timer(ctx);
                });
            }
            self.settle();
        }
        ran
    }

    /// Returns the numbers of taken locks, detached tasks and attached tasks since the last call.
    fn take_costs(&mut self) -> [u64; 3] {
        let work = core::mem::take(&mut self.work);
        [KernelOp::RqLock, KernelOp::DetachTask, KernelOp::AttachTask].map(|op| work.get(op))
    }

    fn curr(&self, cpu: CpuId) -> TaskId {
        self.sched.curr(cpu)
    }

    fn cpu_of(&self, task: TaskId) -> CpuId {
        self.sched.task(task).cpu
    }
}

#[test]
fn a_fifo_task_that_never_sleeps_gets_950_of_each_1000_milliseconds() {
    let mut machine = RtTestMachine::new(1);
    let fair = machine.fork(CPU0, Policy::Normal);
    let hog = machine.fork(CPU0, Policy::Fifo(50));
    assert_eq!(machine.curr(CPU0), hog);
    // The first period ends at the first tick; the task's time until then counts for that period.
    machine.pass(TICK);
    for second in 0..5 {
        let ran = machine.pass(Nanos::from_secs(1))[0];
        // Runtime is charged at ticks. The rest of a tick after the limit is lost to other tasks, and
        // subtracted from the next period.
        let most = Nanos::from_millis(950) + TICK;
        assert!(
            ran <= most && ran + TICK + TICK >= most,
            "in second {second} the hog ran for {} ms",
            ran.0 / 1_000_000
        );
    }
    let whole = machine.sched.entity(hog).sum_exec_runtime;
    assert!((4_746_000_000..=4_758_000_000).contains(&whole), "in five seconds it ran for {whole} ns");
    assert!(machine.sched.entity(fair).sum_exec_runtime >= 5 * 46_000_000);
}

#[test]
fn a_throttled_cpu_without_other_work_idles() {
    let mut machine = RtTestMachine::new(1);
    let hog = machine.fork(CPU0, Policy::Fifo(50));
    machine.pass(Nanos::from_millis(960));
    assert!(machine.sched.rqs[CPU0].rt.throttled());
    assert!(machine.sched.is_idle_task_running(CPU0));
    assert_eq!(machine.sched.rqs[CPU0].nr_running, 0, "throttled tasks do not count as runnable");
    machine.pass(Nanos::from_millis(60));
    assert_eq!((machine.curr(CPU0), machine.sched.rqs[CPU0].nr_running), (hog, 1));
}

#[test]
fn without_a_limit_no_task_is_throttled() {
    let mut machine = RtTestMachine::new(1);
    machine.sched.tunables.rt_runtime_us = -1;
    let hog = machine.fork(CPU0, Policy::Fifo(50));
    machine.pass(Nanos::from_secs(3));
    assert_eq!(machine.curr(CPU0), hog);
    assert!(!machine.sched.rqs[CPU0].timers.is_active(Timer::RtPeriod), "nothing is limited, so no period ends");
}

#[test]
fn a_cpu_borrows_the_runtime_of_another_one_if_that_may_be_shared() {
    let mut machine = RtTestMachine::new(2).feature(Feature::RtRuntimeShare);
    let hog = machine.pinned(CPU0, Policy::Fifo(50));
    machine.pass(Nanos::from_secs(3));
    assert_eq!(machine.sched.entity(hog).sum_exec_runtime, 3_000_000_000);
    let runtime = |cpu: CpuId| machine.sched.rqs[cpu].rt.runtime(&machine.sched.tunables);
    assert_eq!((runtime(CPU0), runtime(CPU1)), (1_000_000_000, 900_000_000));
}

#[test]
fn the_period_ends_no_more_once_there_is_nothing_to_limit() {
    let mut machine = RtTestMachine::new(1);
    machine.fork(CPU0, Policy::Fifo(50));
    machine.pass(Nanos::from_millis(100));
    assert!(machine.sched.rqs[CPU0].timers.is_active(Timer::RtPeriod));
    machine.block(CPU0);
    machine.pass(Nanos::from_secs(2));
    assert!(!machine.sched.rqs[CPU0].timers.is_active(Timer::RtPeriod));
}

#[test]
fn the_higher_priority_preempts_and_the_equal_one_waits() {
    let mut machine = RtTestMachine::new(1);
    let first = machine.fork(CPU0, Policy::Fifo(10));
    let equal = machine.fork(CPU0, Policy::Fifo(10));
    assert_eq!(machine.curr(CPU0), first);
    let higher = machine.fork(CPU0, Policy::RoundRobin(11));
    assert_eq!(machine.curr(CPU0), higher);
    machine.block(CPU0);
    assert_eq!(machine.curr(CPU0), first, "a preempted task stays at the head of its priority");
    machine.block(CPU0);
    assert_eq!(machine.curr(CPU0), equal);
}

#[test]
fn yielding_goes_behind_equals_and_never_to_less_important_ones() {
    let mut machine = RtTestMachine::new(1);
    let first = machine.fork(CPU0, Policy::Fifo(10));
    let second = machine.fork(CPU0, Policy::Fifo(10));
    machine.fork(CPU0, Policy::Fifo(9));
    for expected in [second, first, second] {
        machine.on(CPU0, |sched, ctx| sched.handle_yield(ctx));
        assert_eq!(machine.curr(CPU0), expected);
    }
}

#[test]
fn round_robin_tasks_take_turns_every_hundred_milliseconds() {
    let mut machine = RtTestMachine::new(1);
    let one = machine.fork(CPU0, Policy::RoundRobin(10));
    let two = machine.fork(CPU0, Policy::RoundRobin(10));
    machine.pass(Nanos::from_millis(96));
    assert_eq!(machine.curr(CPU0), one);
    machine.pass(TICK);
    assert_eq!(machine.curr(CPU0), two);
    machine.pass(Nanos::from_millis(100));
    assert_eq!(machine.curr(CPU0), one);
}

#[test]
fn a_first_in_first_out_task_does_not_take_turns() {
    let mut machine = RtTestMachine::new(1);
    let one = machine.fork(CPU0, Policy::Fifo(10));
    machine.fork(CPU0, Policy::Fifo(10));
    machine.pass(Nanos::from_millis(400));
    assert_eq!(machine.curr(CPU0), one);
}

#[test]
fn a_waiting_task_is_pushed_to_the_cpu_of_the_lowest_priority() {
    let mut machine = RtTestMachine::new(3);
    machine.pinned(CPU0, Policy::Fifo(40));
    machine.pinned(CPU1, Policy::Fifo(10));
    machine.pinned(CpuId(2), Policy::Fifo(20));
    let task = machine.fork(CPU0, Policy::Fifo(30));
    assert_eq!((machine.cpu_of(task), machine.curr(CPU1)), (CPU1, task));
}

#[test]
fn a_task_that_finds_no_lower_priority_anywhere_waits_where_it_is() {
    let mut machine = RtTestMachine::new(2);
    machine.pinned(CPU0, Policy::Fifo(40));
    machine.pinned(CPU1, Policy::Fifo(40));
    let task = machine.fork(CPU0, Policy::Fifo(40));
    assert_eq!(machine.cpu_of(task), CPU0);
    assert!(machine.sched.rt_root.overload.has_other(CPU1) && !machine.sched.rt_root.overload.has_other(CPU0));
}

#[test]
fn a_cpu_that_runs_out_of_real_time_work_pulls_the_waiting_task() {
    for feature in [None, Some(Feature::RtPushIpi)] {
        let mut machine = feature.into_iter().fold(RtTestMachine::new(2), RtTestMachine::feature);
        machine.pinned(CPU0, Policy::Fifo(40));
        machine.pinned(CPU1, Policy::Fifo(40));
        let task = machine.fork(CPU0, Policy::Fifo(30));
        assert_eq!(machine.cpu_of(task), CPU0);
        machine.block(CPU1);
        if feature.is_some() {
            // The overloaded CPU is asked to push instead.
            assert_eq!(machine.cpu_of(task), CPU0);
            machine.on(CPU0, |sched, ctx| sched.handle_ipi(ctx, crate::interface::ctx::IpiKind::CallFunction));
            machine.settle();
        }
        assert_eq!((machine.cpu_of(task), machine.curr(CPU1)), (CPU1, task), "with {feature:?}");
    }
}

#[test]
fn a_task_that_is_about_to_preempt_on_its_own_cpu_is_not_pulled() {
    let mut machine = RtTestMachine::new(2);
    machine.pinned(CPU0, Policy::Fifo(30));
    machine.pinned(CPU1, Policy::Fifo(50));
    let cpus_allowed = CpuMask::full(2);
    let policy = Policy::Fifo(40);
    let new = NewTask { pid: 1000, policy, nice: 0, group: GroupId::ROOT, cpus_allowed, uclamp: None, slice: None };
    let task = machine.on(CPU0, |sched, ctx| sched.handle_fork(ctx, new));
    assert!(machine.cpu_of(task) == CPU0 && machine.sched.need_resched(CPU0));
    // CPU 1 runs out of real-time work before CPU 0 has switched.
    machine.on(CPU1, |sched, ctx| sched.handle_block(ctx));
    assert_eq!(machine.cpu_of(task), CPU0);
    machine.settle();
    assert_eq!(machine.curr(CPU0), task);
}

#[test]
fn a_task_that_is_pushed_or_pulled_is_detached_and_attached_and_a_pull_takes_the_lock_of_where_it_looks() {
    let mut machine = RtTestMachine::new(2);
    machine.pinned(CPU0, Policy::Fifo(40));
    machine.pinned(CPU1, Policy::Fifo(40));
    machine.take_costs();
    let task = machine.fork(CPU0, Policy::Fifo(30));
    assert_eq!((machine.cpu_of(task), machine.take_costs()), (CPU0, [0, 0, 0]), "it waits where it is");
    machine.block(CPU1);
    assert_eq!((machine.cpu_of(task), machine.take_costs()), (CPU1, [1, 1, 1]), "it was pulled");
    machine.block(CPU0);
    assert_eq!((machine.cpu_of(task), machine.take_costs()), (CPU1, [0, 0, 0]), "a running task is not pulled");
    machine.pinned(CPU1, Policy::Fifo(50));
    assert_eq!((machine.cpu_of(task), machine.take_costs()), (CPU0, [0, 1, 1]), "it was pushed");
}

#[test]
fn a_pinned_task_makes_way_for_itself_among_equals_that_can_leave() {
    let mut machine = RtTestMachine::new(2);
    let free = machine.fork(CPU0, Policy::Fifo(10));
    assert_eq!(machine.cpu_of(free), CPU0);
    let pinned = machine.pinned(CPU0, Policy::Fifo(10));
    assert_eq!((machine.curr(CPU0), machine.curr(CPU1)), (pinned, free));
}

#[test]
fn a_real_time_task_prefers_a_cpu_that_is_big_enough_for_its_clamp() {
    let mut machine = RtTestMachine::with_capacity(vec![446, 1024]);
    let all = [CPU0, CPU1];
    let any = machine.fork(CPU0, Policy::Fifo(10));
    assert_eq!(machine.cpu_of(any), CPU1, "by default it requests the highest capacity");
    let small = machine.fork_with(CPU0, Policy::Fifo(10), &all, Some(Uclamp { min: 400, max: 1024 }));
    assert_eq!(machine.cpu_of(small), CPU0);
    let more_important = machine.fork(CPU0, Policy::Fifo(20));
    assert_eq!(machine.cpu_of(more_important), CPU1, "size counts, and it preempts there");
    let less_important = machine.fork(CPU1, Policy::Fifo(5));
    assert_eq!(machine.cpu_of(less_important), CPU1, "no CPU runs at a lower priority");
}

#[test]
fn a_task_that_becomes_less_important_goes_before_its_new_equals() {
    let mut machine = RtTestMachine::new(1);
    let first = machine.fork(CPU0, Policy::Fifo(20));
    let second = machine.fork(CPU0, Policy::Fifo(10));
    machine.set_policy(first, Policy::Fifo(10));
    assert_eq!(machine.curr(CPU0), first);
    machine.block(CPU0);
    assert_eq!(machine.curr(CPU0), second);
}

#[test]
fn a_task_that_becomes_more_important_goes_behind_its_new_equals() {
    let mut machine = RtTestMachine::new(1);
    let runs = machine.fork(CPU0, Policy::Fifo(30));
    let waits = machine.fork(CPU0, Policy::Fifo(20));
    let rises = machine.fork(CPU0, Policy::Fifo(10));
    machine.set_policy(rises, Policy::Fifo(20));
    assert_eq!(machine.curr(CPU0), runs);
    machine.block(CPU0);
    assert_eq!(machine.curr(CPU0), waits);
}

#[test]
fn a_change_of_policy_at_equal_priority_keeps_the_place() {
    let mut machine = RtTestMachine::new(1);
    machine.fork(CPU0, Policy::Fifo(30));
    let first = machine.fork(CPU0, Policy::Fifo(10));
    machine.fork(CPU0, Policy::Fifo(10));
    machine.set_policy(first, Policy::RoundRobin(10));
    machine.block(CPU0);
    assert_eq!(machine.curr(CPU0), first);
}

#[test]
fn a_fair_task_that_becomes_a_real_time_one_preempts_and_back_again_gives_way() {
    let mut machine = RtTestMachine::new(1);
    let runs = machine.fork(CPU0, Policy::Fifo(10));
    let task = machine.fork(CPU0, Policy::Normal);
    machine.set_policy(task, Policy::Fifo(20));
    assert_eq!(machine.curr(CPU0), task);
    assert_eq!((machine.sched.rqs[CPU0].nr_running, machine.sched.fair.root_cfs_rq(CPU0).h_nr_running), (2, 0));
    machine.set_policy(task, Policy::Normal);
    assert_eq!(machine.curr(CPU0), runs);
    assert_eq!((machine.sched.rqs[CPU0].nr_running, machine.sched.fair.root_cfs_rq(CPU0).h_nr_running), (2, 1));
}

#[test]
fn the_last_real_time_task_that_leaves_the_class_lets_its_cpu_pull() {
    let mut machine = RtTestMachine::new(2);
    let leaves = machine.pinned(CPU1, Policy::Fifo(40));
    machine.pinned(CPU0, Policy::Fifo(40));
    let waits = machine.fork(CPU0, Policy::Fifo(30));
    assert_eq!(machine.cpu_of(waits), CPU0);
    machine.set_policy(leaves, Policy::Normal);
    assert_eq!((machine.cpu_of(waits), machine.curr(CPU1)), (CPU1, waits));
}

#[test]
fn the_uclamp_minimum_follows_the_policy_unless_it_was_set() {
    let mut machine = RtTestMachine::new(1);
    let lower = |machine: &RtTestMachine, task: TaskId| machine.sched.tasks[task].uclamp.min;
    let plain = machine.fork(CPU0, Policy::Normal);
    let set = machine.fork_with(CPU0, Policy::Normal, &[CPU0], Some(Uclamp { min: 200, max: 1024 }));
    for (policy, expected) in [(Policy::Fifo(10), 1024), (Policy::Batch, 0)] {
        machine.set_policy(plain, policy);
        machine.set_policy(set, policy);
        assert_eq!((lower(&machine, plain), lower(&machine, set)), (expected, 200), "{policy:?}");
    }
}

#[test]
fn who_becomes_less_important_than_who_waits_for_it_has_the_waiters_priority() {
    let mut machine = RtTestMachine::new(1);
    let owner = machine.fork(CPU0, Policy::Fifo(20));
    let waiter = machine.fork(CPU0, Policy::Fifo(10));
    let priority = machine.sched.tasks[waiter].prio();
    machine.on(CPU0, |sched, ctx| sched.inherit_priority(ctx, owner, Some(waiter)));
    assert!(machine.sched.tasks[owner].prio() < priority, "its own is higher");
    machine.set_policy(owner, Policy::Fifo(5));
    assert_eq!(machine.sched.tasks[owner].prio(), priority);
}

#[test]
fn the_clamp_of_a_cpu_forgets_tasks_that_were_there_before() {
    let mut machine = RtTestMachine::new(1);
    let fork = |machine: &mut RtTestMachine, priority, min| {
        machine.fork_with(CPU0, Policy::Fifo(priority), &[CPU0], Some(Uclamp { min, max: 1024 }));
    };
    let lower_clamp = |machine: &RtTestMachine| machine.sched.rqs[CPU0].uclamp.clamps().min;
    fork(&mut machine, 10, 300);
    assert_eq!(lower_clamp(&machine), 300);
    machine.block(CPU0);
    // The second task has the bucket of the first one, the third a higher one.
    fork(&mut machine, 10, 250);
    fork(&mut machine, 20, 500);
    assert_eq!(lower_clamp(&machine), 500);
    machine.block(CPU0);
    assert_eq!(lower_clamp(&machine), 250);
}

#[test]
fn what_is_counted_is_given_back_when_all_tasks_have_left() {
    let mut machine = RtTestMachine::new(2);
    let tasks: Vec<_> = (1..20).map(|priority| machine.fork(CPU0, Policy::Fifo(priority))).collect();
    for (index, &task) in tasks.iter().enumerate() {
        let policy = if index % 2 == 0 { Policy::RoundRobin(50) } else { Policy::Batch };
        machine.set_policy(task, policy);
        machine.pass(TICK);
    }
    let is_idle = |machine: &RtTestMachine, cpu| machine.sched.is_idle_task_running(cpu);
    while let Some(cpu) = machine.sched.cpu_ids().find(|&cpu| !is_idle(&machine, cpu)) {
        machine.block(cpu);
    }
    for cpu in machine.sched.cpu_ids() {
        let rt = &machine.sched.rqs[cpu].rt;
        assert_eq!(
            (rt.nr_running(), rt.nr_migratory(), rt.is_runnable(), rt.overloaded()),
            (0, 0, false, false),
            "{cpu:?}"
        );
        assert_eq!((rt.highest_curr(), rt.highest_next()), (MAX_RT_PRIO - 1, MAX_RT_PRIO - 1), "{cpu:?}");
        assert!(rt.pushable().first().is_none() && rt.queues.first().is_none(), "{cpu:?}");
    }
    assert!(machine.sched.rt_root.overload.cpus().is_empty());
}
