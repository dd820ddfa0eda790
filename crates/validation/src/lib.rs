// SPDX-License-Identifier: GPL-2.0-or-later
//! Validation of a machine file: measured operations of a real machine beside the same operations on the simulated one.
//!
//! The programs are those of `fairlab_native`, their models [`fairlab_workload::bench`]. Nothing is fitted here: a row is a
//! measurement, a simulation and the difference.

mod facts;
mod page;
#[cfg(test)]
mod tests;

pub use facts::{kernel_speeds, with_facts};

use fairlab_native::kernel::KernelInfo;
use fairlab_native::programs::{PROGRAMS, Program, ProgramModel};
use fairlab_native::record::{Calibration, Disturbance};
use fairlab_native::spread::Spread;
use fairlab_run::bench::{self, LineOf};
use fairlab_run::input::InputFile;
use fairlab_run::result::RunResult;
use fairlab_run::spec::{BenchSpec, WorkloadSpec};
use fairlab_workload::bench::micro::{Micro, MicroTest, Placement, Transport};
use schemars::JsonSchema;
use serde::Serialize;

/// Name and version of the JSON output.
pub const SCHEMA: &str = "validation/1";

/// Number of compared quantities below which a validation says too little.
pub const MIN_QUANTITIES: usize = 15;

/// Rounds of a simulated test; of messaging, messages from each sender to each receiver.
const ROUNDS: u64 = 2000;
const MESSAGING_ROUNDS: u64 = 100;

/// Measured and simulated operations of a machine.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(title = "Validation")]
pub struct Validation {
    /// Name and version of this format.
    pub schema: &'static str,
    /// Name of the simulated machine.
    pub machine: String,
    /// Source of its costs: `machine`, `zero` or a machine's name.
    pub costs: String,
    /// Kernel and processor of the measured machine.
    pub kernel: KernelInfo,
    /// Use of the measured machine by others.
    pub disturbance: Disturbance,
    /// Operations: those of `fairlab bench micro`, then installed programs.
    pub rows: Vec<ValidationRow>,
    /// Number of rows with both values.
    pub nr_compared: usize,
    /// Median of the errors' amounts; absent without a compared row.
    pub median_error: Option<f64>,
    /// Largest amount of an error; absent without a compared row.
    pub max_error: Option<f64>,
    /// Ratios of channels to the pipe: largest amount of an error; absent if nothing can be divided.
    pub max_ratio_error: Option<f64>,
}

/// One operation. Times are in nanoseconds.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ValidationRow {
    /// Name of the test, as `fairlab bench micro` takes it, or command of the program.
    pub test: String,
    /// Operation that the times belong to.
    pub unit: String,
    /// On the real machine.
    pub measured: Spread,
    /// On the simulated machine, over seeds; absent if the operation has no model.
    pub simulated: Option<Spread>,
    /// Simulated median divided by the measured one, minus 1; absent if the operation has no model.
    pub error: Option<f64>,
    /// Ratio to the same test with a pipe: simulated ratio divided by the measured one, minus 1.
    pub ratio_error: Option<f64>,
}

/// Model of a measured operation.
#[derive(Clone, Debug)]
pub struct Model {
    /// Name of the operation.
    pub name: String,
    /// Workload of the simulated machine. The run needs a summary.
    pub workload: WorkloadSpec,
    /// Program whose result the model has; `None` for a microbenchmark.
    program: Option<&'static Program>,
}

impl Model {
    /// Returns the result of a run in nanoseconds; `None` if the run did not end.
    pub fn result_ns(&self, result: &RunResult) -> Option<f64> {
        match self.program {
            Some(Program { model: ProgramModel::RtApp(_), .. }) => {
                let timers = result.summary.as_ref()?.families.first()?.timers.as_ref()?;
                timers.wakeup_latency.as_ref().map(|latency| latency.p50_ns as f64)
            }
            Some(program) => program.result_ns(&result.bench.as_ref()?.text),
            None => result.bench.as_ref()?.data["ns_per_op"].as_f64(),
        }
    }
}

/// Returns a benchmark of [`PROGRAMS`] or of this module, as after `fairlab bench`.
fn bench_workload(line: &str) -> WorkloadSpec {
    let benchmark = bench::parse(line, LineOf::Study).expect("lines of models are valid");
    WorkloadSpec::Bench(BenchSpec { line: line.to_owned(), benchmark })
}

/// Returns the models of all operations of a measurement, for a simulated machine with `nr_cpus` CPUs.
pub fn models(measured: &Calibration, nr_cpus: u32) -> Vec<Model> {
    let [first, second] = match measured.cpus[..] {
        [first, second] if first.max(second) < nr_cpus => [first, second],
        _ => [0, 1],
    };
    let micro = |test: MicroTest| {
        let rounds = if matches!(test, MicroTest::Messaging(_)) { MESSAGING_ROUNDS } else { ROUNDS };
        let fits = Micro::new(test, rounds, [first, second]).used_cpus().iter().all(|&cpu| cpu < nr_cpus);
        let name = test.name();
        let line = format!("micro {name} --rounds {rounds} --cpus {first},{second}");
        let is_simulated = test.is_modelled() && fits && measured.result(test).is_some();
        is_simulated.then(|| Model { name, workload: bench_workload(&line), program: None })
    };
    let program = |program: &'static Program| {
        let is_measured = measured.programs.iter().any(|result| result.command == program.command);
        let workload = || match program.model {
            ProgramModel::Bench(line) => bench_workload(line),
            ProgramModel::RtApp(text) => WorkloadSpec::File(InputFile::new("fairlab.json").with_text(text)),
        };
        is_measured.then(|| Model { name: program.command.to_owned(), workload: workload(), program: Some(program) })
    };
    MicroTest::all().into_iter().filter_map(micro).chain(PROGRAMS.iter().filter_map(program)).collect()
}

