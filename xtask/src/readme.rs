// SPDX-License-Identifier: GPL-2.0-or-later
//! The README's two commands: one runs the main task, one runs the tests. CI runs them unchanged.

use anyhow::{Context, Result, bail};
use clap::ValueEnum;
use std::fs;
use std::path::Path;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReadmeCommand {
    /// Command that runs the main task.
    Run,
    /// Command that runs the tests.
    Test,
}

pub(crate) fn print_command(root: &Path, which: ReadmeCommand) -> Result<()> {
    let text = fs::read_to_string(root.join("README.md")).context("README.md")?;
    println!("{}", command(&text, which)?);
    Ok(())
}

/// Returns the first `cargo run` or `cargo test` in the README's code blocks.
fn command(text: &str, which: ReadmeCommand) -> Result<&str> {
    let wanted = match which {
        ReadmeCommand::Run => "cargo run",
        ReadmeCommand::Test => "cargo test",
    };
    let mut in_block = false;
    for line in text.lines() {
        if line.starts_with("```") {
            in_block = !in_block;
            continue;
        }
        // A prompt before the command and a comment after it are not part of it.
        let line = line.trim_start().trim_start_matches("$ ");
        if in_block && line.starts_with(wanted) {
            return Ok(line.split(" #").next().unwrap_or(line).trim());
        }
    }
    bail!("README.md: no code block has a line that begins with `{wanted}`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_found_in_code_blocks_only() {
        let text = "cargo run no\n```sh\n$ cargo run --release  # a remark\ncargo test --workspace\n```\n";
        assert_eq!(command(text, ReadmeCommand::Run).expect("there is one"), "cargo run --release");
        assert_eq!(command(text, ReadmeCommand::Test).expect("there is one"), "cargo test --workspace");
        assert!(command("```\nnothing\n```\n", ReadmeCommand::Run).is_err());
    }
}
