// SPDX-License-Identifier: GPL-2.0-or-later
//! Energy-aware wake-ups: the CPU on which a woken task costs the least energy.
//!
//! Models `find_energy_efficient_cpu()`, `compute_energy()`, `eenv_task_busy_time()`, `eenv_pd_busy_time()`,
//! `eenv_pd_max_util()` and `cpu_util_next()` (6.1 and 6.12). The rules apply only if there is an energy model
//! ([`crate::track::cpufreq::energy_model`]) and no CPU is over-utilised, since spreading the load does not
//! matter then.
//!
//! The tunables `energy_margin`, `energy_sum`, `energy_mw` and `energy_inefficient` restore the behaviour
//! before 6.0. The reference has no switches for these; unit tests cover each of them.

use crate::interface::ctx::Ctx;
use crate::interface::wakeup::{WakeRule, WakeupDecision};
use crate::state::State;
use crate::state::cpufreq::energy_model::PerfDomain;
use crate::state::fair_tree::FairTree;
use crate::state::rq::Rq;
use crate::state::task::{Task, Uclamp};
use crate::state::topology::DomainId;
use crate::track::cpufreq::UtilType;
use crate::track::fits::{ClampedUtil, Fit};
use crate::types::features::{Feature, FeatureSet};
use crate::types::ids::{CpuId, TaskId};
use crate::types::units::Capacity;
use crate::types::work::KernelOp;

/// Fit of a candidate CPU, from worse to better: the kernel's -1 and 1. CPUs that do not fit at all are not
/// candidates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum CandidateFit {
    /// The CPU fits apart from the lower clamp, which exceeds its capacity. Also the initial value without a
    /// CPU.
    ButForClamp,
    Fits,
}

/// Candidates of a perf domain: the best CPU other than the previous one, and the previous one if it is in
/// the domain.
#[derive(Clone, Copy, Debug, Default)]
struct EnergyCandidates {
    /// The CPU, how well it fits, and its spare capacity.
    best: Option<(CpuId, CandidateFit, u64)>,
    /// The fit and the spare capacity of the previous CPU.
    prev: Option<(CandidateFit, u64)>,
}

/// Inputs of the energy of a perf domain (`struct energy_env`).
#[derive(Clone, Copy, Debug)]
struct EnergyEnv {
    task: TaskId,
    /// Utilisation that the task adds.
    task_busy_time: u64,
    /// Utilisation of the domain without the task.
    pd_busy_time: u64,
    /// Capacity of one CPU after thermal pressure.
    cpu_cap: Capacity,
    /// Capacity of all CPUs of the domain after thermal pressure.
    pd_cap: Capacity,
}

/// Leading candidate, or the previous CPU.
#[derive(Clone, Copy, Debug)]
struct EnergyLead {
    cpu: Option<CpuId>,
    fitness: CandidateFit,
    /// Capacity of the CPU after thermal pressure.
    thermal_cap: Capacity,
}

impl EnergyLead {
    const NONE: Self = Self { cpu: None, fitness: CandidateFit::ButForClamp, thermal_cap: 0 };
}

