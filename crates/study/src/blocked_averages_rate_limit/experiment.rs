// SPDX-License-Identifier: GPL-2.0-or-later
//! One run: schbench and inactive groups on the device, and what is measured of it.

use crate::StudyError;
use crate::definition::ArmDefinition;
use crate::run::machine;
use fairlab_machine::engine::{Machine, Setup};
use fairlab_machine::hardware::Hardware;
use fairlab_machine::observer::{KernelPath, MachineEvent, Observer};
use fairlab_observe::bench::schbench::{SchbenchMeter, SchbenchResult};
use fairlab_observe::bench::{self, Meter};
use fairlab_sched::probe::{BlockedCaller, Event, Probe};
use fairlab_sched::units::Nanos;
use fairlab_workload::bench::schbench::Schbench;
use fairlab_workload::bench::services::Services;
use std::collections::BTreeMap;

/// The benchmark runs for so long before anything is measured, so that groups have load and frequencies have settled.
const WARM_UP: Nanos = Nanos::from_secs(1);
/// Length of the published runs.
const RUNTIME: Nanos = Nanos::from_secs(5);
/// A service's time between two wake-ups.
const SERVICE_PERIOD: Nanos = Nanos::from_millis(700);
/// A service's work, at full capacity.
const SERVICE_WORK: Nanos = Nanos::from_micros(20);

/// What differs between runs beside the arm.
#[derive(Clone, Copy, Debug)]
pub(super) struct Case {
    /// Ticks a second.
    pub(super) hz: u64,
    /// Number of inactive groups.
    pub(super) groups: u32,
    /// All frequency domains stay at their n-th frequency; none: schedutil.
    pub(super) fixed: Option<usize>,
    /// Seed of schbench's and the services' sleeps.
    pub(super) seed: u64,
}

/// What was measured.
#[derive(Clone, Debug)]
pub(super) struct Found {
    /// What schbench tells.
    pub(super) schbench: SchbenchResult,
    /// The same in its own form.
    pub(super) page: String,
    /// Updates of tickless CPUs' blocked load by others, in a second.
    pub(super) calls_per_s: f64,
    /// The same for the CPU with most.
    pub(super) calls_of_one_per_s: f64,
    /// Visits of cfs_rqs by these, in a second.
    pub(super) visits_per_s: f64,
    /// The longest `schedule()`.
    pub(super) longest: Nanos,
}

impl Case {
    fn hardware(self) -> Hardware {
        let mut hardware = machine("sc7180");
        hardware.tick = Nanos(1_000_000_000 / self.hz);
        if let Some(place) = self.fixed {
            for domain in &mut hardware.frequency_domains {
                domain.stay_at(place);
            }
        }
        hardware
    }

    /// The arm's tunables, with the limit for this HZ.
    fn tunables(self, arm: &ArmDefinition) -> Vec<(String, i64)> {
        let limit = |(name, value): (String, i64)| match name.as_str() {
            "blocked_limit" => (name, value * self.hz as i64 / 1000),
            _ => (name, value),
        };
        arm.set_tunables().into_iter().map(limit).collect()
    }

    /// Runs it.
    pub(super) fn run(self, arm: &ArmDefinition) -> Result<Found, StudyError> {
        let schbench =
            Schbench { message_threads: 2, threads: 2, runtime: RUNTIME, seed: self.seed, ..Schbench::default() };
        let mut workload = schbench.workload();
        let services = Services { number: self.groups, period: SERVICE_PERIOD, work: SERVICE_WORK, seed: self.seed };
        services.add_to(&mut workload);
        let mut machine = Machine::new(Setup {
            hardware: self.hardware(),
            workload,
            features: arm.switched_features(),
            tunables: Vec::new(),
            named_tunables: self.tunables(arm),
            duration: WARM_UP + RUNTIME,
            snapshot_every: None,
            perturb: None,
        })?;
        let mut observer = Eyes::new(&schbench, machine.hardware().nr_cpus());
        bench::warm_up(&mut machine, &mut observer, WARM_UP)?;
        observer.reset();
        bench::go_on(&mut machine, &mut observer, &mut |_| {})?;
        Ok(observer.found(&machine))
    }
}

/// Listens to a run.
struct Eyes {
    schbench: SchbenchMeter,
    /// Updates by others, of each CPU.
    calls: Vec<u64>,
    visits: u64,
    /// What a `schedule()` under way has taken, of each CPU.
    open: BTreeMap<u32, Nanos>,
    longest: Nanos,
}

impl Eyes {
    fn new(schbench: &Schbench, nr_cpus: usize) -> Self {
        let (open, longest) = (BTreeMap::new(), Nanos::ZERO);
        Self { schbench: SchbenchMeter::new(schbench), calls: vec![0; nr_cpus], visits: 0, open, longest }
    }

    /// The warm-up is over.
    fn reset(&mut self) {
        self.schbench.reset();
        self.calls.fill(0);
        (self.visits, self.longest) = (0, Nanos::ZERO);
    }

    fn found(&self, machine: &Machine) -> Found {
        let per_s = |count: u64| count as f64 * 1e9 / RUNTIME.0 as f64;
        Found {
            schbench: self.schbench.result(RUNTIME),
            page: self.schbench.outcome(machine, RUNTIME).text,
            calls_per_s: per_s(self.calls.iter().sum()),
            calls_of_one_per_s: per_s(self.calls.iter().copied().max().unwrap_or(0)),
            visits_per_s: per_s(self.visits),
            longest: self.longest,
        }
    }
}

impl Probe for Eyes {
    fn event(&mut self, _now: Nanos, event: &Event<'_>) {
        let Event::BlockedUpdate(update) = event else { return };
        if matches!(update.caller, BlockedCaller::NohzNewIdle | BlockedCaller::NohzKick | BlockedCaller::NohzIdle) {
            self.calls[update.cpu.index()] += 1;
            self.visits += update.nr_cfs_rqs;
        }
    }
}

impl Observer for Eyes {
    fn wants_kernel_paths(&self) -> bool {
        true
    }

    fn machine_event(&mut self, now: Nanos, event: &MachineEvent) {
        self.schbench.machine_event(now, event);
        let MachineEvent::Kernel { cpu, path, took, waited, ends, .. } = *event else { return };
        // Newly-idle balancing is a part of schedule(), which ends with the phase that ends either of them.
        if matches!(path, KernelPath::Schedule | KernelPath::NewIdle) {
            let sum = self.open.entry(cpu.0).or_default();
            *sum += took + waited;
            if ends {
                self.longest = self.longest.max(*sum);
                *sum = Nanos::ZERO;
            }
        }
    }
}
