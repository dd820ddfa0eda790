// SPDX-License-Identifier: GPL-2.0-or-later
//! The seam between a machine and what decides on it, as a trait: the scheduler of this project is one engine, and others can stand in
//! its place. Machines are made for one engine by the compiler, so that calls cost nothing.
//!
//! [`Sched`]'s documentation says what each method does; here is what an engine has to have (`required`), and what it may lack (`optional`:
//! paths that pause, hotplug, cpusets, frequencies, ...). A run that needs what its engine lacks is refused before it starts
//! ([`Engine::unsupported`]), so that the answers given here for such a method are never wrong ones.

use crate::sim::Setup;
use crate::snapshot::{BuiltInScheduler, LlcSnapshot, NohzSnapshot, RqSnapshot, SchedstatSnapshot, TaskSnapshot};
use fairlab_sched::classes::deadline::admission::PolicyError;
use fairlab_sched::classes::fair::shares::SharesError;
use fairlab_sched::cpumask::CpuMask;
use fairlab_sched::ctx::{Ctx, IpiKind};
use fairlab_sched::features::Feature;
use fairlab_sched::ids::{CpuId, CpusetId, GroupId, TaskId};
use fairlab_sched::paths::entry::Entry;
use fairlab_sched::paths::idle::IdleTick;
use fairlab_sched::resumable::{PhaseLock, YieldMode, YieldedPath};
use fairlab_sched::sched::Sched;
use fairlab_sched::state::State;
use fairlab_sched::state::cpufreq::domain::{FrequencyDomain, FrequencyDomainError};
use fairlab_sched::state::cpufreq::limits::FrequencyLimit;
use fairlab_sched::state::group::bandwidth::{Bandwidth, BandwidthError};
use fairlab_sched::state::hotplug::HotplugError;
use fairlab_sched::state::new_task::NewTask;
use fairlab_sched::state::snapshot::{CpuAction, TaskFit};
use fairlab_sched::state::uclamp::DefaultClamps;
use fairlab_sched::task::Uclamp;
use fairlab_sched::tunables::Tunables;
use fairlab_sched::units::{Capacity, Nanos};

/// What an engine was asked for that it said it lacks: a bug of whoever made the machine.
fn unsupported_call(what: &str) -> ! {
    panic!("the engine has no {what}, and the run should have been refused")
}

