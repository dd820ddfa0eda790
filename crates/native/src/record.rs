// SPDX-License-Identifier: GPL-2.0-or-later
//! Record of a measured machine, as `fairlab machine calibrate` writes it.

use crate::kernel::KernelInfo;
use crate::spread::Spread;
use fairlab_workload::bench::micro::{MicroTest, Placement, Transport};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Name and version of the format.
pub const SCHEMA: &str = "calibration/1";

/// Measurements of a machine. Times are in nanoseconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "Calibration")]
pub struct Calibration {
    /// Name and version of this format.
    pub schema: String,
    /// Kernel and processor.
    pub kernel: KernelInfo,
    /// Number of CPUs that the process may use.
    pub nr_cpus: usize,
    /// CPUs of tests that need two.
    pub cpus: Vec<u32>,
    /// Duration of the measurement in seconds.
    pub seconds: f64,
    /// Share of the machine's CPU time that other processes used during the measurement, and its hypervisor.
    pub disturbance: Disturbance,
    /// Operations that a simulated machine runs as well.
    pub tests: Vec<TestResult>,
    /// Installed programs that have a model.
    pub programs: Vec<ProgramResult>,
    /// An interrupt to a busy CPU and its answer (`membarrier()`); absent on one CPU.
    pub ipi_round_trip: Option<Spread>,
    /// Wake-ups of another CPU, by the time that it was idle before.
    pub wake_ups: Vec<IdleWakeUp>,
    /// Latency of a cache line between two CPUs, one way.
    pub lines: Vec<LineLatency>,
    /// Timer slack of a thread: timers may expire this much later.
    pub timer_slack: u64,
}

/// Use of the machine by others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Disturbance {
    /// Share that other processes used, 0 to 1.
    pub other_processes: f64,
    /// Share that the hypervisor gave to other guests, 0 to 1.
    pub stolen: f64,
}

/// Result of one test.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TestResult {
    /// Name of the test, as `fairlab bench micro` takes it.
    pub test: String,
    /// Duration of one operation.
    pub ns: Spread,
}

/// Result of an installed program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProgramResult {
    /// Command.
    pub command: String,
    /// Time that it reports: of an operation, of the run, or a latency.
    pub ns: Spread,
}

/// Wake-up of an idle CPU: from the start of the waker's system call until the woken thread runs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct IdleWakeUp {
    /// Time for which the CPU was idle.
    pub idle: u64,
    /// Distribution over batches of their medians.
    pub ns: Spread,
}

/// Latency of a cache line between two CPUs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LineLatency {
    /// Both CPUs, the lower one first.
    pub cpus: [u32; 2],
    /// Closest unit that they share: `core`, `last-level cache`, `package` or `none`.
    pub shares: String,
    /// Distribution over batches.
    pub ns: Spread,
}

impl Calibration {
    /// Returns the result of a test.
    pub fn result(&self, test: MicroTest) -> Option<&Spread> {
        let name = test.name();
        self.tests.iter().find(|result| result.test == name).map(|result| &result.ns)
    }

    /// Returns the time of a block, a wake-up and a switch on one CPU in nanoseconds: half of a round trip without its two
    /// messages. `None` if a test is missing.
    pub fn switch_ns(&self) -> Option<f64> {
        let round = self.result(MicroTest::PingPong(Transport::Eventfd, Placement::OneCpu))?.median;
        Some(round / 2.0 - self.result(MicroTest::Pass(Transport::Eventfd))?.median)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record() -> Calibration {
        let result = |test: MicroTest, ns: f64| TestResult {
            test: test.name(),
            ns: Spread::of(&[ns]).expect("there is a result"),
        };
        Calibration {
            schema: SCHEMA.to_owned(),
            kernel: KernelInfo::default(),
            nr_cpus: 2,
            cpus: vec![0, 1],
            seconds: 1.0,
            disturbance: Disturbance::default(),
            tests: vec![
                result(MicroTest::EmptyCall, 172.0),
                result(MicroTest::Pass(Transport::Eventfd), 500.0),
                result(MicroTest::PingPong(Transport::Eventfd, Placement::OneCpu), 4600.0),
            ],
            programs: Vec::new(),
            ipi_round_trip: None,
            wake_ups: Vec::new(),
            lines: Vec::new(),
            timer_slack: 50_000,
        }
    }

    #[test]
    fn a_switch_is_half_a_round_trip_without_its_message() {
        assert_eq!(record().switch_ns(), Some(1800.0));
    }
}
