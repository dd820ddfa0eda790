// SPDX-License-Identifier: GPL-2.0-or-later
//! Audit of reported numbers: `xtask/audit` recomputes every metric from event logs, in Python, without code of
//! fairlab.

use crate::programs;
use crate::requirement::skip_or_fail;
use anyhow::{Context, Result, bail};
use clap::Args as ClapArgs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Number of random runs in CI.
pub(crate) const RANDOM_IN_CI: u32 = 60;
/// Number of random chains of tasks in CI.
const CHAINS_IN_CI: u32 = 200;
/// Programs that read exported traces back.
const WITNESSES: [&str; 2] = ["perf", "trace-cmd"];
const NO_PYTHON: &str = "the audit needs Python 3.9 with venv, and the package polars";

#[derive(ClapArgs)]
pub(crate) struct AuditArgs {
    /// Number of random runs beside the fixed ones
    #[arg(long, default_value_t = 2000)]
    random: u32,
    /// Number of random chains of tasks whose responses are recomputed
    #[arg(long, default_value_t = 10_000)]
    chains: u32,
    /// Seed of the first random run
    #[arg(long, default_value_t = 1)]
    first: u32,
    /// File of the results; runs that it contains are not repeated [default: target/audit/results.jsonl]
    #[arg(long)]
    results: Option<PathBuf>,
    /// Number of runs at a time [default: number of CPUs]
    #[arg(long)]
    jobs: Option<u32>,
    /// Program to audit [default: the release build]
    #[arg(long)]
    program: Option<PathBuf>,
    /// Print the files and the command of a random run instead
    #[arg(long, value_name = "SEED")]
    print_case: Option<u32>,
    /// Audit few runs, keep no results, and report a missing Python as SKIPPED
    #[arg(long)]
    ci: bool,
}

/// Runs the audit. Fails at a difference.
pub(crate) fn run(root: &Path, args: &AuditArgs) -> Result<()> {
    let directory = programs::target(root).join("audit");
    std::fs::create_dir_all(&directory).with_context(|| directory.display().to_string())?;
    let Some(python) = find_python(&directory)? else {
        return skip_or_fail(args.ci, "python3", NO_PYTHON);
    };
    let is_installed = |name: &&str| {
        let mut command = Command::new(name);
        command.arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok()
    };
    if args.ci && !WITNESSES.iter().all(is_installed) {
        skip_or_fail(true, "witnesses", "perf and trace-cmd are needed to read exported traces back")?;
    }
    let program =
        args.program.clone().map_or_else(|| programs::build_program(root), |it| Ok(std::path::absolute(it)?))?;
    let random = if args.ci { RANDOM_IN_CI } else { args.random };
    let chains = if args.ci { CHAINS_IN_CI } else { args.chains };
    let mut command = command(&python, root, &program, random);
    command.args(["--chains", &chains.to_string()]);
    if let Some(jobs) = args.jobs {
        command.args(["--jobs", &jobs.to_string()]);
    }
    command.args(["--first", &args.first.to_string()]);
    if let Some(seed) = args.print_case {
        command.args(["--print-case", &seed.to_string()]);
    }
    if !args.ci {
        command.arg("--results").arg(args.results.clone().unwrap_or_else(|| directory.join("results.jsonl")));
    }
    let status = command.status().context("the audit cannot be started")?;
    if !status.success() {
        bail!("the audit failed");
    }
    Ok(())
}

/// Returns the command of an audit of a program, which ends at the first difference.
pub(crate) fn fail_fast_audit(root: &Path, directory: &Path, program: &Path, random: u32) -> Result<Command> {
    let python = find_python(directory)?.context(NO_PYTHON)?;
    let mut command = command(&python, root, program, random);
    command.arg("--fail-fast");
    Ok(command)
}

fn command(python: &Path, root: &Path, program: &Path, random: u32) -> Command {
    let mut command = Command::new(python);
    command.arg(root.join("xtask/audit/audit.py")).arg("--program").arg(program).arg("--root").arg(root);
    command.args(["--fixed", "--random", &random.to_string()]).current_dir(root);
    command
}

/// Returns a Python that has polars: that of the system, or of an environment that is created. `None` if there is
/// none.
fn find_python(directory: &Path) -> Result<Option<PathBuf>> {
    let system = PathBuf::from("python3");
    if has_polars(&system) {
        return Ok(Some(system));
    }
    let environment = directory.join("venv");
    let own = environment.join("bin/python");
    if has_polars(&own) {
        return Ok(Some(own));
    }
    let quietly = |command: &mut Command| {
        let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
        status.is_ok_and(|status| status.success())
    };
    let is_made = quietly(Command::new(&system).args(["-m", "venv"]).arg(&environment))
        && quietly(Command::new(&own).args(["-m", "pip", "install", "--disable-pip-version-check", "polars"]));
    Ok(is_made.then_some(own))
}

fn has_polars(python: &Path) -> bool {
    let mut command = Command::new(python);
    command.args(["-c", "import polars"]).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}
