// SPDX-License-Identifier: GPL-2.0-or-later
//! Golden tests of slices, placement and preemption on random cfs_rqs.

use crate::classes::fair::cfs::place::Placement;
use crate::classes::fair::cfs::preempt::VruntimeLead;
use crate::golden::{CPU, GoldenTestMachine, columns, compared, fill_cfs_rq, number, recording};
use crate::types::ids::{CfsRqId, EntityId};
use crate::types::series::KernelSeries;
use crate::types::tunables::Tunables;
use crate::types::weight::LoadWeight;
use serde_json::Value;
use std::vec::Vec;

/// Number of CPUs of the recorded machine, on which tunables depend.
const NR_CPUS: usize = 16;

/// Fills a root cfs_rq with the entities of a line. Returns them all.
fn fill(rig: &mut GoldenTestMachine, line: &Value) -> Vec<EntityId> {
    let ids = fill_cfs_rq(rig, line, |se, entity| {
        let [weight, vruntime] = columns(entity);
        (se.load, se.vruntime) = (LoadWeight::new(weight), vruntime);
    });
    let cfs_rq = CfsRqId::root(CPU);
    rig.sched.fair.cfs_rqs[cfs_rq].min_vruntime = number(&line["base"]);
    ids
}

#[test]
fn slices_places_and_preemption() {
    let (mut nr_states, mut nr_slices, mut nr_preemptions) = (0, 0, 0);
    for line in recording("vec-entity-6.1.jsonl.zst") {
        let mut rig = GoldenTestMachine::new();
        rig.sched.tunables = Tunables::of_machine(KernelSeries::V6_1, NR_CPUS);
        let ids = fill(&mut rig, &line);
        let cfs_rq = CfsRqId::root(CPU);
        for (&id, slices) in ids.iter().zip(line["slice"].as_array().expect("slices")) {
            let actual = [
                rig.sched.state.fair.sched_slice(
                    &rig.sched.state.tasks,
                    rig.sched.state.features,
                    &rig.sched.state.tunables,
                    cfs_rq,
                    id,
                ),
                rig.sched.state.fair.sched_vslice(
                    &rig.sched.state.tasks,
                    rig.sched.state.features,
                    &rig.sched.state.tunables,
                    cfs_rq,
                    id,
                ),
            ];
            assert_eq!(actual, columns(slices), "{id:?} of {line}");
            nr_slices += 1;
        }
        for (&id, lead) in ids[1..].iter().zip(line["preempt0"].as_array().expect("leads")) {
            let actual = match rig.sched.state.fair.wakeup_preempt_entity(
                ids[0],
                id,
                rig.sched.state.tunables.wakeup_granularity_ns,
            ) {
                VruntimeLead::Behind => -1,
                VruntimeLead::Within => 0,
                VruntimeLead::Beyond => 1,
            };
            assert_eq!(Some(actual), lead.as_i64(), "{id:?} of {line}");
            nr_preemptions += 1;
        }
        let placed = *ids.last().expect("there is at least one entity");
        let vruntime = rig.sched.fair.entities[placed].vruntime;
        for (why, key) in [(Placement::Initial, "place_initial"), (Placement::Wakeup, "place_wakeup")] {
            rig.sched.fair.entities[placed].vruntime = vruntime;
            rig.sched.place_entity_cfs(cfs_rq, placed, why);
            assert_eq!(rig.sched.fair.entities[placed].vruntime, number(&line[key]), "{key} of {line}");
        }
        nr_states += 1;
    }
    compared("place_entity, initial and at wake-up", nr_states, 1500);
    compared("sched_slice and sched_vslice", nr_slices, 6582);
    compared("wakeup_preempt_entity", nr_preemptions, 5082);
}
