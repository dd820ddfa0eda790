// SPDX-License-Identifier: GPL-2.0-or-later
//! Comparisons that involve a compiled-kernel engine, as the reference or as the compared side: all trace
//! lines and, on request, the operation counts of each scheduler call.
//!
//! Kernel code has zero cost in these scenarios, so both sides make equal calls as long as they decide
//! equally. A scenario that a side rejects because an engine lacks support is reported with the reason.

use super::operations::OpComparisons;
use anyhow::{Context, Result, bail};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

/// Time limit of a run, in seconds.
const TIMEOUT_S: &str = "120";

/// Program that runs a scenario.
pub(super) enum TraceSource {
    /// Built-in scheduler, with options of `fairlab run`.
    BuiltIn(&'static [&'static str]),
    /// Compiled-kernel engine, as `--engine` names it.
    Engine(String),
    Reference(PathBuf),
}

/// Two sides of a comparison, and their directories.
pub(super) struct ComparedPair<'a> {
    pub(super) program: &'a Path,
    pub(super) tested: TraceSource,
    pub(super) reference: TraceSource,
    /// Directory of the scenario generator.
    pub(super) oracle: &'a Path,
    /// Directory of scenarios and traces that differ.
    pub(super) folder: PathBuf,
    pub(super) wants_operations: bool,
}
pub(super) struct OracleCase<'a> {
    pub(super) profile: &'a str,
    pub(super) seed: u32,
    pub(super) add: Option<&'a str>,
}

/// Result of one comparison.
enum CaseOutcome {
    Identical { lines: usize },
    Different { line: usize },
    Refused(String),
    Failed(String),
}

/// Results of all comparisons of a profile.
#[derive(Default)]
struct OracleCounts {
    identical: u32,
    lines: usize,
    refused: u32,
    bad: Vec<String>,
}

/// Result of one run.
enum OracleRun {
    Finished(Vec<u8>),
    Refused(String),
    Failed(String),
}

impl TraceSource {
    /// Returns the command that traces a scenario or writes its operation counts.
    fn command(&self, program: &Path, what: &[&str], scenario: &Path) -> Command {
        let mut command = Command::new("timeout");
        command.arg(TIMEOUT_S);
        match self {
            Self::Reference(path) => {
                command.arg(path).arg(scenario);
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
        if output.status.success() {
            return Ok(OracleRun::Finished(output.stdout));
        }
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        Ok(match output.status.code() {
            Some(2) => OracleRun::Refused(refusal_reason(&said)),
            Some(124) => OracleRun::Failed(format!("does not end within {TIMEOUT_S} s")),
            _ => OracleRun::Failed(said.lines().next().unwrap_or("no message").to_owned()),
        })
    }
}

/// Returns an error's message in one line, without the file name and the help.
fn refusal_reason(said: &str) -> String {
    let text: Vec<&str> = said.split_whitespace().take_while(|word| *word != "help:").collect();
    let text = text.join(" ");
    text.split_once(".scn: ").map_or(text.as_str(), |(_, rest)| rest).to_owned()
}

impl ComparedPair<'_> {
    /// Compares all scenarios, `jobs` at a time, and prints the results.
    pub(super) fn compare(&self, cases: &[OracleCase<'_>], jobs: usize) -> Result<()> {
        fs::create_dir_all(&self.folder).with_context(|| self.folder.display().to_string())?;
        let next = Mutex::new(cases.iter());
        let results = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            for _ in 0..jobs {
                scope.spawn(|| {
                    loop {
                        let Some(case) = next.lock().expect("no thread panics").next() else { return };
                        let result = self.compare_one(case);
                        results.lock().expect("no thread panics").push((case, result));
                    }
                });
            }
        });
        let mut results = results.into_inner().expect("no thread panics");
        results.sort_by_key(|(case, _)| case.seed);
        self.print_outcome(cases, results)
    }

