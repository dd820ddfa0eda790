// SPDX-License-Identifier: GPL-2.0-or-later
//! Executes the `fairlab` commands of README and the book.
//!
//! Rules for a page:
//!
//! 1. A code block after `<!-- file: NAME -->` is written to the file NAME.
//! 2. In a `console` block of `guides/` or `start/`, a shell runs each line `$ fairlab ...`. The lines up to the next command
//!    are its standard output.
//! 3. In other blocks of the kinds `console` and `sh`, commands of fairlab must succeed. Their output is not compared.
//! 4. A block after `<!-- output: COMMAND -->` is the standard output of COMMAND.
//! 5. All commands of a page share one temporary directory, which also has `scenarios`, `machines` and `lessons`. [`INPUTS`] creates
//!    further files.
//! 6. Commands in [`NOT_EXECUTED`] are skipped. Those in [`LONG`] are executed by the extended tests, with smaller budgets:
//!    `cargo test -p fairlab --release --test it tutorials -- --ignored`.
//!
//! `FAIRLAB_BLESS=1 cargo test -p fairlab --test it tutorials` writes the current output into the pages.

use crate::common::{files, root};
use std::fs;
use std::path::Path;
use std::process::Command;

/// Directories of the book's pages.
const BOOK: [&str; 5] = ["start", "guides", "concepts", "reference", "validation"];

/// Directories of pages whose `console` blocks are compared with the output of their commands.
const COMPARED: [&str; 2] = ["docs/book/src/guides", "docs/book/src/start"];

/// Fewest commands that are executed. A lower number means that pages have moved, or that their blocks are not recognised.
const MIN_COMMANDS: usize = 75;
/// Fewest commands that the extended tests execute.
const MIN_LONG_COMMANDS: usize = 90;

/// Parts of commands that are not executed, each with the reason.
const NOT_EXECUTED: &[(&str, &str)] = &[
    ("machine capture", "its result depends on the machine at hand"),
    ("machine calibrate", "it takes a minute, and its result depends on the machine at hand"),
    ("machine validate --prices", "it takes a minute, and its result depends on the machine at hand"),
    ("validate --machine mine.toml", "it needs the file of a measurement"),
    ("kernel bisect", "it needs Linux's git history"),
    ("SIS_PACK", "a feature that the guide adds to the sources"),
    ("run FILE", "a placeholder"),
    ("fairlab lab  ", "it needs the page, which cargo builds for WebAssembly"),
    ("fairlab lab app", "it needs the page"),
    ("fairlab lab scenarios", "it needs the page"),
];

/// Parts of commands that take more than 10 s, and what replaces the part in the extended tests.
const LONG: &[(&str, &str)] = &[
    ("fuzz --from kernel=6.1 --to kernel=5.4 --by 30 --budget 5m", "fuzz --from kernel=6.1 --to kernel=5.4 --cases 2"),
    ("study run pelt-time-scaling --quick", "study run pelt-time-scaling --quick"),
    ("study run wakelist-idle --seeds 20 --perturb 1", "study run wakelist-idle --quick --perturb 1"),
    ("study run sis-util --table netperf --seeds 5", "study run sis-util --table netperf --quick"),
    ("study sensitivity wakelist-idle --quick", "study sensitivity wakelist-idle --quick --seeds 1"),
    (
        "study sensitivity newidle-migration-cost --seeds 8",
        "study sensitivity newidle-migration-cost --quick --seeds 1",
    ),
    ("kernel add ", "kernel add "),
    ("kernel list", "kernel list"),
    ("--engine kernel:", "--engine kernel:"),
    ("engine=kernel:base' --arm", "engine=kernel:base' --arm"),
    ("fairlab patch ~/linux", "fairlab patch --runs 1 --only laptop ~/linux"),
    ("patch kernel:base kernel:fix --only epyc", "patch kernel:base kernel:fix --runs 1 --only epyc"),
    ("kernel regressions slices-expire --alone", "kernel regressions slices-expire --alone"),
    ("kernel regressions --source debian:6.12", "kernel regressions protected-idle-task --source debian:6.12"),
    ("kernel regressions ", "kernel regressions slices-expire "),
];

