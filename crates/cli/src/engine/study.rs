// SPDX-License-Identifier: GPL-2.0-or-later
//! Runs of a study with an engine. Each has its own worker, which is this command with the names of the case
//! and the arm.

use super::{Engine, Loaded, machine, this_program};
use crate::args::{Plain, StudyRunArgs};
use crate::error::CliError;
use crate::output::Output;
use crate::values::EngineName;
use fairlab_kernel::worker;
use fairlab_machine::sim::Setup;
use fairlab_study::{Begun, Elsewhere, StudyError};
use serde_json::Value;
use std::process::Stdio;

/// Starts workers for the runs of a study.
pub(crate) struct Workers {
    study: String,
    engine: Engine,
    plain: Option<Plain>,
}

impl Workers {
    /// Creates the runner for a study and an engine that was built.
    pub(crate) fn new(study: &str, engine: &str, plain: Option<Plain>) -> Result<Self, CliError> {
        Ok(Self { study: study.to_owned(), engine: Engine::named(engine)?, plain })
    }

    fn refused(&self, case: &str, arm: &str, said: &str) -> StudyError {
        let said = said.trim().trim_start_matches("error: ").split_whitespace().collect::<Vec<_>>().join(" ");
        let (what, help) =
            said.split_once(" help: ").unwrap_or((&said, "choose rows without that arm: --row, --table"));
        let what = format!("arm `{arm}` of run {case}, with kernel:{}: {what}", self.engine.entry.name);
        StudyError::Refused(self.study.clone(), what, help.to_owned())
    }

    fn work(&self, case: &str, arm: &str, seed: u64) -> Result<Value, CliError> {
        let mut command = this_program()?;
        command.args(std::env::args_os().skip(1));
        command.args(["--engine-case", case, "--engine-arm", arm, "--engine-seed", &seed.to_string()]);
        let (ended, report) = self.engine.work(command.stdin(Stdio::null()))?;
        match self.engine.failure(ended.status, report.end.as_ref(), None) {
            Some(CliError::AlreadyReported { .. }) => {
                Err(CliError::Input(String::from_utf8_lossy(&ended.stderr).into_owned()))
            }
            Some(error) => Err(error),
            None => serde_json::from_slice(&ended.stdout).map_err(CliError::run),
        }
    }
}

impl Elsewhere for Workers {
    fn name(&self) -> String {
        let plain = self.plain.map_or_else(String::new, |plain| format!(", machines as with --plain={}", plain.name()));
        format!("kernel:{} (Linux {}{plain})", self.engine.entry.name, self.engine.entry.version)
    }

    fn run(&self, case: &str, arm: &str, seed: u64) -> Result<Value, StudyError> {
        self.work(case, arm, seed).map_err(|error| match error {
            CliError::Input(said) => self.refused(case, arm, &said),
            error => StudyError::Measurement(format!("run {case}, arm {arm}, seed {seed}: {error}")),
        })
    }
}

/// Runs one case of a study in the worker.
pub(crate) fn run_of_worker(
    output: &mut Output,
    args: &StudyRunArgs,
    (mut setup, begun): (Setup, Begun),
) -> Result<(), CliError> {
    let name = args.engine.as_ref().and_then(EngineName::kernel).unwrap_or_default();
    let Some(report) = worker::worker_report_path() else {
        return Err(CliError::Input("--engine-case is for workers\nhelp: omit it".to_owned()));
    };
    match args.plain {
        None => {}
        Some(Plain::Shape) => setup.hardware = setup.hardware.topology_only(),
        Some(Plain::Priced) => setup.hardware = setup.hardware.topology_with_costs(),
    }
    let Loaded { mut machine, _report } = machine(&Engine::named(name)?, setup, &report, &args.study, None)?;
    output.json(&begun.run(&mut machine).map_err(CliError::run)?)
}
