// SPDX-License-Identifier: GPL-2.0-or-later
//! A kernel's scheduler as the engine of a machine: the seam on top of an object.
//!
//! 1. Before each call the object gets the clock; after it, what it told becomes events for the probe and effects for the machine, in its
//!    order.
//! 2. Which interrupts are under way is remembered here, as the built-in scheduler does for itself: another of the same kind is not sent.
//! 3. Tasks have the numbers that the built-in scheduler gives them: idle tasks, stoppers, the first task, then as they are forked.
//! 4. What kernel code does is counted: by functions of the tree ([`crate::operations`]), and here what passes the seam. Where that takes time
//!    calls leave kernel code in the middle ([`paths`]), where locks are taken and given back and searches look.

mod paths;
mod unsupported;

use crate::error::KernelError;
use crate::object::paths::{Call, Tick};
use crate::object::{self, EngineRecord, Irq, Object};
use crate::operations;
use fairlab_machine::engine::Engine;
use fairlab_machine::sim::Setup;
use fairlab_machine::snapshot::{LlcSnapshot, NohzSnapshot, RqSnapshot, SchedstatSnapshot, TaskSnapshot};
use fairlab_sched::classes::deadline::admission::PolicyError;
use fairlab_sched::classes::fair::shares::SharesError;
use fairlab_sched::cpumask::CpuMask;
use fairlab_sched::ctx::{Ctx, Effect, IpiKind, PrevState};
use fairlab_sched::features::Feature;
use fairlab_sched::ids::{CpuId, CpusetId, GroupId, TaskId};
use fairlab_sched::paths::idle::IdleTick;
use fairlab_sched::probe::Event;
use fairlab_sched::resumable::{YieldMode, YieldedPath};
use fairlab_sched::sched::SchedConfig;
use fairlab_sched::state::cpufreq::domain::{FrequencyDomain, FrequencyDomainError, Governor};
use fairlab_sched::state::cpufreq::limits::FrequencyLimit;
use fairlab_sched::state::group::bandwidth::{Bandwidth, BandwidthError};
use fairlab_sched::state::hotplug::HotplugError;
use fairlab_sched::state::new_task::NewTask;
use fairlab_sched::state::snapshot::CpuAction;
use fairlab_sched::state::uclamp::DefaultClamps;
use fairlab_sched::task::{Policy, Uclamp};
use fairlab_sched::topology::{MachineTopology, TopologyLevel};
use fairlab_sched::tunables::{TUNABLES, Tunables};
use fairlab_sched::units::{Capacity, Nanos};
use fairlab_sched::work::KernelOp;
use paths::Paths;
use std::ffi::CStr;
use std::path::Path;

/// The kernel's TASK_DEAD.
const TASK_DEAD: u32 = 0x80;

/// MAX_SOFTIRQ_TIME, before it is made jiffies.
const MAX_SOFTIRQ_NS: u64 = 2_000_000;

/// What the search before 5.19 measures for each CPU that it looks at, in ns.
const SCAN_COST: &str = "scan_cost";

/// A kernel's scheduler on a machine.
pub struct KernelEngine {
    object: Object,
    topology: MachineTopology,
    tick_ns: u64,
    nr_tasks: usize,
    /// Interrupts under way, by kind.
    ipi_pending: Vec<[bool; 2]>,
    nr_cpusets: u32,
    /// The deadline task that takes what others leave, until it gets its policy.
    reclaims: Option<TaskId>,
    /// The thread of a governor, until it gets its policy.
    governor: Option<TaskId>,
    /// The function that measures what a search costs.
    search: Option<u64>,
    /// How it was tuned, by the laboratory's words.
    tunables: Tunables,
    cpus: CpuMask,
    /// What the boot wants of the machine.
    left_over: Vec<Effect>,
    paths: Paths,
    /// Idle CPUs look at what others write, which costs no interrupt on either side; it arrives all the same.
    polls: bool,
}

