// SPDX-License-Identifier: GPL-2.0-or-later
use super::*;

const TICK: Nanos = Nanos::from_millis(4);

fn state(name: &str, exit_us: u64, residency_us: u64) -> IdleState {
    let (exit_latency, target_residency) = (Nanos::from_micros(exit_us), Nanos::from_micros(residency_us));
    IdleState {
        name: name.to_owned(),
        exit_latency,
        exit_typical: None,
        entry_latency: Nanos::ZERO,
        target_residency,
        polls: name == "POLL",
        power_uw: None,
    }
}

/// Those of a server: polling, and three that halt.
fn states() -> Vec<IdleState> {
    vec![state("POLL", 0, 0), state("C1", 1, 1), state("C1E", 2, 4), state("C6", 290, 800)]
}

fn known(to_timer: Nanos, to_tick: Nanos) -> GovernorInput {
    GovernorInput { to_timer, to_tick, tick: TICK, tick_is_stopped: false, latency_limit: Nanos::NEVER }
}

/// A governor whose CPU was idle for these times, in state C6 and far from any timer.
fn learnt(times_us: [u64; 8]) -> Menu {
    let mut menu = Menu::default();
    for time in times_us {
        menu.to_timer = HORIZON;
        menu.bucket = bucket_of(HORIZON);
        menu.reflect(&states()[0], Nanos::from_micros(time), WokenBy::Other, TICK);
    }
    menu
}

#[test]
fn idle_times_that_are_alike_are_expected_again_and_the_tick_goes_on_for_them() {
    for (time_us, state) in [(30, 2), (900, 3), (3_000, 3)] {
        let choice = learnt([time_us; 8]).select(&states(), known(HORIZON, TICK));
        assert_eq!(choice, GovernorDecision { state, stops_tick: false }, "{time_us} us");
    }
    // More than a tick: it stops.
    let choice = learnt([5_000; 8]).select(&states(), known(HORIZON, TICK));
    assert_eq!(choice, GovernorDecision { state: 3, stops_tick: true });
}

#[test]
fn two_long_idle_times_of_eight_are_outliers_and_three_are_not() {
    let choice = learnt([30, 40_000, 31, 30, 29, 50_000, 30, 30]).select(&states(), known(HORIZON, TICK));
    assert_eq!(choice, GovernorDecision { state: 2, stops_tick: false });
    let choice = learnt([30, 40_000, 31, 45_000, 29, 50_000, 30, 30]).select(&states(), known(HORIZON, TICK));
    assert_eq!(choice, GovernorDecision { state: 3, stops_tick: true }, "nothing is typical: the next timer counts");
}

#[test]
fn the_exit_latency_may_not_be_longer_than_what_is_expected_while_the_tick_runs() {
    let long_exit = vec![state("WFI", 1, 1), state("off", 650, 500)];
    let choice = learnt([600; 8]).select(&long_exit, known(HORIZON, TICK));
    assert_eq!(choice.state, 0, "600 us are more than the residency, and less than the latency");
    let choice = learnt([700; 8]).select(&long_exit, known(HORIZON, TICK));
    assert_eq!(choice.state, 1);
}

#[test]
fn expected_times_below_a_microsecond_are_polled_through() {
    let choice = learnt([0; 8]).select(&states(), known(HORIZON, TICK));
    assert_eq!(choice, GovernorDecision { state: 0, stops_tick: false });
    let choice = learnt([1; 8]).select(&states(), known(HORIZON, TICK));
    assert_eq!(choice, GovernorDecision { state: 1, stops_tick: false });
    // A machine that cannot poll halts, and its tick goes on too.
    let choice = learnt([0; 8]).select(&states()[1..], known(HORIZON, TICK));
    assert_eq!(choice, GovernorDecision { state: 0, stops_tick: false });
}

#[test]
fn a_near_timer_bounds_the_state() {
    let mut menu = learnt([5_000; 8]);
    assert_eq!(menu.select(&states(), known(Nanos(900), TICK)).state, 0);
    assert_eq!(menu.select(&states(), known(Nanos::from_micros(3), TICK)).state, 1);
    assert_eq!(menu.select(&states(), known(Nanos::from_micros(100), TICK)).state, 2);
}

#[test]
fn a_tick_that_goes_on_bounds_the_state_too() {
    let choice = learnt([900; 8]).select(&states(), known(HORIZON, Nanos::from_micros(700)));
    assert_eq!(choice, GovernorDecision { state: 2, stops_tick: false });
}

