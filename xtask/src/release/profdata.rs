// SPDX-License-Identifier: GPL-2.0-or-later
//! The tool that merges what programs have counted. It must be of the LLVM that the compiler contains: the format has no
//! stability between releases.

use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};
use std::process::Command;

/// What the compiler says of itself.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Compiler {
    /// The machine on which it runs, as a target's name.
    pub(super) host: String,
    /// First number of its LLVM's version.
    llvm: u32,
    /// The folder of the toolchain.
    sysroot: PathBuf,
}

impl Compiler {
    pub(super) fn read_version(root: &Path) -> Result<Self> {
        let version = first_line(Command::new("rustc").arg("-vV").current_dir(root))?;
        let sysroot = first_line(Command::new("rustc").args(["--print", "sysroot"]).current_dir(root))?;
        Self::parse(&version, sysroot.trim())
    }

    fn parse(version: &str, sysroot: &str) -> Result<Self> {
        let field = |name: &str| {
            let found = version.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
            found.with_context(|| format!("rustc -vV says no {name}"))
        };
        let llvm = major(field("LLVM version")?).context("rustc -vV: the LLVM version is no number")?;
        Ok(Self { host: field("host")?.to_owned(), llvm, sysroot: sysroot.into() })
    }
}

/// The first number in a text.
fn major(text: &str) -> Option<u32> {
    let digits = text.trim_start_matches(|letter: char| !letter.is_ascii_digit());
    digits.split(|letter: char| !letter.is_ascii_digit()).next()?.parse().ok()
}

/// The first number of the version that a tool tells.
fn major_of_tool(text: &str) -> Option<u32> {
    major(text.split_once("LLVM version")?.1)
}

/// Looks for the tool: the given one; rustup's component; Debian's package of that LLVM; whatever has the plain name.
pub(super) fn find(compiler: &Compiler, given: Option<&Path>) -> Result<PathBuf> {
    let Compiler { host, llvm, sysroot } = compiler;
    let candidates = match given {
        Some(path) => vec![path.to_owned()],
        None => vec![
            sysroot.join("lib/rustlib").join(host).join("bin/llvm-profdata"),
            format!("llvm-profdata-{llvm}").into(),
            "llvm-profdata".into(),
        ],
    };
    let mut seen = Vec::new();
    // Asked without a subcommand, older ones do not tell their version.
    for candidate in candidates {
        match first_line(Command::new(&candidate).args(["merge", "--version"]))
            .ok()
            .and_then(|text| major_of_tool(&text))
        {
            Some(version) if version == *llvm => return Ok(candidate),
            Some(version) => seen.push(format!("{} is of LLVM {version}", candidate.display())),
            None => seen.push(format!("{} cannot be run", candidate.display())),
        }
    }
    bail!(
        "there is no llvm-profdata of LLVM {llvm}, which this compiler contains ({})\n\
         help: `apt-get install llvm-{llvm}`, or `rustup component add llvm-tools`, or --profdata PATH",
        seen.join("; ")
    )
}

/// Adds up what several runs have counted.
pub(super) fn merge(tool: &Path, counted: &[PathBuf], merged: &Path) -> Result<()> {
    first_line(Command::new(tool).arg("merge").arg("--output").arg(merged).args(counted)).map(|_| ())
}

/// What a command says on its standard output.
fn first_line(command: &mut Command) -> Result<String> {
    let output = command.output().with_context(|| format!("{command:?}"))?;
    if !output.status.success() {
        bail!("{command:?} fails:\n{}", String::from_utf8_lossy(&output.stderr));
    }
    String::from_utf8(output.stdout).with_context(|| format!("{command:?} says text"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const VERSION: &str = "rustc 1.95.0\nbinary: rustc\nhost: x86_64-unknown-linux-gnu\nLLVM version: 22.1.2\n";

    #[test]
    fn versions_are_read_as_compilers_and_tools_print_them() {
        let compiler = Compiler::parse(VERSION, "/toolchain").expect("it is complete");
        assert_eq!((compiler.host.as_str(), compiler.llvm), ("x86_64-unknown-linux-gnu", 22));
        assert_eq!(major_of_tool("Debian LLVM version 14.0.6\n  Optimized build."), Some(14));
        assert_eq!(major_of_tool("LLVM (http://llvm.org/):\n  LLVM version 22.1.2-rust-1.95.0-stable\n"), Some(22));
        assert_eq!(major_of_tool("a shell"), None);
    }

    #[test]
    fn a_tool_that_is_missing_is_named_with_its_package() {
        let compiler = Compiler::parse(VERSION, "/toolchain").expect("it is complete");
        let error = find(&compiler, Some(Path::new("/nowhere/llvm-profdata"))).expect_err("there is none");
        let text = error.to_string();
        assert!(text.contains("/nowhere/llvm-profdata cannot be run"), "{text}");
        assert!(text.contains("apt-get install llvm-22"), "{text}");
    }
}
