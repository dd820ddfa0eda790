// SPDX-License-Identifier: GPL-2.0-or-later
//! Comparison of two schedulers on random scenarios: all trace lines and, on request, the operation counts of
//! each scheduler call. A side is the built-in scheduler, a compiled-kernel engine or the reference program.
//!
//! Kernel code has zero cost in these scenarios, so both sides make equal calls as long as they decide
//! equally. A scenario that both sides reject is no difference, nor is one that an engine rejects because it
//! lacks support.

use super::operations::OpComparisons;
use super::to_fairlab_grammar;
use anyhow::{Context, Result, bail};
use std::collections::BTreeMap;
use std::fs;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

/// Time limit of a run, in seconds.
const TIMEOUT_S: &str = "120";

/// Messages of the reference's kernel that a correct run may print. Any other message fails the comparison.
const EXPECTED_MESSAGES: [&str; 1] = ["sched: DL replenish lagged too much"];

/// Program that runs a scenario.
pub(crate) enum TraceSource {
    /// Built-in scheduler, with options of `fairlab run`.
    BuiltIn(&'static [&'static str]),
    /// Compiled-kernel engine, as `--engine` names it.
    Engine(String),
    Reference(PathBuf),
}

/// Two sides of a comparison, and their directories.
pub(super) struct ComparedPair<'a> {
    pub(super) sides: TracePair<'a>,
    /// Directory of the scenario generator.
    pub(super) oracle: &'a Path,
    /// Directory of scenarios and traces that differ.
    pub(super) folder: PathBuf,
    pub(super) wants_operations: bool,
}

/// Two sides whose traces are compared.
pub(crate) struct TracePair<'a> {
    /// The program `fairlab`.
    pub(crate) program: &'a Path,
    pub(crate) tested: TraceSource,
    pub(crate) reference: TraceSource,
}

/// Result of one comparison.
#[derive(Debug)]
pub(crate) enum CaseOutcome {
    Identical {
        lines: usize,
        /// Expected message of the reference's kernel.
        message: Option<&'static str>,
    },
    /// Number of the first line that differs.
    Different {
        line: usize,
    },
    /// Both sides reject the scenario, or an engine does. The text names the side and the reason.
    Rejected(String),
    Failed(String),
}

/// Result of one seed.
pub(super) struct SeedResult {
    seed: u32,
    outcome: CaseOutcome,
    operations: OpComparisons,
}

/// Results of all profiles.
#[derive(Default)]
pub(super) struct OracleSummary {
    nr_identical: usize,
    /// Differences and failures, one line each.
    bad: Vec<String>,
    /// Number of rejected scenarios by side and reason.
    rejected: BTreeMap<String, u32>,
    /// Number of identical scenarios by message of the reference's kernel.
    messages: BTreeMap<&'static str, u32>,
    operations: OpComparisons,
}

/// Result of one run.
enum OracleRun {
    Finished {
        output: Vec<u8>,
        /// Expected message of the reference's kernel.
        message: Option<&'static str>,
    },
    /// The side does not support the scenario.
    Rejected(String),
    /// The run stops early, for instance because a deadline task exceeds the free bandwidth.
    Stopped(String),
    Failed(String),
}

impl TraceSource {
    /// Returns the command that traces a scenario or writes its operation counts.
    fn command(&self, program: &Path, what: &[&str], scenario: &Path) -> Command {
        let mut command = Command::new("timeout");
        command.arg(TIMEOUT_S);
        match self {
            Self::Reference(path) => {
                command.arg(path).arg(in_reference_grammar(scenario));
            }
            Self::BuiltIn(options) => {
                command.arg(program).arg("run").arg(scenario).args(what).args(*options);
            }
            Self::Engine(name) => {
                command.arg(program).arg("run").arg(scenario).args(what).args(["--engine", name]);
            }
        }
        command
    }