impl Validation {
    /// Compares a measurement with simulated results, in nanoseconds, by the name of the operation.
    pub fn new(machine: String, costs: String, measured: &Calibration, simulated: &[(String, Vec<f64>)]) -> Self {
        let simulated_of = |name: &str| {
            let (_, results) = simulated.iter().find(|(own, _)| own == name)?;
            Spread::of(results)
        };
        let row = |test: String, unit: &str, measured: Spread| {
            let simulated = simulated_of(&test);
            let error = simulated.map(|simulated| simulated.median / measured.median - 1.0);
            ValidationRow { test, unit: unit.to_owned(), measured, simulated, error, ratio_error: None }
        };
        let micro = |test: MicroTest| {
            let mut row = row(test.name(), test.unit(), *measured.result(test)?);
            row.ratio_error = row.simulated.zip(pipe_like(test)).and_then(|(own, pipe)| {
                let simulated = own.median / simulated_of(&pipe.name())?.median;
                Some(simulated / (row.measured.median / measured.result(pipe)?.median) - 1.0)
            });
            Some(row)
        };
        let program = |program: &Program| {
            let result = measured.programs.iter().find(|result| result.command == program.command)?;
            Some(row(result.command.clone(), program.unit, result.ns))
        };
        let rows = MicroTest::all().into_iter().filter_map(micro).chain(PROGRAMS.iter().filter_map(program));
        let rows: Vec<ValidationRow> = rows.collect();
        let amounts =
            |of: fn(&ValidationRow) -> Option<f64>| -> Vec<f64> { rows.iter().filter_map(of).map(f64::abs).collect() };
        let errors = amounts(|row| row.error);
        let max = |amounts: &[f64]| amounts.iter().copied().max_by(f64::total_cmp);
        Self {
            schema: SCHEMA,
            machine,
            costs,
            kernel: measured.kernel.clone(),
            disturbance: measured.disturbance,
            nr_compared: errors.len(),
            median_error: Spread::of(&errors).map(|spread| spread.median),
            max_error: max(&errors),
            max_ratio_error: max(&amounts(|row| row.ratio_error)),
            rows,
        }
    }

    /// Returns the result in one sentence.
    pub fn headline(&self) -> String {
        let (Some(median), Some(max)) = (self.median_error, self.max_error) else {
            return "nothing could be compared".to_owned();
        };
        let worst = self.rows.iter().find(|row| row.error.is_some_and(|error| error.abs() >= max));
        let worst = worst.map_or("", |row| short_name(&row.test));
        let ratios = self.max_ratio_error.map_or_else(String::new, |error| {
            format!("; ratios of channels to the pipe are off by up to {:.0} %", 100.0 * error)
        });
        format!(
            "{} quantities compared: median error {:.0} %, largest {:.0} % ({worst}){ratios}",
            self.nr_compared,
            100.0 * median,
            100.0 * max
        )
    }

    /// Returns an HTML page: the errors as a chart, the table, the machine.
    pub fn page(&self) -> String {
        page::page(self)
    }
}

/// Returns the test with a pipe that a test of another channel is divided by.
fn pipe_like(test: MicroTest) -> Option<MicroTest> {
    let pipe = match test {
        MicroTest::Pass(_) => MicroTest::Pass(Transport::Pipe),
        MicroTest::PingPong(_, Placement::OneCpu) => MicroTest::PingPong(Transport::Pipe, Placement::OneCpu),
        MicroTest::PingPong(_, Placement::TwoCpus) => MicroTest::PingPong(Transport::Pipe, Placement::TwoCpus),
        MicroTest::Messaging(_) => MicroTest::Messaging(Transport::Pipe),
        MicroTest::EmptyCall | MicroTest::Yield | MicroTest::Sleep | MicroTest::Thread => return None,
    };
    (pipe != test).then_some(pipe)
}

/// Returns the name of an operation without options of a program.
pub fn short_name(name: &str) -> &str {
    name.split(" -").next().unwrap_or(name)
}

/// Returns a time in nanoseconds for people, with three digits.
pub fn time_text(ns: f64) -> String {
    match ns.abs() {
        amount if amount < 999.5 => format!("{ns:.0} ns"),
        amount if amount < 9_995.0 => format!("{:.2} us", ns / 1e3),
        amount if amount < 99_950.0 => format!("{:.1} us", ns / 1e3),
        amount if amount < 999_500.0 => format!("{:.0} us", ns / 1e3),
        amount if amount < 9_995_000.0 => format!("{:.2} ms", ns / 1e6),
        amount if amount < 99_950_000.0 => format!("{:.1} ms", ns / 1e6),
        _ => format!("{:.0} ms", ns / 1e6),
    }
}

/// Returns a relative difference for people: a factor if it is large.
pub fn error_text(error: f64) -> String {
    if error <= -0.9 {
        format!("1/{:.0}", 1.0 / (1.0 + error).max(1e-3))
    } else if error >= 9.0 {
        format!("x {:.0}", 1.0 + error)
    } else {
        format!("{:+.0} %", 100.0 * error)
    }
}
