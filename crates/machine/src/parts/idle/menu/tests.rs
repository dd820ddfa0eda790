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

/// Idle states of a server: a polling state, and three that halt.
fn states() -> Vec<IdleState> {
    vec![state("POLL", 0, 0), state("C1", 1, 1), state("C1E", 2, 4), state("C6", 290, 800)]
}

fn input(to_timer: Nanos, to_tick: Nanos) -> GovernorInput {
    GovernorInput { to_timer, to_tick, tick: TICK, is_tick_stopped: false, latency_limit: Nanos::NEVER }
}

/// Returns a governor whose CPU was idle for these times, in state C6 and far from any timer.
fn trained_menu(times_us: [u64; 8]) -> Menu {
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
        let choice = trained_menu([time_us; 8]).select(&states(), input(HORIZON, TICK));
        assert_eq!(choice, GovernorDecision { state, stops_tick: false }, "{time_us} us");
    }
    // More than a tick: the tick stops.
    let choice = trained_menu([5_000; 8]).select(&states(), input(HORIZON, TICK));
    assert_eq!(choice, GovernorDecision { state: 3, stops_tick: true });
}

#[test]
fn two_long_idle_times_of_eight_are_outliers_and_three_are_not() {
    let choice = trained_menu([30, 40_000, 31, 30, 29, 50_000, 30, 30]).select(&states(), input(HORIZON, TICK));
    assert_eq!(choice, GovernorDecision { state: 2, stops_tick: false });
    let choice = trained_menu([30, 40_000, 31, 45_000, 29, 50_000, 30, 30]).select(&states(), input(HORIZON, TICK));
    assert_eq!(choice, GovernorDecision { state: 3, stops_tick: true }, "nothing is typical: the next timer counts");
}

#[test]
fn the_exit_latency_may_not_be_longer_than_what_is_expected_while_the_tick_runs() {
    let long_exit = vec![state("WFI", 1, 1), state("off", 650, 500)];
    let choice = trained_menu([600; 8]).select(&long_exit, input(HORIZON, TICK));
    assert_eq!(choice.state, 0, "600 us are more than the residency, and less than the latency");
    let choice = trained_menu([700; 8]).select(&long_exit, input(HORIZON, TICK));
    assert_eq!(choice.state, 1);
}

#[test]
fn expected_times_below_a_microsecond_are_polled_through() {
    let choice = trained_menu([0; 8]).select(&states(), input(HORIZON, TICK));
    assert_eq!(choice, GovernorDecision { state: 0, stops_tick: false });
    let choice = trained_menu([1; 8]).select(&states(), input(HORIZON, TICK));
    assert_eq!(choice, GovernorDecision { state: 1, stops_tick: false });
    // A machine that cannot poll halts, and its tick keeps running too.
    let choice = trained_menu([0; 8]).select(&states()[1..], input(HORIZON, TICK));
    assert_eq!(choice, GovernorDecision { state: 0, stops_tick: false });
}

#[test]
fn a_near_timer_bounds_the_state() {
    let mut menu = trained_menu([5_000; 8]);
    assert_eq!(menu.select(&states(), input(Nanos(900), TICK)).state, 0);
    assert_eq!(menu.select(&states(), input(Nanos::from_micros(3), TICK)).state, 1);
    assert_eq!(menu.select(&states(), input(Nanos::from_micros(100), TICK)).state, 2);
}

#[test]
fn a_tick_that_goes_on_bounds_the_state_too() {
    let choice = trained_menu([900; 8]).select(&states(), input(HORIZON, Nanos::from_micros(700)));
    assert_eq!(choice, GovernorDecision { state: 2, stops_tick: false });
}

#[test]
fn without_a_tick_a_short_expectation_gives_way_to_the_next_timer() {
    let stopped = GovernorInput { is_tick_stopped: true, ..input(Nanos::from_millis(20), TICK) };
    assert_eq!(trained_menu([30; 8]).select(&states(), stopped), GovernorDecision { state: 3, stops_tick: true });
}