/// Writes each method of the seam once: into the trait, and into what [`Sched`] has for it.
macro_rules! engine {
    (
        getters { $($(#[$getter:meta])* fn $l:ident($($la:ident: $lt:ty),*) -> $lr:ty, $lo:ident;)* }
        ops { $($(#[$op:meta])* fn $a:ident($($aa:ident: $at:ty),*) -> $ar:ty, $ao:ident;)* }
        optional_getters { $($(#[$optional_getter:meta])* fn $ml:ident($($mla:ident: $mlt:ty),*) -> $mlr:ty, $mlo:ident = $mld:expr;)* }
        optional_ops { $($(#[$optional_op:meta])* fn $ma:ident($($maa:ident: $mat:ty),*) -> $mar:ty, $mao:ident = $mad:expr;)* }
    ) => {
        /// What decides on a machine who runs where.
        #[allow(unused_variables, reason = "who lacks something does not look at what was asked")]
        pub trait Engine: 'static {
            /// Something that a run asks for and the engine lacks: the refusal in words. `None` if it can be run.
            fn unsupported(&self, setup: &Setup) -> Option<String> {
                None
            }

            /// Whether softirqs go over to threads once kernel code takes time.
            fn may_defer_softirqs(&self) -> bool {
                false
            }

            /// The least that is wrong with the engine's state, if it can be looked at.
            fn as_sched(&self) -> Option<&Sched> {
                None
            }

            /// All CPUs, in order.
            fn cpu_ids(&self) -> impl Iterator<Item = CpuId> + Clone + use<Self>;

            $($(#[$getter])* fn $l(&self, $($la: $lt),*) -> $lr;)*
            $($(#[$op])* fn $a(&mut self, $($aa: $at),*) -> $ar;)*
            $($(#[$optional_getter])* fn $ml(&self, $($mla: $mlt),*) -> $mlr { $mld })*
            $($(#[$optional_op])* fn $ma(&mut self, $($maa: $mat),*) -> $mar { $mad })*
        }

        impl Engine for Sched {
            fn may_defer_softirqs(&self) -> bool {
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

/// What the seam asks of [`Sched`] in other words than it has itself.
struct Adapter;

impl Adapter {
    fn handle_phase_end(_: &mut Sched, _cpu: CpuId) {}

    fn handle_try(_: &mut Sched, _cpu: CpuId, _is_taken: bool) {}

    fn handle_deadlock(_: &mut Sched, cpu: CpuId, lock: CpuId) {
        panic!("{cpu:?} waits for the lock of {lock:?}, whose holder waits for it");
    }

    fn set_feature(sched: &mut Sched, feature: Feature, on: bool) {
        sched.features_mut().set(feature, on);
    }

    fn set_tunables(sched: &mut Sched, wanted: Tunables) {
        *sched.tunables_mut() = wanted;
    }

    fn task_cpu(sched: &Sched, task: TaskId) -> CpuId {
        sched.task(task).cpu
    }

    fn task_uclamp(sched: &Sched, task: TaskId) -> Uclamp {
        sched.task(task).uclamp
    }

    #[inline]
    fn first_lock(_: &Sched, cpu: CpuId, entry: Entry) -> PhaseLock {
        Sched::first_lock(cpu, entry)
    }

    /// One phase goes on under the lock of the one before.
    #[inline]
    fn holds_lock(sched: &Sched, cpu: CpuId, _lock: CpuId) -> bool {
        sched.paused(cpu).is_some_and(|pause| matches!(pause.next, PhaseLock::Held(_)))
    }

    fn freq_capacity(sched: &Sched, cpu: CpuId) -> Capacity {
        sched.snapshot(cpu).freq_capacity
    }
}

engine! {
    getters {
        /// What a CPU is in the middle of.
        fn paused(cpu: CpuId) -> Option<YieldedPath>, Sched;
        /// Whether a path has paused there.
        fn is_in_path(cpu: CpuId) -> bool, Sched;
        /// What a CPU has to do when nothing else comes.
        fn duty(cpu: CpuId) -> CpuAction, State;
        /// The task that runs on a CPU.
        fn curr(cpu: CpuId) -> TaskId, State;
        /// The idle task of a CPU.
        fn idle_task(cpu: CpuId) -> TaskId, State;
        /// Whether a CPU runs its idle task.
        fn is_idle_task_running(cpu: CpuId) -> bool, State;
        /// Whether a CPU has to reschedule.
        fn need_resched(cpu: CpuId) -> bool, State;
        /// Whether an interrupt is on its way.
        fn is_ipi_pending(cpu: CpuId, kind: IpiKind) -> bool, State;
        /// Whether the tick of a CPU is stopped.
        fn is_tick_stopped(cpu: CpuId) -> bool, Sched;
        /// How many tasks there have been. They are numbered from 0: idle tasks, stoppers, init, and then as they are forked.
        fn nr_tasks() -> usize, State;
        /// The CPU to which a task belongs.
        fn task_cpu(task: TaskId) -> CpuId, Adapter;
        /// The clamps of a task.
        fn task_uclamp(task: TaskId) -> Uclamp, Adapter;
        /// The frequency of a CPU, of 1024.
        fn freq_capacity(cpu: CpuId) -> Capacity, Adapter;
        /// How it is tuned.
        fn tunables() -> &Tunables, State;
        /// CPUs that take part in balancing.
        fn active_cpus() -> &CpuMask, State;
        /// Idle balancing, to be shown.
        fn nohz_snapshot() -> NohzSnapshot, BuiltInScheduler;
        /// The last-level cache of which a CPU is the first.
        fn llc_snapshot(cpu: CpuId) -> Option<LlcSnapshot>, BuiltInScheduler;
        /// A runqueue.
        fn rq_snapshot(cpu: CpuId) -> RqSnapshot, BuiltInScheduler;
        /// A task.
        fn task_snapshot(task: TaskId) -> TaskSnapshot, BuiltInScheduler;
        /// Counters of a CPU.
        fn schedstat_snapshot(cpu: CpuId) -> SchedstatSnapshot, BuiltInScheduler;
    }
    ops {
        /// Whether paths pause where a kernel drops or takes a lock: they do once kernel code takes time.
        fn set_pausing(pausing: YieldMode) -> (), Sched;
        /// What has paused goes on.
        fn handle_resume(ctx: &mut Ctx<'_>) -> (), Sched;
        /// What was set by name, in one.
        fn set_tunables(wanted: Tunables) -> (), Adapter;
        /// How it is tuned, to be changed before the boot or while it runs.
        fn tunables_mut() -> &mut Tunables, State;
        /// Switches a feature.
        fn set_feature(feature: Feature, on: bool) -> (), Adapter;
        /// Boots: once, and from this time on.
        fn boot(now: Nanos) -> (), Sched;
        /// Jiffies have become this number.
        fn handle_jiffy(jiffies: u64) -> (), State;
        /// A CPU has another frequency, of 1024.
        fn handle_frequency(cpu: CpuId, capacity: Capacity) -> (), State;
        /// Interrupts have taken time of a CPU.
        fn handle_irq_time(cpu: CpuId, time: Nanos) -> (), State;
        /// A new task.
        fn handle_fork(ctx: &mut Ctx<'_>, new: NewTask) -> TaskId, Sched;
        /// A task wakes another: whether that slept.
        fn handle_wakeup(ctx: &mut Ctx<'_>, task: TaskId, sync: bool) -> bool, Sched;
        /// An interrupt wakes a task: whether it slept.
        fn handle_wakeup_interrupt(ctx: &mut Ctx<'_>, task: TaskId) -> bool, Sched;
        /// A CPU reschedules.
        fn handle_reschedule(ctx: &mut Ctx<'_>) -> (), Sched;
        /// The running task blocks.
        fn handle_block(ctx: &mut Ctx<'_>) -> (), Sched;
        /// The running task waits for a device.
        fn handle_block_io(ctx: &mut Ctx<'_>) -> (), Sched;
        /// The running task gives way.
        fn handle_yield(ctx: &mut Ctx<'_>) -> (), Sched;
        /// The running task ends.
        fn handle_exit(ctx: &mut Ctx<'_>) -> (), Sched;
        /// A tick.
        fn handle_tick(ctx: &mut Ctx<'_>) -> (), Sched;
        /// The timer of a CPU has expired.
        fn handle_timer(ctx: &mut Ctx<'_>) -> (), Sched;
        /// An inter-processor interrupt has come.
        fn handle_ipi(ctx: &mut Ctx<'_>, kind: IpiKind) -> (), Sched;
        /// The stopper that runs does its work.
        fn handle_stopper(ctx: &mut Ctx<'_>) -> (), Sched;
        /// Somebody waits for the stopper of a CPU.
        fn handle_awaited_stopper(ctx: &mut Ctx<'_>) -> (), Sched;
        /// The idle task enters its loop: whether the CPU idles.
        fn handle_idle_enter(ctx: &mut Ctx<'_>, tick: IdleTick) -> bool, Sched;
        /// The idle task leaves its loop.
        fn handle_idle_exit(ctx: &mut Ctx<'_>) -> (), Sched;
        /// A task group.
        fn create_group(ctx: &mut Ctx<'_>, parent: GroupId) -> GroupId, Sched;
        /// Its shares.
        fn set_group_shares(ctx: &mut Ctx<'_>, group: GroupId, shares: u64) -> Result<(), SharesError>, State;
        /// Its quota.
        fn set_group_bandwidth(ctx: &mut Ctx<'_>, group: GroupId, bandwidth: Bandwidth) -> Result<(), BandwidthError>, Sched;
        /// Whether all of it weighs next to nothing.
        fn set_group_idle(ctx: &mut Ctx<'_>, group: GroupId, is_idle: bool) -> Result<(), SharesError>, State;
        /// The CPUs that a task may use: whether the caller waits for its stopper.
        fn set_affinity(ctx: &mut Ctx<'_>, task: TaskId, mask: &CpuMask, waiter: Option<TaskId>) -> bool, Sched;
        /// The nice value of a task.
        fn set_nice(ctx: &mut Ctx<'_>, task: TaskId, nice: i8) -> (), Sched;
        /// The policy of a task.
        fn set_policy(ctx: &mut Ctx<'_>, task: TaskId, policy: fairlab_sched::task::Policy) -> Result<(), PolicyError>, Sched;
        /// The clamps of a task.
        fn set_uclamp(ctx: &mut Ctx<'_>, task: TaskId, clamps: Uclamp) -> (), Sched;
        /// The group of a task.
        fn move_to_group(ctx: &mut Ctx<'_>, task: TaskId, group: GroupId) -> (), Sched;
        /// The dice of newly-idle balancing.
        fn seed_random(cpu: CpuId, words: [u32; 4]) -> (), State;
    }
    optional_getters {
        /// Whether a CPU is online.
        fn is_online(cpu: CpuId) -> bool, State = true;
        /// Which lock a call takes before all else, and holds for as long as its first phase takes.
        fn first_lock(cpu: CpuId, entry: Entry) -> PhaseLock, Adapter = PhaseLock::None;
        /// Whether a CPU holds a runqueue's lock beyond the phase that is over.
        fn holds_lock(cpu: CpuId, lock: CpuId) -> bool, Adapter = false;
        /// Whether softirqs wait that were raised there.
        fn is_softirq_pending(cpu: CpuId) -> bool, Sched = false;
        /// Whether softirqs of a CPU are its ksoftirqd's affair.
        fn defers_softirqs(cpu: CpuId) -> bool, Sched = false;
        /// For so many jiffies softirqs go on before they go over to a thread.
        fn max_softirq_jiffies() -> u64, Sched = unsupported_call("ksoftirqd");
        /// Who is about to enqueue a task.
        fn waking_cpu(task: TaskId) -> Option<CpuId>, Sched = None;
        /// Whether one task waits before another for a lock that passes on priority.
        fn waits_before(one: TaskId, other: TaskId) -> bool, Sched = unsupported_call("priority inheritance");
        /// How a CPU suits a task.
        fn task_fit(task: TaskId, cpu: CpuId) -> TaskFit, State = TaskFit::Right;
        /// What a new task of a cpuset may use.
        fn cpus_at_start(id: CpusetId, wanted: &CpuMask) -> CpuMask, State = unsupported_call("cpusets");
        /// Whether its affinity lets a task become a deadline task.
        fn check_deadline_affinity(task: TaskId, policy: fairlab_sched::task::Policy) -> Result<(), PolicyError>, State = Ok(());
    }
    optional_ops {
        /// A phase of a CPU is over: locks that it does not keep are others'.
        fn handle_phase_end(cpu: CpuId) -> (), Adapter = ();
        /// Whether a CPU whose path tries to take a lock has got it.
        fn handle_try(cpu: CpuId, is_taken: bool) -> (), Adapter = ();
        /// A CPU waits for a lock whose holder waits for one that it holds. Does not return.
        fn handle_deadlock(cpu: CpuId, lock: CpuId) -> (), Adapter = ();
        /// Whether softirqs that take too long go over to a thread.
        fn set_softirq_deferral(go_over: bool) -> (), Sched = unsupported_call("ksoftirqd");
        /// The thread of a CPU to which they go over.
        fn add_ksoftirqd(ctx: &mut Ctx<'_>, new: NewTask) -> TaskId, Sched = unsupported_call("ksoftirqd");
        /// That thread runs softirqs.
        fn handle_softirqs(ctx: &mut Ctx<'_>) -> (), Sched = unsupported_call("ksoftirqd");
        /// The running task begins another program.
        fn handle_exec(ctx: &mut Ctx<'_>) -> (), Sched = unsupported_call("exec");
        /// A host has taken time of a CPU.
        fn handle_steal_time(cpu: CpuId, time: Nanos) -> (), State = unsupported_call("stolen time");
        /// How long a CPU needs to leave its idle state.
        fn set_idle_exit_latency(cpu: CpuId, latency: Option<Nanos>) -> (), Sched = ();
        /// All idle CPUs are to choose their idle states anew.
        fn wake_up_all_idle_cpus(ctx: &mut Ctx<'_>) -> (), Sched = unsupported_call("PM QoS");
        /// CPUs whose frequency changes together.
        fn set_frequency_domain(domain: FrequencyDomain) -> Result<(), FrequencyDomainError>, State = unsupported_call("frequency domains");
        /// A limit of frequencies.
        fn limit_frequency(ctx: &mut Ctx<'_>, cpu: CpuId, limit: FrequencyLimit, part: Capacity) -> (), State = unsupported_call("frequency limits");
        /// A governor's thread begins.
        fn begin_frequency_transition(policy: usize) -> Option<u64>, State = unsupported_call("frequency domains");
        /// A governor's thread is through.
        fn end_frequency_transition(ctx: &mut Ctx<'_>, policy: usize, khz: u64) -> (), State = unsupported_call("frequency domains");
        /// Clamps of tasks that have none of their own.
        fn set_first_clamps(first: DefaultClamps) -> (), State = ();
        /// Whether idle CPUs poll.
        fn set_polling_idle(polls: bool) -> (), State = ();
        /// How exact timers are.
        fn set_timer_resolution(resolution: Nanos) -> (), State = ();
        /// The clamps of a group.
        fn set_group_uclamp(group: GroupId, clamps: Uclamp) -> (), State = unsupported_call("clamps of groups");
        /// A set of CPUs.
        fn create_cpuset(cpus: &CpuMask) -> CpusetId, State = unsupported_call("cpusets");
        /// Its CPUs: the tasks that follow.
        fn set_cpuset_cpus(id: CpusetId, cpus: &CpuMask) -> Vec<TaskId>, Sched = unsupported_call("cpusets");
        /// CPUs have come or gone: the tasks whose cpusets have others now.
        fn cpusets_follow_hotplug() -> Vec<TaskId>, Sched = Vec::new();
        /// A task whose cpuset has other CPUs now follows: whether the caller waits for its stopper.
        fn follow_cpuset(ctx: &mut Ctx<'_>, task: TaskId, waiter: Option<TaskId>) -> bool, Sched = unsupported_call("cpusets");
        /// A task joins it.
        fn attach_to_cpuset(ctx: &mut Ctx<'_>, task: TaskId, id: CpusetId, waiter: Option<TaskId>) -> bool, Sched = unsupported_call("cpusets");
        /// The cpuset of a new task.
        fn record_cpuset(task: TaskId, id: CpusetId) -> (), State = ();
        /// A CPU goes offline.
        fn take_cpu_offline(ctx: &mut Ctx<'_>, cpu: CpuId) -> Result<(), HotplugError>, Sched = unsupported_call("hotplug");
        /// A CPU comes back.
        fn bring_cpu_online(ctx: &mut Ctx<'_>, cpu: CpuId) -> (), Sched = unsupported_call("hotplug");
        /// Whether a deadline task takes what others leave.
        fn set_reclaims(task: TaskId, reclaims: bool) -> (), State = ();
        /// A deadline task of the kernel itself.
        fn make_special(task: TaskId) -> (), State = unsupported_call("governor threads");
        /// Who holds a lock gets the priority of who waits for it.
        fn inherit_priority(ctx: &mut Ctx<'_>, task: TaskId, waiter: Option<TaskId>) -> (), Sched = unsupported_call("priority inheritance");
    }
}