impl State {
    /// Chooses the CPU with the best energy. Returns false if performance has to decide instead.
    ///
    /// Rules, in order:
    /// 1. Nothing is decided while any CPU is over-utilised, or if no domain of this CPU with all capacities
    ///    contains the previous one.
    /// 2. A task without utilisation and lower clamp stays.
    /// 3. Each perf domain has two candidates: the previous CPU, and the one with the most spare capacity of
    ///    those that fit. CPUs that fit apart from the lower clamp come after those that fit. Among domains
    ///    where no CPU fits completely, the one with the most capacity after thermal pressure is best.
    /// 4. The candidate where the task adds the least energy to its domain; the previous CPU if it adds no
    ///    more there. With the tunable `energy_margin` the difference must exceed a sixteenth of the energy
    ///    of all domains.
    /// 5. If a domain seems to need less energy with the task than without it, the estimate is invalid: the
    ///    task stays.
    pub(crate) fn find_energy_efficient_cpu(&mut self, ctx: &mut Ctx<'_>, decision: &mut WakeupDecision) -> bool {
        if !self.sched_energy_enabled() || self.domains.root.overutilized {
            return false;
        }
        let WakeupDecision { task, prev, .. } = *decision;
        let narrowest = self.domains.cpus[ctx.cpu].sd_asym_cpucapacity;
        let mut wider = core::iter::successors(narrowest, |&sd| self.domains.domains[sd].parent);
        let Some(sd) = wider.find(|&sd| self.domains.domains[sd].span.contains(prev)) else { return false };
        decision.choose(prev, WakeRule::EnergyPrev);
        self.fair.sync_entity_load_avg(ctx, self.tasks[task].se);
        let clamps = if self.uclamp_used { self.uclamp_eff(task) } else { Uclamp::default() };
        let util = self.entity(task).avg.task_util_est();
        if util == 0 && clamps.min == 0 {
            decision.choose(prev, WakeRule::EnergyNone);
            return true;
        }
        let task_busy_time = self.rqs[prev].busy_time_of(util);
        let mut env = EnergyEnv { task, task_busy_time, pd_busy_time: 0, cpu_cap: 0, pd_cap: 0 };
        let has_margin = self.tunables.changes.energy_margin;
        let mut base_of_all = 0;
        let (mut prev_lead, mut prev_delta) = (EnergyLead::NONE, u64::MAX);
        let (mut best, mut best_delta) = (EnergyLead::NONE, u64::MAX);
        for pd in &self.cpufreq.perf_domains {
            let Some(first) = pd.cpus.first() else { continue };
            let first = &self.rqs[*first];
            env.cpu_cap = if self.rules.uses_actual_capacity {
                first.actual_capacity()
            } else {
                first.cpu_capacity_orig - first.thermal_pressure
            };
            env.pd_cap = env.cpu_cap * pd.cpus.len() as u64;
            let found = self.energy_candidates(ctx, pd, sd, clamps, decision);
            let has_none = found.best.is_none() && found.prev.is_none();
            if has_none && !has_margin {
                continue;
            }
            env.pd_busy_time = self.pd_busy_time(ctx, pd, &env);
            let base = self.compute_energy(ctx, pd, &env, None);
            base_of_all += base;
            if has_none {
                continue;
            }
            if let Some((fitness, _)) = found.prev {
                let Some(delta) = self.compute_energy(ctx, pd, &env, Some(prev)).checked_sub(base) else {
                    decision.choose(prev, WakeRule::EnergyUnsure);
                    return true;
                };
                prev_delta = delta;
                prev_lead = EnergyLead { cpu: Some(prev), fitness, thermal_cap: env.cpu_cap };
                best_delta = best_delta.min(delta);
            }
            let Some((cpu, fitness, spare)) = found.best else { continue };
            if found.prev.is_some_and(|(_, prev_spare)| spare <= prev_spare)
                || fitness < best.fitness
                || (fitness == CandidateFit::ButForClamp && env.cpu_cap <= best.thermal_cap)
            {
                continue;
            }
            let Some(delta) = self.compute_energy(ctx, pd, &env, Some(cpu)).checked_sub(base) else {
                decision.choose(prev, WakeRule::EnergyUnsure);
                return true;
            };
            if fitness == CandidateFit::Fits && best.fitness == CandidateFit::Fits && delta >= best_delta {
                continue;
            }
            best_delta = delta;
            best = EnergyLead { cpu: Some(cpu), fitness, thermal_cap: env.cpu_cap };
        }
        let is_better = match best.fitness {
            CandidateFit::Fits if prev_lead.fitness == CandidateFit::ButForClamp => true,
            CandidateFit::Fits if has_margin => prev_delta.saturating_sub(best_delta) > (base_of_all + prev_delta) >> 4,
            CandidateFit::Fits => best_delta < prev_delta,
            CandidateFit::ButForClamp => best.thermal_cap > prev_lead.thermal_cap,
        };
        if let Some(cpu) = best.cpu.filter(|_| is_better) {
            decision.choose(cpu, WakeRule::EnergyBest);
        }
        true
    }

    /// Returns the candidates of a perf domain.
    ///
    /// The clamps that a CPU would have with the task are the maxima of the task's and the runqueue's clamps.
    /// As in the kernel, they are carried over to a CPU without clamped tasks.
    fn energy_candidates(
        &self,
        ctx: &mut Ctx<'_>,
        pd: &PerfDomain,
        sd: DomainId,
        task_clamps: Uclamp,
        decision: &mut WakeupDecision,
    ) -> EnergyCandidates {
        let WakeupDecision { task, prev, .. } = *decision;
        let (span, allowed) = (&self.domains.domains[sd].span, &self.tasks[task].cpus_allowed);
        let mut found = EnergyCandidates::default();
        let mut clamps = task_clamps;
        for &cpu in pd.cpus.iter().filter(|&&cpu| span.contains(cpu) && allowed.contains(cpu)) {
            ctx.charge(KernelOp::ScanCpu);
            ctx.op_counts.touch_read(cpu);
            decision.nr_scanned += 1;
            let rq = &self.rqs[cpu];
            let util = self.fair.cpu_util_next(self.features, rq, &self.tasks[task], Some(cpu), false);
            if self.uclamp_used && !rq.uclamp.is_idle() {
                clamps = task_clamps.max(rq.uclamp.clamps());
            }
            let fitness = match rq.util_fits(ClampedUtil { util, clamps }, &self.rules, self.uclamp_used) {
                Fit::No => continue,
                Fit::ButForClamp => CandidateFit::ButForClamp,
                Fit::Yes => CandidateFit::Fits,
            };
            let spare = rq.cpu_capacity.saturating_sub(util);
            if cpu == prev {
                found.prev = Some((fitness, spare));
            } else if found.best.is_none_or(|(_, best_fitness, most)| (fitness, spare) > (best_fitness, most)) {
                found.best = Some((cpu, fitness, spare));
            }
        }
        found
    }

