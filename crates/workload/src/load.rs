// SPDX-License-Identifier: GPL-2.0-or-later
//! A workload from a file of any kind: what the file is shows in its text, not in its name.

use crate::error::{ParseError, Source};
use crate::recorded::{self, Recorded};
use crate::rtapp;
use crate::scenario::{self, Scenario};
use crate::workload::Workload;

/// Kinds of workload files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkloadKind {
    /// A scenario: see [`crate::scn`].
    Scenario,
    /// A file of rt-app: see [`crate::rtapp`].
    RtApp,
    /// What `fairlab import` has written: see [`crate::recorded`].
    Recorded,
}

/// What a file says.
#[derive(Debug)]
pub enum Loaded {
    /// A scenario, which has its own machine.
    Scenario(Box<Scenario>),
    /// A workload for any machine that has the CPUs.
    RtApp(Box<Workload>),
    /// A workload of a trace, with what that has told of its machine.
    Recorded(Box<Recorded>),
}

impl Loaded {
    /// The workload, without what a scenario says about the machine.
    pub fn into_workload(self) -> Workload {
        match self {
            Self::Scenario(scenario) => scenario.workload,
            Self::RtApp(workload) => *workload,
            Self::Recorded(recorded) => {
                let nr_cpus = recorded.nr_cpus;
                recorded.into_workload(nr_cpus)
            }
        }
    }
}

/// What kind of file a text is. `file` is its name in the error.
///
/// # Errors
/// If it looks like none of them.
pub fn detect(file: &str, text: &str) -> Result<WorkloadKind, ParseError> {
    let source = Source::new(file, text);
    let start = first_word(text);
    let word = text[start..].split([' ', '\t', '\r', '\n', '#']).next().unwrap_or_default();
    if word.starts_with('{') || word.starts_with("//") || word.starts_with("/*") {
        return Ok(WorkloadKind::RtApp);
    }
    if word == recorded::KEYWORD {
        return Ok(WorkloadKind::Recorded);
    }
    if scenario::Statement::named(word).is_some() {
        return Ok(WorkloadKind::Scenario);
    }
    let message = if word.is_empty() {
        "the file is empty"
    } else {
        "this is no workload file: neither a scenario nor an rt-app file begins like this"
    };
    let help =
        "a scenario has one statement per line and begins with `cpus N`; an rt-app file is JSON and begins with `{`";
    Err(source.error(start, message).with_help(help))
}

/// Where the first word begins that is not in a `#` comment.
fn first_word(text: &str) -> usize {
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let word = line.trim_start();
        if !word.is_empty() && !word.starts_with('#') {
            return start + line.len() - word.len();
        }
        start += line.len();
    }
    start
}

/// Reads a file of any kind.
///
/// # Errors
/// If the text is neither kind of file, or not a valid one.
pub fn load(file: &str, text: &str, options: rtapp::Options<'_>) -> Result<Loaded, ParseError> {
    match detect(file, text)? {
        WorkloadKind::Scenario => scenario::parse(file, text).map(|scenario| Loaded::Scenario(Box::new(scenario))),
        WorkloadKind::RtApp => rtapp::parse(file, text, options).map(|workload| Loaded::RtApp(Box::new(workload))),
        WorkloadKind::Recorded => recorded::parse(file, text).map(|recorded| Loaded::Recorded(Box::new(recorded))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kind_shows_in_the_first_word() {
        for text in ["cpus 4", "# a\n\n\t cpus 4", "task t run 1ms", "cpus#"] {
            assert_eq!(detect("a", text), Ok(WorkloadKind::Scenario), "{text}");
        }
        for text in ["{", " \n{ \"tasks\"", "/* x */ {", "// x\n{", "{\"tasks\":{}}"] {
            assert_eq!(detect("a", text), Ok(WorkloadKind::RtApp), "{text}");
        }
        for text in ["", "# nothing\n", "[machine]", "\"global\" : {", "cpu 4", "<xml>", "\u{feff}{"] {
            let error = detect("a", text).expect_err(text);
            assert!(error.help.expect("a way out").contains("`cpus N`"), "{text}");
        }
    }

    #[test]
    fn a_file_of_each_kind_loads() {
        let options = rtapp::Options::for_cpus(2);
        let scenario = load("a", "cpus 8\ntask t run 1ms", options).expect("a scenario");
        assert_eq!(scenario.into_workload().tasks.len(), 1);
        let workload = load("a", r#"{"tasks":{"t":{"run":1}}}"#, options).expect("an rt-app file");
        assert_eq!(workload.into_workload().tasks[0].name, "t-0");
        assert!(load("a", "whatever", options).is_err());
    }
}
