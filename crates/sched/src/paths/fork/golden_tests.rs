// SPDX-License-Identifier: GPL-2.0-or-later
//! First utilisation of new tasks, compared with recorded kernel values.

use crate::golden::{CPU, GoldenTestMachine, compared, number, recording};
use crate::types::ids::CfsRqId;
use crate::types::pelt::SchedAvg;
use crate::types::weight::LoadWeight;

#[test]
fn first_utilisation_of_a_new_task() {
    let mut rig = GoldenTestMachine::new();
    let (task, entity) = rig.task();
    let mut nr_compared = 0;
    for line in recording("vec-arith-core-6.1.jsonl.zst").iter().filter(|line| line["f"] == "post_init_util") {
        let se = &mut rig.sched.fair.entities[entity];
        se.load = LoadWeight::new(number(&line["w"]));
        se.avg = SchedAvg { load_avg: se.weight(), ..SchedAvg::default() };
        let avg = &mut rig.sched.fair.cfs_rqs[CfsRqId::root(CPU)].avg;
        (avg.util_avg, avg.load_avg) = (number(&line["cfs_util"]), number(&line["cfs_load"]));
        rig.sched.state.fair.post_init_entity_util_avg(
            &rig.sched.state.rqs,
            &rig.sched.state.rules,
            &rig.sched.state.tasks[task],
        );
        let avg = &rig.sched.fair.entities[entity].avg;
        let actual = (avg.util_avg, avg.runnable_avg);
        assert_eq!(actual, (number(&line["util"]), number(&line["runnable"])), "{line}");
        nr_compared += 1;
    }
    compared("post_init_entity_util_avg", nr_compared, 1000);
}
