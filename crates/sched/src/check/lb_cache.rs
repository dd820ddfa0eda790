// SPDX-License-Identifier: GPL-2.0-or-later
//! Invariants of tallies, and of figures that follow from which CPUs are online.

use crate::check::{Checked, ensure};
use crate::paths::sched::Sched;
use crate::state::all::max_balance_interval;
use crate::state::lb_cache::LbSample;
use crate::types::cpumask::CpuMask;

/// What is not noted is what the runqueue says, and sums are those of the figures.
pub(crate) fn check(sched: &Sched) -> Checked {
    let tallies = &sched.tallies;
    for cpu in sched.cpu_ids() {
        let (kept, now) = (*tallies.cpu(cpu), sched.tally_of(cpu));
        ensure!(
            kept == now || tallies.is_noted(cpu),
            "{cpu:?} has changed from {kept:?} to {now:?}, and nobody noted it"
        );
        let (in_idle, in_busy) = (tallies.idle().contains(cpu), tallies.busy().contains(cpu));
        ensure!(in_idle == (kept.idle_cpus > 0), "{cpu:?} is among the idle: {in_idle}, but has {kept:?}");
        ensure!(in_busy == (kept.h_nr_running > 0), "{cpu:?} is among the busy: {in_busy}, but has {kept:?}");
    }
    for id in sched.domains.groups.ids() {
        let group = &sched.domains.groups[id];
        if let Some(kept) = tallies.group(id) {
            let sum = sum_over(sched, &group.span);
            ensure!(kept == sum, "{id:?} of {} has {kept:?}, its CPUs {sum:?}", group.span);
        }
    }
    for id in sched.domains.domains.ids() {
        let span = &sched.domains.domains[id].span;
        if let Some(kept) = tallies.domain(id) {
            let sum = sum_over(sched, span);
            ensure!(*kept == sum, "{id:?} of {span} has {kept:?}, its CPUs {sum:?}");
        }
    }
    let (kept, now) = (sched.max_balance_interval, max_balance_interval(sched.hz, &sched.hotplug.online));
    ensure!(kept == now, "the longest interval between passes is {kept}, not {now}");
    Ok(())
}

fn sum_over(sched: &Sched, cpus: &CpuMask) -> LbSample {
    cpus.iter().fold(LbSample::default(), |sum, cpu| sum.plus(sched.tallies.cpu(cpu)))
}
