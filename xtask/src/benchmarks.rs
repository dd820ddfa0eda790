// SPDX-License-Identifier: GPL-2.0-or-later
//! Sections of the book about benchmark models, from the help texts of `fairlab bench`.

use crate::tables::split_default;
use clap::{Arg, Command, Subcommand as _};
use fairlab_workload::bench::BenchCommand;

/// Returns a section for each benchmark: purpose, examples, options, model.
pub(crate) fn sections() -> String {
    let mut sections = String::new();
    add_sections(&BenchCommand::augment_subcommands(Command::new("fairlab bench")), "", &mut sections);
    sections
}

/// Adds the sections of the commands below a command with this name.
fn add_sections(command: &Command, name: &str, sections: &mut String) {
    for inner in command.get_subcommands() {
        let name = format!("{name} {}", inner.get_name());
        if inner.has_subcommands() {
            add_sections(inner, &name, sections);
        } else {
            sections.push_str(&section(inner, name.trim()));
        }
    }
}

fn section(command: &Command, name: &str) -> String {
    let help = command.get_long_about().or_else(|| command.get_about()).map(ToString::to_string).unwrap_or_default();
    let (purpose, model) = help.split_once("\n\n").unwrap_or((&help, ""));
    let examples = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let examples: String =
        examples.lines().filter_map(|line| line.strip_prefix("  ")).map(|line| format!("{line}\n")).collect();
    let options: String = command.get_arguments().map(option_row).collect();
    format!(
        "### {name}\n\n{purpose}.\n\n```sh\n{examples}```\n\n| option | default | meaning |\n|---|---|---|\n{options}\n{model}\n\n"
    )
}

fn option_row(option: &Arg) -> String {
    let takes_value = option.get_action().takes_values();
    let value = option.get_value_names().filter(|_| takes_value).map_or("", |names| &names[0]);
    let short = option.get_short().map(|short| format!("-{short}"));
    let long = option.get_long().map(|long| format!("--{long}"));
    let names: Vec<String> = short.into_iter().chain(long).collect();
    let name = format!("{} {value}", names.join(", "));
    let help = option.get_help().map(ToString::to_string).unwrap_or_default();
    // The help has defaults that follow from other options.
    let (meaning, default) = split_default(&help);
    let values = option.get_default_values().iter().filter_map(|value| value.to_str()).collect::<Vec<_>>().join(" ");
    let default = if default.is_empty() && takes_value { &values } else { default };
    format!("| `{}` | {default} | {meaning} |\n", name.trim()).replace("|  |", "| |")
}
