// SPDX-License-Identifier: GPL-2.0-or-later
//! One run: schbench and inactive groups on the device, and what is measured of it.

use super::MACHINE;
use crate::StudyError;
use crate::definition::ArmDefinition;
use crate::run::machine;
use fairlab_machine::costs::CostModel;
use fairlab_machine::hardware::{FrequencyDomain, Hardware};
use fairlab_machine::observer::{KernelPath, MachineEvent, Observer};
use fairlab_machine::sim::{Machine, Setup};
use fairlab_observe::bench::schbench::{SchbenchObserver, SchbenchResult};
use fairlab_observe::bench::{self, BenchObserver, RunProgress};
use fairlab_sched::ids::TaskId;
use fairlab_sched::interface::wakeup::WakeRule;
use fairlab_sched::probe::{BlockedCaller, Event, Probe};
use fairlab_sched::units::Nanos;
use fairlab_sched::work::KernelOp;
use fairlab_workload::bench::schbench::{SAMPLE, Schbench};
use fairlab_workload::bench::services::Services;
use std::collections::BTreeMap;

/// The services run for so long before the benchmark starts, so that groups have load and frequencies have settled. The
/// benchmark itself has no warm-up: its first cycles are among the published samples.
const WARM_UP: Nanos = Nanos::from_secs(1);
/// Length of the published runs.
const RUNTIME: Nanos = Nanos::from_secs(5);
/// A service's time between two wake-ups.
const SERVICE_PERIOD: Nanos = Nanos::from_millis(190);
/// A service's work, at full capacity.
const SERVICE_WORK: Nanos = Nanos::from_micros(100);

/// A sample of this latency waited for another task's slice.
const SLOW: Nanos = Nanos::from_millis(10);

/// What differs between runs beside the arm.
#[derive(Clone, Copy, Debug)]
pub(super) struct ExperimentCase {
    /// Ticks a second.
    pub(super) hz: u64,
    /// Number of inactive groups.
    pub(super) groups: u32,
    /// All frequency domains stay at their n-th frequency; none: schedutil.
    pub(super) fixed: Option<usize>,
    /// In what the machine is another one.
    pub(super) change: MachineChange,
    /// Tunables beside the arm's.
    pub(super) set: &'static [(&'static str, i64)],
    /// Seed of schbench's and the services' sleeps.
    pub(super) seed: u64,
}

/// A machine that differs from that of the file, to find out what a result depends on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum MachineChange {
    /// It does not differ.
    None,
    /// Visiting a cfs_rq for its blocked load is free.
    BlockedFree,
    /// All kernel code is free.
    AllFree,
    /// There is no energy model.
    NoPowers,
    /// Powers of small and big CPUs are so many times those of the file.
    Powers(f64, f64),
}

impl MachineChange {
    fn apply(self, hardware: &mut Hardware) {
        match self {
            Self::None => {}
            Self::BlockedFree => hardware.prices.set(KernelOp::BlockedCfsRq, 0),
            Self::AllFree => hardware.prices = CostModel::free(),
            Self::NoPowers => set_powers(hardware, |_, _| None),
            Self::Powers(small, big) => {
                let factors = [small, big];
                set_powers(hardware, |place, power| Some((power as f64 * factors[place]).round() as u64));
            }
        }
    }
}

/// Gives the frequency domains other powers, by place of the domain and power in the file.
fn set_powers(hardware: &mut Hardware, change: impl Fn(usize, u64) -> Option<u64>) {
    for (place, domain) in hardware.frequency_domains.iter_mut().enumerate() {
        let powers = domain.power_uw().iter().filter_map(|&power| change(place, power)).collect();
        *domain = FrequencyDomain::new(domain.cpus().collect(), domain.khz().to_vec(), powers, domain.governor())
            .expect("only the powers are others, and they are not zero")
            .skipping_inefficient();
    }
}

