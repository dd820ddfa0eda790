// SPDX-License-Identifier: GPL-2.0-or-later
//! A kernel's scheduler as the engine of a machine: implements [`Engine`] on top of a loaded object.
//!
//! 1. Before each call the object gets the clock. After it, the records of the kernel's side become events
//!    for the observer and effects for the machine, in their order.
//! 2. Interrupts in flight are recorded here, as in the built-in scheduler: a second one of the same kind is
//!    not sent.
//! 3. Tasks have the numbers that the built-in scheduler gives them: idle tasks, stoppers, the first task,
//!    then forked tasks in order.
//! 4. Operations of kernel code are counted: by functions of the tree ([`crate::operations`]), and here for
//!    those that pass the interface.
//! 5. Where kernel code takes time, calls yield in its middle ([`paths`]): where locks are taken and
//!    released, and where scans check CPUs.

mod paths;
mod unsupported;

use crate::error::KernelError;
use crate::object::paths::{EngineCall, EngineTick};
use crate::object::{self, EngineIrq, EngineRecord, Object};
use crate::operations;
use fairlab_machine::engine::{Capability, Engine, YieldedEnginePath};
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
use fairlab_sched::resumable::YieldMode;
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
use paths::YieldedCalls;
use std::ffi::CStr;
use std::path::Path;

/// `TASK_DEAD` of the kernel.
const TASK_DEAD: u32 = 0x80;

/// `MAX_SOFTIRQ_TIME` of the kernel, before its conversion to jiffies.
const MAX_SOFTIRQ_NS: u64 = 2_000_000;

/// Tunable for the cost that the search before 5.19 measures for each scanned CPU, in ns.
const SCAN_COST: &str = "scan_cost";

/// A kernel's scheduler on a machine.
pub struct KernelEngine {
    object: Object,
    topology: MachineTopology,
    tick_ns: u64,
    nr_tasks: usize,
    /// Interrupts in flight of each CPU, by kind.
    ipi_pending: Vec<[bool; 2]>,
    nr_cpusets: u32,
    /// Deadline task that reclaims unused bandwidth, until it gets its policy.
    reclaims: Option<TaskId>,
    /// Thread of a governor, until it gets its policy.
    governor: Option<TaskId>,
    /// Function that measures the cost of a search.
    search: Option<u64>,
    /// Current tunables, under fairlab's names.
    tunables: Tunables,
    cpus: CpuMask,
    /// Effects of the boot, which the machine gets with the next call.
    pending_effects: Vec<Effect>,
    paths: YieldedCalls,
    /// Whether idle CPUs poll. Waking a polling CPU costs no interrupt on either side, but the interrupt
    /// still arrives.
    polls: bool,
}

