// SPDX-License-Identifier: GPL-2.0-or-later
//! Golden tests of virtual time, eligibility, pick, placement and lag on random cfs_rqs.

use crate::golden::{CPU, GoldenTestMachine, columns, compared, fill_cfs_rq, number, recording};
use crate::state::State;
use crate::types::ids::{CfsRqId, EntityId};
use crate::types::series::KernelSeries;
use crate::types::tunables::Tunables;
use crate::types::weight::LoadWeight;
use serde_json::Value;
use std::vec::Vec;

/// Number of CPUs of the recorded machine, on which the base slice depends.
const NR_CPUS: usize = 16;

impl State {
    fn avg_vruntime(&mut self, cfs_rq: CfsRqId) -> u64 {
        self.fair.cfs_rqs[cfs_rq].avg_vruntime(&self.fair.entities)
    }
}

/// Fills a root cfs_rq with the entities of a line. Returns them all.
fn fill(rig: &mut GoldenTestMachine, line: &Value) -> Vec<EntityId> {
    let (cfs_rq, base_slice_ns) = (CfsRqId::root(CPU), rig.sched.tunables.base_slice_ns);
    rig.sched.fair.cfs_rqs[cfs_rq].virtual_time.zero_vruntime = number(&line["base"]);
    fill_cfs_rq(rig, line, |se, entity| {
        let [weight, vruntime, deadline, vlag] = columns(entity);
        (se.load, se.vruntime, se.deadline, se.vlag) = (LoadWeight::new(weight), vruntime, deadline, vlag as i64);
        se.slice = base_slice_ns;
    })
}

#[test]
fn virtual_time_eligibility_pick_placement_and_lag() {
    let (mut nr_states, mut nr_entities) = (0, 0);
    for line in recording("vec-entity-6.12.jsonl.zst") {
        let mut rig = GoldenTestMachine::new();
        rig.sched.set_series(KernelSeries::V6_12);
        rig.sched.tunables = Tunables::of_machine(KernelSeries::V6_12, NR_CPUS);
        let ids = fill(&mut rig, &line);
        let cfs_rq = CfsRqId::root(CPU);
        assert_eq!(rig.sched.state.avg_vruntime(cfs_rq), number(&line["avg_vruntime"]), "virtual time of {line}");
        for (&id, eligible) in ids.iter().zip(line["eligible"].as_array().expect("one for each queued entity")) {
            assert_eq!(u64::from(rig.sched.fair.entity_eligible(cfs_rq, id)), number(eligible), "{id:?} of {line}");
            nr_entities += 1;
        }
        // The slice of the running entity was not protected when the pick was recorded.
        let curr = rig.sched.fair.cfs_rqs[cfs_rq].curr;
        if let Some(curr) = curr {
            let se = &mut rig.sched.fair.entities[curr];
            se.vlag = se.deadline.wrapping_sub(1) as i64;
        }
        let pick = rig
            .sched
            .state
            .fair
            .pick_eevdf(rig.sched.state.features, cfs_rq)
            .and_then(|(pick, _)| ids.iter().position(|&id| id == pick));
        assert_eq!(pick, usize::try_from(line["pick"].as_i64().expect("an index")).ok(), "pick of {line}");
        let placed = *ids.last().expect("there is at least one entity");
        let before = rig.sched.fair.entities[placed].clone();
        let [is_initial, vruntime, deadline] = columns(&line["place"]);
        rig.sched.state.fair.place_entity_eevdf(
            rig.sched.state.features,
            &rig.sched.state.tunables,
            cfs_rq,
            placed,
            is_initial == 1,
        );
        let se = &mut rig.sched.fair.entities[placed];
        assert_eq!((se.vruntime, se.deadline), (vruntime, deadline), "place of {line}");
        *se = before;
        let avg_vruntime = rig.sched.state.avg_vruntime(cfs_rq);
        let tick_ns = rig.sched.tick_ns;
        let lag = rig.sched.fair.entities[placed].lag_at(avg_vruntime, tick_ns);
        assert_eq!(Some(lag), line["lag"].as_i64(), "lag of {line}");
        nr_states += 1;
    }
    compared("avg_vruntime, pick_eevdf, place_entity and entity_lag", nr_states, 1500);
    compared("entity_eligible", nr_entities, 6798);
}
