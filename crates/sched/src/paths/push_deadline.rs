// SPDX-License-Identifier: GPL-2.0-or-later
//! On which CPU a deadline task runs: where it wakes up, and moving it to a CPU whose tasks have later deadlines.
//!
//! Models `select_task_rq_dl()`, `find_later_rq()`, `cpudl_find()`, `push_dl_task()`, `pull_dl_task()`,
//! `task_woken_dl()`, `migrate_task_rq_dl()` and the tree of tasks that can be pushed (6.1). The aim is that, of all
//! deadline tasks of the machine, those with the earliest deadlines run.

use crate::classes::fair::enqueue::{DequeueFlags, EnqueueFlags};
use crate::state::deadline::entity::time_before;
use crate::state::sched::Sched;
use crate::state::task::{SchedClass, TaskState};
use crate::state::topology::SdFlags;
use crate::told::ctx::Ctx;
use crate::told::wakeup::WakeFlags;
use crate::words::ids::{CpuId, TaskId};
use crate::words::work::Op;

impl Sched {
    /// Where a woken task is to run.
    ///
    /// Rules: where it was, unless a deadline task runs there that cannot leave or has no later deadline, or the CPU is too
    /// slow for its density. Then another CPU, if it would have the earliest deadline there.
    pub(crate) fn select_task_rq_dl(&mut self, ctx: &Ctx<'_>, task: TaskId, prev: CpuId, flags: WakeFlags) -> CpuId {
        if !flags.ttwu {
            return prev;
        }
        let (p, curr) = (&self.tasks[task.index()], &self.tasks[self.rqs[prev.index()].curr.index()]);
        let must_give_way = curr.class == SchedClass::Deadline
            && (curr.nr_cpus_allowed < 2 || !p.dl.preempts(&curr.dl))
            && p.nr_cpus_allowed > 1;
        let is_too_slow =
            self.domains.asym_cpucapacity && !p.dl.fits_capacity(self.rqs[prev.index()].cpu_capacity_orig);
        if !must_give_way && !is_too_slow {
            return prev;
        }
        match self.find_later_rq(ctx, task) {
            Some(target) if self.would_be_earliest(task, target) => target,
            _ => prev,
        }
    }

    /// A woken task goes to another CPU: it takes its bandwidth along, and does not count as active meanwhile.
    pub(crate) fn migrate_task_rq_dl(&mut self, ctx: &mut Ctx<'_>, task: TaskId) {
        let p = &self.tasks[task.index()];
        if p.state != TaskState::Waking {
            return;
        }
        let cpu = p.cpu;
        if p.dl.is_non_contending {
            self.update_rq_clock(ctx, cpu);
            self.sub_running_bw(ctx, cpu, task);
            self.stop_being_non_contending(ctx, task);
        }
        self.sub_rq_bw(cpu, task);
    }

    /// A woken task that does not preempt where it is, although it may go elsewhere: tasks are pushed.
    pub(crate) fn task_woken_dl(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId, task: TaskId) {
        let (p, rq) = (&self.tasks[task.index()], &self.rqs[cpu.index()]);
        let curr = &self.tasks[rq.curr.index()];
        if !p.on_cpu
            && !rq.need_resched
            && p.nr_cpus_allowed > 1
            && curr.class == SchedClass::Deadline
            && (curr.nr_cpus_allowed < 2 || !p.dl.preempts(&curr.dl))
        {
            self.push_dl_tasks(ctx, cpu);
        }
    }

    /// Pulls a task if the previous one has left the queue, and says whether there is work of this class or a higher one:
    /// `balance_dl()`.
    pub(crate) fn balance_dl(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId, prev: TaskId) -> bool {
        let p = &self.tasks[prev.index()];
        if p.class == SchedClass::Deadline && !p.dl.is_queued && self.rqs[cpu.index()].online {
            self.pull_dl_task(ctx, cpu);
        }
        let rq = &self.rqs[cpu.index()];
        rq.dl.nr_running > 0 || self.tasks[rq.stop.index()].is_queued()
    }

    /// Pushes tasks until none can be pushed.
    pub(crate) fn push_dl_tasks(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId) {
        while self.push_dl_task(ctx, cpu) {}
    }

    /// Moves the first task that does not run to a CPU where it has the earliest deadline. Returns whether it was moved.
    ///
    /// If it has an earlier deadline than the running task, and that one can leave, the CPU reschedules instead.
    pub(crate) fn push_dl_task(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId) -> bool {
        let rq = &self.rqs[cpu.index()];
        let Some((_, task)) = rq.dl.pushable.first().filter(|_| rq.dl.overloaded) else { return false };
        let (p, curr) = (&self.tasks[task.index()], &self.tasks[rq.curr.index()]);
        if curr.class == SchedClass::Deadline && p.dl.preempts(&curr.dl) && curr.nr_cpus_allowed > 1 {
            self.resched_curr(ctx, cpu);
            return false;
        }
        let Some(target) = self.find_later_rq(ctx, task) else { return false };
        if target == cpu || !self.would_be_earliest(task, target) {
            return false;
        }
        self.move_dl_task(ctx, task, target);
        self.resched_curr(ctx, target);
        true
    }

