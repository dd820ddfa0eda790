// SPDX-License-Identifier: GPL-2.0-or-later
//! Programs that test mutants: the tests of the packages, and the small audit.

use super::tree::{MutantTree, PACKAGES, messages};
use crate::audit::fail_fast_audit;
use anyhow::{Context, Result, ensure};
use clap::ValueEnum;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Time limit of a test program; an endless loop counts as found.
const MAX_TIME: Duration = Duration::from_secs(400);

/// Most runs of the audit that test one mutant.
const MAX_RUNS: usize = 600;

/// Programs that test mutants.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum TestedBy {
    /// Tests of the packages, and the audit
    All,
    /// The audit alone
    Audit,
    /// Tests of the packages alone
    Tests,
}

/// One program that tests a build: a test harness, or the audit, whose runs are its tests.
struct TestProgram {
    name: String,
    executable: PathBuf,
    /// Arguments before the names of tests.
    args: Vec<String>,
    directory: PathBuf,
    /// Tests with the numbers of the mutants that they reach; none before they are recorded.
    tests: Vec<(String, BTreeSet<usize>)>,
}

/// Programs that test a build, the quickest first.
pub(super) struct TestPrograms(Vec<TestProgram>);

impl TestPrograms {
    /// Builds the tests. Returns `None` if the packages do not compile.
    pub(super) fn build(tree: &MutantTree, by: TestedBy, random: u32) -> Result<Option<Self>> {
        let output = tree.cargo("test").args(["--no-run", "--lib", "--bins", "--test", "it"]).output()?;
        if !output.status.success() {
            return Ok(None);
        }
        let (mut programs, mut fairlab) = (Vec::new(), None);
        for message in messages(&output.stdout) {
            let Some(executable) = message["executable"].as_str().map(PathBuf::from) else { continue };
            let manifest = Path::new(message["manifest_path"].as_str().unwrap_or_default());
            let directory = manifest.parent().context("a package has a directory")?.to_owned();
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            let name = text(&message["target"]["kind"][0]) + " " + &text(&message["target"]["name"]);
            if message["profile"]["test"] == true {
                if by == TestedBy::Audit {
                    continue;
                }
                let args = vec!["--quiet".to_owned(), "--exact".to_owned()];
                programs.push(TestProgram::new(name, executable, args, directory));
            } else if message["target"]["name"] == PACKAGES[1].0 {
                fairlab = Some(executable);
            }
        }
        let key = |program: &TestProgram| (!program.directory.ends_with(PACKAGES[0].1), program.name.contains("test"));
        programs.sort_by_key(|program| (key(program), program.name.clone()));
        if by != TestedBy::Tests {
            let fairlab = fairlab.context("the program was not built")?;
            let audit = fail_fast_audit(&tree.root, &tree.build, &fairlab, random)?;
            let args = audit.get_args().map(|arg| arg.to_string_lossy().into_owned()).collect();
            programs.push(TestProgram::new("audit".to_owned(), audit.get_program().into(), args, tree.root.clone()));
        }
        Ok(Some(Self(programs)))
    }

    /// Runs all tests without a mutant, and records the mutants that each one reaches.
    pub(super) fn record_reached(&mut self, directory: &Path) -> Result<()> {
        for program in &mut self.0 {
            program.record_reached(directory).with_context(|| program.name.clone())?;
        }
        Ok(())
    }

    /// Returns the name of the first test program that fails with a mutant, or with the build as it is.
    pub(super) fn first_failure(&self, id: Option<usize>) -> Result<Option<String>> {
        for program in &self.0 {
            if !program.succeeds(id).with_context(|| program.name.clone())? {
                return Ok(Some(program.name.clone()));
            }
        }
        Ok(None)
    }
}

impl TestProgram {
    fn new(name: String, executable: PathBuf, args: Vec<String>, directory: PathBuf) -> Self {
        Self { name, executable, args, directory, tests: Vec::new() }
    }

