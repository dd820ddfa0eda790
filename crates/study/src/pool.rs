// SPDX-License-Identifier: GPL-2.0-or-later
//! Runs side by side: on all cores, with the same results on any number of them.
//!
//! A run has one thread; what has many runs has as many threads as there are cores. Calls may be nested (arms, of which each has its loads, of
//! which each has its seeds): a core that waits for the rest of one list takes runs of any other, so that all lists are one pool. Only
//! what a run returns is kept, and machines live no longer than their runs: there are never more of them than cores.

use rayon::prelude::*;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};

/// At most so many runs at a time, instead of one for each core. To be said once, before the first run.
///
/// # Panics
/// If there has been a run already.
pub fn limit(jobs: NonZeroUsize) {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(jobs.get());
    pool.build_global().expect("the number of jobs is said once, before any of them");
}

/// Does something with at most so many runs at a time.
///
/// # Errors
/// If there cannot be so many threads.
pub fn with<T: Send>(jobs: usize, work: impl FnOnce() -> T + Send) -> Result<T, rayon::ThreadPoolBuildError> {
    Ok(rayon::ThreadPoolBuilder::new().num_threads(jobs).build()?.install(work))
}

/// How many runs there are at a time.
pub fn cores() -> usize {
    rayon::current_num_threads()
}

/// Does all jobs, and gives their results in the order of the jobs. They begin in this order too: long ones are better first.
///
/// # Errors
/// That of the first job, in their order, which fails; jobs behind it that have not begun by then are left out.
pub fn all<J, T, E>(jobs: Vec<J>, run: impl Fn(J) -> Result<T, E> + Sync) -> Result<Vec<T>, E>
where
    J: Send,
    T: Send,
    E: Send,
{
    in_order(jobs.into_iter().enumerate().collect(), run)
}

/// The same for jobs of which some are known to take longer than others: these begin first, so that none of them is left alone at the end.
///
/// # Errors
/// As in [`all`].
pub fn longest_first<J, T, E>(
    jobs: Vec<J>,
    length: impl Fn(&J) -> u64,
    run: impl Fn(J) -> Result<T, E> + Sync,
) -> Result<Vec<T>, E>
where
    J: Send,
    T: Send,
    E: Send,
{
    let mut jobs: Vec<(usize, J)> = jobs.into_iter().enumerate().collect();
    jobs.sort_by_key(|(_, job)| std::cmp::Reverse(length(job)));
    in_order(jobs, run)
}

/// Does two things side by side.
///
/// # Errors
/// That of the first, else that of the second.
pub fn both<A, B, E>(
    first: impl FnOnce() -> Result<A, E> + Send,
    second: impl FnOnce() -> Result<B, E> + Send,
) -> Result<(A, B), E>
where
    A: Send,
    B: Send,
    E: Send,
{
    let (first, second) = rayon::join(first, second);
    Ok((first?, second?))
}

/// Takes jobs with their places one by one, each by the first core that is free, and puts the results into their places.
fn in_order<J, T, E>(jobs: Vec<(usize, J)>, run: impl Fn(J) -> Result<T, E> + Sync) -> Result<Vec<T>, E>
where
    J: Send,
    T: Send,
    E: Send,
{
    // A job is only left out if one of a lower place has failed, whose error counts: so it is the same error each time.
    let first_failed = AtomicUsize::new(usize::MAX);
    let begin = |(place, job): (usize, J)| {
        if place > first_failed.load(Ordering::Relaxed) {
            return None;
        }
        let result = run(job);
        if result.is_err() {
            first_failed.fetch_min(place, Ordering::Relaxed);
        }
        Some((place, result))
    };
    let mut results: Vec<_> = jobs.into_iter().par_bridge().filter_map(begin).collect();
    results.sort_unstable_by_key(|(place, _)| *place);
    results.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With another number of threads than there are cores.
    fn with_threads<T: Send>(threads: usize, work: impl FnOnce() -> T + Send) -> T {
        rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads can be made").install(work)
    }

    #[test]
    fn results_have_the_order_of_the_jobs_however_many_threads_there_are() {
        for threads in [1, 2, 7] {
            let work = || {
                let arms = (0..10).collect();
                longest_first(arms, |arm| *arm, |arm| all((0..10).collect(), |seed| Ok::<_, ()>(arm * 10 + seed)))
            };
            let results: Vec<u64> = with_threads(threads, work).expect("nothing fails").concat();
            assert_eq!(results, (0..100).collect::<Vec<u64>>(), "{threads} threads");
        }
    }

    #[test]
    fn the_error_is_that_of_the_first_job_that_fails_whichever_begins_first() {
        for threads in [1, 2, 7] {
            let run = |job: u64| if job % 7 == 3 { Err(job) } else { Ok(job) };
            let work = || longest_first((0..100).collect(), |job| *job, run);
            assert_eq!(with_threads(threads, work), Err(3), "{threads} threads");
        }
    }

    #[test]
    fn the_longest_begins_first() {
        let begun = std::sync::Mutex::new(Vec::new());
        let note = |job: u64| {
            begun.lock().expect("nothing panics").push(job);
            Ok::<_, ()>(())
        };
        with_threads(1, || longest_first(vec![3, 9, 1, 5], |job| *job, note)).expect("nothing fails");
        assert_eq!(begun.into_inner().expect("nothing panics"), [9, 5, 3, 1]);
    }
}
