// SPDX-License-Identifier: GPL-2.0-or-later
//! Command line of `fairlab`: its commands, their options and help texts.

pub(crate) mod bench;
pub(crate) mod bisect;
pub(crate) mod capture;
pub(crate) mod compare;
pub(crate) mod exports;
pub(crate) mod fuzz;
pub(crate) mod import;
pub(crate) mod kernel;
pub(crate) mod kernel_bisect;
pub(crate) mod measure;
pub(crate) mod patch;
pub(crate) mod regressions;
pub(crate) mod replay;
pub(crate) mod run;
pub(crate) mod settings;
pub(crate) mod study;
pub(crate) mod sweep;
pub(crate) mod work;

use crate::args::bench::BenchArgs;
use crate::args::bisect::BisectArgs;
use crate::args::capture::CaptureArgs;
use crate::args::compare::CompareArgs;
use crate::args::exports::{events_from_name, format_from_name};
use crate::args::fuzz::FuzzArgs;
use crate::args::import::{ImportArgs, LeapArgs};
use crate::args::kernel::KernelArgs;
use crate::args::measure::{CalibrateArgs, ValidateArgs};
use crate::args::patch::PatchArgs;
use crate::args::replay::ReplayArgs;
use crate::args::run::RunArgs;
use crate::args::settings::SettingArgs;
use crate::args::study::StudyArgs;
use crate::args::sweep::SweepArgs;
use crate::output::Color;
use crate::values::error::CliError;
use crate::values::hints::{self, with_hints};
use clap::{Args as ClapArgs, Parser, Subcommand, ValueHint};
use clap_complete::Shell;
use fairlab_experiment::pool;
use fairlab_run::kernels::Kernel;
use fairlab_run::settings::Settings;
use fairlab_run::settings::commands::{CHECK, LAB};
use fairlab_run::values::{EngineName, kernel_from_name, parse_engine, parse_moment, parse_time};
use fairlab_sched::units::Nanos;
use fairlab_traces::export::ExportFormat;
use fairlab_traces::export::record::EventGroups;
use fairlab_workload::message::Message;
use std::num::NonZeroUsize;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  fairlab run scenarios/hello.json              run a workload on a big.LITTLE board
  fairlab run app.json --machine xeon-2s-224    run it on a server
  fairlab run app.json --features NO_SIS_UTIL   switch a scheduler feature off
  fairlab machine show hikey960                 show CPUs, caches and frequencies
  fairlab completions bash > fairlab.bash       write completions for a shell";

