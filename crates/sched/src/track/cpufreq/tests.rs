// SPDX-License-Identifier: GPL-2.0-or-later

use crate::interface::ctx::{Ctx, Effect};
use crate::interface::probe::NoSchedObserver;
use crate::paths::sched::{Sched, SchedConfig};
use crate::state::cpufreq::domain::{FrequencyDomain, FrequencyDomainError, Governor, SchedutilConfig};
use crate::state::cpufreq::iowait::IowaitBoost;
use crate::state::topology::{CpuPlace, MachineTopology, TopologyLevel};
use crate::types::ids::{CfsRqId, CpuId};
use crate::types::series::KernelSeries;
use crate::types::units::Nanos;
use crate::types::work::{KernelOp, OpCounts};
use std::vec;
use std::vec::Vec;

const TICK_NS: u64 = 4_000_000;
const START: Nanos = Nanos(999_000_000);
const KHZ: [u64; 5] = [208_000, 432_000, 729_000, 960_000, 1_200_000];

fn schedutil(rate_limit_us: u64, holds_when_busy: bool) -> Governor {
    Governor::Schedutil(SchedutilConfig { rate_limit: Nanos::from_micros(rate_limit_us), holds_when_busy })
}

fn domain(cpus: core::ops::Range<u32>, governor: Governor) -> FrequencyDomain {
    FrequencyDomain::new(cpus.map(CpuId).collect(), KHZ.to_vec(), Vec::new(), governor).expect("a good domain")
}

fn sched(nr_cpus: u32) -> Sched {
    let place = |cpu| CpuPlace { core: cpu, cluster: cpu, llc: 0, package: 0, node: 0 };
    let topology = MachineTopology {
        cpus: (0..nr_cpus).map(place).collect(),
        capacity: vec![1024; nr_cpus as usize],
        levels: vec![TopologyLevel::Mc],
        distances: vec![vec![10]],
    };
    Sched::new(SchedConfig { topology, tick_ns: TICK_NS, jiffies: 249, series: KernelSeries::V6_1 }).expect("a machine")
}

/// Updates the frequency of CPU 0 from CPU `on`, at a time after the start and with this utilisation. Returns
/// the CPUs whose frequency changes, with their new capacities.
fn ask(sched: &mut Sched, on: u32, after_us: u64, util: u64) -> Vec<(u32, u64)> {
    let (mut effects, mut work) = (Vec::new(), OpCounts::default());
    let now = START + Nanos::from_millis(1) + Nanos::from_micros(after_us);
    let mut ctx = Ctx {
        cpu: CpuId(on),
        now,
        clock_offset: Nanos::ZERO,
        self_timed: None,
        effects: &mut effects,
        observer: &mut NoSchedObserver,
        wants_accounting: false,
        wants_lags: false,
        op_counts: &mut work,
        policy: None,
    };
    sched.rqs[CpuId(0)].clock = now.0;
    sched.fair.cfs_rqs[CfsRqId::root(CpuId(0))].avg.util_avg = util;
    sched.cpufreq_update_util(&mut ctx, CpuId(0));
    let changes = effects.iter().map(|effect| match effect {
        Effect::SetFrequency { cpu, capacity, .. } => (cpu.0, *capacity),
        other => panic!("no frequency: {other:?}"),
    });
    changes.collect()
}

#[test]
fn a_frequency_is_the_lowest_that_is_enough_or_the_highest() {
    let domain = domain(0..1, schedutil(1000, false));
    let resolved = [0, 208_000, 208_001, 960_000, 960_001, 1_200_000, 5_000_000].map(|khz| domain.resolve(khz));
    assert_eq!(resolved, [208_000, 208_000, 432_000, 960_000, 1_200_000, 1_200_000, 1_200_000]);
    assert_eq!(KHZ.map(|khz| domain.capacity_at(khz)), [177, 368, 622, 819, 1024]);
}

