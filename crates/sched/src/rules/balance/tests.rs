// SPDX-License-Identifier: GPL-2.0-or-later
//! Tests of each load-balance rule, in the smallest machine on which it applies.

use crate::interface::balance::{BalanceVerdict, BalancedReason, GroupType, MigrationType};
use crate::paths::newidle::{NewIdleResult, NewIdleSite, prandom_u32_state};
use crate::rules::balance::classify::{group_classify, sched_asym};
use crate::rules::balance::imbalance::{
    GroupCores, ImbalanceParams, adjust_numa_imbalance, calculate_imbalance, why_balanced,
};
use crate::rules::balance::interval::balance_interval;
use crate::rules::balance::stats::{SdLbStats, SgLbStats, boosted_for_small_llc, nr_idle_scan};
use crate::state::topology::{SchedGroupId, SdFlags};
use crate::test_machine::{TestMachine, big_little, flat, smt};
use crate::track::capacity::scale_rt_capacity;
use crate::types::features::Feature;
use crate::types::idle_type::CpuIdleType;
use crate::types::ids::CpuId;
use crate::types::kernel_rules::KernelRules;
use crate::types::series::KernelSeries;
use crate::types::units::{Nanos, msecs_to_jiffies};
use crate::types::work::{Access, KernelOp, Touch};
use std::vec::Vec;

const AT: ImbalanceParams = ImbalanceParams {
    idle: CpuIdleType::Idle,
    flags: SdFlags::EMPTY,
    imbalance_pct: 117,
    imb_numa_nr: 0,
    energy_aware: false,
    cores: None,
};

/// Group of four CPUs. Unless a test changes it, no CPU is idle and each runs one task.
const GROUP: SgLbStats = SgLbStats {
    avg_load: 0,
    group_load: 4096,
    group_capacity: 4096,
    group_util: 2000,
    group_runnable: 2000,
    sum_nr_running: 4,
    sum_h_nr_running: 4,
    idle_cpus: 0,
    group_weight: 4,
    group_type: GroupType::HasSpare,
    group_asym_packing: false,
    group_smt_balance: false,
    group_misfit_task_load: 0,
};

#[test]
fn since_6_12_tasks_spread_in_proportion_to_cores() {
    // Local and busiest group: cores and tasks; then the number of tasks that are moved.
    let cases =
        [((4, 0), (4, 4), 2), ((4, 3), (4, 4), 0), ((4, 0), (2, 4), 3), ((1, 0), (4, 2), 1), ((4, 2), (1, 2), 1)];
    for ((local_cores, local_tasks), (busiest_cores, busiest_tasks), moved) in cases {
        let group = |cores, tasks| SgLbStats {
            group_weight: cores,
            sum_nr_running: tasks,
            sum_h_nr_running: tasks,
            idle_cpus: 0,
            ..GROUP
        };
        let cores = GroupCores { local: local_cores, busiest: busiest_cores, smt_vs_nonsmt: false };
        let at = ImbalanceParams { cores: Some(cores), ..AT };
        let local = group(local_cores, local_tasks);
        let mut sds = SdLbStats { prefer_sibling: true, ..domain(local, group(busiest_cores, busiest_tasks)) };
        assert_eq!(calculate_imbalance(&mut sds, &at), (MigrationType::Task, moved), "{cores:?} {sds:?}");
        let busy = ImbalanceParams { idle: CpuIdleType::NotIdle, ..at };
        assert_eq!(calculate_imbalance(&mut sds, &busy), (MigrationType::Task, 0), "a busy CPU pulls nothing");
    }
}

#[test]
fn since_6_12_a_core_with_several_tasks_gives_one_to_an_idle_cpu_that_is_alone_on_its_core() {
    let core = SgLbStats { group_weight: 2, sum_nr_running: 2, sum_h_nr_running: 2, group_smt_balance: true, ..GROUP };
    let core = SgLbStats { group_type: group_classify(117, false, &core), ..core };
    assert_eq!(core.group_type, GroupType::SmtBalance);
    let alone = SgLbStats { group_weight: 1, sum_nr_running: 0, sum_h_nr_running: 0, idle_cpus: 1, ..GROUP };
    let mut sds = domain(alone, core);
    let at = |smt_vs_nonsmt| ImbalanceParams { cores: Some(GroupCores { local: 1, busiest: 1, smt_vs_nonsmt }), ..AT };
    assert_eq!(why_balanced(&mut sds, &at(true)), None);
    assert_eq!(why_balanced(&mut sds, &at(false)), Some(BalancedReason::IdleCpusAlike));
    assert_eq!(calculate_imbalance(&mut sds, &at(true)), (MigrationType::Task, 1));
}

fn domain(local: SgLbStats, busiest: SgLbStats) -> SdLbStats {
    SdLbStats {
        busiest: Some(SchedGroupId::from_index(1)),
        local: SchedGroupId::from_index(0),
        total_load: local.group_load + busiest.group_load,
        total_capacity: local.group_capacity + busiest.group_capacity,
        avg_load: 0,
        prefer_sibling: false,
        busiest_stat: busiest,
        local_stat: local,
    }
}

