// SPDX-License-Identifier: GPL-2.0-or-later
//! Ctrl-C and SIGTERM end a run with what it has reached. Once the run has noticed, another one ends the program at once.
//!
//! A program that embeds fairlab has signals of its own, and asks for the end itself.
//!
//! Not the second signal does that, but one that comes after the run has noticed the first: `timeout` sends each signal twice.

use crate::embed;
use crate::error::CliError;
use fairlab_sched::units::Nanos;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

/// What has come.
#[derive(Default)]
struct Signals {
    /// The signal, or 0.
    came: Arc<AtomicUsize>,
    /// Whether the run has noticed.
    is_noticed: Arc<AtomicBool>,
}

static SIGNALS: OnceLock<Signals> = OnceLock::new();

/// From now on the signals only ask.
pub(crate) fn listen() {
    if embed::is_embedded() {
        return;
    }
    let signals = SIGNALS.get_or_init(Signals::default);
    for signal in [SIGINT, SIGTERM] {
        // Should the system refuse, the signal ends the program as ever.
        let _ = flag::register_conditional_shutdown(signal, 128 + signal, Arc::clone(&signals.is_noticed));
        let _ = flag::register_usize(signal, Arc::clone(&signals.came), signal as usize);
    }
}

/// The signal that asks for the end, if one has come.
pub(crate) fn requested() -> Option<u8> {
    if embed::is_asked_to_stop() {
        return Some(SIGINT as u8);
    }
    let signals = SIGNALS.get()?;
    let signal = u8::try_from(signals.came.load(Ordering::Relaxed)).ok().filter(|&signal| signal != 0)?;
    signals.is_noticed.store(true, Ordering::Relaxed);
    Some(signal)
}

/// How a command ends: with the signal's number if one has cut its run short of what it was to be.
pub(crate) fn end(cut_short_of: Option<Nanos>) -> Result<(), CliError> {
    match requested().filter(|_| cut_short_of.is_some()) {
        Some(signal) => Err(CliError::Stopped { signal }),
        None => Ok(()),
    }
}
