// SPDX-License-Identifier: GPL-2.0-or-later
//! Scenarios of any size, for measurements and training.

use std::fmt::Write as _;

/// Largest number of tasks in one statement; a limit of the grammar.
const MAX_TASKS_PER_STATEMENT: usize = 10_000;

/// Smallest machine with the topology levels of real large machines, in CPUs.
const MIN_LARGE_CPUS: u64 = 1024;
/// CPUs per node of a large machine.
const CPUS_PER_NODE: u64 = 128;

/// Returns the statements about the machine: two threads per core, 16 CPUs per LLC, 64 per package. Large
/// machines also have clusters of four cores, packages that are nodes of 128 CPUs, four nodes per chassis and
/// four chassis per rack.
fn head(nr_cpus: u64, length: &str) -> String {
    let shape = if nr_cpus < MIN_LARGE_CPUS {
        "topo smt=2 llc=16 pkg=64\nlevels SMPA\n".to_owned()
    } else {
        format!(
            "topo smt=2 cls=8 llc=16 pkg={CPUS_PER_NODE} node={CPUS_PER_NODE}\nlevels SCMP\n{}",
            distances(nr_cpus.div_ceil(CPUS_PER_NODE))
        )
    };
    format!("cpus {nr_cpus}\n{shape}end {length}\ntrace 0\n")
}

/// Returns distances between nodes: 10 to itself, 20 within a chassis, 40 within a rack, 60 beyond.
fn distances(nr_nodes: u64) -> String {
    let mut text = format!("dist {nr_nodes}");
    for (a, b) in (0..nr_nodes).flat_map(|a| (0..nr_nodes).map(move |b| (a, b))) {
        let distance = match a ^ b {
            0 => 10,
            1..4 => 20,
            4..16 => 40,
            _ => 60,
        };
        write!(text, " {distance}").expect("text can be written");
    }
    text + "\n"
}

/// Returns a mix of two tasks per CPU: half of them periodic with random times, half pairs that wake each
/// other.
pub(crate) fn crowded(nr_cpus: u64, length: &str) -> String {
    let half = nr_cpus / 2;
    format!(
        "{}task per n={nr_cpus} runr 500us 4ms sleepr 1ms 12ms\ntask pa n={half} loop run 50us wakesync pb wait\n\
         task pb n={half} loop wait run 60us wake pa\n",
        head(nr_cpus, length)
    )
}

/// Returns a mix of `nr_tasks` tasks that all run occasionally, on any CPU.
pub(crate) fn many_tasks(nr_cpus: u64, nr_tasks: u64, length: &str) -> String {
    let mut text = head(nr_cpus, length);
    for (index, first) in (0..nr_tasks).step_by(MAX_TASKS_PER_STATEMENT).enumerate() {
        let n = (nr_tasks - first).min(MAX_TASKS_PER_STATEMENT as u64);
        writeln!(text, "task t{index}_ n={n} runr 50us 400us sleepr 10ms 120ms").expect("text can be written");
    }
    text
}

/// Returns ten periodic tasks and one hog per four CPUs: the example of a user-space simulator of sched_ext
/// schedulers with published speeds. Its times are in microseconds.
pub(crate) fn light(nr_cpus: u64, length: &str) -> String {
    format!(
        "{}task small n=4 run 2000us sleep 8000us\ntask tiny n=4 run 500us sleep 4500us\n\
         task large n=2 run 10000us sleep 22000us\ntask hog n={} run 1s\n",
        head(nr_cpus, length),
        nr_cpus / 4
    )
}

/// Returns a mix for sixteen CPUs of a machine of any size whose other CPUs are idle: 32 tasks that sleep and
/// wake, and 8 pairs.
pub(crate) fn corner(nr_cpus: u64, length: &str) -> String {
    format!(
        "{}task per n=32 mask=0-15 runr 200us 2ms sleepr 1ms 12ms\ntask pa n=8 mask=0-15 loop run 50us wakesync pb wait\n\
         task pb n=8 mask=0-15 loop wait run 60us wake pa\n",
        head(nr_cpus, length)
    )
}

/// Returns one task that rarely runs, on a machine with `nr_groups` empty groups.
pub(crate) fn groups(nr_cpus: u64, nr_groups: u64) -> String {
    let groups: String = (0..nr_groups).map(|index| format!("group g{index}\n")).collect();
    format!("{}{groups}task t run 10us sleep 10ms\n", head(nr_cpus, "20ms"))
}

/// Returns `nr_tasks` tasks that rarely run, on sixteen CPUs.
pub(crate) fn sleepers(nr_tasks: u64) -> String {
    format!("{}task t n={nr_tasks} run 10us sleep 10ms\n", head(16, "20ms"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairlab_sched::series::KernelSeries;
    use fairlab_workload::scenario;

    #[test]
    fn all_mixes_are_scenarios_at_all_sizes() {
        for nr_cpus in [4, 16, 64, 112, 256, 1024, 4096] {
            let mixes = [
                crowded(nr_cpus, "1s"),
                many_tasks(nr_cpus, 1000, "1s"),
                light(nr_cpus, "60s"),
                groups(nr_cpus, 3),
                sleepers(5),
            ];
            for text in mixes.into_iter().chain((nr_cpus >= 16).then(|| corner(nr_cpus, "10ms"))) {
                if let Err(error) = scenario::parse("mix", &text, KernelSeries::V6_1) {
                    panic!("{nr_cpus} CPUs: {error}\n{text}");
                }
            }
        }
    }
}
