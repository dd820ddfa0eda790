// SPDX-License-Identifier: GPL-2.0-or-later
//! The trait [`Engine`]: the interface between a machine and the scheduler that it runs. The built-in
//! scheduler ([`Sched`]) is one engine; a kernel's own scheduler, compiled into a shared object, is another.
//! A machine is generic over its engine, so the calls are static.
//!
//! The documentation of [`Sched`] specifies each method. Methods in `getters` and `ops` are required. Methods
//! in `optional_getters` and `optional_ops` have a default. Where a default would give a wrong result, it panics,
//! because its [`Capability`] is missing; [`Engine::unsupported`] rejects a run that needs one before the run
//! starts.

mod capability;
mod paths;
mod switches;

pub use capability::Capability;
pub use paths::{EngineLock, EnginePath, YieldedEnginePath};
pub use switches::{FeatureState, TunableState, unknown_switch};

use super::setup::Setup;
use super::snapshot::{
    BandwidthSnapshot, BuiltInScheduler, LlcSnapshot, NohzSnapshot, RqSnapshot, SchedstatSnapshot, TaskSnapshot,
};
use fairlab_sched::classes::deadline::admission::PolicyError;
use fairlab_sched::classes::fair::shares::SharesError;
use fairlab_sched::cpumask::CpuMask;
use fairlab_sched::ctx::{Ctx, Effect, IpiKind};
use fairlab_sched::ids::{CpuId, CpusetId, GroupId, TaskId};
use fairlab_sched::interface::lag::{EntityLag, QueueLag};
use fairlab_sched::paths::entry::Entry;
use fairlab_sched::paths::idle::IdleTick;
use fairlab_sched::resumable::{PhaseLock, YieldMode};
use fairlab_sched::sched::Sched;
use fairlab_sched::state::State;
use fairlab_sched::state::cpufreq::domain::{FrequencyDomain, FrequencyDomainError};
use fairlab_sched::state::cpufreq::limits::FrequencyLimit;
use fairlab_sched::state::group::bandwidth::{Bandwidth, BandwidthError};
use fairlab_sched::state::hotplug::HotplugError;
use fairlab_sched::state::new_task::NewTask;
use fairlab_sched::state::snapshot::{CpuAction, TaskFit, WaiterKey};
use fairlab_sched::state::uclamp::DefaultClamps;
use fairlab_sched::task::Uclamp;
use fairlab_sched::units::{Capacity, Nanos};
use fairlab_workload::message::Message;
use fairlab_workload::tunable_name::TunableName;

