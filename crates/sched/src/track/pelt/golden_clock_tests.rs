// SPDX-License-Identifier: GPL-2.0-or-later
//! Clock of load tracking, step by step, with the averages that follow it, against recordings.

use crate::golden::{CPU, GoldenTestMachine, columns, compared, number, numbers, recording, steps};
use crate::state::State;
use crate::track::pelt::attach::advance_entity;
use crate::types::ids::{CfsRqId, EntityId, TaskId};
use crate::types::pelt::{Contribution, ContributionScale, SchedAvg};
use crate::types::units::{SCHED_CAPACITY_SCALE, cap_scale};
use crate::types::weight::{LoadWeight, NICE_0_LOAD, scale_load_down};

/// Transition of a CPU at the end of a step.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Transition {
    None,
    Busy,
    Idle,
}

impl Transition {
    fn from_column(column: u64) -> Self {
        [Self::None, Self::Busy, Self::Idle][column as usize]
    }
}

/// CPU with one nice-0 task that runs, or with a real-time task instead, or with no task.
struct OneTask {
    rig: GoldenTestMachine,
    task: TaskId,
    entity: EntityId,
    has_rt: bool,
}

impl OneTask {
    fn new(t0: u64) -> Self {
        let mut rig = GoldenTestMachine::new();
        let (task, entity) = rig.task();
        let rq = &mut rig.sched.rqs[CPU];
        (rq.clock, rq.clock_task, rq.clock_pelt) = (t0, t0, t0);
        let start = SchedAvg { last_update_time: t0, ..SchedAvg::default() };
        (rq.avg_rt, rq.avg_dl) = (start, start);
        rig.sched.fair.entities[entity].avg = start;
        rig.sched.fair.cfs_rqs[CfsRqId::root(CPU)].avg = start;
        Self { rig, task, entity, has_rt: false }
    }

    fn set_speed(&mut self, frequency: u64, capacity: u64) {
        let rq = &mut self.rig.sched.rqs[CPU];
        (rq.freq_capacity, rq.cpu_capacity_orig) = (frequency, capacity);
    }

    /// Advances time by `delta` ns, of which `irq` ns are spent in interrupts.
    fn pass(&mut self, delta: u64, irq: u64) {
        let rq = &mut self.rig.sched.rqs[CPU];
        rq.clock += delta;
        rq.clock_task += delta - irq;
        self.rig.with(|sched, ctx| {
            let scaling = sched.tunables.pelt_scaling;
            sched.rqs[CPU].advance_clock_pelt(ctx, scaling, delta - irq);
        });
    }

    fn update_averages(&mut self) {
        let sched = &self.rig.sched;
        let now = sched.rqs[CPU].rq_clock_pelt();
        let (cfs_rq, entity) = (CfsRqId::root(CPU), self.entity);
        let has_rt = self.has_rt && !sched.rqs[CPU].is_idle_task_running();
        self.rig.with(|sched, ctx| {
            let State { rqs, fair, tunables, features, .. } = &mut sched.state;
            let (rq, queue) = (&mut rqs[CPU], &mut fair.cfs_rqs[cfs_rq]);
            let scale = rq.contribution_scale(tunables);
            advance_entity(ctx, *features, &mut fair.entities[entity], queue.curr == Some(entity), now, scale);
            queue.update_load_avg(ctx, now, scale);
            rq.update_rt_rq_load_avg(ctx, tunables, has_rt);
            rq.update_dl_rq_load_avg(ctx, tunables, false);
        });
    }

    fn go(&mut self, transition: Transition, to_rt: bool) {
        let sched = &mut self.rig.sched;
        let becomes_busy = match transition {
            Transition::None => return,
            Transition::Busy => true,
            Transition::Idle => false,
        };
        self.has_rt = becomes_busy && to_rt;
        let has_fair = becomes_busy && !to_rt;
        sched.fair.entities[self.entity].set_on_rq(has_fair);
        let cfs_rq = &mut sched.fair.cfs_rqs[CfsRqId::root(CPU)];
        cfs_rq.curr = has_fair.then_some(self.entity);
        cfs_rq.load = LoadWeight::new(if has_fair { NICE_0_LOAD } else { 0 });
        (cfs_rq.h_nr_running, cfs_rq.h_nr_runnable) = (u32::from(has_fair), u32::from(has_fair));
        if !becomes_busy {
            sched.state.rqs[CPU].update_idle_rq_clock_pelt(sched.state.fair.root_cfs_rq(CPU));
        }
        let rq = &mut sched.rqs[CPU];
        rq.curr = if becomes_busy { self.task } else { rq.idle };
    }
}