    fn is_harness(&self) -> bool {
        self.name != "audit"
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.executable);
        command.args(&self.args).current_dir(&self.directory).env("CARGO_MANIFEST_DIR", &self.directory);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    fn record_reached(&mut self, directory: &Path) -> Result<()> {
        if self.is_harness() {
            let ignored = self.test_names(&["--ignored"])?;
            let names = Mutex::new(self.test_names(&[])?);
            names.lock().expect("no thread panics").retain(|name| !ignored.contains(name));
            let tests = Mutex::new(Vec::new());
            let work = |index: usize| -> Result<()> {
                let path = directory.join(format!("reached-{index}"));
                loop {
                    let Some(name) = names.lock().expect("no thread panics").pop_first() else { return Ok(()) };
                    let reached = reached_by(self.command().arg(&name), &path).with_context(|| name.clone())?;
                    tests.lock().expect("no thread panics").push((name, reached));
                }
            };
            let work = &work;
            let nr_threads = std::thread::available_parallelism()?.get();
            std::thread::scope(|scope| {
                let threads: Vec<_> = (0..nr_threads).map(|index| scope.spawn(move || work(index))).collect();
                threads.into_iter().try_for_each(|thread| thread.join().expect("no thread panics"))
            })?;
            self.tests = tests.into_inner().expect("no thread panics");
            self.tests.sort();
        } else {
            self.tests = runs_with_reached(self.command(), directory)?;
        }
        Ok(())
    }

    /// Returns the names of the tests of a harness.
    fn test_names(&self, args: &[&str]) -> Result<BTreeSet<String>> {
        let output = Command::new(&self.executable).args(["--list", "--format", "terse"]).args(args).output()?;
        let names = String::from_utf8(output.stdout)?;
        Ok(names.lines().filter_map(|line| line.strip_suffix(": test")).map(str::to_owned).collect())
    }

    /// Whether the program succeeds with a mutant, or with the build as it is.
    fn succeeds(&self, id: Option<usize>) -> Result<bool> {
        let mut command = self.command();
        if let Some(id) = id {
            command.env("FAIRLAB_MUTANT", id.to_string());
            let reaching: Vec<_> = self.tests.iter().filter(|(_, reached)| reached.contains(&id)).collect();
            if reaching.is_empty() {
                return Ok(true);
            }
            if !self.is_harness() {
                command.arg("--only");
            }
            let most = if self.is_harness() { reaching.len() } else { MAX_RUNS };
            command.args(reaching.iter().take(most).map(|(name, _)| name));
        }
        let (mut child, start) = (command.spawn()?, Instant::now());
        loop {
            if let Some(status) = child.try_wait()? {
                return Ok(status.success());
            }
            if start.elapsed() > MAX_TIME {
                child.kill()?;
                child.wait()?;
                return Ok(false);
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// Runs a command that must succeed, and returns the numbers of the mutants that it reaches.
fn reached_by(command: &mut Command, path: &Path) -> Result<BTreeSet<usize>> {
    let _ = fs::remove_file(path);
    ensure!(command.env("FAIRLAB_REACHED", path).status()?.success(), "fails without a mutant");
    let text = fs::read_to_string(path).unwrap_or_default();
    Ok(text.lines().filter_map(|line| line.parse().ok()).collect())
}

/// Runs the audit, which must succeed, and returns its runs with the numbers of the mutants that each one reaches.
fn runs_with_reached(mut command: Command, directory: &Path) -> Result<Vec<(String, BTreeSet<usize>)>> {
    let path = directory.join("audit.jsonl");
    let _ = fs::remove_file(&path);
    command.arg("--results").arg(&path).env("FAIRLAB_REACHED", "of each run");
    ensure!(command.status()?.success(), "fails without a mutant");
    let mut runs = Vec::new();
    let mut nr_of_kind: BTreeMap<String, u32> = BTreeMap::new();
    for line in fs::read_to_string(&path)?.lines() {
        let row: Value = serde_json::from_str(line)?;
        let name = row["name"].as_str().context("a run has a name")?.to_owned();
        let reached = row["reached"].as_array().context("a run has reached mutants")?;
        let reached = reached.iter().filter_map(|id| usize::try_from(id.as_u64()?).ok()).collect();
        // The first runs with each kind of claim and each rule of findings go first.
        let kinds = ["claims", "rules"].iter().filter_map(|key| row[*key].as_object()).flat_map(|kinds| kinds.keys());
        let rank = kinds.map(|kind| *nr_of_kind.entry(kind.clone()).and_modify(|nr| *nr += 1).or_insert(1)).min();
        runs.push((rank.unwrap_or(u32::MAX), name, reached));
    }
    runs.sort_by_key(|&(rank, ..)| rank);
    Ok(runs.into_iter().map(|(_, name, reached)| (name, reached)).collect())
}
