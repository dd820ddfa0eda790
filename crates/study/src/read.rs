// SPDX-License-Identifier: GPL-2.0-or-later
//! Parsing of a study's TOML file. An error names the file and the place in it, and gives a remedy after
//! `help:`.
//!
//! Only checks that need nothing but the text are here; [`crate::data::check`] has those that need files,
//! machines or runs.

use crate::definition::StudyDefinition;
use fairlab_workload::suggest;

/// Reason why a study file is rejected. Messages begin with the name of the file.
#[expect(missing_docs, reason = "the field names describe their content")]
#[derive(Debug, thiserror::Error)]
pub enum DefinitionError {
    /// The text is not valid TOML, or has other keys or types than a study.
    #[error("{file}: line {line}: {message}\nhelp: {help}")]
    Toml {
        file: String,
        /// Line number, counted from 1.
        line: usize,
        message: String,
        help: String,
    },
    /// A run names something that does not exist or cannot be run.
    #[error("{file}: run {run}: {message}")]
    Run {
        file: String,
        run: String,
        /// Description of the error, with the remedy after `help:`.
        message: String,
    },
    /// A name in the file refers to nothing, or a value is out of its range.
    #[error("{file}: {place}: {message}\nhelp: {help}")]
    Name {
        file: String,
        /// Table, row, arm or key with the error.
        place: String,
        message: String,
        help: String,
    },
}

impl DefinitionError {
    /// Returns an error about a name or value at one `place` of a study file.
    pub(crate) fn name(file: &str, place: String, message: String, help: String) -> Self {
        Self::Name { file: file.to_owned(), place, message, help }
    }

    fn toml(file: &str, text: &str, error: &toml::de::Error) -> Self {
        let start = error.span().map_or(0, |span| span.start.min(text.len()));
        let line = 1 + text.as_bytes()[..start].iter().filter(|byte| **byte == b'\n').count();
        let message = error.message().to_owned();
        let own = message.split_once("\nhelp: ").map(|(message, help)| (message.to_owned(), help.to_owned()));
        let (message, help) = own
            .or_else(|| explain(&message))
            .unwrap_or_else(|| (message, "see `fairlab study new` for a study with all keys".to_owned()));
        Self::Toml { file: file.to_owned(), line, message, help }
    }
}

/// Rewords the messages of the `toml` crate about missing fields, unknown keys and unknown values, and
/// suggests the nearest known name.
///
/// Returns `None` for every other message.
fn explain(message: &str) -> Option<(String, String)> {
    let quoted = |text: &str| -> Vec<String> { text.split('`').skip(1).step_by(2).map(str::to_owned).collect() };
    if let Some(rest) = message.strip_prefix("missing field ") {
        let name = quoted(rest).into_iter().next()?;
        return Some((format!("there is no `{name}`"), format!("add it: {name} = ...")));
    }
    let (kind, what) = [("unknown field ", "key"), ("unknown variant ", "value")]
        .into_iter()
        .find(|(prefix, _)| message.starts_with(prefix))?;
    let mut names = quoted(&message[kind.len()..]).into_iter();
    let name = names.next()?;
    let known: Vec<String> = names.collect();
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    let problem = if what == "key" { format!("unknown key `{name}`") } else { format!("unknown variant `{name}`") };
    Some((problem, suggest::help(&name, &format!("{what}s here"), &known)))
}

impl StudyDefinition {
    /// Parses and checks a study; `file` is the file name that messages use.
    ///
    /// # Errors
    /// If the text is malformed, or names a kernel, feature, tunable, cost or arm that does not
    /// exist.
    pub fn parse(file: &str, text: &str) -> Result<Self, DefinitionError> {
        let study: Self = toml::from_str(text).map_err(|error| DefinitionError::toml(file, text, &error))?;
        study.check_names(file)?;
        Ok(study)
    }

