// SPDX-License-Identifier: GPL-2.0-or-later
//! State of the whole scheduler: its parts, how they are created, and plain accessors.
//!
//! The layers above (`track`, `classes`, `rules`, `paths`) add their methods to [`State`]. Events reach the
//! scheduler through [`crate::paths::sched::Sched`], which holds a [`State`] and the unfinished paths of each
//! CPU.

use crate::state::cpufreq::Cpufreq;
use crate::state::cpuset::Cpuset;
use crate::state::deadline::DlRoot;
use crate::state::entity::SchedEntity;
use crate::state::fair_tree::FairTree;
use crate::state::group::TaskGroup;
use crate::state::hotplug::Hotplug;
use crate::state::lb_cache::LbCache;
use crate::state::new_task::NewTask;
use crate::state::nohz::{Nohz, WiderDomains};
use crate::state::rq::cfs_rq::CfsRq;
use crate::state::rq::{Rq, Rqs};
use crate::state::rt::RtRoot;
use crate::state::task::{OnRq, Policy, SchedClass, Task, TaskState, Tasks};
use crate::state::topology::{BuildError, BuildParams, MachineTopology, SchedDomains, build_sched_domains};
use crate::state::uclamp::DefaultClamps;
use crate::state::warn::WarnState;
use crate::types::arena::Arena;
use crate::types::cpumask::CpuMask;
use crate::types::features::FeatureSet;
use crate::types::ids::{CfsRqId, CpuId, CpusetId, GroupId, TaskId};
use crate::types::kernel_rules::KernelRules;
use crate::types::series::KernelSeries;
use crate::types::tunables::Tunables;
use crate::types::units::hz;

/// Parameters of a new scheduler.
#[derive(Clone, Debug)]
pub struct SchedConfig {
    /// CPUs of the machine, the units that they share, and their capacities.
    pub topology: MachineTopology,
    /// Length of a tick (jiffy), in ns.
    pub tick_ns: u64,
    /// Number of the jiffy in which the scheduler is created.
    pub jiffies: u64,
    /// Kernel whose rules the scheduler follows.
    pub series: KernelSeries,
}

/// State of the scheduler on all CPUs of a machine: runqueues, tasks, groups, sched domains and settings.
#[derive(Clone, Debug)]
pub struct State {
    /// Kernel whose rules the scheduler follows.
    pub(crate) series: KernelSeries,
    pub(crate) rules: KernelRules,
    pub(crate) features: FeatureSet,
    pub(crate) tunables: Tunables,
    pub(crate) tick_ns: u64,
    /// Ticks per second (`CONFIG_HZ`).
    pub(crate) hz: u64,
    /// Longest interval between load-balance passes, in ticks: the kernel's `max_load_balance_interval`.
    pub(crate) max_balance_interval: u64,
    pub(crate) jiffies: u64,
    pub(crate) rqs: Rqs,
    pub(crate) tasks: Tasks,
    pub(crate) fair: FairTree,
    pub(crate) domains: SchedDomains,
    pub(crate) lb_cache: LbCache,
    pub(crate) hotplug: Hotplug,
    /// Number of changes of affinities, policies and slices, and of new tasks, so far.
    pub(crate) nr_attribute_changes: u64,
    pub(crate) cpusets: Arena<CpusetId, Cpuset>,
    pub(crate) nohz: Nohz,
    pub(crate) dl_root: DlRoot,
    pub(crate) nodes: Arena<CpuId, u32>,
    pub(crate) rt_root: RtRoot,
    /// Whether a task has ever been throttled in this run.
    pub(crate) has_throttled: bool,
    pub(crate) cpufreq: Cpufreq,
    /// Whether a utilisation clamp has been set yet: the kernel's `sched_uclamp_used`.
    pub(crate) uclamp_used: bool,
    pub(crate) default_clamps: DefaultClamps,
    pub(crate) warn: WarnState,
    pub(crate) masks: Arena<CpuId, ScratchMasks>,
    /// Whether a CPU balances a domain between NUMA nodes: the kernel's `balancing` lock.
    pub(crate) balancing: bool,
    /// Whether a write wakes idle CPUs, instead of an interrupt.
    pub(crate) polling_idle: bool,
    /// Whether averages of thermal pressure are tracked (CONFIG_SCHED_THERMAL_PRESSURE).
    pub(crate) tracks_thermal: bool,
    /// Whether softirqs that take too long are deferred to ksoftirqd.
    pub(crate) softirq_deferral: bool,
    /// Shortest interval by which a timer is forwarded, in ns: the kernel's `hrtimer_resolution`.
    pub(crate) timer_resolution_ns: u64,
}

/// Scratch masks of a CPU. Scans and load-balance passes refill them each time, so that they need not
/// allocate.
#[derive(Clone, Debug)]
pub(crate) struct ScratchMasks {
    /// The kernel's `select_rq_mask`: candidates of a scan for an idle CPU.
    pub select: CpuMask,
    /// The kernel's `load_balance_mask`; a pass takes it while it runs.
    pub balance: CpuMask,
}

