// SPDX-License-Identifier: GPL-2.0-or-later
//! The interface of a machine to its engine, as calls of the object. `commands` has the calls that need more
//! than a conversion of numbers.

use super::{KernelEngine, unsupported};
use crate::object::paths::EngineCall;
use crate::object::{EngineIrq, to_u32};
use fairlab_machine::engine::{Capability, Engine, FeatureState, TunableState, YieldedEnginePath};
use fairlab_machine::sim::Setup;
use fairlab_machine::snapshot::{
    BandwidthSnapshot, LlcSnapshot, NohzSnapshot, RqSnapshot, SchedstatSnapshot, TaskSnapshot,
};
use fairlab_sched::classes::deadline::admission::PolicyError;
use fairlab_sched::classes::fair::shares::SharesError;
use fairlab_sched::cpumask::CpuMask;
use fairlab_sched::ctx::{Ctx, Effect, IpiKind};
use fairlab_sched::ids::{CpuId, CpusetId, GroupId, TaskId};
use fairlab_sched::interface::lag::{EntityLag, QueueLag};
use fairlab_sched::paths::idle::IdleTick;
use fairlab_sched::resumable::YieldMode;
use fairlab_sched::state::cpufreq::domain::{FrequencyDomain, FrequencyDomainError};
use fairlab_sched::state::cpufreq::limits::FrequencyLimit;
use fairlab_sched::state::group::bandwidth::{Bandwidth, BandwidthError};
use fairlab_sched::state::hotplug::HotplugError;
use fairlab_sched::state::new_task::NewTask;
use fairlab_sched::state::snapshot::{CpuAction, WaiterKey};
use fairlab_sched::state::uclamp::DefaultClamps;
use fairlab_sched::task::{Policy, Uclamp};
use fairlab_sched::units::{Capacity, Nanos};
use fairlab_sched::work::KernelOp;
use fairlab_workload::message::Message;
use fairlab_workload::tunable_name::TunableName;

/// `MAX_SOFTIRQ_TIME` of the kernel, before its conversion to jiffies.
const MAX_SOFTIRQ_NS: u64 = 2_000_000;

impl Engine for KernelEngine {
    fn has(&self, capability: Capability) -> bool {
        unsupported::has(capability)
    }

