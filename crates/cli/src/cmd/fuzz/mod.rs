// SPDX-License-Identifier: GPL-2.0-or-later
//! `fairlab fuzz`: searches for machines and workloads that break a property, minimises them, and saves them.

mod check;
mod kept;

use crate::args::fuzz::{FuzzArgs, Property};
use crate::output::progress::Progress;
use crate::output::table::Table;
use crate::output::{Output, Styles, wrap};
use crate::values::error::{CliError, command_line, quote_for_shell};
use crate::values::interrupt;
use check::{CaseChecker, FuzzCheck};
use fairlab_fuzz::case::CaseMachine;
use fairlab_fuzz::{FuzzCounts, FuzzFinding, FuzzSearch, scenario, search};
use fairlab_run::input::{InputFile, ReadMachine};
use fairlab_run::prepare::kernel_of;
use fairlab_run::settings::Settings;
use fairlab_sched::units::Nanos;
use fairlab_workload::message::Message;
use kept::{SavedFinding, finding_name};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Properties that are checked by default.
const DEFAULT_PROPERTIES: [Property; 4] =
    [Property::IdleWhileWaiting, Property::Starvation, Property::LateWakeup, Property::UnfairShare];

pub(crate) fn fuzz(output: &mut Output, args: &FuzzArgs) -> Result<(), CliError> {
    args.jobs.apply();
    if let Some(dir) = &args.again {
        return repeat_findings(output, args, dir);
    }
    let looker = CaseChecker { settings: settings_of_cases(args), looked: check_from_args(args) };
    let file = args.settings.settings().machine;
    let machine = file.as_ref().map(InputFile::read_machine).transpose()?;
    let kernel = kernel_of(&looker.settings, None, machine.as_ref().map(|machine| &machine.description));
    // An engine is a kernel of its own.
    let named_kernel = looker.settings.kernel_engine().is_none().then_some(kernel.name);
    let named = |(file, machine): (InputFile, ReadMachine)| {
        CaseMachine::Named(file.given, machine.description.nr_cpus() as u32)
    };
    let asked = FuzzSearch {
        first_seed: args.seed,
        most_cases: args.cases,
        most_findings: args.findings,
        machine: file.zip(machine).map(named),
        switches_of: args.switches.then(|| kernel.series()),
        without: args.without.clone(),
    };
    interrupt::install_handlers();
    let begun = Instant::now();
    let has_more = || begun.elapsed().as_nanos() < u128::from(args.budget.0) && interrupt::requested().is_none();
    let mut progress = Progress::new("searching", args.budget);
    let (mut nr_findings, mut list) = (0, Vec::new());
    let tally = search(&looker, &asked, &has_more, &mut |_, found| {
        let elapsed = u64::try_from(begun.elapsed().as_nanos()).unwrap_or(u64::MAX);
        progress.show(Nanos(elapsed.min(args.budget.0)));
        let Some(found) = found else { return Ok(()) };
        nr_findings += 1;
        progress.clear();
        list.push(report_finding(output, args, &looker, found, nr_findings, named_kernel)?);
        Ok(())
    })?;
    progress.clear();
    if output.is_json() {
        let others = |place: usize| tally.found[place].others;
        for (place, found) in list.iter_mut().enumerate() {
            found["others"] = json!(others(place));
        }
        return output.json(&json!({
            "cases": tally.cases, "broken": tally.broken, "runs": tally.runs, "next_seed": args.seed + tally.cases,
            "ended_by": ended_by(args, &tally), "findings": list,
        }));
    }
    let page = result_text(args, &tally, output.styles());
    output.text(&page)
}

/// Returns the name of the bound that ended the search.
fn ended_by(args: &FuzzArgs, tally: &FuzzCounts) -> &'static str {
    if tally.found.len() >= args.findings {
        "findings"
    } else if tally.cases >= args.cases {
        "cases"
    } else if interrupt::requested().is_some() {
        "interrupt"
    } else {
        "budget"
    }
}

/// Returns the settings of cases without a machine: a case names its machine itself.
fn settings_of_cases(args: &FuzzArgs) -> Settings {
    Settings { machine: None, ..args.settings.settings() }
}

fn check_from_args(args: &FuzzArgs) -> FuzzCheck {
    if let Some(to) = &args.to {
        return FuzzCheck::Worse {
            from: args.from.clone(),
            to: to.clone(),
            metric: args.metric.as_ref().map(|metric| metric.text().to_owned()),
            by_percent: args.by,
        };
    }
    let properties = if args.property.is_empty() { &DEFAULT_PROPERTIES[..] } else { &args.property };
    FuzzCheck::Rules {
        rules: properties.iter().map(|property| property.rule()).collect(),
        idle_ns: args.idle.0,
        latency_ns: args.latency.0,
        starvation_ns: args.starvation.0,
    }
}

