// SPDX-License-Identifier: GPL-2.0-or-later
//! Averages after each of many updates, against recordings: bare averages, those of entities, of cfs_rqs, and
//! of other classes.

use crate::golden::{CPU, GoldenTestMachine, avg_columns, avg_from, columns, compared, number, recording, steps};
use crate::track::pelt::attach::advance_entity;
use crate::track::pelt::other::{update_irq, update_thermal};
use crate::types::ids::{CfsRqId, EntityId};
use crate::types::pelt::{Contribution, ContributionScale, SchedAvg};
use crate::types::weight::LoadWeight;

/// Compares the result of step `index` with the recording.
fn check(line: &serde_json::Value, index: usize, actual: (bool, &SchedAvg), kernels: (u64, [u64; 8])) {
    assert_eq!(
        (u64::from(actual.0), avg_columns(actual.1)),
        kernels,
        "sequence {}, step {index}: refreshed, [last_update_time, load_sum, runnable_sum, util_sum, period_contrib, \
         load_avg, runnable_avg, util_avg], of fairlab and of the kernel",
        line["seq"]
    );
}

#[test]
fn sums_and_averages_of_bare_averages() {
    let mut nr_compared = 0;
    for line in recording("pelt-raw.jsonl.zst") {
        let mut avg = avg_from(columns(&line["init"]));
        for (index, step) in steps(&line).iter().enumerate() {
            let [now, load, runnable, running, weight, refreshed, expected @ ..] = columns::<14>(step);
            let what = Contribution { load, runnable, running: running != 0 };
            let actual = avg.update(now, what, weight, None);
            check(&line, index, (actual, &avg), (refreshed, expected));
            nr_compared += 1;
        }
    }
    compared("___update_load_sum, ___update_load_avg", nr_compared, 37_650);
}

#[test]
fn averages_of_entities() {
    let mut nr_compared = 0;
    for line in recording("pelt-se.jsonl.zst") {
        let mut rig = GoldenTestMachine::new();
        let entity = if number(&line["group"]) != 0 { rig.group().1 } else { rig.task().1 };
        let cfs_rq = CfsRqId::root(CPU);
        rig.sched.fair.entities[entity].avg = avg_from(columns(&line["init"]));
        for (index, step) in steps(&line).iter().enumerate() {
            let [now, blocked, on_rq, runnable_weight, weight, is_curr, refreshed, expected @ ..] = columns::<15>(step);
            let se = &mut rig.sched.fair.entities[entity];
            se.set_on_rq(on_rq != 0);
            if se.task().is_none() {
                se.runnable_weight = runnable_weight;
            }
            se.load = LoadWeight::new(weight);
            rig.sched.fair.cfs_rqs[cfs_rq].curr = (is_curr != 0).then_some(entity);
            let actual = rig.with(|sched, ctx| {
                if blocked != 0 {
                    sched.fair.update_load_avg_blocked_se(ctx, now, entity)
                } else {
                    advance_entity(ctx, sched.features, &mut sched.fair.entities[entity], is_curr != 0, now, None)
                }
            });
            check(&line, index, (actual, &rig.sched.fair.entities[entity].avg), (refreshed, expected));
            nr_compared += 1;
        }
    }
    compared("__update_load_avg_se, __update_load_avg_blocked_se", nr_compared, 25_301);
}

#[test]
fn averages_of_cfs_rqs() {
    let mut nr_compared = 0;
    for line in recording("pelt-cfsrq.jsonl.zst") {
        let mut rig = GoldenTestMachine::new();
        let id = CfsRqId::root(CPU);
        rig.sched.fair.cfs_rqs[id].avg = avg_from(columns(&line["init"]));
        for (index, step) in steps(&line).iter().enumerate() {
            let [now, weight, h_nr_running, has_curr, refreshed, expected @ ..] = columns::<13>(step);
            let cfs_rq = &mut rig.sched.fair.cfs_rqs[id];
            cfs_rq.load = LoadWeight::new(weight);
            (cfs_rq.h_nr_running, cfs_rq.h_nr_runnable) = (h_nr_running as u32, h_nr_running as u32);
            cfs_rq.curr = (has_curr != 0).then_some(EntityId(0));
            let actual = rig.with(|sched, ctx| {
                let scale = sched.rqs[CPU].contribution_scale(&sched.tunables);
                sched.fair.cfs_rqs[id].update_load_avg(ctx, now, scale)
            });
            check(&line, index, (actual, &rig.sched.fair.cfs_rqs[id].avg), (refreshed, expected));
            nr_compared += 1;
        }
    }
    compared("__update_load_avg_cfs_rq", nr_compared, 18_598);
}

