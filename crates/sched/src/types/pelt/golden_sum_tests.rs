// SPDX-License-Identifier: GPL-2.0-or-later
//! Golden tests of the series, of attaching and detaching averages, and of estimated utilisation.

use crate::golden::{CPU, GoldenTestMachine, columns, compared, number, numbers, recording, steps};
use crate::types::ids::CfsRqId;
use crate::types::pelt::SchedAvg;
use crate::types::pelt::decay::{accumulate_segments, decay_load};
use crate::types::pelt::util_est::{UTIL_AVG_UNCHANGED, UtilEst};
use crate::types::units::SCHED_CAPACITY_SCALE;
use crate::types::weight::LoadWeight;
use serde_json::Value;

#[test]
fn the_geometric_series() {
    let mut nr_compared = 0;
    for line in recording("pelt-decay.jsonl.zst") {
        let of = |key: &str| number(&line[key]);
        match line["t"].as_str().expect("a kind") {
            "decay" => {
                for (periods, expected) in (of("n0")..).zip(numbers(&line["out"])) {
                    assert_eq!(decay_load(of("val"), periods), expected, "{} after {periods}", line["val"]);
                    nr_compared += 1;
                }
            }
            "decay1" => {
                assert_eq!(decay_load(of("val"), of("n")), of("out"), "{line}");
                nr_compared += 1;
            }
            "segments" => {
                let actual = accumulate_segments(of("periods"), of("d1") as u32, of("d3") as u32);
                assert_eq!(u64::from(actual), of("out"), "{line}");
                nr_compared += 1;
            }
            kind => panic!("unknown kind {kind}"),
        }
    }
    compared("decay_load, __accumulate_pelt_segments", nr_compared, 22 * 2021 + 4072 + 4000);
}

fn arithmetic(function: &str) -> impl Iterator<Item = Value> {
    let lines = recording("vec-arith-core-6.1.jsonl.zst").into_iter();
    lines.filter(move |line| line["f"] == function)
}

fn sums(avg: &SchedAvg) -> [u64; 6] {
    let util_sum = u64::from(avg.util_sum);
    [avg.load_sum, avg.runnable_sum, util_sum, avg.load_avg, avg.runnable_avg, avg.util_avg]
}

#[test]
fn an_entity_is_attached_and_detached() {
    let mut rig = GoldenTestMachine::new();
    let (_, entity) = rig.task();
    let cfs_rq = CfsRqId::root(CPU);
    let mut nr_compared = 0;
    for line in arithmetic("attach_detach") {
        let [load_avg, runnable_avg, util_avg] = columns(&line["se"]);
        let se = &mut rig.sched.fair.entities[entity];
        se.load = LoadWeight::new(number(&line["w"]));
        se.avg = SchedAvg { load_avg, runnable_avg, util_avg, ..SchedAvg::default() };
        let [load_sum, runnable_sum, util_sum, load_avg, runnable_avg, util_avg] = columns(&line["cfs"]);
        rig.sched.fair.cfs_rqs[cfs_rq].avg = SchedAvg {
            load_sum,
            runnable_sum,
            util_sum: util_sum as u32,
            period_contrib: number(&line["pc"]) as u32,
            load_avg,
            runnable_avg,
            util_avg,
            ..SchedAvg::default()
        };
        rig.sched.fair.attach_entity_load_avg(cfs_rq, entity);
        let avg = &mut rig.sched.fair.entities[entity].avg;
        let attached = [avg.load_sum, avg.runnable_sum, u64::from(avg.util_sum), u64::from(avg.period_contrib)];
        assert_eq!(attached, columns(&line["se1"]), "{line}");
        let [util_sum, util_avg] = columns(&line["util2"]);
        (avg.util_sum, avg.util_avg) = (util_sum as u32, util_avg);
        assert_eq!(sums(&rig.sched.fair.cfs_rqs[cfs_rq].avg), columns(&line["cfs1"]), "{line}");
        rig.sched.fair.detach_entity_load_avg(cfs_rq, entity);
        assert_eq!(sums(&rig.sched.fair.cfs_rqs[cfs_rq].avg), columns(&line["cfs2"]), "{line}");
        nr_compared += 1;
    }
    compared("attach_entity_load_avg, detach_entity_load_avg", nr_compared, 2000);
}

#[test]
fn utilisation_is_remembered() {
    let mut nr_compared = 0;
    for line in arithmetic("util_est_update") {
        let mut util_est = UtilEst::default();
        for (index, step) in steps(&line).iter().enumerate() {
            let [util, _runnable, is_unchanged, enqueued, ewma] = columns(step);
            util_est.enqueued &= !UTIL_AVG_UNCHANGED;
            util_est.enqueued |= (is_unchanged as u32) * UTIL_AVG_UNCHANGED;
            util_est.sample(util, true, SCHED_CAPACITY_SCALE);
            let actual = [u64::from(util_est.enqueued), u64::from(util_est.ewma)];
            assert_eq!(actual, [enqueued, ewma], "step {index} of {line}");
            nr_compared += 1;
        }
    }
    compared("util_est_update", nr_compared, 200 * 40);
}
