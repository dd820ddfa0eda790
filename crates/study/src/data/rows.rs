// SPDX-License-Identifier: GPL-2.0-or-later
//! Resolution of the run and the figure of each row in a data table.
//!
//! Rules, in order:
//! 1. The run or figure that the row names.
//! 2. The one that its table names.
//! 3. The one with the same name as the row's label.
//! 4. The only one in the study.
//!
//! A table without rows gets one for each of its runs, each of its figures and each arm.

use super::runs::RunCase;
use crate::definition::{RowDefinition, StudyDefinition, TableDefinition};
use crate::error::{error_in, unknown};
use fairlab_workload::message::Message;
use fairlab_workload::suggest;

/// Row with the case and figure that fill it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RowQuery {
    pub(crate) row: RowDefinition,
    /// Index of the case.
    pub(crate) case: usize,
    pub(crate) figure: String,
    pub(crate) from: Option<String>,
}

/// Returns the resolved rows of each data table, in the order of the tables.
///
/// # Errors
/// If a row names a run or figure that does not exist, or if none can be found for it.
pub(crate) fn row_queries<'s>(
    file: &str,
    study: &'s StudyDefinition,
    cases: &[RunCase],
) -> Result<Vec<(&'s TableDefinition, Vec<RowQuery>)>, Message> {
    let of_table = |table: &'s TableDefinition| {
        let asked = RowResolver { file, study, cases, table }.resolve_table()?;
        Ok((table, asked))
    };
    study.tables.iter().filter(|table| table.is_data()).map(of_table).collect()
}

struct RowResolver<'a> {
    file: &'a str,
    study: &'a StudyDefinition,
    cases: &'a [RunCase],
    table: &'a TableDefinition,
}

