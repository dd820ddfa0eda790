// SPDX-License-Identifier: GPL-2.0-or-later
//! From a run of the data to a workload on a machine: files beside the study's own, lines of benchmarks, machines by name or path.

use super::runs::{RunCase, WorkloadSource};
use super::tasks::rtapp_of;
use fairlab_machine::description::{self, MachineDescription};
use fairlab_machine::hardware::Hardware;
use fairlab_machine::sim::Setup;
use fairlab_observe::bench::BenchObserver;
use fairlab_sched::units::Nanos;
use fairlab_workload::error::text_of;
use fairlab_workload::load::{WorkloadKind, detect};
use fairlab_workload::workload::{GroupSpec, Workload};
use fairlab_workload::{recorded, rtapp, scenario};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The machine of a study that names none.
pub const DEFAULT_MACHINE: &str = "hikey960";

/// A benchmark, ready to run.
pub struct BenchSetup {
    /// What it does.
    pub workload: Workload,
    /// What measures it.
    pub meter: Box<dyn BenchObserver>,
}

/// Reads lines of benchmarks: the command line has their options.
pub trait BenchReader: Sync {
    /// The benchmark of a line, such as `hackbench -g 4`, for a machine with so many CPUs and a seed.
    ///
    /// # Errors
    /// What is wrong with the line, with the way out.
    fn read(&self, line: &str, nr_cpus: u32, seed: u64) -> Result<BenchSetup, String>;
}

/// Knows no benchmark.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoBenchReader;

impl BenchReader for NoBenchReader {
    fn read(&self, line: &str, _nr_cpus: u32, _seed: u64) -> Result<BenchSetup, String> {
        Err(format!("{line}: no benchmarks are known here\nhelp: run the study with the `fairlab` command"))
    }
}

/// Where a study's files are, and the machines that it names.
#[derive(Debug)]
pub(crate) struct InputFiles {
    /// Its directory; none for a study that comes with the program.
    directory: Option<PathBuf>,
    machines: BTreeMap<String, MachineDescription>,
    files: BTreeMap<String, String>,
}

/// A workload on a machine, before an arm changes it.
pub(crate) struct PreparedWorkload {
    pub(crate) setup: Setup,
    pub(crate) meter: Option<Box<dyn BenchObserver>>,
    /// Whether the workload says itself how long it takes.
    pub(crate) has_length: bool,
}

impl InputFiles {
    /// Reads the machines and files that runs name. A machine's name is that of a preset, or of a file beside the study's.
    ///
    /// # Errors
    /// The first one that cannot be had, with the run that names it.
    pub(crate) fn read<'a>(
        directory: Option<&Path>,
        cases: impl Iterator<Item = (&'a RunCase, Vec<String>)>,
    ) -> Result<Self, (String, String)> {
        let mut home =
            Self { directory: directory.map(Path::to_owned), machines: BTreeMap::new(), files: BTreeMap::new() };
        for (case, machines) in cases {
            let of_case = |what: String| (case.name.clone(), what);
            for machine in &machines {
                home.read_machine(machine).map_err(of_case)?;
            }
            if let WorkloadSource::File(file) = &case.source {
                home.read_file(file).map_err(of_case)?;
            }
        }
        Ok(home)
    }

    fn read_machine(&mut self, name: &str) -> Result<(), String> {
        if self.machines.contains_key(name) {
            return Ok(());
        }
        let beside = self.path_beside(name).filter(|path| path.exists());
        let given = beside.map_or_else(|| name.to_owned(), |path| path.display().to_string());
        let description = description::load(&given).map_err(|error| error.to_string())?;
        self.machines.insert(name.to_owned(), description);
        Ok(())
    }

    fn read_file(&mut self, name: &str) -> Result<(), String> {
        let help = "help: `file` is the path of an rt-app file or a scenario, from where the study's file is";
        let Some(path) = self.path_beside(name) else {
            return Err(format!("{name}: a study that comes with the program has no files\n{help}"));
        };
        let bytes =
            std::fs::read(&path).map_err(|error| format!("{}: cannot be read: {error}\n{help}", path.display()))?;
        let text = text_of(name, &bytes).map_err(|error| error.to_string())?;
        self.files.insert(name.to_owned(), text.to_owned());
        Ok(())
    }

