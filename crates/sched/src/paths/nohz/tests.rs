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
use crate::types::ids::{CpuId, GroupId};
use std::vec;

const BOTH: u32 = NOHZ_STATS_KICK | NOHZ_BALANCE_KICK;

impl TestMachine {
    /// Stops the ticks of these CPUs.
    fn tickless(&mut self, cpus: &[u32]) {
        for &cpu in cpus {
            self.sched.nohz_balance_enter_idle(CpuId(cpu));
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
        self.sched.domains.shared[self.sched.domains.cpus[0].sd_llc_shared.expect("a cache")].nr_busy_cpus
    }
}

#[test]
fn a_cpu_counts_as_tickless_from_its_idle_loop_until_its_next_tick() {
    let mut lab = flat(4);
    lab.sched.nohz_balance_enter_idle(CpuId(2));
    lab.sched.nohz_balance_enter_idle(CpuId(2));
    assert_eq!((lab.sched.nohz.nr_cpus, lab.nr_busy()), (1, 3));
    assert!(lab.sched.nohz.idle_cpus_mask.contains(CpuId(2)) && lab.sched.nohz.needs_update);
    assert!(lab.sched.nohz.cpus[2].has_blocked_load && lab.sched.nohz.has_blocked);
    assert!(lab.on(2, |sched, ctx| sched.nohz_balance_exit_idle(ctx, CpuId(2))));
    assert!(!lab.on(2, |sched, ctx| sched.nohz_balance_exit_idle(ctx, CpuId(2))));
    assert_eq!((lab.sched.nohz.nr_cpus, lab.nr_busy()), (0, 4));
}

/// Builds a machine for each reason. CPU 3 is tickless unless the reason excludes it; CPU 0 has the tick.
fn machine_for(reason: KickReason) -> TestMachine {
    let mut lab = match reason {
        KickReason::Misfit | KickReason::AsymCapacity => big_little(),
        _ => flat(4),
    };
    lab.task(0, &[0]);
    if reason != KickReason::NobodyTickless {
        lab.tickless(&[3]);
    }
    let shared = lab.sched.domains.cpus[0].sd_llc_shared.expect("a cache");
    match reason {
        KickReason::CpuIsIdle => lab.sched.rqs[0].idle_balance = true,
        KickReason::NobodyTickless | KickReason::AsymCapacity | KickReason::LlcBusy => {}
        KickReason::NotDue => lab.sched.nohz.next_balance = lab.sched.jiffies + 1,
        KickReason::ManyTasks => drop(lab.task(0, &[0])),
        KickReason::ReducedCapacity => lab.sched.rqs[0].cpu_capacity = 500,
        KickReason::AsymPacking => {
            // No CPU has a higher priority than CPU 0, so CPU 1 has the tick.
            lab.task(1, &[1]);
            let sd = lab.sd(1, 0);
            lab.sched.domains.domains[sd].flags.insert(SdFlags::ASYM_PACKING);
            lab.sched.domains.cpus[1].sd_asym_packing = Some(sd);
            lab.tickless(&[0]);
        }
        KickReason::Misfit => lab.sched.rqs[0].misfit_task_load = 1,
        KickReason::NoReason => lab.sched.domains.shared[shared].nr_busy_cpus = 1,
    }
    lab
}

#[test]
fn every_reason_to_kick_or_not_has_its_case() {
    for &reason in KickReason::ALL {
        let mut lab = machine_for(reason);
        let cpu = u32::from(reason == KickReason::AsymPacking);
        let decision = lab.kick(cpu);
        assert_eq!(decision.reason, reason);
        assert_eq!(decision.flags, if reason.requests_kick() { BOTH } else { 0 }, "{decision:?}");
        assert_eq!(decision.kicked, reason.requests_kick(), "{decision:?}");
        let kick = Effect::SendIpi { cpu: CpuId(3), kind: IpiKind::CallFunction };
        assert_eq!(lab.effects.contains(&kick), reason.requests_kick());
    }
}

#[test]
fn misfit_kick_asks_even_if_no_better_cpu_exists() {
    let mut lab = big_little();
    lab.task(2, &[2]);
    lab.tickless(&[3]);
    lab.sched.rqs[2].misfit_task_load = 1;
    assert_eq!(lab.kick(2).reason, KickReason::AsymCapacity);
    lab.sched.tunables.changes.misfit_kick = true;
    assert_eq!(lab.kick(2).reason, KickReason::Misfit);
}

#[test]
fn llc_kick_counts_busy_cpus_also_where_capacities_differ() {
    let mut lab = machine_for(KickReason::AsymCapacity);
    lab.sched.tunables.changes.llc_kick = true;
    assert_eq!(lab.kick(0).reason, KickReason::LlcBusy);
}

#[test]
fn a_kick_puts_off_the_next_one_by_a_jiffy() {
    let mut lab = machine_for(KickReason::LlcBusy);
    lab.sched.nohz.next_balance = 900;
    lab.kick(0);
    assert_eq!(lab.sched.nohz.next_balance, lab.sched.jiffies + 1);
    let mut lab = machine_for(KickReason::LlcBusy);
    lab.sched.nohz.next_balance = 900;
    lab.sched.tunables.changes.kick_next = true;
    lab.kick(0);
    assert_eq!(lab.sched.nohz.next_balance, 901);
}

#[test]
fn a_cpu_that_became_tickless_has_next_balance_brought_up_to_date() {
    let mut lab = machine_for(KickReason::NotDue);
    lab.sched.nohz.needs_update = true;
    assert_eq!(lab.kick(0).flags, NOHZ_NEXT_KICK);
    let mut lab = machine_for(KickReason::NotDue);
    lab.sched.nohz.needs_update = true;
    lab.sched.tunables.changes.kick_next = true;
    assert_eq!(lab.kick(0).flags, 0);
}

#[test]
fn blocked_load_is_asked_for_by_itself_when_its_time_has_passed() {
    let mut lab = machine_for(KickReason::NotDue);
    lab.sched.nohz.next_blocked = lab.sched.jiffies;
    assert_eq!(lab.kick(0).flags, 0);
    lab.sched.nohz.next_blocked -= 1;
    assert_eq!(lab.kick(0).flags, NOHZ_STATS_KICK);
}

#[test]
fn a_cpu_that_was_asked_is_not_interrupted_again() {
    let mut lab = machine_for(KickReason::LlcBusy);
    assert!(lab.kick(0).kicked);
    lab.sched.nohz.next_balance = lab.sched.jiffies;
    let decision = lab.kick(0);
    assert_eq!((decision.target, decision.kicked), (Some(CpuId(3)), false));
    assert_eq!(lab.sched.rqs[3].call_queue.len(), 1);
}

/// Ends newly-idle balancing of CPU 1 without work.
fn newidle(lab: &mut TestMachine) {
    lab.on(1, |sched, ctx| {
        if let Some(mut walk) = sched.nohz_newidle_balance(CpuId(1)) {
            while sched.step_nohz_idle_balance(ctx, &mut walk) != Step::Done(()) {}
        }
    });
}

#[test]
fn who_was_asked_balances_for_all_tickless_cpus_itself_last() {
    let mut lab = flat(4);
    for _ in 0..4 {
        lab.task(0, &[0, 1, 2, 3]);
    }
    lab.wait_ms(40);
    lab.tickless(&[1, 2, 3]);
    let decision = lab.kick(0);
    assert_eq!((decision.reason, decision.target), (KickReason::ManyTasks, Some(CpuId(1))));
    lab.heard = Default::default();
    lab.on(1, |sched, ctx| sched.handle_ipi(ctx, IpiKind::CallFunction));
    let passes: vec::Vec<_> = lab.heard.passes.iter().map(|pass| (pass.dst_cpu.0, pass.verdict)).collect();
    assert_eq!(passes[..2], [(2, BalanceVerdict::Moved), (3, BalanceVerdict::Moved)]);
    assert_eq!(passes[2].0, 1);
    assert!(lab.heard.passes.iter().all(|pass| pass.on == CpuId(1) && pass.idle == CpuIdleType::Idle));
    assert_eq!(lab.sched.rqs[1].nohz_flags, 0);
    // 32 ms are 8 ticks.
    assert_eq!(lab.sched.nohz.next_blocked, lab.sched.jiffies + 8);
}

#[test]
fn with_ilb_others_the_next_balancing_follows_the_other_tickless_cpus() {
    let next_balance = |ilb_others: u8, own: u64, other: u64| {
        let mut lab = flat(4);
        lab.task(0, &[0, 1, 2, 3]);
        lab.task(0, &[0]);
        lab.wait_ms(40);
        lab.tickless(&[1, 2]);
        lab.sched.tunables.changes.ilb_others = ilb_others;
        lab.kick(0);
        let jiffies = lab.sched.jiffies;
        lab.sched.nohz.next_balance = jiffies + 500;
        lab.sched.nohz.cpus[1].next_balance = jiffies + own;
        lab.sched.nohz.cpus[2].next_balance = jiffies + other;
        for cpu in [1, 2] {
            let chain: vec::Vec<_> = lab.sched.domains.chain(CpuId(cpu)).collect();
            for sd in chain {
                lab.sched.domains.domains[sd].last_balance = jiffies;
                lab.sched.domains.domains[sd].balance_interval = 40;
            }
        }
        lab.on(1, |sched, ctx| sched.handle_ipi(ctx, IpiKind::CallFunction));
        lab.sched.nohz.next_balance - jiffies
    };
    // CPU 1 is due first, which counts since 5.12. Before, it balances its own domains at once; their
    // interval of 40 ms (10 ticks) gives its next time. Since 5.9 that shortens the time recorded for the
    // other CPUs; before, their time is written last.
    assert_eq!([0, 1, 2].map(|ilb_others| next_balance(ilb_others, 5, 90)), [5, 10, 90]);
    assert_eq!([1, 2].map(|ilb_others| next_balance(ilb_others, 5, 7)), [7, 7]);
}

#[test]
fn before_5_9_a_walk_that_is_broken_off_writes_what_it_has_noted() {
    let next_balance = |ilb_others: u8| {
        let mut lab = flat(4);
        lab.tickless(&[1, 2, 3]);
        lab.sched.tunables.changes.ilb_others = ilb_others;
        lab.sched.nohz.next_balance = 5000;
        lab.sched.nohz.cpus[2].next_balance = 2000;
        let mut walk = lab.sched.begin_nohz_idle_balance(CpuId(1), NOHZ_STATS_KICK, BlockedCaller::NohzKick);
        // The iteration yields twice for CPU 2, whose blocked load is updated; then CPU 1 gets work.
        lab.sched.jiffies += 1;
        for _ in 0..2 {
            lab.on(1, |sched, ctx| assert_ne!(sched.step_nohz_idle_balance(ctx, &mut walk), Step::Done(())));
        }
        lab.task(1, &[1]);
        lab.sched.rqs[1].need_resched = true;
        lab.on(1, |sched, ctx| while sched.step_nohz_idle_balance(ctx, &mut walk) != Step::Done(()) {});
        lab.sched.nohz.next_balance
    };
    assert_eq!([1, 2].map(next_balance), [5000, 2000]);
}

#[test]
fn with_ilb_first_nobody_is_asked_if_the_first_tickless_cpu_runs_a_task() {
    let target = |ilb_first: bool| {
        let mut lab = machine_for(KickReason::LlcBusy);
        lab.task(1, &[1]);
        lab.tickless(&[1]);
        lab.sched.tunables.changes.ilb_first = ilb_first;
        lab.kick(0).target
    };
    assert_eq!((target(false), target(true)), (Some(CpuId(3)), None));
    let mut lab = machine_for(KickReason::LlcBusy);
    lab.sched.tunables.changes.ilb_first = true;
    assert_eq!(lab.kick(0).target, Some(CpuId(3)));
}

#[test]
fn with_kick_stats_also_a_kick_for_blocked_load_puts_off_the_next_balancing() {
    for (kick_stats, kick_next, expected) in [(false, true, 1500), (true, true, 1501), (true, false, 1001)] {
        let mut lab = machine_for(KickReason::NotDue);
        lab.sched.nohz.next_blocked -= 1;
        lab.sched.nohz.next_balance = 1500;
        (lab.sched.tunables.changes.kick_stats, lab.sched.tunables.changes.kick_next) = (kick_stats, kick_next);
        assert_eq!(lab.kick(0).flags, NOHZ_STATS_KICK);
        assert_eq!(lab.sched.nohz.next_balance, expected);
    }
}

#[test]
fn cpus_that_tick_at_one_instant_see_each_other_as_busy_where_kernel_code_takes_time() {
    let reasons = |pauses: bool| {
        let mut lab = flat(4);
        lab.tickless(&[0, 1, 3]);
        lab.task(0, &[0]);
        lab.task(1, &[1]);
        // No other CPU counts as busy.
        let shared = lab.sched.domains.cpus[0].sd_llc_shared.expect("a cache");
        lab.sched.domains.shared[shared].nr_busy_cpus = 0;
        lab.sched.set_yield_mode(if pauses { YieldMode::On { cpus_per_phase: 4 } } else { YieldMode::Off });
        lab.heard = Default::default();
        for cpu in [0, 1] {
            lab.on(cpu, |sched, ctx| sched.finish_tick(ctx));
        }
        while let Some(cpu) = [0, 1].into_iter().find(|&cpu| lab.sched.yielded_path(CpuId(cpu)).is_some()) {
            lab.on(cpu, |sched, ctx| sched.handle_resume(ctx));
        }
        lab.heard.kicks.iter().map(|kick| kick.reason).collect::<vec::Vec<_>>()
    };
    assert_eq!(reasons(true)[0], KickReason::LlcBusy);
    assert_eq!(reasons(false)[0], KickReason::NoReason);
}

#[test]
fn who_was_asked_but_got_work_leaves_it() {
    let mut lab = machine_for(KickReason::LlcBusy);
    lab.kick(0);
    lab.task(3, &[3]);
    lab.on(3, |sched, ctx| sched.handle_ipi(ctx, IpiKind::CallFunction));
    assert!(lab.heard.passes.is_empty());
    assert_eq!((lab.sched.rqs[3].nohz_flags, lab.sched.rqs[3].nohz_idle_balance), (0, 0));
}

#[test]
fn a_cpu_that_found_no_work_updates_blocked_load_in_its_idle_loop() {
    let mut lab = flat(4);
    lab.tickless(&[2]);
    lab.sched.nohz.next_blocked = lab.sched.jiffies;
    newidle(&mut lab);
    assert_eq!(lab.sched.rqs[1].nohz_flags, NOHZ_NEWILB_KICK);
    lab.wait_ms(4);
    lab.on(1, |sched, ctx| sched.nohz_run_idle_balance(ctx, CpuId(1)));
    assert_eq!(lab.sched.rqs[1].nohz_flags, 0);
    assert!(!lab.sched.nohz.has_blocked && !lab.sched.nohz.cpus[2].has_blocked_load);
}

#[test]
fn newidle_blocked_updates_blocked_load_before_the_cpu_is_idle() {
    let mut lab = flat(4);
    lab.tickless(&[2]);
    lab.sched.nohz.next_blocked = lab.sched.jiffies;
    lab.wait_ms(4);
    lab.sched.tunables.changes.newidle_blocked = true;
    newidle(&mut lab);
    assert_eq!(lab.sched.rqs[1].nohz_flags, 0);
    assert!(!lab.sched.nohz.has_blocked);
}

#[test]
fn a_short_idle_time_is_not_spent_on_blocked_load() {
    let mut lab = flat(4);
    lab.tickless(&[2]);
    lab.sched.nohz.next_blocked = lab.sched.jiffies;
    lab.sched.rqs[1].avg_idle = 499_999;
    newidle(&mut lab);
    assert_eq!(lab.sched.rqs[1].nohz_flags, 0);
}

#[test]
fn blocked_load_of_a_cpu_is_updated_once_in_a_tick_or_less_often() {
    let mut lab = flat(2);
    lab.tickless(&[1]);
    let update = |lab: &mut TestMachine| {
        let has_blocked = lab.on(0, |sched, ctx| sched.update_nohz_stats(ctx, CpuId(1), BlockedCaller::NohzKick));
        (has_blocked, lab.sched.nohz.cpus[1].last_blocked_load_update_tick)
    };
    // Leave something to decay.
    lab.sched.cfs_rqs[1].avg.last_update_time = lab.now.0;
    lab.sched.cfs_rqs[1].avg.util_avg = 500;
    lab.sched.cfs_rqs[1].avg.util_sum = 500 * 47_000;
    lab.sched.list_add_leaf_cfs_rq(crate::types::ids::CfsRqId(1));
    lab.sched.jiffies = 1001;
    assert_eq!(update(&mut lab), (true, 1001));
    assert_eq!(update(&mut lab), (true, 1001));
    lab.sched.tunables.changes.blocked_limit = 2;
    for jiffies in [1002, 1003] {
        lab.sched.jiffies = jiffies;
        assert_eq!(update(&mut lab), (true, 1001));
    }
    lab.sched.jiffies = 1004;
    assert_eq!(update(&mut lab), (true, 1004));
}

#[test]
fn a_cfs_rq_leaves_the_list_when_it_and_its_children_have_decayed() {
    let mut lab = flat(2);
    let group = lab.on(0, |sched, ctx| sched.create_group(ctx, GroupId::ROOT));
    let below = lab.sched.cfs_rq_of_group(group, CpuId(1));
    lab.sched.cfs_rqs[below.index()].avg.last_update_time = lab.now.0;
    lab.sched.cfs_rqs[below.index()].avg.load_sum = 1;
    lab.sched.list_add_leaf_cfs_rq(below);
    lab.sched.list_add_leaf_cfs_rq(crate::types::ids::CfsRqId(1));
    lab.on(1, |sched, ctx| sched.update_blocked_averages(ctx, CpuId(1), BlockedCaller::Softirq));
    assert_eq!(lab.sched.first_leaf_cfs_rq(CpuId(1)), Some(below));
    lab.sched.cfs_rqs[below.index()].avg.load_sum = 0;
    lab.on(1, |sched, ctx| sched.update_blocked_averages(ctx, CpuId(1), BlockedCaller::Softirq));
    // The group's entity has left load in the root cfs_rq, which decays in some seconds.
    assert_eq!(lab.sched.first_leaf_cfs_rq(CpuId(1)), Some(crate::types::ids::CfsRqId(1)));
    lab.wait_ms(4000);
    lab.on(1, |sched, ctx| sched.update_blocked_averages(ctx, CpuId(1), BlockedCaller::Softirq));
    assert_eq!(lab.sched.first_leaf_cfs_rq(CpuId(1)), None);
}
