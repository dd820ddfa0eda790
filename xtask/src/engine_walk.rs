// SPDX-License-Identifier: GPL-2.0-or-later
//! Checks that engines are those of the requested contents, whatever was built before.
//!
//! A repository with twelve commits (comments, a typo, reverts, headers, a removed file, a branch with older
//! dates) is walked forwards, backwards and at random through `kernel add`, `patch` and `kernel bisect`, in one
//! store, with interruptions at random moments. Each object that a command leaves must be, byte for byte, the
//! one that an empty store in a different folder builds of that commit under a different name, and so must be
//! the digest of its run.

use crate::programs::{build_program, target};
use crate::random::DrawRng;
use crate::requirement::skip_or_fail;
use anyhow::{Context, Result, bail, ensure};
use clap::Args as ClapArgs;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

#[derive(ClapArgs)]
pub(crate) struct EngineWalkArgs {
    /// Source of the tree, as `fairlab kernel add` takes it. The edits fit Linux 6.12.
    #[arg(long, default_value = "debian:6.12")]
    source: String,
    /// Number of random steps after the walks forwards and backwards.
    #[arg(long, default_value_t = 24)]
    steps: usize,
    /// Seed of the random steps.
    #[arg(long, default_value = "1")]
    seed: String,
}

/// Change of a file of the tree.
enum Edit {
    Replace(&'static str, &'static str, &'static str),
    Write(&'static str, &'static str),
    Rename(&'static str, &'static str),
}
use Edit::{Rename, Replace, Write};

/// Commit of the walk. Its contents are those of its parent, changed.
struct WalkCommit {
    subject: &'static str,
    /// Number of the commit before it; the next commits of a branch follow each other.
    parent: usize,
    /// Commit whose changes are merged.
    merged: Option<usize>,
    date: &'static str,
    edits: &'static [Edit],
    compiles: bool,
}

const FAIR: &str = "kernel/sched/fair.c";
const LATE: &str = "2026-01-01T00:00:00Z";
const EARLY: &str = "2001-01-01T00:00:00Z";
const SLICE: &str = "normalized_sysctl_sched_base_slice\t= 700000ULL";
const LONG_SLICE: &str = "normalized_sysctl_sched_base_slice\t= 5600000ULL";
const fn on_main(subject: &'static str, parent: usize, edits: &'static [Edit]) -> WalkCommit {
    WalkCommit { subject, parent, merged: None, date: LATE, edits, compiles: true }
}

const COMMITS: &[WalkCommit] = &[
    on_main("base", 0, &[]),
    on_main("a comment", 0, &[Replace(FAIR, SLICE, "normalized_sysctl_sched_base_slice\t= /* ns */ 700000ULL")]),
    on_main("longer slices", 0, &[Replace(FAIR, SLICE, LONG_SLICE)]),
    WalkCommit {
        compiles: false,
        ..on_main("a typo", 2, &[Replace(FAIR, LONG_SLICE, "normalized_sysctl_sched_base_slice = 56O0")])
    },
    on_main("the typo corrected", 3, &[Replace(FAIR, "normalized_sysctl_sched_base_slice = 56O0", LONG_SLICE)]),
    on_main("a header", 4, &[Replace("kernel/sched/features.h", "RUN_TO_PARITY, true", "RUN_TO_PARITY, false")]),
    on_main(
        "a removed file",
        5,
        &[
            Rename("kernel/sched/stop_task.c", "kernel/sched/stop_class.c"),
            Replace("kernel/sched/build_utility.c", "\"stop_task.c\"", "\"stop_class.c\""),
        ],
    ),
    on_main(
        "an added header",
        6,
        &[
            Write("kernel/sched/added.h", "#define ADDED_SLICE 2800000ULL\n"),
            Replace(FAIR, LONG_SLICE, "normalized_sysctl_sched_base_slice = ADDED_SLICE"),
            Replace(FAIR, "#include \"stats.h\"", "#include \"stats.h\"\n#include \"added.h\""),
        ],
    ),
    WalkCommit {
        date: EARLY,
        ..on_main("a revert", 7, &[Replace(FAIR, "normalized_sysctl_sched_base_slice = ADDED_SLICE", SLICE)])
    },
    on_main("a release", 8, &[Replace("Makefile", "EXTRAVERSION =", "EXTRAVERSION = -walk")]),
    WalkCommit {
        date: EARLY,
        ..on_main(
            "a branch",
            1,
            &[Replace(FAIR, "sched_migration_cost\t= 500000UL", "sched_migration_cost\t= 50000UL")],
        )
    },
    WalkCommit { merged: Some(10), ..on_main("a merge", 9, &[]) },
];

/// Run whose digest is compared.
const RUN: [&str; 4] = ["--json", "run", "scenarios/group-shares.scn", "--engine"];

/// Folders of the walk and what it has found out.
struct Walk {
    root: PathBuf,
    program: PathBuf,
    folder: PathBuf,
    /// Hashes of the commits.
    commits: Vec<String>,
    /// Object and digest of each commit that an empty store has built.
    clean: BTreeMap<usize, (Vec<u8>, Value)>,
    nr_compared: usize,
    longest_end: Duration,
}

pub(crate) fn run(root: &Path, args: &EngineWalkArgs) -> Result<()> {
    if args.source.starts_with("debian:") && !Path::new("/usr/src/linux-source-6.12.tar.xz").is_file() {
        return skip_or_fail(true, "linux-source-6.12", &format!("{} is not installed", args.source));
    }
    let folder = target(root).join("engine-walk");
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    let program = build_program(root)?;
    let mut walk = Walk {
        root: root.to_owned(),
        program,
        folder,
        commits: Vec::new(),
        clean: BTreeMap::new(),
        nr_compared: 0,
        longest_end: Duration::ZERO,
    };
    walk.make_repository(&args.source)?;
    for nr in 0..COMMITS.len() {
        walk.add(nr)?;
    }
    println!("forwards: {} objects equal", walk.nr_compared);
    for nr in (1..COMMITS.len()).rev() {
        walk.patch(nr - 1, nr)?;
    }
    walk.bisect()?;
    println!("backwards: {} objects equal", walk.nr_compared);
    let mut rng = DrawRng::new(std::slice::from_ref(&args.seed));
    let mut nr_interrupted = 0;
    for step in 1..=args.steps {
        let (one, other) = (rng.below(COMMITS.len()), rng.below(COMMITS.len()));
        let mut what = String::new();
        if rng.below(2) == 0 {
            let signal = if rng.below(2) == 0 { "INT" } else { "KILL" };
            let after = Duration::from_millis(rng.below(9000) as u64);
            walk.interrupt(one, other, after, signal)?;
            what = format!("SIG{signal} after {} ms, then ", after.as_millis());
            nr_interrupted += 1;
        }
        let (command, subjects) = match rng.below(5) {
            0 | 1 => ("kernel add", walk.add(one).map(|()| COMMITS[one].subject.to_owned())?),
            2 | 3 => {
                walk.patch(one, other)?;
                ("patch", format!("{} and {}", COMMITS[one].subject, COMMITS[other].subject))
            }
            _ => ("kernel bisect", walk.bisect().map(|()| "longer slices".to_owned())?),
        };
        println!("step {step}: {what}{command}: {subjects}");
    }
    println!(
        "at random: {} objects equal, {nr_interrupted} commands interrupted, the slowest end took {} ms",
        walk.nr_compared,
        walk.longest_end.as_millis()
    );
    Ok(())
}

impl Walk {
    fn tree(&self) -> PathBuf {
        self.folder.join("tree")
    }

