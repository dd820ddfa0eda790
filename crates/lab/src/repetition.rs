// SPDX-License-Identifier: GPL-2.0-or-later
//! A run that is one of several repetitions.

use fairlab_measure::measured_run::MeasuredRun;
use fairlab_measure::summary::RunSummary;
use fairlab_run::drive::drive;
use fairlab_run::error::RequestError;
use fairlab_run::observers::RunObservers;
use fairlab_run::prepare::{ReadyRun, prepare};
use fairlab_run::result::RunResult;
use fairlab_run::spec::RunSpec;
use fairlab_run::values::Starts;

/// Runs a spec to its end, as `fairlab compare` does for a repetition: start times and random run lengths follow from the
/// seed, and what the kernel does not have is left out of the workload.
///
/// # Errors
/// If the spec is wrong, or a program makes no progress.
pub fn run_repetition(spec: &RunSpec, seed: u64) -> Result<MeasuredRun<RunSummary>, RequestError> {
    let mut spec = spec.clone().with_seed(Some(seed));
    spec.settings.starts = Starts::Jittered;
    let ReadyRun { mut machine, about, bench } = prepare(&spec)?.boot()?;
    let whole = machine.duration();
    let mut observers = RunObservers { bench, ..RunObservers::for_summary(&machine) };
    drive(&mut machine, &mut observers, about.warmup, &mut |_| true)
        .map_err(|error| RequestError::Run(error.into()))?;
    let result = RunResult::new(&machine, observers, &about, whole);
    Ok(MeasuredRun {
        subject: about.subject,
        missing: about.missing,
        has_zero_costs: machine.hardware().costs.is_zero_cost(),
        summary: result.summary.expect("a summary was asked for"),
        bench: result.bench.map(|bench| bench.data),
    })
}