impl KernelEngine {
    /// Loads an object for a machine. A crash, or a call that takes `loop_seconds` of CPU time, ends the
    /// process with a report on the file descriptor `report`.
    ///
    /// # Errors
    /// If the object cannot be loaded.
    pub fn load(path: &Path, config: SchedConfig, report: i32, loop_seconds: u32) -> Result<Self, KernelError> {
        let object = Object::load(path)?;
        let counted = operations::counted_ops(path)?;
        object.set_counted_ops(&counted);
        let search = counted
            .iter()
            .find(|counted| KernelOp::ALL[counted.operation] == KernelOp::ScanCpu)
            .and_then(|counted| counted.within);
        for op in [KernelOp::ScanCpu, KernelOp::ScanCore] {
            object.count_as_scan(op as usize);
        }
        let places = operations::addresses_by_name(path)?;
        for (mark, place) in
            paths::MARKS.iter().enumerate().filter_map(|(mark, (name, _))| Some((mark, places.get(*name)?)))
        {
            object.mark(*place, mark);
        }
        object.install_guards(report, loop_seconds);
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
            pending_effects: Vec::new(),
            paths: YieldedCalls::new(nr_cpus),
            polls: false,
        })
    }

    /// Returns the object, for reading its state.
    pub fn object(&self) -> &Object {
        &self.object
    }

    /// Calls the kernel's side as the CPU of the context with a call that does not yield. Calls that have
    /// yielded end before it.
    fn enter<R>(&mut self, ctx: &mut Ctx<'_>, what: &'static CStr, act: impl FnOnce(&Object, u32) -> R) -> R {
        self.end_paths(ctx);
        self.call(ctx, what, act)
    }

    /// Calls the kernel's side as the CPU of the context, and applies its records.
    fn call<R>(&mut self, ctx: &mut Ctx<'_>, what: &'static CStr, act: impl FnOnce(&Object, u32) -> R) -> R {
        let cost = ctx.self_timed.map_or(Nanos::ZERO, |(_, cost)| cost);
        self.object.set_clock(ctx.now.0, ctx.clock_offset.0, cost.0);
        self.object.set_current_call(what, ctx.cpu.0, ctx.now.0);
        let result = act(&self.object, ctx.cpu.0);
        self.object.end_call();
        ctx.clock_offset = Nanos(self.object.clock_offset());
        ctx.effects.append(&mut self.pending_effects);
        let (pending, polls) = (&mut self.ipi_pending, self.polls);
        let is_polling = |cpu: u32| polls && self.object.running(cpu) == cpu;
        self.object.drain_records(|record| apply_record(ctx, pending, is_polling, record));
        // A function that is counted too often is corrected by another one within the same call.
        self.object
            .counts(|operation, times| ctx.op_counts.count(KernelOp::ALL[operation], times.max(0).unsigned_abs()));
        result
    }

    /// Emits the event that a sleeping task is about to be woken.
    fn emit_waking(&self, ctx: &mut Ctx<'_>, task: TaskId) {
        if !self.object.is_queued(task.0) {
            ctx.report(Event::Waking { task, cpu: self.task_cpu(task), on: ctx.cpu });
        }
    }

    /// Updates a cpuset, and returns the tasks that have to follow it.
    fn update_cpuset(&self, id: CpusetId) -> Vec<TaskId> {
        if !self.object.update_cpuset(id.0) {
            return Vec::new();
        }
        // The tasks before are idle tasks, stoppers and the first task.
        let tasks = (2 * self.topology.cpus.len() + 1..self.nr_tasks).map(TaskId::from_index);
        tasks.filter(|task| self.object.cpuset_of(task.0) == id.0).collect()
    }

    /// Returns a CPU mask as words with a bit for each CPU.
    fn mask_words(&self, mask: &CpuMask) -> Vec<u64> {
        let mut words = vec![0; self.topology.cpus.len().div_ceil(64)];
        for cpu in mask.iter() {
            words[cpu.index() / 64] |= 1 << (cpu.index() % 64);
        }
        words
    }
}