#[test]
fn domains_that_cannot_be_are_refused() {
    let fixed = |khz| Governor::Fixed { khz };
    let cpus = || vec![CpuId(1), CpuId(0)];
    let new = |cpus, khz: &[u64], power: &[u64], governor| {
        FrequencyDomain::new(cpus, khz.to_vec(), power.to_vec(), governor).map(|domain| domain.nr_cpus())
    };
    assert_eq!(new(cpus(), &[1, 2], &[], fixed(2)), Ok(2));
    assert_eq!(new(vec![], &[1], &[], fixed(1)), Err(FrequencyDomainError::NoCpu));
    assert_eq!(new(vec![CpuId(3); 2], &[1], &[], fixed(1)), Err(FrequencyDomainError::CpuInTwo(CpuId(3))));
    assert_eq!(new(cpus(), &[], &[], fixed(1)), Err(FrequencyDomainError::NoFrequency));
    assert_eq!(new(cpus(), &[1, 2, 2], &[], fixed(1)), Err(FrequencyDomainError::NotAscending { khz: 2 }));
    assert_eq!(new(cpus(), &[1, 2], &[5], fixed(1)), Err(FrequencyDomainError::Powers));
    assert_eq!(new(cpus(), &[1, 2], &[5, 0], fixed(1)), Err(FrequencyDomainError::Powers));
    assert_eq!(new(cpus(), &[1, 2], &[], fixed(3)), Err(FrequencyDomainError::NotAvailable { khz: 3 }));
}

#[test]
fn a_cpu_is_in_one_domain_at_most() {
    let mut sched = sched(2);
    assert_eq!(sched.set_frequency_domain(domain(0..2, schedutil(1000, false))), Ok(()));
    let again = sched.set_frequency_domain(domain(1..2, schedutil(1000, false)));
    assert_eq!(again, Err(FrequencyDomainError::CpuInTwo(CpuId(1))));
    let beyond = sched.set_frequency_domain(domain(2..3, schedutil(1000, false)));
    assert_eq!(beyond, Err(FrequencyDomainError::NoSuchCpu(CpuId(2))));
}

#[test]
fn a_domain_without_governor_has_its_frequency_from_the_boot_on() {
    let mut sched = sched(1);
    sched.set_frequency_domain(domain(0..1, Governor::Fixed { khz: 729_000 })).expect("a domain");
    assert_eq!(sched.frequency_khz(CpuId(0)), Some(1_200_000));
    sched.boot(START);
    assert_eq!((sched.frequency_khz(CpuId(0)), sched.rqs[CpuId(0)].freq_capacity), (Some(729_000), 622));
    assert_eq!(ask(&mut sched, 0, 10_000, 1024), []);
}

#[test]
fn a_quarter_more_than_is_used_is_asked_for_and_all_cpus_of_the_domain_change() {
    let mut sched = sched(2);
    sched.set_frequency_domain(domain(0..2, schedutil(1000, false))).expect("a domain");
    sched.boot(START);
    // 1.25 * 491 is less than 622 (729 of 1200 MHz), 1.25 * 499 is more.
    assert_eq!(ask(&mut sched, 0, 0, 491), [(0, 622), (1, 622)]);
    assert_eq!(sched.rqs[CpuId(1)].freq_capacity, 622);
    assert_eq!(ask(&mut sched, 0, 1000, 499), [(0, 819), (1, 819)]);
}

#[test]
fn changes_wait_for_the_rate_limit_of_the_last_change() {
    let mut sched = sched(1);
    sched.set_frequency_domain(domain(0..1, schedutil(1000, false))).expect("a domain");
    sched.boot(START);
    assert_eq!(ask(&mut sched, 0, 0, 100), [(0, 177)]);
    assert_eq!(ask(&mut sched, 0, 999, 900), []);
    assert_eq!(ask(&mut sched, 0, 1000, 900), [(0, 1024)]);
}