/// Shell commands that create the inputs of a command with this part.
const INPUTS: &[(&str, &str)] = &[
    ("replay trace.dat --as-recorded  ", "fairlab run scenarios/hello.json --export trace-dat=trace.dat"),
    ("replay trace.dat --machine mine.toml", "fairlab machine show hikey960 --toml > mine.toml"),
    ("compare mine.rec", "fairlab import trace.dat --machine mine.toml -o mine.rec"),
    ("sweep merge -o all.sweep", "fairlab sweep plan.toml --shard 1/8 --store 1.sweep"),
    ("sweep merge --salvage", "cp 1.sweep damaged.sweep"),
    ("kernel add base", LINUX),
    ("patch ~/linux", LINUX),
];

/// Creates `~/linux` from Debian's package, in git with two commits, and `fix.diff` with a further change.
const LINUX: &str = r"
set -e
[ -d ~/linux ] && exit
mkdir ~/linux
cd ~/linux
tar xf /usr/src/linux-source-6.1.tar.xz --strip-components=1 --wildcards \
    '*/include' '*/scripts' '*/kernel' '*/lib' '*/init' '*/io_uring' '*/Makefile' '*/Kbuild' '*/Kconfig*'
git init -q
git add -A
git -c user.name=test -c user.email=test@localhost commit -qm base
sed -i '/sysctl_sched_migration_cost.*500000UL;/s/500000/400000/' kernel/sched/fair.c
git -c user.name=test -c user.email=test@localhost commit -qam change
sed -i '/sysctl_sched_migration_cost.*400000UL;/s/400000/300000/' kernel/sched/fair.c
git diff > ../fix.diff
git checkout -q -- kernel/sched/fair.c
";

/// Commands of a page that are executed.
#[derive(Clone, Copy, PartialEq)]
enum PageBudget {
    /// All but long ones.
    Short,
    /// All; long ones with their replacement.
    Extended,
}

/// Executes the commands of one page in a directory of its own.
struct Player {
    directory: tempfile::TempDir,
    budget: PageBudget,
    /// Whether output of `console` blocks is compared.
    is_compared: bool,
    nr_commands: usize,
}

impl Player {
    fn new(name: &str, budget: PageBudget) -> Self {
        let directory = tempfile::tempdir().expect("there is room for temporary files");
        for name in ["scenarios", "machines", "lessons"] {
            std::os::unix::fs::symlink(root().join(name), directory.path().join(name)).expect("a link");
        }
        Self { directory, budget, is_compared: COMPARED.iter().any(|part| name.starts_with(part)), nr_commands: 0 }
    }