impl RowResolver<'_> {
    fn resolve_table(&self) -> Result<Vec<RowQuery>, Message> {
        let place = format!("table {}", self.table.name);
        if let Some(figure) = &self.table.figure {
            self.check_figure(&place, figure)?;
        }
        if let Some(run) = self.table.run.as_ref().filter(|run| self.cases_of_run(run).is_empty()) {
            return Err(self.unknown_run(&place, run));
        }
        if self.table.rows.is_empty() {
            self.generated_rows()
        } else {
            self.table.rows.iter().map(|row| self.resolve_row(row)).collect()
        }
    }

    fn resolve_row(&self, row: &RowDefinition) -> Result<RowQuery, Message> {
        let place = format!("table {}, row {}", self.table.name, row.label);
        let case = self.case_of(row, &place)?;
        let figures: Vec<&String> = self.study.figures.keys().collect();
        let called_so = || self.study.figures.contains_key(&row.label).then(|| row.label.clone());
        let only = || match figures.as_slice() {
            [only] => Some((*only).clone()),
            _ => None,
        };
        let named = row.figure.clone().or_else(|| self.table.figure.clone());
        let Some(figure) = named.or_else(called_so).or_else(only) else {
            let names = list(figures.iter().map(|name| name.as_str()));
            let help = format!("add figure = '...' to the row or its table: {names}");
            return Err(error_in(self.file, &place, "its figure is not determined", help));
        };
        self.check_figure(&place, &figure)?;
        let from = row.from.clone().or_else(|| self.table.from.clone());
        if from.as_ref() == Some(&row.arm) {
            let help = "`from` must be another arm than `arm`: set `arm` to the one after the change";
            return Err(error_in(self.file, &place, format!("the change from {0} to {0}", row.arm), help));
        }
        Ok(RowQuery { row: row.clone(), case, figure, from })
    }

    /// Returns the index of a row's case.
    fn case_of(&self, row: &RowDefinition, place: &str) -> Result<usize, Message> {
        let within = match row.run.as_ref().or(self.table.run.as_ref()) {
            Some(run) => self.cases_of_run(run),
            None => (0..self.cases.len()).collect(),
        };
        if let Some(run) = row.run.as_ref().filter(|_| within.is_empty()) {
            return Err(self.unknown_run(place, run));
        }
        if let [only] = within.as_slice() {
            return Ok(*only);
        }
        within.iter().copied().find(|&case| self.cases[case].name == row.label).ok_or_else(|| {
            let names: Vec<&str> = within.iter().map(|&case| self.cases[case].name.as_str()).collect();
            let help = format!(
                "name the row after its run, or add run = '...': {}",
                suggest::help(&row.label, "runs", &names)
            );
            error_in(self.file, place, "its run is not determined", help)
        })
    }

    /// Returns the indices of all cases of a run, or of the one case with that name.
    fn cases_of_run(&self, run: &str) -> Vec<usize> {
        let of = |is_it: &dyn Fn(&RunCase) -> bool| -> Vec<usize> {
            self.cases.iter().enumerate().filter(|(_, case)| is_it(case)).map(|(place, _)| place).collect()
        };
        let of_case = of(&|case| case.name == run);
        if of_case.is_empty() { of(&|case| case.run == run) } else { of_case }
    }

    /// Returns the rows of a table without rows in the data: one for each run, figure and arm. Their labels
    /// contain what differs between rows.
    fn generated_rows(&self) -> Result<Vec<RowQuery>, Message> {
        let place = format!("table {}", self.table.name);
        let mut cases = Vec::new();
        for run in self.table.run.iter().chain(&self.table.runs) {
            let of_run = self.cases_of_run(run);
            if of_run.is_empty() {
                return Err(self.unknown_run(&place, run));
            }
            cases.extend(of_run);
        }
        if cases.is_empty() {
            cases = (0..self.cases.len()).collect();
        }
        let mut figures: Vec<&String> = self.table.figure.iter().chain(&self.table.figures).collect();
        if figures.is_empty() {
            figures = self.study.figures.keys().collect();
        }
        let arms: Vec<&str> = self.study.arms.iter().map(|arm| arm.name.as_str()).collect();
        if let Some(arm) = self.table.arms.iter().find(|arm| !arms.contains(&arm.as_str())) {
            return Err(unknown(self.file, &place, "arm", arm, &arms));
        }
        let is_chosen = |arm: &str| self.table.arms.is_empty() || self.table.arms.iter().any(|name| name == arm);
        let mut asked = Vec::new();
        for &case in &cases {
            for figure in &figures {
                self.check_figure(&place, figure)?;
                let name = &self.cases[case].name;
                let label = match (cases.len(), figures.len()) {
                    (_, 1) => name.clone(),
                    (1, _) => (*figure).clone(),
                    _ => format!("{name}: {figure}"),
                };
                for arm in arms.iter().filter(|arm| is_chosen(arm) && Some(**arm) != self.table.from.as_deref()) {
                    let row = RowDefinition::unpublished(label.as_str(), *arm);
                    asked.push(RowQuery { row, case, figure: (*figure).clone(), from: self.table.from.clone() });
                }
            }
        }
        Ok(asked)
    }

    fn check_figure(&self, place: &str, figure: &str) -> Result<(), Message> {
        if self.study.figures.contains_key(figure) {
            return Ok(());
        }
        let known: Vec<&str> = self.study.figures.keys().map(String::as_str).collect();
        Err(unknown(self.file, place, "figure", figure, &known))
    }

    fn unknown_run(&self, place: &str, run: &str) -> Message {
        let known: Vec<&str> = self.cases.iter().map(|case| case.name.as_str()).collect();
        unknown(self.file, place, "run", run, &known)
    }
}

