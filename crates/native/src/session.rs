// SPDX-License-Identifier: GPL-2.0-or-later
//! Measurement of a machine: batches of all tests in turn, until the time is over.

use crate::cpus::{Distance, allowed, default_pair, distance};
use crate::interrupts::{round_trip, wake_up_after_idle};
use crate::kernel::{KernelInfo, read_line};
use crate::lines::latency;
use crate::micro;
use crate::programs::{PROGRAMS, Program};
use crate::record::{Calibration, Disturbance, IdleWakeUp, LineLatency, ProgramResult, SCHEMA, TestResult};
use crate::spread::Spread;
use crate::timers::slack_ns;
use fairlab_workload::bench::micro::{MESSAGING_SENDERS, Micro, MicroTest, Placement};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use std::{fs, io};

/// Duration of a batch that is aimed at.
const BATCH: Duration = Duration::from_millis(20);

/// Rounds of the first batch of a test, which only finds out how long a round takes.
const TRIAL_ROUNDS: u64 = 100;

/// Times for which a CPU is idle before it is woken, and wake-ups in a batch.
const IDLE_TIMES: [(Duration, u32); 4] = [
    (Duration::from_micros(20), 100),
    (Duration::from_micros(200), 50),
    (Duration::from_millis(2), 10),
    (Duration::from_millis(20), 3),
];

/// Runs of each installed program.
const PROGRAM_RUNS: usize = 3;

/// Interrupts in a batch.
const INTERRUPTS: u64 = 500;

/// Maximum number of pairs of CPUs whose line latency is measured: on larger machines every n-th pair.
const MAX_PAIRS: usize = 4096;

/// Options of a measurement.
#[derive(Clone, Copy, Debug)]
pub struct MeasureOptions {
    /// Duration.
    pub duration: Duration,
    /// CPUs of tests that need two, if not the closest pair.
    pub cpus: Option<[u32; 2]>,
    /// Whether installed programs run as well, which takes some seconds more.
    pub has_programs: bool,
}

/// Reason why a machine cannot be measured.
#[derive(Debug)]
pub enum MeasureError {
    /// A CPU that the process may not use.
    Cpu(u32),
    /// A test has failed.
    Test {
        /// Name of the test.
        test: String,
        /// Reason.
        error: io::Error,
    },
    /// The caller has stopped the measurement.
    Stopped,
}

/// Quantity that is measured in batches.
#[derive(Clone, Copy, Debug)]
enum Quantity {
    Test(Micro),
    Interrupt([u32; 2]),
    WakeUp { idle: Duration, rounds: u32, cpus: [u32; 2] },
    Line([u32; 2], Distance),
}

impl Quantity {
    fn name(&self) -> String {
        match self {
            Self::Test(micro) => micro.test.name(),
            Self::Interrupt(_) => "interrupt".to_owned(),
            Self::WakeUp { idle, .. } => format!("wake-up after {idle:?}"),
            Self::Line([first, second], _) => format!("line latency of CPUs {first} and {second}"),
        }
    }

    /// Runs one batch.
    fn batch(&self) -> Result<f64, MeasureError> {
        let result = match *self {
            Self::Test(micro) => micro::run(micro),
            Self::Interrupt(cpus) => round_trip(INTERRUPTS, cpus),
            Self::WakeUp { idle, rounds, cpus } => wake_up_after_idle(idle, rounds, cpus),
            Self::Line([first, second], _) => latency(first, second),
        };
        result.map_err(|error| MeasureError::Test { test: self.name(), error })
    }
}