/// Prints a finding, and saves it if a directory was given.
fn report_finding(
    output: &mut Output,
    args: &FuzzArgs,
    looker: &CaseChecker,
    found: &FuzzFinding,
    number: usize,
    kernel: Option<&str>,
) -> Result<Value, CliError> {
    let because = looker.explain_violation(scenario::text(&found.case, &[], None), &found.broken)?;
    let kept = SavedFinding {
        property: found.broken.property.clone(),
        looked: looker.looked.clone(),
        sentence: found.broken.sentence.clone(),
        worst: found.broken.worst,
        at_ns: found.broken.at_ns,
        because,
        seed: found.seed,
        command: quote_for_shell(&command_line()),
    };
    let folder: Option<PathBuf> =
        args.output.as_deref().map(|dir| kept::write(dir, found, &kept, kernel)).transpose()?;
    let name = finding_name(&kept.property, &found.ingredients);
    if !output.is_json() {
        let styles = output.styles();
        let mut text = format!("{}\n", styles.bold(&format!("{number}  {name}")));
        text.push_str(&wrap(&format!("   {}.", kept.sentence.trim_end_matches('.')), 3));
        if let Some(first) = kept.because.first() {
            text.push_str(&wrap(&format!("   {first}"), 3));
        }
        for line in scenario::text(&found.case, &[], kernel).lines() {
            text.push_str(&format!("     {line}\n"));
        }
        text.push('\n');
        output.text(&text)?;
        output.flush()?;
    }
    Ok(json!({
        "name": name, "property": kept.property, "ingredients": found.ingredients, "worst": kept.worst, "sentence": kept.sentence,
        "because": kept.because, "at_ns": kept.at_ns, "seed": kept.seed, "runs": found.runs,
        "scenario": scenario::text(&found.case, &[], kernel), "folder": folder.map(|folder| folder.display().to_string()),
    }))
}

fn result_text(args: &FuzzArgs, tally: &FuzzCounts, styles: Styles) -> String {
    let mut text = String::new();
    if !tally.found.is_empty() {
        let mut table =
            Table::default().right(["#"]).wrapped("finding").right(["worst", "tasks", "CPUs", "seed", "alike"]);
        for (number, found) in tally.found.iter().enumerate() {
            let worst = match args.to {
                None => Nanos(found.broken.worst as u64).to_string(),
                Some(_) => format!("{:.0}%", found.broken.worst),
            };
            let finding = finding_name(&found.broken.property, &found.ingredients);
            let (tasks, cpus) = (found.case.nr_tasks().to_string(), found.case.machine.nr_cpus().to_string());
            let (number, seed, others) = ((number + 1).to_string(), found.seed.to_string(), found.others.to_string());
            table.text_row([number, finding, worst, tasks, cpus, seed, others]);
        }
        text.push_str(&table.render(styles));
        text.push('\n');
    }
    let found = match tally.found.len() {
        0 => "no findings".to_owned(),
        1 => "1 finding".to_owned(),
        number => format!("{number} findings"),
    };
    let line = format!(
        "{found} in {} cases, of which {} broke a property; {} runs in all. --seed {} continues from here.",
        tally.cases,
        tally.broken,
        tally.runs,
        args.seed + tally.cases
    );
    text.push_str(&wrap(&line, 2));
    if ended_by(args, tally) == "findings" {
        let line = format!(
            "The search ended after {} findings, before the budget of {}: --findings N searches for more.",
            args.findings, args.budget
        );
        text.push_str(&wrap(&line, 2));
    }
    match &args.output {
        Some(dir) if !tally.found.is_empty() => {
            let line = format!(
                "Saved in {}: scenarios, rt-app files, scripts; `fairlab fuzz --again {}` repeats them.",
                dir.display(),
                dir.display()
            );
            text.push_str(&wrap(&line, 2));
        }
        None if !tally.found.is_empty() => text.push_str("-o DIR saves the findings.\n"),
        _ => {}
    }
    text
}
fn repeat_findings(output: &mut Output, args: &FuzzArgs, dir: &Path) -> Result<(), CliError> {
    let (mut rows, mut broken) = (Vec::new(), 0);
    let mut table = Table::default().wrapped("finding").right(["then", "now"]);
    for (name, kept, text) in kept::read(dir)? {
        let looker = CaseChecker { settings: args.settings.settings(), looked: kept.looked.clone() };
        let now = looker.check_case(text)?.into_iter().find(|broken| broken.property == kept.property);
        broken += usize::from(now.is_some());
        let figure = |worst: f64| match kept.looked {
            FuzzCheck::Rules { .. } => Nanos(worst as u64).to_string(),
            FuzzCheck::Worse { .. } => format!("{worst:.0}%"),
        };
        let state = now.as_ref().map_or_else(|| "holds".to_owned(), |now| figure(now.worst));
        table.row(vec![name.clone().into(), figure(kept.worst).into(), state.into()]);
        rows.push(json!({ "name": name, "then": kept.worst, "now": now.map(|now| now.worst) }));
    }
    output.json_or_text(&rows, |styles| table.render(styles))?;
    if broken > 0 {
        return Err(CliError::Gate(Message::new(format!(
            "{broken} of {} findings still break their property",
            rows.len()
        ))));
    }
    Ok(())
}
