// SPDX-License-Identifier: GPL-2.0-or-later
//! Child processes: tools of a build, and workers.
//!
//! 1. A child gets a process group of its own, so that it can be ended with all its descendants.
//! 2. While it runs, the check of [`set_stop_check`] is called. If it requests the end, the group is killed.
//! 3. Tools of a build ([`tool`]) get a fixed environment: variables of the user must not change an object.

use crate::error::{KernelError, io_error_at};
use rustix::process::{Pid, Signal, kill_process_group};
use std::fs::{File, TryLockError};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::OnceLock;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// Interval between two calls of the check for the end.
const STOP_CHECK_INTERVAL: Duration = Duration::from_millis(50);

/// Variables that tools of a build keep.
const KEPT_VARS: [&str; 3] = ["PATH", "HOME", "TMPDIR"];

static STOP_CHECK: OnceLock<fn() -> bool> = OnceLock::new();

/// Sets the check that requests the end of all children, such as whether a signal has arrived. Only the first
/// call has an effect.
pub fn set_stop_check(check: fn() -> bool) {
    let _first_call = STOP_CHECK.set(check);
}

/// Whether the end of all children is requested.
fn is_stop_requested() -> bool {
    STOP_CHECK.get().is_some_and(|check| check())
}

/// Returns [`KernelError::Stopped`] if the end is requested. Long work between children calls it.
pub(crate) fn check_stop() -> Result<(), KernelError> {
    if is_stop_requested() { Err(KernelError::Stopped) } else { Ok(()) }
}

/// Takes the exclusive lock of a file, and waits for it until the end is requested.
pub(crate) fn lock(file: &File, path: &Path) -> Result<(), KernelError> {
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::WouldBlock) => std::thread::sleep(STOP_CHECK_INTERVAL),
            Err(TryLockError::Error(error)) => return Err(io_error_at(path)(error)),
        }
        check_stop()?;
    }
}

/// Returns the command of a build tool, with a fixed environment.
pub(crate) fn tool(program: &str) -> Command {
    let mut command = Command::new(program);
    command.env_clear().env("LC_ALL", "C");
    command.envs(KEPT_VARS.iter().filter_map(|name| Some((*name, std::env::var_os(name)?))));
    command.stdin(Stdio::null());
    command
}

/// Runs a command to its end and captures its output.
///
/// # Errors
/// If it cannot be started, or [`KernelError::Stopped`] if the end was requested before.
pub fn output(command: &mut Command) -> Result<Output, KernelError> {
    check_stop()?;
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    wait_for_output(spawn(command)?)
}

/// Starts a command in a process group of its own.
pub(crate) fn spawn(command: &mut Command) -> Result<Child, KernelError> {
    let program = PathBuf::from(command.get_program());
    command.process_group(0).spawn().map_err(io_error_at(&program))
}

/// Waits for the end of a child of [`spawn`], and returns what was captured of its output.
pub(crate) fn wait_for_output(child: Child) -> Result<Output, KernelError> {
    let group = Pid::from_child(&child);
    let (send, ended) = channel();
    std::thread::scope(|scope| {
        scope.spawn(move || send.send(child.wait_with_output()));
        let mut is_stopped = false;
        loop {
            match ended.recv_timeout(STOP_CHECK_INTERVAL) {
                Ok(_) if is_stopped => return Err(KernelError::Stopped),
                Ok(output) => return output.map_err(io_error_at(&PathBuf::from("a child process"))),
                Err(RecvTimeoutError::Timeout) if is_stop_requested() => {
                    is_stopped = true;
                    // It may have ended by itself meanwhile.
                    let _is_killed = kill_process_group(group, Signal::KILL);
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => unreachable!("the thread sends a result"),
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_has_neither_variables_of_the_user_nor_their_language() {
        let output = output(&mut tool("env")).expect("it runs");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(text.lines().any(|line| line == "LC_ALL=C") && text.lines().any(|line| line.starts_with("PATH=")));
        assert!(!text.contains("CARGO"), "{text}");
    }

    #[test]
    fn output_and_status_are_those_of_the_command() {
        let output = output(tool("sh").args(["-c", "echo out; echo err >&2; exit 3"])).expect("it runs");
        assert_eq!((output.stdout.as_slice(), output.stderr.as_slice()), (&b"out\n"[..], &b"err\n"[..]));
        assert_eq!(output.status.code(), Some(3));
        let error = super::output(&mut tool("no-such-program")).expect_err("there is none").to_string();
        assert!(error.starts_with("no-such-program: "), "{error}");
    }
}