    fn run(&self, program: &Path, what: &[&str], scenario: &Path) -> Result<OracleRun> {
        let output = self.command(program, what, scenario).output().context("timeout")?;
        let messages = String::from_utf8_lossy(&output.stderr).into_owned();
        let is_reference = matches!(self, Self::Reference(_));
        Ok(match output.status.code() {
            Some(0) if is_reference => match kernel_message(&messages) {
                Ok(message) => OracleRun::Finished { output: output.stdout, message },
                Err(warning) => OracleRun::Failed(format!("the reference's kernel warns: {warning}")),
            },
            Some(0) => OracleRun::Finished { output: output.stdout, message: None },
            Some(1) if is_reference => OracleRun::Rejected(rejection_reason(&messages)),
            Some(1) => OracleRun::Stopped(rejection_reason(&messages)),
            Some(2) if !is_reference => OracleRun::Rejected(rejection_reason(&messages)),
            Some(124) => OracleRun::Failed(format!("{} does not end within {TIMEOUT_S} s", self.name())),
            _ => OracleRun::Failed(format!("{}: {}", self.name(), messages.lines().next().unwrap_or("no message"))),
        })
    }

    /// Returns the result of a scenario that only this side rejects. An engine may lack support for it.
    fn rejects_alone(&self, why: &str) -> CaseOutcome {
        match self {
            Self::Engine(name) => CaseOutcome::Rejected(format!("{name}: {why}")),
            Self::BuiltIn(_) | Self::Reference(_) => self.stops_alone(why),
        }
    }

    fn stops_alone(&self, why: &str) -> CaseOutcome {
        CaseOutcome::Failed(format!("only {} stops: {why}", self.name()))
    }

    fn name(&self) -> &str {
        match self {
            Self::BuiltIn(_) => "the built-in scheduler",
            Self::Engine(name) => name,
            Self::Reference(_) => "the reference",
        }
    }
}

/// Returns the file with a scenario in the reference's grammar.
fn in_reference_grammar(scenario: &Path) -> PathBuf {
    scenario.with_extension("reference.scn")
}

/// Returns the expected message among those that the reference's kernel has printed, if any. The error is the
/// first unexpected line.
fn kernel_message(messages: &str) -> Result<Option<&'static str>, String> {
    let mut message = None;
    for line in messages.lines().filter(|line| line.starts_with("[k ") || line.contains("WARN")) {
        let expected = EXPECTED_MESSAGES.into_iter().find(|expected| line.ends_with(&format!("] {expected}")));
        message = Some(expected.ok_or_else(|| line.to_owned())?);
    }
    Ok(message)
}

/// Returns an error's message in one line, without the file name and the help.
pub(crate) fn rejection_reason(messages: &str) -> String {
    let text: Vec<&str> = messages.split_whitespace().take_while(|word| *word != "help:").collect();
    let text = text.join(" ");
    text.split_once(".scn: ").map_or_else(|| text.trim_start_matches("error: "), |(_, rest)| rest).to_owned()
}

