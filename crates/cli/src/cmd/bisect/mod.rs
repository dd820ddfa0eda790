// SPDX-License-Identifier: GPL-2.0-or-later
//! `fairlab bisect`: finds the switch, or the smallest set of switches, that makes the difference between two
//! arms.

mod switches;

use crate::args::bisect::BisectArgs;
use crate::execution::trial::{Trial, Workloads, share_costs};
use crate::output::figures::counted;
use crate::output::table::Table;
use crate::output::{Output, Styles, wrap};
use crate::values::arms::Arm;
use crate::values::error::CliError;
use fairlab_experiment::bisect::{BisectOptions, Culprits, SwitchEffect, find};
use fairlab_experiment::metrics::Metric;
use fairlab_experiment::report::values::{metric_text, signed};
use fairlab_run::spec::{RunSpec, WorkloadSpec};
use fairlab_run::values::Starts;
use serde_json::json;
use switches::{ArmDifference, BisectEnds};

pub(crate) fn bisect(output: &mut Output, args: &BisectArgs) -> Result<(), CliError> {
    args.jobs.apply();
    let mut workloads = Workloads::of_command("fairlab bisect");
    let work = workloads.of_args(args.work.file.as_deref(), args.work.bench.as_deref())?;
    let work = work.expect("there is a file or a benchmark");
    let mut settings = args.work.settings.settings();
    if !args.hold_still {
        settings.starts = Starts::Jittered;
    }
    let mut of = |arm: &Arm| {
        let spec = RunSpec { workload: workloads.of_arm(arm, Some(&work))?, settings: settings.clone() };
        Ok::<_, CliError>(Trial { spec: spec.with_changes(&arm.changes) })
    };
    let mut trials = [of(&args.from)?, of(&args.to)?];
    share_costs(&mut trials);
    let [from, to] = trials;
    let ends = BisectEnds::new(from, to, args.metric.clone(), args.seed)?;
    if ends.switches.is_empty() {
        let help = "`fairlab kernels`, `fairlab features` and `fairlab tunables` list the switches";
        return Err(CliError::with_help(
            format!("`{}` and `{}` are equal: no switch differs", args.from.name, args.to.name),
            help,
        ));
    }
    let search = BisectOptions {
        runs: args.runs,
        most_runs: args.most_runs.max(args.runs),
        first_seed: args.seed,
        level: args.level / 100.0,
        matters_percent: args.matters,
    };
    let found = find(&ends, search, &|_, _| ());
    let BisectEnds { switches, metric, progress, .. } = ends;
    progress.into_inner().expect("showing does not panic").clear();
    let culprits = found?;
    let metric = metric.into_inner().expect("noting does not panic").expect("there was a run");
    if output.is_json() {
        let names: Vec<String> = switches.iter().map(ToString::to_string).collect();
        return output.json(&json!({
            "workload": work.name(), "from": args.from.name, "to": args.to.name, "metric": metric, "switches": names,
            "found": culprits.found.as_ref().map(|found| found.set.iter().map(|one| &names[*one]).collect::<Vec<_>>()),
            "culprits": culprits,
        }));
    }
    let text = result_text(args, &work, &switches, &metric, &culprits, output.styles());
    output.text(&text)
}

fn result_text(
    args: &BisectArgs,
    work: &WorkloadSpec,
    switches: &[ArmDifference],
    metric: &Metric,
    culprits: &Culprits,
    styles: Styles,
) -> String {
    let mut text = wrap(&styles.bold(&format!("{}: {}", work.name(), metric.name)), 2);
    let [near, far] = culprits.ends;
    let show = |value: f64| metric_text(&metric.unit, value);
    let percent = if near > 0.0 { format!(" ({}%)", signed(100.0 * (far / near - 1.0))) } else { String::new() };
    let line = format!(
        "from `{}` {} to `{}` {}{percent}, {}, {}",
        args.from.name,
        show(near),
        args.to.name,
        show(far),
        counted(switches.len(), "switch"),
        counted(culprits.runs, "run")
    );
    text.push_str(&wrap(&line, 2));
    let Some(found) = &culprits.found else {
        let least = culprits.could_show.map_or_else(String::new, |least| {
            format!("; the minimum detectable effect is {} (power 80 %)", show(least))
        });
        let what = if culprits.is_negligible {
            format!("no difference that matters ({} %) between the ends", args.matters)
        } else {
            format!("no difference found between the ends{least}")
        };
        text.push_str(&wrap(&what, 2));
        return text;
    };
    let names = |set: &[usize]| set.iter().map(|one| switches[*one].to_string()).collect::<Vec<_>>().join(", ");
    let what = if found.set.len() == 1 { "the switch" } else { "the smallest set, all of which are necessary" };
    text.push_str(&wrap(&format!("{what}: {}", styles.bold(&names(&found.set))), 2));
    text.push('\n');
    let mut table = Table::default().wrapped("switches as at the far end").right([&metric.name, "part", "runs"]);
    let mut row = |what: String, effect: &SwitchEffect| {
        let part = format!("{:.0}%", 100.0 * effect.part);
        table.text_row([what, show(effect.mean), part, effect.runs.to_string()]);
    };
    row(names(&found.set), found);
    for effect in &culprits.alone {
        row(format!("{} alone", names(&effect.set)), effect);
    }
    for (gone, effect) in found.set.iter().zip(&culprits.without) {
        if found.set.len() > 1 || culprits.rest.is_none() {
            row(format!("all but {}", switches[*gone]), effect);
        }
    }
    if let Some(rest) = culprits.rest.as_ref().filter(|rest| !rest.set.is_empty()) {
        row("all others".to_owned(), rest);
    }
    text.push_str(&table.render(styles));
    let undecided = culprits.asked.iter().filter(|(_, answer)| answer.is_none()).count();
    text.push('\n');
    text.push_str(&wrap(
        &format!(
            "part: share of the difference between the ends. {} sets were tested for more than half of it{}",
            culprits.asked.len(),
            if undecided > 0 { format!("; {undecided} remained undecided, which counts as no") } else { String::new() }
        ),
        2,
    ));
    if culprits.rest.as_ref().is_some_and(|rest| rest.part > 0.5) {
        let line = "the other switches also make more than half of the difference: it has more than one cause";
        text.push_str(&wrap(line, 2));
    }
    if culprits.p.is_none() {
        text.push_str(&wrap(
            "all repetitions are identical, so an effect cannot be distinguished from an artefact of this one start",
            2,
        ));
    }
    text
}
