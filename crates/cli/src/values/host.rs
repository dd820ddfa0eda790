// SPDX-License-Identifier: GPL-2.0-or-later
//! State of an embedding program: its calls in progress, their arguments, and its request to end them.

use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Number of calls in progress.
static CALLS: AtomicUsize = AtomicUsize::new(0);
/// Whether the program has made a call.
static IS_EMBEDDED: AtomicBool = AtomicBool::new(false);
/// Whether the calls in progress are asked to end.
static IS_STOP_REQUESTED: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// Command-line arguments of this thread's call.
    static WORDS: RefCell<Option<Vec<String>>> = const { RefCell::new(None) };
}

/// Notes that a call begins, with its arguments.
pub(crate) fn begin_call(words: Vec<String>) {
    IS_EMBEDDED.store(true, Ordering::Relaxed);
    CALLS.fetch_add(1, Ordering::SeqCst);
    WORDS.set(Some(words));
}

/// Notes that the call of this thread has ended. The last one ends a request to stop.
pub(crate) fn end_call() {
    WORDS.set(None);
    if CALLS.fetch_sub(1, Ordering::SeqCst) == 1 {
        IS_STOP_REQUESTED.store(false, Ordering::SeqCst);
    }
}

/// Asks all calls in progress to end. Later calls are not affected once these have ended.
pub fn stop() {
    if CALLS.load(Ordering::SeqCst) > 0 {
        IS_STOP_REQUESTED.store(true, Ordering::SeqCst);
    }
}

/// Returns the command-line arguments of the call in progress on this thread.
pub(crate) fn words() -> Option<Vec<String>> {
    WORDS.with_borrow(Clone::clone)
}

/// Whether an embedding program owns signals and the terminal.
pub(crate) fn is_embedded() -> bool {
    IS_EMBEDDED.load(Ordering::Relaxed)
}

/// Whether the calls in progress are asked to end.
pub(crate) fn is_stop_requested() -> bool {
    IS_STOP_REQUESTED.load(Ordering::Relaxed)
}
