// SPDX-License-Identifier: GPL-2.0-or-later
//! Results of schbench releases from 2016 to 2021.

use super::plat::{Percentile, Plat};
use super::{BenchObserver, BenchResult, RunProgress, slot_mut};
use fairlab_machine::observer::{MachineEvent, Observer};
use fairlab_sched::probe::SchedObserver;
use fairlab_sched::units::Nanos;
use fairlab_workload::bench::schbench::{SAMPLE, Schbench, SchbenchRelease};
use serde::Serialize;

/// Percentiles of the output; the star marks the 99th.
const PERCENTS: [f64; 7] = [50.0, 75.0, 90.0, 95.0, 99.0, 99.5, 99.9];
const STAR: f64 = 99.0;

/// Observer that measures latencies as the workers do.
#[derive(Clone, Debug)]
pub struct SchbenchObserver {
    form: SchbenchRelease,
    /// Time that the message thread last noted for each worker.
    wake_time: Vec<Nanos>,
    latencies: Plat,
}

/// Result of a schbench release up to 2021.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct SchbenchResult {
    /// Length of the measured time, in seconds.
    pub runtime_s: u64,
    /// Number of measured latencies.
    pub samples: u64,
    /// Percentiles of the latencies, in microseconds.
    pub percentiles: Vec<Percentile>,
    /// Smallest latency, in microseconds; 0 without samples.
    pub min_us: u32,
    /// Largest latency, in microseconds; 0 without samples.
    pub max_us: u32,
}

impl SchbenchObserver {
    /// Creates the observer of a benchmark.
    pub fn new(bench: &Schbench) -> Self {
        Self { form: bench.form, wake_time: Vec::new(), latencies: Plat::default() }
    }

    /// Histogram of the latencies so far, in microseconds.
    pub fn latencies(&self) -> &Plat {
        &self.latencies
    }

    /// Returns the result of a measured time.
    pub fn result(&self, runtime: Nanos) -> SchbenchResult {
        SchbenchResult {
            runtime_s: runtime.0 / 1_000_000_000,
            samples: self.latencies.samples(),
            percentiles: self.latencies.percentiles(&PERCENTS),
            min_us: self.latencies.min(),
            max_us: self.latencies.max(),
        }
    }

    fn text(&self, result: &SchbenchResult) -> String {
        let runtime = result.runtime_s;
        let mut page = match self.form {
            SchbenchRelease::Y2016 => "Latency percentiles (usec)\n".to_owned(),
            _ => format!("Latency percentiles (usec) runtime {runtime} (s) ({} total samples)\n", result.samples),
        };
        for &Percentile { percent, value, samples } in &result.percentiles {
            let star = if percent == STAR { "*" } else { "" };
            page.push_str(&match self.form {
                SchbenchRelease::Y2016 => format!("\t{star}{percent:.4}th: {value}\n"),
                _ => format!("\t{star}{percent:.1}th: {value} ({samples} samples)\n"),
            });
        }
        page.push_str(&format!("\tmin={}, max={}\n", result.min_us, result.max_us));
        page
    }
}

impl SchedObserver for SchbenchObserver {}

impl Observer for SchbenchObserver {
    fn machine_event(&mut self, now: Nanos, event: &MachineEvent) {
        match *event {
            MachineEvent::TimeRecorded { task } => *slot_mut(&mut self.wake_time, task) = now,
            MachineEvent::Mark { task, phase: SAMPLE } => {
                self.latencies.add_latency(*slot_mut(&mut self.wake_time, task), now);
            }
            _ => {}
        }
    }
}

impl BenchObserver for SchbenchObserver {
    fn reset(&mut self) -> bool {
        self.latencies = Plat::default();
        true
    }

    fn outcome(&self, _reached: RunProgress, measured: Nanos) -> BenchResult {
        let result = self.result(measured);
        BenchResult::new(self.text(&result), &result)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meter(form: SchbenchRelease) -> SchbenchObserver {
        let mut meter = SchbenchObserver::new(&Schbench { form, ..Schbench::default() });
        for us in 1..=200_u64 {
            meter.machine_event(Nanos::from_micros(1000), &MachineEvent::TimeRecorded { task: 3 });
            meter.machine_event(Nanos::from_micros(1000 + us), &MachineEvent::Mark { task: 3, phase: SAMPLE });
        }
        meter
    }

    #[test]
    fn the_form_is_the_benchmark_s() {
        let meter = meter(SchbenchRelease::Y2020);
        let page = meter.text(&meter.result(Nanos::from_secs(5)));
        assert_eq!(
            page,
            "Latency percentiles (usec) runtime 5 (s) (200 total samples)\n\t50.0th: 100 (100 samples)\n\t75.0th: 150 (50 \
             samples)\n\t90.0th: 180 (30 samples)\n\t95.0th: 190 (10 samples)\n\t*99.0th: 198 (8 samples)\n\t99.5th: 199 (1 \
             samples)\n\t99.9th: 200 (1 samples)\n\tmin=1, max=200\n"
        );
    }

    #[test]
    fn the_form_of_2016_has_four_decimals() {
        let meter = meter(SchbenchRelease::Y2016);
        let page = meter.text(&meter.result(Nanos::from_secs(5)));
        assert!(page.starts_with("Latency percentiles (usec)\n\t50.0000th: 100\n"));
        assert!(page.contains("\t*99.0000th: 198\n"));
    }

    #[test]
    fn a_latency_below_a_microsecond_is_no_sample() {
        let mut meter = SchbenchObserver::new(&Schbench::default());
        meter.machine_event(Nanos(5_000), &MachineEvent::TimeRecorded { task: 0 });
        meter.machine_event(Nanos(5_999), &MachineEvent::Mark { task: 0, phase: SAMPLE });
        assert_eq!(meter.latencies().samples(), 0);
    }
}
