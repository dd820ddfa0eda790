// SPDX-License-Identifier: GPL-2.0-or-later
//! Features and tunables of compiled kernels, for the commands that list them.

use crate::execution::worker::{self, Engine};
use crate::values::error::CliError;
use fairlab_machine::engine::unknown_switch;
use fairlab_run::input::InputFile;
use fairlab_run::job::{Job, SwitchStates};
use fairlab_run::kernels::Kernel;
use fairlab_run::settings::Settings;
use fairlab_run::spec::{RunSpec, WorkloadSpec};
use fairlab_run::values::parse_engine;
use fairlab_workload::message::Message;
use std::collections::BTreeMap;

/// Features and tunables of a compiled kernel after its boot, with the descriptions in its source.
pub(crate) struct EngineSwitches {
    pub(crate) states: SwitchStates,
    meanings: BTreeMap<String, String>,
}

impl EngineSwitches {
    /// Returns the first paragraph of a description in the source, or fairlab's own.
    pub(crate) fn meaning(&self, name: &str, own: Option<&str>) -> String {
        let of_tree = self.meanings.get(name).and_then(|text| text.lines().next());
        of_tree.or(own).unwrap_or_default().to_owned()
    }
}

/// Boots an engine on a machine with this number of CPUs and returns its features and tunables.
pub(crate) fn of_engine(name: &str, nr_cpus: usize) -> Result<EngineSwitches, CliError> {
    let text = format!("cpus {nr_cpus}\nend 1ms\n");
    let workload = WorkloadSpec::File(InputFile::new("idle.scn").with_text(text));
    let engine = parse_engine(&format!("kernel:{name}")).map_err(CliError::input)?;
    let settings = Settings { engine: Some(engine), ..Settings::default() };
    let states = worker::run_captured(name, &Job::Switches { spec: RunSpec { workload, settings } }, None)?;
    Ok(EngineSwitches { states, meanings: Engine::named(name)?.meanings()? })
}

/// Returns the name to which a list is limited.
pub(crate) fn only<'a>(
    kind: &str,
    name: Option<&'a str>,
    known: impl Iterator<Item = &'a str>,
) -> Result<Option<&'a str>, CliError> {
    let known: Vec<&str> = known.collect();
    match name {
        Some(name) if !known.contains(&name) => {
            Err(CliError::Input(Message::new(unknown_switch(kind, name, known.into_iter()).to_string())))
        }
        name => Ok(name),
    }
}

/// Returns the title of the column with defaults.
pub(crate) fn kernel_column(kernel: Kernel, engine: Option<&str>) -> String {
    engine.map_or_else(|| kernel.name.to_owned(), |name| format!("kernel:{name}"))
}
