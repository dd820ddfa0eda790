// SPDX-License-Identifier: GPL-2.0-or-later
//! Background of server machines: the kernel threads that a booted kernel ran beside busy CPUs.
//!
//! The table is that of `cargo xtask background`. Intervals are those of the largest guest with busy CPUs, in which deferrable timers
//! expire. Left out are threads that the scheduler wakes itself, and functions of timers and softirqs, which a tick contains.

use fairlab_board::Processor;
use fairlab_sched::units::Nanos;
use fairlab_workload::background::{BackgroundPlacement, BackgroundSource};

const TABLE: &str = include_str!("../../../sheets/programs/background.tsv");

/// Kernel, CPUs and nodes of the guest.
const GUEST: [&str; 3] = ["6.12", "8", "2"];

/// Threads that a simulated machine has anyway: the stopper and ksoftirqd.
const SIMULATED: [&str; 2] = ["migration/N", "ksoftirqd/N"];

/// Row of the table: a thread, or a work item of a kworker.
struct Row<'a> {
    load: &'a str,
    thread: &'a str,
    source: &'a str,
    instances: usize,
    timer: &'a str,
    interval: Nanos,
    /// Median of the instructions of a run; `None` if no run was alone.
    instructions: Option<u64>,
    cpus: Vec<u32>,
}

/// Returns the background of a machine with these facts; none without facts.
pub fn sources(processor: Option<&Processor>) -> Vec<BackgroundSource> {
    let Some(processor) = processor else { return Vec::new() };
    let rows: Vec<Row<'_>> = TABLE.lines().filter_map(Row::read).collect();
    let busy = rows.iter().filter(|row| row.load == "busy" && !SIMULATED.contains(&row.thread));
    let source = |row: &Row<'_>| {
        let of_idle =
            rows.iter().find(|idle| idle.load == "idle" && (idle.thread, idle.source) == (row.thread, row.source));
        let instructions = row.instructions.or_else(|| of_idle?.instructions)?;
        Some(BackgroundSource {
            family: row.thread.split('/').next().unwrap_or_default().to_owned(),
            placement: row.placement(),
            interval: row.interval,
            work: processor.time_of_instructions(instructions),
            is_deferrable: row.timer.starts_with("deferrable"),
        })
    };
    busy.filter_map(source).collect()
}

impl<'a> Row<'a> {
    /// Reads a row of a thread in the guest; `None` for other rows.
    fn read(line: &'a str) -> Option<Self> {
        let fields: Vec<&str> = line.split('\t').collect();
        let [
            kernel,
            cpus,
            nodes,
            load,
            "thread",
            thread,
            source,
            instances,
            timer,
            _,
            interval_ms,
            _,
            median,
            _,
            on_cpus,
        ] = fields[..]
        else {
            return None;
        };
        if [kernel, cpus, nodes] != GUEST {
            return None;
        }
        let on_cpus = on_cpus.split(',').map(|cpu| cpu.parse().expect("CPUs are numbers"));
        Some(Self {
            load,
            thread,
            source,
            instances: instances.parse().expect("instances are a number"),
            timer,
            interval: Nanos::from_millis(interval_ms.parse().expect("an interval is a number")),
            instructions: median.parse().ok(),
            cpus: on_cpus.collect(),
        })
    }

    /// Returns where the threads of a source run: those of a pinned timer on each CPU, other bound kworkers on the CPUs of the guest, and
    /// a thread for each node if the guest had as many.
    fn placement(&self) -> BackgroundPlacement {
        let cpus = || self.cpus.iter().copied().cycle().take(self.instances).collect();
        match self.thread {
            _ if self.timer.ends_with("pinned") => BackgroundPlacement::EachCpu,
            "kworker/N" => BackgroundPlacement::Bound(cpus()),
            thread if !thread.starts_with("kworker") && self.instances.to_string() == GUEST[2] => {
                BackgroundPlacement::EachNode
            }
            _ => BackgroundPlacement::Free(cpus()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prepare::apply;
    use crate::settings::{Setting, Settings};
    use fairlab_board::preset;
    use fairlab_machine::hardware::Hardware;
    use fairlab_machine::sim::Setup;
    use fairlab_sched::series::KernelSeries;
    use fairlab_workload::workload::Workload;

    #[test]
    fn each_counted_thread_of_busy_cpus_becomes_a_source() {
        let machine = preset("xeon-1s-112").expect("it exists");
        let sources = sources(machine.processor());
        let is_source = |line: &&str| {
            let prefix = "6.12\t8\t2\tbusy\tthread\t";
            line.strip_prefix(prefix).is_some_and(|row| !SIMULATED.iter().any(|name| row.starts_with(name)))
        };
        assert_eq!(sources.len(), TABLE.lines().filter(is_source).count());
        let kcompactd =
            sources.iter().find(|source| source.family == "kcompactd").expect("the guest has one for each node");
        assert_eq!((&kcompactd.placement, kcompactd.is_deferrable), (&BackgroundPlacement::EachNode, false));
        assert!(sources.iter().any(|source| source.placement == BackgroundPlacement::EachCpu && source.is_deferrable));
        assert!(super::sources(None).is_empty());
    }

    #[test]
    fn servers_have_a_background_unless_it_is_off_or_kernel_code_has_no_costs() {
        let applied = |machine: &str, changes: &[(&str, &str)]| {
            let hardware = Hardware::from_description(&preset(machine).expect("it exists"));
            let mut setup = Setup::new(KernelSeries::V6_1, hardware, Workload::default(), Nanos(1));
            let change = |(name, text): &(&str, &str)| {
                Setting::from_name(name).expect("it exists").change(text).expect("it is a value")
            };
            let settings = Settings::from_changes(&changes.iter().map(change).collect::<Vec<_>>());
            apply(&mut setup, &settings, None).expect("the settings fit");
            (!setup.workload.background.is_empty(), setup.workload.warnings.len())
        };
        assert_eq!(applied("xeon-1s-112", &[]), (true, 0));
        assert_eq!(applied("xeon-1s-112", &[("background", "off")]), (false, 0));
        assert_eq!(applied("xeon-1s-112", &[("prices", "zero")]), (false, 0));
        assert_eq!(applied("xeon-1s-112", &[("prices", "zero"), ("background", "on")]), (false, 1));
        assert_eq!(applied("hikey960", &[]), (false, 0));
        assert_eq!(applied("hikey960", &[("background", "on")]), (true, 0));
    }
}