impl State {
    /// Creates the state of a machine whose CPUs all idle and have never run anything.
    ///
    /// # Errors
    /// If no sched domains can be built on the machine.
    pub(crate) fn new(config: SchedConfig) -> Result<Self, BuildError> {
        let SchedConfig { topology, tick_ns, jiffies, series } = config;
        let nr_cpus = topology.cpus.len();
        let hz = hz(tick_ns);
        let rules = KernelRules::of_series(series);
        let params = BuildParams { jiffies, hz: hz as u32, ..BuildParams::new(rules) };
        let domains = build_sched_domains(&topology, &params)?;
        let tunables = Tunables::of_machine(series, nr_cpus);
        let mut state = Self {
            series,
            rules,
            features: FeatureSet::default(),
            tunables,
            tick_ns,
            hz,
            max_balance_interval: 0,
            jiffies,
            rqs: Arena::with_capacity(nr_cpus),
            tasks: Arena::new(),
            fair: FairTree::new(nr_cpus, rules.propagates_min_slice),
            lb_cache: LbCache::new(nr_cpus, &domains),
            domains,
            hotplug: Hotplug::new(topology.clone()),
            cpusets: [Cpuset::with_all_cpus(nr_cpus)].into_iter().collect(),
            nr_attribute_changes: 0,
            nohz: Nohz::new(nr_cpus, jiffies),
            dl_root: DlRoot::new(nr_cpus),
            nodes: topology.cpus.iter().map(|place| place.node).collect(),
            rt_root: RtRoot::new(nr_cpus),
            has_throttled: false,
            cpufreq: Cpufreq::default(),
            uclamp_used: false,
            default_clamps: DefaultClamps::default(),
            warn: WarnState::default(),
            masks: Arena::filled(
                ScratchMasks { select: CpuMask::new(nr_cpus), balance: CpuMask::new(nr_cpus) },
                nr_cpus,
            ),
            balancing: false,
            polling_idle: false,
            tracks_thermal: false,
            softirq_deferral: false,
            timer_resolution_ns: 1,
        };
        state.update_max_interval();
        for (index, &capacity) in topology.capacity.iter().enumerate() {
            let cpu = CpuId::from_index(index);
            let (idle, stop) = (TaskId::from_index(index), TaskId::from_index(nr_cpus + index));
            state.rqs.push(Rq::new(cpu, idle, stop, capacity, jiffies));
        }
        for cpu in state.cpu_ids() {
            let idle = state.new_kernel_task(cpu, 0);
            let task = &mut state.tasks[idle];
            (task.class, task.state, task.on_rq, task.on_cpu) =
                (SchedClass::Idle, TaskState::Running, OnRq::Queued, true);
        }
        Ok(state)
    }

    /// Creates a kernel thread that is bound to one CPU.
    pub(crate) fn new_kernel_task(&mut self, cpu: CpuId, pid: i32) -> TaskId {
        let cpus_allowed = CpuMask::from_cpus(self.rqs.len(), [cpu]);
        let group = GroupId::ROOT;
        let new = NewTask { pid, policy: Policy::Normal, nice: 0, group, cpus_allowed, uclamp: None, slice: None };
        let task = self.new_task(new, cpu);
        self.tasks[task].is_per_cpu_kthread = true;
        task
    }

    /// Rules of the kernel.
    #[inline]
    pub fn rules(&self) -> &KernelRules {
        &self.rules
    }

    /// Changes the kernel of a running scheduler.
    #[cfg(test)]
    pub(crate) fn set_series(&mut self, series: KernelSeries) {
        (self.series, self.rules) = (series, KernelRules::of_series(series));
    }

    /// Number of CPUs, offline ones included.
    pub fn nr_cpus(&self) -> usize {
        self.rqs.len()
    }

    /// All CPUs in ascending order, offline ones included.
    pub fn cpu_ids(&self) -> impl Iterator<Item = CpuId> + Clone + use<> {
        (0..self.rqs.len()).map(CpuId::from_index)
    }

    /// State of a task, in any class.
    pub fn task(&self, task: TaskId) -> &Task {
        &self.tasks[task]
    }

    /// Fair entity of a task, which exists in every class.
    pub fn entity(&self, task: TaskId) -> &SchedEntity {
        &self.fair.entities[self.tasks[task].se]
    }

    /// State of a task group, which spans all CPUs.
    pub fn group(&self, group: GroupId) -> &TaskGroup {
        &self.fair.groups[group]
    }

    /// Sched domains, as they were built last.
    pub fn domains(&self) -> &SchedDomains {
        &self.domains
    }

    /// Recomputes the longest interval between load-balance passes, after CPUs have joined or left the root
    /// domain.
    ///
    /// Models `update_max_interval()` (6.1): 100 ms for each online CPU, but at least one tick.
    pub(crate) fn update_max_interval(&mut self) {
        self.max_balance_interval = max_balance_interval(self.hz, &self.hotplug.online);
        self.nohz.cpus.iter_mut().for_each(|of| of.wider = WiderDomains::UNKNOWN);
    }
}

impl FairTree {
    /// Root cfs_rq of a CPU.
    pub(crate) fn root_cfs_rq(&self, cpu: CpuId) -> &CfsRq {
        &self.cfs_rqs[CfsRqId::root(cpu)]
    }
}

/// Longest interval between load-balance passes with these online CPUs, in ticks.
pub(crate) fn max_balance_interval(hz: u64, online: &CpuMask) -> u64 {
    (hz * online.weight() as u64 / 10).max(1)
}
