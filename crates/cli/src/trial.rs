// SPDX-License-Identifier: GPL-2.0-or-later
//! Trials: runs that comparisons, sweeps and bisections repeat. A trial with a seed has the result of
//! `fairlab run` or `fairlab bench` with that seed.

use crate::args::VariantArgs;
use crate::arms::{Arm, ArmWork};
use crate::cmd::bench::args::Bench;
use crate::cmd::bench::{self as bench_command, ReadyBench, line, new_machine, prepare};
use crate::cmd::run::{RunObservers, advance_interruptible, simulate_with_progress};
use crate::engine;
use crate::engine::trial::{TrialInput, Wanted};
use crate::error::CliError;
use crate::exports::ExportArgs;
use crate::input::{self, WorkloadText};
use crate::interrupt;
use crate::plan::{Choices, Plan, Prepared};
use fairlab_machine::engine::Engine;
use fairlab_machine::observer::Observers;
use fairlab_machine::sim::{Machine, START};
use fairlab_observe::bench::{self, BenchObserver, BenchObserverRef, RunProgress};
use fairlab_observe::summary::{RunSubject, RunSummary};
use fairlab_observe::summary_observer::SummaryObserver;
use fairlab_sched::features::Feature;
use fairlab_sched::tunables::TUNABLES;
use fairlab_sched::units::Nanos;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Workload of a trial.
#[derive(Clone, Debug)]
pub(crate) enum Work {
    /// Workload file, read once for all its runs.
    File(Arc<WorkloadText>),
    /// Line of a benchmark.
    Bench(String),
}

impl Work {
    /// Returns the name of the file, or the benchmark's line.
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::File(text) => &text.name,
            Self::Bench(line) => line,
        }
    }
}

/// Workload, settings and duration of a trial.
#[derive(Clone, Debug)]
pub(crate) struct Trial {
    pub(crate) work: Work,
    pub(crate) variant: VariantArgs,
    pub(crate) duration: Option<Nanos>,
    /// Simulated time before anything is measured.
    pub(crate) warmup: Nanos,
    /// Also randomise start times and random run lengths, from the seed.
    pub(crate) vary: bool,
}

/// Features and tunables of a scheduler.
pub(crate) struct Settings {
    pub(crate) features: Vec<(Feature, bool)>,
    pub(crate) tunables: Vec<(&'static str, i64)>,
}

/// Result of a trial.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct TrialResult {
    pub(crate) summary: RunSummary,
    /// Metrics of the benchmark.
    pub(crate) bench: Option<Value>,
}

/// Callback with the length of a run and the simulated time since the last call.
pub(crate) type TrialProgressFn<'a> = &'a mut dyn FnMut(Nanos, Nanos);

/// Workload files by path. Each is read once, since a pipe can only be read once.
#[derive(Default)]
pub(crate) struct Files(BTreeMap<String, Arc<WorkloadText>>);

impl Files {
    /// Reads a workload file.
    pub(crate) fn read(&mut self, given: &str) -> Result<Work, CliError> {
        if !self.0.contains_key(given) {
            self.0.insert(given.to_owned(), Arc::new(input::workload(given)?));
        }
        Ok(Work::File(Arc::clone(&self.0[given])))
    }

    /// Returns the workload of an arm, or the common one.
    pub(crate) fn of_arm(&mut self, arm: &Arm, base: Option<&Work>) -> Result<Work, CliError> {
        match (&arm.work, base) {
            (Some(ArmWork::File(file)), _) => self.read(file),
            (Some(ArmWork::Bench(line)), _) => Ok(Work::Bench(line.clone())),
            (None, Some(base)) => Ok(base.clone()),
            (None, None) => {
                let help = "give a workload file, --bench 'LINE', or workload= or bench= in each arm";
                Err(CliError::Input(format!("arm `{}` has no workload\nhelp: {help}", arm.name)))
            }
        }
    }
}

impl Trial {
    fn choices(&self, seed: Option<u64>) -> Choices {
        Choices { duration: self.duration, seed, vary: self.vary, ..Choices::default() }
    }

    /// Prepares a file's run with a seed. The warm-up precedes its duration.
    pub(crate) fn plan(&self, text: &Arc<WorkloadText>, seed: Option<u64>) -> Result<Plan, CliError> {
        let mut choices = self.choices(seed);
        if self.warmup > Nanos::ZERO {
            let help = "set the measured time, such as --for 500ms";
            let duration = self.duration.ok_or_else(|| {
                CliError::Input(format!("{}: a warm-up needs a measured time after it\nhelp: {help}", text.name))
            })?;
            choices.duration = Some(Nanos(duration.0.saturating_add(self.warmup.0)));
        }
        Plan::of(Arc::clone(text), None, &self.variant, choices)
    }

