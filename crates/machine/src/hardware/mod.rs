// SPDX-License-Identifier: GPL-2.0-or-later
//! Hardware of a simulated machine, from a machine file, a scenario or a recorded trace.

pub mod costs;
pub mod vary;

use costs::CostModel;
use fairlab_board::{Distance, MachineDescription, Processor, Smt, Turbo};
pub use fairlab_board::{IdleGovernorKind, Preemption};
use fairlab_sched::ids::CpuId;
pub use fairlab_sched::state::cpufreq::domain::{FrequencyDomain, Governor, SchedutilConfig};
use fairlab_sched::state::uclamp::DefaultClamps;
use fairlab_sched::task::Uclamp;
use fairlab_sched::topology::MachineTopology;
use fairlab_sched::units::{Capacity, Nanos, SCHED_CAPACITY_SCALE};
use fairlab_workload::recorded::RecordedWorkload;
use fairlab_workload::scenario::Scenario;
use fairlab_workload::workload::{Change, IrqLoad, Workload};
use std::collections::BTreeSet;

/// Tick of scenarios: the reference kernel has HZ 250.
const SCENARIO_TICK: Nanos = Nanos(1_000_000_000 / 250);
/// Transition delay of the cpufreq driver of scenarios, in microseconds.
const SCENARIO_RATE_LIMIT_US: u64 = 1000;

/// Uclamp values of scenarios' tasks and groups, as in the reference.
// DIFFERS: on machines from files, fairlab's tasks inherit uclamp values of 0 and 1024 and its groups allow
// them, as in a booted kernel. In scenarios, fairlab follows the reference: its tasks descend from a task
// whose uclamp values were never initialised, and its groups are created without the cgroup file system,
// which would derive their limits. The difference matters only in scenarios that set uclamp values.
const REFERENCE_CLAMPS: DefaultClamps =
    DefaultClamps { tasks: Uclamp { min: 0, max: 0 }, groups: Some(Uclamp { min: 1024, max: 1024 }) };

/// An idle state of a CPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdleState {
    /// Name, as cpuidle shows it.
    pub name: String,
    /// Maximum time from an interrupt until the CPU executes instructions. The governor uses this value.
    pub exit_latency: Nanos,
    /// Median exit time; `None` if each exit takes the maximum.
    pub exit_typical: Option<Nanos>,
    /// Time that the CPU needs to enter the state; included in the exit latency.
    pub entry_latency: Nanos,
    /// Minimum residency for which the state saves energy.
    pub target_residency: Nanos,
    /// Whether the CPU polls for work instead of waiting for an interrupt.
    pub polls: bool,
    /// Power in the state, in microwatts, if it is known.
    pub power_uw: Option<u64>,
}

/// A periodic interrupt, or a hypervisor, that takes time from a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InterruptLoad {
    /// CPU that serves the interrupt.
    pub cpu: CpuId,
    /// Time between the ends of two interrupts. The first interrupt ends this long after the start.
    pub every: Nanos,
    /// Duration of an interrupt.
    pub duration: Nanos,
    /// Whether the hypervisor takes the time, which the kernel of the virtual CPU accounts as steal time.
    pub is_stolen: bool,
}

impl From<&IrqLoad> for InterruptLoad {
    fn from(irq: &IrqLoad) -> Self {
        Self { cpu: CpuId(irq.cpu), every: irq.every, duration: irq.duration, is_stolen: irq.is_stolen }
    }
}

