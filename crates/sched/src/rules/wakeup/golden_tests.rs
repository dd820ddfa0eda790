// SPDX-License-Identifier: GPL-2.0-or-later
//! CPU selections in random states of seven machines, compared with Linux 6.1.192
//! ([`crate::recorded_states`]).
//!
//! A line `wake` has the task that was woken or forked, and the results.

use crate::interface::wakeup::{WakeFlags, WakeupDecision};
use crate::recorded_states::{
    BIGLITTLE8, CLUSTER24, FLAT8, NOW, NUMA32, RecordedState, SMT16, SRV64, TRI8, TopologyShape, recording,
};
use crate::state::task::TaskState;
use crate::state::topology::SdFlags;
use crate::types::ids::CpuId;
use serde_json::Value;
use std::format;
use std::vec::Vec;

impl RecordedState {
    fn place_wakee(&mut self, case: &GoldenWakeup<'_>) {
        let prev = case.cpu("prev");
        let [low, high] = case.pair("allow");
        let p = &mut self.sched.tasks[self.wakee];
        p.cpus_allowed.clear_all();
        (low..=high).for_each(|cpu| p.cpus_allowed.set(CpuId(cpu)));
        p.nr_cpus_allowed = high - low + 1;
        (p.cpu, p.wake_cpu, p.state) = (prev, prev, TaskState::Waking);
        p.recent_used_cpu = case.cpu("recent");
        let [waker_flips, flips] = case.pair("flips");
        p.wakee_flips = flips;
        let (wakee, jiffies) = (self.wakee, self.sched.jiffies);
        let curr = self.sched.curr(case.cpu("this"));
        let waker = &mut self.sched.tasks[curr];
        (waker.wakee_flips, waker.last_wakee, waker.wakee_flip_decay_ts) = (waker_flips, Some(wakee), jiffies);
        let se = self.sched.tasks[wakee].se;
        let se = &mut self.sched.fair.entities[se];
        se.cfs_rq = crate::types::ids::CfsRqId(prev.0);
        se.avg = Default::default();
        se.avg.util_avg = case.number("util") as u64;
        se.avg.runnable_avg = se.avg.util_avg;
        se.avg.load_avg = case.number("load") as u64;
        se.avg.last_update_time = NOW;
    }

    /// Compares all results of a line.
    fn check(&mut self, case: &GoldenWakeup<'_>) {
        self.place_wakee(case);
        let (this_cpu, prev) = (case.cpu("this"), case.cpu("prev"));
        let (sync, fork) = (case.number("sync") == 1, case.number("fork") == 1);
        let flags = WakeFlags { ttwu: !fork, fork, sync, ..WakeFlags::default() };
        let shared: Vec<_> = self.sched.domains.shared.iter().copied().collect();

        assert_eq!(
            i64::from(
                self.sched.tasks[self.sched.rqs[this_cpu].curr]
                    .wake_wide(&self.sched.tasks[self.wakee], self.sched.domains.cpus[this_cpu].sd_llc_size)
            ),
            case.number("wide"),
            "wide: {case:?}"
        );
        assert_eq!(self.affine_target(this_cpu, prev, sync), case.number("affine"), "affine: {case:?}");
        let mut chosen = None;
        self.ctx(this_cpu, |sched, ctx, task| {
            let selection = sched.select_task_rq_fair(ctx, task, prev, flags);
            chosen = Some(sched.finish_selection(ctx, selection));
        });
        let chosen = chosen.expect("a selection");
        assert_eq!(i64::from(chosen.cpu.0), case.number("cpu"), "cpu: {case:?}, {chosen:?}");

        self.sched.domains.shared.iter_mut().zip(&shared).for_each(|(now, before)| *now = *before);
        if !fork {
            self.sched.tasks[self.wakee].recent_used_cpu = case.cpu("recent");
            let mut decision = WakeupDecision::new(self.wakee, prev, this_cpu, flags);
            self.ctx(this_cpu, |sched, ctx, _| {
                let selection = sched.select_idle_sibling(ctx, decision, false);
                decision = sched.finish_selection(ctx, selection);
            });
            assert_eq!(i64::from(decision.cpu.0), case.number("sis_prev"), "sis_prev: {case:?}, {decision:?}");
        }
        for entry in case.0["hic"].as_array().expect("cache domains") {
            let cpu = entry[0].as_u64().expect("a CPU") as usize;
            let shared = self.sched.domains.cpus[CpuId::from_index(cpu)].sd_llc_shared.expect("a cache domain");
            let has_idle_cores = self.sched.domains.shared[shared].has_idle_cores;
            assert_eq!(i64::from(has_idle_cores), entry[1].as_i64().expect("a number"), "hic of {cpu}: {case:?}");
        }
        self.sched.domains.shared.iter_mut().zip(&shared).for_each(|(now, before)| *now = *before);
    }

