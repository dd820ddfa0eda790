// SPDX-License-Identifier: GPL-2.0-or-later
//! `[[picture]]`: charts of a table's rows, and histograms from the results of runs.

use super::data_study::DataStudy;
use super::figures::MetricError;
use super::keys::{ChartDefinition, ChartKind};
use super::measure::{ExtractPairsFn, HistogramRequest, RunNumbers};
use crate::definition::FigureValue;
use crate::report::{ReportRow, ReportTable};
use fairlab_experiment::charts::{self, Chart};
use fairlab_measure::path::ResultPath;
use fairlab_workload::message::Message;
use serde_json::Value;

/// Histogram that a chart needs from a run.
pub(super) struct HistogramSource {
    picture: usize,
    pub(super) case: usize,
    pub(super) arm: String,
    take: Box<ExtractPairsFn>,
}

impl HistogramSource {
    pub(super) fn extra(&self) -> HistogramRequest<'_> {
        HistogramRequest { case: self.case, arm: &self.arm, take: &*self.take }
    }
}

/// Returns the pairs of value and count at a path.
fn pairs_at(path: &ResultPath, result: &Value) -> Result<Vec<[f64; 2]>, MetricError> {
    let wrong = || {
        let error = Message::new(format!("`{}` is not a list of pairs", path.text()));
        MetricError::Wrong(error.with_help("name a list of pairs, such as usecs"))
    };
    let found = path.find(result).map_err(MetricError::Wrong)?;
    let pair = |value: &Value| Some([value.get(0)?.as_f64()?, value.get(1)?.as_f64()?]);
    let lists = found.iter().filter_map(|value| value.as_array());
    lists.flatten().map(|value| pair(value).ok_or_else(wrong)).collect()
}

impl DataStudy<'_> {
    /// Returns the histograms that charts need from runs.
    pub(super) fn histogram_sources(&self) -> Vec<HistogramSource> {
        let mut all = Vec::new();
        for (picture, definition) in self.definition.pictures.iter().enumerate() {
            let (ChartKind::Histogram, Some(run), Some(path)) = (definition.kind, &definition.run, &definition.path)
            else {
                continue;
            };
            let case = self.cases.iter().position(|case| case.name == *run).expect("names of pictures were checked");
            let arms = self.definition.arms.iter().map(|arm| &arm.name);
            for arm in arms.filter(|arm| definition.arms.is_empty() || definition.arms.contains(arm)) {
                let path = ResultPath::parse(path).expect("paths of pictures were checked");
                let take = Box::new(move |result: &Value| pairs_at(&path, result));
                all.push(HistogramSource { picture, case, arm: arm.clone(), take });
            }
        }
        all
    }

    /// Returns all charts, from filled tables and extracted histograms.
    pub(super) fn pictures(
        &self,
        tables: &[ReportTable],
        taken: &[HistogramSource],
        numbers: &RunNumbers,
    ) -> Vec<Chart> {
        let of = |(place, definition): (usize, &ChartDefinition)| {
            let name = format!("{}-{}", self.definition.name, definition.name);
            if definition.kind == ChartKind::Histogram {
                let of_picture = taken.iter().zip(&numbers.extras).filter(|(taken, _)| taken.picture == place);
                return vec![histogram(
                    &name,
                    definition,
                    of_picture.map(|(taken, pairs)| (taken.arm.as_str(), pairs)),
                )];
            }
            let table = tables.iter().find(|table| Some(&table.name) == definition.table.as_ref());
            let table = table.expect("names of pictures were checked");
            if definition.kind == ChartKind::Runs {
                return vec![self.distribution(&name, definition, table, numbers)];
            }
            of_table(&name, definition, table)
        };
        self.definition.pictures.iter().enumerate().flat_map(of).collect()
    }

    /// Draws the distribution of the runs of a table's rows.
    fn distribution(
        &self,
        name: &str,
        definition: &ChartDefinition,
        table: &ReportTable,
        numbers: &RunNumbers,
    ) -> Chart {
        const RANGES: usize = 10;
        let questions = self.questions.iter().find(|(asked, _)| asked.name == table.name).map(|(_, asked)| asked);
        let chosen = questions.into_iter().flatten().filter(|question| shows(definition, &question.row.arm));
        let named = chosen.filter_map(|question| {
            let values = numbers.of_runs(question.case, &question.row.arm, &question.figure)?;
            Some((format!("{}, {}", question.row.label, question.row.arm), values))
        });
        let named: Vec<(String, &[f64])> = named.collect();
        let all = || named.iter().flat_map(|(_, values)| values.iter().copied());
        let (least, most) = (all().fold(f64::INFINITY, f64::min), all().fold(f64::NEG_INFINITY, f64::max));
        let width = ((most - least) / RANGES as f64).max(f64::MIN_POSITIVE);
        let place = |value: f64| (((value - least) / width) as usize).min(RANGES - 1);
        let rows: Vec<(String, Vec<Option<f64>>)> = (0..RANGES)
            .map(|range| {
                let count = |values: &[f64]| values.iter().filter(|value| place(**value) == range).count() as f64;
                let label = FigureValue::Number(least + width * range as f64).to_string();
                (label, named.iter().map(|(_, values)| Some(count(values))).collect())
            })
            .collect();
        let names: Vec<&str> = named.iter().map(|(name, _)| name.as_str()).collect();
        charts::grouped_bars(name, &definition.title, "runs", &names, &rows)
    }
}