    /// Looks at all CPUs with too many deadline tasks, for such as have an earlier deadline than those that are here.
    pub(crate) fn pull_dl_task(&mut self, ctx: &mut Ctx<'_>, this_cpu: CpuId) {
        let mut earliest_pulled = i64::MAX as u64;
        let mut has_pulled = false;
        let mut next = self.dl_root.overloaded_cpus.first();
        while let Some(source) = next {
            if source != this_cpu && self.may_have_earlier_dl(source, this_cpu) {
                ctx.charge(Op::RqLock);
                if let Some(task) = self.find_pullable_dl_task(source, this_cpu, earliest_pulled) {
                    earliest_pulled = self.tasks[task.index()].dl.deadline;
                    self.move_dl_task(ctx, task, this_cpu);
                    has_pulled = true;
                }
            }
            next = self.dl_root.overloaded_cpus.next_from(CpuId(source.0 + 1));
        }
        if has_pulled {
            self.resched_curr(ctx, this_cpu);
        }
    }

    /// Whether a task could preempt on the CPU with the latest deadline: `cpudl_find()` without a mask.
    pub(crate) fn preempts_somewhere(&self, task: TaskId) -> bool {
        let (deadline, cpu) = self.dl_root.cpudl.latest();
        let p = &self.tasks[task.index()];
        p.cpus_allowed.contains(cpu) && time_before(p.dl.deadline, deadline)
    }

    /// A task that does not run may be moved, if it may use more than one CPU.
    pub(crate) fn add_pushable_dl(&mut self, cpu: CpuId, task: TaskId) {
        let p = &mut self.tasks[task.index()];
        if p.nr_cpus_allowed <= 1 {
            return;
        }
        debug_assert!(!p.dl.is_pushable, "{task:?} can be pushed already");
        p.dl.is_pushable = true;
        let dl = &mut self.rqs[cpu.index()].dl;
        if dl.pushable.insert(p.dl.deadline, task) {
            dl.earliest_next = p.dl.deadline;
        }
    }

    pub(crate) fn remove_pushable_dl(&mut self, cpu: CpuId, task: TaskId) {
        let p = &mut self.tasks[task.index()];
        if !core::mem::take(&mut p.dl.is_pushable) {
            return;
        }
        let dl = &mut self.rqs[cpu.index()].dl;
        let was_first = dl.pushable.remove(p.dl.deadline, task);
        if let Some((deadline, _)) = dl.pushable.first().filter(|_| was_first) {
            dl.earliest_next = deadline;
        }
    }

    /// Whether tasks of a CPU could be moved: `update_dl_migration()`.
    pub(crate) fn update_dl_overload(&mut self, cpu: CpuId) {
        let rq = &mut self.rqs[cpu.index()];
        let (dl, is_online) = (&mut rq.dl, rq.online);
        let is_overloaded = dl.nr_migratory > 0 && dl.nr_running > 1;
        if core::mem::replace(&mut dl.overloaded, is_overloaded) == is_overloaded || !is_online {
            return;
        }
        if is_overloaded {
            self.dl_root.overloaded_cpus.set(cpu);
        } else {
            self.dl_root.overloaded_cpus.clear(cpu);
        }
    }

    /// Whether a CPU might have a waiting task with an earlier deadline than all of another one.
    fn may_have_earlier_dl(&self, source: CpuId, this_cpu: CpuId) -> bool {
        let (theirs, ours) = (&self.rqs[source.index()].dl, &self.rqs[this_cpu.index()].dl);
        ours.nr_running == 0 || !time_before(ours.earliest_curr, theirs.earliest_next)
    }

    /// The first waiting task of a CPU that may use this one, if its deadline is before all here and before those that were
    /// pulled, and it would not run there in a moment anyway.
    fn find_pullable_dl_task(&self, source: CpuId, this_cpu: CpuId, earliest_pulled: u64) -> Option<TaskId> {
        let rq = &self.rqs[source.index()];
        if rq.dl.nr_running <= 1 {
            return None;
        }
        let may_come = |&task: &TaskId| {
            let p = &self.tasks[task.index()];
            !p.on_cpu && p.cpus_allowed.contains(this_cpu)
        };
        let task = rq.dl.pushable.iter().find(may_come)?;
        let (p, curr) = (&self.tasks[task.index()], &self.tasks[rq.curr.index()]);
        let is_wanted = time_before(p.dl.deadline, earliest_pulled)
            && self.would_be_earliest(task, this_cpu)
            && !p.dl.preempts(&curr.dl);
        is_wanted.then_some(task)
    }

