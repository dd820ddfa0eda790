// SPDX-License-Identifier: GPL-2.0-or-later

use super::*;

const TICK: Nanos = Nanos::from_millis(4);

fn states() -> [IdleState; 3] {
    [("WFI", 1, 1), ("core", 40, 100), ("cluster", 500, 5_000)].map(|(name, exit_us, residency_us)| IdleState {
        name: name.to_owned(),
        exit_latency: Nanos::from_micros(exit_us),
        target_residency: Nanos::from_micros(residency_us),
        exit_typical: None,
        entry_latency: Nanos::ZERO,
        polls: false,
        power_uw: None,
    })
}

fn input(to_timer_us: u64) -> GovernorInput {
    let to_timer = Nanos::from_micros(to_timer_us);
    GovernorInput {
        to_timer,
        to_tick: Nanos::from_millis(3),
        tick: TICK,
        is_tick_stopped: false,
        latency_limit: Nanos::NEVER,
    }
}

/// Returns a governor after `nr` idle times of a length, with a timer this far away.
fn trained_teo(nr: usize, idle_us: u64, to_timer_us: u64) -> Teo {
    let mut teo = Teo::new(3);
    for _ in 0..nr {
        let choice = teo.select(&states(), input(to_timer_us));
        teo.reflect(&states(), choice.state, Nanos::from_micros(idle_us), WokenBy::Other, TICK);
    }
    teo
}

#[test]
fn who_knows_nothing_trusts_the_timer() {
    assert_eq!(Teo::new(3).select(&states(), input(50_000)), GovernorDecision { state: 2, stops_tick: true });
    assert_eq!(Teo::new(3).select(&states(), input(3_900)), GovernorDecision { state: 1, stops_tick: false });
    assert_eq!(Teo::new(3).select(&states(), input(50)), GovernorDecision { state: 0, stops_tick: false });
}

#[test]
fn intercepts_lead_to_the_state_that_would_mostly_have_paid_off() {
    // One early wake-up outweighs an empty history.
    assert_eq!(trained_teo(1, 300, 50_000).select(&states(), input(50_000)).state, 1);
    assert_eq!(trained_teo(9, 60, 50_000).select(&states(), input(50_000)).state, 0);
    // 2.55 ms, the middle of the bin, is less than a tick.
    assert!(!trained_teo(9, 300, 50_000).select(&states(), input(50_000)).stops_tick);
}

#[test]
fn hits_fade_so_that_five_recent_intercepts_are_enough() {
    let mut teo = trained_teo(100, 50_000, 50_000);
    let choices: Vec<usize> = (0..6)
        .map(|_| {
            let choice = teo.select(&states(), input(50_000));
            teo.reflect(&states(), choice.state, Nanos::from_micros(300), WokenBy::Other, TICK);
            choice.state
        })
        .collect();
    assert_eq!(choices, [2, 2, 2, 2, 2, 1]);
}

#[test]
fn with_the_tick_stopped_a_short_expectation_is_not_good_enough() {
    let stopped = GovernorInput { is_tick_stopped: true, ..input(50_000) };
    assert_eq!(trained_teo(9, 300, 50_000).select(&states(), stopped), GovernorDecision { state: 2, stops_tick: true });
}

#[test]
fn the_tick_that_goes_on_bounds_the_state() {
    let near = GovernorInput { to_tick: Nanos::from_micros(80), ..input(3_900) };
    assert_eq!(Teo::new(3).select(&states(), near), GovernorDecision { state: 0, stops_tick: false });
}

#[test]
fn no_state_takes_longer_to_leave_than_was_asked_for() {
    for (limit_us, state) in [(499, 1), (40, 1), (39, 0), (0, 0)] {
        let limited = GovernorInput { latency_limit: Nanos::from_micros(limit_us), ..input(50_000) };
        assert_eq!(Teo::new(3).select(&states(), limited), GovernorDecision { state, stops_tick: true });
    }
}

#[test]
fn half_of_an_exit_counts_as_idle_and_a_time_up_to_the_timer_is_a_hit() {
    let bins = |idle_us, woken_by| {
        let mut teo = Teo::new(3);
        teo.select(&states(), input(50_000));
        teo.reflect(&states(), 1, Nanos::from_micros(idle_us), woken_by, TICK);
        teo.bins.iter().map(|bin| (bin.hits, bin.intercepts, bin.recent)).collect::<Vec<_>>()
    };
    let (nothing, hit, intercept) = ((0, 0, 0), (PULSE, 0, 0), (0, PULSE, 1));
    assert_eq!(bins(50_000, WokenBy::Other), [nothing, nothing, hit]);
    assert_eq!(bins(120, WokenBy::Other), [nothing, intercept, nothing], "100 us without half of the exit");
    assert_eq!(bins(119, WokenBy::Other), [intercept, nothing, nothing]);
    assert_eq!(bins(4_000, WokenBy::Tick), [nothing, nothing, hit], "it would have stayed idle");
    assert_eq!(bins(20, WokenBy::PollLimit), [nothing, nothing, hit]);
}

#[test]
fn what_is_older_than_nine_idle_times_is_not_recent() {
    let mut teo = trained_teo(9, 300, 50_000);
    assert_eq!(teo.bins[1].recent, 9);
    for left in (0..9).rev() {
        let choice = teo.select(&states(), input(50_000));
        teo.reflect(&states(), choice.state, Nanos::from_micros(50_000), WokenBy::Other, TICK);
        assert_eq!(teo.bins[1].recent, left);
    }
}
