// SPDX-License-Identifier: GPL-2.0-or-later
//! Construction of a machine with a workload, and the start of a run.
use super::effects::{CpuCounters, MachineCounters};
use super::kernel::KernelState;
use super::lines::RqLines;
use super::locks::RqLock;
use super::residency::CpuKinds;
use super::speed::CpuSpeeds;
use super::sync::SyncObjects;
use super::tracer::Tracer;
use super::{IdleLoop, Machine, START, SimCpu, governor, idle, softirq};
use crate::digest::Digest;
use crate::engine::Engine;
use crate::event::{EventKind, EventQueue, Lane};
use crate::hardware::{Hardware, InterruptLoad};
use crate::observer::{Interest, KernelPath, Observer};
use crate::streams::RandomStream;
use fairlab_sched::features::Feature;
use fairlab_sched::ids::{CpuId, GroupId};
use fairlab_sched::interface::policy::{PolicyHook, PolicySlot};
use fairlab_sched::resumable::YieldMode;
use fairlab_sched::sched::{Sched, SchedConfig};
use fairlab_sched::state::cpufreq::domain::FrequencyDomainError;
use fairlab_sched::state::group::bandwidth::{Bandwidth, BandwidthError};
use fairlab_sched::task::Uclamp;
use fairlab_sched::topology::BuildError;
use fairlab_sched::tunables::Tunables;
use fairlab_sched::units::{Nanos, SCHED_CAPACITY_SCALE};
use fairlab_sched::work::OpCounts;
use fairlab_workload::scenario::Scenario;
use fairlab_workload::workload::{Affinity, Change, GroupSpec, Workload};
use std::collections::VecDeque;
use std::fmt;

/// Inputs of a run.
pub struct Setup {
    /// Hardware of the simulated machine.
    pub hardware: Hardware,
    /// Tasks, groups and changes.
    pub workload: Workload,
    /// Features to enable or disable, in order.
    pub features: Vec<(Feature, bool)>,
    /// Changes to the machine's default tunables, applied in order.
    pub tunables: Vec<fn(&mut Tunables)>,
    /// Tunables by name, applied in order after `tunables`.
    pub named_tunables: Vec<(String, i64)>,
    /// Length of the run. Events at the very end still happen.
    pub duration: Nanos,
    /// Time between two snapshots; `None` for a single snapshot at the end.
    pub snapshot_every: Option<Nanos>,
    /// Seed that permutes simultaneous events, if set.
    pub perturb: Option<u64>,
    /// Custom policy that replaces some of the kernel's rules.
    pub policy: Option<Box<dyn PolicyHook>>,
}

impl Setup {
    /// Returns the setup that a scenario file describes. Every user of scenarios starts from this, so that no
    /// statement is lost.
    ///
    /// # Panics
    /// Never for a scenario that was read from a file: the reader checks the names of features.
    pub fn from_scenario(scenario: Scenario) -> Self {
        let hardware = Hardware::from_scenario(&scenario);
        Self::with_hardware(hardware, scenario)
    }

    /// Returns the setup that a scenario file describes, on another machine than its own.
    ///
    /// # Panics
    /// As [`Setup::from_scenario`].
    pub fn with_hardware(hardware: Hardware, scenario: Scenario) -> Self {
        let feature = |(name, on): (String, bool)| {
            (Feature::from_name(&name).expect("the scenario reader checks feature names"), on)
        };
        // A value that does not fit is out of range for every tunable and rejected as such.
        let signed = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
        let tunables = scenario.tunables.into_iter().map(|(name, value)| (name, signed(value)));
        Self {
            hardware,
            workload: scenario.workload,
            features: scenario.features.into_iter().map(feature).collect(),
            tunables: Vec::new(),
            named_tunables: tunables.chain(scenario.arms).collect(),
            duration: scenario.end,
            snapshot_every: scenario.stats,
            perturb: None,
            policy: None,
        }
    }
}