fn shows(definition: &ChartDefinition, arm: &str) -> bool {
    definition.arms.is_empty() || definition.arms.iter().any(|name| name == arm)
}

fn of_table(name: &str, definition: &ChartDefinition, table: &ReportTable) -> Vec<Chart> {
    let rows: Vec<&ReportRow> = table.rows.iter().filter(|row| shows(definition, &row.arm)).collect();
    let mut arms: Vec<&str> = Vec::new();
    for row in &rows {
        if !arms.contains(&row.arm.as_str()) {
            arms.push(&row.arm);
        }
    }
    let unit = rows.first().map_or("", |row| row.unit.as_str());
    let of_arm = |arm: &str| rows.iter().copied().filter(|row| row.arm == arm).collect::<Vec<_>>();
    if definition.split || arms.len() == 1 {
        let beside = |arm: &&str| {
            let rows = of_arm(arm);
            let published = |row: &&ReportRow| row.published.as_ref().and_then(FigureValue::number);
            let series = [values(&rows, |row| row.value.number()), values(&rows, |row| published(&row))];
            let (name, title) = if arms.len() == 1 {
                (name.to_owned(), definition.title.clone())
            } else {
                (format!("{name}-{}", arm.replace([' ', ','], "_")), format!("{}, {arm}", definition.title))
            };
            draw(&name, &title, definition, unit, &["simulated", "published"], &rows, &series)
        };
        return arms.iter().map(beside).collect();
    }
    let labels = of_arm(arms.first().copied().unwrap_or_default());
    let of_row = |arm: &str, label: &str| rows.iter().find(|row| row.arm == arm && row.label == label);
    let series: Vec<Vec<Option<f64>>> = arms
        .iter()
        .map(|arm| values(&labels, |row| of_row(arm, &row.label).and_then(|row| row.value.number())))
        .collect();
    vec![draw(name, &definition.title, definition, unit, &arms, &labels, &series)]
}

fn values(rows: &[&ReportRow], value: impl Fn(&ReportRow) -> Option<f64>) -> Vec<Option<f64>> {
    rows.iter().map(|row| value(row)).collect()
}

/// Draws series of values, each with one value per row.
fn draw(
    name: &str,
    title: &str,
    definition: &ChartDefinition,
    unit: &str,
    names: &[&str],
    rows: &[&ReportRow],
    series: &[Vec<Option<f64>>],
) -> Chart {
    if definition.kind == ChartKind::Lines {
        let points = |series: &Vec<Option<f64>>| {
            rows.iter().zip(series).filter_map(|(row, value)| Some((number_in(&row.label)?, (*value)?))).collect()
        };
        let lines: Vec<charts::Line<'_>> = names.iter().copied().zip(series.iter().map(points)).collect();
        return charts::lines(name, title, (&definition.x, unit), &lines);
    }
    let of_row =
        |(place, row): (usize, &&ReportRow)| (row.label.clone(), series.iter().map(|series| series[place]).collect());
    let rows: Vec<_> = rows.iter().enumerate().map(of_row).collect();
    charts::grouped_bars(name, title, unit, names, &rows)
}