fn overloaded(load: u64) -> SgLbStats {
    let group_type = GroupType::Overloaded;
    SgLbStats { group_type, group_load: load, avg_load: load / 4, sum_nr_running: 8, sum_h_nr_running: 8, ..GROUP }
}

fn with_type(group_type: GroupType) -> SgLbStats {
    SgLbStats { group_type, ..GROUP }
}

#[test]
fn every_way_to_be_balanced_has_its_case() {
    let idle = SgLbStats { sum_nr_running: 0, sum_h_nr_running: 0, idle_cpus: 4, ..GROUP };
    let cases = [
        (SdLbStats { busiest: None, ..domain(idle, GROUP) }, AT, BalancedReason::NoCandidate),
        (domain(idle, overloaded(9000)), ImbalanceParams { energy_aware: true, ..AT }, BalancedReason::EnergyAware),
        (domain(with_type(GroupType::FullyBusy), GROUP), AT, BalancedReason::LocalIsBusier),
        (domain(overloaded(8000), overloaded(8000)), AT, BalancedReason::LocalHasMoreLoad),
        (
            SdLbStats { total_load: 10_000, ..domain(overloaded(8000), overloaded(9000)) },
            AT,
            BalancedReason::LocalIsAboveAverage,
        ),
        (domain(overloaded(8000), overloaded(9000)), AT, BalancedReason::WithinMargin),
        (
            domain(idle, GROUP),
            ImbalanceParams { idle: CpuIdleType::NotIdle, ..AT },
            BalancedReason::BusyWithoutCompetition,
        ),
        (
            domain(SgLbStats { idle_cpus: 2, ..idle }, SgLbStats { idle_cpus: 1, ..GROUP }),
            AT,
            BalancedReason::IdleCpusAlike,
        ),
        (domain(idle, SgLbStats { sum_h_nr_running: 1, idle_cpus: 1, ..GROUP }), AT, BalancedReason::SingleTask),
    ];
    let mut seen: Vec<_> = cases
        .into_iter()
        .map(|(mut sds, at, expected)| {
            assert_eq!(why_balanced(&mut sds, &at), Some(expected));
            expected
        })
        .collect();
    // The last reason appears only when the imbalance is computed.
    let mut sds = domain(with_type(GroupType::FullyBusy), with_type(GroupType::FullyBusy));
    assert_eq!(why_balanced(&mut domain(idle, SgLbStats { idle_cpus: 2, ..GROUP }), &AT), None);
    assert_eq!(calculate_imbalance(&mut sds, &AT), (MigrationType::Load, 0));
    seen.push(BalancedReason::NoImbalance);
    // `policy_tests` covers the reason of the policy hook.
    seen.push(BalancedReason::Policy);
    assert_eq!(seen, BalancedReason::ALL);
}

#[test]
fn a_misfit_task_is_helped_even_when_energy_rules() {
    let mut sds = domain(GROUP, SgLbStats { group_misfit_task_load: 700, ..with_type(GroupType::MisfitTask) });
    assert_eq!(why_balanced(&mut sds, &ImbalanceParams { energy_aware: true, ..AT }), None);
    let asym = ImbalanceParams { flags: SdFlags::ASYM_CPUCAPACITY, ..AT };
    assert_eq!(calculate_imbalance(&mut sds, &asym), (MigrationType::Misfit, 1));
    assert_eq!(calculate_imbalance(&mut sds, &AT), (MigrationType::Load, 700));
}

#[test]
fn what_is_moved_depends_on_the_states_of_both_groups() {
    let idle = SgLbStats { sum_nr_running: 0, sum_h_nr_running: 0, idle_cpus: 4, group_util: 96, ..GROUP };
    let full = SgLbStats { group_util: 4096, ..GROUP };
    let cache = ImbalanceParams { flags: SdFlags::SHARE_PKG_RESOURCES, ..AT };
    let busy = ImbalanceParams { idle: CpuIdleType::NotIdle, ..AT };
    let cases = [
        // Asymmetric packing moves all tasks; an imbalanced group gives one.
        (idle, with_type(GroupType::AsymPacking), AT, (MigrationType::Task, 4)),
        (idle, with_type(GroupType::Imbalanced), AT, (MigrationType::Task, 1)),
        // Spare capacity is filled with utilisation; without it, an idle CPU takes one task.
        (idle, overloaded(9000), AT, (MigrationType::Util, 4000)),
        (full, overloaded(9000), AT, (MigrationType::Task, 1)),
        (full, overloaded(9000), busy, (MigrationType::Util, 0)),
        // Within a cache, or without competition, the numbers of idle CPUs are evened out.
        (idle, overloaded(9000), cache, (MigrationType::Task, 2)),
        (idle, GROUP, AT, (MigrationType::Task, 2)),
        // More idle CPUs in the busiest group than in the local one: the unsigned difference wraps.
        (GROUP, SgLbStats { idle_cpus: 2, ..overloaded(9000) }, cache, (MigrationType::Task, 0x7fff_ffff)),
        // Load, so that neither group crosses the average of 1500.
        (overloaded(4000), overloaded(8000), AT, (MigrationType::Load, 2000)),
    ];
    for (local, busiest, at, expected) in cases {
        let mut sds = domain(local, busiest);
        sds.avg_load = 1500;
        assert_eq!(calculate_imbalance(&mut sds, &at), expected, "{local:?} {busiest:?}");
    }
}

