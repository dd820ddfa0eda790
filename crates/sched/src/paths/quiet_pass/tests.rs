// SPDX-License-Identifier: GPL-2.0-or-later
//! Comparison of periodic balancing with and without the shortcuts: accesses to runqueues are only recorded without.

use crate::paths::resumable::{Step, YieldMode};
use crate::state::nohz::WiderDomains;
use crate::state::topology::TopologyLevel;
use crate::test_machine::{TestMachine, machine};
use crate::types::idle_type::CpuIdleType;
use crate::types::ids::CpuId;
use crate::types::series::KernelSeries;

const NR_CPUS: u32 = 16;

fn machine_of_cores(series: KernelSeries) -> TestMachine {
    TestMachine::of_series(
        machine(NR_CPUS, 2, 8, &[TopologyLevel::Smt, TopologyLevel::Mc, TopologyLevel::Package]),
        series,
    )
}

/// Balances all domains of an idle CPU that are due.
fn balance(machine: &mut TestMachine, cpu: u32) {
    machine.on(cpu, |sched, ctx| {
        sched.refresh_lb_cache();
        let mut path = sched.begin_domains(CpuId(cpu), CpuIdleType::Idle);
        while sched.step_domains(ctx, &mut path) != Step::Done(()) {}
    });
}

fn wider(machine: &TestMachine, cpu: u32) -> WiderDomains {
    machine.sched.nohz.cpus[CpuId(cpu)].wider
}

#[test]
fn a_pass_that_pulls_nothing_has_the_effects_of_a_full_pass() {
    for series in [KernelSeries::V6_1, KernelSeries::V6_12] {
        let mut machines = [machine_of_cores(series), machine_of_cores(series), machine_of_cores(series)];
        machines[1].work.record_touches(true, 64);
        machines[2].sched.set_yield_mode(YieldMode::On { cpus_per_phase: 4 });
        let mut nr_known = 0;
        for round in 0..60 {
            for machine in &mut machines {
                if round % 20 == 7 {
                    machine.sched.set_yield_mode(YieldMode::Off);
                    // Two tasks that share a CPU, of which one can be pulled, or that are pinned.
                    let cpu = round % NR_CPUS;
                    let allowed: &[u32] = if round < 20 { &[0, 5, 7, 12] } else { &[7, 11, 15] };
                    machine.task(cpu, allowed);
                    machine.task(cpu, allowed);
                }
                (0..NR_CPUS).for_each(|cpu| balance(machine, cpu));
                machine.work.clear_touches();
                assert_eq!(machine.sched.check_invariants(), Ok(()));
            }
            let [short, full, yielding] = &machines;
            for other in [full, yielding] {
                assert_eq!(short.heard.passes, other.heard.passes, "in round {round}");
                assert_eq!(short.heard.counters, other.heard.counters, "in round {round}");
                assert_eq!(short.work.counts(), other.work.counts(), "in round {round}");
                assert_eq!(short.sched.domains, other.sched.domains, "in round {round}");
                for cpu in short.sched.cpu_ids() {
                    let due = |machine: &TestMachine| machine.sched.nohz.cpus[cpu].next_balance;
                    assert_eq!(due(short), due(other), "of {cpu:?} in round {round}");
                }
            }
            nr_known += (0..NR_CPUS).filter(|&cpu| wider(short, cpu) != WiderDomains::UNKNOWN).count();
            // After a second, costs of newly-idle balancing decay.
            let ms = if round % 10 == 9 { 1500 } else { 4 };
            machines.iter_mut().for_each(|machine| machine.wait_ms(ms));
        }
        assert!(nr_known > 100, "the summary of wider domains is known in {nr_known} cases");
        assert!(machines[0].heard.passes.iter().any(|pass| pass.nr_moved > 0), "some pass pulls");
    }
}

#[test]
fn a_shorter_interval_of_a_wider_domain_makes_it_due() {
    let mut machine = machine_of_cores(KernelSeries::V6_1);
    for _ in 0..30 {
        machine.wait_ms(4);
        balance(&mut machine, 0);
    }
    machine.wait_ms(4);
    machine.heard = Default::default();
    assert!(machine.sched.jiffies < wider(&machine, 0).due, "no wider domain is due");
    balance(&mut machine, 0);
    assert!(machine.heard.passes.iter().all(|pass| pass.level == 0));
    let sd = machine.sd(0, 1);
    machine.sched.set_balance_interval(sd, 1);
    assert_eq!(wider(&machine, 0), WiderDomains::UNKNOWN);
    machine.wait_ms(4);
    balance(&mut machine, 0);
    assert!(machine.heard.passes.iter().any(|pass| pass.level > 0));
}