impl KernelEngine {
    /// Loads an object for a machine. Crashes, and calls that take so many seconds of CPU time, end the process with a report on this file
    /// descriptor.
    ///
    /// # Errors
    /// If it cannot be loaded.
    pub fn load(path: &Path, config: SchedConfig, report: i32, loop_seconds: u32) -> Result<Self, KernelError> {
        let object = Object::load(path)?;
        let counted = operations::counted(path)?;
        object.count(&counted);
        let search = counted
            .iter()
            .find(|counted| KernelOp::ALL[counted.operation] == KernelOp::ScanCpu)
            .and_then(|counted| counted.within);
        for op in [KernelOp::ScanCpu, KernelOp::ScanCore] {
            object.count_as_scan(op as usize);
        }
        let places = operations::places(path)?;
        for (mark, place) in
            paths::MARKS.iter().enumerate().filter_map(|(mark, (name, _))| Some((mark, places.get(*name)?)))
        {
            object.mark(*place, mark);
        }
        object.guard(report, loop_seconds);
        let nr_cpus = config.topology.cpus.len();
        Ok(Self {
            object,
            tick_ns: config.tick_ns,
            nr_tasks: 0,
            ipi_pending: vec![[false; 2]; nr_cpus],
            nr_cpusets: 0,
            reclaims: None,
            governor: None,
            search,
            tunables: Tunables::for_cpus(nr_cpus),
            cpus: CpuMask::full(nr_cpus),
            topology: config.topology,
            left_over: Vec::new(),
            paths: Paths::new(nr_cpus),
            polls: false,
        })
    }

    /// The object, to look at.
    pub fn object(&self) -> &Object {
        &self.object
    }

    /// Calls the kernel's side as the CPU of the context: something that does not leave kernel code in the middle.
    fn enter<R>(&mut self, ctx: &mut Ctx<'_>, what: &'static CStr, act: impl FnOnce(&Object, u32) -> R) -> R {
        self.end_paths(ctx);
        self.call(ctx, what, act)
    }

    /// Calls the kernel's side as the CPU of the context, and passes on what it tells.
    fn call<R>(&mut self, ctx: &mut Ctx<'_>, what: &'static CStr, act: impl FnOnce(&Object, u32) -> R) -> R {
        let cost = ctx.self_timed.map_or(Nanos::ZERO, |(_, cost)| cost);
        self.object.set_clock(ctx.now.0, ctx.clock_offset.0, cost.0);
        self.object.entering(what, ctx.cpu.0, ctx.now.0);
        let result = act(&self.object, ctx.cpu.0);
        self.object.leaving();
        ctx.clock_offset = Nanos(self.object.ahead());
        ctx.effects.append(&mut self.left_over);
        let (pending, polls) = (&mut self.ipi_pending, self.polls);
        let is_polling = |cpu: u32| polls && self.object.running(cpu) == cpu;
        self.object.told(|told| pass_on(ctx, pending, is_polling, told));
        // What one function counts too much another takes back within the same call.
        self.object.counts(|operation, times| ctx.work.count(KernelOp::ALL[operation], times.max(0).unsigned_abs()));
        result
    }

    /// Somebody wakes a task that sleeps.
    fn emit_waking(&self, ctx: &mut Ctx<'_>, task: TaskId) {
        if !self.object.is_queued(task.0) {
            ctx.report(Event::Waking { task, cpu: self.task_cpu(task), on: ctx.cpu });
        }
    }

    /// The tasks of a cpuset that have to follow it.
    fn update_cpuset(&self, id: CpusetId) -> Vec<TaskId> {
        if !self.object.update_cpuset(id.0) {
            return Vec::new();
        }
        // Those before are idle tasks, stoppers and the first task.
        let tasks = (2 * self.topology.cpus.len() + 1..self.nr_tasks).map(TaskId::from_index);
        tasks.filter(|task| self.object.cpuset_of(task.0) == id.0).collect()
    }

    /// A mask with a bit for each CPU.
    fn words(&self, mask: &CpuMask) -> Vec<u64> {
        let mut words = vec![0; self.topology.cpus.len().div_ceil(64)];
        for cpu in mask.iter() {
            words[cpu.index() / 64] |= 1 << (cpu.index() % 64);
        }
        words
    }
}

