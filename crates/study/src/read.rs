// SPDX-License-Identifier: GPL-2.0-or-later
//! Parsing of a study's TOML file. An error names the file and the place in it, and has a remedy.
//!
//! Only checks that need nothing but the text are here; [`crate::data::check`] has those that need files,
//! machines or runs.

use crate::definition::StudyDefinition;
use crate::error::{error_in, unknown};
use fairlab_experiment::toml_error::toml_error;
use fairlab_workload::message::Message;

impl StudyDefinition {
    /// Parses and checks a study; `file` is the file name that messages use.
    ///
    /// # Errors
    /// If the text is malformed, or names a kernel, feature, tunable, cost or arm that does not
    /// exist.
    pub fn parse(file: &str, text: &str) -> Result<Self, Message> {
        let study: Self = toml::from_str(text)
            .map_err(|error| toml_error(file, text, &error, "see `fairlab study new` for a study with all keys"))?;
        study.check_names(file)?;
        Ok(study)
    }

    fn check_names(&self, file: &str) -> Result<(), Message> {
        let wrong = |place: &str, text: String, help: &str| Err(error_in(file, place, text, help));
        if self.name.is_empty() || !self.name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
        {
            let help = "use letters, digits, - and _: output files have this name";
            return wrong("name", format!("`{}` is not a valid study name", self.name), help);
        }
        if self.arms.is_empty() {
            return wrong("arms", "no arm is defined".to_owned(), "add [[arm]] with a name and its meaning");
        }
        self.check_arms(file)?;
        let arms: Vec<&str> = self.arms.iter().map(|arm| arm.name.as_str()).collect();
        for table in &self.tables {
            for row in &table.rows {
                let place = format!("table {}, row {}", table.name, row.label);
                if let Some(error) = table.row_validation_error(row) {
                    return Err(error.about(place).with_file(file));
                }
                for arm in [Some(&row.arm), row.from.as_ref(), table.from.as_ref()].into_iter().flatten() {
                    if !arms.contains(&arm.as_str()) {
                        return Err(unknown(file, &place, "arm", arm, &arms));
                    }
                }
            }
        }
        self.headline.as_ref().map_or(Ok(()), |headline| headline.check(file, self))
    }

    fn check_arms(&self, file: &str) -> Result<(), Message> {
        for (number, arm) in self.arms.iter().enumerate() {
            let place = format!("arm {}", arm.name);
            if self.arms[..number].iter().any(|before| before.name == arm.name) {
                return Err(error_in(file, &place, "this name is already used above", "give it another name"));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "name = 's'\ntitle = 's'\nsource = 's'\n";

    fn complaint(text: &str) -> String {
        let error = StudyDefinition::parse("my.toml", &format!("{HEAD}{text}")).expect_err(text);
        error.one_line()
    }

    #[test]
    fn an_error_names_the_file_and_the_place_and_has_a_hint() {
        let arm = "[[arm]]\nname = 'a'\nmeaning = 'a'\n";
        for (text, expected) in [
            (
                "[[arm]]\nname = 'a'\nmeanin = 'a'\n",
                "my.toml:4: arm a: unknown key `meanin` help: did you mean `meaning`?",
            ),
            ("[[arm]]\nname = 'a'\n", "there is no `meaning` help: add it: meaning = ..."),
            ("table = []", "there is no `arm`"),
            (
                &format!("{arm}governor = 'fast'\n[[table]]"),
                "arm a: governor: fast: unknown governor help: use performance",
            ),
            (
                &format!("table = []\n{arm}kernel = '5.30'"),
                "arm a: kernel: 5.30: unknown kernel help: known kernels: 4.19",
            ),
            (
                &format!("table = []\n{arm}features = {{ SIS_UTL = true }}"),
                "arm a: features: SIS_UTL: unknown feature help: did you mean SIS_UTIL?",
            ),
            (
                &format!("table = []\n{arm}tunables = {{ scan_costs = 1 }}"),
                "arm a: tunables: scan_costs=1: unknown tunable help: did you mean scan_cost?",
            ),
            (
                &format!("table = []\n{arm}tunables = {{ misfit_kick = 7 }}"),
                "arm a: tunables: misfit_kick=7: misfit_kick is a number from 0 to 1",
            ),
            (
                &format!("table = []\n{arm}prices = {{ ScanCpus = 7 }}"),
                "arm a: prices: ScanCpus=7: unknown operation help: did you mean ScanCpu?",
            ),
            (&format!("table = []\n{arm}seed = 3"), "arm a: unknown key `seed` help: keys here:"),
            (&format!("table = []\n{arm}{arm}"), "arm a: this name is already used above"),
            ("table = []\narm = []", "arms: no arm is defined"),
        ] {
            let message = complaint(text);
            assert!(message.contains(expected), "{text}\n{message}");
        }
    }
}