    fn store(&self) -> PathBuf {
        self.folder.join("store")
    }

    /// Makes the repository of the walk from the part of the source that engines need.
    fn make_repository(&mut self, source: &str) -> Result<()> {
        let added = self.fairlab(&self.store(), &["--json", "kernel", "add", "walk", "--source", source])?;
        let extracted = fs::read_dir(self.store().join("trees"))?.next().context("a tree was extracted")??.path();
        ensure!(added.status.success(), "{}", text(&added));
        fs::rename(extracted, self.tree())?;
        self.git(&["init", "--quiet", "--initial-branch=main", "."], LATE)?;
        for (nr, WalkCommit { subject, parent, merged, date, edits, .. }) in COMMITS.iter().enumerate() {
            if nr > 0 {
                self.git(&["checkout", "--quiet", &self.commits[*parent]], date)?;
            }
            if let Some(merged) = merged {
                self.git(&["merge", "--quiet", "--no-ff", "-m", subject, &self.commits[*merged]], date)?;
            } else {
                for edit in *edits {
                    self.apply(edit)?;
                }
                self.git(&["add", "--all", "--force", "."], date)?;
                self.git(&["commit", "--quiet", "--allow-empty", "-m", subject], date)?;
            }
            let commit = self.git(&["rev-parse", "HEAD"], date)?;
            self.commits.push(commit);
        }
        Ok(())
    }