/// Reason why a machine cannot be constructed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SetupError {
    /// No sched domains can be built from the topology.
    Topology(BuildError),
    /// A frequency domain is invalid.
    Frequency(FrequencyDomainError),
    /// A tunable does not exist, or its value is out of range.
    Tunable(String),
    /// The quota of a group is invalid.
    Quota(String),
    /// The engine does not support the run, or could not be started.
    Unsupported(String),
}

impl fmt::Display for SetupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Topology(error) => write!(f, "{error}"),
            Self::Frequency(error) => write!(f, "{error}"),
            Self::Tunable(message) | Self::Quota(message) | Self::Unsupported(message) => f.write_str(message),
        }
    }
}

impl std::error::Error for SetupError {}

/// Number of CPUs that a search scans in one phase. A scan takes as long as the transfer of a cache line from
/// another core, and idle periods last for microseconds, so a few scans can share a phase.
const CPUS_SCANNED_PER_PHASE: u32 = 4;

impl Machine {
    /// Returns a booted machine with the built-in scheduler; its run has not started.
    ///
    /// # Errors
    /// If the hardware, a tunable or a group's quota is invalid.
    pub fn new(setup: Setup) -> Result<Self, SetupError> {
        Self::with_engine(setup, |config| Sched::new(config).map_err(SetupError::Topology))
    }
}

