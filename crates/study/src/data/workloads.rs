// SPDX-License-Identifier: GPL-2.0-or-later
//! Workloads and machines of a study's runs: files next to the study's file, benchmark command lines, and
//! machines by name or path.

use super::runs::{RunCase, WorkloadSource};
use super::tasks::rtapp_of;
use crate::error::of_run;
use fairlab_board::MachineDescription;
use fairlab_machine::hardware::Hardware;
use fairlab_machine::sim::Setup;
use fairlab_measure::bench::BenchObserver;
use fairlab_run::bench::{self, LineOf};
use fairlab_run::kernels::Kernel;
use fairlab_run::prepare::{kernel_of, switch_names};
use fairlab_run::settings::Settings;
use fairlab_run::values::kernel_from_name;
use fairlab_sched::units::Nanos;
use fairlab_workload::load::{WorkloadKind, detect};
use fairlab_workload::message::Message;
use fairlab_workload::scenario::ParseContext;
use fairlab_workload::source_text::utf8_text;
use fairlab_workload::workload::{GroupSpec, Workload};
use fairlab_workload::{recorded, rtapp, scenario};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Contents of the files and machines that a study names.
#[derive(Debug)]
pub(crate) struct InputFiles {
    /// Directory of the study's file; `None` for a built-in study.
    directory: Option<PathBuf>,
    machines: BTreeMap<String, MachineDescription>,
    files: BTreeMap<String, String>,
}

/// Workload on a machine, before an arm changes the setup.
pub(crate) struct PreparedWorkload {
    pub(crate) setup: Setup,
    /// Kernel of the run: that of the settings, of the scenario or of the machine file, or the default.
    pub(crate) kernel: Kernel,
    pub(crate) meter: Option<Box<dyn BenchObserver>>,
    /// Whether the workload itself defines its length.
    pub(crate) has_length: bool,
}

impl InputFiles {
    /// Reads the machines and files that runs name. A machine's name is that of a preset, or of a file next
    /// to the study's.
    ///
    /// # Errors
    /// If a file or machine cannot be read. `study` is the study's file.
    pub(crate) fn read<'a>(
        study: &str,
        directory: Option<&Path>,
        cases: impl Iterator<Item = (&'a RunCase, Vec<String>)>,
    ) -> Result<Self, Message> {
        let mut home =
            Self { directory: directory.map(Path::to_owned), machines: BTreeMap::new(), files: BTreeMap::new() };
        for (case, machines) in cases {
            home.read_inputs_of(case, &machines).map_err(|error| of_run(study, &case.name, error))?;
        }
        Ok(home)
    }

    fn read_inputs_of(&mut self, case: &RunCase, machines: &[String]) -> Result<(), Message> {
        machines.iter().try_for_each(|machine| self.read_machine(machine))?;
        match &case.source {
            WorkloadSource::File(file) => self.read_file(file),
            _ => Ok(()),
        }
    }

    fn read_machine(&mut self, name: &str) -> Result<(), Message> {
        if self.machines.contains_key(name) {
            return Ok(());
        }
        let beside = self.path_beside(name).filter(|path| path.exists());
        let given = beside.map_or_else(|| name.to_owned(), |path| path.display().to_string());
        let description = fairlab_board::load(&given)?;
        self.machines.insert(name.to_owned(), description);
        Ok(())
    }

    fn read_file(&mut self, name: &str) -> Result<(), Message> {
        let wrong = |file: &str, text: String| {
            let help = "`file` is the path of an rt-app file or a scenario, relative to the study's file";
            Message::in_file(file, text).with_help(help)
        };
        let path = self.path_beside(name).ok_or_else(|| wrong(name, "a built-in study has no files".to_owned()))?;
        let bytes = std::fs::read(&path)
            .map_err(|error| wrong(&path.display().to_string(), format!("cannot be read: {error}")))?;
        let text = utf8_text(name, &bytes)?;
        self.files.insert(name.to_owned(), text.to_owned());
        Ok(())
    }

    fn path_beside(&self, name: &str) -> Option<PathBuf> {
        self.directory.as_ref().map(|directory| directory.join(name))
    }

    /// Returns the description of a machine that a run names.
    ///
    /// # Panics
    /// If no run names it.
    pub(crate) fn machine(&self, name: &str) -> &MachineDescription {
        self.machines.get(name).unwrap_or_else(|| panic!("machine {name} was read with its run"))
    }

