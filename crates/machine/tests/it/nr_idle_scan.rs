// SPDX-License-Identifier: GPL-2.0-or-later
//! Limit of idle-CPU scans in simulated machines, compared with the table published with SIS_UTIL (Linux
//! 5.19), for last-level caches of 112 and of 16 CPUs.
//!
//! A utilisation of P percent consists of CPUs with a task that never stops, and one CPU with a task that
//! runs for a part of the time. Periodic balancing computes `nr_idle_scan` from the resulting utilisation.

use fairlab_machine::observer::NoObserver;
use fairlab_machine::sim::{Machine, Setup};
use fairlab_sched::ids::CpuId;
use fairlab_sched::series::KernelSeries;
use std::fmt::Write;

const PERCENT: [u64; 11] = [0, 5, 15, 25, 35, 45, 55, 65, 75, 85, 86];
const OF_112: [i32; 11] = [112, 111, 108, 102, 93, 81, 65, 47, 25, 1, 0];
const OF_16: [i32; 11] = [16, 15, 15, 14, 13, 11, 9, 6, 3, 0, 0];

/// `util_avg` of a CPU that is always busy: its sums are rounded down.
const BUSY: u64 = 1023;

/// Returns the utilisation of a cache domain for a percentage, in units of 1/1024 CPU; slightly more, so that
/// rounding does not fall short.
fn wanted(llc_weight: u64, percent: u64) -> u64 {
    if percent == 0 { 0 } else { (llc_weight * percent * 1024).div_ceil(100) + 4 }
}

/// Returns a cache domain of this many CPUs, with a second one beside it so that there is a higher level.
fn scenario(llc_weight: u64, percent: u64) -> String {
    let (full, part) = (wanted(llc_weight, percent) / BUSY, wanted(llc_weight, percent) % BUSY);
    let mut text = format!("cpus {}\ntopo llc={llc_weight} pkg={llc_weight}\nlevels MP\nend 2s\n", 2 * llc_weight);
    for cpu in 0..full {
        writeln!(text, "task hog{cpu} mask={cpu}-{cpu} cpu={cpu} run 10s").expect("text can be written");
    }
    // The period does not divide that of the tick, so that ticks sometimes find the task running, and the CPU
    // balances.
    let (run, sleep) = (part * 101, (1024 - part) * 101);
    if part > 0 {
        writeln!(text, "task part mask={full}-{full} cpu={full} run {run}ns sleep {sleep}ns").expect("as above");
    }
    if percent == 0 {
        // A CPU must balance: this task is present at one tick in eight, and its utilisation is negligible.
        writeln!(text, "task light mask=0-0 run 10us sleep 31990us").expect("as above");
    }
    text
}

/// Returns `nr_idle_scan` of the first cache domain at the end, and its utilisation in units of 1/1024 CPU.
fn run(text: &str, llc_weight: u64) -> (i32, u64) {
    let scenario = fairlab_workload::scenario::parse("nr_idle_scan", text, KernelSeries::V6_1)
        .expect("the scenario is well formed");
    let mut machine = Machine::new(Setup::from_scenario(scenario)).expect("the machine can be made");
    machine.run(&mut NoObserver).expect("the tasks make progress");
    let sched = machine.sched();
    let shared = sched.domains().cpus[CpuId(0)].sd_llc_shared.expect("the first CPU has a cache domain");
    let util = (0..llc_weight).map(|cpu| sched.snapshot(CpuId(cpu as u32)).cfs_avg.util_avg).sum();
    (sched.domains().shared[shared].nr_idle_scan, util)
}

fn check(llc_weight: u64, published: [i32; 11]) {
    for (percent, nr_scan) in PERCENT.into_iter().zip(published) {
        let (simulated, util) = run(&scenario(llc_weight, percent), llc_weight);
        let wanted = wanted(llc_weight, percent);
        assert!(util.abs_diff(wanted) <= 8, "{percent} % of {llc_weight} CPUs: util is {util}, not {wanted}");
        assert_eq!(simulated, nr_scan, "{percent} % of {llc_weight} CPUs, util {util}");
    }
}

#[test]
fn a_cache_of_112_cpus_is_searched_as_published() {
    check(112, OF_112);
}

#[test]
fn a_cache_of_16_cpus_is_searched_as_published() {
    check(16, OF_16);
}
