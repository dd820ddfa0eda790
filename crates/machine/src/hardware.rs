// SPDX-License-Identifier: GPL-2.0-or-later
//! What the engine needs to know of a machine, whether it comes from a machine file or from a scenario.

use crate::costs::CostModel;
pub use crate::description::IdleGovernorKind;
use crate::description::{self, ChannelLines, MachineDescription, Smt, Turbo};
use fairlab_sched::ids::CpuId;
pub use fairlab_sched::state::cpufreq::domain::{FrequencyDomain, Governor, SchedutilConfig};
use fairlab_sched::state::uclamp::DefaultClamps;
use fairlab_sched::task::Uclamp;
use fairlab_sched::topology::MachineTopology;
use fairlab_sched::units::{Capacity, Nanos, SCHED_CAPACITY_SCALE};
use fairlab_workload::recorded::Recorded;
use fairlab_workload::scenario::Scenario;
use fairlab_workload::workload::{Change, IrqLoad, Workload};
use std::collections::BTreeSet;

/// Tick of scenarios: the oracle's kernel has HZ 250.
const SCENARIO_TICK: Nanos = Nanos(1_000_000_000 / 250);
/// Transition delay of the cpufreq driver of scenarios, in microseconds.
const SCENARIO_RATE_LIMIT_US: u64 = 1000;

/// Clamps of scenarios' tasks and groups, as in the oracle.
// DIFFERS: a booted kernel's tasks inherit utilisation clamps of 0 and 1024, and its groups allow that, as here on machines from
// files. In scenarios it is as in the oracle, whose tasks descend from one whose clamps were never set up, and whose groups
// are made without the cgroup file system, which would derive their limits. It only matters once a scenario has clamps.
const ORACLE_CLAMPS: DefaultClamps =
    DefaultClamps { tasks: Uclamp { min: 0, max: 0 }, groups: Some(Uclamp { min: 1024, max: 1024 }) };

/// A state that an idle CPU may be in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdleState {
    /// Name.
    pub name: String,
    /// The longest time from an interrupt until the CPU executes: what the governor goes by.
    pub exit_latency: Nanos,
    /// The median of the exits; none: each takes the longest time.
    pub exit_typical: Option<Nanos>,
    /// How long the CPU takes to enter it; a part of the exit latency.
    pub entry_latency: Nanos,
    /// For how long it must last to be worth it.
    pub target_residency: Nanos,
    /// The CPU looks for work all the time instead of waiting for it.
    pub polls: bool,
    /// What a CPU draws in it, in microwatts, if that is known.
    pub power_uw: Option<u64>,
}

/// An interrupt, or a host, that takes time from a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InterruptLoad {
    /// Which CPU.
    pub cpu: CpuId,
    /// Time between the ends of two interrupts; the first ends this long after the start.
    pub every: Nanos,
    /// Length of an interrupt.
    pub duration: Nanos,
    /// Whether the host takes the time: the CPU is a virtual one, and its kernel sees the time as stolen.
    pub is_stolen: bool,
}

impl From<&IrqLoad> for InterruptLoad {
    fn from(irq: &IrqLoad) -> Self {
        Self { cpu: CpuId(irq.cpu), every: irq.every, duration: irq.duration, is_stolen: irq.is_stolen }
    }
}

