// SPDX-License-Identifier: GPL-2.0-or-later
//! Measurement of runs. All observers of this crate are passive: none of them changes a run.
//!
//! A [`summary_observer::SummaryObserver`] observes a run, and [`summary::RunSummary`] has the results. [`bench`] has the
//! observers of benchmarks, [`episodes`] the waits of tasks, and [`catalogue`] the unit and meaning of each number.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests advance machines by hand"))]

pub mod bench;
pub mod catalogue;
pub mod cgroups;
pub mod cpus;
pub mod decisions;
pub mod eas;
pub mod energy;
pub mod episodes;
pub mod families;
pub mod figures;
mod histogram;
pub mod latency;
pub mod measure;
pub mod measured_run;
pub mod missing_addition;
pub mod path;
pub mod plural;
pub mod rejected;
pub mod residency;
pub mod responses;
pub mod shares;
pub mod slack;
pub mod stall;
pub mod states;
pub mod summary;
pub mod summary_observer;
mod sums;
pub mod task_names;

/// Adds the named fields of one value to those of another, or subtracts them.
macro_rules! each_field {
    ($to:ident $operator:tt $from:ident: $($field:ident)+) => {
        $($to.$field $operator $from.$field;)+
    };
}
use each_field;

/// Returns the element of a list at an index, after growing the list if necessary.
#[inline]
pub fn slot_mut<T: Clone + Default>(list: &mut Vec<T>, index: usize) -> &mut T {
    if list.len() <= index {
        list.resize(index + 1, T::default());
    }
    &mut list[index]
}