/// One of the things that the kernel's side tells.
fn pass_on(ctx: &mut Ctx<'_>, pending: &mut [[bool; 2]], is_polling: impl Fn(u32) -> bool, told: EngineRecord) {
    match told {
        EngineRecord::Wakeup { on, cpu, task, is_new } => {
            ctx.report(Event::Wakeup { task: TaskId(task), cpu: CpuId(cpu), is_new, on: CpuId(on) });
        }
        EngineRecord::Switch { cpu, prev, next, state } => {
            let (cpu, prev, next) = (CpuId(cpu), TaskId(prev), TaskId(next));
            let prev_state = match state {
                0 => PrevState::Runnable,
                TASK_DEAD => PrevState::Dead,
                _ => PrevState::Blocked,
            };
            ctx.report(Event::Switch { cpu, prev, next, prev_state });
            ctx.charge(KernelOp::ContextSwitch);
            ctx.emit(Effect::Switch { cpu, prev, next, prev_state });
        }
        EngineRecord::Migrate { on, task, from, to } => {
            ctx.report(Event::Migrate { task: TaskId(task), from: CpuId(from), to: CpuId(to), on: CpuId(on) });
        }
        EngineRecord::Ipi { on, cpu, kind } => {
            if std::mem::replace(&mut pending[cpu as usize][kind as usize], true) {
                return;
            }
            if !is_polling(cpu) {
                ctx.charge(KernelOp::IpiSend);
            }
            let (cpu, kind) = (CpuId(cpu), if kind == 0 { IpiKind::Reschedule } else { IpiKind::CallFunction });
            ctx.report(Event::Ipi { cpu, kind, on: CpuId(on) });
            ctx.emit(Effect::SendIpi { cpu, kind });
        }
        EngineRecord::Stat { on, cpu, level, counter, idle, amount } => {
            ctx.report(Event::DomainStat { on: CpuId(on), cpu: CpuId(cpu), level, counter, idle, amount });
        }
        EngineRecord::Frequency { cpu, part } => {
            let (cpu, capacity) = (CpuId(cpu), Capacity::from(part));
            ctx.emit(Effect::SetFrequency { cpu, capacity });
            ctx.report(Event::Frequency { cpu, capacity });
        }
        EngineRecord::Governor { cpu, domain } => ctx.emit(Effect::WakeGovernor { cpu: CpuId(cpu), policy: domain }),
        EngineRecord::Timer { cpu, at } => {
            ctx.charge(KernelOp::HrtimerProgram);
            ctx.emit(Effect::ArmTimer { cpu: CpuId(cpu), at: timer_at(at) });
        }
    }
}

