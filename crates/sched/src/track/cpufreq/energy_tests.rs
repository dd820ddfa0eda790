// SPDX-License-Identifier: GPL-2.0-or-later
//! The energy model by itself, and the conditions for perf domains.

use crate::paths::sched::{Sched, SchedConfig};
use crate::state::cpufreq::domain::{FrequencyDomain, FrequencyDomainError, Governor, SchedutilConfig};
use crate::state::cpufreq::energy_model::{PerfDomain, perf_table};
use crate::state::topology::{CpuPlace, MachineTopology, TopologyLevel};
use crate::types::ids::CpuId;
use crate::types::series::KernelSeries;
use crate::types::tunables::{PublishedChanges, Tunables};
use crate::types::units::Nanos;
use std::vec;
use std::vec::Vec;

const SCHEDUTIL: Governor =
    Governor::Schedutil(SchedutilConfig { rate_limit: Nanos::from_millis(1), holds_when_busy: false });
const KHZ: [u64; 3] = [500, 800, 1000];

/// Returns a machine of two small and two big CPUs, `smt` of them to a core.
fn big_little(smt: u32, capacity: [u64; 4]) -> Sched {
    big_little_of(KernelSeries::V6_1, smt, capacity)
}

fn changes_of_6_1() -> PublishedChanges {
    Tunables::of_machine(KernelSeries::V6_1, 1).changes
}

fn big_little_of(series: KernelSeries, smt: u32, capacity: [u64; 4]) -> Sched {
    let place = |cpu| CpuPlace { core: cpu / smt, cluster: cpu, llc: 0, package: 0, node: 0 };
    let topology = MachineTopology {
        cpus: (0..4).map(place).collect(),
        capacity: capacity.to_vec(),
        levels: vec![TopologyLevel::Smt, TopologyLevel::Mc],
        distances: vec![vec![10]],
    };
    Sched::new(SchedConfig { topology, tick_ns: 4_000_000, jiffies: 249, series }).expect("a machine")
}

fn domain(cpus: [u32; 2], power_uw: &[u64], governor: Governor) -> FrequencyDomain {
    let cpus = cpus.iter().map(|&cpu| CpuId(cpu)).collect();
    FrequencyDomain::new(cpus, KHZ.to_vec(), power_uw.to_vec(), governor).expect("a good domain")
}

/// Returns the first CPU of each perf domain after boot.
fn perf_domains(mut sched: Sched, domains: [FrequencyDomain; 2]) -> Vec<u32> {
    for domain in domains {
        sched.set_frequency_domain(domain).expect("the CPUs are in no other domain");
    }
    sched.boot(Nanos(999_000_000));
    assert_eq!(sched.sched_energy_enabled(), !sched.cpufreq.perf_domains.is_empty());
    sched.cpufreq.perf_domains.iter().map(|pd| pd.cpus[0].0).collect()
}

#[test]
fn a_frequency_costs_its_power_for_the_work_of_the_highest() {
    let costs: Vec<u64> = perf_table(&KHZ, &[100, 300, 500]).iter().map(|state| state.cost).collect();
    assert_eq!(costs, [200, 375, 500]);
}

#[test]
fn a_frequency_is_inefficient_if_a_higher_one_costs_no_more() {
    let inefficient = |power_uw: &[u64]| -> Vec<bool> {
        perf_table(&KHZ, power_uw).iter().map(|state| state.is_inefficient).collect()
    };
    assert_eq!(inefficient(&[100, 300, 500]), [false, false, false]);
    assert_eq!(inefficient(&[250, 300, 500]), [true, false, false]);
    assert_eq!(inefficient(&[250, 450, 500]), [true, true, false]);
}

#[test]
fn inefficient_frequencies_are_skipped_only_where_cpufreq_skips_them() {
    let power_uw = [100, 450, 500];
    let domain = domain([0, 1], &power_uw, SCHEDUTIL);
    assert_eq!((domain.resolve(501), domain.resolve(2000)), (800, 1000));
    assert_eq!(
        (domain.clone().with_inefficient_skipped().resolve(501), domain.with_inefficient_skipped().resolve(0)),
        (1000, 500)
    );
    let table = perf_table(&KHZ, &power_uw);
    let mut pd = PerfDomain { cpus: vec![CpuId(0)], table, skips_inefficient: false, capacity: 1024 };
    assert_eq!(pd.state_for(501, pd.skips_inefficient).khz, 800);
    pd.skips_inefficient = true;
    assert_eq!(pd.state_for(501, pd.skips_inefficient).khz, 1000);
}

#[test]
fn energy_is_what_the_utilisation_costs_at_the_frequency_of_the_busiest() {
    let table = perf_table(&KHZ, &[100, 300, 500]);
    let pd = PerfDomain { cpus: vec![CpuId(0), CpuId(1)], table, skips_inefficient: false, capacity: 512 };
    let now = changes_of_6_1();
    assert_eq!(pd.energy(&now, 0, 0, 512), 0);
    // 1.25 * 204 of 512 fit into 500 of 1000, 1.25 * 206 do not.
    assert_eq!(pd.energy(&now, 204, 300, 512), 200 * 300 / 512);
    assert_eq!(pd.energy(&now, 206, 300, 512), 375 * 300 / 512);
    assert_eq!(pd.energy(&now, 512, 300, 512), 500 * 300 / 512);
    // Thermal pressure keeps the CPUs below this capacity.
    assert_eq!(pd.energy(&now, 512, 300, 256), 200 * 300 / 512);
}