/// What was measured.
#[derive(Clone, Debug)]
pub(super) struct ExperimentRun {
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
    /// Newly-idle balancing, in a second: how often a CPU found nothing to run.
    pub(super) newidle_per_s: f64,
    /// The longest `schedule()`.
    pub(super) longest: Nanos,
    /// Visits of cfs_rqs in it.
    pub(super) longest_visits: u64,
    /// How workers were placed.
    pub(super) placing: Placements,
}

/// How workers were placed, as their samples tell.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Placements {
    /// Samples whose CPU was chosen for the sake of energy.
    by_energy: u32,
    /// Samples that waited for another task's slice.
    slow: u32,
    /// Those whose CPU was chosen for the sake of energy.
    slow_by_energy: u32,
}

impl Placements {
    fn add(&mut self, latency: Nanos, rule: WakeRule) {
        use WakeRule::{EnergyBest, EnergyNone, EnergyPrev, EnergyUnsure};
        let is_by_energy = u32::from(matches!(rule, EnergyBest | EnergyNone | EnergyPrev | EnergyUnsure));
        let is_slow = u32::from(latency >= SLOW);
        self.by_energy += is_by_energy;
        self.slow += is_slow;
        self.slow_by_energy += is_by_energy * is_slow;
    }

    /// Slow samples.
    pub(super) fn slow(&self) -> f64 {
        f64::from(self.slow)
    }

    /// Samples whose CPU was chosen for the sake of energy.
    pub(super) fn by_energy(&self) -> f64 {
        f64::from(self.by_energy)
    }

    /// Slow samples whose CPU was chosen otherwise.
    pub(super) fn slow_otherwise(&self) -> f64 {
        f64::from(self.slow - self.slow_by_energy)
    }
}

impl ExperimentCase {
    /// The machine of this case, from that of the file or from one with other prices.
    fn hardware(self, mut hardware: Hardware) -> Hardware {
        hardware.tick = Nanos(1_000_000_000 / self.hz);
        self.change.apply(&mut hardware);
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
        let others = self.set.iter().map(|&(name, value)| (name.to_owned(), value));
        arm.set_tunables().into_iter().map(limit).chain(others).collect()
    }

    /// Runs it.
    pub(super) fn run(self, arm: &ArmDefinition) -> Result<ExperimentRun, StudyError> {
        self.run_on(machine(MACHINE), arm)
    }

    /// Runs it on a machine with other prices.
    pub(super) fn run_on(self, hardware: Hardware, arm: &ArmDefinition) -> Result<ExperimentRun, StudyError> {
        let schbench =
            Schbench { message_threads: 2, threads: 2, runtime: RUNTIME, seed: self.seed, ..Schbench::default() };
        let mut workload = schbench.workload();
        let program = workload.tasks.first_mut().expect("the program creates the rest");
        program.start_at = Some(WARM_UP);
        let services = Services { number: self.groups, period: SERVICE_PERIOD, work: SERVICE_WORK, seed: self.seed };
        services.add_to(&mut workload);
        let mut machine = Machine::new(Setup {
            hardware: self.hardware(hardware),
            workload,
            features: arm.switched_features(),
            tunables: Vec::new(),
            named_tunables: self.tunables(arm),
            duration: WARM_UP + RUNTIME,
            snapshot_every: None,
            perturb: None,
            policy: None,
        })?;
        let mut observer = ExperimentObserver::new(&schbench, &machine);
        bench::warm_up(&mut machine, &mut observer, WARM_UP, &mut |_| true)?;
        observer.reset();
        bench::run_to_end(&mut machine, &mut observer, &mut |_| true)?;
        Ok(observer.result(&machine))
    }
}