#[test]
fn single_cpus_and_siblings_even_out_tasks_by_half_the_difference() {
    let local = SgLbStats { sum_nr_running: 1, ..GROUP };
    let mut sds = domain(local, SgLbStats { sum_nr_running: 6, ..GROUP });
    sds.prefer_sibling = true;
    assert_eq!(calculate_imbalance(&mut sds, &AT), (MigrationType::Task, 2));
    let mut sds = domain(local, SgLbStats { sum_nr_running: 6, group_weight: 1, ..GROUP });
    assert_eq!(calculate_imbalance(&mut sds, &AT), (MigrationType::Task, 2));
}

#[test]
fn a_pair_of_tasks_may_stay_on_a_node_while_few_run_at_the_destination() {
    assert_eq!(adjust_numa_imbalance(2, 4, 4), 0);
    assert_eq!(adjust_numa_imbalance(3, 4, 4), 3);
    assert_eq!(adjust_numa_imbalance(2, 5, 4), 2);
}

#[test]
fn the_first_state_that_holds_is_the_groups() {
    let full = SgLbStats { group_util: 4000, ..GROUP };
    let crowded = SgLbStats { sum_nr_running: 5, ..full };
    assert_eq!(group_classify(117, true, &crowded), GroupType::Overloaded);
    assert_eq!(group_classify(117, true, &full), GroupType::Imbalanced);
    let (packed, misfit) =
        (SgLbStats { group_asym_packing: true, ..full }, SgLbStats { group_misfit_task_load: 1, ..full });
    assert_eq!(group_classify(117, false, &packed), GroupType::AsymPacking);
    assert_eq!(group_classify(117, false, &misfit), GroupType::MisfitTask);
    assert_eq!(group_classify(117, false, &full), GroupType::FullyBusy);
    assert_eq!(group_classify(117, false, &GROUP), GroupType::HasSpare);
    assert_eq!(group_classify(117, false, &SgLbStats { sum_nr_running: 3, ..full }), GroupType::HasSpare);
}

#[test]
fn packing_relieves_cores_with_two_busy_siblings_first() {
    let machine = smt();
    let domains = &machine.sched.domains;
    let ring: Vec<_> = domains.ring(machine.sd(2, 1)).map(|group| &domains.groups[group]).collect();
    let core0 = ring[1];
    let core1 = &crate::state::topology::SchedGroup { asym_prefer_cpu: CpuId(2), ..ring[0].clone() };
    let single = crate::state::topology::SchedGroup { flags: SdFlags::EMPTY, ..core1.clone() };
    let stat = |weight, idle| SgLbStats { group_weight: weight, idle_cpus: idle, ..GROUP };
    let sds = |local_stat| domain(local_stat, GROUP);
    let none = SgLbStats { sum_nr_running: 0, ..stat(1, 1) };
    // CPU 2 has a lower priority than CPU 0, so only the number of busy siblings decides.
    assert!(sched_asym(CpuId(2), &single, &sds(none), &stat(2, 0), core0));
    assert!(!sched_asym(CpuId(2), &single, &sds(none), &stat(2, 1), core0));
    // Between cores the one with one more busy sibling gives, to a CPU of higher priority.
    assert!(!sched_asym(CpuId(2), core1, &sds(stat(2, 2)), &stat(2, 1), core0));
    assert!(sched_asym(CpuId(0), core0, &sds(stat(2, 2)), &stat(2, 1), core1));
    assert!(!sched_asym(CpuId(0), core0, &sds(stat(2, 2)), &stat(2, 0), core1));
}

#[test]
fn intervals_grow_while_a_cpu_is_busy_and_have_bounds() {
    assert_eq!([0, 1, 4, 5, 32].map(|ms| msecs_to_jiffies(ms, 250)), [0, 1, 1, 2, 8]);
    let machine = flat(4);
    let sd = &machine.sched.domains.domains[machine.sd(0, 0)];
    assert_eq!(balance_interval(sd, false, 250, 100), 1);
    // 4 ms times 16, in ticks of 4 ms, less one.
    assert_eq!(balance_interval(sd, true, 250, 100), 15);
    assert_eq!(balance_interval(sd, true, 250, 10), 10);
    assert_eq!(machine.sched.max_balance_interval, 100);
}

