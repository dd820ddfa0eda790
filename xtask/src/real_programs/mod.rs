// SPDX-License-Identifier: GPL-2.0-or-later
//! Records what real benchmark programs do in a booted kernel, beside which the benchmark models can be put.
//!
//! Each program of `xtask/real-programs/programs.toml` runs in boots of its own of Debian's cloud kernels under QEMU, whose guest time is
//! 1 ns per executed instruction. A run with kernel events gives system calls, wake-ups, switches, forks and the user instructions between
//! system calls, per transaction. Two runs of different lengths without events give all instructions of a transaction.

pub(crate) mod background;
mod guest;
mod summary;
mod trace;

use anyhow::{Context, Result, bail};
use guest::Guest;
use serde::Deserialize;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use summary::Summary;

/// Records real programs.
#[derive(clap::Args)]
pub(crate) struct RealProgramsArgs {
    /// Names of programs in programs.toml. By default all whose files exist.
    programs: Vec<String>,
    /// Series of Debian's cloud kernels.
    #[arg(long, value_delimiter = ',', default_value = "6.1,6.12")]
    series: Vec<String>,
    /// Number of CPUs of the guest.
    #[arg(long, default_value_t = 1)]
    cpus: u32,
    /// Directory of programs that are built from source: netperf, netserver, schbench.
    #[arg(long)]
    directory: Option<PathBuf>,
    /// Read what earlier boots have printed to target/real-programs instead of booting, where it is complete.
    #[arg(long)]
    resume: bool,
    /// Directory of the tables.
    #[arg(long, short, default_value = "sheets/programs")]
    output: PathBuf,
}

/// Program with its command line, as in `programs.toml`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Program {
    name: String,
    files: Vec<String>,
    #[serde(default)]
    before: String,
    command: String,
    traced: u64,
    counts: Option<[u64; 2]>,
    #[serde(default = "one")]
    each: u64,
    tasks: Vec<String>,
    call: Option<(String, String, u64)>,
    #[serde(default = "one")]
    calls: u64,
}

const fn one() -> u64 {
    1
}

#[derive(Deserialize)]
struct ProgramList {
    program: Vec<Program>,
}

pub(crate) fn run(root: &Path, args: &RealProgramsArgs) -> Result<()> {
    let sources = root.join("xtask/real-programs");
    let text = fs::read_to_string(sources.join("programs.toml"))?;
    let list: ProgramList = toml::from_str(&text).context("programs.toml")?;
    for name in &args.programs {
        if !list.program.iter().any(|program| program.name == *name) {
            bail!("no program is called {name}");
        }
    }
    let calls = summary::call_names()?;
    let mut tables = [summary::TOTALS.to_owned(), summary::CALLS.to_owned(), summary::FORKS.to_owned()];
    for program in &list.program {
        if !args.programs.is_empty() && !args.programs.contains(&program.name) {
            continue;
        }
        let guest = Guest::new(root, &program.name, args.cpus);
        for series in &args.series {
            let console = guest.console(series);
            if !(args.resume && guest::is_complete(&console)) {
                println!("{} on {series}", program.name);
                guest.build(root, &script(program), &program.files, args.directory.as_deref())?;
                guest.boot(series, &[])?;
            }
            let runs = trace::read(&fs::read_to_string(&console)?.replace('\r', ""));
            let summary =
                Summary::new(program, series, &runs, &calls).with_context(|| console.display().to_string())?;
            for (table, rows) in tables.iter_mut().zip(summary.rows()) {
                write!(table, "{rows}").expect("a string takes all text");
            }
        }
    }
    let directory = root.join(&args.output);
    fs::create_dir_all(&directory)?;
    for (name, table) in ["transactions", "calls", "forks"].into_iter().zip(tables) {
        fs::write(directory.join(format!("{name}.tsv")), table)?;
    }
    println!("{}", directory.display());
    Ok(())
}

/// Returns the commands of the guest: calibration, the traced run, and two without events.
fn script(program: &Program) -> String {
    let command = |number: u64| program.command.replace("{n}", &number.to_string());
    let mut script = format!("traced calibrate\n{}\ntraced {}\n", program.before, command(program.traced));
    for number in program.counts.into_iter().flatten() {
        script += &format!("quiet {}\n", command(number));
    }
    script
}