impl ComparedPair<'_> {
    /// Compares the scenarios of a profile, `jobs` at a time. `add` is appended to each scenario.
    pub(super) fn compare(
        &self,
        profile: &str,
        seeds: RangeInclusive<u32>,
        add: &str,
        jobs: usize,
    ) -> Result<Vec<SeedResult>> {
        fs::create_dir_all(&self.folder).with_context(|| self.folder.display().to_string())?;
        let (next, results) = (Mutex::new(seeds), Mutex::new(Vec::new()));
        std::thread::scope(|scope| {
            for _ in 0..jobs {
                scope.spawn(|| {
                    loop {
                        let Some(seed) = next.lock().expect("no thread panics").next() else { return };
                        let result = self.compare_seed(profile, seed, add);
                        results.lock().expect("no thread panics").push(result);
                    }
                });
            }
        });
        let results = results.into_inner().expect("no thread panics");
        let mut results = results.into_iter().collect::<Result<Vec<_>>>()?;
        results.sort_by_key(|result| result.seed);
        Ok(results)
    }

    fn compare_seed(&self, profile: &str, seed: u32, add: &str) -> Result<SeedResult> {
        let path = self.folder.join(format!("{profile}-{seed}.scn"));
        let generated = Command::new("python3")
            .arg(self.oracle.join("gen_scen.py"))
            .args([&seed.to_string(), "--profile", profile])
            .output()
            .context("gen_scen.py")?;
        if !generated.status.success() {
            bail!("gen_scen.py: {}", String::from_utf8_lossy(&generated.stderr));
        }
        let text = String::from_utf8(generated.stdout).context("a scenario is text")?;
        let text = format!("{text}\n{add}\ntrace 3\n");
        fs::write(&path, to_fairlab_grammar(&text))?;
        fs::write(in_reference_grammar(&path), &text)?;
        let outcome = self.sides.compare_traces(&path)?;
        let mut operations = OpComparisons::default();
        if self.wants_operations && matches!(outcome, CaseOutcome::Identical { .. }) {
            let counted = |side: &TraceSource| match side.run(self.sides.program, &["--trace-work"], &path)? {
                OracleRun::Finished { output, .. } => String::from_utf8(output).context("counts are text"),
                OracleRun::Rejected(why) | OracleRun::Stopped(why) | OracleRun::Failed(why) => {
                    bail!("{}: {why}", path.display())
                }
            };
            let name = format!("{profile} {seed}");
            operations = OpComparisons::of(&name, &counted(&self.sides.tested)?, &counted(&self.sides.reference)?)?;
        }
        if matches!(outcome, CaseOutcome::Identical { .. } | CaseOutcome::Rejected(_)) {
            fs::remove_file(&path)?;
            fs::remove_file(in_reference_grammar(&path))?;
        }
        Ok(SeedResult { seed, outcome, operations })
    }
}

impl TracePair<'_> {
    /// Compares the traces of the scenario in a file. If they differ, they stay beside it.
    pub(crate) fn compare_traces(&self, path: &Path) -> Result<CaseOutcome> {
        let trace = ["--trace-jsonl", "-"];
        let [tested, reference] = [&self.tested, &self.reference].map(|side| side.run(self.program, &trace, path));
        Ok(match (tested?, reference?) {
            (OracleRun::Finished { output: tested, .. }, OracleRun::Finished { output: reference, message })
                if tested == reference =>
            {
                CaseOutcome::Identical { lines: tested.iter().filter(|&&byte| byte == b'\n').count(), message }
            }
            (OracleRun::Finished { output: tested, .. }, OracleRun::Finished { output: reference, .. }) => {
                let lines = |bytes: &[u8]| bytes.split(|&byte| byte == b'\n').map(<[u8]>::to_vec).collect::<Vec<_>>();
                let same =
                    lines(&tested).iter().zip(&lines(&reference)).take_while(|(one, other)| one == other).count();
                fs::write(path.with_extension("tested.jsonl"), tested)?;
                fs::write(path.with_extension("reference.jsonl"), reference)?;
                CaseOutcome::Different { line: same + 1 }
            }
            (OracleRun::Failed(why), _) | (_, OracleRun::Failed(why)) => CaseOutcome::Failed(why),
            (OracleRun::Rejected(why), OracleRun::Finished { .. }) => self.tested.rejects_alone(&why),
            (OracleRun::Finished { .. }, OracleRun::Rejected(why)) => self.reference.rejects_alone(&why),
            (OracleRun::Stopped(why), OracleRun::Finished { .. }) => self.tested.stops_alone(&why),
            (OracleRun::Finished { .. }, OracleRun::Stopped(why)) => self.reference.stops_alone(&why),
            (OracleRun::Rejected(why) | OracleRun::Stopped(why), _) => CaseOutcome::Rejected(format!("both: {why}")),
        })
    }
}

