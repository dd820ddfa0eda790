// SPDX-License-Identifier: GPL-2.0-or-later
//! Sched domains compared with those that the unmodified scheduler of Linux 6.1.192 builds and prints when it
//! runs as a program.

use super::RULES;
use super::machine::{data, names, parse, read_zst};
use fairlab_sched::ids::CpuId;
use fairlab_sched::topology::{BuildParams, MachineTopology, build_sched_domains};
use std::fmt::Write;

/// Prints all domains of a machine in the recorded format: a line `cpuN` before those of each CPU.
fn dump(machine: &MachineTopology) -> String {
    let sds = build_sched_domains(machine, &BuildParams::new(RULES)).expect("the machine is well described");
    let mut text = String::new();
    for cpu in (0..machine.cpus.len()).map(CpuId::from_index) {
        write!(text, "cpu{}\n{}", cpu.0, sds.print_cpu(cpu)).unwrap();
    }
    text
}

/// Compares with a recording, except for its line about energy-aware scheduling.
fn compare(name: &str, machine: &MachineTopology, recorded: &str) {
    let recorded = recorded.lines().filter(|line| !line.starts_with("eas="));
    let actual = dump(machine);
    for (number, (actual, expected)) in actual.lines().zip(recorded.clone()).enumerate() {
        assert_eq!(actual, expected, "{name}: line {number}");
    }
    assert_eq!(actual.lines().count(), recorded.count(), "{name}: number of lines");
}

#[test]
fn domains_of_the_reference_machines_equal_those_of_the_kernel() {
    let machines = names("kernel", ".txt.zst");
    assert_eq!(machines.len(), 7);
    for name in machines {
        let scenario = std::fs::read_to_string(data("kernel").join(format!("{name}.scn"))).unwrap();
        compare(&name, &parse(&scenario), &read_zst(&data("kernel").join(format!("{name}.txt.zst"))));
    }
}

/// Prints the state of domains beyond their dump: a line `llc FIRST SIZE` for each last-level cache of more
/// than one CPU, then for each CPU the level, `imb_numa_nr` and interval of its domains.
fn state(machine: &MachineTopology) -> String {
    let sds = build_sched_domains(machine, &BuildParams::new(RULES)).expect("the machine is well described");
    let mut text = String::new();
    let cpus = || (0..machine.cpus.len()).map(CpuId::from_index);
    for cpu in cpus() {
        let cached = sds.cpus[CpuId::from_index(cpu.index())];
        if cached.sd_llc_shared.is_some() && cached.sd_llc_id == cpu {
            writeln!(text, "llc {} {}", cpu.0, cached.sd_llc_size).unwrap();
        }
    }
    for cpu in cpus() {
        write!(text, "cpu{}", cpu.0).unwrap();
        for sd in sds.chain(cpu).map(|sd| &sds.domains[sd]) {
            write!(text, " {}:{}:{}", sd.level, sd.imb_numa_nr, sd.balance_interval).unwrap();
        }
        text.push('\n');
    }
    text
}

/// Each recording contains the statements of a machine, a line `domains`, the kernel's output, a line
/// `state`, the state in a run, and a line `end`.
#[test]
fn domains_of_machines_of_random_shape_equal_those_of_the_kernel() {
    let all = read_zst(&data("shapes.txt.zst"));
    let recordings: Vec<_> = all.split_terminator("\nend\n").collect();
    assert!(recordings.len() >= 100, "{} recordings", recordings.len());
    for (number, recording) in recordings.iter().enumerate() {
        let (scenario, rest) = recording.split_once("\ndomains\n").expect("a line says domains");
        let (domains, recorded_state) = rest.split_once("\nstate\n").expect("a line says state");
        let name = format!("shape {number}: {scenario}");
        compare(&name, &parse(scenario), domains);
        assert_eq!(state(&parse(scenario)).trim_end(), recorded_state, "{name}");
    }
}
