// SPDX-License-Identifier: GPL-2.0-or-later
//! Tables and row labels that the code of a built-in study can fill.
//!
//! Data with any other table or label are rejected, because nothing would be measured for them.

use crate::data::keys::ROBUSTNESS_TABLE;
use crate::definition::{StudyDefinition, TableDefinition};
use crate::error::error_in;
use fairlab_workload::message::Message;
use fairlab_workload::suggest;

/// Table that the code of a study fills.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TableSchema {
    name: &'static str,
    labels: LabelSchema,
}

/// Labels that the rows of a table may have.
#[derive(Clone, Copy, Debug)]
enum LabelSchema {
    /// Each row has one of these labels.
    OneOf(&'static [&'static str]),
    /// Each row has a label that `reads` accepts for this table; `such_as` has examples for messages.
    Read { reads: fn(&str, &str) -> bool, such_as: &'static [&'static str] },
}

impl TableSchema {
    /// Name of the table.
    pub(crate) const fn name(&self) -> &'static str {
        self.name
    }

    /// Table whose rows have these labels.
    pub(crate) const fn one_of(name: &'static str, labels: &'static [&'static str]) -> Self {
        Self { name, labels: LabelSchema::OneOf(labels) }
    }

    /// Table whose labels are parsed: `reads` takes the name of the table and the label.
    pub(crate) const fn read(
        name: &'static str,
        reads: fn(&str, &str) -> bool,
        such_as: &'static [&'static str],
    ) -> Self {
        Self { name, labels: LabelSchema::Read { reads, such_as } }
    }

    /// Checks the labels of a table that has this schema.
    fn check(&self, file: &str, table: &TableDefinition) -> Result<(), Message> {
        for row in &table.rows {
            let label = row.label.as_str();
            let (is_known, known): (bool, &[&str]) = match self.labels {
                LabelSchema::OneOf(labels) => (labels.contains(&label), labels),
                LabelSchema::Read { reads, such_as } => (reads(self.name, label), such_as),
            };
            if is_known {
                continue;
            }
            let what = match self.labels {
                LabelSchema::OneOf(_) => "labels",
                LabelSchema::Read { .. } => "labels are like",
            };
            let (place, help) = (format!("table {}", table.name), suggest::help(label, what, known));
            return Err(error_in(file, &place, format!("`{label}` is not a label of this table"), help));
        }
        Ok(())
    }
}

