// SPDX-License-Identifier: GPL-2.0-or-later
//! Handling of Ctrl-C and SIGTERM: a run ends early and reports its partial results.
//!
//! A further signal after the run has noticed the first ends the program at once. A second signal before that
//! does not: `timeout` sends each signal twice. An embedding program handles signals itself and requests the
//! end.

use crate::values::error::CliError;
use crate::values::host;
use fairlab_kernel::process;
use fairlab_sched::units::Nanos;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

/// Signal of a stop that no signal has requested.
pub(crate) const DEFAULT_SIGNAL: u8 = SIGINT as u8;

/// Signals received so far.
#[derive(Default)]
struct Signals {
    /// Number of the signal, or 0.
    came: Arc<AtomicUsize>,
    is_noticed: Arc<AtomicBool>,
}

static SIGNALS: OnceLock<Signals> = OnceLock::new();

/// Installs handlers that only record the signal, once. Builds and workers of engines end when it arrives.
pub(crate) fn install_handlers() {
    process::set_stop_check(|| requested().is_some());
    if host::is_embedded() {
        return;
    }
    SIGNALS.get_or_init(|| {
        let signals = Signals::default();
        for signal in [SIGINT, SIGTERM] {
            // If the system rejects a handler, the signal ends the program as by default.
            let _ = flag::register_conditional_shutdown(signal, 128 + signal, Arc::clone(&signals.is_noticed));
            let _ = flag::register_usize(signal, Arc::clone(&signals.came), signal as usize);
        }
        signals
    });
}

/// Returns the signal that requests the end, if one has arrived.
pub(crate) fn requested() -> Option<u8> {
    if host::is_stop_requested() {
        return Some(DEFAULT_SIGNAL);
    }
    let signals = SIGNALS.get()?;
    let signal = u8::try_from(signals.came.load(Ordering::Relaxed)).ok().filter(|&signal| signal != 0)?;
    signals.is_noticed.store(true, Ordering::Relaxed);
    Some(signal)
}

/// Returns the error of a command whose run a signal has shortened.
pub(crate) fn end(cut_short_of: Option<Nanos>) -> Result<(), CliError> {
    if cut_short_of.is_some() { check() } else { Ok(()) }
}

/// Returns the error of a command that a signal ends.
pub(crate) fn check() -> Result<(), CliError> {
    requested().map_or(Ok(()), |signal| Err(CliError::Stopped { signal }))
}
