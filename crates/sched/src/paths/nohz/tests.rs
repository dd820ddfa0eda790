// SPDX-License-Identifier: GPL-2.0-or-later
//! Tests of each rule of NOHZ idle balancing.

use crate::interface::balance::{
    BalanceVerdict, KickDecision, KickReason, NOHZ_BALANCE_KICK, NOHZ_NEWILB_KICK, NOHZ_NEXT_KICK, NOHZ_STATS_KICK,
};
use crate::interface::blocked::BlockedCaller;
use crate::interface::ctx::{Effect, IpiKind};
use crate::paths::resumable::{Step, YieldMode};
use crate::state::topology::SdFlags;
use crate::test_machine::{TestMachine, big_little, flat};
use crate::types::idle_type::CpuIdleType;
use crate::types::ids::{CfsRqId, CpuId, GroupId};
use std::vec;

const BOTH: u32 = NOHZ_STATS_KICK | NOHZ_BALANCE_KICK;

impl TestMachine {
    /// Stops the ticks of these CPUs.
    fn tickless(&mut self, cpus: &[u32]) {
        for &cpu in cpus {
            self.sched
                .state
                .nohz
                .nohz_balance_enter_idle(&mut self.sched.state.domains, &mut self.sched.state.rqs[CpuId(cpu)]);
        }
        self.sched.nohz.needs_update = false;
    }

    /// Runs the kick decision of a tick of `cpu`.
    fn kick(&mut self, cpu: u32) -> KickDecision {
        self.heard = Default::default();
        self.on(cpu, |sched, ctx| sched.nohz_balancer_kick(ctx));
        self.heard.kicks[0]
    }

    fn nr_busy(&self) -> i32 {
        self.sched.domains.shared[self.sched.domains.cpus[CpuId(0)].sd_llc_shared.expect("a cache")].nr_busy_cpus
    }
}

#[test]
fn a_cpu_counts_as_tickless_from_its_idle_loop_until_its_next_tick() {
    let mut machine = flat(4);
    machine
        .sched
        .state
        .nohz
        .nohz_balance_enter_idle(&mut machine.sched.state.domains, &mut machine.sched.state.rqs[CpuId(2)]);
    machine
        .sched
        .state
        .nohz
        .nohz_balance_enter_idle(&mut machine.sched.state.domains, &mut machine.sched.state.rqs[CpuId(2)]);
    assert_eq!((machine.sched.nohz.nr_cpus, machine.nr_busy()), (1, 3));
    assert!(machine.sched.nohz.idle_cpus_mask.contains(CpuId(2)) && machine.sched.nohz.needs_update);
    assert!(machine.sched.nohz.cpus[CpuId(2)].has_blocked_load && machine.sched.nohz.has_blocked);
    assert!(machine.on(2, |sched, ctx| sched.state.nohz.nohz_balance_exit_idle(
        ctx,
        &mut sched.state.domains,
        &mut sched.state.rqs[CpuId(2)]
    )));
    assert!(!machine.on(2, |sched, ctx| sched.state.nohz.nohz_balance_exit_idle(
        ctx,
        &mut sched.state.domains,
        &mut sched.state.rqs[CpuId(2)]
    )));
    assert_eq!((machine.sched.nohz.nr_cpus, machine.nr_busy()), (0, 4));
}

/// Builds a machine for each reason. CPU 3 is tickless unless the reason excludes it; CPU 0 has the tick.
fn machine_for(reason: KickReason) -> TestMachine {
    let mut machine = match reason {
        KickReason::Misfit | KickReason::AsymCapacity => big_little(),
        _ => flat(4),
    };
    machine.task(0, &[0]);
    if reason != KickReason::NobodyTickless {
        machine.tickless(&[3]);
    }
    let shared = machine.sched.domains.cpus[CpuId(0)].sd_llc_shared.expect("a cache");
    match reason {
        KickReason::CpuIsIdle => machine.sched.rqs[CpuId(0)].idle_balance = true,
        KickReason::NobodyTickless | KickReason::AsymCapacity | KickReason::LlcBusy => {}
        KickReason::NotDue => machine.sched.nohz.next_balance = machine.sched.jiffies + 1,
        KickReason::ManyTasks => drop(machine.task(0, &[0])),
        KickReason::ReducedCapacity => machine.sched.rqs[CpuId(0)].cpu_capacity = 500,
        KickReason::AsymPacking => {
            // No CPU has a higher priority than CPU 0, so CPU 1 has the tick.
            machine.task(1, &[1]);
            let sd = machine.sd(1, 0);
            machine.sched.domains.domains[sd].flags.insert(SdFlags::ASYM_PACKING);
            machine.sched.domains.cpus[CpuId(1)].sd_asym_packing = Some(sd);
            machine.tickless(&[0]);
        }
        KickReason::Misfit => machine.sched.rqs[CpuId(0)].misfit_task_load = 1,
        KickReason::NoReason => machine.sched.domains.shared[shared].nr_busy_cpus = 1,
    }
    machine
}