#[test]
fn interrupts_take_from_what_other_classes_leave() {
    let mut machine = flat(2);
    let rq = &mut machine.sched.rqs[CpuId(0)];
    rq.avg_rt.util_avg = 256;
    rq.avg_dl.util_avg = 128;
    rq.avg_thermal.load_avg = 128;
    assert_eq!(scale_rt_capacity(rq, KernelRules::of_series(KernelSeries::V6_1)), 512);
    rq.avg_irq.util_avg = 512;
    assert_eq!(scale_rt_capacity(rq, KernelRules::of_series(KernelSeries::V6_1)), 256);
    rq.avg_irq.util_avg = 1024;
    assert_eq!(scale_rt_capacity(rq, KernelRules::of_series(KernelSeries::V6_1)), 1);
    (rq.avg_irq.util_avg, rq.avg_rt.util_avg) = (0, 1024);
    assert_eq!(scale_rt_capacity(rq, KernelRules::of_series(KernelSeries::V6_1)), 1);
}

#[test]
fn an_idle_cpu_takes_a_waiting_task_and_pays_for_each_step() {
    let mut machine = flat(2);
    let tasks = [0, 1, 2].map(|_| machine.task(0, &[0, 1]));
    machine.wait_ms(10);
    machine.work = Default::default();
    let (result, decision) = machine.pass(1, 0, CpuIdleType::Idle);
    assert_eq!((result.nr_moved, result.continue_balancing, decision.verdict), (1, true, BalanceVerdict::Moved));
    assert_eq!((decision.migration, decision.imbalance), (Some(MigrationType::Task), 1));
    assert_eq!((decision.busiest_group, decision.busiest_queue), (Some(CpuId(0)), Some(CpuId(0))));
    assert_eq!(machine.counted(), ["lb_count", "lb_imbalance", "lb_gained"]);
    let moved: Vec<_> = tasks.iter().filter(|&&task| machine.cpu_of(task) == 1).collect();
    assert_eq!(moved.len(), 1);
    assert!(machine.sched.need_resched(CpuId(1)));
    let costs = [
        KernelOp::BalancePass,
        KernelOp::GroupStatCpu,
        KernelOp::RqLock,
        KernelOp::DetachTask,
        KernelOp::AttachTask,
        KernelOp::NewidlePass,
    ];
    assert_eq!(costs.map(|op| machine.work.get(op)), [1, 2, 1, 1, 1, 0]);
    assert_eq!(machine.work.get(KernelOp::DetachScan), u64::from(decision.nr_scanned));
    assert_eq!(machine.work.get(KernelOp::GroupStatCpu), u64::from(decision.nr_cpus));
}

#[test]
fn the_last_task_stays_with_its_cpu() {
    let mut machine = flat(2);
    machine.task(0, &[0, 1]);
    let (_, decision) = machine.pass(1, 0, CpuIdleType::NewlyIdle);
    assert_eq!(decision.balanced, Some(BalancedReason::SingleTask));
    assert_eq!(machine.counted(), ["lb_count", "lb_nobusyg", "lb_balanced"]);
}

#[test]
fn a_core_is_balanced_by_its_first_idle_cpu() {
    let mut machine = smt();
    for _ in 0..4 {
        machine.task(2, &[0, 1, 2, 3]);
    }
    machine.wait_ms(10);
    let (result, decision) = machine.pass(1, 1, CpuIdleType::Idle);
    assert_eq!((result.continue_balancing, decision.verdict), (false, BalanceVerdict::NotOurs));
    assert_eq!(machine.counted(), ["lb_count", "lb_balanced"]);
    assert_eq!(machine.pass(0, 1, CpuIdleType::Idle).1.verdict, BalanceVerdict::Moved);
}

#[test]
fn a_cpu_that_got_work_meanwhile_pulls_none() {
    let mut machine = flat(2);
    for _ in 0..3 {
        machine.task(0, &[0, 1]);
    }
    machine.sched.rqs[CpuId(1)].ttwu_pending = true;
    assert_eq!(machine.pass(1, 0, CpuIdleType::NewlyIdle).1.verdict, BalanceVerdict::NotOurs);
}

/// Builds a machine whose CPU 0 has three pinned tasks, and CPU 1 two that may run anywhere.
fn pinned() -> TestMachine {
    let mut machine = flat(3);
    for _ in 0..3 {
        machine.task(0, &[0]);
    }
    for _ in 0..2 {
        machine.task(1, &[0, 1, 2]);
    }
    machine.wait_ms(10);
    machine
}

#[test]
fn a_pass_starts_over_without_a_cpu_whose_tasks_are_pinned() {
    let (_, decision) = pinned().pass(2, 0, CpuIdleType::Idle);
    assert_eq!((decision.verdict, decision.redos, decision.busiest_queue), (BalanceVerdict::Moved, 1, Some(CpuId(1))));
}

