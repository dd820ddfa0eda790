// SPDX-License-Identifier: GPL-2.0-or-later
//! One run of schbench with inactive groups on the device, and its measurements.

use crate::definition::ArmDefinition;
use crate::error::StudyError;
use crate::run::{machine, setup};
use fairlab_machine::costs::CostModel;
use fairlab_machine::hardware::{FrequencyDomain, Hardware};
use fairlab_machine::observer::{KernelPath, MachineEvent, Observer};
use fairlab_machine::sim::{Machine, START, Setup};
use fairlab_measure::bench::schbench::{SchbenchObserver, SchbenchResult};
use fairlab_measure::bench::{BenchObserver, RunProgress};
use fairlab_run::drive::{drive_to, drive_until_done};
use fairlab_sched::ids::TaskId;
use fairlab_sched::interface::wakeup::WakeRule;
use fairlab_sched::probe::{BlockedCaller, Event, SchedObserver};
use fairlab_sched::units::Nanos;
use fairlab_sched::work::KernelOp;
use fairlab_workload::bench::schbench::{SAMPLE, Schbench};
use fairlab_workload::bench::services::Services;
use fairlab_workload::workload::Workload;
use std::collections::BTreeMap;

/// Machine of all runs.
const MACHINE: &str = "sc7180";

/// Time for which the services run before the benchmark starts, so that groups have load and frequencies have
/// settled. The benchmark itself has no warm-up: its first cycles are among the published samples.
const WARM_UP: Nanos = Nanos::from_secs(1);
/// Length of the published runs.
const RUNTIME: Nanos = Nanos::from_secs(5);
/// Interval between two wake-ups of a service.
const SERVICE_PERIOD: Nanos = Nanos::from_millis(190);
/// Work of a service at full capacity.
const SERVICE_WORK: Nanos = Nanos::from_micros(100);

/// Latency from which a sample counts as having waited for another task's slice.
const SLOW: Nanos = Nanos::from_millis(10);

/// Settings of a run besides the arm.
#[derive(Clone, Copy, Debug)]
pub(super) struct ExperimentCase {
    /// Tick frequency, in ticks per second.
    pub(super) hz: u64,
    /// Number of inactive groups.
    pub(super) groups: u32,
    /// Index of the frequency at which all frequency domains stay; `None` for schedutil.
    pub(super) fixed: Option<usize>,
    /// Difference of the machine from its file.
    pub(super) change: MachineChange,
    /// Tunables in addition to the arm's.
    pub(super) set: &'static [(&'static str, i64)],
    /// Seed of the sleeps of schbench and the services.
    pub(super) seed: u64,
}

/// Difference of a machine from its file, which shows whether a result depends on a property.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum MachineChange {
    None,
    /// Visiting a cfs_rq to update its blocked load takes no time.
    BlockedFree,
    /// All kernel code takes no time.
    AllFree,
    /// The machine has no energy model.
    NoPowers,
    /// Factors on the power values of small and big CPUs.
    Powers(f64, f64),
}

impl MachineChange {
    fn apply(self, hardware: &mut Hardware) {
        match self {
            Self::None => {}
            Self::BlockedFree => hardware.costs.set_op(KernelOp::BlockedCfsRq, 0),
            Self::AllFree => hardware.costs = CostModel::zero_cost(),
            Self::NoPowers => set_powers(hardware, |_, _| None),
            Self::Powers(small, big) => {
                let factors = [small, big];
                set_powers(hardware, |place, power| Some((power as f64 * factors[place]).round() as u64));
            }
        }
    }
}

/// Replaces the power values of the frequency domains; `change` gets the index of the domain and the value
/// from the file.
fn set_powers(hardware: &mut Hardware, change: impl Fn(usize, u64) -> Option<u64>) {
    for (place, domain) in hardware.frequency_domains.iter_mut().enumerate() {
        let powers = domain.power_uw().iter().filter_map(|&power| change(place, power)).collect();
        *domain = FrequencyDomain::new(domain.cpus().collect(), domain.khz().to_vec(), powers, domain.governor())
            .expect("only the powers are others, and they are not zero")
            .with_inefficient_skipped();
    }
}