/// Hardware of a simulated machine.
#[derive(Clone, Debug)]
pub struct Hardware {
    /// Name of the machine in results.
    pub name: String,
    /// CPUs, caches, nodes and capacities.
    pub topology: MachineTopology,
    /// Length of a tick.
    pub tick: Nanos,
    /// Offset between the ticks of CPU i and of CPU i + 1.
    pub tick_skew: Nanos,
    /// Minimum distance by which a timer of the scheduler is forwarded: 1 ns with a high-resolution clock.
    // DIFFERS: in scenarios the timer resolution is one tick, as in the reference and in a kernel without
    // high-resolution timers: bandwidth periods end at multiples of a tick, and none is shorter. On machines
    // from files it is 1 ns.
    pub timer_resolution: Nanos,
    /// Time from the sending of an inter-processor interrupt to its handling.
    pub ipi_latency: Nanos,
    /// Time by which a sleep ends later, unless the task starts with a real-time policy.
    // DIFFERS: timers with slack expire together with another one in their range; here each expires at the end
    // of its range, as it does without others.
    pub timer_slack: Nanos,
    /// Preemption model of the kernel.
    pub preemption: Preemption,
    /// Whether idle CPUs poll `TIF_NEED_RESCHED`, so that no interrupt is sent to them and none is charged.
    pub polling_idle: bool,
    /// Whether tasks that a shell starts are in a task group of their own, where kernel code has costs.
    pub autogroup: bool,
    /// Whether the background of a booted kernel runs beside the workload, where kernel code has costs.
    pub background: bool,
    /// Whether an idle CPU that rescheduled without finding a task stays in its idle loop instead of entering
    /// it again.
    // DIFFERS: in scenarios, as in the reference, an idle task that rescheduled without finding a task stays
    // in its loop. A kernel's idle task enters its loop again each time, and so does fairlab's on machines
    // from files.
    pub idle_loop_once: bool,
    /// Whether run steps are work, which takes longer on a slower CPU, instead of time.
    pub scale_work: bool,
    /// Time by which the scheduler's clock advances for each newly-idle balancing pass.
    pub newidle_cost: Nanos,
    /// Frequency domains. A CPU without a domain always has its highest frequency, except for
    /// `frequency_steps`.
    pub frequency_domains: Vec<FrequencyDomain>,
    /// Share of a core that each busy thread has (1024: all of it), indexed by the number of busy threads
    /// minus one. Empty if threads do not affect each other.
    pub smt_shares: Vec<u64>,
    /// Turbo frequencies, if the hardware chooses frequencies itself.
    pub turbo: Option<Turbo>,
    /// For each frequency domain, the time from a request until the CPUs run at the new frequency.
    pub transition_latencies: Vec<Nanos>,
    /// Frequency changes: time, CPU, and fraction of the highest frequency (1024).
    pub frequency_steps: Vec<(Nanos, CpuId, Capacity)>,
    /// Frequency limits: start, CPUs, whether the limit is thermal, and allowed fraction of the highest
    /// frequency (1024).
    pub frequency_limits: Vec<(Nanos, Vec<u32>, bool, u32)>,
    /// Idle states of each CPU, shallowest first; may be empty.
    pub idle_states: Vec<Vec<IdleState>>,
    /// Governor that chooses idle states.
    pub idle_governor: IdleGovernorKind,
    /// Periodic interrupts and steal time.
    pub interrupts: Vec<InterruptLoad>,
    /// Initial uclamp values of tasks and groups.
    pub default_clamps: DefaultClamps,
    /// Facts of the processor that `costs` follows from, unless single costs were set; `None` without facts.
    pub processor: Option<Processor>,
    /// Costs of kernel operations.
    pub costs: CostModel,
}

impl Hardware {
    /// Removes all costs of kernel code: it takes no time.
    pub fn remove_costs(&mut self) {
        (self.costs, self.processor) = (CostModel::zero_cost(), None);
    }

    /// Returns the distance between two CPUs.
    #[inline]
    pub(crate) fn distance(&self, a: CpuId, b: CpuId) -> Distance {
        let places = &self.topology.cpus;
        Distance::between(&places[a.index()], &places[b.index()])
    }

    /// Returns a machine with this topology and tick alone: zero-cost kernel code, and no idle states,
    /// frequency domains, turbo or interrupts.
    #[must_use]
    pub fn topology_only(&self) -> Self {
        Self {
            tick: self.tick,
            tick_skew: self.tick_skew,
            timer_resolution: self.timer_resolution,
            idle_loop_once: self.idle_loop_once,
            scale_work: self.scale_work,
            ..Self::from_topology(&self.name, self.topology.clone())
        }
    }

    /// Returns a machine with this topology, tick, cost model, idle states and interrupt latency.
    #[must_use]
    pub fn topology_with_costs(&self) -> Self {
        Self {
            ipi_latency: self.ipi_latency,
            timer_slack: self.timer_slack,
            preemption: self.preemption,
            autogroup: self.autogroup,
            background: self.background,
            newidle_cost: self.newidle_cost,
            idle_states: self.idle_states.clone(),
            idle_governor: self.idle_governor,
            processor: self.processor.clone(),
            costs: self.costs.clone(),
            ..self.topology_only()
        }
    }

