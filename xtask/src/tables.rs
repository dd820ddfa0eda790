// SPDX-License-Identifier: GPL-2.0-or-later
//! The book's tables of the statements of scenarios.

use fairlab_workload::scn::{About, STATEMENTS, Statement};

/// A table of the statements about something.
pub(crate) fn table(about: About) -> String {
    let (heading, has_default) = match about {
        About::Machine | About::Run => ("meaning", true),
        About::Scheduler | About::Other => ("meaning", false),
        About::Change => ("at T", false),
    };
    let mut text = format!("| statement | {heading} |");
    text.push_str(if has_default { " default |\n|---|---|---|\n" } else { "\n|---|---|\n" });
    for statement in STATEMENTS.iter().filter(|statement| statement.about == about) {
        text.push_str(&row(statement, has_default));
    }
    text
}

fn row(statement: &Statement, has_default: bool) -> String {
    let Statement { keyword, syntax, default, .. } = statement;
    let mark = if statement.is_extension { " ¹" } else { "" };
    let default = match default {
        _ if !has_default => String::new(),
        &"" => " |".to_owned(),
        default => format!(" {default} |"),
    };
    format!("| `{keyword} {syntax}`{mark} | {} |{default}\n", statement.meaning())
}
