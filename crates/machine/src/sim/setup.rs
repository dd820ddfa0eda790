// SPDX-License-Identifier: GPL-2.0-or-later
//! Construction of a machine with a workload.

use crate::base::clock::{START, boot_start};
use crate::digest::Digest;
use crate::engine::{Capability, Engine, unknown_switch};
use crate::event::EventQueue;
use crate::hardware::{Hardware, InterruptLoad};
use crate::interface::observation::Interest;
use crate::interface::setup::{Setup, SetupError};
use crate::parts::background::Background;
use crate::parts::counters::{CpuCounters, MachineCounters};
use crate::parts::cpu::{CpuTimer, IdleLoop, SimCpu};
use crate::parts::idle::{CpuIdleState, LatencyRequests};
use crate::parts::kernel::KernelState;
use crate::parts::lines::SharedLines;
use crate::parts::locks::RqLocks;
use crate::parts::policy::bandwidth_of;
use crate::parts::residency::{CpuKinds, nr_frequencies};
use crate::parts::speed::{CpuFrequency, CpuRate, CpuSpeeds};
use crate::parts::sync::SyncObjects;
use crate::parts::tasks::TaskTable;
use crate::parts::threads::{add_governor_threads, add_ksoftirqds};
use crate::parts::tracer::Tracer;
use crate::state::Machine;
use crate::streams::RandomStream;
use fairlab_sched::ids::CpuId;
use fairlab_sched::interface::policy::PolicySlot;
use fairlab_sched::resumable::YieldMode;
use fairlab_sched::sched::{Sched, SchedConfig};
use fairlab_sched::units::Nanos;
use fairlab_sched::work::OpCounts;
use fairlab_workload::message::Message;
use fairlab_workload::workload::{Affinity, Change, Workload};

/// Number of CPUs that a search scans in one phase. A scan takes as long as the transfer of a cache line from
/// another core, and idle periods last for microseconds, so a few scans can share a phase.
const CPUS_SCANNED_PER_PHASE: u32 = 4;

/// Tunables that are properties of the kernel: load tracking and domain construction of the boot need them. All
/// others are set after the boot.
const NEEDED_BY_BOOT: [&str; 2] = ["pelt_contribution", "wide_imbalance"];

impl Machine {
    /// Returns a booted machine with the built-in scheduler; its run has not started.
    ///
    /// # Errors
    /// If the hardware, a tunable or a group's quota is invalid.
    pub fn new(setup: Setup) -> Result<Self, SetupError> {
        Self::with_engine(setup, |config| Sched::new(config).map_err(SetupError::Topology))
    }
}

/// Checks that the kernel has the features and tunables that change during the run.
fn check_switches<E: Engine>(sched: &E, workload: &Workload) -> Result<(), SetupError> {
    let (mut features, mut tunables) = (Vec::new(), Vec::new());
    for (_, change) in &workload.changes {
        match change {
            Change::Feature { name, .. } => features.push(name.as_str()),
            Change::Tunable { name, .. } => tunables.push(name.as_str()),
            _ => {}
        }
    }
    if !features.is_empty() {
        let known: Vec<String> = sched.feature_states().into_iter().map(|feature| feature.name).collect();
        first_unknown("feature", &features, &known)?;
    }
    if !tunables.is_empty() {
        let known: Vec<String> = sched.tunable_states().into_iter().map(|tunable| tunable.name).collect();
        first_unknown("tunable", &tunables, &known)?;
    }
    Ok(())
}