impl<E: Engine> Machine<E> {
    /// Returns a booted machine with an engine that `make` creates for the machine's topology.
    ///
    /// # Errors
    /// As [`Machine::new`], and if the engine does not support the run.
    pub fn with_engine(
        setup: Setup,
        make: impl FnOnce(SchedConfig) -> Result<E, SetupError>,
    ) -> Result<Self, SetupError> {
        let boot_start = super::boot_start(setup.hardware.nr_cpus());
        let tick = setup.hardware.tick.0;
        let config =
            SchedConfig { topology: setup.hardware.topology.clone(), tick_ns: tick, jiffies: boot_start.0 / tick };
        let mut sched = make(config)?;
        if let Some(what) = sched.unsupported(&setup) {
            return Err(SetupError::Unsupported(what));
        }
        let Setup {
            mut hardware,
            mut workload,
            features,
            tunables,
            named_tunables,
            duration,
            snapshot_every,
            perturb,
            policy,
        } = setup;
        for (at, cpus, is_thermal, part) in hardware.frequency_limits.iter().cloned() {
            workload.changes.push((at, Change::FrequencyLimit { cpus, is_thermal, part }));
        }
        governor::add_threads(&mut workload, &hardware);
        let pauses = !hardware.costs.is_zero_cost();
        let has_threads = pauses && sched.may_defer_softirqs();
        let first_ksoftirqd =
            if has_threads { softirq::add_threads(&mut workload, &hardware) } else { workload.tasks.len() };
        hardware.interrupts.extend(workload.irqs.iter().map(InterruptLoad::from));
        for group in &workload.groups {
            bandwidth_of(group).map_err(|error| SetupError::Quota(format!("group {}: {error}", group.name)))?;
        }
        let mut wanted = sched.tunables().clone();
        for change in tunables {
            change(&mut wanted);
        }
        for (name, value) in named_tunables {
            wanted.set(&name, value).map_err(|error| SetupError::Tunable(error.to_string()))?;
        }
        // Load tracking and domain construction are properties of the kernel, so the boot needs these two
        // tunables. All others are set after the boot.
        sched.tunables_mut().pelt_scaling = wanted.pelt_scaling;
        sched.tunables_mut().changes.wide_imbalance = wanted.changes.wide_imbalance;
        for domain in &hardware.frequency_domains {
            sched.set_frequency_domain(domain.clone()).map_err(SetupError::Frequency)?;
        }
        sched.boot(boot_start);
        sched.set_default_clamps(hardware.default_clamps);
        sched.set_polling_idle(hardware.polling_idle);
        sched.set_timer_resolution(hardware.timer_resolution);
        sched.handle_jiffy(START.0 / tick);
        for (feature, on) in features {
            sched.set_feature(feature, on);
        }
        sched.set_tunables(wanted);
        let nr_cpus = hardware.nr_cpus();
        let cpus = (0..nr_cpus).map(|cpu| SimCpu {
            idle_loop: IdleLoop::Outside,
            task: None,
            freq: sched.freq_capacity(CpuId::from_index(cpu)),
            share: SCHED_CAPACITY_SCALE,
            rate: SCHED_CAPACITY_SCALE,
            speed_version: 0,
            timer_version: 0,
            timer_at: Nanos(u64::MAX),
            idle: idle::CpuIdleState::new(hardware.idle_states[cpu].len(), hardware.idle_governor, cpu),
            kernel: KernelState::with_capacity(),
        });
        let per_cpu = (0..nr_cpus).map(|cpu| CpuCounters::new(nr_frequencies(&hardware, cpu))).collect();
        // Capacity for completions, ends of sleeps (some stale), interrupts and timers; the lanes hold ticks
        // and interrupts.
        let mut events = EventQueue::with_capacity(4 * (nr_cpus + workload.tasks.len()), 2 * nr_cpus + 1);
        if let Some(by) = perturb {
            events.perturb(by);
        }
        let mut machine = Self {
            cpus: cpus.collect(),
            tasks: Vec::new(),
            sim_index: vec![None; sched.nr_tasks()],
            groups: Vec::new(),
            cpusets: Vec::new(),
            sync: SyncObjects::new(&workload.objects),
            sched,
            now: START,
            clock_offset: Nanos::ZERO,
            events,
            effects: Vec::new(),
            op_counts: OpCounts::default(),
            total_op_counts: OpCounts::default(),
            digest: Digest::default(),
            counters: MachineCounters { per_cpu, ..MachineCounters::default() },
            end: Nanos(START.0.saturating_add(duration.0)),
            max_events: u64::MAX,
            snapshot_every,
            kernel_takes_time: false,
            timekeeper: None,
            wants_kernel_paths: false,
            wants_ops: false,
            locks: (0..nr_cpus).map(|_| RqLock::new()).collect(),
            granted: VecDeque::with_capacity(nr_cpus),
            lines: RqLines::new(&hardware),
            speeds: CpuSpeeds::new(&hardware),
            kinds: CpuKinds::from_hardware(&hardware),
            first_ksoftirqd,
            governor_threads: Vec::new(),
            cpu_dma_latency: idle::LatencyRequests {
                run_limit: workload.cpu_dma_latency.unwrap_or(Nanos::NEVER),
                change_limit: Nanos::NEVER,
            },
            tracer: Tracer::new(hardware.costs.tracer_ps(), hardware.nr_cpus()),
            policy_slot: policy.map(PolicySlot::new),
            interest: Interest::NONE,
            checks: None,
            hardware,
            workload,
        };
        machine.start_clocks();
        if pauses {
            if has_threads {
                machine.sched.set_softirq_deferral(true);
            }
            machine.sched.set_yield_mode(YieldMode::On { cpus_per_phase: CPUS_SCANNED_PER_PHASE });
            machine.op_counts.record_touches(machine.lines.is_enabled(), 8 * nr_cpus);
        }
        for cpuset in machine.workload.cpusets.clone() {
            let mask = machine.to_mask(&Affinity::Cpus(cpuset.cpus));
            machine.cpusets.push(machine.sched.create_cpuset(&mask));
        }
        for spec in 0..first_ksoftirqd {
            machine.add_task(spec, 0);
        }
        Ok(machine)
    }

    /// Seeds all random streams of the scheduler and the machine: NI_RANDOM draws and idle-exit latencies.
    /// Without a call, each run draws the numbers that a kernel draws after its boot, and exit latencies use
    /// seed 0. The workload seeds its random lengths itself.
    pub fn seed(&mut self, seed: u64) {
        self.seed_idle_exits(seed);
        for cpu in self.sched.cpu_ids() {
            let mut stream = RandomStream::new(seed, "newidle-dice", u64::from(cpu.0));
            let (low, high) = (stream.draw(), stream.draw());
            self.sched.seed_random(cpu, [low as u32, (low >> 32) as u32, high as u32, (high >> 32) as u32]);
        }
    }

