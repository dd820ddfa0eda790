// SPDX-License-Identifier: GPL-2.0-or-later
//! Results of current schbench releases: latencies of wake-ups and of requests, and requests per second.

use super::plat::{Percentile, Plat};
use super::{BenchObserver, BenchResult, RunProgress, slot_mut};
use fairlab_machine::observer::{MachineEvent, Observer};
use fairlab_machine::sim::START;
use fairlab_sched::probe::SchedObserver;
use fairlab_sched::units::Nanos;
use fairlab_workload::bench::schbench_rps::{REQUEST_END, REQUEST_START, SchbenchRps, WAKEUP};
use serde::Serialize;

const LATENCIES: [f64; 4] = [50.0, 90.0, 99.0, 99.9];
const RATES: [f64; 3] = [20.0, 50.0, 90.0];
/// One second in nanoseconds, the interval of rate samples.
const SECOND: u64 = 1_000_000_000;

/// Observer that measures latencies and rates as the benchmark does.
#[derive(Clone, Debug)]
pub struct SchbenchRpsObserver {
    bench: SchbenchRps,
    /// Time noted for each waiting worker.
    wake_time: Vec<Option<Nanos>>,
    request_start: Vec<Nanos>,
    wakeups: Plat,
    requests: Plat,
    rates: Plat,
    nr_requests: u64,
    /// Number of requests up to the last full second, and the number of that second.
    counted: u64,
    second: u64,
    /// Whether the current second was not measured from its beginning, so that it gives no rate sample.
    is_partial: bool,
}

/// Distribution of one measured quantity.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Distribution {
    /// Number of measured samples.
    pub samples: u64,
    /// Percentiles of the samples.
    pub percentiles: Vec<Percentile>,
    /// Smallest sample; 0 without samples.
    pub min: u32,
    /// Largest sample; 0 without samples.
    pub max: u32,
}

/// Result of a current schbench release.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct SchbenchRpsResult {
    /// Length of the measured time, in seconds.
    pub runtime_s: u64,
    /// Latencies of wake-ups, in microseconds.
    pub wakeup_latency_us: Distribution,
    /// Latencies of requests, in microseconds.
    pub request_latency_us: Distribution,
    /// Number of requests in each second.
    pub rps: Distribution,
    /// Requests per second over the measured time.
    pub average_rps: f64,
    /// Requested rate in requests per second; 0 for no limit.
    pub rps_goal: u64,
}

impl SchbenchRpsObserver {
    /// Creates the observer of a benchmark.
    pub fn new(bench: SchbenchRps) -> Self {
        Self {
            bench,
            wake_time: Vec::new(),
            request_start: Vec::new(),
            wakeups: Plat::default(),
            requests: Plat::default(),
            rates: Plat::default(),
            nr_requests: 0,
            counted: 0,
            second: 0,
            is_partial: false,
        }
    }

    /// Returns the result of a measured time.
    pub fn result(&self, runtime: Nanos) -> SchbenchRpsResult {
        let of = |plat: &Plat, percents: &[f64]| Distribution {
            samples: plat.samples(),
            percentiles: plat.percentiles(percents),
            min: plat.min(),
            max: plat.max(),
        };
        SchbenchRpsResult {
            runtime_s: runtime.0 / SECOND,
            wakeup_latency_us: of(&self.wakeups, &LATENCIES),
            request_latency_us: of(&self.requests, &LATENCIES),
            rps: of(&self.rates, &RATES),
            average_rps: self.nr_requests as f64 * SECOND as f64 / runtime.0 as f64,
            rps_goal: self.bench.rps,
        }
    }

    fn count_request(&mut self, now: Nanos) {
        let second = (now - START).0 / SECOND;
        if second > self.second {
            if !std::mem::take(&mut self.is_partial) {
                self.rates.add(u32::try_from(self.nr_requests - self.counted).unwrap_or(u32::MAX));
            }
            self.counted = self.nr_requests;
            self.second = second;
        }
        self.nr_requests += 1;
    }
}