    fn compare_one(&self, case: &OracleCase<'_>) -> Result<(CaseOutcome, OpComparisons)> {
        let path = self.folder.join(format!("{}-{}.scn", case.profile, case.seed));
        let generated = Command::new("python3")
            .arg(self.oracle.join("gen_scen.py"))
            .args([&case.seed.to_string(), "--profile", case.profile])
            .output()
            .context("gen_scen.py")?;
        if !generated.status.success() {
            bail!("gen_scen.py: {}", String::from_utf8_lossy(&generated.stderr));
        }
        let text = String::from_utf8(generated.stdout).context("a scenario is text")?;
        fs::write(&path, format!("{text}\n{}\ntrace 3\n", case.add.unwrap_or_default()))?;
        let outcome = self.compare_traces(&path)?;
        let mut operations = OpComparisons::default();
        if self.wants_operations && matches!(outcome, CaseOutcome::Identical { .. }) {
            let counted = |side: &TraceSource| match side.run(self.program, &["--trace-work"], &path)? {
                OracleRun::Finished(bytes) => String::from_utf8(bytes).context("counts are text"),
                OracleRun::Refused(why) | OracleRun::Failed(why) => bail!("{}: {why}", path.display()),
            };
            let name = format!("{} {}", case.profile, case.seed);
            operations = OpComparisons::of(&name, &counted(&self.tested)?, &counted(&self.reference)?)?;
        }
        if matches!(outcome, CaseOutcome::Identical { .. } | CaseOutcome::Refused(_)) {
            fs::remove_file(&path)?;
        }
        Ok((outcome, operations))
    }

    fn compare_traces(&self, path: &Path) -> Result<CaseOutcome> {
        let trace = ["--trace-jsonl", "-"];
        let [tested, reference] = [&self.tested, &self.reference].map(|side| side.run(self.program, &trace, path));
        Ok(match (tested?, reference?) {
            (OracleRun::Finished(tested), OracleRun::Finished(reference)) if tested == reference => {
                CaseOutcome::Identical { lines: tested.iter().filter(|&&byte| byte == b'\n').count() }
            }
            (OracleRun::Finished(tested), OracleRun::Finished(reference)) => {
                let lines = |bytes: &[u8]| bytes.split(|&byte| byte == b'\n').map(<[u8]>::to_vec).collect::<Vec<_>>();
                let same =
                    lines(&tested).iter().zip(&lines(&reference)).take_while(|(one, other)| one == other).count();
                fs::write(path.with_extension("tested.jsonl"), tested)?;
                fs::write(path.with_extension("reference.jsonl"), reference)?;
                CaseOutcome::Different { line: same + 1 }
            }
            (OracleRun::Failed(why), _) | (_, OracleRun::Failed(why)) => CaseOutcome::Failed(why),
            (OracleRun::Refused(why), _) | (_, OracleRun::Refused(why)) => CaseOutcome::Refused(why),
        })
    }

    fn print_outcome(
        &self,
        cases: &[OracleCase<'_>],
        results: Vec<(&OracleCase<'_>, Result<(CaseOutcome, OpComparisons)>)>,
    ) -> Result<()> {
        let mut tallies: BTreeMap<&str, OracleCounts> = BTreeMap::new();
        let (mut reasons, mut operations) = (BTreeMap::<String, u32>::new(), OpComparisons::default());
        for (case, result) in results {
            let tally = tallies.entry(case.profile).or_default();
            let (outcome, counted) = result?;
            operations.add(counted);
            match outcome {
                CaseOutcome::Identical { lines } => {
                    (tally.identical, tally.lines) = (tally.identical + 1, tally.lines + lines);
                }
                CaseOutcome::Different { line } => tally.bad.push(format!("seed {} differs in line {line}", case.seed)),
                CaseOutcome::Failed(why) => tally.bad.push(format!("seed {} fails: {why}", case.seed)),
                CaseOutcome::Refused(why) => {
                    tally.refused += 1;
                    *reasons.entry(why).or_default() += 1;
                }
            }
        }
        let (mut bad, mut reported) = (Vec::new(), Vec::new());
        for profile in cases.iter().map(|case| case.profile) {
            if reported.contains(&profile) {
                continue;
            }
            reported.push(profile);
            let OracleCounts { identical, lines, refused, bad: its } = &tallies[profile];
            println!("{profile}: {identical} identical in {lines} lines, {} different, {refused} rejected", its.len());
            bad.extend(its.iter().map(|what| format!("{profile}: {what}")));
        }
        for (why, times) in reasons {
            println!("rejected {times} time{}: {why}", if times == 1 { "" } else { "s" });
        }
        if self.wants_operations {
            print!("{}", operations.table());
        }
        if !bad.is_empty() {
            bail!("not identical, see {}:\n{}", self.folder.display(), bad.join("\n"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::refusal_reason;

    #[test]
    fn a_reason_is_one_line_without_file_and_help() {
        let said = "error: /tmp/a/irq-3.scn: kernel engines do not have yet: cpusets\nhelp: leave them out\n";
        assert_eq!(refusal_reason(said), "kernel engines do not have yet: cpusets");
    }
}