#[test]
fn redo_max_limits_how_often_a_pass_starts_over() {
    let mut machine = pinned();
    machine.sched.tunables.changes.redo_max = Some(0);
    let interval = machine.sched.domains.domains[machine.sd(2, 0)].balance_interval;
    let (result, decision) = machine.pass(2, 0, CpuIdleType::Idle);
    assert_eq!((decision.verdict, result.nr_moved), (BalanceVerdict::AllPinned, 0));
    assert_eq!(machine.counted(), ["lb_count", "lb_imbalance", "lb_gained", "lb_balanced"]);
    assert_eq!(machine.sched.domains.domains[machine.sd(2, 0)].balance_interval, 2 * interval);
}

#[test]
fn a_pass_gives_up_when_only_cpus_of_its_own_group_are_left() {
    let mut machine = flat(2);
    for _ in 0..3 {
        machine.task(0, &[0]);
    }
    machine.wait_ms(10);
    let (_, decision) = machine.pass(1, 0, CpuIdleType::Idle);
    assert_eq!((decision.verdict, decision.redos), (BalanceVerdict::AllPinned, 0));
}

#[test]
fn another_cpu_of_the_group_takes_a_task_that_may_not_run_here() {
    let mut machine = smt();
    let tasks = [0, 1, 2, 3].map(|_| machine.task(2, &[1, 2]));
    machine.wait_ms(10);
    let (_, decision) = machine.pass(0, 1, CpuIdleType::Idle);
    assert_eq!(decision.verdict, BalanceVerdict::Moved);
    assert!(tasks.iter().any(|&task| machine.cpu_of(task) == 1));
    // Newly-idle balancing does not change the destination.
    let mut machine = smt();
    for _ in 0..4 {
        machine.task(2, &[1, 2]);
    }
    assert_ne!(machine.pass(0, 1, CpuIdleType::NewlyIdle).1.verdict, BalanceVerdict::Moved);
}

#[test]
fn cache_hot_tasks_stay_until_balancing_has_failed_too_often() {
    let mut machine = flat(2);
    for _ in 0..3 {
        machine.task(0, &[0, 1]);
    }
    let sd = machine.sd(1, 0);
    let now = machine.sched.rqs[CpuId(0)].clock_task;
    for se in &mut machine.sched.fair.entities {
        se.exec_start = now;
    }
    assert_eq!(machine.pass(1, 0, CpuIdleType::Idle).1.verdict, BalanceVerdict::Failed);
    assert_eq!(machine.counted(), ["lb_count", "lb_imbalance", "lb_gained", "lb_failed"]);
    assert_eq!(machine.sched.domains.domains[sd].nr_balance_failed, 1);
    machine.sched.domains.domains[sd].nr_balance_failed = machine.sched.domains.domains[sd].cache_nice_tries + 1;
    assert_eq!(machine.pass(1, 0, CpuIdleType::Idle).1.verdict, BalanceVerdict::Moved);
    assert_eq!(machine.counted(), ["lb_count", "lb_imbalance", "lb_hot_gained", "lb_gained"]);
    assert_eq!(machine.sched.domains.domains[sd].nr_balance_failed, 0);
}

#[test]
fn newly_idle_balancing_does_not_count_failures() {
    let mut machine = flat(2);
    for _ in 0..3 {
        machine.task(0, &[0, 1]);
    }
    machine.sched.tunables.migration_cost_ns = -1;
    assert_eq!(machine.pass(1, 0, CpuIdleType::NewlyIdle).1.verdict, BalanceVerdict::Failed);
    assert_eq!(machine.sched.domains.domains[machine.sd(1, 0)].nr_balance_failed, 0);
}

/// Builds a machine whose CPU 0 runs a task that may use `allowed`, beside a pinned waiting one. Balancing
/// has failed often.
fn stuck(allowed: &[u32]) -> TestMachine {
    let mut machine = flat(2);
    machine.task(0, allowed);
    machine.task(0, &[0]);
    machine.wait_ms(10);
    let sd = machine.sd(1, 0);
    machine.sched.domains.domains[sd].nr_balance_failed = 5;
    machine
}

#[test]
fn the_running_task_is_pushed_when_nothing_else_helps() {
    let mut machine = stuck(&[0, 1]);
    let running = machine.sched.curr(CpuId(0));
    assert_eq!(machine.pass(1, 0, CpuIdleType::Idle).1.verdict, BalanceVerdict::ActiveBalance);
    assert!(machine.sched.rqs[CpuId(0)].active_balance && machine.sched.rqs[CpuId(0)].push_cpu == CpuId(1));
    // A second request stays pending.
    let sd = machine.sd(1, 0);
    machine.sched.domains.domains[sd].nr_balance_failed = 5;
    assert_eq!(machine.pass(1, 0, CpuIdleType::Idle).1.verdict, BalanceVerdict::ActiveBalancePending);
    machine.heard = Default::default();
    machine.on(0, |sched, ctx| {
        sched.flush_call_queue(ctx);
        sched.handle_reschedule(ctx);
        sched.handle_stopper(ctx);
    });
    assert_eq!(machine.cpu_of(running), 1);
    assert_eq!(machine.counted(), ["alb_count", "lb_gained", "alb_pushed"]);
    assert!(!machine.sched.rqs[CpuId(0)].active_balance);
    assert_eq!(machine.sched.domains.domains[machine.sd(1, 0)].nr_balance_failed, 0);
}