    fn apply(&self, edit: &Edit) -> Result<()> {
        match edit {
            Replace(file, from, to) => {
                let path = self.tree().join(file);
                let text = fs::read_to_string(&path)?;
                ensure!(text.contains(from), "{file}: there is no {from:?}");
                fs::write(&path, text.replacen(from, to, 1))?;
            }
            Write(file, text) => fs::write(self.tree().join(file), text)?,
            Rename(from, to) => fs::rename(self.tree().join(from), self.tree().join(to))?,
        }
        Ok(())
    }

    fn git(&self, words: &[&str], date: &str) -> Result<String> {
        let mut git = Command::new("git");
        git.arg("-C").arg(self.tree()).args(["-c", "user.name=walk", "-c", "user.email=walk@localhost"]).args(words);
        let run = git.env("GIT_AUTHOR_DATE", date).env("GIT_COMMITTER_DATE", date).output().context("git")?;
        ensure!(run.status.success(), "git {words:?}: {}", text(&run));
        Ok(String::from_utf8_lossy(&run.stdout).trim().to_owned())
    }

    fn command(&self, store: &Path, words: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.args(words).env("FAIRLAB_KERNELS", store).current_dir(&self.root);
        command
    }

    fn fairlab(&self, store: &Path, words: &[&str]) -> Result<Output> {
        Ok(self.command(store, words).output()?)
    }

    /// Removes all objects, so that the next command builds, and leaves the build folders.
    fn forget_objects(&self) -> Result<()> {
        let objects = self.store().join("objects");
        if objects.exists() { fs::remove_dir_all(&objects).context("objects") } else { Ok(()) }
    }

    /// Adds a commit from a working tree, where it must fail if the commit does not compile.
    fn add(&mut self, nr: usize) -> Result<()> {
        self.forget_objects()?;
        self.git(&["checkout", "--quiet", "--force", &self.commits[nr]], LATE)?;
        let tree = self.tree().display().to_string();
        let added = self.fairlab(&self.store(), &["--json", "kernel", "add", "walk", "--source", &tree])?;
        ensure!(added.status.success() == COMMITS[nr].compiles, "{}: {}", COMMITS[nr].subject, text(&added));
        if COMMITS[nr].compiles {
            let entry: Value = serde_json::from_slice(&added.stdout)?;
            self.compare(nr, &entry)?;
        }
        Ok(())
    }

    /// Words of `fairlab patch` for two commits.
    fn patch_words(&self, from: usize, to: usize) -> [String; 3] {
        ["patch".to_owned(), self.tree().display().to_string(), format!("{}..{}", self.commits[from], self.commits[to])]
    }

    fn patch(&mut self, from: usize, to: usize) -> Result<()> {
        self.forget_objects()?;
        let words = self.patch_words(from, to);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let options = ["--json", "--only", "uniprocessor", "--runs", "1", "--no-coverage", "--differences", "0"];
        let run = self.fairlab(&self.store(), &[&words, &options[..]].concat())?;
        let compile = COMMITS[from].compiles && COMMITS[to].compiles;
        ensure!((run.status.code() != Some(2)) == compile, "{words:?}: {}", text(&run));
        if compile {
            let report: Value = serde_json::from_slice(&run.stdout).with_context(|| text(&run))?;
            self.compare(from, &report["kernels"][0])?;
            self.compare(to, &report["kernels"][1])?;
        }
        Ok(())
    }

