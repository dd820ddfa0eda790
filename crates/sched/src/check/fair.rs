// SPDX-License-Identifier: GPL-2.0-or-later
//! Invariants of cfs_rqs: counts and sums, the order of the entities, and the running entity.

use crate::check::{CheckResult, ensure};
use crate::paths::sched::Sched;
use crate::state::entity::{EntityOwner, SchedEntity, vruntime_before};
use crate::state::rq::cfs_rq::CfsRq;
use crate::state::rq::virtual_time::VirtualTime;
use crate::types::ids::{CfsRqId, EntityId};

/// Counts and sums of a cfs_rq, recomputed from its entities.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct FairRecount {
    nr_running: u32,
    h_nr_running: u32,
    idle_nr_running: u32,
    idle_h_nr_running: u32,
    h_nr_runnable: u32,
    weight: u64,
}

pub(crate) fn check(sched: &Sched, recounts: &mut alloc::vec::Vec<FairRecount>) -> CheckResult {
    count(sched, recounts);
    for (index, (cfs_rq, recount)) in sched.fair.cfs_rqs.iter().zip(&*recounts).enumerate() {
        let id = CfsRqId::from_index(index);
        let kept = FairRecount {
            nr_running: cfs_rq.nr_running,
            h_nr_running: cfs_rq.h_nr_running,
            idle_nr_running: cfs_rq.idle_nr_running,
            idle_h_nr_running: cfs_rq.idle_h_nr_running,
            h_nr_runnable: cfs_rq.h_nr_runnable,
            weight: cfs_rq.load.weight,
        };
        let place = (cfs_rq.cpu, cfs_rq.group);
        ensure!(kept == *recount, "{id:?} {place:?} has {kept:?}, but its entities add up to {recount:?}");
        check_timeline(sched, id, cfs_rq)?;
        check_marks(sched, id, cfs_rq)?;
        check_average(id, cfs_rq)?;
        if sched.rules.fair_is_eevdf {
            check_lags(sched, id, cfs_rq, &cfs_rq.virtual_time)?;
        }
    }
    for (index, se) in sched.fair.entities.iter().enumerate() {
        check_entity(sched, EntityId::from_index(index), se)?;
    }
    check_running(sched)
}

fn count(sched: &Sched, tallies: &mut alloc::vec::Vec<FairRecount>) {
    tallies.clear();
    tallies.resize(sched.fair.cfs_rqs.len(), FairRecount::default());
    for (index, se) in sched.fair.entities.iter().enumerate().filter(|(_, se)| se.on_rq) {
        let is_idle = sched.state.fair.se_is_idle(&sched.state.tasks, EntityId::from_index(index));
        let (h_nr_running, idle_h_nr_running, h_nr_runnable) = match se.owner {
            EntityOwner::Task(_) => (1, u32::from(is_idle), u32::from(!se.is_delayed)),
            EntityOwner::Group(below) => {
                let below = &sched.fair.cfs_rqs[below];
                let all_or_some = if below.is_idle { below.h_nr_running } else { below.idle_h_nr_running };
                (below.h_nr_running, all_or_some, below.h_nr_runnable)
            }
        };
        let recount = &mut tallies[se.cfs_rq.index()];
        recount.nr_running += 1;
        recount.h_nr_running += h_nr_running;
        recount.idle_nr_running += u32::from(is_idle);
        recount.idle_h_nr_running += idle_h_nr_running;
        recount.h_nr_runnable += h_nr_runnable;
        recount.weight += se.load.weight;
    }
}

/// Checks that the timeline has every runnable entity except the running one, in the order of virtual time, and in 6.12
/// of virtual deadlines.
fn check_timeline(sched: &Sched, id: CfsRqId, cfs_rq: &CfsRq) -> CheckResult {
    let mut before: Option<u64> = None;
    for (key, entity) in cfs_rq.timeline.iter() {
        let se = &sched.fair.entities[entity];
        let own_key = if sched.rules.sorts_by_deadline { se.deadline } else { se.vruntime };
        ensure!(se.on_rq && se.cfs_rq == id && own_key == key, "{entity:?} waits on {id:?} with {key}, but is {se:?}");
        ensure!(
            before.is_none_or(|before| !vruntime_before(key, before)),
            "{entity:?} waits on {id:?} with {key} behind an entity with {before:?}"
        );
        ensure!(cfs_rq.curr != Some(entity), "{entity:?} runs on {id:?} and waits there");
        before = Some(key);
    }
    let nr_curr = cfs_rq.curr.is_some_and(|curr| sched.fair.entities[curr].on_rq) as usize;
    let (nr_waiting, nr_running) = (cfs_rq.timeline.len(), cfs_rq.nr_running as usize);
    ensure!(
        nr_waiting + nr_curr == nr_running,
        "{id:?} has {nr_running} entities, but {nr_waiting} wait and {nr_curr} run"
    );
    Ok(())
}