#[test]
fn the_clock_and_the_averages_that_follow_it() {
    let mut nr_compared = 0;
    for line in recording("pelt-clock.jsonl.zst") {
        let mut cpu = OneTask::new(number(&line["t0"]));
        for (index, step) in steps(&line).iter().enumerate() {
            let [delta, irq, frequency, capacity, transition, has_rt, expected @ ..] = columns::<16>(step);
            cpu.set_speed(frequency, capacity);
            cpu.pass(delta, irq);
            let before_transition = cpu.rig.sched.rqs[CPU].clock_pelt;
            cpu.update_averages();
            cpu.go(Transition::from_column(transition), has_rt != 0);
            let sched = &cpu.rig.sched;
            let (rq, cfs) = (&sched.rqs[CPU], &sched.fair.cfs_rqs[CfsRqId::root(CPU)].avg);
            let actual = [
                before_transition,
                rq.clock_pelt,
                rq.lost_idle_time,
                sched.rqs[CPU].rq_clock_pelt(),
                rq.clock_idle,
                rq.clock_pelt_idle,
                u64::from(cfs.util_sum),
                cfs.util_avg,
                u64::from(rq.avg_rt.util_sum),
                sched.fair.entities[cpu.entity].avg.util_avg,
            ];
            assert_eq!(actual, expected, "sequence {}, step {index}", line["seq"]);
            nr_compared += 1;
        }
    }
    compared("update_rq_clock_pelt, update_idle_rq_clock_pelt", nr_compared, 25_692);
}

/// An always-running task, updated each millisecond: by the kernel with its slowed clock, and by a
/// re-derivation of PELT before 5.1 with scaled contributions.
#[test]
fn the_ramp_of_an_always_running_task() {
    const RUNS: Contribution = Contribution { load: 1, runnable: 1, running: true };
    let mut nr_compared = 0;
    for line in recording("pelt-ramp.jsonl.zst") {
        let frequency = number(&line["freq_cap"]);
        let mut cpu = OneTask::new(0);
        cpu.set_speed(frequency, SCHED_CAPACITY_SCALE);
        cpu.go(Transition::Busy, false);
        let mut before = SchedAvg::default();
        for (ms, expected) in (1..).zip(numbers(&line["ms_util"])) {
            let util = match line["variant"].as_str().expect("a variant") {
                "kernel-clock_pelt" => {
                    cpu.pass(1_000_000, 0);
                    cpu.update_averages();
                    cpu.rig.sched.fair.entities[cpu.entity].avg.util_avg
                }
                "4.19style-own" => {
                    let scale = ContributionScale { frequency, capacity: SCHED_CAPACITY_SCALE };
                    before.update(ms * 1_000_000, RUNS, scale_load_down(NICE_0_LOAD), Some(scale));
                    before.util_avg
                }
                variant => panic!("unknown variant {variant}"),
            };
            assert_eq!(util, expected, "{} at {frequency} / 1024 after {ms} ms", line["variant"]);
            nr_compared += 1;
        }
    }
    compared("ramp", nr_compared, 2 * 4 * 400);
}

/// The recording was made by a re-derivation of the clock of an earlier version of the patch, not of the
/// merged one. That clock differs from 6.1 in two ways, and each is excluded exactly where it matters:
/// - It scales by frequency and then by capacity, 6.1 in the opposite order. The clock is compared at every
///   step: where one factor is full or the CPU idles, with that of fairlab; where both are not, with the
///   product in that version's order.
/// - It records lost idle time at each update of an idle CPU, 6.1 when the CPU goes idle. So the lost time is
///   taken from the recording, and the test checks that fairlab's update of the clock never changes it.
///
/// The averages of the cfs_rq, which follow from the clock, are compared at every step.
#[test]
fn the_clock_of_an_earlier_version_of_the_patch() {
    let (mut nr_compared, mut nr_in_other_order) = (0, 0);
    for line in recording("pelt-clock-v4-rederived.jsonl.zst") {
        let mut cpu = OneTask::new(number(&line["t0"]));
        for (index, step) in steps(&line).iter().enumerate() {
            let [delta, frequency, capacity, transition, clock_pelt, lost, expected @ ..] = columns::<9>(step);
            cpu.set_speed(frequency, capacity);
            let rq = &cpu.rig.sched.rqs[CPU];
            let (clock_before, lost_before) = (rq.clock_pelt, rq.lost_idle_time);
            let is_idle = rq.is_idle_task_running();
            cpu.pass(delta, 0);
            let rq = &mut cpu.rig.sched.rqs[CPU];
            assert_eq!(rq.lost_idle_time, lost_before, "sequence {}, step {index}", line["seq"]);
            if is_idle || frequency == SCHED_CAPACITY_SCALE || capacity == SCHED_CAPACITY_SCALE {
                assert_eq!(rq.clock_pelt, clock_pelt, "sequence {}, step {index}", line["seq"]);
            } else {
                let in_other_order = clock_before + cap_scale(cap_scale(delta, frequency), capacity);
                assert_eq!(in_other_order, clock_pelt, "sequence {}, step {index}", line["seq"]);
                nr_in_other_order += 1;
            }
            (rq.clock_pelt, rq.lost_idle_time) = (clock_pelt, lost);
            cpu.update_averages();
            let avg = &cpu.rig.sched.fair.cfs_rqs[CfsRqId::root(CPU)].avg;
            let actual = [u64::from(avg.util_sum), u64::from(avg.period_contrib), avg.util_avg];
            assert_eq!(actual, expected, "sequence {}, step {index}", line["seq"]);
            cpu.go(Transition::from_column(transition), false);
            let rq = &mut cpu.rig.sched.rqs[CPU];
            (rq.clock_pelt, rq.lost_idle_time) = (clock_pelt, lost);
            nr_compared += 1;
        }
    }
    compared("clock of the patch's fourth version (re-derived)", nr_compared, 60 * 100);
    compared("of these, clock in that version's order of scaling", nr_in_other_order, 1924);
}