/// Returns the first number in a label.
fn number_in(label: &str) -> Option<f64> {
    let start = label.find(|letter: char| letter.is_ascii_digit())?;
    let digits = label[start..].split(|letter: char| !letter.is_ascii_digit() && letter != '.').next()?;
    digits.trim_end_matches('.').parse().ok()
}

fn histogram<'a>(
    name: &str,
    definition: &ChartDefinition,
    of_arms: impl Iterator<Item = (&'a str, &'a Vec<[f64; 2]>)>,
) -> Chart {
    let of_arms: Vec<_> = of_arms.collect();
    let mut places: Vec<f64> = of_arms.iter().flat_map(|(_, pairs)| pairs.iter().map(|pair| pair[0])).collect();
    places.sort_by(f64::total_cmp);
    places.dedup();
    let count = |pairs: &[[f64; 2]], value: f64| pairs.iter().filter(|pair| pair[0] == value).map(|pair| pair[1]).sum();
    let rows: Vec<(String, Vec<Option<f64>>)> = places
        .iter()
        .map(|&value| (format!("{value}"), of_arms.iter().map(|(_, pairs)| Some(count(pairs, value))).collect()))
        .collect();
    let names: Vec<&str> = of_arms.iter().map(|(arm, _)| *arm).collect();
    charts::grouped_bars(name, &definition.title, "count", &names, &rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::definition::{RowDefinition, TableDefinition};
    use crate::report::MeasuredFigure;

    fn table() -> ReportTable {
        let definition: TableDefinition =
            toml::from_str("name = 't'\ntitle = 't'\nmetric = 'm'\nunit = 'ms'").expect("it is a table");
        let row = |label: &str, arm: &str, value| {
            let row =
                RowDefinition { published: Some(FigureValue::Number(7.0)), ..RowDefinition::unpublished(label, arm) };
            ReportRow::new(&definition, &row, MeasuredFigure::number(value))
        };
        let rows = vec![
            row("4 groups", "a", 1.0),
            row("4 groups", "b", 2.0),
            row("16 groups", "a", 3.0),
            row("16 groups", "b", 5.0),
        ];
        ReportTable { name: "t".to_owned(), title: String::new(), rows }
    }

    fn picture(text: &str) -> Vec<Chart> {
        let text = format!("name = 'p'\ntitle = 'P'\ntable = 't'\n{text}");
        of_table("s-p", &toml::from_str(&text).expect("it is a picture"), &table())
    }

    #[test]
    fn arms_stand_together_or_each_beside_what_was_published() {
        let together = picture("kind = 'bars'");
        assert_eq!(together.len(), 1);
        assert!(!together[0].svg.contains("published") && together[0].svg.contains("16 groups"), "{}", together[0].svg);
        let split = picture("kind = 'bars'\nsplit = true");
        assert_eq!(split.iter().map(|picture| picture.name.as_str()).collect::<Vec<_>>(), ["s-p-a", "s-p-b"]);
        assert!(split.iter().all(|picture| picture.svg.contains("published")));
        assert_eq!(picture("kind = 'bars'\narms = ['b']").len(), 1);
    }

    #[test]
    fn lines_lie_over_the_numbers_of_labels() {
        assert_eq!(
            [number_in("16 groups"), number_in("TCP_RR 1.5 x"), number_in("none")],
            [Some(16.0), Some(1.5), None]
        );
        let lines = picture("kind = 'lines'\nx = 'groups'");
        assert_eq!(lines[0].svg.matches("<circle").count(), 4, "{}", lines[0].svg);
    }

    #[test]
    fn a_histogram_needs_pairs() {
        let result = serde_json::json!({ "usecs": [[0, 3], [1, 9]], "names": ["a"] });
        let at = |path: &str| pairs_at(&ResultPath::parse(path).expect("it is a path"), &result);
        assert_eq!(at("usecs"), Ok(vec![[0.0, 3.0], [1.0, 9.0]]));
        assert!(at("names").is_err() && at("usec").is_err());
    }
}