#[test]
fn a_cpu_without_governor_changes_no_frequency_of_others() {
    let mut sched = sched(2);
    sched.set_frequency_domain(domain(0..1, schedutil(1000, false))).expect("a domain");
    sched.boot(START);
    assert_eq!(ask(&mut sched, 1, 0, 100), []);
    assert_eq!(ask(&mut sched, 0, 0, 100), [(0, 177)]);
}

#[test]
fn a_busy_cpu_keeps_its_frequency_until_it_has_idled() {
    let mut sched = sched(1);
    sched.set_frequency_domain(domain(0..1, schedutil(1000, true))).expect("a domain");
    sched.boot(START);
    sched.rqs[CpuId(0)].idle_calls = 1;
    assert_eq!(ask(&mut sched, 0, 0, 900), []);
    assert_eq!(ask(&mut sched, 0, 1000, 100), []);
    sched.rqs[CpuId(0)].idle_calls = 2;
    assert_eq!(ask(&mut sched, 0, 2000, 100), [(0, 177)]);
    assert_eq!(ask(&mut sched, 0, 3000, 900), [(0, 1024)]);
}

#[test]
fn a_domain_of_several_cpus_follows_the_busiest() {
    let mut sched = sched(2);
    sched.set_frequency_domain(domain(0..2, schedutil(1000, false))).expect("a domain");
    sched.boot(START);
    sched.fair.cfs_rqs[CfsRqId::root(CpuId(1))].avg.util_avg = 600;
    assert_eq!(ask(&mut sched, 0, 0, 100), [(0, 819), (1, 819)]);
}

#[test]
fn asking_is_counted() {
    let mut sched = sched(1);
    sched.set_frequency_domain(domain(0..1, schedutil(1000, false))).expect("a domain");
    sched.boot(START);
    let (mut effects, mut work) = (Vec::new(), OpCounts::default());
    let (cpu, now, ahead) = (CpuId(0), START, Nanos::ZERO);
    let (effects, work) = (&mut effects, &mut work);
    let mut ctx = Ctx {
        cpu,
        now,
        clock_offset: ahead,
        self_timed: None,
        effects,
        observer: &mut NoSchedObserver,
        wants_accounting: false,
        wants_lags: false,
        op_counts: work,
        policy: None,
    };
    sched.cpufreq_iowait(&mut ctx, CpuId(0));
    assert_eq!(ctx.op_counts.get(KernelOp::CpufreqUpdate), 1);
}

#[test]
fn the_boost_for_io_doubles_while_it_is_asked_for_and_halves_otherwise() {
    let mut boost = IowaitBoost::default();
    let mut applied = Vec::new();
    for _ in 0..5 {
        boost.record_iowait(true, 0, TICK_NS);
        boost.record_iowait(true, 0, TICK_NS);
        applied.push(boost.apply(0, TICK_NS, 512));
    }
    for _ in 0..4 {
        applied.push(boost.apply(0, TICK_NS, 512));
    }
    assert_eq!(applied, [64, 128, 256, 512, 512, 256, 128, 64, 0].map(|util| (util > 0).then_some(util)));
}

#[test]
fn a_boost_that_is_older_than_a_tick_is_over() {
    let mut boost = IowaitBoost::default();
    boost.record_iowait(true, 0, TICK_NS);
    boost.record_iowait(false, TICK_NS as i64, TICK_NS);
    assert_eq!(boost.apply(TICK_NS as i64, TICK_NS, 1024), Some(128));
    assert_eq!(boost.apply(TICK_NS as i64 + 1, TICK_NS, 1024), None);
    boost.record_iowait(true, 0, TICK_NS);
    boost.record_iowait(false, 0, TICK_NS);
    assert_eq!(boost.apply(0, TICK_NS, 1024), Some(128));
    boost.record_iowait(true, TICK_NS as i64 + 1, TICK_NS);
    assert_eq!(boost.apply(0, TICK_NS, 1024), Some(128));
}
