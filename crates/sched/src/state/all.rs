// SPDX-License-Identifier: GPL-2.0-or-later
//! All that the scheduler remembers: its parts, how they are made, and what can be asked of them.
//!
//! The storeys above work on this: averages, classes and rules have their methods here, and know of nothing else. What happens to
//! the scheduler comes through [`crate::paths::sched::Sched`], which has this and what its CPUs are in the middle of.

use crate::state::cpufreq::Cpufreq;
use crate::state::cpuset::Cpuset;
use crate::state::deadline::DlRoot;
use crate::state::entity::SchedEntity;
use crate::state::group::TaskGroup;
use crate::state::hotplug::Hotplug;
use crate::state::lb_cache::LbCache;
use crate::state::new_task::NewTask;
use crate::state::nohz::Nohz;
use crate::state::rq::cfs_rq::CfsRq;
use crate::state::rq::timeline::Timeline;
use crate::state::rq::{Rq, Rqs};
use crate::state::rt::RtRoot;
use crate::state::task::{OnRq, Policy, SchedClass, Task, TaskState};
use crate::state::topology::{BuildError, BuildParams, MachineTopology, SchedDomains, build_sched_domains};
use crate::state::uclamp::DefaultClamps;
use crate::state::warn::WarnState;
use crate::types::cpumask::CpuMask;
use crate::types::features::FeatureSet;
use crate::types::ids::{CfsRqId, CpuId, GroupId, TaskId};
use crate::types::pelt::SchedAvg;
use crate::types::tunables::Tunables;
use crate::types::units::{Capacity, Nanos, hz};
use alloc::vec;
use alloc::vec::Vec;

/// What a scheduler is made of.
#[derive(Clone, Debug)]
pub struct SchedConfig {
    /// The machine.
    pub topology: MachineTopology,
    /// Length of a tick (jiffy), in ns.
    pub tick_ns: u64,
    /// Number of the jiffy in which the scheduler is made.
    pub jiffies: u64,
}

/// The scheduler of a machine.
#[derive(Clone, Debug)]
pub struct State {
    pub(crate) features: FeatureSet,
    pub(crate) tunables: Tunables,
    pub(crate) tick_ns: u64,
    /// Ticks in a second.
    pub(crate) hz: u64,
    /// The longest interval between passes, in ticks: the kernel's `max_load_balance_interval`.
    pub(crate) max_balance_interval: u64,
    pub(crate) jiffies: u64,
    pub(crate) rqs: Rqs,
    pub(crate) tasks: Vec<Task>,
    pub(crate) entities: Vec<SchedEntity>,
    pub(crate) cfs_rqs: Vec<CfsRq>,
    pub(crate) groups: Vec<TaskGroup>,
    pub(crate) domains: SchedDomains,
    pub(crate) tallies: LbCache,
    pub(crate) hotplug: Hotplug,
    pub(crate) cpusets: Vec<Cpuset>,
    pub(crate) nohz: Nohz,
    pub(crate) dl_root: DlRoot,
    pub(crate) nodes: Vec<u32>,
    pub(crate) rt_root: RtRoot,
    pub(crate) cpufreq: Cpufreq,
    /// Whether anybody has set a utilisation clamp yet.
    pub(crate) uclamp_used: bool,
    pub(crate) first_clamps: DefaultClamps,
    pub(crate) warn: WarnState,
    pub(crate) masks: Vec<Masks>,
    /// Some CPU balances a domain between NUMA nodes: the kernel's lock `balancing`.
    pub(crate) balancing: bool,
    /// Whether idle CPUs are woken by a write instead of an interrupt.
    pub(crate) polling_idle: bool,
    /// Softirqs that would take too long go over to threads.
    pub(crate) softirq_deferral: bool,
    /// No timer is moved on by less than this: `hrtimer_resolution`.
    pub(crate) timer_resolution_ns: u64,
}

/// So many tasks can wait on a CPU before its queue has to grow. It never shrinks.
const ROOM_OF_ROOT: usize = 32;

/// Masks of a CPU that its searches and passes fill anew each time, so that they need not allocate.
#[derive(Clone, Debug)]
pub(crate) struct Masks {
    /// The kernel's `select_rq_mask`.
    pub select: CpuMask,
    /// The kernel's `load_balance_mask`; lent to the pass that is under way.
    pub balance: CpuMask,
}