/// Measurements of one run.
#[derive(Clone, Debug)]
pub(super) struct ExperimentRun {
    /// Latencies as schbench reports them.
    pub(super) schbench: SchbenchResult,
    /// Output of schbench in its own format.
    pub(super) page: String,
    /// Updates of tickless CPUs' blocked load by other CPUs, per second.
    pub(super) calls_per_s: f64,
    /// Updates of the tickless CPU that is updated most often, per second.
    pub(super) calls_of_one_per_s: f64,
    /// Number of cfs_rqs that these updates visit, per second.
    pub(super) visits_per_s: f64,
    /// Number of newly-idle load balances per second, which is how often a CPU found no task to run.
    pub(super) newidle_per_s: f64,
    /// Longest duration of `schedule()`.
    pub(super) longest: Nanos,
    /// Number of cfs_rqs visited in the longest `schedule()`.
    pub(super) longest_visits: u64,
    /// Placements of the workers.
    pub(super) placing: Placements,
}

/// Counts of how workers were placed, by their samples.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Placements {
    /// Number of samples whose CPU was selected by energy-aware scheduling.
    by_energy: u32,
    /// Number of samples that waited for another task's slice.
    slow: u32,
    /// Number of slow samples whose CPU was selected by energy-aware scheduling.
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

    /// Number of slow samples.
    pub(super) fn slow(&self) -> f64 {
        f64::from(self.slow)
    }

    /// Number of samples whose CPU was selected by energy-aware scheduling.
    pub(super) fn by_energy(&self) -> f64 {
        f64::from(self.by_energy)
    }

    /// Number of slow samples whose CPU was selected by another rule.
    pub(super) fn slow_otherwise(&self) -> f64 {
        f64::from(self.slow - self.slow_by_energy)
    }
}

impl ExperimentCase {
    /// Changes a machine to that of this case. The costs that an arm sets are changed as well.
    fn change(self, hardware: &mut Hardware) {
        hardware.tick = Nanos(1_000_000_000 / self.hz);
        self.change.apply(hardware);
        if let Some(place) = self.fixed {
            for domain in &mut hardware.frequency_domains {
                domain.fix_at_index(place);
            }
        }
    }

    /// Returns a workload's setup under an arm, with the rate limit for this HZ.
    fn setup(self, arm: &ArmDefinition, hardware: Hardware, workload: Workload) -> Result<Setup, StudyError> {
        let mut setup = setup(arm, hardware, workload, WARM_UP + RUNTIME)?;
        self.change(&mut setup.hardware);
        for (_, value) in setup.tunables.iter_mut().filter(|(name, _)| name.as_str() == "blocked_limit") {
            *value = *value * self.hz as i64 / 1000;
        }
        setup.tunables.extend(self.set.iter().map(|&(name, value)| (name.into(), value)));
        Ok(setup)
    }

    /// Runs the case.
    pub(super) fn run(self, arm: &ArmDefinition) -> Result<ExperimentRun, StudyError> {
        let schbench =
            Schbench { message_threads: 2, threads: 2, runtime: RUNTIME, seed: self.seed, ..Schbench::default() };
        let mut workload = schbench.workload();
        let program = workload.tasks.first_mut().expect("the program creates the rest");
        program.start_at = Some(WARM_UP);
        let services = Services { number: self.groups, period: SERVICE_PERIOD, work: SERVICE_WORK, seed: self.seed };
        services.add_to(&mut workload);
        let mut machine = Machine::new(self.setup(arm, machine(MACHINE), workload)?)?;
        let mut observer = ExperimentObserver::new(&schbench, &machine);
        drive_to(&mut machine, &mut observer, START + WARM_UP)?;
        observer.reset();
        drive_until_done(&mut machine, &mut observer)?;
        Ok(observer.result(&machine))
    }
}

/// Observer of a run.
struct ExperimentObserver {
    schbench: SchbenchObserver,
    /// Number of updates by other CPUs, for each CPU.
    calls: Vec<u64>,
    visits: u64,
    /// Number of newly-idle load balances.
    newidle: u64,
    /// Idle task of each CPU.
    idle_tasks: Vec<TaskId>,
    /// Time and visited cfs_rqs of the `schedule()` that each CPU is executing.
    open: Vec<(Nanos, u64)>,
    longest: (Nanos, u64),
    placing: Placements,
    /// Scheduler IDs of the machine's tasks.
    ids: BTreeMap<usize, TaskId>,
    /// Rule of each task's last wake-up placement.
    rules: BTreeMap<TaskId, WakeRule>,
    /// Time that the message thread last noted for each worker.
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