    /// Returns the utilisation of a perf domain without the task.
    fn pd_busy_time(&self, ctx: &mut Ctx<'_>, pd: &PerfDomain, env: &EnergyEnv) -> u64 {
        ctx.op_counts.count(KernelOp::ScanCpu, pd.cpus.len() as u64);
        pd.cpus.iter().for_each(|&cpu| ctx.op_counts.touch_read(cpu));
        self.pd_busy_time_with(pd, env, None)
    }

    /// Returns the utilisation of a perf domain if the task were on `dst`, summed per CPU.
    ///
    /// The task adds less than its own utilisation to a CPU if blocked utilisation there exceeds the
    /// estimated utilisation of the queued tasks.
    fn pd_busy_time_with(&self, pd: &PerfDomain, env: &EnergyEnv, dst: Option<CpuId>) -> u64 {
        let util = |&cpu: &CpuId| {
            let rq = &self.rqs[cpu];
            let fair = self.fair.cpu_util_next(self.features, rq, &self.tasks[env.task], dst, false);
            if self.rules.separates_perf_request {
                return rq.perf_request(fair, self.uclamp_used).util;
            }
            rq.effective_cpu_util(fair, UtilType::Energy, None, self.uclamp_used)
        };
        pd.cpus.iter().map(util).sum::<u64>().min(env.pd_cap)
    }

    /// Returns the energy of a perf domain with the task on `dst`, or without it.
    fn compute_energy(&self, ctx: &mut Ctx<'_>, pd: &PerfDomain, env: &EnergyEnv, dst: Option<CpuId>) -> u64 {
        ctx.op_counts.count(KernelOp::ScanCpu, pd.cpus.len() as u64);
        pd.cpus.iter().for_each(|&cpu| ctx.op_counts.touch_read(cpu));
        let util = |&cpu: &CpuId| {
            let (rq, boosted) = (&self.rqs[cpu], self.rules.separates_perf_request);
            let fair = self.fair.cpu_util_next(self.features, rq, &self.tasks[env.task], dst, boosted);
            let clamps = (dst == Some(cpu)).then(|| self.uclamp_eff(env.task));
            if boosted {
                return rq.performance_with(fair, clamps, self.uclamp_used);
            }
            rq.effective_cpu_util(fair, UtilType::Frequency, clamps, self.uclamp_used)
        };
        let max_util = pd.cpus.iter().map(util).max().unwrap_or(0).min(env.cpu_cap);
        let busy_time = match dst {
            Some(_) if self.tunables.changes.energy_sum => self.pd_busy_time_with(pd, env, dst),
            Some(_) => (env.pd_busy_time + env.task_busy_time).min(env.pd_cap),
            None => env.pd_busy_time,
        };
        pd.energy(&self.tunables.changes, max_util, busy_time, env.cpu_cap)
    }
}

impl Rq {
    /// Returns the utilisation that a task adds to the CPU, reduced by the interrupt time of the CPU.
    fn busy_time_of(&self, util: u64) -> u64 {
        let (max, irq) = (self.cpu_capacity_orig, self.avg_irq.util_avg);
        if irq >= max { max } else { util * (max - irq) / max }
    }

    /// Returns the performance that the CPU requests with a fair utilisation, within its clamps and `coming`, those of a task
    /// that would be added to it (6.12).
    fn performance_with(&self, util_cfs: u64, coming: Option<Uclamp>, uclamp_used: bool) -> u64 {
        let mut request = self.perf_request(util_cfs, uclamp_used);
        if let Some(clamps) = coming.filter(|_| uclamp_used) {
            request.min = request.min.max(u64::from(clamps.min));
            let max = u64::from(clamps.max);
            request.max = if self.uclamp.is_idle() { max } else { request.max.max(max) };
        }
        request.performance()
    }
}

impl FairTree {
    /// Returns the utilisation of a CPU if a task were on `dst`, or on no CPU at all. `boosted` is the runnable average
    /// instead, if that is larger (6.12).
    fn cpu_util_next(&self, features: FeatureSet, rq: &Rq, p: &Task, dst: Option<CpuId>, boosted: bool) -> u64 {
        let (sum, own) = (&self.root_cfs_rq(rq.cpu).avg, &self.entities[p.se].avg);
        let (is_here, comes) = (p.cpu == rq.cpu, dst == Some(rq.cpu));
        let mut util = match (is_here, comes) {
            (true, false) => sum.util_avg.saturating_sub(own.util_avg),
            (false, true) => sum.util_avg + own.util_avg,
            (true, true) | (false, false) => sum.util_avg,
        };
        if boosted {
            let runnable = match (is_here, comes) {
                (true, false) => sum.runnable_avg.saturating_sub(own.runnable_avg),
                (false, true) => sum.runnable_avg + own.runnable_avg,
                (true, true) | (false, false) => sum.runnable_avg,
            };
            util = util.max(runnable);
        }
        if features.has(Feature::UtilEst) {
            let mut remembered = u64::from(sum.util_est.enqueued);
            if comes {
                remembered += own.util_est.estimate();
            } else if p.is_queued() {
                remembered = remembered.saturating_sub(own.util_est.estimate());
            }
            util = util.max(remembered);
        }
        util.min(rq.cpu_capacity_orig)
    }
}
