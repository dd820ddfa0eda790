// SPDX-License-Identifier: GPL-2.0-or-later
//! Loading of a workload file of any kind, which its text determines and not its name.

use crate::message::Message;
use crate::recorded::{self, RecordedWorkload};
use crate::rtapp;
use crate::scenario::{self, Scenario};
use crate::source_text::SourceText;
use crate::workload::Workload;

/// Kinds of workload files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkloadKind {
    /// Scenario with its own machine: see [`crate::scenario`].
    Scenario,
    /// File of rt-app: see [`crate::rtapp`].
    RtApp,
    /// Output of `fairlab import`: see [`crate::recorded`].
    Recorded,
}

/// Content of a workload file.
#[derive(Debug)]
pub enum LoadedWorkload {
    /// Scenario, which has its own machine.
    Scenario(Box<Scenario>),
    /// Workload for any machine that has its CPUs.
    RtApp(Box<Workload>),
    /// Workload of a trace, with the facts that the trace contains about its machine.
    Recorded(Box<RecordedWorkload>),
}

impl LoadedWorkload {
    /// Returns the workload, without a scenario's settings of the machine.
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

/// Returns the kind of file that a text is. `file` is its name in the error.
///
/// # Errors
/// If the text begins like none of them.
pub fn detect(file: &str, text: &str) -> Result<WorkloadKind, Message> {
    let source = SourceText::new(file, text);
    let start = first_word_offset(text);
    let word = text[start..].split([' ', '\t', '\r', '\n', '#']).next().unwrap_or_default();
    if word.starts_with('{') || word.starts_with("//") || word.starts_with("/*") {
        return Ok(WorkloadKind::RtApp);
    }
    if word == recorded::KEYWORD {
        return Ok(WorkloadKind::Recorded);
    }
    if scenario::Statement::by_keyword(word).is_some() {
        return Ok(WorkloadKind::Scenario);
    }
    let message = if word.is_empty() {
        "the file is empty"
    } else {
        "this is no workload file: neither a scenario nor an rt-app file begins like this"
    };
    let help = "a scenario has one statement per line and begins with `cpus N`; an rt-app file is JSON and begins with `{`; make a \
                workload of a trace: `fairlab import TRACE -o WORKLOAD`";
    Err(source.error(start, message).with_help(help))
}

/// Returns the byte offset of the first word that is not in a `#` comment.
fn first_word_offset(text: &str) -> usize {
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

/// Reads a workload file of any kind.
///
/// # Errors
/// If the text is of no known kind, or not a valid file of its kind.
pub fn load(file: &str, text: &str, options: rtapp::RtAppOptions<'_>) -> Result<LoadedWorkload, Message> {
    match detect(file, text)? {
        WorkloadKind::Scenario => scenario::parse(file, text, options.switch_names.series())
            .map(|scenario| LoadedWorkload::Scenario(Box::new(scenario))),
        WorkloadKind::RtApp => {
            rtapp::parse(file, text, options).map(|workload| LoadedWorkload::RtApp(Box::new(workload)))
        }
        WorkloadKind::Recorded => {
            recorded::parse(file, text).map(|recorded| LoadedWorkload::Recorded(Box::new(recorded)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairlab_sched::series::KernelSeries;

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
            assert!(error.help.expect("a hint").contains("`cpus N`"), "{text}");
        }
    }

    #[test]
    fn a_file_of_each_kind_loads() {
        let options = rtapp::RtAppOptions::for_cpus(KernelSeries::V6_1, 2);
        let scenario = load("a", "cpus 8\ntask t run 1ms", options).expect("a scenario");
        assert_eq!(scenario.into_workload().tasks.len(), 1);
        let workload = load("a", r#"{"tasks":{"t":{"run":1}}}"#, options).expect("an rt-app file");
        assert_eq!(workload.into_workload().tasks[0].name, "t-0");
        assert!(load("a", "whatever", options).is_err());
    }
}