    /// Creates the task groups in order, on CPU 0. This precedes the run, so it takes no simulated time.
    pub(super) fn create_groups(&mut self, observer: &mut dyn Observer<E>) {
        for index in 0..self.workload.groups.len() {
            let spec = self.workload.groups[index].clone();
            let parent = spec.parent.map_or(GroupId::ROOT, |parent| self.groups[parent]);
            let bandwidth = bandwidth_of(&spec).expect("checked when the machine was made");
            let group = self.enter(observer, CpuId(0), KernelPath::Change, |sched, ctx| {
                let group = sched.create_group(ctx, parent);
                sched.set_group_shares(ctx, group, spec.shares).expect("a new group has shares");
                if let Some(bandwidth) = bandwidth {
                    sched.set_group_bandwidth(ctx, group, bandwidth).expect("it is not the root group");
                }
                if spec.idle {
                    sched.set_group_idle(ctx, group, true).expect("it is not the root group");
                }
                if let Some((min, max)) = spec.uclamp {
                    sched.set_group_uclamp(group, Uclamp { min, max });
                }
                group
            });
            self.groups.push(group);
        }
    }

    /// Pushes the events that are known at the start. Their order decides the order at one instant.
    pub(super) fn push_first_events(&mut self) {
        let tick = self.hardware.tick;
        self.events.push_in_lane(Lane::Ticks, START + tick, EventKind::Jiffy(START.0 / tick.0 + 1));
        for cpu in self.sched.cpu_ids() {
            // A CPU that would tick later than any run lasts does not tick.
            let skew = self.hardware.tick_skew.0.saturating_mul(u64::from(cpu.0));
            let first = Nanos((START + tick).0.saturating_add(skew));
            self.events.push_in_lane(Lane::Ticks, first, EventKind::Tick(cpu));
            self.record_tick(cpu, first);
        }
        for task in 0..self.tasks.len() {
            let spec = &self.workload.tasks[self.tasks[task].spec];
            if let Some(at) = spec.start_at {
                self.events.push(START + at, EventKind::Fork(CpuId(spec.start_cpu), task as u32));
            }
        }
        for (index, &(at, cpu, _)) in self.hardware.frequency_steps.iter().enumerate() {
            self.events.push(START + at, EventKind::Frequency(cpu, index as u32));
        }
        for (index, (at, _)) in self.workload.changes.iter().enumerate() {
            self.events.push(START + *at, EventKind::Change(index as u32));
        }
        for (index, load) in self.hardware.interrupts.iter().enumerate() {
            self.events.push(START + load.every, EventKind::Interrupt(index as u32));
        }
        for (index, load) in self.workload.packets.iter().enumerate() {
            self.events.push(START + load.every, EventKind::Packets(index as u32));
        }
        if let Some(every) = self.snapshot_every {
            self.events.push(START + every, EventKind::Snapshot);
        }
    }
}

/// Expected number of frequencies that a scenario sets.
pub(super) const NR_FREQUENCIES_HINT: usize = 8;

/// Returns the number of frequencies that a CPU may have, including that at boot.
fn nr_frequencies(hardware: &Hardware, cpu: usize) -> usize {
    let domain = hardware.frequency_domains.iter().find(|domain| domain.contains(CpuId::from_index(cpu)));
    let steps = hardware.turbo.as_ref().map_or(NR_FREQUENCIES_HINT, |turbo| turbo.khz().len());
    1 + domain.map_or(steps, |domain| domain.khz().len())
}

/// Returns the bandwidth of a group; `None` if it has no quota.
fn bandwidth_of(group: &GroupSpec) -> Result<Option<Bandwidth>, BandwidthError> {
    let quota = group.quota.map(|quota| to_bandwidth(Some(quota.quota_us), quota.period_us, quota.burst_us));
    quota.transpose()
}

/// Converts quota, period and burst from microseconds to the scheduler's type.
pub(super) fn to_bandwidth(quota_us: Option<u64>, period_us: u64, burst_us: u64) -> Result<Bandwidth, BandwidthError> {
    let micros = |us: u64| Nanos(us.saturating_mul(1000));
    Bandwidth::new(quota_us.map(micros), micros(period_us), micros(burst_us))
}
