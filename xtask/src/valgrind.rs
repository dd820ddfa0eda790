// SPDX-License-Identifier: GPL-2.0-or-later
//! Counting of instructions with valgrind's callgrind. This measure of speed does not depend on other load.
//!
//! Programs run with an empty environment, so that paths and variables do not affect the count. The C library is
//! restricted to code for every x86-64 CPU. A few instructions for the digits of times still vary.

use crate::programs;
use crate::requirement::skip_or_fail;
use anyhow::{Context, Result};
use std::io::ErrorKind;
use std::path::Path;
use std::process::Command;

/// CPU features that the C library must not use when it selects its functions.
const PLAIN_CPU: &str = "glibc.cpu.hwcaps=-AVX2,-AVX512F,-AVX512VL,-AVX512BW,-ERMS,-FSRM,-MOVBE,-RTM";

/// Options of callgrind for the simulation of caches: those of the first level have 32 KiB and 8 ways.
pub(crate) const CACHES: [&str; 4] = ["--cache-sim=yes", "--I1=32768,8,64", "--D1=32768,8,64", "--LL=8388608,16,64"];

/// Returns whether valgrind is installed. If it is missing, reports SKIPPED in CI and fails elsewhere.
pub(crate) fn find_or_skip(is_ci: bool) -> Result<bool> {
    match Command::new("valgrind").arg("--version").output() {
        Ok(output) if output.status.success() => return Ok(true),
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error).context("valgrind"),
        _ => {}
    }
    let message = "valgrind, which counts instructions, is missing (Debian's package valgrind)";
    skip_or_fail(is_ci, "valgrind", message)?;
    Ok(false)
}

/// Returns a call of callgrind that writes its profile to a file; the program and its arguments follow.
pub(crate) fn callgrind(profile: &Path) -> Command {
    let mut command = Command::new("valgrind");
    command.args(["--tool=callgrind", &format!("--callgrind-out-file={}", profile.display())]);
    command.env_clear().env("GLIBC_TUNABLES", PLAIN_CPU);
    if let Some(path) = std::env::var_os("PATH") {
        command.env("PATH", path);
    }
    command
}

/// Returns the compiler's version and host in one line. Counts of different compilers cannot be compared.
pub(crate) fn compiler(root: &Path) -> Result<String> {
    let output = programs::run_to_end(Command::new("rustc").arg("-vV"), root, None)?;
    let text = String::from_utf8(output.stdout).context("the output of rustc -vV is not text")?;
    let version = text.lines().next().context("rustc -vV prints no version")?;
    let host = text.lines().find_map(|line| line.strip_prefix("host: ")).context("rustc -vV prints no host")?;
    Ok(format!("{version} for {host}"))
}
