// SPDX-License-Identifier: GPL-2.0-or-later
//! Parallel runs on all cores, with results that do not depend on the number of cores.
//!
//! Each run uses one thread, and a list of runs uses as many threads as there are cores. Calls may be nested
//! (arms, each with several loads, each with several seeds): a core that waits for the rest of one list takes
//! runs from any other list, so that all lists share one pool. A machine lives no longer than its run, so
//! there are never more machines than cores; only the returned result is kept.

use rayon::prelude::*;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Limits the global pool to `jobs` concurrent runs instead of one for each core. Must be called once, before
/// the first run.
///
/// # Panics
/// If a run has already started, or if the limit was set before.
pub fn limit(jobs: NonZeroUsize) {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(jobs.get());
    pool.build_global().expect("the limit is set once, before the first run");
}

/// Calls `work` in a pool of `jobs` threads.
///
/// # Errors
/// If the operating system cannot create the threads.
pub fn with<T: Send>(jobs: usize, work: impl FnOnce() -> T + Send) -> Result<T, rayon::ThreadPoolBuildError> {
    Ok(rayon::ThreadPoolBuilder::new().num_threads(jobs).build()?.install(work))
}

/// Number of concurrent runs: one for each core, or the limit from [`limit`] or [`with`].
pub fn cores() -> usize {
    rayon::current_num_threads()
}

/// Runs all jobs in parallel, and returns their results in the order of `jobs`.
///
/// Jobs also start in this order, so long ones are better placed first.
///
/// # Errors
/// The error of the first failing job in the order of `jobs`. Later jobs that have not yet started
/// are skipped.
pub fn all<J, T, E>(jobs: Vec<J>, run: impl Fn(J) -> Result<T, E> + Sync) -> Result<Vec<T>, E>
where
    J: Send,
    T: Send,
    E: Send,
{
    in_order(jobs.into_iter().enumerate().collect(), run)
}

/// Runs all jobs like [`all`], but starts the longest first according to `length`, so that no long job
/// remains alone at the end.
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

/// Runs two closures in parallel.
///
/// # Errors
/// The error of `first`; if that one succeeds, the error of `second`.
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

/// Runs jobs, paired with their positions, as cores become free, and returns the results sorted by position.
fn in_order<J, T, E>(jobs: Vec<(usize, J)>, run: impl Fn(J) -> Result<T, E> + Sync) -> Result<Vec<T>, E>
where
    J: Send,
    T: Send,
    E: Send,
{
    // A job is skipped only if one of a lower position has failed, and that error is the one returned. The
    // returned error is therefore the same for any number of threads.
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

    /// Calls `work` in a pool whose number of threads differs from the number of cores.
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
