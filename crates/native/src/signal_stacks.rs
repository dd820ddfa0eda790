// SPDX-License-Identifier: GPL-2.0-or-later
//! Threads without alternate signal stacks.
//!
//! The Rust library gives each thread a stack for its handler of stack overflows: four system calls, two page faults and
//! 40 to 50 % of the time in which a thread is created and ends. Threads of other programs have none. The library
//! installs no handler if SIGSEGV and SIGBUS are ignored when a program starts.

use std::os::unix::process::CommandExt;
use std::process::Command;

/// Environment variable of a program that was executed again.
const MARK: &str = "FAIRLAB_PLAIN_THREADS";
/// Bits of SIGBUS and SIGSEGV in `SigIgn` of `/proc/self/status`.
const IGNORED: u64 = 1 << 6 | 1 << 10;

/// Executes this program again, with its arguments, so that its threads have no alternate signal stacks. Returns if they
/// have none already, or if the program cannot be executed: threads are slower then.
pub fn reexec_without() {
    if is_ignored() || std::env::var_os(MARK).is_some() {
        return;
    }
    let Ok(program) = std::env::current_exe() else { return };
    let script = "trap '' SEGV BUS; exec \"$@\"";
    let mut command = Command::new("sh");
    command.args(["-c", script, "sh"]).arg(program).args(std::env::args_os().skip(1)).env(MARK, "1");
    // Returns only if there is no shell.
    let _error = command.exec();
}

fn is_ignored() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask & IGNORED == IGNORED)
}
