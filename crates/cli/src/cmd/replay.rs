// SPDX-License-Identifier: GPL-2.0-or-later
//! `fairlab replay`: simulates a recorded trace and prints recorded and simulated values of tasks and CPUs
//! side by side.

use crate::args::replay::ReplayArgs;
use crate::execution::execute::refuse_engine;
use crate::execution::recording;
use crate::output::figures::{self, percent, time};
use crate::output::progress::Progress;
use crate::output::table::{Cell, Table};
use crate::output::{Output, Styles, wrap};
use crate::values::error::CliError;
use fairlab_measure::latency::LatencySummary;
use fairlab_run::drive::replay as replay_run;
use fairlab_run::input::InputFile;
use fairlab_run::prepare::prepare;
use fairlab_run::spec::{RunSpec, WorkloadSpec};
use fairlab_run::values::CostSource;
use fairlab_traces::import::fidelity::{self, RecordedSimulated, ReplayFidelity, TaskFidelity};
use fairlab_traces::import::measure::LatencyBasis;
use fairlab_workload::message::Message;
use serde::Serialize;

/// Largest number of task names with their own rows.
const MAX_FAMILIES: usize = 12;
/// Largest number of CPUs with their own rows.
const MAX_CPUS: usize = 16;

/// Result of a replay.
#[derive(Serialize)]
struct ReplayOutput<'a> {
    trace: &'a str,
    format: &'static str,
    machine: &'a str,
    kernel: &'a str,
    digest: String,
    notes: &'a [String],
    #[serde(flatten)]
    credibility: &'a ReplayFidelity,
}

pub(crate) fn replay(output: &mut Output, args: &ReplayArgs) -> Result<(), CliError> {
    let recording = recording::read(&args.trace, args.leaps)?;
    let mut settings = args.settings.settings();
    refuse_engine(&settings)?;
    let recorded_on = if args.as_recorded {
        settings.prices.source.get_or_insert(CostSource::Zero);
        settings.machine.as_ref().map(|machine| machine.given.as_str())
    } else {
        args.recorded_on.as_deref()
    };
    let imported = recording::convert(&recording, recorded_on)?;
    let file = InputFile::new(args.trace.as_str()).with_text(imported.recorded.to_text());
    let mut plan = prepare(&RunSpec { workload: WorkloadSpec::File(file), settings })?.boot()?;
    let mut progress = Progress::new("simulating", plan.machine.duration());
    let simulated = replay_run(&mut plan.machine, LatencyBasis::of(&recording), &mut |elapsed| progress.show(elapsed));
    progress.clear();
    let simulated = simulated.map_err(|error| CliError::Run(Message::from(error).about(&args.trace)))?;
    let fidelity = fidelity::compare(&recording, &imported, &plan.machine, &simulated);
    output.warn_all(&plan.machine.workload().warnings)?;
    if output.is_json() {
        return output.json(&ReplayOutput {
            trace: &args.trace,
            format: recording.format,
            machine: &plan.about.subject.machine,
            kernel: &plan.about.subject.kernel,
            digest: plan.machine.digest().to_string(),
            notes: &plan.machine.workload().assumptions,
            credibility: &fidelity,
        });
    }
    let how = if args.as_recorded { "as recorded" } else { "elsewhere" };
    let mut page = wrap(
        &format!(
            "{}: {}, {} CPUs, {} recorded, replayed {how} on {}, kernel {}",
            output.styles().bold(&args.trace),
            recording.format,
            recording.nr_cpus,
            time(fidelity.length_ns),
            plan.about.subject.machine,
            plan.about.subject.kernel
        ),
        2,
    );
    page.push_str(&tables(&fidelity, args.all, output.styles()));
    page.push_str(&sentences(&fidelity));
    // Notes of the import are counted below; only later notes, about parts left out on this machine, are
    // printed.
    for note in plan.machine.workload().assumptions.iter().skip(imported.recorded.notes.len()) {
        page.push_str(&wrap(note, 2));
    }
    page.push_str(&wrap(
        &format!(
            "{} on data missing in the trace: fairlab import {}",
            figures::counted(imported.recorded.notes.len(), "note"),
            args.trace
        ),
        2,
    ));
    page.push_str(&wrap(&format!("digest {}", plan.machine.digest()), 2));
    output.text(&page)
}