    /// Whether a task would have the earliest deadline of a CPU: `dl_task_is_earliest_deadline()`.
    fn would_be_earliest(&self, task: TaskId, cpu: CpuId) -> bool {
        let dl = &self.rqs[cpu.index()].dl;
        dl.nr_running == 0 || time_before(self.tasks[task.index()].dl.deadline, dl.earliest_curr)
    }

    fn move_dl_task(&mut self, ctx: &mut Ctx<'_>, task: TaskId, to: CpuId) {
        let from = self.tasks[task.index()].cpu;
        ctx.charge(Op::DetachTask);
        // Taking both locks is a new section of either.
        self.release_rq_locks();
        self.update_rq_clock(ctx, from);
        self.deactivate_task(ctx, from, task, DequeueFlags::default());
        self.set_task_cpu(ctx, task, to);
        ctx.charge(Op::AttachTask);
        self.update_rq_clock(ctx, to);
        self.activate_task(ctx, to, task, EnqueueFlags::default());
    }

    /// A CPU that a task might run on at once.
    ///
    /// Rules, in order:
    /// 1. No CPU without deadline tasks and none with a later deadline: none.
    /// 2. Where it was.
    /// 3. In the narrowest domain that allows affine wake-ups and has one: this CPU, or else one of them, each time another.
    /// 4. This CPU, or else any, each time another.
    pub(crate) fn find_later_rq(&mut self, ctx: &Ctx<'_>, task: TaskId) -> Option<CpuId> {
        let p = &self.tasks[task.index()];
        if p.nr_cpus_allowed == 1 || !self.find_later_cpus(task) {
            return None;
        }
        let cpu = self.tasks[task.index()].cpu;
        let later = &self.dl_root.later_mask;
        if later.contains(cpu) {
            return Some(cpu);
        }
        let this_cpu = Some(ctx.cpu).filter(|&this_cpu| later.contains(this_cpu));
        let start = self.distribution_start(ctx.cpu);
        let later = &self.dl_root.later_mask;
        let last = &mut self.rqs[ctx.cpu.index()].distribute_prev;
        for sd in self.domains.chain(cpu) {
            let sd = &self.domains.domains[sd];
            if !sd.flags.contains(SdFlags::WAKE_AFFINE) {
                continue;
            }
            if let Some(this_cpu) = this_cpu.filter(|&this_cpu| sd.span.contains(this_cpu)) {
                return Some(this_cpu);
            }
            if let Some(best) = next_distributed(later.iter_and_wrap_from(&sd.span, start), last) {
                return Some(best);
            }
        }
        this_cpu.or_else(|| next_distributed(later.iter_wrap_from(start), last))
    }

    /// Fills the mask of CPUs that a task might run on at once: `cpudl_find()`. Returns whether there are any.
    ///
    /// Rules, in order:
    /// 1. Those without deadline tasks; if CPUs differ in capacity only those that are fast enough, or else the fastest,
    ///    and where it was rather than another as fast.
    /// 2. The one with the latest deadline, if that is later than the task's.
    fn find_later_cpus(&mut self, task: TaskId) -> bool {
        let p = &self.tasks[task.index()];
        let root = &mut self.dl_root;
        root.later_mask.assign_and(root.cpudl.free_cpus(), &p.cpus_allowed);
        if root.later_mask.is_empty() {
            let (deadline, cpu) = root.cpudl.latest();
            let is_later = p.cpus_allowed.contains(cpu) && time_before(p.dl.deadline, deadline);
            if is_later {
                root.later_mask.set(cpu);
            }
            return is_later;
        }
        if self.domains.asym_cpucapacity {
            let mut fastest: Option<(u64, CpuId)> = None;
            for cpu in (0..self.rqs.len()).map(CpuId::from_index) {
                let capacity = self.rqs[cpu.index()].cpu_capacity_orig;
                if !root.later_mask.contains(cpu) || p.dl.fits_capacity(capacity) {
                    continue;
                }
                root.later_mask.clear(cpu);
                let most = fastest.map_or(0, |(capacity, _)| capacity);
                if capacity > most || (cpu == p.cpu && capacity == most) {
                    fastest = Some((capacity, cpu));
                }
            }
            if let Some((_, cpu)) = fastest.filter(|_| root.later_mask.is_empty()) {
                root.later_mask.set(cpu);
            }
        }
        true
    }
}

/// The first of some CPUs, which is remembered: `cpumask_any_and_distribute()`.
fn next_distributed(mut cpus: impl Iterator<Item = CpuId>, last: &mut CpuId) -> Option<CpuId> {
    let cpu = cpus.next()?;
    *last = cpu;
    Some(cpu)
}