    /// Returns the target of `wake_affine()` at the first domain with SD_WAKE_AFFINE that contains the
    /// previous CPU; -2 without one.
    fn affine_target(&mut self, this_cpu: CpuId, prev: CpuId, sync: bool) -> i64 {
        let domains = &self.sched.domains;
        let sd = domains.chain(this_cpu).find(|&sd| {
            let domain = &domains.domains[sd];
            domain.flags.contains(SdFlags::WAKE_AFFINE) && domain.span.contains(prev)
        });
        let Some(sd) = sd else { return -2 };
        let flags = WakeFlags { ttwu: true, sync, ..WakeFlags::default() };
        let mut decision = WakeupDecision::new(self.wakee, prev, this_cpu, flags);
        if this_cpu != prev {
            self.ctx(this_cpu, |sched, ctx, _| sched.wake_affine(ctx, sd, &mut decision));
        }
        i64::from(decision.target.0)
    }
}

/// Line `wake` of a recording.
#[derive(Debug)]
struct GoldenWakeup<'a>(&'a Value);

impl GoldenWakeup<'_> {
    fn number(&self, key: &str) -> i64 {
        self.0[key].as_i64().unwrap_or_else(|| panic!("{key} of {}", self.0))
    }

    fn cpu(&self, key: &str) -> CpuId {
        CpuId(self.number(key) as u32)
    }

    fn pair(&self, key: &str) -> [u32; 2] {
        [0, 1].map(|i| self.0[key][i].as_u64().unwrap_or_else(|| panic!("{key} of {}", self.0)) as u32)
    }
}

/// Compares all lines of a recording and returns the number of selections.
fn compare(shape: &TopologyShape) -> usize {
    let mut fixture = RecordedState::new(shape);
    let mut nr_cases = 0;
    for line in recording(&format!("vec-wake-{}", shape.name)) {
        if line.get("state").is_some() {
            fixture.enter(&line);
        } else {
            fixture.check(&GoldenWakeup(&line));
            nr_cases += 1;
        }
    }
    nr_cases
}

#[test]
fn selections_on_one_cache_equal_those_of_the_kernel() {
    assert_eq!(compare(&FLAT8), 4500);
}

#[test]
fn selections_with_smt_and_two_caches_equal_those_of_the_kernel() {
    assert_eq!(compare(&SMT16), 4500);
}

#[test]
fn selections_with_two_capacities_equal_those_of_the_kernel() {
    assert_eq!(compare(&BIGLITTLE8), 4500);
}

#[test]
fn selections_with_three_capacities_equal_those_of_the_kernel() {
    assert_eq!(compare(&TRI8), 4500);
}

#[test]
fn selections_on_a_ring_of_nodes_equal_those_of_the_kernel() {
    assert_eq!(compare(&NUMA32), 1500);
}

#[test]
fn selections_on_a_server_of_two_nodes_equal_those_of_the_kernel() {
    assert_eq!(compare(&SRV64), 1500);
}

#[test]
fn selections_with_clusters_equal_those_of_the_kernel() {
    assert_eq!(compare(&CLUSTER24), 1500);
}
