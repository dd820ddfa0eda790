// SPDX-License-Identifier: GPL-2.0-or-later
//! The book's tables of the statements and keys of scenarios, rt-app files and machine files.

use fairlab_board::{KeyInfo, plain_keys};
use fairlab_findings::{Finding, RULES, RuleInfo};
use fairlab_measure::catalogue::{self, METRICS, MetricDirection, NAMED, NO_METRICS, NamedMetric, Scope};
use fairlab_run::settings::{SETTINGS, Setting, commands};
use fairlab_workload::rtapp::EVENTS;
use fairlab_workload::scenario::{STATEMENTS, Statement, StatementTopic};
use std::collections::BTreeMap;

/// Returns the table of the statements about a topic.
pub(crate) fn statements(about: StatementTopic) -> String {
    let (heading, has_default) = match about {
        StatementTopic::Machine | StatementTopic::Run => ("meaning", true),
        StatementTopic::Scheduler | StatementTopic::Other => ("meaning", false),
        StatementTopic::Change => ("at T", false),
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

/// Returns the table of rt-app events.
pub(crate) fn events() -> String {
    let rows = EVENTS.iter().map(|event| format!("| `{}` {} | {} |\n", event.prefix, event.value, event.meaning));
    format!("| event | what it does here |\n|---|---|\n{}", rows.collect::<String>())
}

/// Returns the table of the plain keys of machine files.
pub(crate) fn machine_keys() -> String {
    let row = |key: KeyInfo| {
        let KeyInfo { name, meaning, range, default } = key;
        format!("| `{name}` | {} | {range} | `{default}` |\n", clause(meaning))
    };
    let rows: String = plain_keys().into_iter().map(row).collect();
    format!("| key | meaning | range | default |\n|---|---|---|---|\n{rows}")
}

/// Returns the table of the settings of a run.
pub(crate) fn settings() -> String {
    let row = |setting: &Setting| {
        let value = if setting.value.is_empty() { String::new() } else { format!(" {}", setting.value) };
        let value = value.replace('|', "\\|");
        let option = match setting.commands & !commands::STUDY_ARM {
            commands::NONE => "none".to_owned(),
            _ if setting.default_value.is_some() => format!("`--{}[={}]`", setting.option, value.trim()),
            _ => format!("`--{}{value}`", setting.option),
        };
        let summary = setting.summary().replace('|', "\\|");
        let summary = summary.trim_end_matches('.');
        let arms = if setting.is_change { "yes" } else { "no" };
        let examples = setting.examples.iter().filter(|text| !text.is_empty()).map(|text| format!("`{text}`"));
        let examples = examples.collect::<Vec<_>>().join(", ");
        let commands = commands_of(setting.commands);
        format!("| `{}` | {option} | {commands} | {arms} | {summary} | {examples} |\n", setting.name)
    };
    let rows: String = SETTINGS.iter().map(row).collect();
    format!("| setting | option | commands | arms | meaning | examples |\n|---|---|---|---|---|---|\n{rows}")
}

/// Splits the help of an option that ends in its default: meaning and default, which is empty if there is none.
pub(crate) fn split_default(help: &str) -> (&str, &str) {
    let before = help.strip_suffix(']').filter(|help| help.matches(" [default: ").count() == 1);
    before.and_then(|help| help.split_once(" [default: ")).unwrap_or((help, ""))
}

/// Returns the names of the commands that have a setting as an option.
fn commands_of(bits: u16) -> String {
    let without_engines = commands::FUZZ | commands::LAB;
    if bits & commands::ALL == commands::ALL & !without_engines && bits & commands::STUDY != 0 {
        return "all but `fuzz` and `lab`".to_owned();
    }
    if bits & commands::ALL == commands::ALL {
        return if bits & commands::STUDY == 0 { "all but `study run`" } else { "all" }.to_owned();
    }
    let names = [
        (commands::RUN, "`run`"),
        (commands::BENCH, "`bench`"),
        (commands::REPEAT, "`compare`, `bisect`"),
        (commands::CHECK, "`check`"),
        (commands::REPLAY, "`replay`"),
        (commands::FUZZ, "`fuzz`"),
        (commands::LAB, "`lab`"),
        (commands::STUDY, "`study run`"),
    ];
    let names: Vec<&str> = names.into_iter().filter(|(bit, _)| bits & bit != 0).map(|(_, name)| name).collect();
    if names.is_empty() { "none: a value in Python".to_owned() } else { names.join(", ") }
}

/// Returns the tables of all metrics, one for each top-level member of a result.
pub(crate) fn metrics() -> String {
    let meanings: BTreeMap<String, String> = catalogue::results()
        .iter()
        .chain([&Finding::schema()])
        .flat_map(|(prefix, schema)| {
            catalogue::numbers_of(schema).into_iter().map(move |(path, meaning)| (format!("{prefix}{path}"), meaning))
        })
        .collect();
    let mut text = String::new();
    let mut section = "";
    for info in METRICS {
        let top = info.path.split(['.', '[', '{']).next().unwrap_or_default();
        if top != section {
            section = top;
            let head = "| path | unit | better | meaning | computed from |\n|---|---|---|---|---|";
            text.push_str(&format!("\n### `{top}`\n\n{head}\n"));
        }
        let path = if info.is_latency { format!("{}.p50_ns", info.path) } else { info.path.to_owned() };
        let own = if info.is_latency { "Summary statistics of latencies." } else { meanings[&path].as_str() };
        let mut meaning = own.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|");
        if !info.per.is_empty() {
            meaning.push_str(&format!(" Divided by: {}.", info.per));
        }
        if !info.undefined.is_empty() {
            meaning.push_str(&format!(" {}{}.", info.undefined[..1].to_uppercase(), &info.undefined[1..]));
        }
        let better = match info.better {
            MetricDirection::Less => "less",
            MetricDirection::More => "more",
            MetricDirection::Neither => "",
        };
        text.push_str(&format!("| `{}` | {} | {better} | {meaning} | {} |\n", info.path, info.unit, info.from));
    }
    text
}

/// Returns the table of the metrics with short names.
pub(crate) fn named_metrics() -> String {
    let row = |named: &NamedMetric| {
        let info = named.info();
        let (runs, name, element) = match named.scope {
            Scope::Bench => ("benchmarks", named.name.to_owned(), ""),
            Scope::File => ("workload files", named.name.to_owned(), ""),
            Scope::Domain => (
                "workload files, for each frequency domain",
                format!("{} CPUS", named.name),
                "energy.domains[cpus=CPUS].",
            ),
            Scope::Cgroup => {
                ("workload files, for each cgroup", format!("CGROUP: {}", named.name), "cgroups[name=CGROUP].")
            }
            Scope::Response => {
                ("workload files, for each response", format!("RESPONSE: {}", named.name), "responses[name=RESPONSE].")
            }
            Scope::Family => {
                ("workload files, for each family", format!("FAMILY: {}", named.name), "families[name=FAMILY].")
            }
            Scope::Kind => (
                "workload files, for each family and kind of CPU",
                format!("FAMILY: {} CPUS", named.name),
                "families[name=FAMILY].",
            ),
            Scope::Run => ("all", named.name.to_owned(), ""),
        };
        let per = named.per.map_or_else(String::new, |per| format!(" / `{element}{per}`"));
        format!("| `{name}` | {runs} | {} | `{element}{}`{per} |\n", info.unit, named.path)
    };
    let rows: String = NAMED.iter().map(row).collect();
    format!("| name | runs | unit | path |\n|---|---|---|---|\n{rows}")
}

/// Returns the table of numbers in results that are no metrics.
pub(crate) fn no_metrics() -> String {
    let of_reason = |&(reason, paths): &(&str, &[&str])| -> String {
        paths.iter().map(|path| format!("| `{path}` | {reason} |\n")).collect()
    };
    let rows: String = NO_METRICS.iter().map(of_reason).collect();
    format!("| path | kind |\n|---|---|\n{rows}")
}

/// Returns the table of the rules of `fairlab findings`, by severity.
pub(crate) fn finding_rules() -> String {
    let mut rules: Vec<&RuleInfo> = RULES.iter().collect();
    rules.sort_by_key(|rule| std::cmp::Reverse(rule.severity.max()));
    let row = |rule: &RuleInfo| {
        let RuleInfo { name, condition, severity, is_for_traces, .. } = rule;
        let traces = if *is_for_traces { "yes" } else { "no" };
        format!("| `{name}` | {condition} | {severity} | {traces} |\n")
    };
    let rows: String = rules.into_iter().map(row).collect();
    let heading =
        "| rule | condition (limits that are options in parentheses) | severity | recorded traces |\n|---|---|---|---|";
    format!("{heading}\n{rows}")
}

/// Converts a sentence to a clause: without the full stop, and in lower case unless it begins with an
/// abbreviation.
fn clause(sentence: &str) -> String {
    let mut letters = sentence.trim_end_matches('.').chars();
    let (first, rest) = (letters.next(), letters.as_str());
    let is_word = rest.starts_with(|letter: char| letter.is_ascii_lowercase());
    first.map_or_else(String::new, |first| {
        let first = if is_word { first.to_ascii_lowercase() } else { first };
        format!("{first}{rest}")
    })
}