    /// Returns a machine of which only name and topology are known. Everything else is absent or has no cost.
    pub fn from_topology(name: &str, topology: MachineTopology) -> Self {
        Self {
            name: name.to_owned(),
            tick: fairlab_board::Hz::DEFAULT.tick(),
            tick_skew: Nanos::ZERO,
            timer_resolution: Nanos(1),
            ipi_latency: Nanos::ZERO,
            timer_slack: Nanos::ZERO,
            preemption: Preemption::Full,
            polling_idle: false,
            autogroup: false,
            background: false,
            idle_loop_once: false,
            scale_work: true,
            newidle_cost: Nanos::ZERO,
            frequency_domains: Vec::new(),
            smt_shares: Vec::new(),
            turbo: None,
            transition_latencies: Vec::new(),
            frequency_steps: Vec::new(),
            frequency_limits: Vec::new(),
            idle_states: vec![Vec::new(); topology.cpus.len()],
            idle_governor: IdleGovernorKind::Menu,
            interrupts: Vec::new(),
            default_clamps: DefaultClamps::default(),
            processor: None,
            costs: CostModel::zero_cost(),
            topology,
        }
    }

    /// Returns the machine of a scenario. Kernel code has no cost there.
    pub fn from_scenario(scenario: &Scenario) -> Self {
        let machine = &scenario.machine;
        let governor = Governor::Schedutil(SchedutilConfig {
            rate_limit: Nanos::from_micros(SCENARIO_RATE_LIMIT_US),
            // CPUs of the reference have idled whenever this is asked.
            holds_when_busy: false,
        });
        let domains = machine.freq_domains.iter().map(|domain| {
            let khz = domain.opps.iter().map(|&(khz, _)| khz).collect();
            let power_uw = domain.opps.iter().filter_map(|&(_, power)| power).collect();
            FrequencyDomain::new(domain.cpus.clone().map(CpuId).collect(), khz, power_uw, governor)
                .expect("a scenario's frequency domains were checked when it was read")
        });
        let interrupts = machine.irqs.iter().map(InterruptLoad::from);
        Self {
            tick: SCENARIO_TICK,
            timer_resolution: SCENARIO_TICK,
            idle_loop_once: true,
            tick_skew: machine.tick_skew,
            ipi_latency: machine.ipi_latency,
            scale_work: machine.scale_work,
            newidle_cost: machine.newidle_cost,
            transition_latencies: vec![Nanos::ZERO; machine.freq_domains.len()],
            frequency_domains: domains.collect(),
            frequency_steps: machine.freq_steps.iter().map(|&(at, cpu, part)| (at, CpuId(cpu), part)).collect(),
            interrupts: interrupts.collect(),
            default_clamps: default_clamps_of(&scenario.workload),
            ..Self::from_topology("scenario", machine.topology.clone())
        }
    }

    /// Returns the machine of a recorded trace: CPUs and their recorded frequencies.
    pub fn from_recorded(recorded: &RecordedWorkload) -> Self {
        let steps = recorded.frequency_steps.iter().map(|&(at, cpu, part)| (at, CpuId(cpu), part));
        Self { frequency_steps: steps.collect(), ..Self::from_topology("recorded", recorded.topology()) }
    }

