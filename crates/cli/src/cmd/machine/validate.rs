// SPDX-License-Identifier: GPL-2.0-or-later
//! `fairlab machine validate`: measured operations of a real machine beside those of the simulated one.

use super::calibrate::{measure, prepare_threads};
use crate::args::measure::ValidateArgs;
use crate::execution::execute::{Shown, execute, one_of_several};
use crate::output::figures::counted;
use crate::output::progress::RunsProgress;
use crate::output::table::{Cell, Table};
use crate::output::{Output, Styles, wrap};
use crate::values::error::CliError;
use crate::values::interrupt;
use crate::values::whole_file::AtomicFile;
use fairlab_board::capture;
use fairlab_experiment::pool;
use fairlab_native::record::{Calibration, SCHEMA};
use fairlab_native::spread::Spread;
use fairlab_run::input::InputFile;
use fairlab_run::job::RunOutputs;
use fairlab_run::prepare::prepare;
use fairlab_run::settings::Settings;
use fairlab_run::spec::{BenchSpec, RunSpec, WorkloadSpec};
use fairlab_run::values::{CostChoice, CostSource};
use fairlab_validation::{MIN_QUANTITIES, Model, Validation, error_text, short_name, time_text};
use fairlab_workload::bench::Benchmark;
use fairlab_workload::bench::micro::{Micro, MicroTest};
use fairlab_workload::bench::schbench::Schbench;
use fairlab_workload::files;
use fairlab_workload::message::Message;
use std::path::Path;

/// Maximum size of a measurement.
const MAX_BYTES: u64 = 64 << 20;

/// Name of this machine where no machine file is given.
const THIS_MACHINE: &str = "this-machine";

pub(crate) fn validate(output: &mut Output, args: &ValidateArgs) -> Result<(), CliError> {
    if args.measured.is_none() {
        prepare_threads();
    }
    args.jobs.apply();
    let mut settings = args.settings.settings();
    let this_machine = match settings.machine {
        Some(_) => None,
        None => Some(capture::capture(Path::new("/"), THIS_MACHINE, false).map_err(CliError::input)?),
    };
    let as_file = |text: String| Some(InputFile::new(format!("{THIS_MACHINE}.toml")).with_text(text));
    let has_own_costs = this_machine.is_some() && settings.prices == CostChoice::default();
    if let Some(text) = &this_machine {
        settings.machine = as_file(text.clone());
    }
    // Errors of the settings come before a minute of measuring. Costs that follow from what will be measured are not
    // known yet, so the benchmark then has work of its own.
    let benchmark = if has_own_costs {
        Benchmark::Schbench(Schbench::default())
    } else {
        Benchmark::Micro(Micro::new(MicroTest::Yield, 1, [0, 1]))
    };
    let probe = WorkloadSpec::Bench(BenchSpec { line: benchmark.name().to_owned(), benchmark });
    let mut probed = settings.clone();
    if has_own_costs {
        probed.prices.source = Some(CostSource::Zero);
    }
    let prepared = prepare(&RunSpec { workload: probe, settings: probed })?;
    let (machine, nr_cpus) = (prepared.about.subject.machine, prepared.setup.hardware.nr_cpus());
    let measured = match &args.measured {
        Some(path) => read(path)?,
        None => measure(output, &args.measure)?,
    };
    if let Some(text) = this_machine.filter(|_| has_own_costs) {
        let text = fairlab_validation::with_facts(&text, &measured).map_err(|error| {
            let help = "take the costs of a machine with --prices NAME";
            CliError::Input(error.about("no facts follow from the measurement").with_help(help))
        })?;
        settings.machine = as_file(text);
    }
    let simulated = simulate(&measured, &settings, nr_cpus, args.runs)?;
    let costs = if settings.prices == CostChoice::default() { "machine".to_owned() } else { cost_text(&settings) };
    let validation = Validation::new(machine, costs, &measured, &simulated);
    if let Some(path) = &args.html {
        AtomicFile::write(path, validation.page().as_bytes())?;
    }
    output.json_or_text(&validation, |styles| text(styles, &validation))?;
    if validation.nr_compared < MIN_QUANTITIES {
        return Err(CliError::Gate(
            Message::new(format!(
                "only {} compared: a validation needs {MIN_QUANTITIES}",
                counted(validation.nr_compared, "operation")
            ))
            .with_help("tests of two CPUs need two in the machine and for this process"),
        ));
    }
    Ok(())
}