/// Turns one record of the kernel's side into events and effects.
fn apply_record(ctx: &mut Ctx<'_>, pending: &mut [[bool; 2]], is_polling: impl Fn(u32) -> bool, record: EngineRecord) {
    match record {
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

/// Converts a frequency or power value, for which the kernel has 32 bits.
fn to_u32(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// Converts an expiry. The kernel's value for "never" is the largest signed number.
fn timer_at(at: u64) -> Nanos {
    if at >= i64::MAX as u64 { Nanos::NEVER } else { Nanos(at) }
}

fn to_kernel(policy: Policy) -> object::EnginePolicy {
    let (number, priority, deadline) = match policy {
        Policy::Normal => (0, 0, [0; 3]),
        Policy::Fifo(priority) => (1, priority, [0; 3]),
        Policy::RoundRobin(priority) => (2, priority, [0; 3]),
        Policy::Batch => (3, 0, [0; 3]),
        Policy::Idle => (5, 0, [0; 3]),
        Policy::Deadline { runtime, deadline, period } => (6, 0, [runtime, deadline, period].map(|time| time.0 as i64)),
    };
    object::EnginePolicy { number, priority: i32::from(priority), deadline, ..object::EnginePolicy::default() }
}

impl Engine for KernelEngine {
    fn has(&self, capability: Capability) -> bool {
        unsupported::has(capability)
    }

    fn unsupported(&self, setup: &Setup) -> Option<String> {
        unsupported::unsupported(&self.object, setup)
    }

    #[inline]
    fn yielded_path(&self, cpu: CpuId) -> Option<YieldedEnginePath> {
        self.paths.yielded_path(cpu)
    }

    #[inline]
    fn is_in_path(&self, cpu: CpuId) -> bool {
        self.paths.yielded_path(cpu).is_some()
    }

    /// The kernel's side reports itself the lock that a call waits for.
    fn holds_lock(&self, cpu: CpuId, lock: CpuId) -> bool {
        self.object.holds_lock(cpu.0, lock.0)
    }

    fn set_yield_mode(&mut self, pausing: YieldMode) {
        if let YieldMode::On { cpus_per_phase: looks_per_phase } = pausing {
            self.allow_yield(looks_per_phase);
        }
    }

    fn handle_resume(&mut self, ctx: &mut Ctx<'_>) {
        self.resume(ctx);
    }

    fn handle_phase_end(&mut self, cpu: CpuId) {
        self.object.end_phase(cpu.0);
    }

    fn handle_trylock(&mut self, cpu: CpuId, is_taken: bool) {
        self.object.set_trylock_result(cpu.0, is_taken);
    }

    fn handle_deadlock(&mut self, cpu: CpuId, _: CpuId) {
        self.object.deadlock(cpu.0);
    }

    fn cpu_ids(&self) -> impl Iterator<Item = CpuId> + Clone + use<> {
        (0..self.topology.cpus.len()).map(CpuId::from_index)
    }

    #[inline]
    fn next_action(&self, cpu: CpuId) -> CpuAction {
        match self.object.next_action(cpu.0) {
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
        self.object.next_action(cpu.0) == object::EngineDuty::Reschedule
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

    /// Sets the tunables that have changed. Tunables that the tree does not have were rejected before.
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

    /// Invalid domains were rejected before.
    fn set_frequency_domain(&mut self, domain: FrequencyDomain) -> Result<(), FrequencyDomainError> {
        let small = |numbers: &[u64]| -> Vec<u32> { numbers.iter().map(|&number| to_u32(number)).collect() };
        let (fixed_khz, schedutil) = match domain.governor() {
            Governor::Fixed { khz } => (Some(to_u32(khz)), None),
            Governor::Schedutil(config) => (None, Some(config)),
        };
        self.object.frequency_domain(&object::EngineFrequencyDomain {
            cpus: domain.cpus().map(|cpu| cpu.0).collect(),
            khz: small(domain.khz()),
            uw: small(domain.power_uw()),
            fixed_khz,
            rate_limit_us: schedutil.map_or(0, |config| to_u32(config.rate_limit.0 / 1000)),
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
        let cpus: Vec<object::EngineCpu> = places
            .map(|(place, &capacity)| object::EngineCpu {
                place: [place.core, place.cluster, place.llc, place.package, place.node],
                capacity: capacity as u32,
            })
            .collect();
        self.object.set_clock(now.0, 0, 0);
        self.object.set_current_call(c"boot", 0, now.0);
        self.object.boot(&cpus, &self.topology.distances, &levels);
        self.nr_tasks = 2 * cpus.len() + 1;
        // Operations of the boot belong to no CPU.
        self.object.counts(|_, _| {});
        // The boot served its interrupts itself; timers stay armed.
        let left_over = &mut self.pending_effects;
        self.object.drain_records(|record| {
            if let EngineRecord::Timer { cpu, at } = record {
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
        let mask = self.mask_words(&new.cpus_allowed);
        let task = object::EngineTaskSpec {
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
        self.begin_after(ctx, c"fork", EngineCall::WakeNew { task: id.0 }, |object, cpu| object.fork(cpu, &task));
        id
    }

    fn handle_wakeup(&mut self, ctx: &mut Ctx<'_>, task: TaskId, sync: bool) -> bool {
        self.emit_waking(ctx, task);
        self.begin_wakeup(ctx, c"try_to_wake_up", task.0, EngineCall::Wake { task: task.0, sync })
    }

    fn handle_wakeup_interrupt(&mut self, ctx: &mut Ctx<'_>, task: TaskId) -> bool {
        self.emit_waking(ctx, task);
        ctx.charge(KernelOp::IpiReceive);
        self.begin_wakeup(ctx, c"an interrupt that wakes a task", task.0, EngineCall::InterruptWake { task: task.0 })
    }

    fn handle_reschedule(&mut self, ctx: &mut Ctx<'_>) {
        ctx.charge(KernelOp::PickNext);
        self.begin(ctx, c"schedule", EngineCall::Reschedule);
    }

    fn handle_block(&mut self, ctx: &mut Ctx<'_>) {
        ctx.charge(KernelOp::PickNext);
        self.begin(ctx, c"schedule, of a task that blocks", EngineCall::Block { dies: false, for_io: false });
    }

    fn handle_block_io(&mut self, ctx: &mut Ctx<'_>) {
        ctx.charge(KernelOp::PickNext);
        self.begin(
            ctx,
            c"schedule, of a task that waits for a device",
            EngineCall::Block { dies: false, for_io: true },
        );
    }

    fn handle_yield(&mut self, ctx: &mut Ctx<'_>) {
        ctx.charge(KernelOp::PickNext);
        self.begin(ctx, c"yield", EngineCall::Yield);
    }

    fn handle_exit(&mut self, ctx: &mut Ctx<'_>) {
        ctx.charge(KernelOp::Exit);
        ctx.charge(KernelOp::PickNext);
        self.begin(ctx, c"schedule, of a task that ends", EngineCall::Block { dies: true, for_io: false });
    }

    fn handle_exec(&mut self, ctx: &mut Ctx<'_>) {
        self.begin(ctx, c"sched_exec", EngineCall::Exec);
    }

    fn handle_tick(&mut self, ctx: &mut Ctx<'_>) {
        self.begin(ctx, c"tick", EngineCall::Tick);
    }

    fn handle_timer(&mut self, ctx: &mut Ctx<'_>) {
        ctx.charge(KernelOp::IpiReceive);
        self.begin(ctx, c"hrtimer_interrupt", EngineCall::Interrupt(EngineIrq::Timer));
    }

    fn handle_ipi(&mut self, ctx: &mut Ctx<'_>, kind: IpiKind) {
        self.ipi_pending[ctx.cpu.index()][kind as usize] = false;
        let irq = match kind {
            IpiKind::Reschedule => EngineIrq::Reschedule,
            IpiKind::CallFunction => EngineIrq::Call,
        };
        if !(self.polls && self.is_idle_task_running(ctx.cpu)) {
            ctx.charge(KernelOp::IpiReceive);
        }
        self.begin(ctx, c"inter-processor interrupt", EngineCall::Interrupt(irq));
    }

    fn handle_stopper(&mut self, ctx: &mut Ctx<'_>) {
        ctx.charge(KernelOp::PickNext);
        self.begin(ctx, c"stopper", EngineCall::Stopper);
    }

    /// A task that waits for stoppers of other CPUs because of an affinity runs them inside its own call, so
    /// only CPU hotplug remains.
    fn handle_awaited_stopper(&mut self, ctx: &mut Ctx<'_>) {
        self.enter(ctx, c"stopper", |object, cpu| object.awaited_stopper(cpu));
        match self.object.is_active(ctx.cpu.0) {
            true => self.cpus.set(ctx.cpu),
            false => self.cpus.clear(ctx.cpu),
        }
    }

    /// Softirqs of the machine's network end after this time; none of them is deferred to a thread.
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
        self.enter(ctx, c"rt_mutex_setprio", |object, cpu| {
            object.inherit_priority(cpu, task.0, waiter.map(|waiter| waiter.0));
        });
    }

    fn create_cpuset(&mut self, cpus: &CpuMask) -> CpusetId {
        self.nr_cpusets = self.object.new_cpuset(&self.mask_words(cpus));
        CpusetId(self.nr_cpusets)
    }

    fn set_cpuset_cpus(&mut self, id: CpusetId, cpus: &CpuMask) -> Vec<TaskId> {
        self.object.set_cpuset_cpus(id.0, &self.mask_words(cpus));
        self.update_cpuset(id)
    }

    fn hotplug_update_cpusets(&mut self) -> Vec<TaskId> {
        (1..=self.nr_cpusets).flat_map(|id| self.update_cpuset(CpusetId(id))).collect()
    }

    /// Never makes the caller wait, as with [`Self::set_affinity`].
    fn apply_cpuset(&mut self, ctx: &mut Ctx<'_>, task: TaskId, _waiter: Option<TaskId>) -> bool {
        self.enter(ctx, c"set_cpus_allowed_ptr", |object, cpu| object.apply_cpuset(cpu, task.0));
        false
    }

    fn attach_to_cpuset(&mut self, ctx: &mut Ctx<'_>, task: TaskId, id: CpusetId, waiter: Option<TaskId>) -> bool {
        self.record_cpuset(task, id);
        self.apply_cpuset(ctx, task, waiter)
    }

    fn initial_cpus(&self, id: CpusetId, wanted: &CpuMask) -> CpuMask {
        let mut words = self.mask_words(wanted);
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

    /// Sets the default clamps: those of a booted kernel, or those of a scheduler without a cgroup file
    /// system.
    fn set_default_clamps(&mut self, first: DefaultClamps) {
        self.object.set_boot_clamps(first == DefaultClamps::default());
    }

    fn set_group_uclamp(&mut self, group: GroupId, clamps: Uclamp) {
        let set = self.object.set_group_uclamp(group.0, clamps.min, clamps.max);
        debug_assert!(set.is_ok(), "clamps of workloads are within 1024");
    }

    fn set_reclaims(&mut self, task: TaskId, reclaims: bool) {
        self.reclaims = reclaims.then_some(task);
    }

    fn set_dl_special(&mut self, task: TaskId) {
        self.governor = Some(task);
    }

    fn begin_frequency_transition(&mut self, policy: usize) -> Option<u64> {
        self.object.begin_transition(policy as u32).map(u64::from)
    }

    fn end_frequency_transition(&mut self, ctx: &mut Ctx<'_>, policy: usize, khz: u64) {
        self.call(ctx, c"cpufreq_freq_transition_end", |object, _| object.end_transition(policy as u32, to_u32(khz)));
    }

    fn check_deadline_affinity(&self, task: TaskId, policy: Policy) -> Result<(), PolicyError> {
        let is_free = !matches!(policy, Policy::Deadline { .. }) || self.object.spans_domain(task.0);
        is_free.then_some(()).ok_or(PolicyError::RestrictedAffinity)
    }

    fn handle_idle_enter(&mut self, ctx: &mut Ctx<'_>, tick: IdleTick) -> bool {
        ctx.charge(KernelOp::IdleEnter);
        let tick = match tick {
            IdleTick::Stop => EngineTick::Stop,
            IdleTick::RetainForTimer => EngineTick::RetainForTimer,
            IdleTick::Retain => EngineTick::Retain,
        };
        let is_over = self.begin(ctx, c"idle loop", EngineCall::IdleEnter(tick)).is_some();
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

    /// Never makes the caller wait: the stoppers of CPUs have run when the call returns.
    fn set_affinity(&mut self, ctx: &mut Ctx<'_>, task: TaskId, mask: &CpuMask, _waiter: Option<TaskId>) -> bool {
        let mask = self.mask_words(mask);
        // A mask without an online CPU is rejected, which changes nothing.
        let _refused =
            self.enter(ctx, c"set_cpus_allowed_ptr", |object, cpu| object.set_affinity(cpu, task.0, &mask)).is_err();
        false
    }

    fn set_nice(&mut self, ctx: &mut Ctx<'_>, task: TaskId, nice: i8) {
        self.enter(ctx, c"set_user_nice", |object, cpu| object.set_nice(cpu, task.0, i32::from(nice)));
    }

    fn set_policy(&mut self, ctx: &mut Ctx<'_>, task: TaskId, policy: Policy) -> Result<(), PolicyError> {
        let (reclaims, is_governor) = (self.reclaims == Some(task), self.governor == Some(task));
        let new = object::EnginePolicy { reclaims, is_governor, ..to_kernel(policy) };
        let set = self.enter(ctx, c"sched_setattr", |object, cpu| object.set_policy(cpu, task.0, new));
        set.map_err(|errno| {
            let known = [PolicyError::BadParameters, PolicyError::NoBandwidth, PolicyError::RestrictedAffinity];
            known.into_iter().find(|error| error.errno() == errno).unwrap_or(PolicyError::BadParameters)
        })
    }

    fn set_uclamp(&mut self, ctx: &mut Ctx<'_>, task: TaskId, clamps: Uclamp) {
        // Clamps that the kernel rejects change nothing, as in the built-in scheduler.
        let _refused = self
            .enter(ctx, c"sched_setattr", |object, cpu| object.set_uclamp(cpu, task.0, clamps.min, clamps.max))
            .is_err();
    }

    fn move_to_group(&mut self, ctx: &mut Ctx<'_>, task: TaskId, group: GroupId) {
        self.enter(ctx, c"sched_move_task", |object, cpu| object.move_to(cpu, task.0, group.0));
    }

    fn seed_random(&mut self, cpu: CpuId, words: [u32; 4]) {
        // The generator needs seeds with higher bits.
        self.object.seed_random(cpu.0, words.map(|word| if word < 128 { word + 128 } else { word }));
    }
}

impl KernelEngine {
    /// Returns the length of a tick for which the engine was loaded.
    pub fn tick(&self) -> Nanos {
        Nanos(self.tick_ns)
    }
}

fn shares_error(group: GroupId) -> SharesError {
    if group == GroupId::ROOT { SharesError::RootGroup } else { SharesError::IdleGroup }
}
