// SPDX-License-Identifier: GPL-2.0-or-later
//! `fairlab study sensitivity`: the headline of a study with each uncertain fact of the processor at both ends of its
//! range.

use crate::args::study::StudySensitivityArgs;
use crate::execution::worker::study::study_error;
use crate::output::progress::StudyProgress;
use crate::output::table::Table;
use crate::output::{Output, Styles, wrap};
use crate::values::error::CliError;
use fairlab_run::settings::Settings;
use fairlab_study::loaded::LoadedStudy;
use fairlab_study::sensitivity::{FactEffect, FactEnd, SensitivityReport};
use fairlab_study::{StudyLength, StudyOptions};

pub(super) fn sensitivity(output: &mut Output, args: &StudySensitivityArgs) -> Result<(), CliError> {
    let choices = StudyOptions {
        options: StudyLength { quick: args.quick },
        seeds: args.seeds,
        settings: Settings { duration: args.span, ..Settings::default() },
        ..StudyOptions::default()
    };
    let study = LoadedStudy::new(&args.study).map_err(study_error)?;
    let progress = StudyProgress::new();
    let report = study.sensitivity(&choices, &progress);
    progress.clear();
    let report = report.map_err(study_error)?;
    output.json_or_text(&report, |styles| text(&report, styles))
}

fn text(report: &SensitivityReport, styles: Styles) -> String {
    let mut page = wrap(&report.answer(), 0);
    if report.facts.is_empty() {
        return page;
    }
    let mut table = Table::default().left(["fact"]).right(["range", "value", "least", "greatest", "change"]).left([""]);
    for effect in &report.facts {
        let FactEffect { fact, value, least, greatest, .. } = effect;
        let headline = |end: &FactEnd| end.headline.map_or_else(|| "-".to_owned(), |value| report.number(value));
        let change = effect.largest_change.map_or_else(|| "-".to_owned(), |change| format!("{change:+.2}"));
        table.row(vec![
            fact.as_str().into(),
            format!("{} to {}", least.fact, greatest.fact).into(),
            value.to_string().into(),
            headline(least).into(),
            headline(greatest).into(),
            change.into(),
            if effect.is_within_noise == Some(true) { "noise" } else { "" }.into(),
        ]);
    }
    let heading = "Headline with a fact at the least and the greatest value of its range";
    page.push_str(&format!("\n{}\n{}", styles.bold(heading), table.render(styles)));
    page.push_str(&format!("\nFacts are those of {}.\n", report.machines.join(" and ")));
    page
}