#[test]
fn a_shallow_state_is_left_at_the_tick_when_more_would_fit_but_not_deeper() {
    // 5 ms are expected; the deepest state needs 8.
    let deep = vec![state("WFI", 1, 1), state("off", 500, 8_000)];
    let choice = trained_menu([5_000; 8]).select(&deep, input(HORIZON, TICK));
    assert_eq!(choice, GovernorDecision { state: 0, stops_tick: false });
    // With the tick stopped, nothing would end the shallow state: the deeper one is chosen if it fits until
    // the tick that would come.
    let stopped = |to_tick| GovernorInput { is_tick_stopped: true, ..input(Nanos::from_millis(20), to_tick) };
    assert_eq!(trained_menu([5_000; 8]).select(&deep, stopped(TICK)).state, 0);
    assert_eq!(trained_menu([5_000; 8]).select(&deep, stopped(Nanos::from_millis(9))).state, 1);
}

#[test]
fn a_cpu_that_the_tick_woke_could_have_idled_on() {
    let mut menu = Menu::default();
    for _ in 0..8 {
        menu.select(&states(), input(Nanos::from_secs(1), TICK));
        menu.reflect(&states()[1], TICK, WokenBy::Tick, TICK);
    }
    assert!(menu.intervals_us.iter().all(|&interval| interval == 45_000), "{:?}", menu.intervals_us);
    assert!(menu.select(&states(), input(Nanos::from_secs(1), TICK)).stops_tick);
}

#[test]
fn expectations_that_fall_short_are_corrected_for_their_order_of_magnitude_only() {
    let mut menu = Menu::default();
    let to_timer = Nanos::from_millis(20);
    for round in 0..200 {
        menu.to_timer = to_timer;
        menu.bucket = bucket_of(to_timer);
        // Idle times of 3 ms on average, too different to be typical.
        let time = Nanos::from_micros([100, 900, 2_500, 4_000, 6_000, 4_500][round % 6]);
        menu.reflect(&states()[0], time, WokenBy::Other, TICK);
    }
    menu.to_timer = to_timer;
    let expected = menu.expected_idle();
    assert!((2_400_000..3_600_000).contains(&expected.0), "{expected}");
    menu.to_timer = Nanos::from_millis(200);
    menu.bucket = bucket_of(menu.to_timer);
    assert_eq!(menu.expected_idle(), Nanos::from_millis(200));
}

#[test]
fn polling_ends_at_the_residency_of_the_next_state_that_is_worth_it() {
    assert_eq!(poll_limit(&states(), TICK), Nanos::from_micros(250), "a sixteenth of a tick, since 800 us are more");
    assert_eq!(poll_limit(&[state("POLL", 0, 0), state("C1", 2, 20)], TICK), Nanos::from_micros(20));
}

#[test]
fn no_state_is_deeper_than_pm_qos_allows_whether_the_tick_runs_or_not() {
    let chosen = |limit_us, tick_is_stopped| {
        let known = GovernorInput {
            latency_limit: Nanos::from_micros(limit_us),
            is_tick_stopped: tick_is_stopped,
            ..input(HORIZON, TICK)
        };
        trained_menu([5_000; 8]).select(&states(), known)
    };
    for tick_is_stopped in [false, true] {
        // With a limit of 0, or one below the second state: the first state, whose tick keeps running because
        // it polls.
        assert_eq!(chosen(0, tick_is_stopped), GovernorDecision { state: 0, stops_tick: false });
        assert_eq!(chosen(1, tick_is_stopped).state, 1);
        assert_eq!(chosen(289, tick_is_stopped).state, 2);
        assert_eq!(chosen(290, tick_is_stopped).state, 3);
    }
    // Without a polling state, the first state halts and stops the tick.
    let known = GovernorInput { latency_limit: Nanos::ZERO, ..input(HORIZON, TICK) };
    assert_eq!(trained_menu([5_000; 8]).select(&states()[1..], known), GovernorDecision { state: 0, stops_tick: true });
}
