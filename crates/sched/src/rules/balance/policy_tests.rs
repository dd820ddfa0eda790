// SPDX-License-Identifier: GPL-2.0-or-later
//! Tests of the policy hook of load balancing: when it is called, what it sees, what it costs, and how
//! invalid choices are handled.

use crate::interface::balance::{BalanceVerdict, BalancedReason, MigrationType};
use crate::interface::policy::{
    BalanceChoice, BalanceRequest, CpuSample, InvalidChoice, PolicyHook, PolicyRequest, PolicyScope, PolicySlot,
    WakeChoice, WakeRequest,
};
use crate::test_machine::{TestMachine, flat};
use crate::types::idle_type::CpuIdleType;
use crate::types::ids::CpuId;
use crate::work::KernelOp;
use std::boxed::Box;
use std::string::ToString;

type BalancePolicy = fn(&BalanceRequest<'_>, Option<&CpuSample>) -> BalanceChoice;

struct TestBalancePolicy(BalancePolicy);

impl PolicyHook for TestBalancePolicy {
    fn scope(&self) -> PolicyScope {
        PolicyScope { balancing: true, ..PolicyScope::default() }
    }

    fn select(&mut self, _: &WakeRequest<'_>, _: Option<&CpuSample>) -> WakeChoice {
        panic!("the policy's scope excludes wake-ups")
    }

    fn balance(&mut self, request: &BalanceRequest<'_>, seen: Option<&CpuSample>) -> BalanceChoice {
        (self.0)(request, seen)
    }
}

/// Builds four CPUs that share a cache. CPUs 0 and 1 have three tasks each, which may run anywhere.
fn crowded(policy: BalancePolicy) -> TestMachine {
    let mut machine = flat(4);
    for cpu in [0, 1] {
        for _ in 0..3 {
            machine.task(cpu, &[0, 1, 2, 3]);
        }
    }
    machine.wait_ms(10);
    machine.work = Default::default();
    machine.policy = Some(PolicySlot::new(Box::new(TestBalancePolicy(policy))));
    machine
}

fn refusal(machine: &TestMachine) -> Option<InvalidChoice> {
    let refused = machine.policy.as_ref().expect("there is a policy").invalid_choice();
    refused.map(|(policy_request, refusal)| {
        assert_eq!(policy_request, PolicyRequest::Balancing(CpuId(3)));
        refusal.clone()
    })
}

#[test]
fn what_it_leaves_to_the_kernel_is_as_without_it() {
    let mut without = crowded(|_, _| BalanceChoice::Kernel);
    without.policy = None;
    let expected = without.pass(3, 0, CpuIdleType::Idle);
    let mut machine = crowded(|request, _| {
        assert!(request.kernel.is_ok() && request.cpu == CpuId(3) && request.level == 0);
        BalanceChoice::Kernel
    });
    assert_eq!(machine.pass(3, 0, CpuIdleType::Idle), expected);
    assert_eq!(machine.work.get(KernelOp::ScanCpu), without.work.get(KernelOp::ScanCpu));
    assert_eq!(expected.1.verdict, BalanceVerdict::Moved);
}

#[test]
fn what_it_wants_left_alone_counts_as_balanced() {
    let mut machine = crowded(|_, _| BalanceChoice::Nothing);
    let (result, decision) = machine.pass(3, 0, CpuIdleType::Idle);
    assert_eq!((decision.verdict, decision.balanced), (BalanceVerdict::NoBusiestGroup, Some(BalancedReason::Policy)));
    assert!(result.nr_moved == 0 && result.continue_balancing);
    assert_eq!(machine.counted(), ["lb_count", "lb_nobusyg", "lb_balanced"]);
    let mut machine = crowded(|_, _| BalanceChoice::Pull { from: CpuId(0), tasks: 0 });
    assert_eq!(machine.pass(3, 0, CpuIdleType::Idle).1.balanced, Some(BalancedReason::Policy), "0 tasks are Nothing");
}

#[test]
fn it_says_from_where_and_how_many() {
    let from_both = [0, 1].map(|from| {
        let mut machine = crowded(if from == 0 {
            |_, _| BalanceChoice::Pull { from: CpuId(0), tasks: 2 }
        } else {
            |_, _| BalanceChoice::Pull { from: CpuId(1), tasks: 1 }
        });
        let (result, decision) = machine.pass(3, 0, CpuIdleType::Idle);
        assert_eq!(decision.busiest_queue, Some(CpuId(from)));
        assert_eq!((decision.verdict, decision.migration), (BalanceVerdict::Moved, Some(MigrationType::Task)));
        result.nr_moved
    });
    assert_eq!(from_both, [2, 1]);
}

#[test]
fn each_look_is_paid_and_shows_the_cpu() {
    let mut machine = crowded(|request, seen| match seen {
        None => BalanceChoice::Sample(CpuId(0)),
        Some(look) if look.cpu == CpuId(0) => {
            assert_eq!((look.nr_running, look.is_idle, request.may_pull_from(look.cpu)), (3, false, true));
            BalanceChoice::Sample(CpuId(2))
        }
        Some(look) => {
            assert_eq!((look.cpu, look.nr_running, look.is_idle), (CpuId(2), 0, true));
            BalanceChoice::Nothing
        }
    });
    assert_eq!(machine.pass(3, 0, CpuIdleType::Idle).1.balanced, Some(BalancedReason::Policy));
    assert_eq!(machine.work.get(KernelOp::ScanCpu), 2);
}

#[test]
fn pinned_tasks_are_no_reason_to_choose_for_it() {
    let mut machine = flat(4);
    for cpu in [0, 1] {
        for _ in 0..3 {
            machine.task(cpu, &[cpu]);
        }
    }
    machine.wait_ms(10);
    let pull: BalancePolicy = |_, _| BalanceChoice::Pull { from: CpuId(1), tasks: 1 };
    machine.policy = Some(PolicySlot::new(Box::new(TestBalancePolicy(pull))));
    let (_, decision) = machine.pass(3, 0, CpuIdleType::Idle);
    assert_eq!(
        (decision.verdict, decision.redos, decision.busiest_queue),
        (BalanceVerdict::AllPinned, 0, Some(CpuId(1)))
    );
}

#[test]
fn an_answer_that_cannot_be_used_is_the_kernels_affair_and_remembered() {
    let cases: [(BalancePolicy, InvalidChoice); 5] = [
        (
            |_, _| BalanceChoice::Pull { from: CpuId(9), tasks: 1 },
            InvalidChoice::NoSuchCpu { cpu: CpuId(9), nr_cpus: 4 },
        ),
        (|_, _| BalanceChoice::Pull { from: CpuId(3), tasks: 1 }, InvalidChoice::NotInPass(CpuId(3))),
        (|_, _| BalanceChoice::Sample(CpuId(4)), InvalidChoice::NoSuchCpu { cpu: CpuId(4), nr_cpus: 4 }),
        (|_, _| BalanceChoice::Sample(CpuId(0)), InvalidChoice::Endless(64)),
        (|_, _| BalanceChoice::Fail("is tired".to_string()), InvalidChoice::Failed("is tired".to_string())),
    ];
    for (policy, expected) in cases {
        let mut machine = crowded(policy);
        assert_eq!(machine.pass(3, 0, CpuIdleType::Idle).1.verdict, BalanceVerdict::Moved, "{expected}");
        assert_eq!(refusal(&machine), Some(expected));
        // The hook is not called again.
        machine.pass(2, 0, CpuIdleType::Idle);
    }
}
