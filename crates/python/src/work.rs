// SPDX-License-Identifier: GPL-2.0-or-later
//! Work that takes its time: without the interpreter's lock, and with an ear for Ctrl-C.

use fairlab_cli::embed::{self, CallFailure};
use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyKeyboardInterrupt};
use pyo3::prelude::*;
use std::any::Any;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

create_exception!(_native, Error, PyException, "What fairlab cannot do, with the way out.");
create_exception!(_native, InputError, Error, "Something that was given is wrong.");
create_exception!(_native, RunError, Error, "A run could not go on, or its results could not be written.");

/// So often it is looked whether somebody has pressed Ctrl-C.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// As much room as the command itself has.
const STACK: usize = 8 << 20;

/// Does work in a thread of its own, since only this one may hear of signals, and gives its result. Ctrl-C ends it.
pub(crate) fn answer<T: Send>(py: Python<'_>, work: impl FnOnce() -> Result<T, CallFailure> + Send) -> PyResult<T> {
    thread::scope(|scope| {
        let (sender, receiver) = channel::<()>();
        let doing = move || {
            // The channel closes when the work is over, however it ends.
            let _open = sender;
            // The interpreter knows this thread from now on, so that a policy which is asked again and again has to wait for nothing but the lock.
            Python::attach(|py| py.detach(work))
        };
        let worker = thread::Builder::new().stack_size(STACK).spawn_scoped(scope, doing);
        let worker = worker.map_err(|error| RunError::new_err(format!("no thread can be started: {error}")))?;
        let interrupted: Option<PyErr> = py.detach(move || {
            let mut interrupted = None;
            loop {
                match receiver.recv_timeout(LOOK_EVERY) {
                    Err(RecvTimeoutError::Timeout) if interrupted.is_none() => {
                        if let Err(error) = Python::attach(|py| py.check_signals()) {
                            embed::stop();
                            interrupted = Some(error);
                        }
                    }
                    Err(RecvTimeoutError::Timeout) | Ok(()) => {}
                    Err(RecvTimeoutError::Disconnected) => return interrupted,
                }
            }
        });
        let result = py.detach(|| worker.join()).map_err(|panic| bug(&*panic))?;
        match (interrupted, result) {
            (Some(error), _) => Err(error),
            (None, result) => result.map_err(error_of),
        }
    })
}

/// A failure as an exception, with the message of the command.
pub(crate) fn error_of(failure: CallFailure) -> PyErr {
    match failure {
        CallFailure::Input(message) => InputError::new_err(message),
        CallFailure::Run(message) | CallFailure::Gate(message) => RunError::new_err(message),
        CallFailure::Stopped => PyKeyboardInterrupt::new_err("stopped"),
    }
}

fn bug(panic: &(dyn Any + Send)) -> PyErr {
    let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
    let text = text.unwrap_or("it says nothing more");
    RunError::new_err(format!("fairlab has a bug: {text}\nhelp: please report it, with what you did"))
}