/// Simulate Linux's fair scheduler on machines that you describe, and explain its decisions
#[derive(Debug, Parser)]
#[command(name = "fairlab", version, arg_required_else_help = true, after_help = EXAMPLES, max_term_width = 80)]
pub(crate) struct Args {
    /// When to use colours: auto, always, never
    #[arg(long, global = true, value_enum, default_value_t = Color::Auto, value_name = "WHEN", hide_possible_values = true)]
    pub(crate) color: Color,
    /// Write results as JSON to standard output, and an error as a line of JSON to standard error
    #[arg(long, global = true)]
    pub(crate) json: bool,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum Command {
    /// Run a workload and summarise its tasks, CPUs and findings
    Run(Box<RunArgs>),
    /// Run a workload or a benchmark under several arms, once or as an experiment with statistics
    Compare(Box<CompareArgs>),
    /// Run all points of a plan on all cores, into a store that survives interruption
    Sweep(SweepArgs),
    /// Find the switch, or the set of switches, that makes the difference between two kernels or arms
    Bisect(Box<BisectArgs>),
    /// Search for machines and workloads that break a property: idle CPUs while tasks wait, starvation,
    /// latency, ...
    Fuzz(Box<FuzzArgs>),
    /// Explain the state of a task, a CPU or its load balancing at a given time of an earlier run
    Explain(ExplainArgs),
    /// Write the trace of an earlier run in the format of another tool: trace-cmd, perf, Perfetto, ...
    Export(ExportCommandArgs),
    /// Convert a recorded trace into a workload: trace.dat, perf.data, ftrace text, systrace, Perfetto
    Import(ImportArgs),
    /// Simulate a recorded trace on its own machine, or with another machine, kernel or tunable
    Replay(Box<ReplayArgs>),
    /// List the findings of an earlier run: idle CPUs while tasks wait, starvation, late wake-ups, ...
    Findings(FindingsArgs),
    /// Write one HTML file about earlier runs: timeline, latencies, metrics side by side
    Report(ReportArgs),
    /// Write one HTML file that runs a workload in a browser: two arms, their first difference, reasons
    Lab(LabArgs),
    /// Run the model of a benchmark, with the benchmark's own options and output format
    Bench(Box<BenchArgs>),
    /// Read a workload file, run it, and report errors and warnings
    Check(CheckArgs),
    /// List machines, or show one
    Machine(MachineArgs),
    /// List scheduler features with default and meaning
    Features(FeaturesArgs),
    /// List tunables with value, unit, range and meaning
    Tunables(TunablesArgs),
    /// Build engines from kernel trees, with patches; list, show and remove them
    Kernel(KernelArgs),
    /// Write cases with inputs and exact results, by which another EEVDF scheduler can be tested
    Conformance(ConformanceArgs),
    /// Compare a kernel tree with and without a patch on many machines and workloads, and locate the first
    /// difference
    Patch(Box<PatchArgs>),
    /// List named kernels and their changes, or show one model and its limits
    Kernels(KernelsArgs),
    /// List studies of published scheduler changes, or run one
    Study(StudyArgs),
    /// List the JSON formats, or write one as JSON Schema
    Schema(SchemaArgs),
    /// Write a completion script for a shell
    Completions(CompletionsArgs),
    /// Write manual pages
    Man(ManArgs),
}

impl Command {
    /// Adds settings to those of the command line.
    pub(crate) fn add_settings(&mut self, settings: &Settings) -> Result<(), CliError> {
        let changes = match self {
            Self::Run(args) => &mut args.settings.changes,
            Self::Bench(args) => &mut args.settings.changes,
            Self::Compare(args) => &mut args.work.settings.changes,
            _ => return Err(CliError::Input(Message::new("this command takes no settings as a value"))),
        };
        changes.extend(settings.changes());
        Ok(())
    }
}

/// Limit on the number of runs at a time.
#[derive(Clone, Copy, Debug, ClapArgs)]
pub(crate) struct JobsArgs {
    /// Run at most N simulations at a time; results do not depend on it [default: one per core]
    #[arg(short, long, value_name = "N")]
    jobs: Option<NonZeroUsize>,
}

impl JobsArgs {
    /// Sets the limit of the thread pool. Must be called before the first run.
    pub(crate) fn apply(self) {
        if let Some(jobs) = self.jobs {
            pool::limit(jobs);
        }
    }
}

const EXPLAIN_EXAMPLES: &str = "\
`fairlab run FILE -o DIR` writes DIR. The run is repeated from its start up to TIME.

Examples:
  fairlab run app.json -o runs/1
  fairlab explain runs/1 --task ui --at 12.345ms     CPU and waiting time
  fairlab explain runs/1 --cpu 7 --at 12.345ms       idle or running
  fairlab explain runs/1 --balance 7 --at 12.345ms   results of balance passes
  fairlab explain runs/1 --response frame            path of the longest response";

#[derive(Debug, ClapArgs)]
#[command(arg_required_else_help = true)]
#[command(after_help = EXPLAIN_EXAMPLES)]
#[command(group = clap::ArgGroup::new("question").required(true).args(["task", "cpu", "balance", "response"]))]
pub(crate) struct ExplainArgs {
    /// Directory of the run
    #[arg(value_hint = ValueHint::DirPath)]
    pub(crate) dir: PathBuf,
    /// Explain the CPU and the waiting time of a task, given by its name, its pid, or its name in the run
    /// summary
    #[arg(long, value_name = "NAME|PID")]
    pub(crate) task: Option<String>,
    /// Explain why this CPU is idle while tasks wait, or which task it runs
    #[arg(long, value_name = "N")]
    pub(crate) cpu: Option<u32>,
    /// Explain the last balance passes of this CPU
    #[arg(long, value_name = "CPU")]
    pub(crate) balance: Option<u32>,
    /// Explain one response of this definition: its critical path
    #[arg(long, value_name = "NAME")]
    pub(crate) response: Option<String>,
    /// Number of the response, from 1 [default: the one that took longest]
    #[arg(long, value_name = "N", requires = "response", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) number: Option<u64>,
    /// Time in the run, after all events at that time: 5s, 12.345ms, 1001us, ...
    #[arg(long, value_name = "TIME", value_parser = parse_moment, required_unless_present = "response", conflicts_with = "response")]
    pub(crate) at: Option<Nanos>,
}

const FINDINGS_EXAMPLES: &str = "\
`fairlab run FILE -o DIR` writes DIR. The run is repeated. Each finding has a severity, a rule, the number and \
duration of its occurrences, the reason at its worst moment, and the command that explains that moment.

Examples:
  fairlab run app.json -o runs/1; fairlab findings runs/1
  fairlab findings runs/1 --latency 1ms --json";

#[derive(Debug, ClapArgs)]
#[command(after_help = FINDINGS_EXAMPLES)]
pub(crate) struct FindingsArgs {
    /// Directory of the run
    #[arg(value_hint = ValueHint::DirPath)]
    pub(crate) dir: PathBuf,
    /// Longest time that a CPU may idle while a task waits that may run there [default: two ticks, at least
    /// 4ms]
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub(crate) idle: Option<Nanos>,
    /// Longest wake-up latency [default: 10ms]
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub(crate) latency: Option<Nanos>,
    /// Longest time that a task may wait at once [default: 500ms]
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub(crate) starvation: Option<Nanos>,
    /// Explain the N worst findings
    #[arg(long, value_name = "N", default_value_t = 3)]
    pub(crate) explain: usize,
    #[command(flatten)]
    pub(crate) leaps: LeapArgs,
}

const REPORT_EXAMPLES: &str = "\
`fairlab run FILE -o DIR` writes DIR. The runs are repeated. The HTML file needs no network.

Examples:
  fairlab run app.json -o runs/with
  fairlab run app.json --features NO_SIS_UTIL -o runs/without
  fairlab report runs/with runs/without -o app.html";

#[derive(Debug, ClapArgs)]
#[command(after_help = REPORT_EXAMPLES)]
pub(crate) struct ReportArgs {
    /// Directories of runs; later ones are compared with the first
    #[arg(value_name = "DIR", required = true, value_hint = ValueHint::DirPath)]
    pub(crate) dirs: Vec<PathBuf>,
    /// File to write
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) output: PathBuf,
    /// Include the simulator: a reader can repeat the first run with a change
    #[arg(long)]
    pub(crate) live: bool,
    /// Page with the simulator as `cargo xtask lab` writes it [default: that of the program]
    #[arg(long, value_name = "FILE", requires = "live", value_hint = ValueHint::FilePath)]
    pub(crate) page: Option<PathBuf>,
}