fn tables(fidelity: &ReplayFidelity, all: bool, styles: Styles) -> String {
    let most = if all { usize::MAX } else { MAX_FAMILIES };
    let mut rows: Vec<&TaskFidelity> = fidelity.families.iter().take(most).collect();
    rows.push(&fidelity.all);
    let mut text = "\nfor each metric the recorded value, then the simulated value; sw: switches to\nthe task, same: share of its recorded time spent on the same CPU\n\n".to_owned();
    text.push_str(&tasks(&rows, fidelity.has_wakeups, styles));
    if rows.iter().any(|row| row.latency.recorded.is_some()) {
        text.push('\n');
        text.push_str(&latencies(&rows, styles));
    }
    text.push('\n');
    text.push_str(&cpus(fidelity, all, styles));
    text
}

fn tasks(rows: &[&TaskFidelity], has_wakeups: bool, styles: Styles) -> String {
    let mut table = Table::default().left(["task"]).right(["n", "run", "", "wait", "", "sw", "", "migr", "", "same"]);
    for row in rows {
        let mut cells: Vec<Cell> = vec![row.name.as_str().into(), row.tasks.to_string().into()];
        cells.extend(recorded_and_simulated(row.run_ns, |ns| time(*ns)));
        cells.extend(recorded_and_simulated(row.wait_ns, |ns| if has_wakeups { time(*ns) } else { "-".to_owned() }));
        cells.extend(recorded_and_simulated(row.switches, u64::to_string));
        cells.extend(recorded_and_simulated(row.migrations, u64::to_string));
        cells.push(format!("{:.0}%", row.same_cpu_percent).into());
        table.row(cells);
    }
    table.render(styles)
}

fn recorded_and_simulated<T>(figures: RecordedSimulated<T>, show: impl Fn(&T) -> String) -> [Cell; 2] {
    [show(&figures.recorded).into(), show(&figures.simulated).into()]
}

fn latencies(rows: &[&TaskFidelity], styles: Styles) -> String {
    let mut table = Table::default().left(["wake-up to run"]).right(["n", "", "p50", "", "p99", "", "max", ""]);
    for row in rows.iter().filter(|row| row.latency.recorded.is_some() || row.latency.simulated.is_some()) {
        let mut cells: Vec<Cell> = vec![row.name.as_str().into()];
        let of = |get: fn(&LatencySummary) -> u64, show: fn(u64) -> String| {
            recorded_and_simulated(row.latency, |summary| {
                summary.as_ref().map_or_else(|| "-".to_owned(), |summary| show(get(summary)))
            })
        };
        cells.extend(of(|summary| summary.count, |nr| nr.to_string()));
        cells.extend(of(|summary| summary.p50_ns, time));
        cells.extend(of(|summary| summary.p99_ns, time));
        cells.extend(of(|summary| summary.max_ns, time));
        table.row(cells);
    }
    table.render(styles)
}

fn cpus(fidelity: &ReplayFidelity, all: bool, styles: Styles) -> String {
    let mut table = Table::default().left(["CPU"]).right(["%busy", "", "switches", ""]);
    let most = if all { usize::MAX } else { MAX_CPUS };
    for (cpu, row) in fidelity.cpus.iter().enumerate().take(most) {
        let mut cells: Vec<Cell> = vec![cpu.to_string().into()];
        cells.extend(recorded_and_simulated(row.busy_ns, |ns| percent(*ns, fidelity.length_ns)));
        cells.extend(recorded_and_simulated(row.switches, u64::to_string));
        table.row(cells);
    }
    let mut text = table.render(styles);
    if fidelity.cpus.len() > most {
        text.push_str(&format!("and {} more: --all\n", fidelity.cpus.len() - most));
    }
    text
}

fn sentences(fidelity: &ReplayFidelity) -> String {
    let ReplayFidelity { run_off_percent, wait_off_percent, cpu_off_percent, latency_distance, .. } = fidelity;
    let mut text = format!("\nfidelity: run times of tasks differ by {run_off_percent:.2}% of all run time, ");
    if fidelity.has_wakeups {
        text.push_str(&format!("waiting by {wait_off_percent:.2}%, "));
    }
    text.push_str(&format!(
        "busy times of CPUs by {cpu_off_percent:.1}%; {:.0}% of run time on the same CPUs",
        fidelity.all.same_cpu_percent
    ));
    if let Some(distance) = latency_distance {
        text.push_str(&format!(
            "; the largest distance of wake-up latency distributions is {distance:.2} (0: equal, 1: disjoint)"
        ));
    }
    let mut text = format!("\n{}", wrap(text.trim_start(), 2));
    if !fidelity.largest.is_empty() {
        text.push_str(&wrap(&format!("largest differences: {}", fidelity.largest.join("; ")), 2));
    }
    text
}