fn cost_text(settings: &Settings) -> String {
    let words = settings.command_words();
    let values = words.windows(2).filter(|pair| pair[0] == "--prices").map(|pair| pair[1].clone());
    values.collect::<Vec<_>>().join(" ")
}

/// Reads a measurement.
pub(super) fn read(path: &Path) -> Result<Calibration, CliError> {
    let name = path.display().to_string();
    let help = "`fairlab machine calibrate -o FILE` writes one";
    let wrong = |what: String| CliError::Input(Message::in_file(&name, what).with_help(help));
    let bytes = files::read_file(path, MAX_BYTES).map_err(|error| wrong(format!("cannot be read: {error}")))?;
    let record: Calibration =
        serde_json::from_slice(&bytes).map_err(|error| wrong(format!("is no measurement: {error}")))?;
    if record.schema != SCHEMA {
        return Err(wrong(format!("has format {}, not {SCHEMA}", record.schema)));
    }
    let is_usable = |ns: f64| ns.is_finite() && ns > 0.0;
    let tests = record.tests.iter().map(|result| (&result.test, result.ns));
    let programs = record.programs.iter().map(|result| (&result.command, result.ns));
    match tests.chain(programs).find(|(_, ns)| !is_usable(ns.median)) {
        Some((name, _)) => Err(wrong(format!("the median of {name} is not above 0"))),
        None => Ok(record),
    }
}

/// Simulates all measured operations that have a model. Returns the results of each in nanoseconds, by its name.
fn simulate(
    measured: &Calibration,
    settings: &Settings,
    nr_cpus: usize,
    runs: u64,
) -> Result<Vec<(String, Vec<f64>)>, CliError> {
    let models = fairlab_validation::models(measured, u32::try_from(nr_cpus).unwrap_or(u32::MAX));
    let jobs: Vec<(&Model, u64)> = models.iter().flat_map(|model| (1..=runs).map(move |seed| (model, seed))).collect();
    let progress = RunsProgress::new(jobs.len());
    let results = pool::all(jobs, |(model, seed)| {
        let spec = RunSpec { workload: model.workload.clone(), settings: settings.clone() }.with_seed(Some(seed));
        let mut on_step = one_of_several(|whole, more| progress.add(whole, more));
        let executed = execute(&spec, &RunOutputs::of_summary(), Shown::OneOfSeveral, &mut on_step)?;
        interrupt::check()?;
        let result = model.result_ns(&executed.result);
        result.ok_or_else(|| CliError::Run(Message::new(format!("{}: the run has no result", model.workload.name()))))
    });
    progress.clear();
    let results = results?;
    let by_model = results.chunks(runs as usize).map(<[f64]>::to_vec);
    Ok(models.into_iter().map(|model| model.name).zip(by_model).collect())
}

/// Returns the validation for people: the result, the machine, the table.
fn text(styles: Styles, validation: &Validation) -> String {
    let mut table = Table::default().left(["operation"]).right(["measured", "spread", "simulated", "spread", "error"]);
    // The interquartile range as a share of the median.
    let range = |spread: &Spread| format!("{:.0} %", 100.0 * (spread.high - spread.low) / spread.median);
    for row in &validation.rows {
        let (simulated, simulated_range, error) = match (&row.simulated, row.error) {
            (Some(spread), Some(error)) => {
                let cell = Cell::from(error_text(error));
                let cell = match error.abs() {
                    amount if amount <= 0.15 => cell.good(),
                    amount if amount <= 0.40 => cell.notable(),
                    _ => cell.bad(),
                };
                (time_text(spread.median).into(), range(spread).into(), cell)
            }
            _ => (Cell::from("no model").quiet(), Cell::default(), Cell::default()),
        };
        table.row(vec![
            short_name(&row.test).into(),
            time_text(row.measured.median).into(),
            range(&row.measured).into(),
            simulated,
            simulated_range,
            error,
        ]);
    }
    format!(
        "{}\nsimulated: {}, costs: {}\n{}\n{}",
        wrap(&validation.headline(), 2),
        validation.machine,
        validation.costs,
        wrap(&format!("measured: {}", validation.kernel.text()), 2),
        table.render(styles)
    )
}