#[derive(Debug, ClapArgs)]
#[command(
    after_help = "The page needs no server and no network: it contains the simulator.\n\nExamples:\n  fairlab lab\n  fairlab lab scenarios/eevdf.scn\n  fairlab lab app.json --machine xeon-2s-224 --for 500ms -o app.html\n  fairlab lab --check-answers class/*.json"
)]
pub(crate) struct LabArgs {
    /// Workload file; `-` is standard input [default: an example]
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) file: Option<String>,
    #[command(flatten)]
    pub(crate) settings: SettingArgs<LAB>,
    /// File to write
    #[arg(short, long, value_name = "FILE", default_value = "fairlab-lab.html", value_hint = ValueHint::FilePath)]
    pub(crate) output: PathBuf,
    /// Page as `cargo xtask lab` writes it [default: that of the program]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) page: Option<PathBuf>,
    /// Write no page: derive the answers of the lessons from runs, and grade files of saved answers
    #[arg(long, value_name = "FILE", num_args = 0.., conflicts_with_all = ["file", "output", "page"], value_hint = ValueHint::FilePath)]
    pub(crate) check_answers: Option<Vec<PathBuf>>,
}

#[derive(Debug, ClapArgs)]
#[command(after_help = exports::help())]
pub(crate) struct ExportCommandArgs {
    /// Directory of the run, as written by `fairlab run FILE -o DIR`
    #[arg(value_hint = ValueHint::DirPath)]
    pub(crate) dir: PathBuf,
    /// Format, from the list below
    #[arg(short, long, value_name = "FORMAT", value_parser = with_hints(format_from_name, hints::formats))]
    pub(crate) format: &'static ExportFormat,
    /// File to write; `-` is standard output [default: DIR/trace.* with the format's extension]
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) output: Option<String>,
    /// Groups of events in the trace, from the list below, or all [default: the groups that suit the format]
    #[arg(long, value_name = "GROUP,GROUP", value_delimiter = ',', value_parser = with_hints(events_from_name, hints::groups))]
    pub(crate) events: Vec<EventGroups>,
    /// Export only this task or family, by name or pid; for formats with one file per task
    #[arg(long, value_name = "TASK")]
    pub(crate) task: Option<String>,
}