    /// Runs a shell command, with `fairlab` in the path, and returns its standard output.
    ///
    /// Panics if the command fails or prints an error.
    fn shell(&self, command: &str) -> String {
        let program = Path::new(env!("CARGO_BIN_EXE_fairlab")).parent().expect("a program lies in a directory");
        let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap_or_default());
        let mut shell = Command::new("sh");
        shell.args(["-c", command]).current_dir(self.directory.path()).env("PATH", path).env("NO_COLOR", "1");
        shell.env("FAIRLAB_KERNELS", concat!(env!("CARGO_TARGET_TMPDIR"), "/kernels-of-pages"));
        if self.budget == PageBudget::Extended {
            shell.env("HOME", self.directory.path());
        }
        let output = shell.output().expect("there is a shell");
        let complaint = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && !complaint.contains("error:"), "{command}: {complaint}");
        String::from_utf8(output.stdout).expect("output is text")
    }

    /// Executes a command and returns its output, or nothing if the command is skipped.
    fn execute(&mut self, command: &str) -> Option<String> {
        if NOT_EXECUTED.iter().any(|(part, _)| command.contains(part)) {
            return None;
        }
        let long = LONG.iter().find(|(part, _)| command.contains(part));
        if long.is_some() && self.budget == PageBudget::Short {
            return None;
        }
        self.nr_commands += 1;
        for (_, inputs) in INPUTS.iter().filter(|(part, _)| command.contains(part)) {
            self.shell(inputs);
        }
        Some(match long {
            Some((part, replacement)) => self.shell(&command.replacen(part, replacement, 1)),
            None => self.shell(command),
        })
    }

    /// Returns the page with the current output of its commands.
    fn play(&mut self, page: &str) -> String {
        let mut text = String::new();
        let (mut file, mut producer) = (None, None);
        let mut lines = page.lines();
        while let Some(line) = lines.next() {
            text.push_str(line);
            text.push('\n');
            let comment = |kind: &str| Some(line.strip_prefix(kind)?.strip_suffix(" -->")?.to_owned());
            file = comment("<!-- file: ").or(file);
            producer = comment("<!-- output: ").or(producer);
            if !line.starts_with("```") || line == "```" {
                continue;
            }
            let body: String = lines.by_ref().take_while(|line| *line != "```").flat_map(|line| [line, "\n"]).collect();
            if let Some(name) = file.take() {
                fs::write(self.directory.path().join(name), &body).expect("the file can be written");
                text.push_str(&body);
            } else if let Some(command) = producer.take() {
                text.push_str(&self.execute(&command).unwrap_or(body));
            } else if line == "```console" && self.is_compared {
                text.push_str(&self.play_console(&body));
            } else {
                if line == "```console" || line == "```sh" {
                    self.run_all(&body);
                }
                text.push_str(&body);
            }
            text.push_str("```\n");
        }
        text
    }

    fn play_console(&mut self, body: &str) -> String {
        let mut text = String::new();
        let mut is_replaced = false;
        for line in body.lines() {
            if let Some(command) = line.strip_prefix("$ ") {
                let output = command.starts_with("fairlab ").then(|| self.execute(command)).flatten();
                is_replaced = output.is_some();
                text.push_str(&format!("{line}\n{}", output.unwrap_or_default()));
            } else if !is_replaced {
                text.push_str(&format!("{line}\n"));
            }
        }
        text
    }

    /// Executes the commands of a block, each of which may extend over several lines.
    fn run_all(&mut self, body: &str) {
        for line in body.replace("\\\n", " ").lines() {
            let line = line.strip_prefix("$ ").unwrap_or(line);
            let line = line.replacen("cargo run --release -- ", "fairlab ", 1);
            if line.starts_with("fairlab ") {
                self.execute(&line);
            }
        }
    }
}

/// Plays all pages, compares them with their current output, and returns the number of executed commands.
fn play_all(budget: PageBudget) -> usize {
    let mut nr_commands = 0;
    let pages = BOOK.iter().flat_map(|part| files(&format!("docs/book/src/{part}"), &[".md"]));
    for name in std::iter::once("README.md".to_owned()).chain(pages) {
        let path = root().join(&name);
        let page = fs::read_to_string(&path).expect("the page can be read");
        let mut player = Player::new(&name, budget);
        let current = player.play(&page);
        nr_commands += player.nr_commands;
        if std::env::var_os("FAIRLAB_BLESS").is_some() {
            fs::write(path, current).expect("the page can be written");
        } else {
            assert_eq!(page.trim_end(), current.trim_end(), "{name}: FAIRLAB_BLESS=1 writes the current output");
        }
    }
    nr_commands
}

#[test]
fn pages_show_the_output_of_their_commands() {
    let nr_commands = play_all(PageBudget::Short);
    assert!(nr_commands >= MIN_COMMANDS, "only {nr_commands} commands of README and book were executed");
}

#[test]
#[ignore = "takes minutes and needs Debian's linux-source-6.1; part of `cargo xtask extended`"]
fn long_commands_of_pages_succeed_with_small_budgets() {
    let nr_commands = play_all(PageBudget::Extended);
    assert!(nr_commands >= MIN_LONG_COMMANDS, "only {nr_commands} commands of README and book were executed");
}