fn list<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::StudyOptions;

    const STUDY: &str = "name = 's'\ntitle = 's'\nsource = 's'\n\
        [[arm]]\nname = 'a'\nmeaning = 'a'\n[[arm]]\nname = 'b'\nmeaning = 'b'\n\
        [[run]]\nname = '{n} groups'\nbench = 'hackbench -g {n}'\nwith = { n = [1, 4] }\n\
        [[run]]\nname = 'other'\nbench = 'perf sched pipe'\n\
        [figure.time]\npath = 'done_s'\n[figure.waits]\npath = 'totals.wait_ns'\n";

    fn resolve(table: &str) -> Result<Vec<String>, Message> {
        let text = format!("{STUDY}[[table]]\nname = 't'\ntitle = 't'\nmetric = 'm'\nunit = 'u'\n{table}");
        let study = StudyDefinition::parse("my.toml", &text)?;
        let cases: Vec<RunCase> = study.runs.iter().flat_map(|run| run.cases(None, &StudyOptions::default())).collect();
        let asked = row_queries("my.toml", &study, &cases)?;
        let words = |question: &RowQuery| {
            let change = question.from.as_ref().map_or_else(String::new, |from| format!("{from} to "));
            let RowQuery { row, case, figure, .. } = question;
            format!("{}: {figure} of {}, {change}{}", row.label, cases[*case].name, row.arm)
        };
        Ok(asked.iter().flat_map(|(_, questions)| questions.iter().map(words)).collect())
    }

    #[test]
    fn a_row_asks_for_what_it_or_its_table_says_or_for_what_is_called_so() {
        let table = "run = '{n} groups'\nfigure = 'time'\nrows = [\n\
            { label = '4 groups', arm = 'b' }, { label = 'x', run = 'other', figure = 'waits', arm = 'a', from = 'b' } ]";
        assert_eq!(
            resolve(table),
            Ok(vec!["4 groups: time of 4 groups, b".to_owned(), "x: waits of other, b to a".to_owned()])
        );
        let table = "run = 'other'\nrows = [{ label = 'waits', arm = 'a' }]";
        assert_eq!(resolve(table), Ok(vec!["waits: waits of other, a".to_owned()]));
    }

    #[test]
    fn a_table_without_rows_asks_for_all_that_it_names() {
        let rows = resolve("run = '{n} groups'\nfigure = 'time'\nfrom = 'a'");
        assert_eq!(
            rows,
            Ok(vec!["1 groups: time of 1 groups, a to b".to_owned(), "4 groups: time of 4 groups, a to b".to_owned()])
        );
        assert_eq!(resolve("run = 'other'").map(|rows| rows.len()), Ok(4));
        let rows =
            resolve("runs = ['other', '1 groups']\nfigures = ['time', 'waits']\narms = ['b']").expect("all are there");
        assert_eq!((rows.len(), rows[0].as_str()), (4, "other: time: time of other, b"));
        assert!(resolve("runs = ['others']").expect_err("misspelt").to_string().contains("did you mean `other`?"));
        assert!(
            resolve("figure = 'time'\narms = ['c']").expect_err("no arm").to_string().contains("there is no arm c")
        );
    }

    #[test]
    fn a_row_that_names_nothing_is_rejected_with_a_hint() {
        for (table, expected) in [
            ("figure = 'tim'", "my.toml: table t: there is no figure tim help: did you mean `time`?"),
            ("run = 'othr'", "table t: there is no run othr help: did you mean `other`?"),
            (
                "figure = 'time'\nrows = [{ label = '3 groups', arm = 'a' }]",
                "row 3 groups: its run is not determined help: name the row after its run, or add run = '...': did you mean `1 groups`?",
            ),
            ("run = 'other'\nrows = [{ label = 'x', arm = 'a' }]", "its figure is not determined"),
            (
                "run = 'other'\nfigure = 'time'\nrows = [{ label = 'x', arm = 'a', from = 'a' }]",
                "the change from a to a",
            ),
            ("run = 'other'\nfigure = 'time'\nrows = [{ label = 'x', arm = 'c' }]", "there is no arm c"),
        ] {
            let message = resolve(table).expect_err(table);
            assert!(message.one_line().contains(expected), "{table}\n{message}");
        }
    }
}
