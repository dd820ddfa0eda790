// SPDX-License-Identifier: GPL-2.0-or-later
//! The tool that merges profiles. It must belong to the LLVM of the compiler: the format is not stable
//! between releases.

use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Properties of the compiler.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct CompilerInfo {
    /// Host of the compiler, as a target name.
    pub(super) host: String,
    /// Major version of its LLVM.
    llvm: u32,
    /// Directory of the toolchain.
    sysroot: PathBuf,
}

impl CompilerInfo {
    pub(super) fn from_rustc(root: &Path) -> Result<Self> {
        let version = stdout_of(Command::new("rustc").arg("-vV").current_dir(root))?;
        let sysroot = stdout_of(Command::new("rustc").args(["--print", "sysroot"]).current_dir(root))?;
        Self::parse(&version, sysroot.trim())
    }

    fn parse(version: &str, sysroot: &str) -> Result<Self> {
        let field = |name: &str| {
            let found = version.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
            found.with_context(|| format!("rustc -vV prints no {name}"))
        };
        let llvm = major(field("LLVM version")?).context("rustc -vV: the LLVM version is not a number")?;
        Ok(Self { host: field("host")?.to_owned(), llvm, sysroot: sysroot.into() })
    }
}

/// Returns the first number in a text.
fn major(text: &str) -> Option<u32> {
    let digits = text.trim_start_matches(|letter: char| !letter.is_ascii_digit());
    digits.split(|letter: char| !letter.is_ascii_digit()).next()?.parse().ok()
}

/// Returns the major version in a tool's output.
fn major_of_tool(text: &str) -> Option<u32> {
    major(text.split_once("LLVM version")?.1)
}

/// Finds the tool: the given path, rustup's component, Debian's package of that LLVM, or the plain name.
pub(super) fn find(compiler: &CompilerInfo, given: Option<&Path>) -> Result<PathBuf> {
    let CompilerInfo { host, llvm, sysroot } = compiler;
    let candidates = match given {
        Some(path) => vec![path.to_owned()],
        None => vec![
            sysroot.join("lib/rustlib").join(host).join("bin/llvm-profdata"),
            format!("llvm-profdata-{llvm}").into(),
            "llvm-profdata".into(),
        ],
    };
    let mut seen = Vec::new();
    // Without a subcommand, older versions do not print their version.
    for candidate in candidates {
        match stdout_of(Command::new(&candidate).args(["merge", "--version"]))
            .ok()
            .and_then(|text| major_of_tool(&text))
        {
            Some(version) if version == *llvm => return Ok(candidate),
            Some(version) => seen.push(format!("{} belongs to LLVM {version}", candidate.display())),
            None => seen.push(format!("{} cannot be run", candidate.display())),
        }
    }
    bail!(
        "llvm-profdata of LLVM {llvm}, the compiler's version, is missing ({})\n\
         help: `apt-get install llvm-{llvm}`, or `rustup component add llvm-tools`, or --profdata PATH",
        seen.join("; ")
    )
}

/// Merges the profiles of several runs.
pub(super) fn merge(tool: &Path, counted: &[PathBuf], merged: &Path) -> Result<()> {
    stdout_of(Command::new(tool).arg("merge").arg("--output").arg(merged).args(counted)).map(|_| ())
}

/// Runs a command and returns its standard output.
fn stdout_of(command: &mut Command) -> Result<String> {
    let output = command.output().with_context(|| format!("{command:?}"))?;
    if !output.status.success() {
        bail!("{command:?} fails:\n{}", String::from_utf8_lossy(&output.stderr));
    }
    String::from_utf8(output.stdout).with_context(|| format!("the output of {command:?} is not text"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const VERSION: &str = "rustc 1.95.0\nbinary: rustc\nhost: x86_64-unknown-linux-gnu\nLLVM version: 22.1.2\n";

    #[test]
    fn versions_are_read_as_compilers_and_tools_print_them() {
        let compiler = CompilerInfo::parse(VERSION, "/toolchain").expect("it is complete");
        assert_eq!((compiler.host.as_str(), compiler.llvm), ("x86_64-unknown-linux-gnu", 22));
        assert_eq!(major_of_tool("Debian LLVM version 14.0.6\n  Optimized build."), Some(14));
        assert_eq!(major_of_tool("LLVM (http://llvm.org/):\n  LLVM version 22.1.2-rust-1.95.0-stable\n"), Some(22));
        assert_eq!(major_of_tool("a shell"), None);
    }

    #[test]
    fn a_tool_that_is_missing_is_named_with_its_package() {
        let compiler = CompilerInfo::parse(VERSION, "/toolchain").expect("it is complete");
        let error = find(&compiler, Some(Path::new("/nowhere/llvm-profdata"))).expect_err("there is none");
        let text = error.to_string();
        assert!(text.contains("/nowhere/llvm-profdata cannot be run"), "{text}");
        assert!(text.contains("apt-get install llvm-22"), "{text}");
    }
}
