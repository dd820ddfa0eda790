// SPDX-License-Identifier: GPL-2.0-or-later
//! Tests of the policy hook of wake-ups: when it is called, what it sees, what it costs, and how invalid
//! choices are handled.

use super::*;
use crate::interface::policy::{InvalidChoice, PolicyRequest};
use std::string::ToString;

/// Policy that selects the first idle CPU of the cache, from the previous one on; without one the kernel
/// decides.
fn first_idle(request: &WakeRequest<'_>, seen: Option<&CpuSample>) -> WakeChoice {
    match seen {
        None => WakeChoice::Sample(request.prev),
        Some(look) if look.is_idle => WakeChoice::Cpu(look.cpu),
        Some(look) => request.next_in_cache(look.cpu).map_or(WakeChoice::Kernel, WakeChoice::Sample),
    }
}

fn refusal(machine: &WakeupTestMachine) -> Option<InvalidChoice> {
    let refused = machine.policy.as_ref().expect("there is a policy").invalid_choice();
    refused.map(|(policy_request, refusal)| {
        assert_eq!(policy_request, PolicyRequest::Wakeup(machine.task));
        refusal.clone()
    })
}

#[test]
fn each_look_is_counted_as_one_of_the_kernels() {
    let mut machine = flat().busy(&[0, 1, 2]).policy(first_idle);
    let decision = machine.select_from(0, 1, WAKE);
    assert_eq!((decision.cpu, decision.rule, decision.nr_scanned), (CpuId(3), WakeRule::Policy, 3));
    assert_eq!(machine.work.get(KernelOp::ScanCpu), 3);
}

#[test]
fn looks_go_around_the_cache_once_and_leave_out_what_the_task_may_not_use() {
    let mut machine = flat().busy(&[0, 1, 2, 3]).policy(first_idle);
    machine.select_from(0, 2, WAKE);
    assert_eq!(
        machine.work.get(KernelOp::ScanCpu),
        4 + 4,
        "the hook samples all four CPUs, and so do the kernel's rules"
    );
    let mut machine = flat().busy(&[0, 1]).allow(&[0, 1]).policy(first_idle);
    assert_eq!(machine.select_from(0, 1, WAKE).rule, WakeRule::NothingIdle);
}

#[test]
fn what_it_leaves_to_the_kernel_is_as_without_it() {
    let busy = || flat().busy(&[0, 1]);
    let with = busy().policy(|_, _| WakeChoice::Kernel).select_from(0, 1, SYNC);
    assert_eq!(with, busy().select_from(0, 1, SYNC));
}

#[test]
fn a_task_that_is_new_or_has_no_choice_is_not_its_affair() {
    let refuses = || flat().policy(|_, _| WakeChoice::Fail("must not be called".to_string()));
    let mut new = refuses();
    assert_eq!(new.select(FORK).rule, WakeRule::SlowPathStays);
    let mut pinned = refuses().allow(&[2]);
    assert_eq!(pinned.select(WAKE).rule, WakeRule::PinnedToOne);
    assert_eq!((refusal(&new), refusal(&pinned)), (None, None));
}

#[test]
fn it_sees_the_wake_up_and_what_a_cpu_is_doing() {
    let mut machine = flat().busy(&[2]).nr_running(2, 5).load(2, 77).util(300).policy(|request, seen| match seen {
        None => {
            let WakeRequest { prev, waker, sync, in_interrupt, util, pid, .. } = *request;
            assert_eq!((prev, waker, sync, in_interrupt, util, pid), (CpuId(1), CpuId(0), true, false, 300, 1000));
            assert_eq!((request.allowed.weight(), request.cache.map(CpuMask::weight)), (4, Some(4)));
            assert!(request.may_use(CpuId(3)) && !request.may_use(CpuId(4)));
            WakeChoice::Sample(CpuId(2))
        }
        Some(look) => {
            assert_eq!((look.cpu, look.is_idle, look.nr_running, look.load), (CpuId(2), false, 5, 77));
            assert_eq!((look.capacity, look.capacity_orig), (1024, 1024));
            WakeChoice::Cpu(CpuId(3))
        }
    });
    assert_eq!(machine.select_from(0, 1, SYNC).cpu, CpuId(3));
}

#[test]
fn an_answer_that_cannot_be_used_is_remembered_and_the_kernels_rules_decide() {
    let cases: [(WakeupTestMachine, InvalidChoice); 4] = [
        (flat().policy(|_, _| WakeChoice::Cpu(CpuId(9))), InvalidChoice::NoSuchCpu { cpu: CpuId(9), nr_cpus: 4 }),
        (flat().allow(&[0, 1]).policy(|_, _| WakeChoice::Cpu(CpuId(3))), InvalidChoice::NotAllowed(CpuId(3))),
        (flat().policy(|_, _| WakeChoice::Sample(CpuId(0))), InvalidChoice::Endless(64)),
        (flat().policy(|_, _| WakeChoice::Fail("is tired".to_string())), InvalidChoice::Failed("is tired".to_string())),
    ];
    for (mut machine, expected) in cases {
        assert_eq!((machine.select(WAKE).rule, refusal(&machine)), (WakeRule::TargetIdle, Some(expected.clone())));
        assert_eq!(
            (machine.select(WAKE).rule, refusal(&machine)),
            (WakeRule::TargetIdle, Some(expected)),
            "the hook is not called again"
        );
    }
}

#[test]
fn a_cpu_that_is_offline_cannot_be_answered() {
    let mut machine = flat().policy(|_, _| WakeChoice::Cpu(CpuId(3)));
    machine.sched.hotplug.active.clear(CpuId(3));
    machine.select(WAKE);
    assert_eq!(refusal(&machine).map(|refusal| refusal.to_string()).as_deref(), Some("chose CPU 3, which is offline"));
}
