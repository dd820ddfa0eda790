// SPDX-License-Identifier: GPL-2.0-or-later
//! Forms in which a comparison is written.

mod junit;
mod lists;
mod markdown;
mod text;

use super::report::ExperimentReport;
use crate::output::Styles;
use crate::values::error::CliError;
use fairlab_experiment::report::ComparisonReport;
use fairlab_workload::message::Message;

/// Output format of a comparison, by its name in `--format`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReportFormat {
    Text,
    Std,
    Mmtests,
    Lkp,
    Markdown,
    Json,
    Html,
    Junit,
}

/// Requested output format, and its file; without a file it goes to standard output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RequestedFormat {
    pub(crate) form: ReportFormat,
    pub(crate) file: Option<String>,
}

impl ReportFormat {
    const ALL: [(&'static str, Self); 8] = [
        ("text", Self::Text),
        ("std", Self::Std),
        ("mmtests", Self::Mmtests),
        ("lkp", Self::Lkp),
        ("markdown", Self::Markdown),
        ("json", Self::Json),
        ("html", Self::Html),
        ("junit", Self::Junit),
    ];

    /// Formats the report. Fails if the format's writer fails.
    pub(crate) fn render(self, report: &ExperimentReport, styles: Styles) -> Result<String, CliError> {
        let compared = &report.compared;
        Ok(match self {
            Self::Text => text::text(report, styles),
            Self::Std => with_stop_note(compared, lists::std),
            Self::Mmtests => with_stop_note(compared, lists::mmtests),
            Self::Lkp => with_stop_note(compared, lists::lkp),
            Self::Markdown => markdown::text(compared),
            Self::Json => serde_json::to_string_pretty(&report.document()).map_err(CliError::failed)? + "\n",
            Self::Html => report.page().html(None),
            Self::Junit => junit::text(compared).map_err(CliError::failed)?,
        })
    }
}

pub(crate) fn names() -> Vec<&'static str> {
    ReportFormat::ALL.iter().map(|(name, _)| *name).collect()
}

pub(crate) fn parse_format(text: &str) -> Result<RequestedFormat, Message> {
    let (name, file) = text.split_once('=').map_or((text, None), |(name, file)| (name, Some(file)));
    let form = ReportFormat::ALL.iter().find(|(known, _)| *known == name).map(|(_, form)| *form);
    let form = form
        .ok_or_else(|| Message::new("there is no such form").with_help(format!("there are {}", names().join(", "))))?;
    if file.is_some_and(str::is_empty) {
        return Err(Message::new("the file has no name").with_help("write FORM=FILE"));
    }
    Ok(RequestedFormat { form, file: file.filter(|file| *file != "-").map(str::to_owned) })
}

/// A form without notes; what a signal has cut short says so in a comment before it.
fn with_stop_note(report: &ComparisonReport, form: fn(&ComparisonReport) -> String) -> String {
    report.stop_note().map_or_else(String::new, |stopped| format!("# {stopped}\n")) + &form(report)
}

#[cfg(test)]
mod tests;
