// SPDX-License-Identifier: GPL-2.0-or-later
use super::*;
use crate::export::{ExportTarget, FORMATS};
use fairlab_machine::sim::Setup;
use fairlab_sched::series::KernelSeries;
use fairlab_workload::scenario;

/// Returns the number of bytes in a file, or in all files of a directory.
fn length(path: &std::path::Path) -> u64 {
    if path.is_dir() {
        let entries = std::fs::read_dir(path).expect("a directory");
        return entries.map(|entry| length(&entry.expect("an entry").path())).sum();
    }
    std::fs::metadata(path).expect("a file").len()
}

#[test]
fn without_the_built_in_scheduler_a_format_writes_events_or_fails() {
    let directory = tempfile::tempdir().expect("there is a place for temporary files");
    for format in FORMATS {
        let setup = Setup::from_scenario(
            scenario::parse("t.scn", "cpus 2\nend 20ms\ntask a run 1ms\n", KernelSeries::V6_1).expect("valid"),
        );
        let mut machine = Machine::new(setup).expect("a possible machine");
        let mut exporter = Exporter::new(&machine, None);
        let path = directory.path().join(format.name);
        let target = if format.is_directory() {
            std::fs::create_dir(&path).expect("a directory can be created");
            ExportTarget::Directory(&path)
        } else {
            let out = Box::new(std::fs::File::create(&path).expect("a file can be created"));
            ExportTarget::File { out, directory: directory.path() }
        };
        format.open(target, None, machine.hardware(), &mut exporter).expect("there is room");
        machine.run(&mut exporter).expect("the task makes progress");
        let finished = exporter.finish_traces(None);
        assert_eq!(finished.is_err(), format.is_of_state(), "{}", format.name);
        assert_eq!(length(&path) > 0, !format.is_of_state(), "{}", format.name);
    }
}