/// Checks that a study has exactly the tables that its code fills, each once, and only labels that the code
/// knows.
///
/// # Errors
/// The first table or label that breaks this rule, with a remedy.
pub(crate) fn check(file: &str, study: &StudyDefinition, forms: &[TableSchema]) -> Result<(), Message> {
    let known: Vec<&str> = forms.iter().map(|form| form.name).collect();
    for (place, table) in study.tables.iter().enumerate() {
        let wrong = |text: &str, help| error_in(file, &format!("table {}", table.name), text, help);
        let is_there_before = study.tables[..place].iter().any(|before| before.name == table.name);
        if is_there_before {
            return Err(wrong("this name is already used above", "merge the rows of both tables".to_owned()));
        }
        // Rows of data have their own checks. The table of varied settings has no rows in the data.
        let is_varied = study.robustness.is_some() && table.name == ROBUSTNESS_TABLE;
        if table.is_data() || is_varied {
            continue;
        }
        let Some(form) = forms.iter().find(|form| form.name == table.name) else {
            let help = match known.as_slice() {
                [] => "add figure = '...', and run = '...' if there are several runs".to_owned(),
                known => suggest::help(&table.name, "tables", known),
            };
            return Err(wrong("nothing fills this table", help));
        };
        form.check(file, table)?;
    }
    match known.iter().find(|name| !study.tables.iter().any(|table| table.name == **name)) {
        Some(missing) => {
            Err(error_in(file, "tables", format!("there is no table {missing}"), "add it: the study fills it"))
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::built_in::STUDIES;
    use crate::definition::RowDefinition;

    /// Built-in studies that have code.
    fn of_code() -> impl Iterator<Item = &'static crate::built_in::BuiltInStudy> {
        STUDIES.iter().filter(|study| study.body.is_some())
    }

    /// Returns the error message for a study whose data `change` has modified.
    fn complaint(study: &crate::built_in::BuiltInStudy, change: impl FnOnce(&mut StudyDefinition)) -> String {
        let mut definition = StudyDefinition::parse(&study.file(), study.data).expect("the data are well formed");
        change(&mut definition);
        check(&study.file(), &definition, study.forms).expect_err("it was changed for the worse").one_line()
    }

    #[test]
    fn a_misspelt_table_of_any_study_is_refused_with_the_right_name() {
        for study in of_code() {
            for form in study.forms {
                let misspelt = |definition: &mut StudyDefinition| {
                    let table = definition.tables.iter_mut().find(|table| table.name == form.name);
                    table.expect("each form has a table").name.push('s');
                };
                let message = complaint(study, misspelt);
                let (file, name) = (format!("studies/{}.toml: table {}s: ", study.name, form.name), form.name);
                assert!(message.starts_with(&file) && message.contains("did you mean `"), "{message}");
                assert!(message.contains(name), "{message}");
            }
        }
    }

    #[test]
    fn a_misspelt_label_of_any_row_of_any_study_is_refused() {
        for study in of_code() {
            let definition = StudyDefinition::parse(&study.file(), study.data).expect("the data are well formed");
            for (table, rows) in definition.tables.iter().map(|table| table.rows.len()).enumerate() {
                if definition.tables[table].is_data() {
                    continue;
                }
                for row in 0..rows {
                    let message = complaint(study, |definition| definition.tables[table].rows[row].label.push('x'));
                    let label = &definition.tables[table].rows[row].label;
                    let place = format!("table {}: `{label}x` is not a label", definition.tables[table].name);
                    assert!(message.contains(&place) && message.contains(" help: did you mean `"), "{message}");
                }
            }
        }
    }

    #[test]
    fn each_form_of_labels_has_its_own_way_out() {
        let study = STUDIES.iter().find(|study| study.name == "sis-util").expect("there is such a study");
        let relabelled = |table: &str, label: &str| {
            complaint(study, |definition| {
                let table =
                    definition.tables.iter_mut().find(|known| known.name == table).expect("there is such a table");
                table.rows.push(RowDefinition::unpublished(label, "after"));
            })
        };
        let message = relabelled("eight CPUs", "8 CPUs, nr_scam");
        assert!(
            message.contains("help: did you mean `8 CPUs, nr_scan`? labels: 8 CPUs, nr_scan, 8 CPUs, wake-up"),
            "{message}"
        );
        let message = relabelled("netperf", "TCP_R 28 threads");
        assert!(message.contains("help: did you mean `TCP_RR 28 threads`? labels are like: "), "{message}");
        for label in
            ["TCP_RR 28 clients", "TCP_RR threads", "TCP_RR 0 threads", "TCP_RR 28 threads, traced", "Tcp 28 threads"]
        {
            assert!(relabelled("se_eff", label).contains("is not a label of this table"), "{label}");
        }
        for label in
            ["TCP_RR 224 threads, 3 us, traced", "TCP_RR 224 threads, 4 us", "TCP_RR 224 threads, 4 us, untraced"]
        {
            assert!(relabelled("histogram shares", label).contains("is not a label of this table"), "{label}");
        }
    }

    #[test]
    fn a_missing_or_duplicate_table_is_rejected() {
        for study in of_code() {
            let first = study.forms[0].name;
            let message = complaint(study, |definition| definition.tables.retain(|table| table.name != first));
            assert!(message.contains("there is no table ") && message.contains(" help: add it"), "{message}");
            let message = complaint(study, |definition| definition.tables.push(definition.tables[0].clone()));
            assert!(message.contains("this name is already used above"), "{message}");
        }
    }
}
