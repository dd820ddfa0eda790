// SPDX-License-Identifier: GPL-2.0-or-later
//! Progress of a study. Its parts run concurrently and complete in any order.

use std::sync::Mutex;

/// Receiver of a study's progress: each completed step, and the completed fraction of all steps.
pub trait ProgressReporter: Sync {
    /// Reports that `step` is complete, and that `fraction` (0 to 1) of the study is.
    fn done(&self, step: &str, fraction: f64);
}

/// Progress reporter that ignores all steps.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoProgress;

impl ProgressReporter for NoProgress {
    fn done(&self, _step: &str, _fraction: f64) {}
}

/// Adds up the fractions of completed steps, and passes the sum to a [`ProgressReporter`].
pub(crate) struct ProgressSum<'a> {
    to: &'a dyn ProgressReporter,
    done: Mutex<f64>,
}

impl<'a> ProgressSum<'a> {
    /// Creates a sum that starts at zero.
    pub(crate) fn new(to: &'a dyn ProgressReporter) -> Self {
        Self { to, done: Mutex::new(0.0) }
    }

    /// Adds the completed `step`, which is the fraction `part` of the whole, and reports the new sum.
    ///
    /// The reporter is called under the lock, so that the reported fraction never decreases.
    pub(crate) fn add(&self, step: &str, part: f64) {
        let mut done = self.done.lock().expect("progress reporters do not panic");
        *done += part;
        self.to.done(step, done.min(1.0));
    }
}
