// SPDX-License-Identifier: GPL-2.0-or-later
//! Loaded studies, built in or from a file, which can be checked and run.

use crate::built_in::{BuiltInStudy, STUDIES};
use crate::data::keys::ROBUSTNESS_TABLE;
use crate::data::workloads::InputFiles;
use crate::data::{self, DataStudyResult};
use crate::definition::StudyDefinition;
use crate::error::{StudyError, error_in};
use crate::external::ExternalRunner;
use crate::options::StudyOptions;
use crate::progress::ProgressReporter;
use crate::report::{ReportTable, StudyReport};
use crate::{PreparedCase, table_schema};
use fairlab_machine::sim::Setup;
use fairlab_workload::message::Message;
use fairlab_workload::source_text::utf8_text;
use fairlab_workload::suggest;
use std::path::{Path, PathBuf};

/// Study whose data have been read and checked.
pub struct LoadedStudy {
    /// Parsed data of the study.
    pub definition: StudyDefinition,
    /// Text of the study's file.
    pub text: String,
    /// File name as messages show it.
    pub file: String,
    directory: Option<PathBuf>,
    built_in: Option<BuiltInStudy>,
}

/// Maps the progress of one part, from 0 to 1, to its share of the whole.
struct PartialProgress<'a> {
    to: &'a dyn ProgressReporter,
    from: f64,
    size: f64,
}

impl ProgressReporter for PartialProgress<'_> {
    fn done(&self, step: &str, fraction: f64) {
        self.to.done(step, self.from + self.size * fraction);
    }
}

impl LoadedStudy {
    /// Returns the built-in study of this name, or reads the study from a file.
    ///
    /// # Errors
    /// If neither exists, or the study's data are invalid.
    pub fn new(name_or_file: &str) -> Result<Self, StudyError> {
        if let Some(study) = STUDIES.iter().find(|known| known.name == name_or_file) {
            let definition = study.read()?;
            let (text, file) = (study.data.to_owned(), study.file());
            return Ok(Self { definition, text, file, directory: None, built_in: Some(*study) });
        }
        let is_path =
            name_or_file.ends_with(".toml") || name_or_file.contains('/') || Path::new(name_or_file).is_file();
        if !is_path {
            let names: Vec<&str> = STUDIES.iter().map(|study| study.name).collect();
            let error = Message::new(format!("there is no study `{name_or_file}`; there are {}", names.join(", ")));
            let help = "see `fairlab study list`, or give the path of a study's file";
            return Err(StudyError::Input(error.with_help(help)));
        }
        Self::of_file(name_or_file)
    }

    fn of_file(file: &str) -> Result<Self, StudyError> {
        let path = Path::new(file);
        let bytes = std::fs::read(path).map_err(|error| {
            let help = "give the name of a study (see `fairlab study list`) or the path of a study's file";
            Message::in_file(file, format!("cannot be read: {error}")).with_help(help)
        })?;
        let text = utf8_text(file, &bytes)?.to_owned();
        let definition = StudyDefinition::parse(file, &text)?;
        table_schema::check(file, &definition, &[])?;
        let directory = path.parent().map_or_else(PathBuf::new, Path::to_owned);
        Ok(Self { definition, text, file: file.to_owned(), directory: Some(directory), built_in: None })
    }

    pub(crate) fn home(&self, choices: &StudyOptions) -> Result<InputFiles, StudyError> {
        Ok(data::home_of(&self.file, self.directory.as_deref(), &self.definition, choices)?)
    }

    /// Checks everything that does not need full runs: names, files, machines, and a short trial of each run.
    /// Returns the number of runs.
    ///
    /// # Errors
    /// The first error found.
    pub fn check(&self, choices: &StudyOptions) -> Result<u64, StudyError> {
        let home = self.home(choices)?;
        data::DataStudy::new(&self.file, &self.definition, choices, &home, None)?.try_runs()
    }

