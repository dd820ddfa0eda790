// SPDX-License-Identifier: GPL-2.0-or-later
//! Invariants of the cached load-balance statistics, of summaries of domains, and of values that depend on the online
//! CPUs.

use crate::check::{CheckResult, ensure};
use crate::paths::sched::Sched;
use crate::state::all::max_balance_interval;
use crate::state::lb_cache::LbSample;
use crate::state::nohz::WiderDomains;
use crate::types::cpumask::CpuMask;
use crate::types::ids::CpuId;

/// Checks that entries which are not dirty equal their runqueues, and that sums equal the sums of their
/// entries.
pub(crate) fn check(sched: &Sched) -> CheckResult {
    let tallies = &sched.lb_cache;
    for cpu in sched.cpu_ids() {
        let (kept, now) = (*tallies.cpu(cpu), sched.fair.lb_sample(sched.features, &sched.rqs[cpu]));
        ensure!(
            kept == now || tallies.is_dirty(cpu),
            "{cpu:?} has changed from {kept:?} to {now:?}, but is not marked dirty"
        );
        let (in_idle, in_busy) = (tallies.idle().contains(cpu), tallies.busy().contains(cpu));
        ensure!(in_idle == (kept.idle_cpus > 0), "{cpu:?} is in the mask of idle CPUs: {in_idle}, but has {kept:?}");
        ensure!(in_busy == (kept.h_nr_running > 0), "{cpu:?} is in the mask of busy CPUs: {in_busy}, but has {kept:?}");
    }
    for id in sched.domains.groups.ids() {
        let group = &sched.domains.groups[id];
        if let Some(kept) = tallies.group(id) {
            let sum = sum_over(sched, &group.span);
            ensure!(kept == sum, "{id:?} of {} has {kept:?}, but its CPUs add up to {sum:?}", group.span);
        }
    }
    for id in sched.domains.domains.ids() {
        let span = &sched.domains.domains[id].span;
        if let Some(kept) = tallies.domain(id) {
            let sum = sum_over(sched, span);
            ensure!(*kept == sum, "{id:?} of {span} has {kept:?}, but its CPUs add up to {sum:?}");
        }
    }
    let (kept, now) = (sched.max_balance_interval, max_balance_interval(sched.hz, &sched.hotplug.online));
    ensure!(kept == now, "the longest interval between passes is {kept} ticks, not {now}");
    sched.cpu_ids().try_for_each(|cpu| check_wider_domains(sched, cpu))
}

/// Checks the summary of the domains of a CPU above its base domain, if it is known.
fn check_wider_domains(sched: &Sched, cpu: CpuId) -> CheckResult {
    let kept = sched.nohz.cpus[cpu].wider;
    if kept != WiderDomains::UNKNOWN {
        let wider = || sched.domains.chain(cpu).skip(1).map(|sd| (sd, &sched.domains.domains[sd]));
        let due = wider().map(|(sd, domain)| domain.last_balance + sched.get_sd_balance_interval(sd, false)).min();
        ensure!(due == Some(kept.due), "wider domains of {cpu:?} are due at {due:?}, not {}", kept.due);
        let decays = wider().map(|(_, domain)| domain.last_decay_max_lb_cost + sched.hz).min();
        ensure!(
            decays >= Some(kept.decays_after),
            "costs of {cpu:?} decay after {decays:?}, not {}",
            kept.decays_after
        );
    }
    Ok(())
}

fn sum_over(sched: &Sched, cpus: &CpuMask) -> LbSample {
    cpus.iter().fold(LbSample::default(), |sum, cpu| sum.plus(sched.lb_cache.cpu(cpu)))
}