#[test]
fn every_reason_to_kick_or_not_has_its_case() {
    for &reason in KickReason::ALL {
        let mut machine = machine_for(reason);
        let cpu = u32::from(reason == KickReason::AsymPacking);
        let decision = machine.kick(cpu);
        assert_eq!(decision.reason, reason);
        assert_eq!(decision.flags, if reason.requests_kick() { BOTH } else { 0 }, "{decision:?}");
        assert_eq!(decision.kicked, reason.requests_kick(), "{decision:?}");
        let kick = Effect::SendIpi { cpu: CpuId(3), kind: IpiKind::CallFunction };
        assert_eq!(machine.effects.contains(&kick), reason.requests_kick());
    }
}

#[test]
fn misfit_kick_asks_even_if_no_better_cpu_exists() {
    let mut machine = big_little();
    machine.task(2, &[2]);
    machine.tickless(&[3]);
    machine.sched.rqs[CpuId(2)].misfit_task_load = 1;
    assert_eq!(machine.kick(2).reason, KickReason::AsymCapacity);
    machine.sched.tunables.changes.misfit_kick = true;
    assert_eq!(machine.kick(2).reason, KickReason::Misfit);
}

#[test]
fn llc_kick_counts_busy_cpus_also_where_capacities_differ() {
    let mut machine = machine_for(KickReason::AsymCapacity);
    machine.sched.tunables.changes.llc_kick = true;
    assert_eq!(machine.kick(0).reason, KickReason::LlcBusy);
}

#[test]
fn a_kick_puts_off_the_next_one_by_a_jiffy() {
    let mut machine = machine_for(KickReason::LlcBusy);
    machine.sched.nohz.next_balance = 900;
    machine.kick(0);
    assert_eq!(machine.sched.nohz.next_balance, machine.sched.jiffies + 1);
    let mut machine = machine_for(KickReason::LlcBusy);
    machine.sched.nohz.next_balance = 900;
    machine.sched.tunables.changes.kick_next = true;
    machine.kick(0);
    assert_eq!(machine.sched.nohz.next_balance, 901);
}

#[test]
fn a_cpu_that_became_tickless_has_next_balance_brought_up_to_date() {
    let mut machine = machine_for(KickReason::NotDue);
    machine.sched.nohz.needs_update = true;
    assert_eq!(machine.kick(0).flags, NOHZ_NEXT_KICK);
    let mut machine = machine_for(KickReason::NotDue);
    machine.sched.nohz.needs_update = true;
    machine.sched.tunables.changes.kick_next = true;
    assert_eq!(machine.kick(0).flags, 0);
}

#[test]
fn blocked_load_is_asked_for_by_itself_when_its_time_has_passed() {
    let mut machine = machine_for(KickReason::NotDue);
    machine.sched.nohz.next_blocked = machine.sched.jiffies;
    assert_eq!(machine.kick(0).flags, 0);
    machine.sched.nohz.next_blocked -= 1;
    assert_eq!(machine.kick(0).flags, NOHZ_STATS_KICK);
}

#[test]
fn a_cpu_that_was_asked_is_not_interrupted_again() {
    let mut machine = machine_for(KickReason::LlcBusy);
    assert!(machine.kick(0).kicked);
    machine.sched.nohz.next_balance = machine.sched.jiffies;
    let decision = machine.kick(0);
    assert_eq!((decision.target, decision.kicked), (Some(CpuId(3)), false));
    assert_eq!(machine.sched.rqs[CpuId(3)].call_queue.len(), 1);
}

