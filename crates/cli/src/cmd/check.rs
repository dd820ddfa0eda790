// SPDX-License-Identifier: GPL-2.0-or-later
//! `fairlab check`: whether a workload file is one, fits its machine, and runs with all invariants of the scheduler kept.

use super::run::{Listeners, simulate};
use crate::args::CheckArgs;
use crate::error::CliError;
use crate::output::Output;
use crate::plan::{Choices, Plan};
use serde::Serialize;

#[derive(Serialize)]
struct Verdict<'a> {
    file: &'a str,
    kind: &'a str,
    machine: &'a str,
    cpus: usize,
    tasks: usize,
    simulated_ns: u64,
    events: u64,
    digest: String,
    /// Whether the scheduler's invariants were checked after every event.
    invariants_checked: bool,
    warnings: &'a [String],
}

/// Runs the command.
pub(crate) fn check(output: &mut Output, args: &CheckArgs) -> Result<(), CliError> {
    let choices = Choices { is_check: true, keep_duplicate_keys: args.keep_duplicate_keys, ..Choices::default() };
    let mut plan = Plan::new(&args.file, &args.variant, choices)?;
    plan.machine.check_every_event(std::env::args().collect::<Vec<_>>().join(" "));
    let mut listeners = Listeners::recording(&plan.machine);
    let name = plan.input.name.clone();
    simulate(&mut plan.machine, &mut listeners).map_err(|error| CliError::run(format!("{name}: {error}")))?;
    let machine = &plan.machine;
    let verdict = Verdict {
        file: &name,
        kind: &plan.subject.kind,
        machine: &plan.subject.machine,
        cpus: machine.hardware().nr_cpus(),
        tasks: machine.tasks().len(),
        simulated_ns: machine.duration().0,
        events: machine.counters().events,
        digest: machine.digest().to_string(),
        invariants_checked: true,
        warnings: &machine.workload().warnings,
    };
    if output.is_json() {
        return output.json(&verdict);
    }
    for warning in verdict.warnings {
        output.warn(warning)?;
    }
    let on = if plan.machine_text.is_some() { format!(" on {}", verdict.machine) } else { String::new() };
    output.text(&format!(
        "{}: OK: {}{on}, {} CPUs, {} tasks; {} simulated, invariants checked after {} events; digest {}\n",
        verdict.file,
        verdict.kind,
        verdict.cpus,
        verdict.tasks,
        machine.duration(),
        verdict.events,
        verdict.digest
    ))
}
