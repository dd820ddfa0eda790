// SPDX-License-Identifier: GPL-2.0-or-later
//! Execution of long work without the interpreter's lock, with polling for Ctrl-C.

use fairlab_cli::embed::{self, CallError, Message};
use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyKeyboardInterrupt};
use pyo3::prelude::*;
use std::any::Any;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

create_exception!(
    _native,
    Error,
    PyException,
    "Error of fairlab. `help` is the remedy; `file`, `line` and `column` are the place. Each is None if it is unknown."
);
create_exception!(_native, InputError, Error, "Wrong input.");
create_exception!(_native, RunError, Error, "A run could not continue, or its results could not be written.");

/// Interval of checks for Ctrl-C.
const SIGNAL_POLL_INTERVAL: Duration = Duration::from_millis(50);
/// Stack size of the worker thread: that of the command's main thread.
const STACK_BYTES: usize = 8 << 20;

/// Runs work in its own thread and returns its result; Ctrl-C ends it. Only the calling thread can handle
/// signals.
pub(crate) fn run_interruptible<T: Send>(
    py: Python<'_>,
    work: impl FnOnce() -> Result<T, CallError> + Send,
) -> PyResult<T> {
    thread::scope(|scope| {
        let (sender, receiver) = channel::<()>();
        let doing = move || {
            // The channel closes when the work ends, in whatever way.
            let _open = sender;
            // The thread is attached once here, so that each call of a policy only has to take the lock.
            Python::attach(|py| py.detach(work))
        };
        let worker = thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, doing);
        let worker =
            worker.map_err(|error| run_error(&Message::new(format!("a thread cannot be started: {error}"))))?;
        let interrupted: Option<PyErr> = py.detach(move || {
            let mut interrupted = None;
            loop {
                match receiver.recv_timeout(SIGNAL_POLL_INTERVAL) {
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
        let result = py.detach(|| worker.join()).map_err(|panic| panic_exception(&*panic))?;
        match (interrupted, result) {
            (Some(error), _) => Err(error),
            (None, result) => result.map_err(exception_from_failure),
        }
    })
}

/// Converts a failure to an exception with the message of the command.
pub(crate) fn exception_from_failure(failure: CallError) -> PyErr {
    match failure {
        CallError::Input(message) => input_error(&message),
        CallError::Run(message) | CallError::Gate(message) => run_error(&message),
        CallError::Stopped => PyKeyboardInterrupt::new_err("stopped"),
    }
}

/// Returns the exception of wrong input.
pub(crate) fn input_error(message: &Message) -> PyErr {
    with_parts(InputError::new_err(message.to_string()), message)
}

/// Returns the exception of a failed run.
pub(crate) fn run_error(message: &Message) -> PyErr {
    with_parts(RunError::new_err(message.to_string()), message)
}

/// Gives an exception the parts of its message as attributes.
fn with_parts(error: PyErr, message: &Message) -> PyErr {
    let place = message.place.as_ref();
    let file = place.map(|place| place.file.as_str());
    let (line, column) = (place.and_then(|place| place.line), place.and_then(|place| place.column));
    let set = |py: Python<'_>| {
        let value = error.value(py);
        value.setattr("help", message.help.as_deref())?;
        value.setattr("file", file)?;
        value.setattr("line", line)?;
        value.setattr("column", column)
    };
    match Python::attach(set) {
        Ok(()) => error,
        Err(failure) => failure,
    }
}

fn panic_exception(panic: &(dyn Any + Send)) -> PyErr {
    let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
    let text = text.unwrap_or("no message");
    run_error(
        &Message::new(format!("fairlab has a bug: {text}")).with_help("please report it, with the code that caused it"),
    )
}