fn first_unknown(kind: &str, names: &[&str], known: &[String]) -> Result<(), SetupError> {
    match names.iter().find(|name| !known.iter().any(|known| known == *name)) {
        Some(name) => Err(SetupError::Switch(unknown_switch(kind, name, known.iter().map(String::as_str)))),
        None => Ok(()),
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
        let boot_start = boot_start(setup.hardware.nr_cpus());
        let tick = setup.hardware.tick.0;
        let config = SchedConfig {
            topology: setup.hardware.topology.clone(),
            tick_ns: tick,
            jiffies: boot_start.0 / tick,
            series: setup.series,
        };
        let mut sched = make(config)?;
        if let Some(what) = sched.unsupported(&setup) {
            return Err(SetupError::Unsupported(what));
        }
        let Setup {
            mut hardware,
            mut workload,
            series: _,
            features,
            tunables,
            duration,
            snapshot_every,
            perturb,
            policy,
        } = setup;
        for (at, cpus, is_thermal, part) in hardware.frequency_limits.iter().cloned() {
            workload.changes.push((at, Change::FrequencyLimit { cpus, is_thermal, part }));
        }
        add_governor_threads(&mut workload, &hardware);
        let first_thread = workload.tasks.len();
        let background = Background::new(&mut workload, &hardware.topology);
        let pauses = !hardware.costs.is_zero_cost();
        let has_threads = pauses && sched.has(Capability::Ksoftirqd);
        let first_ksoftirqd = if has_threads { add_ksoftirqds(&mut workload, &hardware) } else { workload.tasks.len() };
        hardware.interrupts.extend(workload.irqs.iter().map(InterruptLoad::from));
        for group in &workload.groups {
            bandwidth_of(group)
                .map_err(|error| SetupError::Quota(Message::new(format!("group {}: {error}", group.name))))?;
        }
        for (name, value) in tunables.iter().filter(|(name, _)| NEEDED_BY_BOOT.contains(&name.as_str())) {
            sched.set_tunable(name, *value).map_err(SetupError::Switch)?;
        }
        for domain in &hardware.frequency_domains {
            sched.set_frequency_domain(domain.clone()).map_err(SetupError::Frequency)?;
        }
        let boot_timers = sched.boot(boot_start);
        sched.set_default_clamps(hardware.default_clamps);
        sched.set_polling_idle(hardware.polling_idle);
        let is_thermal = |(_, change): &(_, Change)| matches!(change, Change::FrequencyLimit { is_thermal: true, .. });
        sched.set_thermal_tracking(workload.changes.iter().any(is_thermal));
        sched.set_timer_resolution(hardware.timer_resolution);
        sched.handle_jiffy(START.0 / tick);
        for (name, on) in features {
            sched.set_feature(&name, on).map_err(SetupError::Switch)?;
        }
        for (name, value) in tunables {
            sched.set_tunable(&name, value).map_err(SetupError::Switch)?;
        }
        check_switches(&sched, &workload)?;
        let nr_cpus = hardware.nr_cpus();
        let cpus = (0..nr_cpus).map(|cpu| SimCpu {
            idle_loop: IdleLoop::Outside,
            task: None,
            rate: CpuRate::new(
                first_frequency(&sched, &hardware, CpuId::from_index(cpu)),
                hardware.scale_work.then_some(hardware.topology.capacity[cpu]),
            ),
            timer: CpuTimer::new(),
            idle: CpuIdleState::new(hardware.idle_states[cpu].len(), hardware.idle_governor, cpu),
            kernel: KernelState::with_capacity(),
            queued_lines_ps: 0,
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
            tasks: TaskTable::new(sched.nr_tasks()),
            groups: Vec::new(),
            cpusets: Vec::new(),
            sync: SyncObjects::new(&workload.objects),
            sched,
            now: START,
            clock_offset: Nanos::ZERO,
            events,
            effects: boot_timers,
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
            locks: RqLocks::new(nr_cpus),
            lines: SharedLines::new(&hardware),
            speeds: CpuSpeeds::new(&hardware),
            kinds: CpuKinds::from_hardware(&hardware),
            first_ksoftirqd,
            background,
            governor_threads: Vec::new(),
            cpu_dma_latency: LatencyRequests {
                run_limit: workload.cpu_dma_latency.unwrap_or(Nanos::NEVER),
                change_limit: Nanos::NEVER,
            },
            tracer: Tracer::new(hardware.costs.tracer_ps(), hardware.nr_cpus()),
            policy_slot: policy.map(PolicySlot::new),
            interest: Interest::NONE,
            details: Vec::new(),
            checks: None,
            hardware,
            workload,
        };
        machine.apply_effects(Nanos::ZERO);
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
        for spec in 0..first_thread {
            machine.add_task(spec, 0);
        }
        Ok(machine)
    }

    /// Seeds all random streams of the scheduler and the machine: NI_RANDOM draws, idle-exit latencies and background timers.
    /// Without a call, each run draws the numbers that a kernel draws after its boot, and the others use
    /// seed 0. The workload seeds its random lengths itself.
    pub fn seed(&mut self, seed: u64) {
        for (cpu, host) in self.cpus.iter_mut().enumerate() {
            host.idle.seed_exits(seed, cpu);
        }
        self.background.seed(seed);
        for cpu in self.sched.cpu_ids() {
            let mut stream = RandomStream::new(seed, "newidle-dice", u64::from(cpu.0));
            let (low, high) = (stream.draw(), stream.draw());
            self.sched.seed_random(cpu, [low as u32, (low >> 32) as u32, high as u32, (high >> 32) as u32]);
        }
    }
}

/// Returns the frequency of a CPU after the boot of its scheduler.
fn first_frequency(sched: &impl Engine, hardware: &Hardware, cpu: CpuId) -> CpuFrequency {
    let part = sched.freq_capacity(cpu);
    let khz = sched.as_sched().and_then(|sched| sched.frequency_khz(cpu)).or_else(|| hardware.khz_of(cpu, part));
    CpuFrequency::new(part, khz)
}
