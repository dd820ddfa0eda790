// SPDX-License-Identifier: GPL-2.0-or-later
//! Comparisons in which an engine of a kernel tree has a part, as judge or as what is judged: every line of the traces and, if it is asked for,
//! what each call of the scheduler has counted.
//!
//! Kernel code is free in these scenarios, so both sides make the same calls as long as they decide the same. A scenario that a side refuses,
//! because it has something that an engine does not have, is told with the reason.

use super::operations::Operations;
use anyhow::{Context, Result, bail};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

/// So long may a run take, in seconds.
const LIMIT: &str = "120";

/// Who runs a scenario.
pub(super) enum Side {
    /// The built-in scheduler.
    BuiltIn,
    /// An engine, as `--engine` names it.
    Engine(String),
    /// The reference program.
    Reference(PathBuf),
}

/// What is compared with what.
pub(super) struct Pair<'a> {
    /// The project's program.
    pub(super) program: &'a Path,
    pub(super) ours: Side,
    pub(super) judge: Side,
    /// Where the generator lies.
    pub(super) oracle: &'a Path,
    /// Where scenarios and traces that differ stay.
    pub(super) folder: PathBuf,
    pub(super) wants_operations: bool,
}

/// A random scenario.
pub(super) struct OracleCase<'a> {
    pub(super) profile: &'a str,
    pub(super) seed: u32,
    pub(super) add: Option<&'a str>,
}

/// How a comparison ended.
enum CaseOutcome {
    Identical { lines: usize },
    Different { line: usize },
    Refused(String),
    Failed(String),
}

/// What came of all comparisons of a profile.
#[derive(Default)]
struct OracleCounts {
    identical: u32,
    lines: usize,
    refused: u32,
    bad: Vec<String>,
}

/// How a run ended.
enum OracleRun {
    Told(Vec<u8>),
    Refused(String),
    Failed(String),
}

impl Side {
    /// The command that traces a scenario, or writes what is counted in it.
    fn command(&self, program: &Path, what: &[&str], scenario: &Path) -> Command {
        let mut command = Command::new("timeout");
        command.arg(LIMIT);
        match self {
            Self::Reference(path) => {
                command.arg(path).arg(scenario);
            }
            Self::BuiltIn => {
                command.arg(program).arg("run").arg(scenario).args(what);
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
            return Ok(OracleRun::Told(output.stdout));
        }
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        Ok(match output.status.code() {
            Some(2) => OracleRun::Refused(reason(&said)),
            Some(124) => OracleRun::Failed(format!("does not end within {LIMIT} s")),
            _ => OracleRun::Failed(said.lines().next().unwrap_or("it says nothing").to_owned()),
        })
    }
}

/// What an error says, in one line without the name of the file and without the way out.
fn reason(said: &str) -> String {
    let text: Vec<&str> = said.split_whitespace().take_while(|word| *word != "help:").collect();
    let text = text.join(" ");
    text.split_once(".scn: ").map_or(text.as_str(), |(_, rest)| rest).to_owned()
}

impl Pair<'_> {
    /// Compares all of them, so many at a time, and tells what came of it.
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

    fn compare_one(&self, case: &OracleCase<'_>) -> Result<(CaseOutcome, Operations)> {
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
        let outcome = self.outcome(&path)?;
        let mut operations = Operations::default();
        if self.wants_operations && matches!(outcome, CaseOutcome::Identical { .. }) {
            let counted = |side: &Side| match side.run(self.program, &["--trace-work"], &path)? {
                OracleRun::Told(bytes) => String::from_utf8(bytes).context("counts are text"),
                OracleRun::Refused(why) | OracleRun::Failed(why) => bail!("{}: {why}", path.display()),
            };
            let name = format!("{} {}", case.profile, case.seed);
            operations = Operations::of(&name, &counted(&self.ours)?, &counted(&self.judge)?)?;
        }
        if matches!(outcome, CaseOutcome::Identical { .. } | CaseOutcome::Refused(_)) {
            fs::remove_file(&path)?;
        }
        Ok((outcome, operations))
    }

    fn outcome(&self, path: &Path) -> Result<CaseOutcome> {
        let trace = ["--trace-jsonl", "-"];
        let [ours, theirs] = [&self.ours, &self.judge].map(|side| side.run(self.program, &trace, path));
        Ok(match (ours?, theirs?) {
            (OracleRun::Told(ours), OracleRun::Told(theirs)) if ours == theirs => {
                CaseOutcome::Identical { lines: ours.iter().filter(|&&byte| byte == b'\n').count() }
            }
            (OracleRun::Told(ours), OracleRun::Told(theirs)) => {
                let lines = |bytes: &[u8]| bytes.split(|&byte| byte == b'\n').map(<[u8]>::to_vec).collect::<Vec<_>>();
                let same = lines(&ours).iter().zip(&lines(&theirs)).take_while(|(one, other)| one == other).count();
                fs::write(path.with_extension("ours.jsonl"), ours)?;
                fs::write(path.with_extension("judge.jsonl"), theirs)?;
                CaseOutcome::Different { line: same + 1 }
            }
            (OracleRun::Failed(why), _) | (_, OracleRun::Failed(why)) => CaseOutcome::Failed(why),
            (OracleRun::Refused(why), _) | (_, OracleRun::Refused(why)) => CaseOutcome::Refused(why),
        })
    }

    fn print_outcome(
        &self,
        cases: &[OracleCase<'_>],
        results: Vec<(&OracleCase<'_>, Result<(CaseOutcome, Operations)>)>,
    ) -> Result<()> {
        let mut tallies: BTreeMap<&str, OracleCounts> = BTreeMap::new();
        let (mut reasons, mut operations) = (BTreeMap::<String, u32>::new(), Operations::default());
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
        let (mut bad, mut told) = (Vec::new(), Vec::new());
        for profile in cases.iter().map(|case| case.profile) {
            if told.contains(&profile) {
                continue;
            }
            told.push(profile);
            let OracleCounts { identical, lines, refused, bad: its } = &tallies[profile];
            println!("{profile}: {identical} identical in {lines} lines, {} different, {refused} refused", its.len());
            bad.extend(its.iter().map(|what| format!("{profile}: {what}")));
        }
        for (why, times) in reasons {
            println!("refused {times} times: {why}");
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
    use super::reason;

    #[test]
    fn a_reason_is_one_line_without_file_and_help() {
        let said = "error: /tmp/a/irq-3.scn: kernel engines do not have yet: cpusets\nhelp: leave them out\n";
        assert_eq!(reason(said), "kernel engines do not have yet: cpusets");
    }
}
