// SPDX-License-Identifier: GPL-2.0-or-later
//! A run with somebody who looks for what is wrong.

use super::{Finding, Findings, Limits};
use crate::summary_observer::SummaryObserver;
use fairlab_machine::observer::{Observer, Observers};
use fairlab_machine::sim::{Machine, RunError, START};
use fairlab_sched::units::Nanos;

/// In so many parts a run is divided at the least, after each of which there is a look.
const MIN_PARTS: u64 = 1000;
/// No longer is simulated without a look.
const MAX_PART: Nanos = Nanos::from_millis(10);

/// Runs a machine and says what is wrong, the worst first. `told` hears how far it is.
///
/// # Errors
/// If a program makes no progress.
pub fn find(
    machine: &mut Machine,
    limits: Limits,
    told: &mut dyn FnMut(Nanos),
) -> Result<(Vec<Finding>, SummaryObserver), RunError> {
    let mut recorder = SummaryObserver::new(machine);
    let mut findings = Findings::new(machine, limits);
    machine.start(&mut both(&mut recorder, &mut findings))?;
    let length = u128::from(machine.duration().0);
    let parts = u128::from(MIN_PARTS).max(length / u128::from(MAX_PART.0));
    for part in 1..=parts {
        let until = START.0 + u64::try_from(length * part / parts).unwrap_or(u64::MAX - START.0);
        let has_more = machine.advance(&mut both(&mut recorder, &mut findings), Nanos(until))?;
        findings.sample(machine);
        told(machine.elapsed());
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