#[test]
fn before_6_0_energy_is_counted_in_whole_milliwatts() {
    let table = perf_table(&KHZ, &[10_900, 30_100, 50_999]);
    let costs: Vec<u64> = table.iter().map(|state| state.cost_mw).collect();
    assert_eq!(costs, [20, 37, 50]);
    let pd = PerfDomain { cpus: vec![CpuId(0)], table, skips_inefficient: false, capacity: 512 };
    let energy = |energy_mw, sum| pd.energy(&PublishedChanges { energy_mw, ..changes_of_6_1() }, 204, sum, 512);
    assert_eq!((energy(true, 30), energy(true, 50)), (1, 1), "20 utilisation more cost nothing");
    assert_eq!((energy(false, 30), energy(false, 50)), (1277, 2128));
}

#[test]
fn before_5_16_inefficient_frequencies_are_used() {
    let power_uw = [250, 300, 500];
    let domain = domain([0, 1], &power_uw, SCHEDUTIL).with_inefficient_skipped();
    assert_eq!((domain.resolve_among(1, false), domain.resolve_among(1, true)), (800, 500));
    let table = perf_table(&KHZ, &power_uw);
    let pd = PerfDomain { cpus: vec![CpuId(0)], table, skips_inefficient: true, capacity: 1024 };
    let energy =
        |energy_inefficient| pd.energy(&PublishedChanges { energy_inefficient, ..changes_of_6_1() }, 10, 1024, 1024);
    assert_eq!((energy(false), energy(true)), (375, 500));
}

#[test]
fn energy_decides_where_capacities_differ_and_everything_is_known_and_driven() {
    const NONE: [u32; 0] = [];
    const LITTLE: [u64; 3] = [10, 20, 40];
    const BIG: [u64; 3] = [100, 300, 900];
    const CAPACITY: [u64; 4] = [446, 446, 1024, 1024];
    let fixed = Governor::Fixed { khz: 800 };
    let with = |smt, capacity, little: &[u64], big: &[u64], governor| {
        let domains = [domain([0, 1], little, SCHEDUTIL), domain([2, 3], big, governor)];
        perf_domains(big_little(smt, capacity), domains)
    };
    assert_eq!(with(1, CAPACITY, &LITTLE, &BIG, SCHEDUTIL), [2, 0], "the highest CPUs come first");
    assert_eq!(with(2, CAPACITY, &LITTLE, &BIG, SCHEDUTIL), NONE, "cores of several CPUs");
    assert_eq!(with(1, [1024; 4], &LITTLE, &BIG, SCHEDUTIL), NONE, "equal capacities");
    assert_eq!(with(1, CAPACITY, &LITTLE, &[], SCHEDUTIL), NONE, "no powers");
    assert_eq!(with(1, CAPACITY, &LITTLE, &BIG, fixed), NONE, "another governor");
    assert_eq!(with(1, CAPACITY, &LITTLE, &[1, 2, 64_000_001], SCHEDUTIL), NONE, "a power that cannot be");
    assert_eq!(with(1, [446, 447, 1024, 1024], &LITTLE, &BIG, SCHEDUTIL), NONE, "a domain of different CPUs");
}

#[test]
fn energy_does_not_decide_if_a_cpu_is_in_no_frequency_domain() {
    let mut sched = big_little(1, [446, 446, 1024, 1024]);
    sched.set_frequency_domain(domain([0, 1], &[10, 20, 40], SCHEDUTIL)).expect("a domain");
    sched.boot(Nanos(999_000_000));
    assert!(!sched.sched_energy_enabled());
    sched.set_frequency_domain(domain([2, 3], &[10, 20, 40], SCHEDUTIL)).expect("a domain");
    assert!(sched.sched_energy_enabled(), "governors of later domains start at once");
    sched.tunables_mut().energy_aware = false;
    assert!(!sched.sched_energy_enabled());
}

#[test]
fn schedutil_makes_6_12_forget_the_bandwidth_of_fair_servers() {
    let is_counted = |governor| {
        let mut sched = big_little_of(KernelSeries::V6_12, 1, [400, 400, 1024, 1024]);
        sched
            .set_frequency_domain(domain([0, 1], &[100, 300, 500], governor))
            .expect("the CPUs are in no other domain");
        sched.boot(Nanos(999_000_000));
        crate::check::deadline::check(&sched).expect("sums are right");
        sched.dl_root.total_bw() > 0
    };
    assert!(is_counted(Governor::Fixed { khz: 500 }));
    assert!(!is_counted(SCHEDUTIL));
}

#[test]
fn the_energy_model_of_6_12_needs_a_capacity_of_1_at_each_frequency() {
    let set = |series, capacity| {
        let mut sched = big_little_of(series, 1, [capacity, capacity, 1024, 1024]);
        sched.set_frequency_domain(domain([0, 1], &[100, 300, 500], SCHEDUTIL))
    };
    let error = FrequencyDomainError::NoPerformance { khz: 500, capacity: 1 };
    assert_eq!(set(KernelSeries::V6_12, 1), Err(error));
    assert_eq!(set(KernelSeries::V6_12, 2), Ok(()));
    assert_eq!(set(KernelSeries::V6_1, 1), Ok(()));
}