#[test]
fn a_running_task_that_may_not_leave_is_not_pushed() {
    let mut machine = flat(2);
    // If the imbalance is only the running task, no task is detached, so pinning is not known before the
    // push.
    machine.task(0, &[0]);
    let sd = machine.sd(1, 0);
    let group = machine.sched.domains.ring(sd).nth(1).expect("two groups");
    let capacity = machine.sched.domains.groups[group].capacity;
    machine.sched.domains.capacities[capacity].imbalance = true;
    machine.sched.domains.domains[sd].nr_balance_failed = 5;
    let interval = machine.sched.domains.domains[sd].balance_interval;
    assert_eq!(machine.pass(1, 0, CpuIdleType::Idle).1.verdict, BalanceVerdict::RunningTaskPinned);
    assert_eq!(machine.counted(), ["lb_count", "lb_imbalance", "lb_failed"]);
    assert_eq!(machine.sched.domains.domains[sd].balance_interval, 2 * interval);
}

#[test]
fn a_small_cpu_takes_no_single_task_from_a_cpu_that_is_no_smaller() {
    let mut machine = big_little();
    machine.task(0, &[0, 1, 2, 3]);
    let sd = machine.sd(1, 0);
    let group = machine.sched.domains.groups.ids().find(|&g| machine.sched.domains.groups[g].span.contains(CpuId(0)));
    let capacity = machine.sched.domains.groups[group.expect("a group of CPU 0")].capacity;
    machine.sched.domains.capacities[capacity].imbalance = true;
    let (_, decision) = machine.pass(1, 0, CpuIdleType::Idle);
    assert_eq!(
        (decision.verdict, decision.busiest_type),
        (BalanceVerdict::NoBusiestQueue, Some(GroupType::Imbalanced))
    );
    assert_eq!(machine.counted(), ["lb_count", "lb_nobusyq", "lb_balanced"]);
    assert_eq!(machine.sched.domains.domains[sd].nr_balance_failed, 0);
}

#[test]
fn a_big_cpu_has_a_misfit_task_pushed_to_it() {
    let mut machine = big_little();
    let task = machine.task(0, &[0, 1, 2, 3]);
    let se = machine.sched.tasks[task].se;
    machine.sched.fair.entities[se].avg.util_avg = 440;
    machine.on(0, |sched, ctx| sched.update_misfit_status(ctx, CpuId(0), Some(task)));
    assert!(machine.sched.rqs[CpuId(0)].misfit_task_load > 0);
    let (_, decision) = machine.pass(2, 0, CpuIdleType::Idle);
    assert_eq!((decision.verdict, decision.migration), (BalanceVerdict::ActiveBalance, Some(MigrationType::Misfit)));
    assert!(machine.sched.domains.root.overload);
    // A CPU of the same capacity is no help.
    assert_eq!(machine.pass(1, 0, CpuIdleType::Idle).1.balanced, Some(BalancedReason::NoCandidate));
}

#[test]
fn a_misfit_task_is_none_that_may_run_nowhere_else() {
    let mut machine = big_little();
    let task = machine.task(0, &[0]);
    let se = machine.sched.tasks[task].se;
    machine.sched.fair.entities[se].avg.util_avg = 440;
    machine.on(0, |sched, ctx| sched.update_misfit_status(ctx, CpuId(0), Some(task)));
    assert_eq!(machine.sched.rqs[CpuId(0)].misfit_task_load, 0);
}

#[test]
fn a_misfit_task_without_load_is_noted_all_the_same() {
    let mut machine = big_little();
    let task = machine.task(0, &[0, 1, 2, 3]);
    let se = machine.sched.tasks[task].se;
    let avg = &mut machine.sched.fair.entities[se].avg;
    (avg.util_avg, avg.load_avg) = (440, 0);
    machine.on(0, |sched, ctx| sched.update_misfit_status(ctx, CpuId(0), Some(task)));
    assert_eq!(
        (
            machine.sched.state.fair.task_h_load(machine.sched.state.tasks[task].se, machine.sched.state.jiffies),
            machine.sched.rqs[CpuId(0)].misfit_task_load
        ),
        (0, 1)
    );
}

