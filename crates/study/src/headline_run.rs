// SPDX-License-Identifier: GPL-2.0-or-later
//! The row of a study's headline, with the runs that it needs.

use crate::data::DataStudy;
use crate::definition::{HeadlineDefinition, StudyDefinition};
use crate::error::StudyError;
use crate::loaded::LoadedStudy;
use crate::options::StudyOptions;
use crate::progress::NoProgress;
use crate::report::ReportRow;
use fairlab_board::MachineDescription;

impl LoadedStudy {
    /// Returns the headline of the study.
    ///
    /// # Errors
    /// If the study has none.
    pub(crate) fn headline(&self) -> Result<&HeadlineDefinition, StudyError> {
        self.definition.headline.as_ref().ok_or_else(|| {
            let help = "add `[headline]` with name, table, row and arm";
            StudyError::rejected_options(&self.definition.name, "it has no headline", help)
        })
    }

    /// Returns the study with the row of its headline alone, which is a row of data; `None` for a row that code fills.
    fn headline_data(&self) -> Result<Option<StudyDefinition>, StudyError> {
        let table = self.headline()?.only_row(&self.definition);
        if !table.is_data() && self.has_code_for(&table.name) {
            return Ok(None);
        }
        Ok(Some(StudyDefinition {
            tables: vec![table],
            pictures: Vec::new(),
            robustness: None,
            headline: None,
            ..self.definition.clone()
        }))
    }

    /// Returns the machines that the runs of the headline use, each once.
    ///
    /// # Errors
    /// If the study has no headline, or a machine cannot be read.
    pub(crate) fn headline_machines(&self, choices: &StudyOptions) -> Result<Vec<MachineDescription>, StudyError> {
        let Some(data) = self.headline_data()? else {
            let name = self.definition.machine.as_deref().expect("studies with code name their machine");
            let machine = fairlab_board::load(name)?;
            return Ok(vec![machine]);
        };
        let home = self.home(choices)?;
        let study = DataStudy::new(&self.file, &data, choices, &home, None)?;
        Ok(study.machines_of_rows().cloned().collect())
    }

    /// Runs what the headline needs, and returns its row.
    ///
    /// # Errors
    /// If the study has no headline or cannot be run with these options, or if a run fails.
    pub(crate) fn headline_row(&self, choices: &StudyOptions) -> Result<ReportRow, StudyError> {
        let headline = self.headline()?;
        let tables = match self.headline_data()? {
            Some(data) => {
                let home = self.home(choices)?;
                DataStudy::new(&self.file, &data, choices, &home, None)?.run(&|_, _| {})?.tables
            }
            None => {
                let (tables, rows) = (vec![headline.table.clone()], vec![headline.row.clone()]);
                self.run_code(&StudyOptions { tables, rows, ..choices.clone() }, &NoProgress)?.tables
            }
        };
        let rows = tables.into_iter().filter(|table| table.name == headline.table).flat_map(|table| table.rows);
        let row = rows.into_iter().find(|row| row.label == headline.row && row.arm == headline.arm);
        row.ok_or_else(|| StudyError::measurement("the study does not fill its headline's row"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::definition::{ChangeAs, FigureValue};
    use crate::options::StudyLength;

    /// Returns the error of the study `nohz-misfit-kicks` with another headline; empty if it is accepted.
    fn complaint(from: &str, to: &str) -> String {
        let text = LoadedStudy::new("nohz-misfit-kicks").expect("there is such a study").text;
        assert!(text.contains(from), "{from}");
        let study = StudyDefinition::parse("my.toml", &text.replacen(from, to, 1));
        study.map_or_else(|error| error.one_line(), |_| String::new())
    }

    #[test]
    fn every_built_in_study_has_a_headline_on_a_machine_with_facts() {
        let expected = [
            ("pelt-time-scaling", "hikey"),
            ("sis-util", "xeon-1s-112"),
            ("blocked-averages-rate-limit", "sc7180"),
            ("balance-redo-limit", "xeon-4s-192"),
            ("nohz-misfit-kicks", "hikey960"),
            ("wakelist-idle", "xeon-2s-104"),
            ("newidle-migration-cost", "thunderx2-224"),
        ];
        assert_eq!(expected.map(|(study, _)| study).to_vec(), crate::names().collect::<Vec<_>>());
        for (name, machine) in expected {
            let study = LoadedStudy::new(name).expect("its data are well formed");
            let machines = study.headline_machines(&StudyOptions::default()).expect(name);
            assert_eq!(machines.iter().map(MachineDescription::name).collect::<Vec<_>>(), [machine], "{name}");
            assert!(machines[0].processor().is_some(), "{machine}");
        }
    }

    #[test]
    fn a_headline_that_names_nothing_is_rejected_with_a_hint() {
        for (from, to, expected) in [
            (
                "table = \"four\"",
                "table = \"fuor\"",
                "my.toml: headline: there is no table fuor help: did you mean `four`?",
            ),
            (
                "row = \"big CPUs\"",
                "row = \"big CPU\"",
                "headline: there is no row big CPU help: did you mean `big CPUs`?",
            ),
            ("from = \"before\"\n", "from = \"old\"\n", "headline: there is no arm old help: arms: "),
            (
                "from = \"before\"\n",
                "form = \"before\"\n",
                "my.toml:18:1: unknown key `form` help: did you mean `from`?",
            ),
        ] {
            let message = complaint(from, to);
            assert!(message.contains(expected), "{to}: {message}");
        }
    }

    #[test]
    fn a_row_of_data_becomes_a_change_with_from() {
        let study = LoadedStudy::new("nohz-misfit-kicks").expect("there is such a study");
        let table = study.headline().expect("it has one").only_row(&study.definition);
        let published = table.rows[0].published.as_ref().and_then(FigureValue::number).expect("both were published");
        assert!((published - 100.0 * (16.0 - 1866.0) / 1866.0).abs() < 1e-9, "{published}");
        assert_eq!((table.unit.as_str(), table.rows.len(), table.change_as), ("%", 1, ChangeAs::Percent));
    }

    #[test]
    fn the_headline_of_a_study_with_code_is_the_row_of_its_whole_run() {
        let study = LoadedStudy::new("blocked-averages-rate-limit").expect("there is such a study");
        let choices = StudyOptions { options: StudyLength { quick: true }, seeds: Some(2), ..StudyOptions::default() };
        let row = study.headline_row(&choices).expect("it runs");
        let whole = study.run(&choices, &NoProgress).expect("it runs");
        let table = whole.tables.iter().find(|table| table.name == "effect").expect("it is filled");
        assert_eq!(table.rows.iter().find(|known| known.label == "max"), Some(&row));
    }
}