    /// Prepares a file's run for any engine.
    fn prepared(&self, text: &Arc<WorkloadText>, seed: Option<u64>) -> Result<Prepared, CliError> {
        Prepared::of(Arc::clone(text), None, &self.variant, self.choices(seed))
    }

    /// Returns the length of a file's run without its warm-up.
    pub(crate) fn length(&self, text: &Arc<WorkloadText>, seed: Option<u64>) -> Result<Nanos, CliError> {
        Ok(self.prepared(text, seed)?.setup.duration)
    }

    /// Checks that the trial can be run, and returns its subject.
    pub(crate) fn check(&self, seed: Option<u64>, behind: &str) -> Result<RunSubject, CliError> {
        match &self.work {
            Work::File(text) => Ok(self.prepared(text, seed)?.about.subject),
            Work::Bench(line) => {
                let bench_command::PreparedBench { about, setup, .. } = self.prepared_bench(line, seed, behind)?;
                Ok(subject(&about, line, &setup.hardware.name))
            }
        }
    }

    /// Returns features and tunables at the start of the run.
    pub(crate) fn settings(&self, seed: Option<u64>, behind: &str) -> Result<Settings, CliError> {
        let machine = match &self.work {
            Work::File(text) => self.plan(text, seed)?.machine,
            Work::Bench(line) => self.ready(line, seed, behind)?.machine,
        };
        let sched = machine.sched();
        Ok(Settings {
            features: Feature::ALL.iter().map(|&feature| (feature, sched.features().has(feature))).collect(),
            tunables: TUNABLES.iter().map(|info| (info.name, info.get(sched.tunables()))).collect(),
        })
    }

    fn prepared_bench(
        &self,
        line: &str,
        seed: Option<u64>,
        behind: &str,
    ) -> Result<bench_command::PreparedBench, CliError> {
        let bench: Bench = line::parse(line, seed, behind).map_err(CliError::Input)?;
        prepare(&bench, &self.variant, self.warmup, self.choices(seed))
    }

    fn ready(&self, line: &str, seed: Option<u64>, behind: &str) -> Result<ReadyBench, CliError> {
        let bench: Bench = line::parse(line, seed, behind).map_err(CliError::Input)?;
        new_machine(&bench, &self.variant, self.warmup, self.choices(seed))
    }
    pub(crate) fn run(&self, seed: Option<u64>, on_progress: TrialProgressFn<'_>) -> Result<TrialResult, CliError> {
        let result = match &self.work {
            Work::File(text) => self.run_file(text, seed, on_progress),
            Work::Bench(line) => self.run_bench(line, seed, on_progress),
        };
        // A run that was stopped is not a trial.
        interrupt::requested().map_or(result, |signal| Err(CliError::Stopped { signal }))
    }

    fn run_file(
        &self,
        text: &Arc<WorkloadText>,
        seed: Option<u64>,
        on_progress: TrialProgressFn<'_>,
    ) -> Result<TrialResult, CliError> {
        if let Some(engine) = self.variant.kernel_engine() {
            return self.run_with(engine, seed, on_progress);
        }
        let mut plan = self.plan(text, seed)?;
        let mut listeners = RunObservers::for_summary(&plan.machine);
        let failed = |error| CliError::run(format!("{}: {error}", text.name));
        let (length, mut shown) = (plan.machine.duration(), Nanos::ZERO);
        let mut report_progress =
            |elapsed: Nanos| on_progress(length, elapsed - std::mem::replace(&mut shown, elapsed));
        if self.warmup > Nanos::ZERO {
            plan.machine.start(&mut listeners).map_err(failed)?;
            let has_more =
                advance_interruptible(&mut plan.machine, &mut listeners, START + self.warmup).map_err(failed)?;
            let recorder = listeners.recorder.as_mut().expect("trials are recorded");
            recorder.reset(&plan.machine, START + self.warmup);
            if has_more {
                advance_interruptible(&mut plan.machine, &mut listeners, Nanos(u64::MAX)).map_err(failed)?;
            }
            plan.machine.finish(&mut listeners);
            report_progress(length);
        } else {
            simulate_with_progress(&mut plan.machine, &mut listeners, &mut report_progress).map_err(failed)?;
        }
        let recorder = listeners.recorder.expect("trials are recorded");
        Ok(TrialResult { summary: RunSummary::new(plan.about.subject, &plan.machine, &recorder), bench: None })
    }

