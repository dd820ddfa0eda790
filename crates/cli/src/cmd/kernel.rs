// SPDX-License-Identifier: GPL-2.0-or-later
//! `fairlab kernel`: engines that are built from kernel trees; and runs with them, which happen in a worker process.

use crate::args::RunArgs;
use crate::error::CliError;
use crate::input;
use crate::output::{Output, wrap};
use crate::plan::{Choices, Prepared};
use clap::{Args as ClapArgs, Subcommand, ValueHint};
use fairlab_kernel::engine::KernelEngine;
use fairlab_kernel::error::KernelError;
use fairlab_kernel::store::{Entry, Store};
use fairlab_kernel::worker::{self, End, Line};
use fairlab_machine::engine::{Machine, SetupError};
use fairlab_machine::observer::NoObserver;
use serde::Serialize;
use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Instant;

const EXAMPLES: &str = "\
The tree is only read. Building needs gcc, make, flex, bison, bc, patch and xz; what is missing is named with its package.

Examples:
  fairlab kernel add mine --source ~/linux
  fairlab kernel add mine+fix --source ~/linux --patch fix.diff
  fairlab kernel add 6.1 --source debian:6.1 --config CONFIG_HZ_1000=y
  fairlab run scenarios/fair-share.scn --engine kernel:mine";

/// So many lines of a kernel's log are shown; JSON has all.
const MOST_LINES: usize = 20;

#[derive(Debug, ClapArgs)]
#[command(arg_required_else_help = true, after_help = EXAMPLES)]
pub(crate) struct KernelArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Build an engine from a tree, under a name; what is already there is not built again
    Add(AddArgs),
    /// List engines
    List,
    /// Show what an engine was made of
    Show {
        /// The engine
        name: String,
    },
    /// Forget an engine
    Remove {
        /// The engine
        name: String,
    },
}

#[derive(Debug, ClapArgs)]
#[command(after_help = EXAMPLES)]
struct AddArgs {
    /// Name of the engine
    name: String,
    /// The tree: a folder, a tarball, or debian:VERSION for the package linux-source-VERSION
    #[arg(long, value_name = "DIR|TARBALL|debian:VERSION", value_hint = ValueHint::AnyPath)]
    source: String,
    /// Apply a patch (`git diff`, -p1) to a copy of the files that it names; several times if need be
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    patch: Vec<PathBuf>,
    /// A line for the configuration, such as CONFIG_HZ_1000=y; several times if need be
    #[arg(long, value_name = "CONFIG_X=VALUE")]
    config: Vec<String>,
}

impl From<KernelError> for CliError {
    fn from(error: KernelError) -> Self {
        if error.is_input() { Self::input(error) } else { Self::run(error) }
    }
}

/// Runs the command.
pub(crate) fn kernel(output: &mut Output, args: &KernelArgs) -> Result<(), CliError> {
    let store = Store::of_user()?;
    match &args.what {
        What::Add(add) => self::add(output, &store, add),
        What::List => list(output, &store.list()?),
        What::Show { name } => show(output, &store, &store.get(name)?),
        What::Remove { name } => Ok(store.remove(name)?),
    }
}

fn add(output: &mut Output, store: &Store, args: &AddArgs) -> Result<(), CliError> {
    let mut told = Ok(());
    let mut say = |what: &str| told = output.note(&format!("{}: {what}\n", args.name));
    let added = store.add(&args.name, &args.source, &args.patch, &args.config, &mut say)?;
    told?;
    if output.is_json() {
        return output.json(&added);
    }
    let seconds = added.took_ms as f64 / 1000.0;
    let how = if added.is_new { "built" } else { "was there already" };
    output.text(&format!(
        "{}: Linux {}, {how} ({seconds:.1} s)\nuse it: fairlab run FILE --engine kernel:{}\n",
        args.name, added.entry.version, args.name
    ))
}

fn list(output: &mut Output, entries: &[Entry]) -> Result<(), CliError> {
    if output.is_json() {
        return output.json(&entries);
    }
    if entries.is_empty() {
        return output.text("no engines yet: fairlab kernel add NAME --source DIR\n");
    }
    let mut page = String::new();
    for entry in entries {
        let Entry { name, version, source, patches, .. } = entry;
        let patched = if patches.is_empty() { String::new() } else { format!(", {} patches", patches.len()) };
        page.push_str(&wrap(&format!("{name}: Linux {version}, from {source}{patched}"), 2));
    }
    output.text(&page)
}

fn show(output: &mut Output, store: &Store, entry: &Entry) -> Result<(), CliError> {
    if output.is_json() {
        return output.json(entry);
    }
    let object = store.object(&entry.key).display().to_string();
    let several = |words: &[String]| if words.is_empty() { "none".to_owned() } else { words.join("\n          ") };
    output.text(&format!(
        "engine    {}\nkernel    Linux {}\nsource    {}\npatches   {}\nconfig    {}\ncompiler  {}\nkey       {}\nobject    {object}\n",
        entry.name,
        entry.version,
        entry.source,
        several(&entry.patches),
        several(&entry.config),
        entry.compiler,
        entry.key,
    ))
}

/// Reads `kernel:NAME`.
pub(crate) fn engine_of(text: &str) -> Result<String, String> {
    let name = text.strip_prefix("kernel:").filter(|name| !name.is_empty());
    name.map(str::to_owned).ok_or_else(|| "an engine is kernel:NAME; `fairlab kernel list` has the names".to_owned())
}

