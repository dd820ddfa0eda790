// SPDX-License-Identifier: GPL-2.0-or-later
//! Properties that hold for all inputs: the order of a timeline, weights, and the limits of load tracking.

use fairlab_sched::ids::EntityId;
use fairlab_sched::state::rq::timeline::Timeline;
use fairlab_sched::types::pelt::decay::{LOAD_AVG_MAX, LOAD_AVG_PERIOD, decay_load};
use fairlab_sched::types::pelt::{Contribution, SchedAvg};
use fairlab_sched::weight::{LoadWeight, calc_delta, calc_delta_fair};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use std::collections::BTreeSet;

/// Operation on a timeline.
#[derive(Clone, Copy, Debug)]
enum TimelineStep {
    /// Add an entity this far after the base.
    Insert(u32),
    /// Remove the first entity.
    RemoveFirst,
    /// Remove the entity at this index.
    Remove(prop::sample::Index),
}

fn timeline_step() -> impl Strategy<Value = TimelineStep> {
    // Few different distances, so that many entities have equal virtual runtimes.
    prop_oneof![
        3 => (0u32..20).prop_map(TimelineStep::Insert),
        3 => any::<u32>().prop_map(TimelineStep::Insert),
        2 => Just(TimelineStep::RemoveFirst),
        2 => any::<prop::sample::Index>().prop_map(TimelineStep::Remove),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { rng_seed: RngSeed::Fixed(1), failure_persistence: None, ..ProptestConfig::default() })]

    /// The model is a tree ordered by distance from a base and then by arrival. It does not wrap, the
    /// timeline does.
    #[test]
    fn a_timeline_orders_like_a_tree_although_virtual_time_wraps(
        base in any::<u64>(),
        steps in prop::collection::vec(timeline_step(), 1..200),
    ) {
        let (mut timeline, mut model) = (Timeline::default(), BTreeSet::new());
        let vruntime = |distance: u32| base.wrapping_add(u64::from(distance));
        for (arrival, step) in (0u32..).zip(steps) {
            match step {
                TimelineStep::Insert(distance) => {
                    timeline.insert(vruntime(distance), EntityId(arrival));
                    model.insert((distance, arrival));
                }
                TimelineStep::RemoveFirst => {
                    if let Some((distance, arrival)) = model.pop_first() {
                        prop_assert_eq!(timeline.first(), Some(EntityId(arrival)));
                        timeline.remove(vruntime(distance), EntityId(arrival));
                    }
                }
                TimelineStep::Remove(index) if !model.is_empty() => {
                    let &(distance, arrival) = model.iter().nth(index.index(model.len())).expect("in range");
                    model.remove(&(distance, arrival));
                    timeline.remove(vruntime(distance), EntityId(arrival));
                }
                TimelineStep::Remove(_) => {}
            }
            let expected = model.iter().map(|&(distance, arrival)| (vruntime(distance), EntityId(arrival)));
            prop_assert!(timeline.iter().eq(expected));
            prop_assert_eq!(timeline.len(), model.len());
            let first = model.first().map(|&(distance, _)| vruntime(distance));
            prop_assert_eq!(timeline.first_vruntime(), first);
            for (&(distance, arrival), next) in model.iter().zip(model.iter().skip(1)) {
                prop_assert_eq!(timeline.next(vruntime(distance), EntityId(arrival)), Some(EntityId(next.1)));
            }
        }
    }

    /// The product with the inverse is never more than the exact quotient, and little less.
    #[test]
    fn scaled_time_is_close_to_the_exact_quotient(
        delta in 0u64..10_000_000_000,
        weight in 2u64..=262_144,
        load in 2u64..100_000_000,
    ) {
        let actual = calc_delta(delta, weight << 10, &mut LoadWeight::new(load << 10));
        let exact = u128::from(delta) * u128::from(weight) / u128::from(load);
        prop_assert!(u128::from(actual) <= exact);
        // Cutting the inverse of the load to a whole number loses up to load / 2^32 of it, cutting the factor
        // to 32 bits one part in 2^31, cutting the result less than one.
        let lost = exact * u128::from(load) / (1 << 31) + exact / (1 << 30) + 2;
        prop_assert!(exact - u128::from(actual) <= lost, "{exact} - {actual} > {lost}");
    }

    #[test]
    fn virtual_time_passes_faster_for_lighter_tasks(delta in 0u64..10_000_000_000, nice in -20i8..19) {
        let heavier = calc_delta_fair(delta, &mut LoadWeight::from_nice(nice));
        let lighter = calc_delta_fair(delta, &mut LoadWeight::from_nice(nice + 1));
        prop_assert!(heavier <= lighter);
        prop_assert_eq!(calc_delta_fair(delta, &mut LoadWeight::from_nice(0)), delta);
    }

    #[test]
    fn what_has_passed_longer_is_worth_less(value in any::<u64>(), periods in 0u64..3000) {
        prop_assert!(decay_load(value, periods) <= value);
        prop_assert!(decay_load(value, periods + 1) <= decay_load(value, periods));
        // One more half-life halves the value, except for the part that is cut off.
        let (now, later) = (decay_load(value, periods), decay_load(value, periods + LOAD_AVG_PERIOD));
        prop_assert!(later <= now / 2 + 1 && (now / 2).saturating_sub(later) <= 1);
    }

    /// The averages of a task stay within their limits whatever it does; while it sleeps, the sums do not
    /// grow.
    #[test]
    fn averages_of_a_task_stay_within_their_limits(
        weight in 2u64..=88_761,
        steps in prop::collection::vec((0u64..100_000_000, 0u8..3), 1..300),
    ) {
        let (mut avg, mut now) = (SchedAvg::default(), 0);
        for (delta, state) in steps {
            now += delta;
            let (on_rq, running) = (state > 0, state > 1);
            let before = avg;
            let what = Contribution { load: u64::from(on_rq), runnable: u64::from(on_rq), running };
            let refreshed = avg.update(now, what, weight, None);
            prop_assert!(avg.last_update_time <= now && now - avg.last_update_time < 1024);
            prop_assert!(avg.period_contrib < 1024);
            prop_assert!(avg.load_sum <= u64::from(LOAD_AVG_MAX));
            prop_assert!(avg.util_avg <= avg.runnable_avg && avg.runnable_avg <= 1024 && avg.load_avg <= weight);
            if !refreshed {
                prop_assert_eq!((avg.util_avg, avg.load_avg), (before.util_avg, before.load_avg));
            }
            if !on_rq {
                prop_assert!(avg.util_sum <= before.util_sum && avg.load_sum <= before.load_sum);
            }
        }
        // After an hour of sleep nothing is left.
        avg.update(now + 3_600_000_000_000, Contribution::NONE, weight, None);
        prop_assert_eq!((avg.util_avg, avg.runnable_avg, avg.load_avg), (0, 0, 0));
        prop_assert!(avg.is_decayed());
    }

    /// One long update has the result of many short ones, except for the parts that each of them cuts off.
    #[test]
    fn one_update_is_worth_many(start in 0u64..1 << 40, pieces in prop::collection::vec(1u64..5_000_000, 1..60)) {
        let what = Contribution { load: 1, runnable: 1, running: true };
        let first = SchedAvg { last_update_time: start, ..SchedAvg::default() };
        let (mut many, mut one, mut now) = (first, first, start);
        for piece in &pieces {
            now += piece;
            many.update_sum(now, what, None);
        }
        one.update_sum(now, what, None);
        prop_assert_eq!((one.last_update_time, one.period_contrib), (many.last_update_time, many.period_contrib));
        let difference = one.load_sum.abs_diff(many.load_sum);
        prop_assert!(difference <= 2 * pieces.len() as u64, "{} and {}", one.load_sum, many.load_sum);
    }
}