    /// Sets up one run, given by the names of its case and arm, for a caller that runs it on another engine.
    ///
    /// # Errors
    /// If there is no such run, or it cannot be set up.
    pub fn begin(
        &self,
        choices: &StudyOptions,
        case: &str,
        arm: &str,
        seed: u64,
    ) -> Result<(Setup, PreparedCase), StudyError> {
        let home = self.home(choices)?;
        data::DataStudy::new(&self.file, &self.definition, choices, &home, None)?.begin(case, arm, seed)
    }

    /// Runs the study on another engine.
    ///
    /// Tables that code fills stay empty, because the code uses the built-in scheduler. Robustness is not
    /// measured, and no row counts as evidence for the model.
    ///
    /// # Errors
    /// If the study cannot be run with these options, or a run fails.
    pub fn run_with(
        &self,
        choices: &StudyOptions,
        runner: &dyn ExternalRunner,
        progress: &dyn ProgressReporter,
    ) -> Result<StudyReport, StudyError> {
        let name = runner.name();
        if self.definition.runs.is_empty() {
            let what = format!("its code runs only on the built-in scheduler, not on {name}");
            let help = "leave --engine out; studies with `[[run]]` in their data support it";
            return Err(StudyError::rejected_options(&self.definition.name, what, help));
        }
        let mut chosen = self.chosen(choices)?;
        chosen.robustness = None;
        let home = self.home(choices)?;
        let study = data::DataStudy::new(&self.file, &chosen, choices, &home, Some(runner))?;
        let tally = crate::progress::ProgressSum::new(progress);
        let DataStudyResult { tables, pictures, notes } = study.run(&|step, part| tally.add(step, part))?;
        let mut report = StudyReport::of(&self.definition);
        (report.tables, report.pictures, report.notes) = (tables, pictures, notes);
        for row in report.tables.iter_mut().flat_map(|table| &mut table.rows) {
            row.evidence = None;
            row.reason =
                if row.reason.is_empty() { format!("with {name}") } else { format!("with {name}: {}", row.reason) };
        }
        report.tables.iter_mut().for_each(|table| table.rows.retain(|row| choices.wants_row(&row.label)));
        report.tables.retain(|table| choices.wants(&table.name) && !table.rows.is_empty());
        report.title = format!("{}, with {name} instead of the built-in scheduler", report.title);
        report.notes.insert(
            0,
            format!("All runs use {name}: rows are no evidence for the model, and verdicts are about that engine."),
        );
        if let Some(kernel) = self.definition.arms.first().and_then(|arm| arm.settings.kernel) {
            report.notes.insert(
                1,
                format!(
                    "The kernel that the arms name, {}, is not applied: the engine's tree is the kernel.",
                    kernel.name
                ),
            );
        }
        if self.built_in.is_some_and(|study| study.body.is_some()) {
            report.notes.insert(
                1,
                "Tables that code fills are left out: the code runs only on the built-in scheduler.".to_owned(),
            );
        }
        report.engine = Some(name);
        Ok(report)
    }