    /// Finds the commit with longer slices, between which and the last one is a commit that does not compile.
    fn bisect(&mut self) -> Result<()> {
        self.forget_objects()?;
        let switches = |walk: &mut Self, nr| -> Result<u64> {
            let summary = walk.run_digest(&walk.clean_store(nr), &format!("clean-{nr}"))?;
            summary["totals"]["switches"].as_u64().context("switches")
        };
        self.build_clean(0)?;
        self.build_clean(2)?;
        let limit = (switches(self, 0)? + switches(self, 2)?) / 2;
        let (tree, expect) = (self.tree().display().to_string(), format!("totals.switches > {limit}"));
        let words = [
            "--json",
            "kernel",
            "bisect",
            &tree,
            &self.commits[0],
            &self.commits[4],
            "--file",
            RUN[2],
            "--expect",
            &expect,
        ];
        let run = self.fairlab(&self.store(), &words)?;
        ensure!(run.status.success(), "{}", text(&run));
        let report: Value = serde_json::from_slice(&run.stdout)?;
        ensure!(report["first_bad"] == self.commits[2].as_str(), "{report:#}");
        let listed = self.fairlab(&self.store(), &["--json", "kernel", "list", "--all"])?;
        let listed: Value = serde_json::from_slice(&listed.stdout)?;
        for entry in listed.as_array().context("a list")? {
            let is_pinned = entry["name"].as_str().is_some_and(|name| name.starts_with("bisect-"));
            let source = entry["source"].as_str().unwrap_or_default();
            let nr = self.commits.iter().position(|commit| source.ends_with(commit.as_str()));
            let is_there = self.object(&self.store(), entry).is_file();
            if let (true, true, Some(nr)) = (is_pinned, is_there, nr) {
                self.compare(nr, &entry.clone())?;
            }
        }
        Ok(())
    }

    /// Ends a command of the store after some time.
    fn interrupt(&mut self, from: usize, to: usize, after: Duration, signal: &str) -> Result<()> {
        self.forget_objects()?;
        let words = self.patch_words(from, to);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let mut command = self.command(&self.store(), &words);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        std::thread::sleep(after);
        let sent = Command::new("kill").args(["-s", signal, &child.id().to_string()]).status()?;
        let begun = Instant::now();
        let status = child.wait()?;
        if sent.success() && signal == "INT" && status.code() == Some(130) {
            self.longest_end = self.longest_end.max(begun.elapsed());
        }
        Ok(())
    }

    fn clean_store(&self, nr: usize) -> PathBuf {
        self.folder.join(format!("clean/store-of-commit-{nr}"))
    }

    /// Builds a commit in an empty store, from a folder of its own.
    fn build_clean(&mut self, nr: usize) -> Result<()> {
        if self.clean.contains_key(&nr) {
            return Ok(());
        }
        let folder = self.folder.join(format!("clean/tree-{nr}"));
        fs::create_dir_all(&folder)?;
        let (tree, commit) = (self.tree(), &self.commits[nr]);
        let archive = format!("git -C {} archive {commit} | tar -x -C {}", tree.display(), folder.display());
        ensure!(Command::new("sh").args(["-c", &archive]).status()?.success(), "{archive}");
        let name = format!("clean-{nr}");
        let source = folder.display().to_string();
        let added = self.fairlab(&self.clean_store(nr), &["--json", "kernel", "add", &name, "--source", &source])?;
        ensure!(added.status.success(), "{}", text(&added));
        let entry: Value = serde_json::from_slice(&added.stdout)?;
        let object = fs::read(self.object(&self.clean_store(nr), &entry))?;
        let digest = self.run_digest(&self.clean_store(nr), &name)?["digest"].clone();
        self.clean.insert(nr, (object, digest));
        Ok(())
    }

    fn object(&self, store: &Path, entry: &Value) -> PathBuf {
        store.join("objects").join(entry["key"].as_str().unwrap_or_default()).join("engine.so")
    }

    fn run_digest(&self, store: &Path, name: &str) -> Result<Value> {
        let run = self.fairlab(store, &[&RUN[..], &[&format!("kernel:{name}")]].concat())?;
        ensure!(run.status.success(), "{}", text(&run));
        Ok(serde_json::from_slice(&run.stdout)?)
    }

    /// Compares an engine of the store with that of an empty one.
    fn compare(&mut self, nr: usize, entry: &Value) -> Result<()> {
        self.build_clean(nr)?;
        let (object, digest) = &self.clean[&nr];
        let path = self.object(&self.store(), entry);
        let name = entry["name"].as_str().context("a name")?;
        if fs::read(&path)? != *object {
            bail!("{}: {} is not the object of an empty store", COMMITS[nr].subject, path.display());
        }
        let own = self.run_digest(&self.store(), name)?["digest"].clone();
        ensure!(own == *digest, "{}: the digest is {own}, not {digest}", COMMITS[nr].subject);
        self.nr_compared += 1;
        Ok(())
    }
}

fn text(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stderr), String::from_utf8_lossy(&output.stdout))
}