    fn path_beside(&self, name: &str) -> Option<PathBuf> {
        self.directory.as_ref().map(|directory| directory.join(name))
    }

    /// A machine that some run names.
    ///
    /// # Panics
    /// If none does.
    pub(crate) fn machine(&self, name: &str) -> &MachineDescription {
        self.machines.get(name).unwrap_or_else(|| panic!("machine {name} was read with its run"))
    }

    /// The machines.
    pub(crate) fn machines(&self) -> impl Iterator<Item = &MachineDescription> {
        self.machines.values()
    }

    /// The workload of a run with a seed, on a machine.
    ///
    /// # Errors
    /// What is wrong with it, with the way out.
    pub(crate) fn prepare(
        &self,
        case: &RunCase,
        machine: &str,
        seed: u64,
        benches: &dyn BenchReader,
    ) -> Result<PreparedWorkload, String> {
        let (name, text) = match &case.source {
            WorkloadSource::Bench(line) => return self.prepare_bench(case, line, machine, seed, benches),
            WorkloadSource::File(file) => (file.as_str(), self.files[file].clone()),
            WorkloadSource::RtApp(text) | WorkloadSource::Scenario(text) => (case.name.as_str(), text.clone()),
            WorkloadSource::Tasks(families) => (case.name.as_str(), rtapp_of(families, seed)),
        };
        let kind = match &case.source {
            WorkloadSource::Scenario(_) => WorkloadKind::Scenario,
            WorkloadSource::RtApp(_) | WorkloadSource::Tasks(_) => WorkloadKind::RtApp,
            _ => detect(name, &text).map_err(|error| error.to_string())?,
        };
        if kind == WorkloadKind::Scenario {
            let scenario = scenario::parse(name, &text).map_err(|error| error.to_string())?;
            return Ok(PreparedWorkload { setup: Setup::from_scenario(scenario), meter: None, has_length: true });
        }
        let machine = self.machine(machine);
        if kind == WorkloadKind::Recorded {
            let recorded = recorded::parse(name, &text).map_err(|error| error.to_string())?;
            return Ok(prepared(machine, recorded.into_workload(cpus_of(machine)), None));
        }
        let options = rtapp::Options::for_cpus(cpus_of(machine));
        let workload = rtapp::parse(name, &text, options).map_err(|error| error.to_string())?;
        Ok(prepared(machine, workload, None))
    }

    fn prepare_bench(
        &self,
        case: &RunCase,
        line: &str,
        machine: &str,
        seed: u64,
        benches: &dyn BenchReader,
    ) -> Result<PreparedWorkload, String> {
        let machine = self.machine(machine);
        let BenchSetup { mut workload, meter } = benches.read(line, cpus_of(machine), seed)?;
        if case.groups > 0 {
            if !workload.groups.is_empty() {
                return Err(format!("{line}: has task groups of its own\nhelp: leave `groups` out"));
            }
            put_into_groups(&mut workload, case.groups);
        }
        Ok(prepared(machine, workload, Some(meter)))
    }
}

fn cpus_of(machine: &MachineDescription) -> u32 {
    u32::try_from(machine.nr_cpus()).expect("machines have at most some thousand CPUs")
}

fn prepared(
    machine: &MachineDescription,
    workload: Workload,
    meter: Option<Box<dyn BenchObserver>>,
) -> PreparedWorkload {
    let duration = workload.duration.filter(|duration| *duration > Nanos::ZERO);
    let setup = Setup {
        hardware: Hardware::from_description(machine),
        workload,
        features: Vec::new(),
        tunables: Vec::new(),
        named_tunables: Vec::new(),
        duration: duration.unwrap_or(Nanos::ZERO),
        snapshot_every: None,
        perturb: None,
        policy: None,
    };
    PreparedWorkload { setup, meter, has_length: duration.is_some() }
}

/// Puts all tasks into the innermost of groups that stand in each other.
fn put_into_groups(workload: &mut Workload, levels: u32) {
    let group = |level: u32| GroupSpec {
        name: format!("level{}", level + 1),
        parent: level.checked_sub(1).map(|parent| parent as usize),
        shares: 1024,
        quota: None,
        idle: false,
        uclamp: None,
    };
    workload.groups = (0..levels).map(group).collect();
    for task in &mut workload.tasks {
        task.start.group = Some(Some(levels as usize - 1));
    }
}