/// Checks the sums of the virtual time of 6.12, and that lags are conserved: weighted with the entities' weights they
/// add up to zero, but for the rounding of the virtual time.
fn check_lags(sched: &Sched, id: CfsRqId, cfs_rq: &CfsRq, kept: &VirtualTime) -> CheckResult {
    let mut recounted = VirtualTime { sum_w_vruntime: 0, sum_weight: 0, ..*kept };
    for (_, entity) in cfs_rq.timeline.iter() {
        let se = &sched.fair.entities[entity];
        recounted.add(se.vruntime, se.weight() as i64);
    }
    ensure!(*kept == recounted, "{id:?} has {kept:?}, but its waiting entities add up to {recounted:?}");
    let has_slices = cfs_rq.slice_tree.min_slice().is_some();
    ensure!(has_slices != cfs_rq.timeline.is_empty(), "the slices of {id:?} are not those of its waiting entities");
    let running = cfs_rq.curr.filter(|curr| sched.fair.entities[*curr].on_rq);
    let virtual_time = kept.clone().advance(cfs_rq.running_entity(&sched.fair.entities));
    let waiting = cfs_rq.timeline.iter().map(|(_, entity)| entity);
    let (mut surplus, mut weight) = (0_i128, 0_i128);
    for se in waiting.chain(running).map(|entity| &sched.fair.entities[entity]) {
        surplus += i128::from(se.vruntime.wrapping_sub(virtual_time) as i64) * i128::from(se.weight());
        weight += i128::from(se.weight());
    }
    ensure!(
        weight == 0 || (0..weight).contains(&surplus),
        "lags of {id:?} add up to {} at virtual time {virtual_time}, with a weight of {weight}",
        -surplus
    );
    Ok(())
}

/// Checks that buddies, including the skip buddy, are runnable on their cfs_rq.
fn check_marks(sched: &Sched, id: CfsRqId, cfs_rq: &CfsRq) -> CheckResult {
    for (mark, entity) in [("next", cfs_rq.next), ("last", cfs_rq.last), ("skip", cfs_rq.skip)] {
        let Some(entity) = entity else { continue };
        let se = &sched.fair.entities[entity];
        ensure!(se.on_rq && se.cfs_rq == id, "the buddy {mark} of {id:?} is {entity:?}, which is {se:?}");
    }
    Ok(())
}

fn check_average(id: CfsRqId, cfs_rq: &CfsRq) -> CheckResult {
    let avg = &cfs_rq.avg;
    ensure!(avg.period_contrib < 1024, "period_contrib of {id:?} exceeds a period: {avg:?}");
    Ok(())
}

fn check_entity(sched: &Sched, id: EntityId, se: &SchedEntity) -> CheckResult {
    let cfs_rq = &sched.fair.cfs_rqs[se.cfs_rq];
    ensure!(se.parent == cfs_rq.entity, "{id:?} has parent {:?} on a cfs_rq of {:?}", se.parent, cfs_rq.entity);
    let depth = se.parent.map_or(0, |parent| sched.fair.entities[parent].depth + 1);
    ensure!(se.depth == depth, "{id:?} has depth {} below {:?}", se.depth, se.parent);
    ensure!(se.avg.period_contrib < 1024, "period_contrib of {id:?} exceeds a period: {:?}", se.avg);
    let is_migrating = se.task().is_some_and(|task| sched.tasks[task].is_migrating());
    ensure!(!se.is_delayed || se.on_rq || is_migrating, "the dequeue of {id:?} is delayed, but it is not queued");
    match se.owner {
        EntityOwner::Group(below) => {
            let below = &sched.fair.cfs_rqs[below];
            let (all, runnable) = (u64::from(below.h_nr_running), u64::from(below.h_nr_runnable));
            // When the dequeue of a task is delayed or the task wakes up, 6.12 leaves the entities above as they are.
            let is_right =
                if sched.rules.delays_dequeue { se.runnable_weight <= all } else { se.runnable_weight == runnable };
            ensure!(
                below.throttle_count > 0 || !se.on_rq || is_right,
                "runnable_weight of {id:?} is {}, but the number of runnable tasks below is {runnable} of {all}",
                se.runnable_weight
            );
        }
        EntityOwner::Task(task) => {
            let full = 1024;
            // Load has no such bound: an entity whose weight changes while it is on no cfs_rq returns with
            // its old load, and later weights are applied to that.
            ensure!(
                se.avg.util_avg <= full && se.avg.runnable_avg <= full,
                "averages of {task:?} with weight {} are too large: {:?}",
                se.weight(),
                se.avg
            );
        }
    }
    Ok(())
}

/// Checks that the running task of a CPU and the groups above it are the running entities, and that there are
/// no others.
fn check_running(sched: &Sched) -> CheckResult {
    for rq in &sched.rqs {
        let task = &sched.tasks[rq.curr];
        let is_fair = task.class == crate::state::task::SchedClass::Fair && rq.curr != rq.idle;
        let mut entity = is_fair.then_some(task.se);
        while let Some(id) = entity {
            let (cfs_rq, parent) = sched.fair.place_of(id);
            let curr = sched.fair.cfs_rqs[cfs_rq].curr;
            ensure!(
                curr == Some(id),
                "{:?} runs, but the running entity of {cfs_rq:?} is {curr:?}, not {id:?}",
                rq.curr
            );
            entity = parent;
        }
    }
    for (index, cfs_rq) in sched.fair.cfs_rqs.iter().enumerate() {
        let Some(curr) = cfs_rq.curr else { continue };
        let id = CfsRqId::from_index(index);
        let running = &sched.tasks[sched.rqs[cfs_rq.cpu].curr];
        let mut entity = Some(running.se);
        while entity.is_some_and(|entity| entity != curr) {
            entity = sched.fair.place_of(entity.expect("tested by the loop")).1;
        }
        ensure!(entity == Some(curr), "{curr:?} runs on {id:?}, but is not above {running:?}");
    }
    Ok(())
}