/// A machine, as the engine sees it.
#[derive(Clone, Debug)]
pub struct Hardware {
    /// Name, for results.
    pub name: String,
    /// CPUs, caches, nodes, capacities.
    pub topology: MachineTopology,
    /// Length of a tick.
    pub tick: Nanos,
    /// CPU i ticks i times as much later than CPU 0.
    pub tick_skew: Nanos,
    /// No timer of the scheduler is moved on by less than this: 1 ns where the clock has switched to high resolution.
    // DIFFERS: in scenarios it is a tick, as in a kernel whose clock has not, and as in the reference: periods of runtime end at
    // multiples of a tick, and none is shorter. On machines from files it is 1 ns.
    pub timer_resolution: Nanos,
    /// From the sending of an inter-processor interrupt to its handling.
    pub ipi_latency: Nanos,
    /// Idle CPUs monitor the flag that asks them to reschedule: no interrupt is sent to them, and none is paid for.
    pub polling_idle: bool,
    /// An idle CPU that rescheduled in vain waits on where it was, instead of entering its loop again.
    // DIFFERS: so it is in scenarios, as in the reference. A kernel's idle task enters its loop again each time, and so it is on
    // machines from files.
    pub idle_loop_once: bool,
    /// Whether run steps are work, which takes longer on a slower CPU, rather than time.
    pub scale_work: bool,
    /// How far the clock runs ahead for each newly-idle balancing pass.
    pub newidle_cost: Nanos,
    /// Frequency domains. A CPU in none always has its highest frequency, but for `frequency_steps`.
    pub frequency_domains: Vec<FrequencyDomain>,
    /// The part of a core that each of its working threads has, of 1024: by number of working threads, from one on. Empty if
    /// threads do not disturb each other.
    pub smt_shares: Vec<u64>,
    /// The frequencies that the hardware chooses itself, if it does.
    pub turbo: Option<Turbo>,
    /// For each of them, how long its driver takes from the request of a frequency until the CPUs run at it.
    pub transition_latencies: Vec<Nanos>,
    /// Changes of frequency: when, which CPU, and what part of 1024 of its highest frequency.
    pub frequency_steps: Vec<(Nanos, CpuId, Capacity)>,
    /// Limits of frequencies: from when on, which CPUs, whether heat is the reason, and the part of 1024 that is allowed.
    pub frequency_limits: Vec<(Nanos, Vec<u32>, bool, u32)>,
    /// Idle states of each CPU, shallowest first; may be empty.
    pub idle_states: Vec<Vec<IdleState>>,
    /// What chooses idle states.
    pub idle_governor: IdleGovernorKind,
    /// Interrupts, and time that a host takes.
    pub interrupts: Vec<InterruptLoad>,
    /// What utilisation clamps tasks and groups begin with.
    pub first_clamps: DefaultClamps,
    /// What operations of the kernel cost.
    pub prices: CostModel,
    /// How many cache lines of a channel move with it.
    pub channel_lines: ChannelLines,
}

impl Hardware {
    /// The same shape and tick, and nothing else of it: kernel code is free, and there are no idle states, frequencies, turbo and interrupts.
    #[must_use]
    pub fn shape(&self) -> Self {
        Self {
            tick: self.tick,
            tick_skew: self.tick_skew,
            timer_resolution: self.timer_resolution,
            idle_loop_once: self.idle_loop_once,
            scale_work: self.scale_work,
            ..Self::plain(&self.name, self.topology.clone())
        }
    }

    /// The same with prices, idle states and the latency of interrupts.
    #[must_use]
    pub fn shape_with_costs(&self) -> Self {
        Self {
            ipi_latency: self.ipi_latency,
            newidle_cost: self.newidle_cost,
            idle_states: self.idle_states.clone(),
            idle_governor: self.idle_governor,
            prices: self.prices.clone(),
            channel_lines: self.channel_lines.clone(),
            ..self.shape()
        }
    }

    /// A machine of which nothing but its name and shape was said: all else is as if it were not there, and free.
    pub fn plain(name: &str, topology: MachineTopology) -> Self {
        Self {
            name: name.to_owned(),
            tick: description::Hz::DEFAULT.tick(),
            tick_skew: Nanos::ZERO,
            timer_resolution: Nanos(1),
            ipi_latency: Nanos::ZERO,
            polling_idle: false,
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
            first_clamps: DefaultClamps::default(),
            prices: CostModel::free(),
            channel_lines: ChannelLines::default(),
            topology,
        }
    }