fn page_of(what: &str, unit: &str, star: f64, runtime_s: u64, distribution: &Distribution) -> String {
    let mut page =
        format!("{what} percentiles ({unit}) runtime {runtime_s} (s) ({} total samples)\n", distribution.samples);
    for &Percentile { percent, value, samples } in &distribution.percentiles {
        let mark = if percent == star { "* " } else { "  " };
        page.push_str(&format!("\t{mark}{percent:.1}th: {value:<10} ({samples} samples)\n"));
    }
    page + &format!("\t  min={}, max={}\n", distribution.min, distribution.max)
}

impl SchbenchRpsResult {
    fn text(&self) -> String {
        let mut page = page_of("Wakeup Latencies", "usec", 99.0, self.runtime_s, &self.wakeup_latency_us);
        page += &page_of("Request Latencies", "usec", 99.0, self.runtime_s, &self.request_latency_us);
        page += &page_of("RPS", "requests", 50.0, self.runtime_s, &self.rps);
        page + &if self.rps_goal > 0 {
            format!("final rps goal was {}\n", self.rps_goal)
        } else {
            format!("average rps: {:.2}\n", self.average_rps)
        }
    }
}

impl SchedObserver for SchbenchRpsObserver {}

impl Observer for SchbenchRpsObserver {
    fn machine_event(&mut self, now: Nanos, event: &MachineEvent) {
        match *event {
            MachineEvent::TimeRecorded { task } => *slot_mut(&mut self.wake_time, task) = Some(now),
            MachineEvent::Mark { task, phase: WAKEUP } => {
                // A worker that has not waited gives no latency.
                if let Some(since) = slot_mut(&mut self.wake_time, task).take() {
                    self.wakeups.add_latency(since, now);
                }
            }
            MachineEvent::Mark { task, phase: REQUEST_START } => *slot_mut(&mut self.request_start, task) = now,
            MachineEvent::Mark { task, phase: REQUEST_END } => {
                self.requests.add_latency(*slot_mut(&mut self.request_start, task), now);
                self.count_request(now);
            }
            _ => {}
        }
    }
}

impl BenchObserver for SchbenchRpsObserver {
    fn reset(&mut self) -> bool {
        for plat in [&mut self.wakeups, &mut self.requests, &mut self.rates] {
            *plat = Plat::default();
        }
        (self.nr_requests, self.counted) = (0, 0);
        self.is_partial = true;
        true
    }

    fn outcome(&self, _reached: RunProgress, measured: Nanos) -> BenchResult {
        let result = self.result(measured);
        BenchResult::new(result.text(), &result)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_form_is_the_benchmark_s() {
        let mut meter = SchbenchRpsObserver::new(SchbenchRps::for_cpus(1));
        for request in 0..25_u64 {
            let start = Nanos(START.0 + request * 100_000_000);
            meter.machine_event(start, &MachineEvent::TimeRecorded { task: 1 });
            let later = |us| start + Nanos::from_micros(us);
            meter.machine_event(later(5), &MachineEvent::Mark { task: 1, phase: WAKEUP });
            meter.machine_event(later(5), &MachineEvent::Mark { task: 1, phase: REQUEST_START });
            meter.machine_event(later(605), &MachineEvent::Mark { task: 1, phase: REQUEST_END });
        }
        let page = meter.result(Nanos(2_500_000_000)).text();
        let start = "Wakeup Latencies percentiles (usec) runtime 2 (s) (25 total samples)\n\t  50.0th: 5          (25 samples)\n";
        assert!(page.starts_with(start), "{page}");
        assert!(page.contains("\t* 99.0th: 601        (0 samples)\n"), "{page}");
        assert!(page.contains("RPS percentiles (requests) runtime 2 (s) (2 total samples)\n\t  20.0th: 10 "), "{page}");
        assert!(page.ends_with("\t  min=10, max=10\naverage rps: 10.00\n"), "{page}");
    }
}