/// Listens to a run.
struct ExperimentObserver {
    schbench: SchbenchObserver,
    /// Updates by others, of each CPU.
    calls: Vec<u64>,
    visits: u64,
    /// Newly-idle balancing.
    newidle: u64,
    /// The idle tasks.
    idle_tasks: Vec<TaskId>,
    /// What a `schedule()` under way has taken, and its visits of cfs_rqs, of each CPU.
    open: Vec<(Nanos, u64)>,
    longest: (Nanos, u64),
    placing: Placements,
    /// Names in the scheduler of the machine's tasks.
    ids: BTreeMap<usize, TaskId>,
    /// The rule of each task's last selection.
    rules: BTreeMap<TaskId, WakeRule>,
    /// When the message thread last noted the time for each worker.
    sent_at: BTreeMap<usize, Nanos>,
}

impl ExperimentObserver {
    fn new(schbench: &Schbench, machine: &Machine) -> Self {
        let nr_cpus = machine.hardware().nr_cpus();
        Self {
            schbench: SchbenchObserver::new(schbench),
            calls: vec![0; nr_cpus],
            visits: 0,
            newidle: 0,
            idle_tasks: machine.sched().cpu_ids().map(|cpu| machine.sched().idle_task(cpu)).collect(),
            open: vec![(Nanos::ZERO, 0); nr_cpus],
            longest: (Nanos::ZERO, 0),
            placing: Placements::default(),
            ids: BTreeMap::new(),
            rules: BTreeMap::new(),
            sent_at: BTreeMap::new(),
        }
    }

    /// The warm-up is over.
    fn reset(&mut self) {
        self.schbench.reset();
        self.calls.fill(0);
        (self.visits, self.newidle, self.longest, self.placing) = (0, 0, (Nanos::ZERO, 0), Placements::default());
    }

    fn result(&self, machine: &Machine) -> ExperimentRun {
        let per_s = |count: u64| count as f64 * 1e9 / RUNTIME.0 as f64;
        ExperimentRun {
            schbench: self.schbench.result(RUNTIME),
            page: self.schbench.outcome(RunProgress::from_machine(machine), RUNTIME).text,
            calls_per_s: per_s(self.calls.iter().sum()),
            calls_of_one_per_s: per_s(self.calls.iter().copied().max().unwrap_or(0)),
            visits_per_s: per_s(self.visits),
            newidle_per_s: per_s(self.newidle),
            longest: self.longest.0,
            longest_visits: self.longest.1,
            placing: self.placing,
        }
    }

    /// A worker has got its message.
    fn on_sample(&mut self, now: Nanos, task: usize) {
        let noted = self.sent_at.get(&task).copied();
        let rule = self.ids.get(&task).and_then(|id| self.rules.get(id)).copied();
        if let (Some(noted), Some(rule)) = (noted, rule) {
            self.placing.add(now - noted, rule);
        }
    }

    /// A part of a path of the kernel.
    fn on_phase(&mut self, cpu: u32, path: KernelPath, time: Nanos, ends: bool) {
        // Newly-idle balancing is a part of schedule(), which ends with the phase that ends either of them.
        if matches!(path, KernelPath::Schedule | KernelPath::NewIdle) {
            let open = &mut self.open[cpu as usize];
            open.0 += time;
            if ends {
                self.longest = self.longest.max(core::mem::take(open));
            }
        }
    }
}

impl Probe for ExperimentObserver {
    fn event(&mut self, _now: Nanos, event: &Event<'_>) {
        use BlockedCaller::{NewIdle, NohzIdle, NohzKick, NohzNewIdle};
        match event {
            Event::WakeupDecision(decision) => {
                self.rules.insert(decision.task, decision.rule);
            }
            Event::BlockedUpdate(update) => {
                if matches!(update.caller, NewIdle | NohzNewIdle) {
                    self.open[update.on.index()].1 += update.nr_cfs_rqs;
                }
                if matches!(update.caller, NohzNewIdle | NohzKick | NohzIdle) {
                    self.calls[update.cpu.index()] += 1;
                    self.visits += update.nr_cfs_rqs;
                }
            }
            Event::Switch { next, .. } => self.newidle += u64::from(self.idle_tasks.contains(next)),
            _ => {}
        }
    }
}