impl OracleSummary {
    /// Adds the results of a profile and prints them in one line.
    pub(super) fn report_profile(&mut self, profile: &str, results: Vec<SeedResult>) {
        let (mut nr_identical, mut nr_lines, mut nr_rejected, mut bad) = (0, 0, 0, Vec::new());
        for SeedResult { seed, outcome, operations } in results {
            self.operations.add(operations);
            match outcome {
                CaseOutcome::Identical { lines, message } => {
                    (nr_identical, nr_lines) = (nr_identical + 1, nr_lines + lines);
                    if let Some(message) = message {
                        *self.messages.entry(message).or_default() += 1;
                    }
                }
                CaseOutcome::Different { line } => bad.push(format!("{profile}: seed {seed} differs in line {line}")),
                CaseOutcome::Failed(why) => bad.push(format!("{profile}: seed {seed} fails: {why}")),
                CaseOutcome::Rejected(why) => {
                    nr_rejected += 1;
                    *self.rejected.entry(why).or_default() += 1;
                }
            }
        }
        let nr_bad = bad.len();
        println!("{profile}: {nr_identical} identical in {nr_lines} lines, {nr_bad} different, {nr_rejected} rejected");
        self.nr_identical += nr_identical;
        self.bad.extend(bad);
    }

    /// Prints the reasons of rejected scenarios, messages of the reference's kernel and the table of operations.
    /// Fails after a difference, of which `folder` has the files, and if no scenario was compared.
    pub(super) fn finish(self, folder: &Path, wants_operations: bool) -> Result<()> {
        let times = |number: u32| format!("{number} time{}", if number == 1 { "" } else { "s" });
        for (why, number) in self.rejected {
            println!("rejected {} by {why}", times(number));
        }
        for (message, number) in self.messages {
            println!("printed {} by the reference's kernel, with equal traces: {message}", times(number));
        }
        if wants_operations {
            print!("{}", self.operations.table());
        }
        if !self.bad.is_empty() {
            bail!("not identical, see {}:\n{}", folder.display(), self.bad.join("\n"));
        }
        if self.nr_identical == 0 {
            bail!("all scenarios were rejected");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{CaseOutcome, EXPECTED_MESSAGES, OracleSummary, TraceSource, kernel_message, rejection_reason};
    use crate::oracle::to_fairlab_grammar;
    use std::path::Path;

    #[test]
    fn a_reason_is_one_line_without_file_and_help() {
        let message_text = "error: /tmp/a/irq-3.scn: kernel engines do not have yet: cpusets\nhelp: leave them out\n";
        assert_eq!(rejection_reason(message_text), "kernel engines do not have yet: cpusets");
    }

    #[test]
    fn a_new_quota_of_the_reference_removes_the_burst() {
        let text = "group g quota=9ms burst=2ms\n quota 1ms g 5ms 10ms\nquotas\n";
        let expected = "group g quota=9ms burst=2ms\n quota 1ms g 5ms 10ms burst=0\nquotas\n";
        assert_eq!(to_fairlab_grammar(text), expected);
    }

    #[test]
    fn a_comparison_without_scenarios_fails() {
        assert!(OracleSummary::default().finish(Path::new("oracle"), false).is_err());
    }

    #[test]
    fn only_an_engine_may_reject_a_scenario_alone() {
        let is_difference = |side: TraceSource| matches!(side.rejects_alone("no"), CaseOutcome::Failed(_));
        assert!(is_difference(TraceSource::BuiltIn(&[])));
        assert!(is_difference(TraceSource::Reference("schedsim".into())));
        assert!(!is_difference(TraceSource::Engine("kernel:6.12".to_owned())));
    }

    #[test]
    fn a_message_of_the_reference_fails_unless_it_is_expected() {
        let totals = "{\"sim_ns\":200000000,\"events\":7863}\n";
        let message = |line: &str| kernel_message(&format!("{line}\n{totals}"));
        assert_eq!(kernel_message(totals), Ok(None));
        assert_eq!(message("[k 4] sched: DL replenish lagged too much"), Ok(Some(EXPECTED_MESSAGES[0])));
        assert_eq!(message("[k 4] sched: it lags"), Err("[k 4] sched: it lags".to_owned()));
        assert!(message("[k 4] sched: DL replenish lagged too much\n[k 5] WARNING: at fair.c").is_err());
    }
}