/// Ends newly-idle balancing of CPU 1 without work.
fn newidle(machine: &mut TestMachine) {
    machine.on(1, |sched, ctx| {
        if let Some(mut path) = sched.nohz_newidle_balance(CpuId(1)) {
            while sched.step_nohz_idle_balance(ctx, &mut path) != Step::Done(()) {}
        }
    });
}

#[test]
fn who_was_asked_balances_for_all_tickless_cpus_itself_last() {
    let mut machine = flat(4);
    for _ in 0..4 {
        machine.task(0, &[0, 1, 2, 3]);
    }
    machine.wait_ms(40);
    machine.tickless(&[1, 2, 3]);
    let decision = machine.kick(0);
    assert_eq!((decision.reason, decision.target), (KickReason::ManyTasks, Some(CpuId(1))));
    machine.heard = Default::default();
    machine.on(1, |sched, ctx| sched.handle_ipi(ctx, IpiKind::CallFunction));
    let passes: vec::Vec<_> = machine.heard.passes.iter().map(|pass| (pass.dst_cpu.0, pass.verdict)).collect();
    assert_eq!(passes[..2], [(2, BalanceVerdict::Moved), (3, BalanceVerdict::Moved)]);
    assert_eq!(passes[2].0, 1);
    assert!(machine.heard.passes.iter().all(|pass| pass.on == CpuId(1) && pass.idle == CpuIdleType::Idle));
    assert_eq!(machine.sched.rqs[CpuId(1)].nohz_flags, 0);
    // 32 ms are 8 ticks.
    assert_eq!(machine.sched.nohz.next_blocked, machine.sched.jiffies + 8);
}

#[test]
fn with_ilb_others_the_next_balancing_follows_the_other_tickless_cpus() {
    let next_balance = |ilb_others: u8, own: u64, other: u64| {
        let mut machine = flat(4);
        machine.task(0, &[0, 1, 2, 3]);
        machine.task(0, &[0]);
        machine.wait_ms(40);
        machine.tickless(&[1, 2]);
        machine.sched.tunables.changes.ilb_others = ilb_others;
        machine.kick(0);
        let jiffies = machine.sched.jiffies;
        machine.sched.nohz.next_balance = jiffies + 500;
        machine.sched.nohz.cpus[CpuId(1)].next_balance = jiffies + own;
        machine.sched.nohz.cpus[CpuId(2)].next_balance = jiffies + other;
        for cpu in [1, 2] {
            let chain: vec::Vec<_> = machine.sched.domains.chain(CpuId(cpu)).collect();
            for sd in chain {
                machine.sched.domains.domains[sd].last_balance = jiffies;
                machine.sched.domains.domains[sd].balance_interval = 40;
            }
        }
        machine.on(1, |sched, ctx| sched.handle_ipi(ctx, IpiKind::CallFunction));
        machine.sched.nohz.next_balance - jiffies
    };
    // CPU 1 is due first, which counts since 5.13. Before, it balances its own domains at once; their
    // interval of 40 ms (10 ticks) gives its next time. Since 5.9 that shortens the time recorded for the
    // other CPUs; before, their time is written last.
    assert_eq!([0, 1, 2].map(|ilb_others| next_balance(ilb_others, 5, 90)), [5, 10, 90]);
    assert_eq!([1, 2].map(|ilb_others| next_balance(ilb_others, 5, 7)), [7, 7]);
}

#[test]
fn before_5_9_an_aborted_iteration_writes_the_due_time_found_so_far() {
    let next_balance = |ilb_others: u8| {
        let mut machine = flat(4);
        machine.tickless(&[1, 2, 3]);
        machine.sched.set_yield_mode(YieldMode::On { cpus_per_phase: 4 });
        machine.sched.tunables.changes.ilb_others = ilb_others;
        machine.sched.nohz.next_balance = 5000;
        machine.sched.nohz.cpus[CpuId(2)].next_balance = 2000;
        let mut path = machine.sched.begin_nohz_idle_balance(CpuId(1), NOHZ_STATS_KICK, BlockedCaller::NohzKick);
        // The iteration yields twice for CPU 2, whose blocked load is updated; then CPU 1 gets work.
        machine.sched.jiffies += 1;
        for _ in 0..2 {
            machine.on(1, |sched, ctx| assert_ne!(sched.step_nohz_idle_balance(ctx, &mut path), Step::Done(())));
        }
        machine.sched.set_yield_mode(YieldMode::Off);
        machine.task(1, &[1]);
        machine.sched.rqs[CpuId(1)].need_resched = true;
        machine.on(1, |sched, ctx| while sched.step_nohz_idle_balance(ctx, &mut path) != Step::Done(()) {});
        machine.sched.nohz.next_balance
    };
    assert_eq!([1, 2].map(next_balance), [5000, 2000]);
}