    fn check_names(&self, file: &str) -> Result<(), DefinitionError> {
        let wrong = |place: &str, message: String, help: String| {
            Err(DefinitionError::name(file, place.to_owned(), message, help))
        };
        if self.name.is_empty() || !self.name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
        {
            let help = "use letters, digits, - and _: output files have this name".to_owned();
            return wrong("name", format!("`{}` is not a valid study name", self.name), help);
        }
        if self.arms.is_empty() {
            return wrong("arms", "no arm is defined".to_owned(), "add [[arm]] with a name and its meaning".to_owned());
        }
        self.check_arms(file)?;
        let arms: Vec<&str> = self.arms.iter().map(|arm| arm.name.as_str()).collect();
        for table in &self.tables {
            for row in &table.rows {
                let place = format!("table {}, row {}", table.name, row.label);
                if let Some((message, help)) = table.row_validation_error(row) {
                    return wrong(&place, message, help);
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

    fn check_arms(&self, file: &str) -> Result<(), DefinitionError> {
        for (number, arm) in self.arms.iter().enumerate() {
            let place = format!("arm {}", arm.name);
            if self.arms[..number].iter().any(|before| before.name == arm.name) {
                let help = "give it another name".to_owned();
                return Err(DefinitionError::name(file, place, "this name is already used above".to_owned(), help));
            }
        }
        Ok(())
    }
}

/// Returns the error for an unknown name, with a suggestion from the `known` ones.
pub(crate) fn unknown(file: &str, place: &str, what: &str, name: &str, known: &[&str]) -> DefinitionError {
    let message = format!("there is no {what} {name}");
    DefinitionError::name(file, place.to_owned(), message, suggest::help(name, &format!("{what}s"), known))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "name = 's'\ntitle = 's'\nsource = 's'\n";

    fn complaint(text: &str) -> String {
        StudyDefinition::parse("my.toml", &format!("{HEAD}{text}")).expect_err(text).to_string()
    }

    #[test]
    fn an_error_names_the_file_and_the_place_and_has_a_hint() {
        let arm = "[[arm]]\nname = 'a'\nmeaning = 'a'\n";
        for (text, expected) in [
            (
                "[[arm]]\nname = 'a'\nmeanin = 'a'\n",
                "my.toml: line 4: arm a: unknown key `meanin`\nhelp: did you mean `meaning`?",
            ),
            ("[[arm]]\nname = 'a'\n", "there is no `meaning`\nhelp: add it: meaning = ..."),
            ("table = []", "there is no `arm`"),
            (
                &format!("{arm}governor = 'fast'\n[[table]]"),
                "arm a: governor: fast: unknown governor\nhelp: use performance",
            ),
            (
                &format!("table = []\n{arm}kernel = '5.30'"),
                "arm a: kernel: 5.30: unknown kernel\nhelp: known kernels: 4.19",
            ),
            (
                &format!("table = []\n{arm}features = {{ SIS_UTL = true }}"),
                "arm a: features: SIS_UTL: unknown feature\nhelp: did you mean SIS_UTIL?",
            ),
            (
                &format!("table = []\n{arm}tunables = {{ scan_costs = 1 }}"),
                "arm a: tunables: scan_costs=1: unknown tunable\nhelp: did you mean scan_cost?",
            ),
            (
                &format!("table = []\n{arm}tunables = {{ misfit_kick = 7 }}"),
                "arm a: tunables: misfit_kick=7: misfit_kick is a number from 0 to 1",
            ),
            (
                &format!("table = []\n{arm}prices = {{ ScanCpus = 7 }}"),
                "arm a: prices: ScanCpus=7: unknown operation\nhelp: did you mean ScanCpu?",
            ),
            (&format!("table = []\n{arm}seed = 3"), "arm a: unknown key `seed`\nhelp: keys here:"),
            (&format!("table = []\n{arm}{arm}"), "arm a: this name is already used above"),
            ("table = []\narm = []", "arms: no arm is defined"),
        ] {
            let message = complaint(text);
            assert!(message.contains(expected), "{text}\n{message}");
        }
    }
}