    /// Runs the study on the built-in scheduler.
    ///
    /// # Errors
    /// If the study cannot be run with these options, or a run fails.
    pub fn run(&self, choices: &StudyOptions, progress: &dyn ProgressReporter) -> Result<StudyReport, StudyError> {
        let body = self.built_in.and_then(|study| study.body);
        let chosen = self.chosen(choices)?;
        let has_data = !self.definition.runs.is_empty();
        let size = match (has_data, body.is_some()) {
            (true, true) => 0.5,
            (true, false) => 1.0,
            (false, _) => 0.0,
        };
        let mut report = StudyReport::of(&self.definition);
        if has_data {
            let home = self.home(choices)?;
            let study = data::DataStudy::new(&self.file, &chosen, choices, &home, None)?;
            let part = PartialProgress { to: progress, from: 0.0, size };
            let tally = crate::progress::ProgressSum::new(&part);
            let DataStudyResult { tables, pictures, notes } = study.run(&|step, part| tally.add(step, part))?;
            (report.tables, report.pictures, report.notes) = (tables, pictures, notes);
        }
        if body.is_some() {
            let part = PartialProgress { to: progress, from: size, size: 1.0 - size };
            let of_code = self.run_code(choices, &part)?;
            report.tables.extend(of_code.tables);
            report.pictures.extend(of_code.pictures);
            report.outputs.extend(of_code.outputs);
            report.notes.extend(of_code.notes);
            report.notes.extend(choices.perturb_note().filter(|_| !has_data));
        }
        let place = |table: &ReportTable| {
            let place = self.definition.tables.iter().position(|one| one.name == table.name);
            place.unwrap_or(usize::MAX)
        };
        report.tables.sort_by_key(place);
        report.tables.iter_mut().for_each(|table| table.rows.retain(|row| choices.wants_row(&row.label)));
        report.tables.retain(|table| choices.wants(&table.name) && (choices.rows.is_empty() || !table.rows.is_empty()));
        Ok(report)
    }

    /// Whether the code of the study fills this table.
    pub(crate) fn has_code_for(&self, table: &str) -> bool {
        self.built_in.is_some_and(|study| study.forms.iter().any(|form| form.name() == table))
    }

    /// Runs the code of a built-in study that has code.
    pub(crate) fn run_code(
        &self,
        choices: &StudyOptions,
        progress: &dyn ProgressReporter,
    ) -> Result<StudyReport, StudyError> {
        let study = self.built_in.expect("the study is built in");
        let body = study.body.expect("the study has code");
        self.check_code_options(choices, study.refused)?;
        let arms = self.definition.arms.iter().map(|arm| arm.on_top_of(&choices.settings)).collect();
        body(&StudyDefinition { arms, ..self.definition.clone() }, choices, progress)
    }

    /// Returns the data reduced to the selected tables and rows, and their charts. Robustness is kept only
    /// if its table is selected or no table is.
    fn chosen(&self, choices: &StudyOptions) -> Result<StudyDefinition, Message> {
        let mut chosen = self.definition.clone();
        let names: Vec<&str> = self.definition.tables.iter().map(|table| table.name.as_str()).collect();
        if let Some(unknown) = choices.tables.iter().find(|name| !names.contains(&name.as_str())) {
            let help = suggest::help(unknown, "tables", &names);
            return Err(error_in(&self.file, "tables", format!("there is no `{unknown}`"), help));
        }
        if !choices.tables.iter().any(|name| name == ROBUSTNESS_TABLE) {
            if !choices.tables.is_empty() {
                chosen.robustness = None;
            }
            chosen.tables.retain(|table| choices.wants(&table.name));
            chosen.pictures.retain(|picture| picture.table.as_ref().is_none_or(|table| choices.wants(table)));
        }
        if !choices.rows.is_empty() {
            chosen.robustness = None;
            // A table without rows in the data has one row for each run and arm, some of which may be
            // selected.
            chosen.tables.retain_mut(|table| {
                let had_rows = !table.rows.is_empty();
                table.rows.retain(|row| choices.wants_row(&row.label));
                !had_rows || !table.rows.is_empty()
            });
        }
        Ok(chosen)
    }

