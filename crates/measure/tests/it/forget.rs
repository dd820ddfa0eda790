// SPDX-License-Identifier: GPL-2.0-or-later
//! A recorder that is reset after the warm-up counts only later events, and none of them twice.

use fairlab_machine::sim::{Machine, START, Setup};
use fairlab_measure::summary::{RunSubject, RunSummary};
use fairlab_measure::summary_observer::SummaryObserver;
use fairlab_sched::series::KernelSeries;
use fairlab_sched::units::Nanos;
use fairlab_workload::scenario;

const SCENARIO: &str = "cpus 2\ntask busy loop run 7ms sleep 1ms\ntask often loop run 300us sleep 700us\n\
                        task late sleep 15ms loop run 2ms sleep 2ms\nend 40ms\n";

/// Returns the summary of the run since `at`; 0 does not reset the recorder.
fn summary_from(at: Nanos) -> RunSummary {
    let scenario = scenario::parse("forget.scn", SCENARIO, KernelSeries::V6_1).expect("it is a scenario");
    let mut machine = Machine::new(Setup::from_scenario(scenario)).expect("it fits its machine");
    let mut recorder = SummaryObserver::new(&machine);
    machine.start(&mut recorder).expect("it starts");
    if at > Nanos::ZERO {
        machine.advance(&mut recorder, START + at).expect("it goes on");
        recorder.reset(&machine, START + at);
    }
    machine.advance(&mut recorder, Nanos(u64::MAX)).expect("it ends");
    machine.finish(&mut recorder);
    RunSummary::new(RunSubject::default(), &machine, &recorder)
}

#[test]
fn after_a_reset_the_summary_covers_only_later_events() {
    let (whole, rest) = (summary_from(Nanos::ZERO), summary_from(Nanos::from_micros(20_100)));
    assert_eq!((whole.duration_ns, rest.duration_ns), (40_000_000, 19_900_000));
    assert_eq!(whole.digest, rest.digest, "forgetting changes no run");
    for (all, later) in whole.cpus.iter().zip(&rest.cpus) {
        assert_eq!(all.busy_ns + all.idle_ns, 40_000_000);
        assert_eq!(later.busy_ns + later.idle_ns, 19_900_000);
        assert!(later.ticks > 0 && later.ticks < all.ticks);
    }
    // A task that runs 7 of 8 ms sleeps in three of the milliseconds from 20.1 to 40. Another runs half of
    // the time since 15 ms, so part of its time is discarded.
    let of = |summary: &RunSummary, name: &str| {
        let family = summary.families.iter().find(|family| family.name == name);
        family.expect("it is one of the tasks").clone()
    };
    assert_eq!(of(&rest, "busy").run_ns, 19_900_000 - 3_000_000);
    let (all, later) = (of(&whole, "late"), of(&rest, "late"));
    assert!(later.run_ns < all.run_ns && later.wakeups < all.wakeups && later.tasks == all.tasks);
    assert!(rest.totals.switches < whole.totals.switches && rest.totals.events < whole.totals.events);
}