/// Measures the machine. `progress` gets the share that is done, 0 to 1, and returns whether to go on.
///
/// # Errors
/// If a CPU may not be used, a test fails, or `progress` returns false.
pub fn measure(options: MeasureOptions, mut progress: impl FnMut(f64) -> bool) -> Result<Calibration, MeasureError> {
    let of_machine = |error| MeasureError::Test { test: "affinity".to_owned(), error };
    let allowed = allowed().map_err(of_machine)?;
    let pair = options.cpus.or_else(|| default_pair(&allowed));
    if let Some(&cpu) = pair.iter().flatten().find(|cpu| !allowed.contains(cpu)) {
        return Err(MeasureError::Cpu(cpu));
    }
    let begun = Instant::now();
    let use_before = CpuUse::now();
    let quantities = quantities(&allowed, pair)?;
    let mut results = vec![Vec::new(); quantities.len()];
    'passes: loop {
        for (quantity, results) in quantities.iter().zip(&mut results) {
            let share = begun.elapsed().as_secs_f64() / options.duration.as_secs_f64();
            // The first pass is complete, however long it takes.
            if share >= 1.0 && !results.is_empty() {
                break 'passes;
            }
            if !progress(share.min(1.0)) {
                return Err(MeasureError::Stopped);
            }
            results.push(quantity.batch()?);
        }
    }
    let programs = if options.has_programs { run_programs(&mut progress)? } else { Vec::new() };
    let mut record = Calibration {
        schema: SCHEMA.to_owned(),
        kernel: KernelInfo::current(),
        nr_cpus: allowed.len(),
        cpus: pair.map_or_else(|| allowed[..1].to_vec(), |pair| pair.to_vec()),
        seconds: begun.elapsed().as_secs_f64(),
        disturbance: use_before.disturbance(),
        tests: Vec::new(),
        programs,
        ipi_round_trip: None,
        wake_ups: Vec::new(),
        lines: Vec::new(),
        timer_slack: slack_ns().map_err(of_machine)?,
    };
    for (quantity, results) in quantities.iter().zip(&results) {
        let ns = Spread::of(results).expect("the first pass is complete");
        match *quantity {
            Quantity::Test(micro) => record.tests.push(TestResult { test: micro.test.name(), ns }),
            Quantity::Interrupt(_) => record.ipi_round_trip = Some(ns),
            Quantity::WakeUp { idle, .. } => record.wake_ups.push(IdleWakeUp { idle: idle.as_nanos() as u64, ns }),
            Quantity::Line(cpus, shared) => {
                record.lines.push(LineLatency { cpus, shares: shared.name().to_owned(), ns });
            }
        }
    }
    Ok(record)
}

/// Runs the installed programs in turn.
fn run_programs(progress: &mut impl FnMut(f64) -> bool) -> Result<Vec<ProgramResult>, MeasureError> {
    let mut results = vec![Vec::new(); PROGRAMS.len()];
    for _ in 0..PROGRAM_RUNS {
        for (program, results) in PROGRAMS.iter().zip(&mut results) {
            if !progress(1.0) {
                return Err(MeasureError::Stopped);
            }
            let failed = |error| MeasureError::Test { test: program.command.to_owned(), error };
            results.extend(program.run().map_err(failed)?);
        }
    }
    let result = |(program, results): (&Program, &Vec<f64>)| {
        Spread::of(results).map(|ns| ProgramResult { command: program.command.to_owned(), ns })
    };
    Ok(PROGRAMS.iter().zip(&results).filter_map(result).collect())
}

/// Returns everything that can be measured on these CPUs, with numbers of rounds that suit the machine.
fn quantities(allowed: &[u32], pair: Option<[u32; 2]>) -> Result<Vec<Quantity>, MeasureError> {
    let mut quantities = Vec::new();
    for test in MicroTest::all() {
        let needs_two = matches!(test, MicroTest::PingPong(_, Placement::TwoCpus));
        if needs_two && pair.is_none() {
            continue;
        }
        let cpus = pair.unwrap_or([allowed[0]; 2]);
        let trial = Quantity::Test(Micro::new(test, trial_rounds(test), cpus));
        let begun = Instant::now();
        trial.batch()?;
        let per_round = begun.elapsed().as_secs_f64() / trial_rounds(test) as f64;
        let rounds = (BATCH.as_secs_f64() / per_round).clamp(10.0, 1e6) as u64;
        quantities.push(Quantity::Test(Micro::new(test, rounds, cpus)));
    }
    if let Some(cpus) = pair {
        quantities.push(Quantity::Interrupt(cpus));
        quantities.extend(IDLE_TIMES.map(|(idle, rounds)| Quantity::WakeUp { idle, rounds, cpus }));
    }
    quantities.extend(pairs(allowed).into_iter().map(|cpus| Quantity::Line(cpus, distance(cpus[0], cpus[1]))));
    Ok(quantities)
}