    /// Returns the request for a worker with a compiled-kernel engine.
    pub(crate) fn wanted(&self, seed: Option<u64>) -> Wanted<'_> {
        let what = match &self.work {
            Work::File(text) => TrialInput::File(text),
            Work::Bench(line) => TrialInput::Bench(line),
        };
        Wanted { what, variant: &self.variant, choices: self.choices(seed), warmup: self.warmup, exports: None }
    }

    /// Runs the trial with a compiled-kernel engine whose worker writes traces.
    pub(crate) fn run_with_traces(
        &self,
        seed: Option<u64>,
        exports: &ExportArgs,
        on_progress: TrialProgressFn<'_>,
    ) -> Result<TrialResult, CliError> {
        let Some(engine) = self.variant.kernel_engine() else { return self.run(seed, on_progress) };
        let result = engine::trial::trial(engine, &Wanted { exports: Some(exports), ..self.wanted(seed) })?;
        let length = Nanos(result.summary.duration_ns);
        on_progress(length, length);
        interrupt::requested().map_or(Ok(result), |signal| Err(CliError::Stopped { signal }))
    }

    /// Runs the trial with a compiled-kernel engine.
    fn run_with(
        &self,
        engine: &str,
        seed: Option<u64>,
        on_progress: TrialProgressFn<'_>,
    ) -> Result<TrialResult, CliError> {
        let result = engine::trial::trial(engine, &self.wanted(seed))?;
        let length = Nanos(result.summary.duration_ns);
        on_progress(length, length);
        Ok(result)
    }

    fn run_bench(
        &self,
        line: &str,
        seed: Option<u64>,
        on_progress: TrialProgressFn<'_>,
    ) -> Result<TrialResult, CliError> {
        if let Some(engine) = self.variant.kernel_engine() {
            return self.run_with(engine, seed, on_progress);
        }
        let ReadyBench { about, mut machine, mut meter } = self.ready(line, seed, "fairlab compare")?;
        measure(&about, &mut machine, &mut *meter, self.warmup, line, on_progress)
    }
}

fn subject(about: &bench_command::BenchContext, line: &str, machine: &str) -> RunSubject {
    RunSubject {
        workload: line.to_owned(),
        kind: about.name.to_owned(),
        machine: machine.to_owned(),
        kernel: about.kernel.to_owned(),
    }
}

/// Runs a benchmark as one of several runs, on a machine of any engine.
pub(crate) fn measure<E: Engine>(
    about: &bench_command::BenchContext,
    machine: &mut Machine<E>,
    meter: &mut dyn BenchObserver,
    warmup: Nanos,
    line: &str,
    on_progress: TrialProgressFn<'_>,
) -> Result<TrialResult, CliError> {
    let failed = |error| CliError::run(format!("{line}: {error}"));
    let mut recorder = SummaryObserver::new(machine);
    let has_more = || interrupt::requested().is_none();
    bench::warm_up(machine, &mut Observers(vec![&mut BenchObserverRef(meter), &mut recorder]), warmup, &mut |_| {
        has_more()
    })
    .map_err(failed)?;
    if warmup > Nanos::ZERO {
        meter.reset();
        recorder.reset(machine, START + warmup);
    }
    let (length, mut shown) = (machine.duration(), Nanos::ZERO);
    let mut report_progress = |elapsed: Nanos| on_progress(length, elapsed - std::mem::replace(&mut shown, elapsed));
    let on_slice = &mut |elapsed: Nanos| {
        report_progress(elapsed);
        has_more()
    };
    bench::run_to_end(machine, &mut Observers(vec![&mut BenchObserverRef(meter), &mut recorder]), on_slice)
        .map_err(failed)?;
    // A benchmark may finish early; the progress counts its whole length.
    report_progress(length);
    let mut data = meter.outcome(RunProgress::from_machine(machine), machine.duration().saturating_since(warmup)).data;
    take_off(&mut data, about.later);
    let subject = subject(about, line, &machine.hardware().name);
    Ok(TrialResult { summary: RunSummary::new(subject, machine, &recorder), bench: Some(data) })
}

/// Subtracts a randomised start time: a benchmark that measures its duration counts from its own start.
fn take_off(data: &mut Value, later: Nanos) {
    let Some(time) = data["time_s"].as_f64().filter(|time| later > Nanos::ZERO && *time > 0.0) else { return };
    let own = time - later.0 as f64 / 1e9;
    data["time_s"] = json!(own);
    for (key, times) in [("usecs_per_op", own / time), ("ops_per_s", time / own)] {
        if let Some(value) = data[key].as_f64() {
            data[key] = json!(value * times);
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_benchmark_takes_is_counted_from_its_own_begin() {
        let mut data = json!({ "time_s": 0.5, "is_done": true, "usecs_per_op": 5.0, "ops_per_s": 200_000.0 });
        take_off(&mut data, Nanos::from_millis(100));
        assert_eq!((data["time_s"].as_f64(), data["usecs_per_op"].as_f64()), (Some(0.4), Some(4.0)));
        assert_eq!(data["ops_per_s"].as_f64(), Some(250_000.0));
        let mut other = json!({ "sum": 5.0 });
        take_off(&mut other, Nanos::from_millis(100));
        assert_eq!(other, json!({ "sum": 5.0 }));
    }
}