impl Observer for ExperimentObserver {
    fn wants_kernel_paths(&self) -> bool {
        true
    }

    fn machine_event(&mut self, now: Nanos, event: &MachineEvent) {
        self.schbench.machine_event(now, event);
        match *event {
            MachineEvent::Forked { task, id, .. } => {
                self.ids.insert(task, id);
            }
            MachineEvent::TimeNoted { task } => {
                self.sent_at.insert(task, now);
            }
            MachineEvent::Mark { task, phase: SAMPLE } => self.on_sample(now, task),
            MachineEvent::Kernel { cpu, path, took, waited, ends, .. } => {
                self.on_phase(cpu.0, path, took + waited, ends)
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::definition::StudyDefinition;
    use crate::kernels::Kernel;

    fn study() -> StudyDefinition {
        let text = include_str!("../../../../studies/blocked-averages-rate-limit.toml");
        StudyDefinition::parse("studies/blocked-averages-rate-limit.toml", text).expect("it is a study")
    }

    const CASE: ExperimentCase = super::super::usual(0);

    #[test]
    fn both_arms_are_the_kernel_5_4_but_for_the_limit() {
        let kernel = Kernel::from_name("5.4").expect("it is one of them");
        for arm in &study().arms {
            let mut features = arm.switched_features();
            features.sort_unstable();
            let mut expected = kernel.features();
            expected.sort_unstable();
            assert_eq!(features, expected);
            let mut tunables = arm.set_tunables();
            tunables.retain(|(name, _)| name != "blocked_limit");
            tunables.sort();
            assert!(!tunables.is_empty());
            let expected = kernel.tunables().into_iter().map(|(name, value)| (name.to_owned(), value));
            let mut expected: Vec<_> = expected.collect();
            expected.sort();
            assert_eq!(tunables, expected);
        }
    }

    #[test]
    fn the_limit_is_fifty_milliseconds_at_any_hz() {
        let study = study();
        let limit = |hz| {
            let tunables = ExperimentCase { hz, ..CASE }.tunables(study.arm("after"));
            tunables.into_iter().find(|(name, _)| name == "blocked_limit").expect("it is set").1
        };
        assert_eq!((limit(250), limit(1000)), (12, 50));
    }

    #[test]
    fn no_runqueue_is_updated_more_than_twenty_times_a_second_after_the_change() {
        let study = study();
        let calls = |arm| CASE.run(study.arm(arm)).expect("it runs").calls_of_one_per_s;
        assert!(calls("after") <= 20.0);
        assert!(calls("before") > 20.0);
    }

    #[test]
    fn workers_wait_for_a_slice_only_where_energy_places_them() {
        let study = study();
        // With the queue of 6.0 a worker that was put on an idle CPU is not seen there until that CPU is awake.
        let queue: &[_] = &[("wakelist_far", 0)];
        let slow = |change, set| -> u32 {
            let found =
                |seed| ExperimentCase { change, set, seed, ..CASE }.run(study.arm("before")).expect("it runs").placing;
            (0..4).map(|seed| found(seed).slow).sum()
        };
        assert!(slow(MachineChange::None, queue) >= 10);
        assert_eq!(slow(MachineChange::NoPowers, queue), 0);
    }

    #[test]
    fn the_first_cycles_of_the_benchmark_are_measured_and_the_services_before_it_are_not() {
        let found = CASE.run(study().arm("before")).expect("it runs");
        // 5 s are 53 cycles of 94 ms, and four workers.
        assert!((204..=216).contains(&found.schbench.samples), "{}", found.schbench.samples);
        assert!((150.0..300.0).contains(&found.newidle_per_s), "{}", found.newidle_per_s);
        assert!(found.longest_visits >= 10 && found.longest > Nanos::from_micros(100), "{found:?}");
    }
}