impl State {
    /// The state of a machine whose CPUs all idle and have never run anything.
    ///
    /// # Errors
    /// If no sched domains can be built on the machine.
    pub(crate) fn new(config: SchedConfig) -> Result<Self, BuildError> {
        let SchedConfig { topology, tick_ns, jiffies } = config;
        let nr_cpus = topology.cpus.len();
        let hz = hz(tick_ns);
        let domains =
            build_sched_domains(&topology, &BuildParams { jiffies, hz: hz as u32, ..BuildParams::default() })?;
        let tunables = Tunables::for_cpus(nr_cpus);
        let mut state = Self {
            features: FeatureSet::default(),
            tunables,
            tick_ns,
            hz,
            max_balance_interval: 0,
            jiffies,
            rqs: Vec::with_capacity(nr_cpus),
            tasks: Vec::new(),
            entities: Vec::new(),
            cfs_rqs: Vec::with_capacity(nr_cpus),
            groups: Vec::new(),
            tallies: LbCache::new(nr_cpus, &domains),
            domains,
            hotplug: Hotplug::new(topology.clone()),
            cpusets: Vec::from([Cpuset::of_all(nr_cpus)]),
            nohz: Nohz::new(nr_cpus, jiffies),
            dl_root: DlRoot::new(nr_cpus),
            nodes: topology.cpus.iter().map(|place| place.node).collect(),
            rt_root: RtRoot::new(nr_cpus),
            cpufreq: Cpufreq::default(),
            uclamp_used: false,
            first_clamps: DefaultClamps::default(),
            warn: WarnState::default(),
            masks: vec![Masks { select: CpuMask::new(nr_cpus), balance: CpuMask::new(nr_cpus) }; nr_cpus],
            balancing: false,
            polling_idle: false,
            softirq_deferral: false,
            timer_resolution_ns: 1,
        };
        state.update_max_interval();
        state.groups.push(TaskGroup::new(None));
        for (index, &capacity) in topology.capacity.iter().enumerate() {
            let cpu = CpuId::from_index(index);
            let (idle, stop) = (TaskId::from_index(index), TaskId::from_index(nr_cpus + index));
            state.rqs.push(Rq::new(cpu, idle, stop, capacity, jiffies));
            let mut root = CfsRq::new(cpu, GroupId::ROOT);
            root.timeline = Timeline::with_capacity(ROOM_OF_ROOT);
            state.cfs_rqs.push(root);
        }
        for cpu in state.cpu_ids() {
            let idle = state.new_kernel_task(cpu, 0);
            let task = &mut state.tasks[idle.index()];
            (task.class, task.state, task.on_rq, task.on_cpu) =
                (SchedClass::Idle, TaskState::Running, OnRq::Queued, true);
        }
        Ok(state)
    }

    /// A kernel thread that is bound to a CPU.
    pub(crate) fn new_kernel_task(&mut self, cpu: CpuId, pid: i32) -> TaskId {
        let cpus_allowed = CpuMask::from_cpus(self.rqs.len(), [cpu]);
        let group = GroupId::ROOT;
        let new = NewTask { pid, policy: Policy::Normal, nice: 0, group, cpus_allowed, uclamp: None };
        let task = self.new_task(new, cpu);
        self.tasks[task.index()].is_per_cpu_kthread = true;
        task
    }

    /// A jiffy has begun.
    pub fn handle_jiffy(&mut self, jiffies: u64) {
        self.jiffies = self.jiffies.max(jiffies);
    }

    /// A CPU has another frequency, as a part of 1024 of its highest. Load tracking uses it for all the time since it
    /// was last updated.
    pub fn handle_frequency(&mut self, cpu: CpuId, capacity: Capacity) {
        self.rqs[cpu.index()].freq_capacity = capacity;
    }

    /// A CPU is capped: this much of its capacity is lost to heat.
    pub fn handle_thermal_pressure(&mut self, cpu: CpuId, pressure: Capacity) {
        self.rqs[cpu.index()].thermal_pressure = pressure;
    }

    /// Interrupts have taken this much time of a CPU.
    pub fn handle_irq_time(&mut self, cpu: CpuId, time: Nanos) {
        self.rqs[cpu.index()].irq_time += time.0;
    }

    /// The host has taken this much time of a CPU, which is a virtual one: `paravirt_steal_clock()` runs on.
    pub fn handle_steal_time(&mut self, cpu: CpuId, time: Nanos) {
        self.rqs[cpu.index()].steal_time += time.0;
    }

    /// Which features are on.
    pub fn features(&self) -> FeatureSet {
        self.features
    }