#[test]
fn with_ilb_first_no_cpu_is_kicked_if_the_first_tickless_cpu_runs_a_task() {
    let target = |ilb_first: bool| {
        let mut machine = machine_for(KickReason::LlcBusy);
        machine.task(1, &[1]);
        machine.tickless(&[1]);
        machine.sched.tunables.changes.ilb_first = ilb_first;
        machine.kick(0).target
    };
    assert_eq!((target(false), target(true)), (Some(CpuId(3)), None));
    let mut machine = machine_for(KickReason::LlcBusy);
    machine.sched.tunables.changes.ilb_first = true;
    assert_eq!(machine.kick(0).target, Some(CpuId(3)));
}

#[test]
fn with_kick_stats_also_a_kick_for_blocked_load_puts_off_the_next_balancing() {
    for (kick_stats, kick_next, expected) in [(false, true, 1500), (true, true, 1501), (true, false, 1001)] {
        let mut machine = machine_for(KickReason::NotDue);
        machine.sched.nohz.next_blocked -= 1;
        machine.sched.nohz.next_balance = 1500;
        (machine.sched.tunables.changes.kick_stats, machine.sched.tunables.changes.kick_next) = (kick_stats, kick_next);
        assert_eq!(machine.kick(0).flags, NOHZ_STATS_KICK);
        assert_eq!(machine.sched.nohz.next_balance, expected);
    }
}

#[test]
fn cpus_that_tick_at_one_instant_see_each_other_as_busy_where_kernel_code_takes_time() {
    let reasons = |pauses: bool| {
        let mut machine = flat(4);
        machine.tickless(&[0, 1, 3]);
        machine.task(0, &[0]);
        machine.task(1, &[1]);
        // No other CPU counts as busy.
        let shared = machine.sched.domains.cpus[CpuId(0)].sd_llc_shared.expect("a cache");
        machine.sched.domains.shared[shared].nr_busy_cpus = 0;
        machine.sched.set_yield_mode(if pauses { YieldMode::On { cpus_per_phase: 4 } } else { YieldMode::Off });
        machine.heard = Default::default();
        for cpu in [0, 1] {
            machine.on(cpu, |sched, ctx| sched.finish_tick(ctx));
        }
        while let Some(cpu) = [0, 1].into_iter().find(|&cpu| machine.sched.yielded_path(CpuId(cpu)).is_some()) {
            machine.on(cpu, |sched, ctx| sched.handle_resume(ctx));
        }
        machine.heard.kicks.iter().map(|kick| kick.reason).collect::<vec::Vec<_>>()
    };
    assert_eq!(reasons(true)[0], KickReason::LlcBusy);
    assert_eq!(reasons(false)[0], KickReason::NoReason);
}

#[test]
fn who_was_asked_but_got_work_leaves_it() {
    let mut machine = machine_for(KickReason::LlcBusy);
    machine.kick(0);
    machine.task(3, &[3]);
    machine.on(3, |sched, ctx| sched.handle_ipi(ctx, IpiKind::CallFunction));
    assert!(machine.heard.passes.is_empty());
    assert_eq!((machine.sched.rqs[CpuId(3)].nohz_flags, machine.sched.rqs[CpuId(3)].nohz_idle_balance), (0, 0));
}

#[test]
fn a_cpu_that_found_no_work_updates_blocked_load_in_its_idle_loop() {
    let mut machine = flat(4);
    machine.tickless(&[2]);
    machine.sched.nohz.next_blocked = machine.sched.jiffies;
    newidle(&mut machine);
    assert_eq!(machine.sched.rqs[CpuId(1)].nohz_flags, NOHZ_NEWILB_KICK);
    machine.wait_ms(4);
    machine.on(1, |sched, ctx| sched.nohz_run_idle_balance(ctx, CpuId(1)));
    assert_eq!(machine.sched.rqs[CpuId(1)].nohz_flags, 0);
    assert!(!machine.sched.nohz.has_blocked && !machine.sched.nohz.cpus[CpuId(2)].has_blocked_load);
}