    fn unsupported(&self, setup: &Setup) -> Option<Message> {
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
        self.object.next_action(cpu.0)
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
        self.object.next_action(cpu.0) == CpuAction::Reschedule
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

    fn feature_states(&self) -> Vec<FeatureState> {
        self.object.features()
    }

    fn tunable_states(&self) -> Vec<TunableState> {
        self.tunables_of_tree()
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

    fn lag_snapshot(&self, task: TaskId) -> Option<EntityLag> {
        self.object.lag(task.0)
    }

    fn queue_lag_snapshot(&self, cpu: CpuId) -> Option<QueueLag> {
        self.object.queue_lag(cpu.0)
    }

    fn bandwidth_snapshot(&self, group: GroupId) -> Option<BandwidthSnapshot> {
        self.object.bandwidth(group.0)
    }

    fn schedstat_snapshot(&self, cpu: CpuId) -> SchedstatSnapshot {
        self.object.schedstat(cpu.0)
    }

    fn set_feature(&mut self, name: &str, on: bool) -> Result<(), Message> {
        self.switch_feature(name, on)
    }

    fn set_tunable(&mut self, name: &TunableName, value: i64) -> Result<(), Message> {
        self.write_tunable(name.as_str(), value)
    }

    fn set_slice(&mut self, ctx: &mut Ctx<'_>, task: TaskId, slice: Nanos) -> Result<(), i32> {
        self.change_slice(ctx, task, slice)
    }

    fn set_fair_server(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId, runtime: Nanos, period: Nanos) -> Result<(), i32> {
        self.change_fair_server(ctx, cpu, runtime, period)
    }

    fn set_polling_idle(&mut self, polls: bool) {
        self.polls = polls;
    }

    fn set_frequency_domain(&mut self, domain: FrequencyDomain) -> Result<(), FrequencyDomainError> {
        self.object.frequency_domain(&domain);
        Ok(())
    }

    fn boot(&mut self, now: Nanos) -> Vec<Effect> {
        self.boot_object(now)
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
        self.fork(ctx, &new)
    }

    fn handle_wakeup(&mut self, ctx: &mut Ctx<'_>, task: TaskId, sync: bool) -> bool {
        self.begin_wakeup(ctx, c"try_to_wake_up", task.0, EngineCall::Wake { task: task.0, sync })
    }

    fn handle_wakeup_interrupt(&mut self, ctx: &mut Ctx<'_>, task: TaskId) -> bool {
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
        self.deliver_ipi(ctx, kind);
    }

    fn handle_stopper(&mut self, ctx: &mut Ctx<'_>) {
        ctx.charge(KernelOp::PickNext);
        self.begin(ctx, c"stopper", EngineCall::Stopper);
    }

    fn handle_awaited_stopper(&mut self, ctx: &mut Ctx<'_>) {
        self.run_awaited_stopper(ctx);
    }

    /// Softirqs of the machine's network end after this time; none of them is deferred to a thread.
    fn max_softirq_jiffies(&self) -> u64 {
        MAX_SOFTIRQ_NS.div_ceil(self.tick_ns)
    }

    fn is_online(&self, cpu: CpuId) -> bool {
        self.object.is_online(cpu.0)
    }

    fn take_cpu_offline(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId) -> Result<(), HotplugError> {
        self.offline(ctx, cpu)
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

    fn waiter_key(&self, task: TaskId) -> WaiterKey {
        let prio = self.object.waiter_prio(task.0);
        WaiterKey { prio, deadline: if prio < 0 { self.object.deadline(task.0) } else { 0 } }
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
        self.cpus_in_cpuset(id, wanted)
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
        self.deadline_affinity(task, policy)
    }

    fn handle_idle_enter(&mut self, ctx: &mut Ctx<'_>, tick: IdleTick) -> bool {
        self.enter_idle_loop(ctx, tick)
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
        self.set_quota(ctx, group, bandwidth)
    }

    fn set_group_idle(&mut self, ctx: &mut Ctx<'_>, group: GroupId, is_idle: bool) -> Result<(), SharesError> {
        let set = self.enter(ctx, c"sched_group_set_idle", |object, cpu| object.set_group_idle(cpu, group.0, is_idle));
        set.map_err(|_| shares_error(group))
    }

    /// Never makes the caller wait.
    fn set_affinity(&mut self, ctx: &mut Ctx<'_>, task: TaskId, mask: &CpuMask, _waiter: Option<TaskId>) -> bool {
        self.change_affinity(ctx, task, mask);
        false
    }

    fn set_nice(&mut self, ctx: &mut Ctx<'_>, task: TaskId, nice: i8) {
        self.enter(ctx, c"set_user_nice", |object, cpu| object.set_nice(cpu, task.0, i32::from(nice)));
    }

    fn set_policy(&mut self, ctx: &mut Ctx<'_>, task: TaskId, policy: Policy) -> Result<(), PolicyError> {
        self.set_task_policy(ctx, task, policy)
    }

    fn set_uclamp(&mut self, ctx: &mut Ctx<'_>, task: TaskId, clamps: Uclamp) -> Result<(), i32> {
        self.enter(ctx, c"sched_setattr", |object, cpu| object.set_uclamp(cpu, task.0, clamps.min, clamps.max))
    }

    fn move_to_group(&mut self, ctx: &mut Ctx<'_>, task: TaskId, group: GroupId) {
        self.enter(ctx, c"sched_move_task", |object, cpu| object.move_to(cpu, task.0, group.0));
    }

    fn seed_random(&mut self, cpu: CpuId, words: [u32; 4]) {
        self.seed(cpu, words);
    }
}

fn shares_error(group: GroupId) -> SharesError {
    if group == GroupId::ROOT { SharesError::RootGroup } else { SharesError::IdleGroup }
}