/// What is told of a run.
#[derive(Serialize)]
struct Told<'a> {
    workload: &'a str,
    machine: &'a str,
    engine: &'a Entry,
    digest: String,
    events: u64,
    switches: u64,
    wakeups: u64,
    migrations: u64,
    /// What the kernel printed.
    log: Vec<Line>,
}

/// `fairlab run --engine`: this process starts another one for the kernel's code, or is that one.
pub(crate) fn run(output: &mut Output, args: &RunArgs, choices: Choices, engine: &str) -> Result<(), CliError> {
    let store = Store::of_user()?;
    let entry = store.get(engine)?;
    let object = store.object(&entry.key);
    if let Some(report) = worker::report_of_worker() {
        return work(output, args, choices, &entry, &object, &report);
    }
    let program = std::env::current_exe().map_err(|error| CliError::Run(format!("this program: {error}")))?;
    let mut command = Command::new(program);
    command.args(std::env::args_os().skip(1));
    let (status, report) = worker::run(&mut command, &object)?;
    if !output.is_json() && report.end.is_none() {
        tell_log(output, &report.log)?;
    }
    match report.end {
        Some(end) => {
            tell_log(output, &report.log)?;
            Err(CliError::Run(sentences(engine, &entry, &end)))
        }
        None if status.success() => Ok(()),
        None => Err(match status.code() {
            Some(code) => CliError::Told { status: u8::try_from(code).unwrap_or(1) },
            None => CliError::Run(format!("the process with the engine kernel:{engine} was ended: {status}")),
        }),
    }
}

fn tell_log(output: &Output, log: &[Line]) -> Result<(), CliError> {
    let mut text = String::new();
    for Line { at_ns, cpu, text: line } in log.iter().take(MOST_LINES) {
        writeln!(text, "[{at_ns} ns, CPU {cpu}] {line}").expect("a string takes text");
    }
    if log.len() > MOST_LINES {
        writeln!(text, "... and {} lines more: --json has all", log.len() - MOST_LINES).expect("a string takes text");
    }
    output.note(&text)
}

/// What somebody has to know whose kernel did not come back.
fn sentences(engine: &str, entry: &Entry, end: &End) -> String {
    let what = match end.why.as_str() {
        "panic" => "the kernel has panicked",
        "crash" => "the kernel has crashed",
        "loop" => "kernel code does not end",
        "lock" => "a lock is not used as it must be",
        "forbidden" => "the kernel has called what an engine does not have",
        _ => "the engine is used as it cannot be",
    };
    let mut text = format!(
        "kernel:{engine} (Linux {}): {what}: {}\n  at {} ns on CPU {}, in: {}\n",
        entry.version, end.text, end.at_ns, end.cpu, end.during
    );
    for frame in &end.stack {
        writeln!(text, "    {frame}").expect("a string takes text");
    }
    text.push_str("help: the run is the same each time: the same command repeats it");
    text
}

/// The worker's part: the run itself.
fn work(
    output: &mut Output,
    args: &RunArgs,
    choices: Choices,
    entry: &Entry,
    object: &Path,
    report: &Path,
) -> Result<(), CliError> {
    let input = Arc::new(input::workload(&args.file)?);
    let Prepared { setup, subject, input, .. } = Prepared::of(input, None, &args.variant, choices)?;
    let file = OpenOptions::new().append(true).open(report);
    let file = file.map_err(|error| CliError::Run(format!("{}: {error}", report.display())))?;
    let seconds = std::env::var(worker::LOOP_SECONDS).ok().and_then(|text| text.parse().ok());
    let seconds = seconds.unwrap_or(worker::DEFAULT_LOOP_SECONDS);
    let load = |config| {
        KernelEngine::load(object, config, file.as_raw_fd(), seconds)
            .map_err(|error| SetupError::Lacking(error.to_string()))
    };
    let machine = Machine::with_engine(setup, load);
    let mut machine = machine.map_err(|error| CliError::Input(format!("{}: {error}", input.name)))?;
    if let Some(seed) = choices.seed {
        machine.seed(seed);
    }
    let began = Instant::now();
    machine.run(&mut NoObserver).map_err(|error| CliError::Run(format!("{}: {error}", input.name)))?;
    let took = began.elapsed().as_secs_f64();
    let counters = machine.counters();
    if output.is_json() {
        let text =
            std::fs::read_to_string(report).map_err(|error| CliError::Run(format!("{}: {error}", report.display())))?;
        return output.json(&Told {
            workload: &input.name,
            machine: &subject.machine,
            engine: entry,
            digest: machine.digest().to_string(),
            events: counters.events,
            switches: counters.switches,
            wakeups: counters.wakeups,
            migrations: counters.migrations,
            log: worker::parse(&text).0.log,
        });
    }
    let rate = counters.events as f64 / took.max(1e-9) / 1e6;
    output.text(&format!(
        "{} on {}, engine kernel:{} (Linux {})\n{} events ({rate:.2} million in a second), {} switches, {} wake-ups, {} migrations\ndigest {}\n",
        input.name,
        subject.machine,
        entry.name,
        entry.version,
        counters.events,
        counters.switches,
        counters.wakeups,
        counters.migrations,
        machine.digest()
    ))
}
