// SPDX-License-Identifier: GPL-2.0-or-later
//! Trials: runs that comparisons, sweeps and bisections repeat. A trial with a seed has the result of
//! `fairlab run` or `fairlab bench` with that seed.

use crate::execution::execute::{Shown, execute, one_of_several};
use crate::execution::worker;
use crate::values::arms::{Arm, ArmWork};
use crate::values::error::CliError;
use crate::values::interrupt;
use fairlab_measure::missing_addition::MissingAddition;
use fairlab_measure::summary::{RunSubject, RunSummary};
use fairlab_run::bench::{self, LineOf};
use fairlab_run::input::InputFile;
use fairlab_run::job::{Job, RunOutputs, SwitchStates};
use fairlab_run::prepare::prepare;
use fairlab_run::settings::Settings;
use fairlab_run::spec::{BenchSpec, RunSpec, WorkloadSpec};
use fairlab_sched::units::Nanos;
use serde_json::Value;
use std::collections::BTreeMap;

/// Run that is repeated with several seeds.
#[derive(Clone, Debug)]
pub(crate) struct Trial {
    /// The run without a seed.
    pub(crate) spec: RunSpec,
}

/// Result of a trial.
#[derive(Debug)]
pub(crate) struct TrialResult {
    pub(crate) summary: RunSummary,
    /// Metrics of the benchmark.
    pub(crate) bench: Option<Value>,
    /// Whether kernel code has zero cost on its machine.
    pub(crate) has_zero_costs: bool,
}

/// Callback with the length of a run and the simulated time since the last call.
pub(crate) type TrialProgressFn<'a> = &'a mut dyn FnMut(Nanos, Nanos);

/// Workloads of a command's arms. Each file is read once, since a pipe can only be read once.
pub(crate) struct Workloads<'a> {
    /// The command, for messages about benchmark lines.
    command: &'a str,
    files: BTreeMap<String, InputFile>,
}

impl<'a> Workloads<'a> {
    pub(crate) fn of_command(command: &'a str) -> Self {
        Self { command, files: BTreeMap::new() }
    }

    /// Reads a workload file.
    pub(crate) fn file(&mut self, given: &str) -> Result<WorkloadSpec, CliError> {
        if !self.files.contains_key(given) {
            self.files.insert(given.to_owned(), InputFile::new(given).read_workload()?);
        }
        Ok(WorkloadSpec::File(self.files[given].clone()))
    }

    /// Parses a benchmark's line.
    pub(crate) fn bench(&self, line: &str) -> Result<WorkloadSpec, CliError> {
        bench_from_line(line, self.command)
    }

    /// Returns the command's workload: a file or a benchmark.
    pub(crate) fn of_args(
        &mut self,
        file: Option<&str>,
        bench: Option<&str>,
    ) -> Result<Option<WorkloadSpec>, CliError> {
        match (file, bench) {
            (Some(file), _) => self.file(file).map(Some),
            (None, Some(line)) => self.bench(line).map(Some),
            (None, None) => Ok(None),
        }
    }

    /// Returns the workload of an arm, or the common one.
    pub(crate) fn of_arm(&mut self, arm: &Arm, base: Option<&WorkloadSpec>) -> Result<WorkloadSpec, CliError> {
        match (&arm.work, base) {
            (Some(ArmWork::File(file)), _) => self.file(file),
            (Some(ArmWork::Bench(line)), _) => self.bench(line),
            (None, Some(base)) => Ok(base.clone()),
            (None, None) => {
                let help = "give a workload file, --bench 'LINE', or workload= or bench= in each arm";
                Err(CliError::with_help(format!("arm `{}` has no workload", arm.name), help))
            }
        }
    }
}

/// Parses a benchmark's line for a command that repeats it.
pub(crate) fn bench_from_line(line: &str, command: &str) -> Result<WorkloadSpec, CliError> {
    let benchmark = bench::parse(line, LineOf::Command(command)).map_err(CliError::input)?;
    Ok(WorkloadSpec::Bench(BenchSpec { line: line.to_owned(), benchmark }))
}

/// Gives the compiled kernels of trials that are compared the costs that they have in common.
pub(crate) fn share_costs(trials: &mut [Trial]) {
    Settings::share_costs(trials.iter_mut().map(|trial| &mut trial.spec.settings));
}

impl Trial {
    /// Returns the run with a seed.
    pub(crate) fn with_seed(&self, seed: Option<u64>) -> RunSpec {
        self.spec.clone().with_seed(seed)
    }

    /// Returns the length of a run.
    pub(crate) fn length(&self, seed: Option<u64>) -> Result<Nanos, CliError> {
        Ok(prepare(&self.with_seed(seed))?.setup.duration)
    }

    /// Checks that the trial can be run, and returns its subject, and the additions that its workload uses and its kernel
    /// does not have. A compiled kernel checks what only it knows.
    pub(crate) fn check(&self, seed: Option<u64>) -> Result<(RunSubject, Vec<MissingAddition>), CliError> {
        let about = prepare(&self.with_seed(seed))?.about;
        if self.spec.settings.kernel_engine().is_some() {
            self.switches(seed)?;
        }
        Ok((about.subject, about.missing))
    }

    /// Returns features and tunables at the start of the run.
    pub(crate) fn switches(&self, seed: Option<u64>) -> Result<SwitchStates, CliError> {
        let spec = self.with_seed(seed);
        match spec.settings.kernel_engine() {
            None => Ok(SwitchStates::of(prepare(&spec)?.boot()?.machine.sched())),
            Some(name) => worker::run_captured(name, &Job::Switches { spec: worker::portable(&spec)? }, None),
        }
    }

    pub(crate) fn run(&self, seed: Option<u64>, on_progress: TrialProgressFn<'_>) -> Result<TrialResult, CliError> {
        self.run_with_traces(seed, &RunOutputs::of_summary(), on_progress)
    }

    /// Runs the trial and writes the traces of `outputs`.
    pub(crate) fn run_with_traces(
        &self,
        seed: Option<u64>,
        outputs: &RunOutputs,
        on_progress: TrialProgressFn<'_>,
    ) -> Result<TrialResult, CliError> {
        let mut on_step = one_of_several(on_progress);
        let executed = execute(&self.with_seed(seed), outputs, Shown::OneOfSeveral, &mut on_step);
        // A run that was stopped is not a trial.
        interrupt::check()?;
        let executed = executed?;
        let bench = executed.result.bench.map(|bench| bench.data);
        let summary = executed.result.summary.expect("trials have a summary");
        // On an engine's machine with costs, idling alone takes some kernel time.
        let has_zero_costs = match summary.engine {
            Some(_) => summary.totals.kernel_ns == 0,
            None => executed.hardware.costs.is_zero_cost(),
        };
        Ok(TrialResult { summary, bench, has_zero_costs })
    }
}

impl TrialResult {
    /// Returns the result as JSON: that of `fairlab run --json`, with the benchmark's metrics as `bench`.
    pub(crate) fn json(&self) -> Value {
        let mut json = serde_json::to_value(&self.summary).expect("a summary is JSON");
        json["bench"] = self.bench.clone().unwrap_or(Value::Null);
        // A compiled-kernel engine does not report these; absent is not zero.
        if let (Some(_), Some(keys)) = (&self.summary.engine, json.as_object_mut()) {
            for key in ["placement", "selection", "balance", "measure"] {
                keys.remove(key);
            }
        }
        json
    }
}
