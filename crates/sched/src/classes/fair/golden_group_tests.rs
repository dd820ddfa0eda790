// SPDX-License-Identifier: GPL-2.0-or-later
//! Golden tests of group-entity weights and of changes of weight.

use crate::golden::{CPU, GoldenTestMachine, columns, compared, number, recording};
use crate::types::ids::CfsRqId;
use crate::types::pelt::SchedAvg;
use crate::types::weight::LoadWeight;

#[test]
fn the_weight_of_a_group_on_one_cpu() {
    let mut rig = GoldenTestMachine::new();
    let (group, entity) = rig.group();
    let cfs_rq = rig.sched.fair.cfs_rq_of_group(group, CPU);
    let mut nr_compared = 0;
    for line in recording("vec-arith-core-6.1.jsonl.zst").iter().filter(|line| line["f"] == "calc_group_shares") {
        let below = &mut rig.sched.fair.cfs_rqs[cfs_rq];
        below.load = LoadWeight::new(number(&line["w"]));
        below.avg.load_avg = number(&line["load_avg"]);
        below.tg_load_avg_contrib = number(&line["contrib"]);
        let group = &mut rig.sched.fair.groups[group];
        group.shares = number(&line["shares"]);
        group.load_avg = number(&line["tg_load_avg"]) as i64;
        rig.with(|sched, ctx| sched.update_cfs_group(ctx, entity));
        assert_eq!(rig.sched.fair.entities[entity].load.weight, number(&line["out"]), "{line}");
        nr_compared += 1;
    }
    compared("calc_group_shares", nr_compared, 3000);
}

#[test]
fn an_entity_gets_another_weight() {
    let mut rig = GoldenTestMachine::new();
    let (_, entity) = rig.task();
    let mut nr_compared = 0;
    for line in recording("vec-arith-core-6.1.jsonl.zst").iter().filter(|line| line["f"] == "reweight_entity") {
        let period_contrib = number(&line["pc"]) as u32;
        let average = |key: &str| {
            let [load_sum, load_avg] = columns(&line[key]);
            SchedAvg { load_sum, load_avg, period_contrib, ..SchedAvg::default() }
        };
        let se = &mut rig.sched.fair.entities[entity];
        se.load = LoadWeight::new(number(&line["w0"]));
        se.avg = average("se");
        rig.sched.fair.cfs_rqs[CfsRqId::root(CPU)].avg = average("cfs");
        let weight = number(&line["w1"]);
        rig.with(|sched, ctx| sched.reweight_entity(ctx, entity, weight));
        let se = &rig.sched.fair.entities[entity];
        assert_eq!(se.load.weight, weight, "{line}");
        assert_eq!([se.avg.load_sum, se.avg.load_avg], columns(&line["se1"]), "{line}");
        let sums = &rig.sched.fair.cfs_rqs[CfsRqId::root(CPU)].avg;
        assert_eq!([sums.load_sum, sums.load_avg], columns(&line["cfs1"]), "{line}");
        nr_compared += 1;
    }
    compared("reweight_entity", nr_compared, 3000);
}
