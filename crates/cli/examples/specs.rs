// SPDX-License-Identifier: GPL-2.0-or-later
//! Prints the runs of a command as JSON, and runs nothing: `specs run scenarios/hello.json --kernel 6.1`. `cargo xtask book` needs them.

use std::process::ExitCode;

#[expect(clippy::print_stdout, clippy::print_stderr, reason = "a command for people")]
fn main() -> ExitCode {
    let words: Vec<String> = std::iter::once("fairlab".to_owned()).chain(std::env::args().skip(1)).collect();
    match fairlab_cli::embed::specs::of_command(&words) {
        Ok(specs) => {
            println!("{}", serde_json::to_string(&specs).expect("specs are valid JSON"));
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}