    /// Rejects options that the study's code does not support, since its figures are those of certain machines
    /// and lengths.
    fn check_code_options(&self, choices: &StudyOptions, refused: &[&str]) -> Result<(), StudyError> {
        let given = [
            ("--seeds", choices.seeds.is_some()),
            ("--span", choices.settings.duration.is_some()),
            ("--machine", choices.settings.machine.is_some()),
        ];
        let mut given = given.iter().filter(|(option, is_given)| *is_given && refused.contains(option));
        let Some((option, _)) = given.next() else { return Ok(()) };
        let text = format!("code fills some of its tables, and does not support {option}");
        let help = "leave it out; studies of data alone support it";
        Err(StudyError::rejected_options(&self.definition.name, text, help))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::StudyLength;
    use fairlab_run::settings::Settings;
    use fairlab_sched::series::KernelSeries;
    use fairlab_sched::units::Nanos;

    #[test]
    fn every_table_of_every_study_is_filled_and_every_row_of_data_asks_for_a_run_and_a_figure() {
        for known in STUDIES {
            let study = LoadedStudy::new(known.name).expect("its data are well formed");
            let choices = StudyOptions::default();
            let home = study.home(&choices).expect("it names machines that there are");
            data::DataStudy::new(&study.file, &study.definition, &choices, &home, None)
                .expect("its rows ask for something");
            assert!(
                known.body.is_some() || !study.definition.runs.is_empty(),
                "{} has neither code nor runs",
                known.name
            );
        }
    }

    /// A machine's costs follow from its file, which has no key for an arm, a row or a load.
    #[test]
    fn no_cost_depends_on_an_arm() {
        for known in STUDIES {
            let definition = LoadedStudy::new(known.name).expect("its data are well formed").definition;
            for arm in &definition.arms {
                assert_eq!(arm.settings.prices, Settings::default().prices, "{}, {}", known.name, arm.name);
            }
        }
    }

    #[test]
    fn an_unknown_study_is_rejected_with_the_names_of_the_existing_ones() {
        let message = |name: &str| LoadedStudy::new(name).err().expect(name).to_string();
        assert!(message("sis-utl").starts_with("there is no study `sis-utl`; there are pelt-time-scaling, sis-util"));
        assert!(
            message("no/such.toml").contains("no/such.toml: cannot be read: ")
                && message("no/such.toml").contains("help: give the name")
        );
    }

    #[test]
    fn tables_are_the_same_with_any_number_of_threads() {
        let study = LoadedStudy::new("nohz-misfit-kicks").expect("there is such a study");
        let tables = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads can be made");
            let settings = Settings { duration: Some(Nanos::from_millis(200)), ..Settings::default() };
            let options = StudyLength { quick: true };
            let choices = StudyOptions { seeds: Some(2), settings, options, ..StudyOptions::default() };
            let report = pool.install(|| study.run(&choices, &crate::progress::NoProgress)).expect("it runs");
            serde_json::to_string(&report).expect("tables are JSON")
        };
        let one = tables(1);
        assert_eq!(tables(2), one);
        assert_eq!(tables(5), one);
    }

    #[test]
    fn a_table_that_is_chosen_is_filled_alone_by_data_and_by_code() {
        let quick = StudyLength { quick: true };
        let tables = |name: &str, chosen: &[&str], seeds| {
            let study = LoadedStudy::new(name).expect("there is such a study");
            let tables = chosen.iter().map(|&table| table.to_owned()).collect();
            let choices = StudyOptions { options: quick, tables, seeds, ..StudyOptions::default() };
            study.run(&choices, &crate::progress::NoProgress).map(|report| report.tables)
        };
        let names = |tables: Vec<ReportTable>| tables.into_iter().map(|table| table.name).collect::<Vec<_>>();
        let of_code = tables("sis-util", &["nr_scan"], None).expect("it is filled");
        assert_eq!(names(of_code), ["nr_scan"]);
        let all = LoadedStudy::new("nohz-misfit-kicks").expect("there is such a study").definition.tables;
        let first = all[0].name.as_str();
        assert_eq!(names(tables("nohz-misfit-kicks", &[first], Some(1)).expect("it is filled")), [first]);
        let message = tables("sis-util", &["nr_scna"], None).expect_err("there is no such table").to_string();
        assert!(message.contains("there is no `nr_scna`") && message.contains("did you mean `nr_scan`"), "{message}");
    }