#[test]
fn every_verdict_has_its_case() {
    // Tests of this file, by the verdict that each of them reaches.
    let cases = [
        (BalanceVerdict::NotOurs, "a_core_is_balanced_by_its_first_idle_cpu"),
        (BalanceVerdict::NoBusiestGroup, "the_last_task_stays_with_its_cpu"),
        (BalanceVerdict::NoBusiestQueue, "a_small_cpu_takes_no_single_task_from_a_cpu_that_is_no_smaller"),
        (BalanceVerdict::AllPinned, "a_pass_gives_up_when_only_cpus_of_its_own_group_are_left"),
        (BalanceVerdict::Moved, "an_idle_cpu_takes_a_waiting_task_and_pays_for_each_step"),
        (BalanceVerdict::Failed, "cache_hot_tasks_stay_until_balancing_has_failed_too_often"),
        (BalanceVerdict::ActiveBalance, "the_running_task_is_pushed_when_nothing_else_helps"),
        (BalanceVerdict::ActiveBalancePending, "the_running_task_is_pushed_when_nothing_else_helps"),
        (BalanceVerdict::RunningTaskPinned, "a_running_task_that_may_not_leave_is_not_pushed"),
    ];
    let tests = include_str!("tests.rs");
    assert_eq!(cases.map(|(verdict, _)| verdict), BalanceVerdict::ALL);
    for (verdict, test) in cases {
        let body = tests.split_once(&std::format!("fn {test}()")).expect("the test exists").1;
        let body = body.split("\n}\n").next().expect("a body");
        let shows =
            body.contains(verdict.name()) || verdict == BalanceVerdict::NoBusiestGroup && body.contains("balanced");
        assert!(shows, "{test} does not reach {}", verdict.name());
    }
}

/// Builds a machine whose CPU 1 is about to go idle, while CPU 0 has three tasks.
fn newidle() -> TestMachine {
    let mut machine = flat(2);
    for _ in 0..3 {
        machine.task(0, &[0, 1]);
    }
    machine.wait_ms(10);
    machine
}

fn go_idle(machine: &mut TestMachine) -> NewIdleResult {
    machine.heard = Default::default();
    machine.on(1, |sched, ctx| {
        let prev = sched.curr(CpuId(1));
        sched.sched_balance_newidle(ctx, CpuId(1), prev, NewIdleSite::Fair).expect("the path does not yield")
    })
}

#[test]
fn a_cpu_that_runs_out_of_work_pulls_a_task_and_does_not_count_as_idle() {
    let mut machine = newidle();
    machine.sched.features.set(Feature::NiRandom, false);
    assert_eq!(go_idle(&mut machine), NewIdleResult::Pulled);
    assert_eq!(machine.sched.rqs[CpuId(1)].idle_stamp, 0);
    assert_eq!(machine.work.get(KernelOp::NewidlePass), 1);
}

#[test]
fn newidle_balancing_is_skipped_while_no_cpu_has_two_tasks() {
    let mut machine = newidle();
    machine.sched.domains.root.overload = false;
    assert_eq!(go_idle(&mut machine), NewIdleResult::Nothing);
    assert!(machine.heard.passes.is_empty());
    assert_eq!(machine.sched.rqs[CpuId(1)].idle_stamp, machine.now.0);
}

#[test]
fn newidle_balancing_is_skipped_if_it_costs_more_than_the_average_idle_time() {
    let mut machine = newidle();
    let sd = machine.sd(1, 0);
    machine.sched.domains.domains[sd].max_newidle_lb_cost = 20_000;
    machine.sched.rqs[CpuId(1)].avg_idle = 19_999;
    assert_eq!(go_idle(&mut machine), NewIdleResult::Nothing);
    assert!(machine.heard.passes.is_empty());
}

#[test]
fn before_5_16_newidle_balancing_is_skipped_if_the_average_idle_time_is_below_the_migration_cost() {
    let searches = |newidle_min_idle, avg_idle| {
        let mut machine = newidle();
        machine.sched.features.set(Feature::NiRandom, false);
        machine.sched.tunables.changes.newidle_min_idle = newidle_min_idle;
        machine.sched.rqs[CpuId(1)].avg_idle = avg_idle;
        go_idle(&mut machine);
        !machine.heard.passes.is_empty()
    };
    assert!(searches(false, 499_999));
    assert!(!searches(true, 499_999));
    assert!(searches(true, 500_000));
}

#[test]
fn a_queued_wakeup_is_waited_for_without_counting_as_idle() {
    let mut machine = newidle();
    (machine.sched.rqs[CpuId(1)].ttwu_pending, machine.sched.rqs[CpuId(1)].idle_stamp) = (true, 7);
    assert_eq!(go_idle(&mut machine), NewIdleResult::Nothing);
    assert_eq!(machine.sched.rqs[CpuId(1)].idle_stamp, 7);
}

#[test]
fn a_higher_class_task_that_arrives_meanwhile_restarts_the_pick() {
    let mut machine = newidle();
    machine.sched.features.set(Feature::NiRandom, false);
    // As if a real-time task had been enqueued while the lock was dropped.
    machine.sched.rqs[CpuId(1)].nr_running = 1;
    assert_eq!(go_idle(&mut machine), NewIdleResult::Retry);
}

#[test]
fn the_price_of_a_pass_is_measured_kept_and_decays_after_a_second() {
    let mut machine = newidle();
    machine.sched.features.set(Feature::NiRandom, false);
    machine.newidle_pass_cost = Nanos(25_600);
    go_idle(&mut machine);
    let sd = machine.sd(1, 0);
    assert_eq!(machine.sched.domains.domains[sd].max_newidle_lb_cost, 25_600);
    let at = machine.sched.domains.domains[sd].last_decay_max_lb_cost;
    machine.sched.jiffies = at + 250;
    assert!(!machine.sched.decay_newidle_cost(sd));
    machine.sched.jiffies = at + 251;
    assert!(machine.sched.decay_newidle_cost(sd));
    assert_eq!(machine.sched.domains.domains[sd].max_newidle_lb_cost, 25_300);
}