    /// Switches features.
    pub fn features_mut(&mut self) -> &mut FeatureSet {
        // Whether utilisation is remembered.
        self.tallies.mark_all_dirty();
        &mut self.features
    }

    /// The tunables.
    pub fn tunables(&self) -> &Tunables {
        &self.tunables
    }

    /// Sets tunables. Nothing is derived anew from them.
    pub fn tunables_mut(&mut self) -> &mut Tunables {
        &mut self.tunables
    }

    /// Starts the dice of a CPU anew (`sched_rnd_state`). Words below 128 are raised: the generator needs higher bits.
    pub fn seed_random(&mut self, cpu: CpuId, words: [u32; 4]) {
        self.rqs[cpu.index()].rnd_state = words.map(|word| if word < 128 { word + 128 } else { word });
    }

    /// Number of CPUs.
    pub fn nr_cpus(&self) -> usize {
        self.rqs.len()
    }

    /// All CPUs in ascending order.
    pub fn cpu_ids(&self) -> impl Iterator<Item = CpuId> + Clone + use<> {
        (0..self.rqs.len()).map(CpuId::from_index)
    }

    /// The runqueue of a CPU.
    pub(crate) fn rq(&self, cpu: CpuId) -> &Rq {
        &self.rqs[cpu.index()]
    }

    /// The root cfs_rq of a CPU.
    pub(crate) fn cfs_rq(&self, cpu: CpuId) -> &CfsRq {
        &self.cfs_rqs[cpu.index()]
    }

    /// A task.
    pub fn task(&self, task: TaskId) -> &Task {
        &self.tasks[task.index()]
    }

    /// Number of tasks that were ever created, the CPUs' own among them.
    pub fn nr_tasks(&self) -> usize {
        self.tasks.len()
    }

    /// The fair entity of a task.
    pub fn entity(&self, task: TaskId) -> &SchedEntity {
        &self.entities[self.tasks[task.index()].se.index()]
    }

    /// Whether a task's group, or one above, is throttled on the task's CPU: it has used up its quota there.
    pub fn is_throttled(&self, task: TaskId) -> bool {
        self.cfs_rqs[self.entity(task).cfs_rq.index()].throttle_count > 0
    }

    /// A task group.
    pub fn group(&self, group: GroupId) -> &TaskGroup {
        &self.groups[group.index()]
    }

    /// The sched domains.
    pub fn domains(&self) -> &SchedDomains {
        &self.domains
    }

    /// State of idle balancing.
    pub fn nohz(&self) -> &Nohz {
        &self.nohz
    }

    /// The running task of a CPU.
    #[inline]
    pub fn curr(&self, cpu: CpuId) -> TaskId {
        self.rqs[cpu.index()].curr
    }

    /// Whether the running task of a CPU must give way.
    #[inline]
    pub fn need_resched(&self, cpu: CpuId) -> bool {
        self.rqs[cpu.index()].need_resched
    }

    /// The root cfs_rq of a CPU by name.
    #[inline]
    pub(crate) fn root_cfs_rq(&self, cpu: CpuId) -> CfsRqId {
        CfsRqId(cpu.0)
    }

    /// Averages of a task.
    #[inline]
    pub(crate) fn task_avg(&self, task: TaskId) -> &SchedAvg {
        &self.entities[self.tasks[task.index()].se.index()].avg
    }

    /// The NUMA node of a CPU.
    pub(crate) fn node_of(&self, cpu: CpuId) -> u32 {
        self.nodes[cpu.index()]
    }

    /// Computes the longest interval between passes anew, when CPUs have joined the root domain or left it: a tenth of a second
    /// for each, but at least a tick (`update_max_interval()`).
    pub(crate) fn update_max_interval(&mut self) {
        self.max_balance_interval = max_balance_interval(self.hz, &self.hotplug.online);
    }

    /// Whether the idle task runs on a CPU.
    #[inline]
    pub fn is_idle_task_running(&self, cpu: CpuId) -> bool {
        self.rqs[cpu.index()].is_idle_task_running()
    }

    /// The migration cost as the unsigned 32-bit number that the kernel keeps; -1 is a very large one.
    pub(crate) const fn migration_cost_u64(&self) -> u64 {
        self.tunables.migration_cost_ns as u32 as u64
    }
}

/// The longest interval between passes, in ticks, with these CPUs.
pub(crate) fn max_balance_interval(hz: u64, online: &CpuMask) -> u64 {
    (hz * online.weight() as u64 / 10).max(1)
}
