// SPDX-License-Identifier: GPL-2.0-or-later
//! Reading a study's data: what is wrong is told with the file, the place in it, and the way out.
//!
//! Here are the checks that need nothing but the text. What needs files, machines or runs is checked in [`crate::data::check`].

use crate::definition::StudyDefinition;
use crate::kernels::{self, Kernel};
use fairlab_machine::description::OPERATIONS;
use fairlab_sched::features::Feature;
use fairlab_sched::tunables::TUNABLES;
use fairlab_workload::suggest;

/// Why the data of a study are refused.
#[derive(Debug, thiserror::Error)]
pub enum DefinitionError {
    /// It is not the TOML of a study.
    #[error("{file}: line {line}: {message}\nhelp: {help}")]
    Toml {
        /// The file.
        file: String,
        /// The line, from 1 on.
        line: usize,
        /// What is wrong.
        message: String,
        /// The way out.
        help: String,
    },
    /// What a run names cannot be had, or cannot be run.
    #[error("{file}: run {run}: {message}")]
    Run {
        /// The file.
        file: String,
        /// The run.
        run: String,
        /// What is wrong, with the way out.
        message: String,
    },
    /// A name in it means nothing.
    #[error("{file}: {place}: {message}\nhelp: {help}")]
    Name {
        /// The file.
        file: String,
        /// Where.
        place: String,
        /// What is wrong.
        message: String,
        /// The way out.
        help: String,
    },
}

impl DefinitionError {
    /// A name at a place of a study's data means nothing.
    pub(crate) fn name(file: &str, place: String, message: String, help: String) -> Self {
        Self::Name { file: file.to_owned(), place, message, help }
    }

    fn toml(file: &str, text: &str, error: &toml::de::Error) -> Self {
        let start = error.span().map_or(0, |span| span.start.min(text.len()));
        let line = 1 + text.as_bytes()[..start].iter().filter(|byte| **byte == b'\n').count();
        let message = error.message().to_owned();
        let (message, help) = explain(&message)
            .unwrap_or_else(|| (message, "see `fairlab study new` for a study with all keys".to_owned()));
        Self::Toml { file: file.to_owned(), line, message, help }
    }
}

/// Unknown keys and values, of which the reader of TOML knows what could stand there: which of them was meant.
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
    let told = if what == "key" { format!("unknown key `{name}`") } else { format!("unknown variant `{name}`") };
    Some((told, suggest::help(&name, &format!("{what}s here"), &known)))
}

impl StudyDefinition {
    /// Reads a study's data; `file` is what the file is called in messages.
    ///
    /// # Errors
    /// If it is malformed, or names a kernel, feature, tunable, price or arm that does not exist.
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
            let help = "letters, digits, - and _: files are called after it".to_owned();
            return wrong("name", format!("`{}` is no name of a study", self.name), help);
        }
        if self.arms.is_empty() {
            return wrong("arms", "there is none".to_owned(), "add [[arm]] with a name and its meaning".to_owned());
        }
        self.check_arms(file)?;
        let arms: Vec<&str> = self.arms.iter().map(|arm| arm.name.as_str()).collect();
        for table in &self.tables {
            for row in &table.rows {
                let place = format!("table {}, row {}", table.name, row.label);
                if let Some((message, help)) = table.complaint_about(row) {
                    return wrong(&place, message, help);
                }
                for arm in [Some(&row.arm), row.from.as_ref(), table.from.as_ref()].into_iter().flatten() {
                    if !arms.contains(&arm.as_str()) {
                        return Err(unknown(file, &place, "arm", arm, &arms));
                    }
                }
            }
        }
        Ok(())
    }

    fn check_arms(&self, file: &str) -> Result<(), DefinitionError> {
        for (number, arm) in self.arms.iter().enumerate() {
            let place = format!("arm {}", arm.name);
            if self.arms[..number].iter().any(|before| before.name == arm.name) {
                let help = "give it another name".to_owned();
                return Err(DefinitionError::name(file, place, "there is one of that name above".to_owned(), help));
            }
            if let Some(kernel) = arm.kernel.as_ref().filter(|kernel| Kernel::named(kernel).is_none()) {
                let known: Vec<&str> = kernels::all().map(|kernel| kernel.name).collect();
                return Err(unknown(file, &place, "kernel", kernel, &known));
            }
            if let Some(feature) = arm.features.keys().find(|feature| Feature::from_name(feature).is_none()) {
                let known: Vec<&str> = Feature::ALL.iter().map(|feature| feature.name()).collect();
                return Err(unknown(file, &place, "feature", feature, &known));
            }
            if let Some(price) = arm.prices.keys().find(|price| !OPERATIONS.contains(&price.as_str())) {
                return Err(unknown(file, &place, "price", price, &OPERATIONS));
            }
            for (name, value) in &arm.tunables {
                let Some(info) = TUNABLES.iter().find(|info| info.name == name) else {
                    let known: Vec<&str> = TUNABLES.iter().map(|info| info.name).collect();
                    return Err(unknown(file, &place, "tunable", name, &known));
                };
                if !info.range.contains(value) {
                    let message = format!("{name} = {value} is out of its range");
                    let help = format!("from {} to {} ({})", info.range.start(), info.range.end(), info.unit);
                    return Err(DefinitionError::name(file, place, message, help));
                }
            }
        }
        Ok(())
    }
}

/// A name that nothing has.
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
    fn what_is_wrong_is_told_with_file_place_and_way_out() {
        let arm = "[[arm]]\nname = 'a'\nmeaning = 'a'\n";
        for (text, expected) in [
            (
                "[[arm]]\nname = 'a'\nmeanin = 'a'\n",
                "my.toml: line 6: unknown key `meanin`\nhelp: did you mean `meaning`?",
            ),
            ("[[arm]]\nname = 'a'\n", "there is no `meaning`\nhelp: add it: meaning = ..."),
            ("table = []", "there is no `arm`"),
            (
                &format!("{arm}governor = 'perfomance'\n[[table]]"),
                "line 7: unknown variant `perfomance`\nhelp: did you mean `performance`?",
            ),
            (&format!("table = []\n{arm}kernel = '5.30'"), "arm a: there is no kernel 5.30\nhelp: did you mean `5."),
            (&format!("table = []\n{arm}features = {{ SIS_UTL = true }}"), "did you mean `SIS_UTIL`?"),
            (
                &format!("table = []\n{arm}tunables = {{ scan_costs = 1 }}"),
                "arm a: there is no tunable scan_costs\nhelp: did you mean `scan_cost`?",
            ),
            (
                &format!("table = []\n{arm}tunables = {{ misfit_kick = 7 }}"),
                "misfit_kick = 7 is out of its range\nhelp: from 0 to 1",
            ),
            (
                &format!("table = []\n{arm}prices = {{ ScanCpus = 7 }}"),
                "there is no price ScanCpus\nhelp: did you mean `ScanCpu`?",
            ),
            (&format!("table = []\n{arm}{arm}"), "arm a: there is one of that name above"),
            ("table = []\narm = []", "arms: there is none"),
        ] {
            let told = complaint(text);
            assert!(told.contains(expected), "{text}\n{told}");
        }
    }
}