/// Generates each method twice: its declaration in the trait, and its implementation for [`Sched`].
macro_rules! engine {
    (
        getters { $($(#[$getter:meta])* fn $l:ident($($la:ident: $lt:ty),*) -> $lr:ty, $lo:ident;)* }
        ops { $($(#[$op:meta])* fn $a:ident($($aa:ident: $at:ty),*) -> $ar:ty, $ao:ident;)* }
        optional_getters { $($(#[$optional_getter:meta])* fn $ml:ident($($mla:ident: $mlt:ty),*) -> $mlr:ty, $mlo:ident = $mld:expr;)* }
        optional_ops { $($(#[$optional_op:meta])* fn $ma:ident($($maa:ident: $mat:ty),*) -> $mar:ty, $mao:ident = $mad:expr;)* }
    ) => {
        /// The scheduler of a machine: it decides which task runs on which CPU.
        #[allow(unused_variables, reason = "defaults of optional methods ignore their arguments")]
        pub trait Engine: 'static {
            /// Whether the engine has a capability. Methods that need a missing one panic.
            fn has(&self, capability: Capability) -> bool;

            /// Returns the reason why the engine cannot run `setup`; `None` if it can.
            fn unsupported(&self, setup: &Setup) -> Option<Message> {
                let missing = Capability::first_missing(setup, |capability| self.has(capability))?;
                Some(Message::new(format!("the engine does not support {}", missing.name())))
            }

            /// Returns the built-in scheduler if the engine is that one, so that its invariants can be
            /// checked.
            fn as_sched(&self) -> Option<&Sched> {
                None
            }

            /// Returns all CPUs in ascending order.
            fn cpu_ids(&self) -> impl Iterator<Item = CpuId> + Clone + use<Self>;

            $($(#[$getter])* fn $l(&self, $($la: $lt),*) -> $lr;)*
            $($(#[$op])* fn $a(&mut self, $($aa: $at),*) -> $ar;)*
            $($(#[$optional_getter])* fn $ml(&self, $($mla: $mlt),*) -> $mlr { $mld })*
            $($(#[$optional_op])* fn $ma(&mut self, $($maa: $mat),*) -> $mar { $mad })*
        }

        impl Engine for Sched {
            #[inline]
            fn has(&self, _capability: Capability) -> bool {
                true
            }

            fn as_sched(&self) -> Option<&Sched> {
                Some(self)
            }

            #[inline]
            fn cpu_ids(&self) -> impl Iterator<Item = CpuId> + Clone + use<> {
                State::cpu_ids(self)
            }

            $(#[inline] fn $l(&self, $($la: $lt),*) -> $lr { $lo::$l(self, $($la),*) })*
            $(#[inline] fn $a(&mut self, $($aa: $at),*) -> $ar { $ao::$a(self, $($aa),*) })*
            $(#[inline] fn $ml(&self, $($mla: $mlt),*) -> $mlr { $mlo::$ml(self, $($mla),*) })*
            $(#[inline] fn $ma(&mut self, $($maa: $mat),*) -> $mar { $mao::$ma(self, $($maa),*) })*
        }
    };
}

/// Implementations for [`Sched`] of the methods whose signature differs from its own.
struct SchedAdapter;

impl SchedAdapter {
    fn handle_phase_end(_: &mut Sched, _cpu: CpuId) {}

    fn handle_trylock(_: &mut Sched, _cpu: CpuId, _is_taken: bool) {}

    fn handle_deadlock(_: &mut Sched, cpu: CpuId, lock: CpuId) {
        panic!("deadlock: {cpu:?} spins for the lock of {lock:?}, whose owner waits for a lock that {cpu:?} holds");
    }

    fn task_cpu(sched: &Sched, task: TaskId) -> CpuId {
        sched.task(task).cpu
    }

    fn task_uclamp(sched: &Sched, task: TaskId) -> Uclamp {
        sched.task(task).uclamp
    }

    #[inline]
    fn yielded_path(sched: &Sched, cpu: CpuId) -> Option<YieldedEnginePath> {
        sched.yielded_path(cpu).map(YieldedEnginePath::from)
    }

    #[inline]
    fn first_lock(_: &Sched, cpu: CpuId, entry: Entry) -> EngineLock {
        Sched::first_lock(cpu, entry).into()
    }

    /// A lock stays held after a phase if the next phase of the path runs under it.
    #[inline]
    fn holds_lock(sched: &Sched, cpu: CpuId, _lock: CpuId) -> bool {
        Sched::yielded_path(sched, cpu).is_some_and(|pause| matches!(pause.next, PhaseLock::Held(_)))
    }

    fn freq_capacity(sched: &Sched, cpu: CpuId) -> Capacity {
        Sched::snapshot(sched, cpu).freq_capacity
    }
}

engine! {
    getters {
        /// Returns the innermost path that has yielded on a CPU, with the lock that its next phase needs.
        fn yielded_path(cpu: CpuId) -> Option<YieldedEnginePath>, SchedAdapter;
        /// Whether a path has yielded on a CPU and is not complete.
        fn is_in_path(cpu: CpuId) -> bool, Sched;
        /// Returns what a CPU does once no path and no interrupt is left.
        fn next_action(cpu: CpuId) -> CpuAction, Sched;
        /// Returns the running task of a CPU (`rq->curr`).
        fn curr(cpu: CpuId) -> TaskId, Sched;
        /// Returns the idle task of a CPU (`rq->idle`).
        fn idle_task(cpu: CpuId) -> TaskId, Sched;
        /// Whether a CPU runs its idle task.
        fn is_idle_task_running(cpu: CpuId) -> bool, Sched;
        /// Whether `TIF_NEED_RESCHED` is set on a CPU.
        fn need_resched(cpu: CpuId) -> bool, Sched;
        /// Whether an inter-processor interrupt has been sent to a CPU and has not arrived.
        fn is_ipi_pending(cpu: CpuId, kind: IpiKind) -> bool, Sched;
        /// Whether the tick of a CPU is stopped (`ts->tick_stopped`).
        fn is_tick_stopped(cpu: CpuId) -> bool, Sched;
        /// Number of tasks created so far. Their numbers start at 0: idle tasks, stoppers, init, then the
        /// others in the order of their forks.
        fn nr_tasks() -> usize, Sched;
        /// Returns the CPU of a task (`task_cpu()`).
        fn task_cpu(task: TaskId) -> CpuId, SchedAdapter;
        /// Returns the uclamp values that a task has requested.
        fn task_uclamp(task: TaskId) -> Uclamp, SchedAdapter;
        /// Current frequency of a CPU, as a fraction of its highest frequency (1024).
        fn freq_capacity(cpu: CpuId) -> Capacity, SchedAdapter;
        /// Returns the features of the kernel with their states.
        fn feature_states() -> Vec<FeatureState>, BuiltInScheduler;
        /// Returns the tunables of the kernel with their values.
        fn tunable_states() -> Vec<TunableState>, BuiltInScheduler;
        /// CPUs that take part in load balancing (`cpu_active_mask`).
        fn active_cpus() -> &CpuMask, Sched;
        /// Returns a snapshot of the nohz idle-balance state.
        fn nohz_snapshot() -> NohzSnapshot, BuiltInScheduler;
        /// Returns a snapshot of a last-level cache domain; `None` unless `cpu` is its first CPU.
        fn llc_snapshot(cpu: CpuId) -> Option<LlcSnapshot>, BuiltInScheduler;
        /// Returns a snapshot of a runqueue.
        fn rq_snapshot(cpu: CpuId) -> RqSnapshot, BuiltInScheduler;
        /// Returns a snapshot of a task.
        fn task_snapshot(task: TaskId) -> TaskSnapshot, BuiltInScheduler;
        /// Returns a snapshot of the schedstat counters of a CPU.
        fn schedstat_snapshot(cpu: CpuId) -> SchedstatSnapshot, BuiltInScheduler;
    }
    ops {
        /// Sets whether paths yield where the kernel takes or drops a lock. They do once kernel code takes
        /// time.
        fn set_yield_mode(pausing: YieldMode) -> (), Sched;
        /// Runs the next phase of the innermost yielded path of the executing CPU.
        fn handle_resume(ctx: &mut Ctx<'_>) -> (), Sched;
        /// Enables or disables a scheduler feature. Fails with a message if the kernel has none of this name.
        fn set_feature(name: &str, on: bool) -> Result<(), Message>, BuiltInScheduler;
        /// Sets a tunable. Fails with a message if the kernel has none of this name, or rejects the value.
        fn set_tunable(name: &TunableName, value: i64) -> Result<(), Message>, BuiltInScheduler;
        /// Boots the scheduler at `now`, and returns the timers that stay armed. Must be called once.
        fn boot(now: Nanos) -> Vec<Effect>, Sched;
        /// Sets the number of jiffies.
        fn handle_jiffy(jiffies: u64) -> (), Sched;
        /// Records a frequency change of a CPU. `capacity` is the new frequency as a fraction of the highest
        /// one (1024).
        fn handle_frequency(cpu: CpuId, capacity: Capacity) -> (), Sched;
        /// Records time that interrupts took from a CPU.
        fn handle_irq_time(cpu: CpuId, time: Nanos) -> (), Sched;
        /// Forks a task and returns its number.
        fn handle_fork(ctx: &mut Ctx<'_>, new: NewTask) -> TaskId, Sched;
        /// Wakes a task from a running task. Returns whether the target was asleep.
        fn handle_wakeup(ctx: &mut Ctx<'_>, task: TaskId, sync: bool) -> bool, Sched;
        /// Wakes a task from an interrupt. Returns whether the target was asleep.
        fn handle_wakeup_interrupt(ctx: &mut Ctx<'_>, task: TaskId) -> bool, Sched;
        /// Calls `schedule()` on the executing CPU, because `TIF_NEED_RESCHED` is set.
        fn handle_reschedule(ctx: &mut Ctx<'_>) -> (), Sched;
        /// Blocks the running task.
        fn handle_block(ctx: &mut Ctx<'_>) -> (), Sched;
        /// Blocks the running task in I/O wait.
        fn handle_block_io(ctx: &mut Ctx<'_>) -> (), Sched;
        /// Executes `sched_yield()` of the running task.
        fn handle_yield(ctx: &mut Ctx<'_>) -> (), Sched;
        /// Ends the running task.
        fn handle_exit(ctx: &mut Ctx<'_>) -> (), Sched;
        /// Handles a tick of the executing CPU.
        fn handle_tick(ctx: &mut Ctx<'_>) -> (), Sched;
        /// Handles the expiry of the scheduler's timer of the executing CPU.
        fn handle_timer(ctx: &mut Ctx<'_>) -> (), Sched;
        /// Handles an inter-processor interrupt.
        fn handle_ipi(ctx: &mut Ctx<'_>, kind: IpiKind) -> (), Sched;
        /// Runs the pending work of the executing CPU's stopper, which is its running task.
        fn handle_stopper(ctx: &mut Ctx<'_>) -> (), Sched;
        /// Yields the executing CPU to its stopper because a task waits for the stopper's work.
        fn handle_awaited_stopper(ctx: &mut Ctx<'_>) -> (), Sched;
        /// Enters the idle loop. Returns whether the CPU then waits for interrupts.
        fn handle_idle_enter(ctx: &mut Ctx<'_>, tick: IdleTick) -> bool, Sched;
        /// Leaves the idle loop.
        fn handle_idle_exit(ctx: &mut Ctx<'_>) -> (), Sched;
        /// Creates a task group.
        fn create_group(ctx: &mut Ctx<'_>, parent: GroupId) -> GroupId, Sched;
        /// Sets the shares of a group (`cpu.weight`).
        fn set_group_shares(ctx: &mut Ctx<'_>, group: GroupId, shares: u64) -> Result<(), SharesError>, State;
        /// Sets the quota, period and burst of a group (`cpu.max`).
        fn set_group_bandwidth(ctx: &mut Ctx<'_>, group: GroupId, bandwidth: Bandwidth) -> Result<(), BandwidthError>, Sched;
        /// Sets whether a group is a SCHED_IDLE group (`cpu.idle`).
        fn set_group_idle(ctx: &mut Ctx<'_>, group: GroupId, is_idle: bool) -> Result<(), SharesError>, State;
        /// Sets the affinity of a task. Returns whether `waiter` must block until the stopper has moved the
        /// task.
        fn set_affinity(ctx: &mut Ctx<'_>, task: TaskId, mask: &CpuMask, waiter: Option<TaskId>) -> bool, Sched;
        /// Sets the nice value of a task.
        fn set_nice(ctx: &mut Ctx<'_>, task: TaskId, nice: i8) -> (), Sched;
        /// Sets the scheduling policy of a task.
        fn set_policy(ctx: &mut Ctx<'_>, task: TaskId, policy: fairlab_sched::task::Policy) -> Result<(), PolicyError>, Sched;
        /// Sets the slice of a fair task; 0 is that of the kernel. Kernels before 6.12 have no slices of tasks and ignore
        /// it. Fails with the kernel's error number if the task has another policy.
        fn set_slice(ctx: &mut Ctx<'_>, task: TaskId, slice: Nanos) -> Result<(), i32>, Sched;
        /// Sets runtime and period of the fair server of a CPU. Kernels before 6.12 have none and ignore it. Fails with
        /// the kernel's error number.
        fn set_fair_server(ctx: &mut Ctx<'_>, cpu: CpuId, runtime: Nanos, period: Nanos) -> Result<(), i32>, Sched;
        /// Sets the uclamp values of a task.
        fn set_uclamp(ctx: &mut Ctx<'_>, task: TaskId, clamps: Uclamp) -> Result<(), i32>, Sched;
        /// Moves a task to another group.
        fn move_to_group(ctx: &mut Ctx<'_>, task: TaskId, group: GroupId) -> (), Sched;
        /// Seeds the random-number generator of a CPU, which newly-idle balancing uses.
        fn seed_random(cpu: CpuId, words: [u32; 4]) -> (), Sched;
    }
    optional_getters {
        /// Returns the virtual times of a task; `None` if the kernel has no lags.
        fn lag_snapshot(task: TaskId) -> Option<EntityLag>, State = None;
        /// Returns the virtual time of the root queue of a CPU; `None` if the kernel has no lags.
        fn queue_lag_snapshot(cpu: CpuId) -> Option<QueueLag>, State = None;
        /// Returns the CPU bandwidth limits of a group and their counters; `None` if the kernel has no quotas of groups.
        fn bandwidth_snapshot(group: GroupId) -> Option<BandwidthSnapshot>, BuiltInScheduler = None;
        /// Whether a CPU is online.
        fn is_online(cpu: CpuId) -> bool, Sched = true;
        /// Returns the lock that a call takes first and holds during its first phase.
        fn first_lock(cpu: CpuId, entry: Entry) -> EngineLock, SchedAdapter = EngineLock::None;
        /// Whether a CPU keeps a runqueue lock after the phase that has just ended.
        fn holds_lock(cpu: CpuId, lock: CpuId) -> bool, SchedAdapter = false;
        /// Whether a softirq is pending on a CPU.
        fn is_softirq_pending(cpu: CpuId) -> bool, Sched = false;
        /// Whether softirqs that are raised on a CPU wait for its ksoftirqd.
        fn defers_softirqs(cpu: CpuId) -> bool, Sched = false;
        /// Number of jiffies after which the remaining softirqs are left to ksoftirqd (`MAX_SOFTIRQ_TIME`).
        fn max_softirq_jiffies() -> u64, Sched = Capability::Ksoftirqd.unsupported_call();
        /// Returns the CPU that is executing a wake-up of a task.
        fn waking_cpu(task: TaskId) -> Option<CpuId>, Sched = None;
        /// Returns the position that a task has among the waiters of a mutex with priority inheritance if it is queued now.
        fn waiter_key(task: TaskId) -> WaiterKey, Sched = Capability::PriorityInheritance.unsupported_call();
        /// Whether a CPU has the right capacity for a task.
        fn task_fit(task: TaskId, cpu: CpuId) -> TaskFit, State = TaskFit::Right;
        /// Returns the CPUs that a new task of a cpuset may use.
        fn initial_cpus(id: CpusetId, wanted: &CpuMask) -> CpuMask, State = Capability::Cpusets.unsupported_call();
        /// Checks that the affinity of a task permits a deadline policy.
        fn check_deadline_affinity(task: TaskId, policy: fairlab_sched::task::Policy) -> Result<(), PolicyError>, State = Ok(());
    }
    optional_ops {
        /// Marks the end of a phase on a CPU. Locks that [`Engine::holds_lock`] does not report are free.
        fn handle_phase_end(cpu: CpuId) -> (), SchedAdapter = ();
        /// Reports whether a CPU's trylock has succeeded.
        fn handle_trylock(cpu: CpuId, is_taken: bool) -> (), SchedAdapter = ();
        /// Panics because a CPU spins for a lock whose owner spins for a lock of this CPU.
        fn handle_deadlock(cpu: CpuId, lock: CpuId) -> (), SchedAdapter = ();
        /// Sets whether softirqs that take too long are left to ksoftirqd.
        fn set_softirq_deferral(go_over: bool) -> (), Sched = Capability::Ksoftirqd.unsupported_call();
        /// Creates a kernel thread that has slept on the executing CPU since the boot.
        fn add_kthread(ctx: &mut Ctx<'_>, new: NewTask) -> TaskId, Sched = Capability::Ksoftirqd.unsupported_call();
        /// Creates the ksoftirqd of the executing CPU.
        fn add_ksoftirqd(ctx: &mut Ctx<'_>, new: NewTask) -> TaskId, Sched = Capability::Ksoftirqd.unsupported_call();
        /// Runs pending softirqs in the executing CPU's ksoftirqd.
        fn handle_softirqs(ctx: &mut Ctx<'_>) -> (), Sched = Capability::Ksoftirqd.unsupported_call();
        /// Executes `sched_exec()` for the running task.
        fn handle_exec(ctx: &mut Ctx<'_>) -> (), Sched = Capability::Exec.unsupported_call();
        /// Records time that the hypervisor took from a CPU.
        fn handle_steal_time(cpu: CpuId, time: Nanos) -> (), Sched = Capability::StealTime.unsupported_call();
        /// Sets the exit latency of the idle state that a CPU is in; `None` once it has left the state.
        fn set_idle_exit_latency(cpu: CpuId, latency: Option<Nanos>) -> (), Sched = ();
        /// Wakes all idle CPUs so that they choose their idle states again.
        fn wake_up_all_idle_cpus(ctx: &mut Ctx<'_>) -> (), Sched = Capability::PmQos.unsupported_call();
        /// Creates a frequency domain: CPUs that change their frequency together.
        fn set_frequency_domain(domain: FrequencyDomain) -> Result<(), FrequencyDomainError>, State = Capability::FrequencyDomains.unsupported_call();
        /// Sets a frequency limit of the domain of a CPU. `part` is a fraction of the highest frequency
        /// (1024).
        fn limit_frequency(ctx: &mut Ctx<'_>, cpu: CpuId, limit: FrequencyLimit, part: Capacity) -> (), State = Capability::FrequencyLimits.unsupported_call();
        /// Begins a frequency transition in a governor's thread. Returns the target frequency in kHz; `None`
        /// if the frequency stays.
        fn begin_frequency_transition(policy: usize) -> Option<u64>, State = Capability::FrequencyDomains.unsupported_call();
        /// Ends a frequency transition in a governor's thread, at `khz`.
        fn end_frequency_transition(ctx: &mut Ctx<'_>, policy: usize, khz: u64) -> (), State = Capability::FrequencyDomains.unsupported_call();
        /// Sets the uclamp values of tasks that request none.
        fn set_default_clamps(first: DefaultClamps) -> (), Sched = ();
        /// Sets whether idle CPUs poll `TIF_NEED_RESCHED`, so that a wake-up sends no interrupt.
        fn set_polling_idle(polls: bool) -> (), Sched = ();
        /// Sets whether averages of thermal pressure are tracked.
        fn set_thermal_tracking(tracks: bool) -> (), Sched = ();
        /// Sets the resolution of timers.
        fn set_timer_resolution(resolution: Nanos) -> (), Sched = ();
        /// Sets the uclamp values of a group (`cpu.uclamp.min` and `cpu.uclamp.max`).
        fn set_group_uclamp(group: GroupId, clamps: Uclamp) -> (), State = Capability::GroupUclamp.unsupported_call();
        /// Creates a cpuset with these CPUs.
        fn create_cpuset(cpus: &CpuMask) -> CpusetId, Sched = Capability::Cpusets.unsupported_call();
        /// Sets the CPUs of a cpuset. Returns the tasks whose affinity must follow.
        fn set_cpuset_cpus(id: CpusetId, cpus: &CpuMask) -> Vec<TaskId>, Sched = Capability::Cpusets.unsupported_call();
        /// Updates cpusets after hotplug. Returns the tasks whose affinity must follow.
        fn hotplug_update_cpusets() -> Vec<TaskId>, Sched = Vec::new();
        /// Applies the changed CPUs of its cpuset to a task. Returns whether `waiter` must block until the
        /// stopper has moved the task.
        fn apply_cpuset(ctx: &mut Ctx<'_>, task: TaskId, waiter: Option<TaskId>) -> bool, Sched = Capability::Cpusets.unsupported_call();
        /// Attaches a task to a cpuset. Returns whether `waiter` must block until the stopper has moved the
        /// task.
        fn attach_to_cpuset(ctx: &mut Ctx<'_>, task: TaskId, id: CpusetId, waiter: Option<TaskId>) -> bool, Sched = Capability::Cpusets.unsupported_call();
        /// Records the cpuset of a new task.
        fn record_cpuset(task: TaskId, id: CpusetId) -> (), Sched = ();
        /// Takes a CPU offline.
        fn take_cpu_offline(ctx: &mut Ctx<'_>, cpu: CpuId) -> Result<(), HotplugError>, Sched = Capability::Hotplug.unsupported_call();
        /// Brings a CPU back online.
        fn bring_cpu_online(ctx: &mut Ctx<'_>, cpu: CpuId) -> (), Sched = Capability::Hotplug.unsupported_call();
        /// Sets whether a deadline task reclaims unused bandwidth (`SCHED_FLAG_RECLAIM`).
        fn set_reclaims(task: TaskId, reclaims: bool) -> (), Sched = ();
        /// Marks a task as a special deadline task of the kernel (`SCHED_FLAG_SUGOV`).
        fn set_dl_special(task: TaskId) -> (), Sched = Capability::GovernorThreads.unsupported_call();
        /// Updates the priority that a lock owner inherits from its most important waiter; `None` ends the
        /// inheritance.
        fn inherit_priority(ctx: &mut Ctx<'_>, task: TaskId, waiter: Option<TaskId>) -> (), Sched = Capability::PriorityInheritance.unsupported_call();
    }
}