/// A round of messaging is one message of each sender to each receiver.
fn trial_rounds(test: MicroTest) -> u64 {
    if matches!(test, MicroTest::Messaging(_)) { TRIAL_ROUNDS / u64::from(MESSAGING_SENDERS) } else { TRIAL_ROUNDS }
}

/// Returns pairs of CPUs in ascending order: all, or on large machines every n-th.
fn pairs(cpus: &[u32]) -> Vec<[u32; 2]> {
    let all = cpus
        .iter()
        .enumerate()
        .flat_map(|(place, &first)| cpus[place + 1..].iter().map(move |&second| [first, second]));
    let step = (cpus.len() * cpus.len().saturating_sub(1) / 2).div_ceil(MAX_PAIRS).max(1);
    all.step_by(step).collect()
}

/// Use of CPU time, in ticks of `/proc`.
struct CpuUse {
    total: u64,
    stolen: u64,
    /// Time of each other process and of its children that have ended.
    others: BTreeMap<u32, u64>,
}

impl CpuUse {
    fn now() -> Self {
        let numbers =
            |text: &str| -> Vec<u64> { text.split_whitespace().filter_map(|word| word.parse().ok()).collect() };
        // user, nice, system, idle, iowait, irq, softirq, steal
        let machine = numbers(&read_line("/proc/stat").unwrap_or_default());
        let of_process = |pid: u32| {
            let line = read_line(&format!("/proc/{pid}/stat"))?;
            // The name of a process may contain blanks. The first word after it is a letter, the 12th to 15th are times.
            let (_, rest) = line.rsplit_once(") ")?;
            Some((pid, numbers(rest).iter().skip(10).take(4).sum()))
        };
        let pids = fs::read_dir("/proc").into_iter().flatten().flatten();
        let pids = pids.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        let others = pids.filter(|&pid| pid != std::process::id()).filter_map(of_process).collect();
        Self { total: machine.iter().take(8).sum(), stolen: machine.get(7).copied().unwrap_or(0), others }
    }

    /// Returns the use of the machine by others since then. `/proc/stat` alone would not do: it samples at ticks, and tasks of
    /// a measurement sleep and wake many times between two ticks.
    fn disturbance(&self) -> Disturbance {
        let now = Self::now();
        let total = now.total.saturating_sub(self.total).max(1) as f64;
        let before = |pid: &u32| self.others.get(pid).copied().unwrap_or(0);
        let others: u64 = now.others.iter().map(|(pid, ticks)| ticks.saturating_sub(before(pid))).sum();
        Disturbance {
            other_processes: others as f64 / total,
            stolen: now.stolen.saturating_sub(self.stolen) as f64 / total,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_machines_have_a_sample_of_their_pairs() {
        assert_eq!(pairs(&[0, 2, 5]), [[0, 2], [0, 5], [2, 5]]);
        assert_eq!(pairs(&[3]), Vec::<[u32; 2]>::new());
        let many: Vec<u32> = (0..256).collect();
        let sample = pairs(&many);
        assert!(sample.len() <= MAX_PAIRS && sample.len() > MAX_PAIRS / 2, "{}", sample.len());
    }

    #[test]
    fn a_short_measurement_has_a_result_for_every_quantity_and_can_be_stopped() {
        let options = MeasureOptions { duration: Duration::from_millis(1), cpus: None, has_programs: false };
        let record = measure(options, |_| true).expect("the machine can be measured");
        assert!(record.tests.len() >= 17, "{record:?}");
        assert!(record.tests.iter().all(|result| result.ns.count == 1), "{record:?}");
        assert!(matches!(measure(options, |_| false), Err(MeasureError::Stopped)));
        let foreign = MeasureOptions { cpus: Some([0, 4000]), ..options };
        assert!(matches!(measure(foreign, |_| true), Err(MeasureError::Cpu(4000))));
    }
}