#[test]
fn newidle_blocked_updates_blocked_load_before_the_cpu_is_idle() {
    let mut machine = flat(4);
    machine.tickless(&[2]);
    machine.sched.nohz.next_blocked = machine.sched.jiffies;
    machine.wait_ms(4);
    machine.sched.tunables.changes.newidle_blocked = true;
    newidle(&mut machine);
    assert_eq!(machine.sched.rqs[CpuId(1)].nohz_flags, 0);
    assert!(!machine.sched.nohz.has_blocked);
}

#[test]
fn a_short_idle_time_is_not_spent_on_blocked_load() {
    let mut machine = flat(4);
    machine.tickless(&[2]);
    machine.sched.nohz.next_blocked = machine.sched.jiffies;
    machine.sched.rqs[CpuId(1)].avg_idle = 499_999;
    newidle(&mut machine);
    assert_eq!(machine.sched.rqs[CpuId(1)].nohz_flags, 0);
}

#[test]
fn blocked_load_of_a_cpu_is_updated_once_in_a_tick_or_less_often() {
    let mut machine = flat(2);
    machine.tickless(&[1]);
    let update = |machine: &mut TestMachine| {
        let has_blocked = machine.on(0, |sched, ctx| sched.update_nohz_stats(ctx, CpuId(1), BlockedCaller::NohzKick));
        (has_blocked, machine.sched.nohz.cpus[CpuId(1)].last_blocked_load_update_tick)
    };
    // Leave something to decay.
    machine.sched.fair.cfs_rqs[CfsRqId::root(CpuId(1))].avg.last_update_time = machine.now.0;
    machine.sched.fair.cfs_rqs[CfsRqId::root(CpuId(1))].avg.util_avg = 500;
    machine.sched.fair.cfs_rqs[CfsRqId::root(CpuId(1))].avg.util_sum = 500 * 47_000;
    machine.sched.state.fair.list_add_leaf_cfs_rq(&mut machine.sched.state.rqs[CpuId(1)], CfsRqId(1));
    machine.sched.jiffies = 1001;
    assert_eq!(update(&mut machine), (true, 1001));
    assert_eq!(update(&mut machine), (true, 1001));
    machine.sched.tunables.changes.blocked_limit = 2;
    for jiffies in [1002, 1003] {
        machine.sched.jiffies = jiffies;
        assert_eq!(update(&mut machine), (true, 1001));
    }
    machine.sched.jiffies = 1004;
    assert_eq!(update(&mut machine), (true, 1004));
}

#[test]
fn a_cfs_rq_leaves_the_list_when_it_and_its_children_have_decayed() {
    let mut machine = flat(2);
    let group = machine.on(0, |sched, ctx| sched.create_group(ctx, GroupId::ROOT));
    let below = machine.sched.fair.cfs_rq_of_group(group, CpuId(1));
    machine.sched.fair.cfs_rqs[below].avg.last_update_time = machine.now.0;
    machine.sched.fair.cfs_rqs[below].avg.load_sum = 1;
    machine.sched.state.fair.list_add_leaf_cfs_rq(&mut machine.sched.state.rqs[CpuId(1)], below);
    machine.sched.state.fair.list_add_leaf_cfs_rq(&mut machine.sched.state.rqs[CpuId(1)], CfsRqId(1));
    machine.on(1, |sched, ctx| sched.update_blocked_averages(ctx, CpuId(1), BlockedCaller::Softirq));
    assert_eq!(machine.sched.rqs[CpuId(1)].leaf_list.first(), Some(below));
    machine.sched.fair.cfs_rqs[below].avg.load_sum = 0;
    machine.on(1, |sched, ctx| sched.update_blocked_averages(ctx, CpuId(1), BlockedCaller::Softirq));
    // The group's entity has left load in the root cfs_rq, which decays in some seconds.
    assert_eq!(machine.sched.rqs[CpuId(1)].leaf_list.first(), Some(CfsRqId(1)));
    machine.wait_ms(4000);
    machine.on(1, |sched, ctx| sched.update_blocked_averages(ctx, CpuId(1), BlockedCaller::Softirq));
    assert_eq!(machine.sched.rqs[CpuId(1)].leaf_list.first(), None);
}