#[derive(Debug, ClapArgs)]
#[command(arg_required_else_help = true)]
#[command(after_help = "Example:\n  fairlab check app.json --machine laptop-8")]
pub(crate) struct CheckArgs {
    /// Workload file; `-` is standard input
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) file: String,
    #[command(flatten)]
    pub(crate) settings: SettingArgs<CHECK>,
}

#[derive(Debug, ClapArgs)]
#[command(arg_required_else_help = true)]
#[command(
    after_help = "Examples:\n  fairlab machine list\n  fairlab machine show xeon-2s-224\n  fairlab machine show --toml hikey960 > mine.toml\n  fairlab machine domains xeon-2s-224 --cpu 0\n  fairlab machine capture -o mine.toml\n  fairlab machine calibrate -o measured.json\n  fairlab machine validate"
)]
pub(crate) struct MachineArgs {
    #[command(subcommand)]
    pub(crate) command: MachineCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum MachineCommand {
    /// List the machines that come with fairlab
    List,
    /// Show a machine: CPUs, caches, frequencies, idle states, costs
    Show {
        /// Name of a machine, or path of a machine file
        #[arg(value_parser = hints::text(hints::machines))]
        machine: String,
        /// Write the machine file, as a template for your own
        #[arg(long)]
        toml: bool,
    },
    /// List what each kernel operation costs on a machine, with the counts that its costs follow from
    Costs {
        /// Name of a machine, or path of a machine file
        #[arg(value_parser = hints::text(hints::machines))]
        machine: String,
    },
    /// Describe this machine, or one whose sysfs, hwloc XML or lscpu output was saved, as a machine file
    Capture(CaptureArgs),
    /// Measure this machine: system calls, switches, wake-ups, messages, interrupts, cache lines
    Calibrate(CalibrateArgs),
    /// Run operations on this machine and on a simulated one, and compare
    Validate(Box<ValidateArgs>),
    /// Show the sched domains of a machine, as in the kernel's debugfs, with their groups
    Domains {
        /// Name of a machine, or path of a machine file
        #[arg(value_parser = hints::text(hints::machines))]
        machine: String,
        /// Only the domains of this CPU
        #[arg(long, value_name = "N")]
        cpu: Option<u32>,
    },
}

#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:\n  fairlab kernels\n  fairlab kernels 5.10\n  fairlab run app.json --kernel 5.10")]
pub(crate) struct KernelsArgs {
    /// Show only this release
    #[arg(value_name = "RELEASE", value_parser = with_hints(kernel_from_name, hints::releases))]
    pub(crate) kernel: Option<Kernel>,
}

#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Examples:\n  fairlab features\n  fairlab features SIS_UTIL\n  fairlab features --kernel 6.1\n  fairlab features --engine kernel:mine"
)]
pub(crate) struct FeaturesArgs {
    /// Show only this feature
    #[arg(value_name = "NAME", value_parser = hints::text(hints::feature_names))]
    pub(crate) feature: Option<String>,
    /// Show the features of a release, with its defaults [default: 6.12]
    #[arg(long, value_name = "RELEASE", value_parser = with_hints(kernel_from_name, hints::releases), conflicts_with = "engine")]
    pub(crate) kernel: Option<Kernel>,
    /// Show the features of a kernel tree, as built by `fairlab kernel add NAME`
    #[arg(long, value_name = "kernel:NAME", value_parser = parse_engine)]
    pub(crate) engine: Option<EngineName>,
}