    /// Returns the workload of a case with a seed, set up on a machine. `settings` are those of the run: they may
    /// select the kernel.
    ///
    /// # Errors
    /// A description of the error in the workload, with a remedy.
    pub(crate) fn prepare(
        &self,
        case: &RunCase,
        machine: &str,
        settings: &Settings,
        seed: u64,
    ) -> Result<PreparedWorkload, Message> {
        let (name, text) = match &case.source {
            WorkloadSource::Bench(line) => return self.prepare_bench(case, line, machine, settings, seed),
            WorkloadSource::File(file) => (file.as_str(), self.files[file].clone()),
            WorkloadSource::RtApp(text) | WorkloadSource::Scenario(text) => (case.name.as_str(), text.clone()),
            WorkloadSource::Tasks(families) => (case.name.as_str(), rtapp_of(families, seed)),
        };
        let kind = match &case.source {
            WorkloadSource::Scenario(_) => WorkloadKind::Scenario,
            WorkloadSource::RtApp(_) | WorkloadSource::Tasks(_) => WorkloadKind::RtApp,
            _ => detect(name, &text)?,
        };
        if kind == WorkloadKind::Scenario {
            return prepare_scenario(name, &text, settings);
        }
        let machine = self.machine(machine);
        if kind == WorkloadKind::Recorded {
            let recorded = recorded::parse(name, &text)?;
            let mut prepared = prepared(machine, recorded.into_workload(cpus_of(machine)), settings, None);
            // A recording contains its own background.
            prepared.setup.hardware.background = false;
            return Ok(prepared);
        }
        let kernel = kernel_of(settings, None, Some(machine));
        let options = rtapp::RtAppOptions {
            switch_names: switch_names(settings, kernel),
            ..rtapp::RtAppOptions::for_cpus(kernel.series(), cpus_of(machine))
        };
        let workload = rtapp::parse(name, &text, options)?;
        Ok(prepared(machine, workload, settings, None))
    }

    fn prepare_bench(
        &self,
        case: &RunCase,
        line: &str,
        machine: &str,
        settings: &Settings,
        seed: u64,
    ) -> Result<PreparedWorkload, Message> {
        let machine = self.machine(machine);
        let nr_cpus = cpus_of(machine);
        let benchmark = bench::parse(line, LineOf::Study)?.for_run(nr_cpus, machine.processor().is_some(), seed);
        let (mut workload, meter) = (benchmark.workload(nr_cpus), bench::observer(&benchmark));
        if case.groups > 0 {
            if !workload.groups.is_empty() {
                return Err(Message::new(format!("{line}: already has task groups")).with_help("leave `groups` out"));
            }
            put_into_groups(&mut workload, case.groups);
        }
        Ok(prepared(machine, workload, settings, Some(meter)))
    }
}

fn cpus_of(machine: &MachineDescription) -> u32 {
    u32::try_from(machine.nr_cpus()).expect("machines have at most some thousand CPUs")
}

fn prepare_scenario(name: &str, text: &str, settings: &Settings) -> Result<PreparedWorkload, Message> {
    let kernel = Cell::new(None);
    let kernel_lookup = |name: Option<&str>| {
        let of_run = kernel_of(settings, name.map(kernel_from_name).transpose()?, None);
        kernel.set(Some(of_run));
        Ok(switch_names(settings, of_run))
    };
    let named = &|_: &str| Err(Message::new("a scenario of a study describes its machine with `cpus`"));
    let context = ParseContext { given: None, named, vary: None, kernel: &kernel_lookup };
    let scenario = scenario::parse_with_context(name, text, context)?;
    let kernel = kernel.get().expect("the parser looks up the kernel of each file");
    Ok(PreparedWorkload { setup: Setup::from_scenario(scenario), kernel, meter: None, has_length: true })
}

fn prepared(
    machine: &MachineDescription,
    workload: Workload,
    settings: &Settings,
    meter: Option<Box<dyn BenchObserver>>,
) -> PreparedWorkload {
    let duration = workload.duration.filter(|duration| *duration > Nanos::ZERO);
    let kernel = kernel_of(settings, None, Some(machine));
    let hardware = Hardware::from_description(machine);
    let setup = Setup::new(kernel.series(), hardware, workload, duration.unwrap_or(Nanos::ZERO));
    PreparedWorkload { setup, kernel, meter, has_length: duration.is_some() }
}

/// Creates nested task groups, and puts all tasks into the innermost one.
fn put_into_groups(workload: &mut Workload, levels: u32) {
    let group = |level: usize| GroupSpec::new(format!("level{}", level + 1), level.checked_sub(1));
    workload.groups = (0..levels as usize).map(group).collect();
    for task in &mut workload.tasks {
        task.start.group = Some(Some(levels as usize - 1));
    }
}
