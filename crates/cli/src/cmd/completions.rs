// SPDX-License-Identifier: GPL-2.0-or-later
//! `fairlab completions`: scripts with which a shell completes fairlab's commands and options.

use crate::args::{Args, CompletionsArgs};
use crate::output::Output;
use crate::values::error::CliError;
use crate::values::hints;
use clap::CommandFactory;
use clap_complete::Shell;

pub(crate) fn completions(output: &mut Output, args: &CompletionsArgs) -> Result<(), CliError> {
    let mut script = Vec::new();
    hints::with_completion(|| clap_complete::generate(args.shell, &mut Args::command(), "fairlab", &mut script));
    let script = String::from_utf8_lossy(&script);
    output.text(&if args.shell == Shell::Fish { with_paths(&script) } else { script.into_owned() })
}

/// Returns the Fish script with paths completed beside the names of machines and studies. Other shells
/// complete paths where no name fits.
fn with_paths(script: &str) -> String {
    let names = |line: &str| line.contains(" -l machine ") || line.contains(" -l recorded-on ");
    let lines =
        script.lines().map(|line| if names(line) { line.replace(" -r -f -a ", " -r -F -a ") } else { line.to_owned() });
    lines.map(|line| line + "\n").collect()
}
