// SPDX-License-Identifier: GPL-2.0-or-later
//! Changes of class while tasks run, wait, sleep or are throttled: no invariant breaks, and no time is lost.

use crate::common::run;

const POLICIES: [&str; 6] = ["fair", "batch", "idlepol", "fifo=10", "rr=10", "dl=1ms/8ms/10ms"];

/// Random-number generator: the high bits of a linear congruential generator.
struct TestRandom(u64);

impl TestRandom {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

/// The CPU has work all the time, so its tasks run all the time, except for limits of their class.
#[test]
fn every_change_of_policy_of_a_running_and_of_a_waiting_task_keeps_all_invariants() {
    for from in POLICIES {
        for to in POLICIES {
            // At 7 ms one of the two runs and the other one waits or is throttled. Both change, one after the
            // other.
            let tasks = format!("task t n=2 {from} run 3ms sleep 100us\ntask bg run 5ms\n");
            let changes =
                format!("policy 7ms t0 {to}\npolicy 9ms t1 {to}\npolicy 17ms t0 {from}\npolicy 25ms t1 {from}");
            let run = run(&format!("cpus 1\nend 40ms\n{tasks}{changes}"));
            assert_eq!(run.log.changes.len(), 4, "{from} to {to}");
            assert!(run.log.changes.iter().all(|change| change.2 == 0), "{from} to {to}: {:?}", run.log.changes);
            let all: f64 = ["t0", "t1", "bg"].map(|task| run.runtime_ms(task)).iter().sum();
            assert!((all - 40.0).abs() < 1e-6, "{from} to {to}: {all} ms of 40");
            for task in ["t0", "t1"] {
                let task = run.task(task);
                assert_eq!(task.class, task.policy.class());
            }
        }
    }
}

#[test]
fn random_changes_of_everything_keep_all_invariants() {
    for seed in 0..60 {
        let mut random = TestRandom(seed);
        let mut text = String::from(
            "cpus 4\ntopo smt=2\nend 100ms\nipi 1us\ngroup g quota=10ms period=20ms\ngroup h shares=300\n",
        );
        for task in 0..6 {
            let policy = POLICIES[random.below(6) as usize];
            let (run_us, sleep_us) = (100 + random.below(4000), random.below(3000));
            text += &format!("task t{task} {policy} run {run_us}us sleep {sleep_us}us\n");
        }
        for _ in 0..60 {
            let (at, task) = (random.below(100_000), random.below(6));
            text += &match random.below(8) {
                0..=3 => format!("policy {at}us t{task} {}\n", POLICIES[random.below(6) as usize]),
                4 => format!("nice {at}us t{task} {}\n", random.below(40) as i64 - 20),
                5 => format!("affinity {at}us t{task} {}-3\n", random.below(4)),
                6 => format!("move {at}us t{task} {}\n", ["/", "g", "h"][random.below(3) as usize]),
                _ => format!("clamp {at}us t{task} {} 1024\n", random.below(1024)),
            };
        }
        run(&text);
    }
}
