// SPDX-License-Identifier: GPL-2.0-or-later
//! Runs a machine with the rules of [`Findings`] as an observer.

use super::{Finding, Findings, Limits};
use crate::summary_observer::SummaryObserver;
use fairlab_machine::observer::{Observer, Observers};
use fairlab_machine::sim::{Machine, RunError, START};
use fairlab_sched::units::Nanos;

/// Minimum number of samples in a run, however short it is.
const MIN_SAMPLES: u64 = 1000;
/// Longest simulated time between two samples.
const MAX_INTERVAL: Nanos = Nanos::from_millis(10);

/// Returns the simulated time between two calls of [`Findings::sample`] in a run of this length.
pub fn sampling_interval(length: Nanos) -> Nanos {
    Nanos(length.0.div_ceil(MIN_SAMPLES).clamp(1, MAX_INTERVAL.0))
}

/// Runs a machine and returns its findings, the worst first, and the summary observer. `on_progress` is called with
/// the elapsed time after each sample.
///
/// # Errors
/// If a program makes no progress.
pub fn find(
    machine: &mut Machine,
    limits: Limits,
    on_progress: &mut dyn FnMut(Nanos),
) -> Result<(Vec<Finding>, SummaryObserver), RunError> {
    let mut recorder = SummaryObserver::new(machine);
    let mut findings = Findings::new(machine, limits);
    machine.start(&mut both(&mut recorder, &mut findings))?;
    let interval = sampling_interval(machine.duration());
    let mut until = START;
    loop {
        until += interval;
        let has_more = machine.advance(&mut both(&mut recorder, &mut findings), until)?;
        findings.sample(machine);
        on_progress(machine.elapsed());
        if !has_more {
            break;
        }
    }
    machine.finish(&mut both(&mut recorder, &mut findings));
    let families = recorder.families.summaries(machine.now());
    Ok((findings.finish(machine, &families), recorder))
}

fn both<'a>(recorder: &'a mut SummaryObserver, findings: &'a mut Findings) -> Observers<'a> {
    let list: Vec<&mut dyn Observer> = vec![recorder, findings];
    Observers(list)
}