#[test]
fn random_numbers_start_with_the_sequence_of_the_kernel() {
    let mut state = flat(2).sched.rqs[CpuId(0)].rnd_state;
    let draws = [0; 5].map(|_: u32| prandom_u32_state(&mut state) % 1024);
    assert_eq!(draws, [712, 751, 516, 695, 406]);
}

#[test]
fn a_domain_is_tried_in_proportion_to_its_success() {
    let mut machine = newidle();
    // The first draw of CPU 1 is 712: more than 1 + 710, not more than 1 + 711.
    let sd = machine.sd(1, 0);
    machine.sched.domains.domains[sd].newidle_ratio = 710;
    go_idle(&mut machine);
    assert!(machine.heard.passes.is_empty());
    assert_eq!(machine.sched.domains.domains[sd].newidle_call, 513);
    let mut machine = newidle();
    machine.sched.domains.domains[sd].newidle_ratio = 711;
    machine.newidle_pass_cost = Nanos(1000);
    assert_eq!(go_idle(&mut machine), NewIdleResult::Pulled);
    assert_eq!(machine.sched.domains.domains[sd].newidle_success, 257);
}

#[test]
fn a_success_ratio_is_made_of_1024_calls_half_of_them_old() {
    let mut machine = newidle();
    machine.sched.features.set(Feature::NiRandom, false);
    let sd = machine.sd(1, 0);
    let domain = &mut machine.sched.domains.domains[sd];
    (domain.newidle_call, domain.newidle_success) = (1023, 300);
    machine.newidle_pass_cost = Nanos(1000);
    go_idle(&mut machine);
    let domain = &machine.sched.domains.domains[sd];
    assert_eq!((domain.newidle_ratio, domain.newidle_call, domain.newidle_success), (301, 512, 150));
}

#[test]
fn the_lock_is_dropped_after_thirty_two_tasks() {
    let mut machine = flat(2);
    for _ in 0..80 {
        machine.task(0, &[0, 1]);
    }
    machine.sched.tunables.nr_migrate = 64;
    machine.wait_ms(10);
    let (result, decision) = machine.pass(1, 0, CpuIdleType::Idle);
    assert!(decision.nr_scanned > 32, "{decision:?}");
    assert_eq!(machine.work.get(KernelOp::RqLock), 2);
    assert_eq!(machine.counted().iter().filter(|&&name| name == "lb_gained").count(), 2);
    assert_eq!(machine.sched.rqs[CpuId(1)].nr_running, result.nr_moved);
    assert_eq!(machine.sched.rqs[CpuId(0)].nr_running, 80 - result.nr_moved);
}

#[test]
fn on_request_the_meter_lists_which_runqueues_a_pass_has_read_and_written() {
    let mut machine = flat(2);
    for _ in 0..3 {
        machine.task(0, &[0, 1]);
    }
    machine.wait_ms(10);
    machine.work.record_touches(true, 64);
    let (_, decision) = machine.pass(1, 0, CpuIdleType::Idle);
    assert_eq!(decision.verdict, BalanceVerdict::Moved);
    let of_runqueue = |touch: &Touch| touch.runqueue().expect("without task groups only runqueues are shared").0;
    let touches: Vec<_> = machine.work.touches().iter().map(|touch| (of_runqueue(touch), touch.access)).collect();
    // Reads: statistics of the local and the other group, and the busiest runqueue. Writes: both locks.
    assert_eq!(touches[..3], [(1, Access::Statistics), (0, Access::Statistics), (0, Access::Read)]);
    let first_write = touches.iter().position(|&(_, access)| access == Access::Write).expect("a task was moved");
    assert_eq!(touches[first_write..], [(0, Access::Write), (1, Access::Write)]);
}

#[test]
fn searches_of_small_cache_domains_may_look_at_more_of_them_with_the_boost() {
    let of = |llc_weight: u32, percent: u64| {
        let nr = nr_idle_scan(u64::from(llc_weight) * 1024 * percent / 100, llc_weight, 117);
        (nr, boosted_for_small_llc(nr, llc_weight))
    };
    assert_eq!([0, 45, 75, 85].map(|percent| of(16, percent)), [(16, 32), (11, 22), (3, 6), (0, 0)]);
    assert_eq!([0, 45, 75].map(|percent| of(8, percent)), [(8, 32), (5, 20), (1, 4)]);
    assert_eq!([45, 75].map(|percent| of(12, percent)), [(8, 21), (2, 5)], "rounded down");
    assert_eq!([45, 75].map(|percent| of(17, percent)), [(12, 12), (3, 3)], "not a small domain");
}