#[test]
fn averages_of_other_classes_of_interrupts_and_of_heat() {
    let mut nr_compared = 0;
    let mut rig = GoldenTestMachine::new();
    for line in recording("pelt-rtdlirq.jsonl.zst") {
        let mut avg = avg_from(columns(&line["init"]));
        (rig.sched.rqs[CPU].avg_rt, rig.sched.rqs[CPU].avg_dl) = (avg, avg);
        for (index, step) in steps(&line).iter().enumerate() {
            let [now, amount, frequency, capacity, refreshed, expected @ ..] = columns::<13>(step);
            let actual = match line["kind"].as_str().expect("a kind") {
                "rt" => rig.with(|sched, ctx| {
                    sched.state.rqs[CPU].clock_pelt = now;
                    let actual = sched.state.rqs[CPU].update_rt_rq_load_avg(ctx, &sched.state.tunables, amount != 0);
                    avg = sched.rqs[CPU].avg_rt;
                    actual
                }),
                "dl" => rig.with(|sched, ctx| {
                    sched.state.rqs[CPU].clock_pelt = now;
                    let actual = sched.state.rqs[CPU].update_dl_rq_load_avg(ctx, &sched.state.tunables, amount != 0);
                    avg = sched.rqs[CPU].avg_dl;
                    actual
                }),
                "thermal" => update_thermal(&mut avg, now, amount),
                "irq" => update_irq(&mut avg, now, amount, ContributionScale { frequency, capacity }, true),
                kind => panic!("unknown kind {kind}"),
            };
            // The kernel adds up the results of its two updates of the interrupt average.
            check(&line, index, (actual, &avg), (refreshed.min(1), expected));
            nr_compared += 1;
        }
    }
    compared("update_{rt,dl}_rq_load_avg, update_irq_load_avg, update_thermal_load_avg", nr_compared, 20_077);
}

/// The recording was made by a re-derivation of PELT before 5.1, not by a kernel of that time.
///
/// It scales as `pelt_contribution` does, but sums runnable *load* where 6.1 sums runnable tasks: with the
/// contribution of the load and no shift. So its two columns must equal those of the load here too. It has no
/// `runnable_sum`.
#[test]
fn averages_before_5_1_with_scaled_contributions() {
    let mut nr_compared = 0;
    for line in recording("pelt-before-5.1-rederived.jsonl.zst") {
        let mut avg = SchedAvg { last_update_time: number(&line["t0"]), ..SchedAvg::default() };
        let weight = number(&line["weight"]);
        for (index, step) in steps(&line).iter().enumerate() {
            let [now, on_rq, running, frequency, capacity, expected @ ..] = columns::<14>(step);
            let what = Contribution { load: on_rq, runnable: on_rq, running: running != 0 };
            let actual = avg.update(now, what, weight, Some(ContributionScale { frequency, capacity }));
            let columns = [
                u64::from(actual),
                avg.last_update_time,
                avg.load_sum,
                avg.load_sum,
                u64::from(avg.util_sum),
                u64::from(avg.period_contrib),
                avg.load_avg,
                avg.load_avg,
                avg.util_avg,
            ];
            assert_eq!(columns, expected, "sequence {}, step {index}", line["seq"]);
            nr_compared += 1;
        }
    }
    compared("scaled contributions (re-derived)", nr_compared, 12_388);
}