#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Examples:\n  fairlab tunables\n  fairlab tunables migration_cost_ns\n  fairlab tunables --machine xeon-2s-224 --json\n  fairlab tunables --kernel 6.1\n  fairlab tunables --engine kernel:mine"
)]
pub(crate) struct TunablesArgs {
    /// Show only this tunable
    #[arg(value_name = "NAME", value_parser = hints::text(hints::tunable_names))]
    pub(crate) tunable: Option<String>,
    /// Show the tunables of a release, with its defaults [default: 6.12]
    #[arg(long, value_name = "RELEASE", value_parser = with_hints(kernel_from_name, hints::releases), conflicts_with = "engine")]
    pub(crate) kernel: Option<Kernel>,
    /// Show the tunables of a kernel tree, as built by `fairlab kernel add NAME`
    #[arg(long, value_name = "kernel:NAME", value_parser = parse_engine)]
    pub(crate) engine: Option<EngineName>,
    /// Show the defaults of a machine with N CPUs [default: 8]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..), conflicts_with = "machine")]
    pub(crate) cpus: Option<u16>,
    /// Show the defaults of this machine
    #[arg(long, value_name = "NAME|PATH", value_parser = hints::text(hints::machines))]
    pub(crate) machine: Option<String>,
}

#[derive(Debug, ClapArgs)]
#[command(
    after_help = "The field `schema` of every output holds the name and version of its format. A new field does not change the version.\n\nExamples:\n  fairlab schema\n  fairlab schema run > run.schema.json"
)]
pub(crate) struct SchemaArgs {
    /// Name of the format: run, experiment, trace, ...
    #[arg(value_name = "NAME", value_parser = hints::text(hints::schemas))]
    pub(crate) form: Option<String>,
}

#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Each case becomes two files: NAME.scn, the scenario, and NAME.jsonl, its records. README.md and conformance.schema.json describe them.\n\nExamples:\n  fairlab conformance cases\n  fairlab conformance mine my-scenario.scn"
)]
pub(crate) struct ConformanceArgs {
    /// Directory for the cases; it must not exist, or be empty
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) dir: PathBuf,
    /// Scenarios to write as cases instead of the built-in ones
    #[arg(value_name = "SCENARIO", value_hint = ValueHint::FilePath)]
    pub(crate) scenarios: Vec<String>,
}

#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:\n  fairlab man | man -l -\n  fairlab man ~/.local/share/man/man1")]
pub(crate) struct ManArgs {
    /// Directory for one page per command [default: the first page, to standard output]
    #[arg(value_hint = ValueHint::DirPath)]
    pub(crate) dir: Option<PathBuf>,
}

#[derive(Debug, ClapArgs)]
#[command(arg_required_else_help = true)]
#[command(
    after_help = "Examples:\n  fairlab completions bash > ~/.local/share/bash-completion/completions/fairlab\n  fairlab completions zsh > ~/.zfunc/_fairlab"
)]
pub(crate) struct CompletionsArgs {
    /// Shell
    pub(crate) shell: Shell,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Args::command().debug_assert();
    }
}