    #[test]
    fn code_has_the_settings_of_all_runs() {
        let study = LoadedStudy::new("blocked-averages-rate-limit").expect("there is such a study");
        let report = |perturb| {
            let settings = Settings { perturb, ..Settings::default() };
            let options = StudyLength { quick: true };
            let choices = StudyOptions { options, seeds: Some(1), settings, ..StudyOptions::default() };
            let report = study.run(&choices, &crate::progress::NoProgress).expect("it runs");
            (serde_json::to_string(&report.tables).expect("tables are JSON"), report.notes)
        };
        let (usual, permuted) = (report(None), report(Some(3)));
        assert_ne!(usual.0, permuted.0);
        assert!(permuted.1.iter().any(|note| note.ends_with("(--perturb 3).")), "{:?}", permuted.1);
    }

    #[test]
    fn code_refuses_what_it_does_not_know() {
        let study = LoadedStudy::new("sis-util").expect("there is such a study");
        let settings = Settings { duration: Some(Nanos::from_secs(1)), ..Settings::default() };
        let choices = StudyOptions { settings, ..StudyOptions::default() };
        let message =
            Message::from(study.run(&choices, &crate::progress::NoProgress).expect_err("it has code")).one_line();
        assert!(
            message.starts_with("study sis-util: code fills some of its tables, and does not support --span help: "),
            "{message}"
        );
    }

    /// Returns the series of a run of a study in a file; `keys` are those of its workload and `arm` those of its arm.
    fn series_of_run(keys: &str, arm: &str) -> Result<KernelSeries, StudyError> {
        let folder = tempfile::tempdir().expect("a folder");
        let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).expect("it can be written");
        write("old.toml", "name = 'old'\nkernel = '6.1'\n[cpus]\ncount = 2\n");
        write("own.scn", "cpus 1\nkernel 6.1\ntune latency_ns 6000000\ntask t run 1ms\n");
        let study = format!(
            "name = 's'\ntitle = 't'\nsource = 'x'\nmachine = 'hikey960'\n[[arm]]\nname = 'a'\nmeaning = 'm'\n{arm}\n\
             [[run]]\nname = 'r'\n{keys}\n[figure.switches]\npath = 'totals.switches'\n\
             [[table]]\nname = 't'\ntitle = 't'\nmetric = 'm'\nunit = 'n'\nfigure = 'switches'\n"
        );
        write("study.toml", &study);
        let path = folder.path().join("study.toml");
        let study = LoadedStudy::new(path.to_str().expect("a path of text"))?;
        let begun = study.begin(&StudyOptions::default(), "r", "a", 1);
        begun.map(|(setup, _)| setup.series)
    }

    #[test]
    fn a_run_has_the_kernel_of_its_arm_its_scenario_or_its_machine() {
        let own = "file = 'own.scn'";
        assert_eq!(series_of_run(own, ""), Ok(KernelSeries::V6_1));
        let of_arm = series_of_run(own, "kernel = '6.12'").expect_err("6.12 has no such tunable");
        assert!(of_arm.to_string().contains("latency_ns"), "{of_arm}");
        let bench = "bench = 'perf sched pipe -l 10'";
        assert_eq!(series_of_run(bench, ""), Ok(KernelSeries::V6_12));
        assert_eq!(series_of_run(&format!("{bench}\nmachine = 'old.toml'"), ""), Ok(KernelSeries::V6_1));
        assert_eq!(
            series_of_run(&format!("{bench}\nmachine = 'old.toml'"), "kernel = '6.12'"),
            Ok(KernelSeries::V6_12)
        );
        let text = |line| format!("scenario = \"\"\"\ncpus 1\n{line}\ntask t run 1ms\n\"\"\"");
        assert_eq!(series_of_run(&text("tune base_slice_ns 3000000"), ""), Ok(KernelSeries::V6_12));
        let unknown = series_of_run(&text("kernel 5.30"), "").expect_err("there is no such kernel");
        assert!(unknown.to_string().contains("unknown kernel"), "{unknown}");
    }
}