    /// The machine of a scenario. Kernel code costs nothing there.
    pub fn from_scenario(scenario: &Scenario) -> Self {
        let machine = &scenario.machine;
        let governor = Governor::Schedutil(SchedutilConfig {
            rate_limit: Nanos::from_micros(SCENARIO_RATE_LIMIT_US),
            // The oracle's CPUs have idled whenever they are asked.
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
            first_clamps: first_clamps_of(&scenario.workload),
            ..Self::plain("scenario", machine.topology.clone())
        }
    }

    /// As much of a machine as a trace tells of it: CPUs and their frequencies, as they were.
    pub fn from_recorded(recorded: &Recorded) -> Self {
        let steps = recorded.frequency_steps.iter().map(|&(at, cpu, part)| (at, CpuId(cpu), part));
        Self { frequency_steps: steps.collect(), ..Self::plain("recorded", recorded.topology()) }
    }

    /// The machine of a machine file.
    pub fn from_description(machine: &MachineDescription) -> Self {
        let domains = machine.frequency_domains().iter().map(|domain| {
            let governor = match domain.governor() {
                description::Governor::Performance => Governor::Fixed { khz: domain.max_khz() },
                description::Governor::Powersave => Governor::Fixed { khz: domain.khz()[0] },
                description::Governor::Fixed { khz } => Governor::Fixed { khz },
                description::Governor::Schedutil => Governor::Schedutil(SchedutilConfig {
                    rate_limit: Nanos::from_micros(domain.rate_limit_us()),
                    holds_when_busy: true,
                }),
            };
            let power_uw = domain.power_uw().map(<[u64]>::to_vec).unwrap_or_default();
            let made = FrequencyDomain::new(domain.cpus().iter().collect(), domain.khz().to_vec(), power_uw, governor)
                .expect("a machine file's frequency domains were checked when it was read")
                .skipping_inefficient();
            if domain.fast_switch() { made } else { made.switching_by_thread() }
        });
        let loads = machine.interrupt_loads().iter().map(|load| (load, false));
        let interrupts = loads.chain(machine.steals().iter().map(|load| (load, true))).flat_map(|(load, is_stolen)| {
            let (every, duration) = (load.period(), load.duration());
            load.cpus().iter().map(move |cpu| InterruptLoad { cpu, every, duration, is_stolen })
        });
        let limits = machine.frequency_limits().iter().map(|limit| {
            let cpus = limit.cpus().iter().map(|cpu| cpu.0).collect();
            (limit.at(), cpus, limit.is_thermal(), limit.part())
        });
        let idle_states = (0..machine.nr_cpus()).map(|cpu| {
            let states = machine.idle_states_of(CpuId::from_index(cpu));
            states
                .map(|state| IdleState {
                    name: state.name().to_owned(),
                    exit_latency: state.exit_latency(),
                    exit_typical: state.exit_typical(),
                    entry_latency: state.entry_latency(),
                    target_residency: state.target_residency(),
                    polls: state.polls(),
                    power_uw: state.power_uw(),
                })
                .collect()
        });
        Self {
            tick: machine.hz().tick(),
            tick_skew: machine.tick_skew(),
            ipi_latency: machine.ipi_latency(),
            polling_idle: machine.polling_idle(),
            scale_work: machine.scale_work(),
            smt_shares: machine.smt().map(Smt::shares).unwrap_or_default(),
            turbo: machine.turbo().cloned(),
            frequency_domains: domains.collect(),
            transition_latencies: machine
                .frequency_domains()
                .iter()
                .map(|domain| domain.transition_latency())
                .collect(),
            frequency_limits: limits.collect(),
            idle_states: idle_states.collect(),
            idle_governor: machine.idle_governor(),
            interrupts: interrupts.collect(),
            prices: CostModel::from_list(machine.prices()),
            channel_lines: machine.channel_lines().clone(),
            ..Self::plain(machine.name(), machine.topology())
        }
    }

    /// The frequency, in kHz, at which a CPU has this part of that of its full capacity; none if the machine names no such frequency.
    pub fn khz_of(&self, cpu: CpuId, part: Capacity) -> Option<u64> {
        if let Some(turbo) = &self.turbo {
            let known = turbo.khz().iter().copied().chain([turbo.base_khz()]);
            return known.into_iter().find(|&khz| turbo.part(khz) == part);
        }
        let domain = self.frequency_domains.iter().find(|domain| domain.contains(cpu))?;
        let highest = domain.khz().last()?;
        domain.khz().iter().copied().find(|khz| khz * SCHED_CAPACITY_SCALE / highest == part)
    }

    /// CPUs that have one frequency, in the order of their lowest; none where each has its highest all the time.
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

    /// Number of CPUs.
    pub fn nr_cpus(&self) -> usize {
        self.topology.cpus.len()
    }
}

/// What clamps tasks and groups of a scenario begin with. Where groups have clamps there is the cgroup file system, so they
/// begin as on a booted machine.
fn first_clamps_of(workload: &Workload) -> DefaultClamps {
    let has_clamped_group = workload.groups.iter().any(|group| group.uclamp.is_some());
    let clamps_group_later = workload.changes.iter().any(|(_, change)| matches!(change, Change::GroupClamps { .. }));
    if has_clamped_group || clamps_group_later { DefaultClamps::default() } else { ORACLE_CLAMPS }
}
