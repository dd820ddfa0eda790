// SPDX-License-Identifier: GPL-2.0-or-later
//! How far a study is, as the sum of its parts: they run side by side, and are done in any order.

use crate::Progress;
use std::sync::Mutex;

/// Adds up the parts that are done.
pub(crate) struct Tally<'a> {
    to: &'a dyn Progress,
    done: Mutex<f64>,
}

impl<'a> Tally<'a> {
    /// Nothing is done yet.
    pub(crate) fn new(to: &'a dyn Progress) -> Self {
        Self { to, done: Mutex::new(0.0) }
    }

    /// A step is done, which is this part of the whole. It is told under the lock, so that what is told does not go back.
    pub(crate) fn add(&self, step: &str, part: f64) {
        let mut done = self.done.lock().expect("whoever is told does not panic");
        *done += part;
        self.to.done(step, done.min(1.0));
    }
}