#[test]
fn without_a_tick_a_short_expectation_gives_way_to_the_next_timer() {
    let stopped = GovernorInput { tick_is_stopped: true, ..known(Nanos::from_millis(20), TICK) };
    assert_eq!(learnt([30; 8]).select(&states(), stopped), GovernorDecision { state: 3, stops_tick: true });
}

#[test]
fn a_shallow_state_is_left_at_the_tick_when_more_would_fit_but_not_deeper() {
    // 5 ms are expected; the deepest state needs 8.
    let deep = vec![state("WFI", 1, 1), state("off", 500, 8_000)];
    let choice = learnt([5_000; 8]).select(&deep, known(HORIZON, TICK));
    assert_eq!(choice, GovernorDecision { state: 0, stops_tick: false });
    // Without a tick there would be nothing that ends it: the deeper state, if it fits until the tick that would come.
    let stopped = |to_tick| GovernorInput { tick_is_stopped: true, ..known(Nanos::from_millis(20), to_tick) };
    assert_eq!(learnt([5_000; 8]).select(&deep, stopped(TICK)).state, 0);
    assert_eq!(learnt([5_000; 8]).select(&deep, stopped(Nanos::from_millis(9))).state, 1);
}

#[test]
fn a_cpu_that_the_tick_woke_could_have_idled_on() {
    let mut menu = Menu::default();
    for _ in 0..8 {
        menu.select(&states(), known(Nanos::from_secs(1), TICK));
        menu.reflect(&states()[1], TICK, WokenBy::Tick, TICK);
    }
    assert!(menu.intervals_us.iter().all(|&interval| interval == 45_000), "{:?}", menu.intervals_us);
    assert!(menu.select(&states(), known(Nanos::from_secs(1), TICK)).stops_tick);
}

#[test]
fn expectations_that_fall_short_are_corrected_for_their_order_of_magnitude_only() {
    let mut menu = Menu::default();
    let to_timer = Nanos::from_millis(20);
    for round in 0..200 {
        menu.to_timer = to_timer;
        menu.bucket = bucket_of(to_timer);
        // So different that none is typical, 3 ms on average.
        let time = Nanos::from_micros([100, 900, 2_500, 4_000, 6_000, 4_500][round % 6]);
        menu.reflect(&states()[0], time, WokenBy::Other, TICK);
    }
    menu.to_timer = to_timer;
    let expected = menu.expected();
    assert!((2_400_000..3_600_000).contains(&expected.0), "{expected}");
    menu.to_timer = Nanos::from_millis(200);
    menu.bucket = bucket_of(menu.to_timer);
    assert_eq!(menu.expected(), Nanos::from_millis(200));
}

#[test]
fn polling_ends_at_the_residency_of_the_next_state_that_is_worth_it() {
    assert_eq!(poll_limit(&states(), TICK), Nanos::from_micros(250), "a sixteenth of a tick, since 800 us are more");
    assert_eq!(poll_limit(&[state("POLL", 0, 0), state("C1", 2, 20)], TICK), Nanos::from_micros(20));
}

#[test]
fn no_state_is_deeper_than_pm_qos_allows_whether_the_tick_runs_or_not() {
    let chosen = |limit_us, tick_is_stopped| {
        let known =
            GovernorInput { latency_limit: Nanos::from_micros(limit_us), tick_is_stopped, ..known(HORIZON, TICK) };
        learnt([5_000; 8]).select(&states(), known)
    };
    for tick_is_stopped in [false, true] {
        // Nothing is allowed, or less than the second state takes: the first one, whose tick goes on because it polls.
        assert_eq!(chosen(0, tick_is_stopped), GovernorDecision { state: 0, stops_tick: false });
        assert_eq!(chosen(1, tick_is_stopped).state, 1);
        assert_eq!(chosen(289, tick_is_stopped).state, 2);
        assert_eq!(chosen(290, tick_is_stopped).state, 3);
    }
    // Where nothing polls, the first state halts, and stops the tick.
    let known = GovernorInput { latency_limit: Nanos::ZERO, ..known(HORIZON, TICK) };
    assert_eq!(learnt([5_000; 8]).select(&states()[1..], known), GovernorDecision { state: 0, stops_tick: true });
}