/// The kernel has frequencies and powers in 32 bits.
fn small(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// The kernel says never with the greatest signed number.
fn timer_at(at: u64) -> Nanos {
    if at >= i64::MAX as u64 { Nanos::NEVER } else { Nanos(at) }
}

fn to_kernel(policy: Policy) -> object::Policy {
    let (number, priority, deadline) = match policy {
        Policy::Normal => (0, 0, [0; 3]),
        Policy::Fifo(priority) => (1, priority, [0; 3]),
        Policy::RoundRobin(priority) => (2, priority, [0; 3]),
        Policy::Batch => (3, 0, [0; 3]),
        Policy::Idle => (5, 0, [0; 3]),
        Policy::Deadline { runtime, deadline, period } => (6, 0, [runtime, deadline, period].map(|time| time.0 as i64)),
    };
    object::Policy { number, priority: i32::from(priority), deadline, ..object::Policy::default() }
}

impl Engine for KernelEngine {
    fn unsupported(&self, setup: &Setup) -> Option<String> {
        unsupported::unsupported(&self.object, setup)
    }

    #[inline]
    fn paused(&self, cpu: CpuId) -> Option<YieldedPath> {
        self.paths.paused(cpu)
    }

    #[inline]
    fn is_in_path(&self, cpu: CpuId) -> bool {
        self.paths.paused(cpu).is_some()
    }

    /// Calls say themselves which lock they want, when they want it.
    fn holds_lock(&self, cpu: CpuId, lock: CpuId) -> bool {
        self.object.holds_lock(cpu.0, lock.0)
    }

    fn set_pausing(&mut self, pausing: YieldMode) {
        if let YieldMode::On { looks_per_phase } = pausing {
            self.allow_yield(looks_per_phase);
        }
    }

    fn handle_resume(&mut self, ctx: &mut Ctx<'_>) {
        self.resume(ctx);
    }

    fn handle_phase_end(&mut self, cpu: CpuId) {
        self.object.phase_over(cpu.0);
    }

    fn handle_try(&mut self, cpu: CpuId, is_taken: bool) {
        self.object.grant(cpu.0, is_taken);
    }

    fn handle_deadlock(&mut self, cpu: CpuId, _: CpuId) {
        self.object.deadlock(cpu.0);
    }

    fn cpu_ids(&self) -> impl Iterator<Item = CpuId> + Clone + use<> {
        (0..self.topology.cpus.len()).map(CpuId::from_index)
    }

    #[inline]
    fn duty(&self, cpu: CpuId) -> CpuAction {
        match self.object.duty(cpu.0) {
            object::EngineDuty::Reschedule => CpuAction::Reschedule,
            object::EngineDuty::Stopper => CpuAction::Stopper,
            object::EngineDuty::Idle => CpuAction::Idle,
            object::EngineDuty::Task => CpuAction::Task(self.curr(cpu)),
        }
    }

    #[inline]
    fn curr(&self, cpu: CpuId) -> TaskId {
        TaskId(self.object.running(cpu.0))
    }

    fn idle_task(&self, cpu: CpuId) -> TaskId {
        TaskId(cpu.0)
    }

    fn is_idle_task_running(&self, cpu: CpuId) -> bool {
        self.curr(cpu) == self.idle_task(cpu)
    }

    fn need_resched(&self, cpu: CpuId) -> bool {
        self.object.duty(cpu.0) == object::EngineDuty::Reschedule
    }

    fn is_ipi_pending(&self, cpu: CpuId, kind: IpiKind) -> bool {
        self.ipi_pending[cpu.index()][kind as usize]
    }

    fn is_tick_stopped(&self, cpu: CpuId) -> bool {
        self.object.is_tick_stopped(cpu.0)
    }

    fn nr_tasks(&self) -> usize {
        self.nr_tasks
    }

    fn task_cpu(&self, task: TaskId) -> CpuId {
        CpuId(self.object.cpu_of(task.0))
    }

    fn task_uclamp(&self, task: TaskId) -> Uclamp {
        let (min, max) = self.object.uclamp(task.0);
        Uclamp { min, max }
    }

    fn freq_capacity(&self, cpu: CpuId) -> Capacity {
        Capacity::from(self.object.frequency(cpu.0))
    }

    fn tunables(&self) -> &Tunables {
        &self.tunables
    }

    fn active_cpus(&self) -> &CpuMask {
        &self.cpus
    }

    fn nohz_snapshot(&self) -> NohzSnapshot {
        self.object.nohz()
    }

    fn llc_snapshot(&self, cpu: CpuId) -> Option<LlcSnapshot> {
        self.object.llc(cpu.0)
    }

    fn rq_snapshot(&self, cpu: CpuId) -> RqSnapshot {
        self.object.rq(cpu.0)
    }

    fn task_snapshot(&self, task: TaskId) -> TaskSnapshot {
        self.object.task(task.0)
    }

    fn schedstat_snapshot(&self, cpu: CpuId) -> SchedstatSnapshot {
        self.object.schedstat(cpu.0)
    }

    /// Those that are otherwise than they were are set; what the tree does not have was refused before.
    fn set_tunables(&mut self, wanted: Tunables) {
        for info in TUNABLES {
            let value = info.get(&wanted);
            if value == info.get(&self.tunables) {
                continue;
            }
            if info.name == SCAN_COST {
                let search = self.search.expect("who has the tunable has the search");
                self.object.measure(search, KernelOp::ScanCpu as usize, u32::try_from(value).unwrap_or(u32::MAX));
            } else {
                self.object.set_tunable(info.name, u32::try_from(value).unwrap_or(u32::MAX));
            }
        }
        self.tunables = wanted;
    }

    fn tunables_mut(&mut self) -> &mut Tunables {
        &mut self.tunables
    }

    fn set_feature(&mut self, feature: Feature, on: bool) {
        self.object.set_feature(feature.name(), on);
    }

    fn set_polling_idle(&mut self, polls: bool) {
        self.polls = polls;
    }

    /// What cannot be was refused before.
    fn set_frequency_domain(&mut self, domain: FrequencyDomain) -> Result<(), FrequencyDomainError> {
        let small = |numbers: &[u64]| -> Vec<u32> { numbers.iter().map(|&number| small(number)).collect() };
        let (fixed_khz, schedutil) = match domain.governor() {
            Governor::Fixed { khz } => (Some(self::small(khz)), None),
            Governor::Schedutil(config) => (None, Some(config)),
        };
        self.object.frequency_domain(&object::FrequencyDomain {
            cpus: domain.cpus().map(|cpu| cpu.0).collect(),
            khz: small(domain.khz()),
            uw: small(domain.power_uw()),
            fixed_khz,
            rate_limit_us: schedutil.map_or(0, |config| self::small(config.rate_limit.0 / 1000)),
            holds_when_busy: schedutil.is_some_and(|config| config.holds_when_busy),
            sleeps: domain.has_governor_thread(),
            skips_inefficient: domain.skips_inefficient(),
        });
        Ok(())
    }

    fn boot(&mut self, now: Nanos) {
        let letter = |level: &TopologyLevel| match level {
            TopologyLevel::Smt => 'S',
            TopologyLevel::Cluster => 'C',
            TopologyLevel::Mc => 'M',
            TopologyLevel::Package => 'P',
            TopologyLevel::All => 'A',
        };
        let levels: String = self.topology.levels.iter().map(letter).collect();
        let places = self.topology.cpus.iter().zip(&self.topology.capacity);
        let cpus: Vec<object::Cpu> = places
            .map(|(place, &capacity)| object::Cpu {
                place: [place.core, place.cluster, place.llc, place.package, place.node],
                capacity: capacity as u32,
            })
            .collect();
        self.object.set_clock(now.0, 0, 0);
        self.object.entering(c"boot", 0, now.0);
        self.object.boot(&cpus, &self.topology.distances, &levels);
        self.nr_tasks = 2 * cpus.len() + 1;
        // What the boot did is nobody's.
        self.object.counts(|_, _| {});
        // Interrupts of the boot have been served by hand; timers stay.
        let left_over = &mut self.left_over;
        self.object.told(|told| {
            if let EngineRecord::Timer { cpu, at } = told {
                left_over.push(Effect::ArmTimer { cpu: CpuId(cpu), at: timer_at(at) });
            }
        });
    }

    fn handle_jiffy(&mut self, jiffies: u64) {
        self.object.jiffies(jiffies);
    }

    fn handle_frequency(&mut self, cpu: CpuId, capacity: Capacity) {
        self.object.set_frequency(cpu.0, capacity);
    }

    fn handle_irq_time(&mut self, cpu: CpuId, time: Nanos) {
        self.object.irq_time(cpu.0, time.0);
    }

    fn set_timer_resolution(&mut self, resolution: Nanos) {
        self.object.set_timer_resolution(u32::try_from(resolution.0).unwrap_or(u32::MAX));
    }

    fn handle_fork(&mut self, ctx: &mut Ctx<'_>, new: NewTask) -> TaskId {
        let id = TaskId::from_index(self.nr_tasks);
        self.nr_tasks += 1;
        let mask = self.words(&new.cpus_allowed);
        let task = object::NewTask {
            id: id.0,
            pid: new.pid,
            nice: i32::from(new.nice),
            group: new.group.0 as i32,
            policy: to_kernel(new.policy),
            uclamp: new.uclamp.map(|clamps| (clamps.min, clamps.max)),
            mask: &mask,
        };
        // The first part takes locks of runqueues.
        self.end_paths(ctx);
        self.begin_after(ctx, c"fork", Call::WakeNew { task: id.0 }, |object, cpu| object.fork(cpu, &task));
        id
    }

    fn handle_wakeup(&mut self, ctx: &mut Ctx<'_>, task: TaskId, sync: bool) -> bool {
        self.emit_waking(ctx, task);
        self.begin_wakeup(ctx, c"try_to_wake_up", task.0, Call::Wake { task: task.0, sync })
    }

    fn handle_wakeup_interrupt(&mut self, ctx: &mut Ctx<'_>, task: TaskId) -> bool {
        self.emit_waking(ctx, task);
        ctx.charge(KernelOp::IpiReceive);
        self.begin_wakeup(ctx, c"an interrupt that wakes a task", task.0, Call::InterruptWake { task: task.0 })
    }

    fn handle_reschedule(&mut self, ctx: &mut Ctx<'_>) {
        ctx.charge(KernelOp::PickNext);
        self.begin(ctx, c"schedule", Call::Reschedule);
    }

    fn handle_block(&mut self, ctx: &mut Ctx<'_>) {
        ctx.charge(KernelOp::PickNext);
        self.begin(ctx, c"schedule, of a task that blocks", Call::Block { dies: false, for_io: false });
    }

    fn handle_block_io(&mut self, ctx: &mut Ctx<'_>) {
        ctx.charge(KernelOp::PickNext);
        self.begin(ctx, c"schedule, of a task that waits for a device", Call::Block { dies: false, for_io: true });
    }

    fn handle_yield(&mut self, ctx: &mut Ctx<'_>) {
        ctx.charge(KernelOp::PickNext);
        self.begin(ctx, c"yield", Call::Yield);
    }

    fn handle_exit(&mut self, ctx: &mut Ctx<'_>) {
        ctx.charge(KernelOp::Exit);
        ctx.charge(KernelOp::PickNext);
        self.begin(ctx, c"schedule, of a task that ends", Call::Block { dies: true, for_io: false });
    }

    fn handle_exec(&mut self, ctx: &mut Ctx<'_>) {
        self.begin(ctx, c"sched_exec", Call::Exec);
    }

    fn handle_tick(&mut self, ctx: &mut Ctx<'_>) {
        self.begin(ctx, c"tick", Call::Tick);
    }

    fn handle_timer(&mut self, ctx: &mut Ctx<'_>) {
        ctx.charge(KernelOp::IpiReceive);
        self.begin(ctx, c"hrtimer_interrupt", Call::Interrupt(Irq::Timer));
    }

    fn handle_ipi(&mut self, ctx: &mut Ctx<'_>, kind: IpiKind) {
        self.ipi_pending[ctx.cpu.index()][kind as usize] = false;
        let irq = match kind {
            IpiKind::Reschedule => Irq::Reschedule,
            IpiKind::CallFunction => Irq::Call,
        };
        if !(self.polls && self.is_idle_task_running(ctx.cpu)) {
            ctx.charge(KernelOp::IpiReceive);
        }
        self.begin(ctx, c"inter-processor interrupt", Call::Interrupt(irq));
    }

    fn handle_stopper(&mut self, ctx: &mut Ctx<'_>) {
        ctx.charge(KernelOp::PickNext);
        self.begin(ctx, c"stopper", Call::Stopper);
    }

    /// Who waits for others' stoppers because of an affinity has them run inside his own call; then there is nothing left to do here.
    fn handle_awaited_stopper(&mut self, ctx: &mut Ctx<'_>) {
        self.enter(ctx, c"stopper", |object, cpu| object.awaited_stopper(cpu));
        match self.object.is_active(ctx.cpu.0) {
            true => self.cpus.set(ctx.cpu),
            false => self.cpus.clear(ctx.cpu),
        }
    }

    /// Softirqs of the machine's network end by it; nothing goes over to a thread.
    fn max_softirq_jiffies(&self) -> u64 {
        MAX_SOFTIRQ_NS.div_ceil(self.tick_ns)
    }

    fn is_online(&self, cpu: CpuId) -> bool {
        self.object.is_online(cpu.0)
    }

    fn take_cpu_offline(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId) -> Result<(), HotplugError> {
        let is_last = self.cpus.weight() == 1;
        let taken = self.enter(ctx, c"cpu_down", |object, on| object.take_offline(on, cpu.0));
        taken.map_err(|_| if is_last { HotplugError::LastCpu } else { HotplugError::NoBandwidth })
    }

    fn bring_cpu_online(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId) {
        self.enter(ctx, c"cpu_up", |object, on| object.bring_online(on, cpu.0));
    }

    fn wake_up_all_idle_cpus(&mut self, ctx: &mut Ctx<'_>) {
        self.enter(ctx, c"wake_up_all_idle_cpus", |object, cpu| object.wake_idle(cpu));
    }

    fn set_idle_exit_latency(&mut self, cpu: CpuId, latency: Option<Nanos>) {
        self.object.set_exit_latency(cpu.0, latency.map(|latency| latency.0));
    }

    fn handle_steal_time(&mut self, cpu: CpuId, time: Nanos) {
        self.object.steal(cpu.0, time.0);
    }

    fn limit_frequency(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId, limit: FrequencyLimit, part: Capacity) {
        let is_thermal = limit == FrequencyLimit::Thermal;
        self.enter(ctx, c"freq_qos_update_request", |object, on| object.limit_frequency(on, cpu.0, is_thermal, part));
    }

    fn waits_before(&self, one: TaskId, other: TaskId) -> bool {
        self.object.waits_before(one.0, other.0)
    }

    fn inherit_priority(&mut self, ctx: &mut Ctx<'_>, task: TaskId, waiter: Option<TaskId>) {
        self.enter(ctx, c"rt_mutex_setprio", |object, cpu| object.inherit(cpu, task.0, waiter.map(|waiter| waiter.0)));
    }

    fn create_cpuset(&mut self, cpus: &CpuMask) -> CpusetId {
        self.nr_cpusets = self.object.new_cpuset(&self.words(cpus));
        CpusetId(self.nr_cpusets)
    }

    fn set_cpuset_cpus(&mut self, id: CpusetId, cpus: &CpuMask) -> Vec<TaskId> {
        self.object.set_cpuset_cpus(id.0, &self.words(cpus));
        self.update_cpuset(id)
    }

    fn cpusets_follow_hotplug(&mut self) -> Vec<TaskId> {
        (1..=self.nr_cpusets).flat_map(|id| self.update_cpuset(CpusetId(id))).collect()
    }

    /// Nobody has to wait, as with [`Self::set_affinity`].
    fn follow_cpuset(&mut self, ctx: &mut Ctx<'_>, task: TaskId, _waiter: Option<TaskId>) -> bool {
        self.enter(ctx, c"set_cpus_allowed_ptr", |object, cpu| object.follow_cpuset(cpu, task.0));
        false
    }

    fn attach_to_cpuset(&mut self, ctx: &mut Ctx<'_>, task: TaskId, id: CpusetId, waiter: Option<TaskId>) -> bool {
        self.record_cpuset(task, id);
        self.follow_cpuset(ctx, task, waiter)
    }

    fn cpus_at_start(&self, id: CpusetId, wanted: &CpuMask) -> CpuMask {
        let mut words = self.words(wanted);
        self.object.limit_to_cpuset(id.0, &mut words);
        let mut mask = CpuMask::new(self.topology.cpus.len());
        for cpu in self.cpu_ids().filter(|cpu| words[cpu.index() / 64] >> (cpu.index() % 64) & 1 == 1) {
            mask.set(cpu);
        }
        mask
    }

    fn record_cpuset(&mut self, task: TaskId, id: CpusetId) {
        self.object.record_cpuset(task.0, id.0);
    }

    /// The kernel's own on a machine that has booted, or those of a scheduler without a file system of cgroups.
    fn set_first_clamps(&mut self, first: DefaultClamps) {
        self.object.clamp_as_booted(first == DefaultClamps::default());
    }

    fn set_group_uclamp(&mut self, group: GroupId, clamps: Uclamp) {
        let set = self.object.set_group_uclamp(group.0, clamps.min, clamps.max);
        debug_assert!(set.is_ok(), "clamps of workloads are within 1024");
    }

    fn set_reclaims(&mut self, task: TaskId, reclaims: bool) {
        self.reclaims = reclaims.then_some(task);
    }

    fn make_special(&mut self, task: TaskId) {
        self.governor = Some(task);
    }

    fn begin_frequency_transition(&mut self, policy: usize) -> Option<u64> {
        self.object.begin_transition(policy as u32).map(u64::from)
    }

    fn end_frequency_transition(&mut self, ctx: &mut Ctx<'_>, policy: usize, khz: u64) {
        self.call(ctx, c"cpufreq_freq_transition_end", |object, _| object.end_transition(policy as u32, small(khz)));
    }

    fn check_deadline_affinity(&self, task: TaskId, policy: Policy) -> Result<(), PolicyError> {
        let is_free = !matches!(policy, Policy::Deadline { .. }) || self.object.spans_domain(task.0);
        is_free.then_some(()).ok_or(PolicyError::RestrictedAffinity)
    }

    fn handle_idle_enter(&mut self, ctx: &mut Ctx<'_>, tick: IdleTick) -> bool {
        ctx.charge(KernelOp::IdleEnter);
        let tick = match tick {
            IdleTick::Stop => Tick::Stops,
            IdleTick::RetainForTimer => Tick::IsKept,
            IdleTick::Retain => Tick::GoesOn,
        };
        let is_over = self.begin(ctx, c"idle loop", Call::IdleEnter(tick)).is_some();
        is_over && !self.need_resched(ctx.cpu)
    }

    fn handle_idle_exit(&mut self, ctx: &mut Ctx<'_>) {
        ctx.charge(KernelOp::IdleExit);
        self.call(ctx, c"end of the idle loop", |object, cpu| object.idle_exit(cpu));
    }

    fn create_group(&mut self, ctx: &mut Ctx<'_>, parent: GroupId) -> GroupId {
        GroupId(self.enter(ctx, c"sched_create_group", |object, cpu| object.new_group(cpu, parent.0)))
    }

    fn set_group_shares(&mut self, ctx: &mut Ctx<'_>, group: GroupId, shares: u64) -> Result<(), SharesError> {
        let set = self.enter(ctx, c"sched_group_set_shares", |object, cpu| object.set_shares(cpu, group.0, shares));
        set.map_err(|_| shares_error(group))
    }

    fn set_group_bandwidth(
        &mut self,
        ctx: &mut Ctx<'_>,
        group: GroupId,
        bandwidth: Bandwidth,
    ) -> Result<(), BandwidthError> {
        let us = |time: Nanos| (time.0 / 1000) as i64;
        let (quota, period, burst) = bandwidth.parts();
        let set = self.enter(ctx, c"cpu.cfs_quota_us", |object, cpu| {
            object.set_quota(cpu, group.0, quota.map(us), us(period), us(burst))
        });
        set.map_err(|_| BandwidthError::RootGroup)
    }

    fn set_group_idle(&mut self, ctx: &mut Ctx<'_>, group: GroupId, is_idle: bool) -> Result<(), SharesError> {
        let set = self.enter(ctx, c"sched_group_set_idle", |object, cpu| object.set_group_idle(cpu, group.0, is_idle));
        set.map_err(|_| shares_error(group))
    }

    /// Nobody has to wait: the stoppers of CPUs have run when the call returns.
    fn set_affinity(&mut self, ctx: &mut Ctx<'_>, task: TaskId, mask: &CpuMask, _waiter: Option<TaskId>) -> bool {
        let mask = self.words(mask);
        // CPUs that are all offline are refused, which changes nothing.
        let _refused =
            self.enter(ctx, c"set_cpus_allowed_ptr", |object, cpu| object.set_affinity(cpu, task.0, &mask)).is_err();
        false
    }

    fn set_nice(&mut self, ctx: &mut Ctx<'_>, task: TaskId, nice: i8) {
        self.enter(ctx, c"set_user_nice", |object, cpu| object.set_nice(cpu, task.0, i32::from(nice)));
    }

    fn set_policy(&mut self, ctx: &mut Ctx<'_>, task: TaskId, policy: Policy) -> Result<(), PolicyError> {
        let (reclaims, is_governor) = (self.reclaims == Some(task), self.governor == Some(task));
        let new = object::Policy { reclaims, is_governor, ..to_kernel(policy) };
        let set = self.enter(ctx, c"sched_setattr", |object, cpu| object.set_policy(cpu, task.0, new));
        set.map_err(|errno| {
            let known = [PolicyError::BadParameters, PolicyError::NoBandwidth, PolicyError::RestrictedAffinity];
            known.into_iter().find(|error| error.errno() == errno).unwrap_or(PolicyError::BadParameters)
        })
    }

    fn set_uclamp(&mut self, ctx: &mut Ctx<'_>, task: TaskId, clamps: Uclamp) {
        // What the kernel refuses changes nothing, here as there.
        let _refused = self
            .enter(ctx, c"sched_setattr", |object, cpu| object.set_uclamp(cpu, task.0, clamps.min, clamps.max))
            .is_err();
    }

    fn move_to_group(&mut self, ctx: &mut Ctx<'_>, task: TaskId, group: GroupId) {
        self.enter(ctx, c"sched_move_task", |object, cpu| object.move_to(cpu, task.0, group.0));
    }

    fn seed_random(&mut self, cpu: CpuId, words: [u32; 4]) {
        // The generator needs higher bits.
        self.object.seed_random(cpu.0, words.map(|word| if word < 128 { word + 128 } else { word }));
    }
}

impl KernelEngine {
    /// The length of a tick for which it was made.
    pub fn tick(&self) -> Nanos {
        Nanos(self.tick_ns)
    }
}

fn shares_error(group: GroupId) -> SharesError {
    if group == GroupId::ROOT { SharesError::RootGroup } else { SharesError::IdleGroup }
}