    /// Discards the counts of the warm-up.
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

    /// Counts the sample of a worker that has received its message.
    fn on_sample(&mut self, now: Nanos, task: usize) {
        let noted = self.sent_at.get(&task).copied();
        let rule = self.ids.get(&task).and_then(|id| self.rules.get(id)).copied();
        if let (Some(noted), Some(rule)) = (noted, rule) {
            self.placing.add(now - noted, rule);
        }
    }

    /// Adds one phase of a kernel path to the duration of `schedule()`.
    fn on_phase(&mut self, cpu: u32, path: KernelPath, time: Nanos, ends: bool) {
        // Newly-idle balancing is part of schedule(), which ends with the last phase of either path.
        if matches!(path, KernelPath::Schedule | KernelPath::NewIdle) {
            let open = &mut self.open[cpu as usize];
            open.0 += time;
            if ends {
                self.longest = self.longest.max(core::mem::take(open));
            }
        }
    }
}

impl SchedObserver for ExperimentObserver {
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
            MachineEvent::TimeRecorded { task } => {
                self.sent_at.insert(task, now);
            }
            MachineEvent::Mark { task, phase: SAMPLE } => self.on_sample(now, task),
            MachineEvent::Kernel { cpu, path, took, waited, ends, .. } => {
                self.on_phase(cpu.0, path, took + waited, ends);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::definition::StudyDefinition;
    use fairlab_run::kernels::Kernel;

    fn study() -> StudyDefinition {
        let text = include_str!("../../../../studies/blocked-averages-rate-limit.toml");
        StudyDefinition::parse("studies/blocked-averages-rate-limit.toml", text).expect("it is a study")
    }

    const CASE: ExperimentCase = super::super::jobs::usual(0);

    #[test]
    fn both_arms_are_the_kernel_5_4_but_for_the_limit() {
        let kernel = Kernel::from_name("5.4").expect("it is one of them");
        for arm in &study().arms {
            let setup = setup(arm, machine(MACHINE), Workload::default(), RUNTIME).expect("the arm fits the machine");
            let mut features = setup.features;
            features.sort_unstable();
            let expected = kernel.features().into_iter().map(|(feature, is_on)| (feature.name().to_owned(), is_on));
            let mut expected: Vec<_> = expected.collect();
            expected.sort_unstable();
            assert_eq!(features, expected);
            let mut tunables: Vec<_> = setup.tunables.iter().map(|(name, value)| (name.as_str(), *value)).collect();
            tunables.retain(|(name, _)| *name != "blocked_limit");
            tunables.sort_unstable();
            assert!(!tunables.is_empty());
            let expected = kernel.tunables().into_iter().map(|(info, value)| (info.name, value));
            let mut expected: Vec<_> = expected.collect();
            expected.sort_unstable();
            assert_eq!(tunables, expected);
        }
    }

    #[test]
    fn the_limit_is_fifty_milliseconds_at_any_hz() {
        let study = study();
        let limit = |hz| {
            let case = ExperimentCase { hz, ..CASE };
            let setup = case.setup(study.arm("after"), machine(MACHINE), Workload::default());
            setup
                .expect("the arm fits the machine")
                .tunables
                .into_iter()
                .find(|(name, _)| name.as_str() == "blocked_limit")
                .expect("it is set")
                .1
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
        // With the wake list of 6.0, a worker that was placed on an idle CPU is invisible there until that
        // CPU is awake.
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
        // A run of 5 s has 53 cycles of 94 ms with four workers.
        assert!((204..=216).contains(&found.schbench.samples), "{}", found.schbench.samples);
        assert!((150.0..300.0).contains(&found.newidle_per_s), "{}", found.newidle_per_s);
        assert!(found.longest_visits >= 10 && found.longest > Nanos::from_micros(80), "{found:?}");
    }
}