    /// Returns the machine of a machine file.
    pub fn from_description(machine: &MachineDescription) -> Self {
        let domains = machine.frequency_domains().iter().map(|domain| {
            let governor = match domain.governor {
                fairlab_board::FrequencyGovernor::Performance => Governor::Fixed { khz: domain.max_khz() },
                fairlab_board::FrequencyGovernor::Powersave => Governor::Fixed { khz: domain.khz[0] },
                fairlab_board::FrequencyGovernor::Fixed { khz } => Governor::Fixed { khz },
                fairlab_board::FrequencyGovernor::Schedutil => Governor::Schedutil(SchedutilConfig {
                    rate_limit: Nanos::from_micros(domain.rate_limit_us()),
                    holds_when_busy: true,
                }),
            };
            let power_uw = domain.power_uw.clone().unwrap_or_default();
            let made = FrequencyDomain::new(domain.cpus.iter().collect(), domain.khz.clone(), power_uw, governor)
                .expect("a machine file's frequency domains were checked when it was read")
                .with_inefficient_skipped();
            if domain.fast_switch { made } else { made.with_governor_thread() }
        });
        let loads = machine.interrupt_loads().iter().map(|load| (load, false));
        let interrupts = loads.chain(machine.steals().iter().map(|load| (load, true))).flat_map(|(load, is_stolen)| {
            let (every, duration) = (load.period, load.duration);
            load.cpus.iter().map(move |cpu| InterruptLoad { cpu, every, duration, is_stolen })
        });
        let limits = machine.frequency_limits().iter().map(|limit| {
            let cpus = limit.cpus.iter().map(|cpu| cpu.0).collect();
            (limit.at, cpus, limit.is_thermal, limit.part)
        });
        let idle_states = (0..machine.nr_cpus()).map(|cpu| {
            let states = machine.cpu_idle_states(CpuId::from_index(cpu));
            states
                .map(|state| IdleState {
                    name: state.name.to_owned(),
                    exit_latency: state.exit_latency,
                    exit_typical: state.exit_typical,
                    entry_latency: state.entry_latency,
                    target_residency: state.target_residency,
                    polls: state.polls,
                    power_uw: state.power_uw,
                })
                .collect()
        });
        Self {
            tick: machine.hz().tick(),
            tick_skew: machine.tick_skew(),
            ipi_latency: machine.ipi_latency(),
            timer_slack: machine.timer_slack(),
            preemption: machine.preemption(),
            polling_idle: machine.polling_idle(),
            autogroup: machine.autogroup(),
            background: machine.background(),
            scale_work: machine.scale_work(),
            smt_shares: machine.smt().map(Smt::shares).unwrap_or_default(),
            turbo: machine.turbo().cloned(),
            frequency_domains: domains.collect(),
            transition_latencies: machine.frequency_domains().iter().map(|domain| domain.transition_latency).collect(),
            frequency_limits: limits.collect(),
            idle_states: idle_states.collect(),
            idle_governor: machine.idle_governor(),
            interrupts: interrupts.collect(),
            processor: machine.processor().cloned(),
            costs: CostModel::from_machine(machine),
            ..Self::from_topology(machine.name(), machine.topology())
        }
    }

    /// Returns the frequency in kHz at which a CPU runs at `part`, a fraction of the frequency of full
    /// capacity (1024). `None` if the machine names no such frequency.
    pub fn khz_of(&self, cpu: CpuId, part: Capacity) -> Option<u64> {
        if let Some(turbo) = &self.turbo {
            let known = turbo.khz().iter().copied().chain([turbo.base_khz()]);
            return known.into_iter().find(|&khz| turbo.freq_scale(khz) == part);
        }
        let domain = self.frequency_domains.iter().find(|domain| domain.contains(cpu))?;
        let highest = domain.khz().last()?;
        domain.khz().iter().copied().find(|khz| khz * SCHED_CAPACITY_SCALE / highest == part)
    }

    /// Returns sets of CPUs that share a frequency, ordered by their lowest CPU. Empty if each CPU always has
    /// its highest frequency.
    pub fn frequency_peers(&self) -> Vec<Vec<CpuId>> {
        if self.turbo.is_none() {
            return self.frequency_domains.iter().map(|domain| domain.cpus().collect()).collect();
        }
        let packages = self.topology.cpus.iter().map(|place| place.package).collect::<BTreeSet<u32>>();
        let of_package = |package| {
            let places = self.topology.cpus.iter().enumerate();
            places.filter(move |(_, place)| place.package == package).map(|(cpu, _)| CpuId::from_index(cpu)).collect()
        };
        packages.into_iter().map(of_package).collect()
    }

    /// Replaces the facts of the processor and all costs that follow from them. The cost of a tracer stays, because it
    /// belongs to the workload.
    pub fn set_processor(&mut self, processor: Option<Processor>) {
        let tracer_ps = self.costs.tracer_ps();
        self.costs = processor.as_ref().map_or(CostModel::zero_cost(), CostModel::from_processor);
        self.costs.enable_tracer(tracer_ps);
        self.processor = processor;
    }

    /// Number of CPUs of the machine.
    pub fn nr_cpus(&self) -> usize {
        self.topology.cpus.len()
    }
}

/// Initial uclamp values of a scenario's tasks and groups. A scenario with group uclamp implies the cgroup
/// file system, so the values are those of a booted machine.
fn default_clamps_of(workload: &Workload) -> DefaultClamps {
    let has_clamped_group = workload.groups.iter().any(|group| group.uclamp.is_some());
    let clamps_group_later = workload.changes.iter().any(|(_, change)| matches!(change, Change::GroupClamps { .. }));
    if has_clamped_group || clamps_group_later { DefaultClamps::default() } else { REFERENCE_CLAMPS }
}
