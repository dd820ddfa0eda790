// SPDX-License-Identifier: GPL-2.0-or-later
//! Active balancing: a stopper pushes the running task to another CPU.
//!
//! Models `need_active_balance()` and `active_load_balance_cpu_stop()` (6.1 and 6.12). A running task cannot be
//! pulled, so the destination CPU queues work for the stopper of the busiest CPU, which preempts the task.
use crate::interface::balance::MigrationType;
use crate::interface::ctx::Ctx;
use crate::paths::sched::Sched;
use crate::rules::balance::classify::sched_asym_prefer;
use crate::rules::balance::env::LbEnv;
use crate::state::counters::DomainCounter;
use crate::state::stop_work::StopWork;
use crate::state::topology::SdFlags;
use crate::track::capacity::check_cpu_capacity;
use crate::types::cpumask::CpuMask;
use crate::types::idle_type::CpuIdleType;
use crate::types::ids::{CfsRqId, CpuId};

/// Result of a push request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PushRequest {
    /// The request was queued for the stopper.
    Sent,
    /// An earlier request is still pending.
    Pending,
    /// The running task may not use this CPU.
    Pinned,
}

impl Sched {
    /// Whether the running task of the source should be pushed although no task could be pulled.
    ///
    /// Any of these rules suffices:
    /// 1. This CPU is idle, the domain packs tasks, and this CPU has the higher priority.
    /// 2. Moving tasks has failed more than `cache_nice_tries + 2` times.
    /// 3. This CPU is idle, the source has one fair task and reduced capacity, and this CPU has more capacity
    ///    by the domain's margin.
    /// 4. The task does not fit its CPU.
    pub(crate) fn need_active_balance(&self, env: &LbEnv) -> bool {
        let sd = &self.domains.domains[env.sd];
        let has_time = env.idle != CpuIdleType::NotIdle;
        if has_time && self.packs_actively(env) {
            return true;
        }
        if env.migration == MigrationType::Task && sd.nr_balance_failed > sd.cache_nice_tries + 2 {
            return true;
        }
        if has_time && self.fair.cfs_rqs[CfsRqId::root(env.src_cpu)].h_nr_running == 1 {
            let src = &self.rqs[env.src_cpu];
            let margin = u64::from(sd.imbalance_pct);
            if check_cpu_capacity(src, sd) && src.cpu_capacity * margin < self.rqs[env.dst_cpu].cpu_capacity * 100 {
                return true;
            }
        }
        env.migration == MigrationType::Misfit
    }

    /// Whether priorities of CPUs call for a push (`asym_active_balance()`): this CPU has the higher one. In 6.12, also
    /// if the source shares its core, and then only if this CPU's core is idle.
    fn packs_actively(&self, env: &LbEnv) -> bool {
        if !self.domains.domains[env.sd].flags.intersects(SdFlags::ASYM_PACKING) {
            return false;
        }
        let is_preferred = sched_asym_prefer(env.dst_cpu, env.src_cpu);
        if !self.rules.asym_needs_idle_core {
            return is_preferred;
        }
        self.sched_use_asym_prio(env.sd, env.dst_cpu)
            && (is_preferred || !self.sched_use_asym_prio(env.sd, env.src_cpu))
    }

    /// Requests a push of the source's running task to `this_cpu`, under the lock of the source.
    pub(crate) fn request_push(&mut self, ctx: &mut Ctx<'_>, env: &mut LbEnv, this_cpu: CpuId) -> PushRequest {
        let src = env.src_cpu;
        let _rq = self.rq_lock_charged(ctx, src);
        let curr = self.rqs[src].curr;
        if !self.tasks[curr].cpus_allowed.contains(this_cpu) {
            return PushRequest::Pinned;
        }
        env.flags.all_pinned = false;
        let rq = &mut self.rqs[src];
        if core::mem::replace(&mut rq.active_balance, true) {
            return PushRequest::Pending;
        }
        rq.push_cpu = this_cpu;
        self.stop_one_cpu_nowait(ctx, src, StopWork::ActiveBalance);
        PushRequest::Sent
    }

    /// Pushes a task to the requesting CPU, in the stopper of `cpu`.
    ///
    /// Rules, in order:
    /// 1. Without a task besides the stopper there is nothing to push.
    /// 2. The narrowest domain that spans both CPUs counts the attempt.
    /// 3. The first task that may be moved goes, cache-hot or not.
    pub(crate) fn active_load_balance_cpu_stop(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId) {
        let src = self.rq_lock_charged(ctx, cpu);
        let rq = &self.rqs[cpu];
        let target = rq.push_cpu;
        let mut moved = None;
        if rq.active_balance && rq.nr_running > 1 {
            let common = self.domains.chain(target).find(|&sd| self.domains.domains[sd].span.contains(cpu));
            if let Some(sd) = common {
                self.domains.domains[sd].count(ctx, DomainCounter::AlbCount, 1);
                self.update_rq_clock(ctx, &src);
                let level = self.domains.domains[sd].level;
                // No other destination is possible, so the set of CPUs to choose from is empty.
                let mut env = LbEnv::new(ctx.cpu, sd, level, target, CpuIdleType::Idle, CpuMask::new(1));
                env.src_cpu = cpu;
                env.flags.active = true;
                moved = self.detach_one_task(ctx, &src, &mut env);
                if moved.is_some() {
                    self.domains.domains[sd].count(ctx, DomainCounter::AlbPushed, 1);
                    self.domains.domains[sd].nr_balance_failed = 0;
                } else {
                    self.domains.domains[sd].count(ctx, DomainCounter::AlbFailed, 1);
                }
            }
        }
        self.rqs[cpu].active_balance = false;
        if let Some(task) = moved {
            let dst = self.rq_lock_clocked(ctx, target);
            self.attach_task(ctx, &dst, task);
        }
    }
}
