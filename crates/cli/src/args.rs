// SPDX-License-Identifier: GPL-2.0-or-later
//! The command line.

use crate::cmd::bench::args::BenchArgs;
use crate::cmd::bisect::args::BisectArgs;
use crate::cmd::capture::CaptureArgs;
use crate::cmd::compare::args::CompareArgs;
use crate::cmd::export;
use crate::cmd::fuzz::args::FuzzArgs;
use crate::cmd::import::ImportArgs;
use crate::cmd::kernel::KernelArgs;
use crate::cmd::patch::args::PatchArgs;
use crate::cmd::replay::ReplayArgs;
use crate::cmd::schema::SchemaEntry;
use crate::cmd::sweep::args::SweepArgs;
use crate::embed::policies::{Policy, policy_of};
use crate::error::CliError;
use crate::exports::{ExportArgs, format_of, group_of};
use crate::hints::{self, hinted};
use crate::output::measure::Measure;
use crate::values::{
    EngineName, FeatureList, GovernorName, engine_of, feature_name_of, features_of, governor_of, kernel_of, micros_of,
    moment_of, setting_of, time_of, tunable_of,
};
use clap::{Args as ClapArgs, Parser, Subcommand, ValueEnum, ValueHint};
use clap_complete::Shell;
use fairlab_observe::export::ExportFormat;
use fairlab_observe::export::record::EventGroups;
use fairlab_sched::features::Feature;
use fairlab_sched::tunables::TunableInfo;
use fairlab_sched::units::Nanos;
use fairlab_study::kernels::Kernel;
use fairlab_study::pool;
use std::num::NonZeroUsize;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  fairlab run scenarios/hello.json              what a workload does on a big.LITTLE board
  fairlab run app.json --machine xeon-2s-224    another machine
  fairlab run app.json --features NO_SIS_UTIL   another scheduler
  fairlab machine show hikey960                 what a machine consists of
  fairlab completions bash > fairlab.bash       completions of your shell";

/// A laboratory for Linux's fair scheduler: runs workloads on simulated machines, and says what happened and why.
#[derive(Debug, Parser)]
#[command(name = "fairlab", version, arg_required_else_help = true, after_help = EXAMPLES, max_term_width = 80)]
pub(crate) struct Args {
    /// When to use colours
    #[arg(long, global = true, value_enum, default_value_t = Color::Auto, value_name = "WHEN", hide_possible_values = true)]
    pub(crate) color: Color,
    /// Write results as JSON
    #[arg(long, global = true)]
    pub(crate) json: bool,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// When to use colours: auto (on a terminal), always, never.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    Auto,
    Always,
    Never,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a workload and show what its tasks and CPUs did
    Run(Box<RunArgs>),
    /// Run a workload or a benchmark under several arms, once or as an experiment with statistics
    Compare(Box<CompareArgs>),
    /// Run whatever a plan spans, on all cores, into a store that survives everything
    Sweep(SweepArgs),
    /// Find the switch, or the set of switches, that makes a difference between two kernels or arms
    Bisect(Box<BisectArgs>),
    /// Search for machines and workloads that break a property: idle CPUs while tasks wait, starvation, latency, ...
    Fuzz(Box<FuzzArgs>),
    /// Say why: of a task, a CPU or its load balancing, at a moment of an earlier run
    Explain(ExplainArgs),
    /// Write the trace of an earlier run in the format of another tool: trace-cmd, perf, Perfetto, ...
    Export(ExportCommandArgs),
    /// Make a workload of a recorded trace: trace.dat, perf.data, ftrace text, systrace, Perfetto
    Import(ImportArgs),
    /// Simulate a recorded trace: as it was recorded, or on another machine, kernel, tunable
    Replay(Box<ReplayArgs>),
    /// Find what is wrong in an earlier run: idle CPUs while tasks wait, starvation, late wake-ups, ...
    Findings(FindingsArgs),
    /// Write a page about earlier runs: timeline, latencies, figures side by side, as one file for a browser
    Report(ReportArgs),
    /// Run the model of a benchmark, with the benchmark's own options and in its own form
    Bench(Box<BenchArgs>),
    /// Check a workload file: read it, run it, and say whether all is well
    Check(CheckArgs),
    /// List machines, or show one
    Machine(MachineArgs),
    /// List scheduler features: name, default, meaning
    Features(FeaturesArgs),
    /// List tunables: name, value, unit, range, meaning
    Tunables(TunablesArgs),
    /// Build engines from kernel trees, with patches, and list, show and remove them
    Kernel(KernelArgs),
    /// What a patch to a kernel tree changes: a fleet of machines and workloads with and without it, and where the two first differ
    Patch(Box<PatchArgs>),
    /// List named kernels: what came with each, or what one of them models and what not
    Kernels(KernelsArgs),
    /// List studies of published scheduler changes, or run one
    Study(StudyArgs),
    /// List the forms of JSON output, or write one as JSON Schema
    Schema(SchemaArgs),
    /// Write a completion script for a shell
    Completions(CompletionsArgs),
    /// Write manual pages
    Man(ManArgs),
}

const RUN_EXAMPLES: &str = "\
FILE is a scenario (one statement per line, begins with `cpus N`) or a JSON file of rt-app.
Which of them shows in its text, not in its name.

Examples:
  fairlab run scenarios/hello.json
  fairlab run app.json --machine xeon-2s-224 --for 2s
  fairlab run app.json --kernel 5.4 --set migration_cost_ns=0 --features NO_WA_WEIGHT
  fairlab run app.json --seed 7 --perturb 7 -o runs/7
  fairlab run app.json --measure kicks,search   who kicked whom and why; how well idle CPUs are found
  fairlab run scenario.scn --trace-jsonl - | head
  generate-workload | fairlab run - --json";

#[derive(Debug, ClapArgs)]
#[command(arg_required_else_help = true)]
#[command(after_help = RUN_EXAMPLES)]
pub(crate) struct RunArgs {
    /// Workload file; `-` is standard input
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) file: String,
    #[command(flatten)]
    pub(crate) variant: VariantArgs,
    /// Draw from this seed which newly-idle CPUs balance, and exits from idle states [default: as the kernel after its boot]
    ///
    /// That is all it varies: the feature NI_RANDOM is the only one that rolls dice, and idle states the only hardware. With --vary it also
    /// varies what an experimenter cannot hold still.
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// Vary with the seed what nobody holds still: when tasks start, against the tick and each other, and random lengths
    ///
    /// All tasks start up to a tick later, and each up to 10 ms besides; random lengths of a scenario are drawn from the seed.
    #[arg(long, requires = "seed")]
    pub(crate) vary: bool,
    /// Permute what happens at one instant, another way for each N: what changes is an accident
    #[arg(long, value_name = "N")]
    pub(crate) perturb: Option<u64>,
    /// Keep all of equal keys in an object of an rt-app file; rt-app itself keeps the last one
    #[arg(long)]
    pub(crate) keep_duplicate_keys: bool,
    /// What an engine's worker simulates before it measures.
    #[arg(long, hide = true, requires = "engine", value_name = "TIME", value_parser = time_of)]
    pub(crate) engine_warmup: Option<Nanos>,
    /// How long to simulate: 5s, 300ms, ... [default: what the file says; 5s if it says nothing]
    #[arg(long = "for", value_name = "TIME", value_parser = time_of)]
    pub(crate) duration: Option<Nanos>,
    /// Watch the run on the terminal: CPUs, queues, domains, decisions. Space lets it go on, s and n step, w says why, q quits
    #[arg(long, conflicts_with = "engine")]
    pub(crate) watch: bool,
    /// Show every CPU and every task family, however many
    #[arg(long)]
    pub(crate) per_cpu: bool,
    /// Show measurements at length: search, kicks, blocked, balance, energy, residency, times, histograms, all. JSON always has all of them
    #[arg(long, value_enum, value_name = "WHAT,WHAT", value_delimiter = ',', hide_possible_values = true)]
    pub(crate) measure: Vec<Measure>,
    /// Write a run directory: manifest.json (all that repeats the run), copies of inputs, summary.json
    #[arg(short, long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) output: Option<PathBuf>,
    /// Write every event as a line of JSON; `-` is standard output, which then carries nothing else
    ///
    /// A scenario's `trace` statement sets the level; without one it is 3 (switches, wake-ups, migrations, interrupts,
    /// steps of load balancing). With -o, a relative FILE is put into DIR.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) trace_jsonl: Option<String>,
    /// Write what each call of the scheduler has counted to standard output, and nothing else.
    #[arg(long, hide = true)]
    pub(crate) trace_work: bool,
    #[command(flatten)]
    pub(crate) exports: ExportArgs,
}

/// What a workload runs on.
#[derive(Clone, Debug, Default, ClapArgs)]
pub(crate) struct VariantArgs {
    /// Machine: a name (see `fairlab machine list`) or a TOML file [default: hikey960]
    ///
    /// A scenario has its own machine, whose place this one takes. The default for all else is the board for which most rt-app files in
    /// circulation were written: four small and four big CPUs with schedutil.
    #[arg(long, value_name = "NAME|PATH", value_parser = hints::text(hints::machines))]
    pub(crate) machine: Option<String>,
    /// Kernel: 6.1 or an older release's set of features and tunables (see `fairlab kernels`) [default: the machine's]
    #[arg(long, value_name = "RELEASE", value_parser = hinted(kernel_of, hints::releases))]
    pub(crate) kernel: Option<Kernel>,
    /// The scheduler of a kernel tree in place of the built-in one, as `fairlab kernel add NAME` has built it
    ///
    /// It runs in a process of its own, and tells no reasons of decisions. What it does not have of a machine --plain=priced leaves out.
    #[arg(long, value_name = "kernel:NAME", value_parser = hinted(engine_of, hints::engines))]
    pub(crate) engine: Vec<EngineName>,
    /// Switch scheduler features: NAME on, NO_NAME off (see `fairlab features`); later options override earlier ones
    #[arg(long, value_name = "A,NO_B", value_parser = hinted(features_of, hints::features))]
    pub(crate) features: Vec<FeatureList>,
    /// Set a tunable, several times if need be (see `fairlab tunables`)
    #[arg(long, value_name = "TUNABLE=VALUE", value_parser = hinted(setting_of, hints::tunables), allow_hyphen_values = true)]
    pub(crate) set: Vec<(String, i64)>,
    /// What drives all frequency domains: performance, powersave, schedutil; others are not modelled [default: the machine's]
    #[arg(long, value_name = "NAME", value_parser = hinted(governor_of, hints::governors))]
    pub(crate) governor: Option<GovernorName>,
    /// Hold /dev/cpu_dma_latency at this exit latency: no idle CPU enters a state that takes longer to leave; 20us; 0: the first one only
    #[arg(long, value_name = "TIME", value_parser = micros_of)]
    pub(crate) cpu_dma_latency: Option<Nanos>,
    /// What kernel code costs: what the machine's file says, or nothing [default: machine; a scenario has no prices]
    #[arg(long, value_enum, value_name = "machine|zero", hide_possible_values = true)]
    pub(crate) prices: Option<PriceChoice>,
    /// Take a machine's shape alone (CPUs, caches, nodes, capacities): no prices, idle states, frequencies, turbo. --plain=priced: with prices and idle states
    #[arg(
        long, value_enum, value_name = "shape|priced", num_args = 0..=1, require_equals = true, default_missing_value = "shape",
        hide_possible_values = true
    )]
    pub(crate) plain: Option<Plain>,
    /// Of a run with an engine: write every event as a line of JSON to standard output, and nothing else.
    #[arg(long, hide = true, requires = "engine", conflicts_with = "engine_state")]
    pub(crate) engine_trace: bool,
    /// The same, up to this time on the machine's clock: then write the engine's state, and nothing else.
    #[arg(long, hide = true, requires = "engine", value_name = "NS")]
    pub(crate) engine_state: Option<u64>,
    /// The same, at this time: write which functions each call of the kernel enters, and nothing else.
    #[arg(long, hide = true, requires = "engine", value_name = "NS", conflicts_with = "engine_state")]
    pub(crate) engine_calls: Option<u64>,
    /// Up to that time, of each call the time, and a hash of what it enters that this engine has as well.
    #[arg(long, hide = true, requires = "engine_calls", value_name = "kernel:NAME", value_parser = engine_of)]
    pub(crate) engine_beside: Option<EngineName>,
    /// A policy of the program that embeds this one, in the place of the kernel's selection at wake-ups.
    #[arg(long, hide = true, value_name = "NAME", value_parser = policy_of)]
    pub(crate) policy: Option<Policy>,
    /// An arm's: the prices of another machine.
    #[arg(skip)]
    pub(crate) prices_of: Option<String>,
    /// An arm's: prices of single operations, in picoseconds.
    #[arg(skip)]
    pub(crate) price: Vec<(String, u64)>,
}

impl VariantArgs {
    /// The features that are switched, in their order: later ones override.
    pub(crate) fn switched(&self) -> impl Iterator<Item = (Feature, bool)> {
        self.features.iter().flat_map(|list| list.0.iter().copied())
    }

    /// The kernel engine, if it is to be one.
    pub(crate) fn kernel_engine(&self) -> Option<&str> {
        self.engine.last().and_then(EngineName::kernel)
    }

    /// Refuses several engines for a command that has one.
    pub(crate) fn has_one_engine(&self) -> Result<(), CliError> {
        if self.engine.len() < 2 {
            return Ok(());
        }
        let help = "give one; `fairlab compare` takes several and sets them side by side";
        Err(CliError::Input(format!("--engine is given {} times\nhelp: {help}", self.engine.len())))
    }

    /// The words of a command line that say the same about switches, governor and latency.
    pub(crate) fn switch_words(&self) -> Vec<String> {
        let mut words = Vec::new();
        let mut option = |name: &str, value: String| words.extend([name.to_owned(), value]);
        for list in self.features.iter().filter(|list| !list.0.is_empty()) {
            let names =
                list.0.iter().map(|(feature, on)| format!("{}{}", if *on { "" } else { "NO_" }, feature.name()));
            option("--features", names.collect::<Vec<_>>().join(","));
        }
        for (name, value) in &self.set {
            option("--set", format!("{name}={value}"));
        }
        if let Some(governor) = self.governor {
            option("--governor", governor.name().to_owned());
        }
        if let Some(latency) = self.cpu_dma_latency {
            option("--cpu-dma-latency", format!("{}ns", latency.0));
        }
        if let Some(plain) = self.plain {
            words.push(format!("--plain={}", plain.name()));
        }
        words
    }

    /// Whether kernel code costs what the machine's file says.
    pub(crate) fn price_choice(&self) -> PriceChoice {
        self.prices.unwrap_or(PriceChoice::Machine)
    }
}

/// What is left of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Plain {
    Shape,
    Priced,
}

impl Plain {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Shape => "shape",
            Self::Priced => "priced",
        }
    }
}

/// What kernel code costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum PriceChoice {
    Machine,
    Zero,
}

impl PriceChoice {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Machine => "machine",
            Self::Zero => "zero",
        }
    }
}

/// How many runs there are at a time.
#[derive(Clone, Copy, Debug, ClapArgs)]
pub(crate) struct JobsArgs {
    /// Make at most so many runs at a time; results do not depend on it [default: one for each core]
    #[arg(short, long, value_name = "N")]
    jobs: Option<NonZeroUsize>,
}

impl JobsArgs {
    /// Before the first run.
    pub(crate) fn apply(self) {
        if let Some(jobs) = self.jobs {
            pool::limit(jobs);
        }
    }
}

const EXPLAIN_EXAMPLES: &str = "\
DIR is what `fairlab run FILE -o DIR` has written. The run is repeated up to TIME, from the start of the run.

Examples:
  fairlab run app.json -o runs/1
  fairlab explain runs/1 --task ui --at 12.345ms     why is it on this CPU, why did it wait
  fairlab explain runs/1 --cpu 7 --at 12.345ms       why does it idle, or what does it run
  fairlab explain runs/1 --balance 7 --at 12.345ms   why did its balance passes pull, or not";

#[derive(Debug, ClapArgs)]
#[command(arg_required_else_help = true)]
#[command(after_help = EXPLAIN_EXAMPLES)]
#[command(group = clap::ArgGroup::new("question").required(true).args(["task", "cpu", "balance"]))]
pub(crate) struct ExplainArgs {
    /// Directory of the run
    #[arg(value_hint = ValueHint::DirPath)]
    pub(crate) dir: PathBuf,
    /// Why is this task where it is, and why did it wait: a task's name or pid, or what the page calls it
    #[arg(long, value_name = "NAME|PID")]
    pub(crate) task: Option<String>,
    /// Why does this CPU idle while others wait, or what does it run
    #[arg(long, value_name = "N")]
    pub(crate) cpu: Option<u32>,
    /// What did the last balance passes of this CPU find and do
    #[arg(long, value_name = "CPU")]
    pub(crate) balance: Option<u32>,
    /// The moment, after its events: 5s, 12.345ms, 1001us, ...
    #[arg(long, value_name = "TIME", value_parser = moment_of)]
    pub(crate) at: Nanos,
}

const FINDINGS_EXAMPLES: &str = "\
DIR is what `fairlab run FILE -o DIR` has written. The run is repeated. Of each finding: how bad it is, the rule, how often and how long,
why at its worst moment, and the command that explains that moment.

Examples:
  fairlab run app.json -o runs/1; fairlab findings runs/1
  fairlab findings runs/1 --latency 1ms --json";

#[derive(Debug, ClapArgs)]
#[command(after_help = FINDINGS_EXAMPLES)]
pub(crate) struct FindingsArgs {
    /// Directory of the run
    #[arg(value_hint = ValueHint::DirPath)]
    pub(crate) dir: PathBuf,
    /// For how long a CPU may idle while a task waits that may run there [default: two ticks, at least 4ms]
    #[arg(long, value_name = "TIME", value_parser = time_of)]
    pub(crate) idle: Option<Nanos>,
    /// How late a task may run after its wake-up [default: 10ms]
    #[arg(long, value_name = "TIME", value_parser = time_of)]
    pub(crate) latency: Option<Nanos>,
    /// How long a task may wait at a time [default: 500ms]
    #[arg(long, value_name = "TIME", value_parser = time_of)]
    pub(crate) starvation: Option<Nanos>,
    /// Explain so many of the worst findings
    #[arg(long, value_name = "N", default_value_t = 3)]
    pub(crate) explain: usize,
}

const REPORT_EXAMPLES: &str = "\
DIR is what `fairlab run FILE -o DIR` has written. The runs are repeated. The page needs no network.

Examples:
  fairlab run app.json -o runs/with; fairlab run app.json --features NO_SIS_UTIL -o runs/without
  fairlab report runs/with runs/without -o app.html";

#[derive(Debug, ClapArgs)]
#[command(after_help = REPORT_EXAMPLES)]
pub(crate) struct ReportArgs {
    /// Directories of runs; others are compared with the first
    #[arg(value_name = "DIR", required = true, value_hint = ValueHint::DirPath)]
    pub(crate) dirs: Vec<PathBuf>,
    /// File to write
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) output: PathBuf,
    /// Write what the page has of the first run to standard output: a worker of a run with an engine.
    #[arg(long, hide = true)]
    pub(crate) engine_page: bool,
}

#[derive(Debug, ClapArgs)]
#[command(after_help = export::help())]
pub(crate) struct ExportCommandArgs {
    /// Directory of the run, as `fairlab run FILE -o DIR` has written it
    #[arg(value_hint = ValueHint::DirPath)]
    pub(crate) dir: PathBuf,
    /// Format, from the list below
    #[arg(short, long, value_name = "FORMAT", value_parser = hinted(format_of, hints::formats))]
    pub(crate) format: &'static ExportFormat,
    /// File to write; `-` is standard output [default: DIR/trace.* with the format's ending]
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) output: Option<String>,
    /// Which events the trace has, from the list below; or all [default: what suits the format]
    #[arg(long, value_name = "GROUP,GROUP", value_delimiter = ',', value_parser = hinted(group_of, hints::groups))]
    pub(crate) events: Vec<EventGroups>,
    /// Tell only of this task or family, by name or pid: for formats with a file of each task
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
    pub(crate) variant: VariantArgs,
    /// Keep all of equal keys in an object of an rt-app file; rt-app itself keeps the last one
    #[arg(long)]
    pub(crate) keep_duplicate_keys: bool,
}

#[derive(Debug, ClapArgs)]
#[command(arg_required_else_help = true)]
#[command(
    after_help = "Examples:\n  fairlab machine list\n  fairlab machine show xeon-2s-224\n  fairlab machine show --toml hikey960 > mine.toml\n  fairlab machine domains xeon-2s-224 --cpu 0\n  fairlab machine capture -o mine.toml"
)]
pub(crate) struct MachineArgs {
    #[command(subcommand)]
    pub(crate) command: MachineCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum MachineCommand {
    /// List the machines that come with fairlab
    List,
    /// Show a machine: CPUs, caches, frequencies, idle states, prices
    Show {
        /// Name of a machine, or path of a machine file
        #[arg(value_parser = hints::text(hints::machines))]
        machine: String,
        /// Write its file, to start your own from
        #[arg(long)]
        toml: bool,
    },
    /// Describe this machine, or one whose sysfs, hwloc XML or lscpu output was saved, as a machine file
    Capture(CaptureArgs),
    /// Show the sched domains that a kernel builds on a machine, as its debugfs has them, and their groups
    Domains {
        /// Name of a machine, or path of a machine file
        #[arg(value_parser = hints::text(hints::machines))]
        machine: String,
        /// Those of this CPU only
        #[arg(long, value_name = "N")]
        cpu: Option<u32>,
    },
}

#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:\n  fairlab kernels\n  fairlab kernels 5.10\n  fairlab run app.json --kernel 5.10")]
pub(crate) struct KernelsArgs {
    /// One of them
    #[arg(value_name = "RELEASE", value_parser = hinted(kernel_of, hints::releases))]
    pub(crate) kernel: Option<Kernel>,
}

#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:\n  fairlab features\n  fairlab features SIS_UTIL")]
pub(crate) struct FeaturesArgs {
    /// One of them
    #[arg(value_name = "NAME", value_parser = hinted(feature_name_of, hints::feature_names))]
    pub(crate) feature: Option<Feature>,
}

#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Examples:\n  fairlab tunables\n  fairlab tunables migration_cost_ns\n  fairlab tunables --machine xeon-2s-224 --json"
)]
pub(crate) struct TunablesArgs {
    /// One of them
    #[arg(value_name = "NAME", value_parser = hinted(tunable_of, hints::tunable_names))]
    pub(crate) tunable: Option<&'static TunableInfo>,
    /// Show the defaults of a machine with so many CPUs [default: 8]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..), conflicts_with = "machine")]
    pub(crate) cpus: Option<u16>,
    /// Show the defaults of this machine
    #[arg(long, value_name = "NAME|PATH", value_parser = hints::text(hints::machines))]
    pub(crate) machine: Option<String>,
}

const STUDY_EXAMPLES: &str = "\
Examples:
  fairlab study list
  fairlab study run pelt-time-scaling --quick   a study that comes with fairlab
  fairlab study new mine                        mine.toml, to start your own from
  fairlab study check mine.toml                 is all well, and does each run begin
  fairlab study run mine.toml -o out            out/mine.html, out/mine.json, and pictures";

#[derive(Debug, ClapArgs)]
#[command(arg_required_else_help = true)]
#[command(after_help = STUDY_EXAMPLES)]
pub(crate) struct StudyArgs {
    #[command(subcommand)]
    pub(crate) command: StudyCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum StudyCommand {
    /// List the studies
    List,
    /// Write NAME.toml: a study that runs as it is, with all keys and their meaning
    New {
        /// Name of the study, or path of its file
        name: String,
    },
    /// Check a study's file: read it, look for all that it names, and begin each run
    Check {
        /// Name of a study, or its file
        #[arg(value_parser = hints::text(hints::studies))]
        study: String,
        #[command(flatten)]
        jobs: JobsArgs,
    },
    /// Run a study: its published tables with the simulated figures beside them
    Run(Box<StudyRunArgs>),
}

#[derive(Debug, ClapArgs)]
pub(crate) struct StudyRunArgs {
    /// Name of a study, or its file
    #[arg(value_parser = hints::text(hints::studies))]
    pub(crate) study: String,
    /// Shorter runs: a first impression
    #[arg(long)]
    pub(crate) quick: bool,
    /// Only this table, by the name that it has in the study's file; may be given several times
    #[arg(long = "table", value_name = "NAME")]
    pub(crate) tables: Vec<String>,
    /// Only rows whose names begin so; may be given several times
    #[arg(long = "row", value_name = "TEXT")]
    pub(crate) rows: Vec<String>,
    /// How many seeds each run has
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=100_000))]
    pub(crate) seeds: Option<u64>,
    /// Length of each run that has one: 5s, 300ms, ...
    #[arg(long, value_name = "TIME", value_parser = time_of)]
    pub(crate) span: Option<Nanos>,
    /// Permute what happens at one instant, another way for each N: what changes is an accident
    #[arg(long, value_name = "N")]
    pub(crate) perturb: Option<u64>,
    /// Machine of all runs, unless an arm has its own
    #[arg(long, value_name = "NAME|PATH", value_parser = hints::text(hints::machines))]
    pub(crate) machine: Option<String>,
    /// The scheduler of a kernel tree in place of the built-in one, as `fairlab kernel add NAME` has built it
    ///
    /// For studies of data; an arm that wants what the tree has not is refused. No row is then evidence for the model.
    #[arg(long, value_name = "kernel:NAME", value_parser = hinted(engine_of, hints::engines))]
    pub(crate) engine: Option<EngineName>,
    /// With --engine: machines as `fairlab run --plain` takes them; --plain=priced with prices and idle states
    #[arg(
        long, value_enum, value_name = "shape|priced", num_args = 0..=1, require_equals = true, default_missing_value = "shape",
        hide_possible_values = true, requires = "engine"
    )]
    pub(crate) plain: Option<Plain>,
    /// The one run that a worker makes: its case, ...
    #[arg(long, hide = true, requires_all = ["engine", "engine_arm", "engine_seed"])]
    pub(crate) engine_case: Option<String>,
    /// ... its arm, ...
    #[arg(long, hide = true)]
    pub(crate) engine_arm: Option<String>,
    /// ... and its seed.
    #[arg(long, hide = true)]
    pub(crate) engine_seed: Option<u64>,
    /// Write the report as DIR/NAME.html, a page by itself, and DIR/NAME.json, and pictures as DIR/*.svg
    #[arg(short, long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) jobs: JobsArgs,
}

#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Outputs say their form in `schema`: its name and version. A new field leaves the version alone.\n\nExamples:\n  fairlab schema\n  fairlab schema run > run.schema.json"
)]
pub(crate) struct SchemaArgs {
    /// The form: run, compare, trace, ...
    #[arg(value_name = "NAME", value_parser = hinted(SchemaEntry::named, hints::forms))]
    pub(crate) form: Option<&'static SchemaEntry>,
}

#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:\n  fairlab man | man -l -\n  fairlab man ~/.local/share/man/man1")]
pub(crate) struct ManArgs {
    /// Directory for a page of each command [default: the first page, to standard output]
    #[arg(value_hint = ValueHint::DirPath)]
    pub(crate) dir: Option<PathBuf>,
}

#[derive(Debug, ClapArgs)]
#[command(arg_required_else_help = true)]
#[command(
    after_help = "Examples:\n  fairlab completions bash > ~/.local/share/bash-completion/completions/fairlab\n  fairlab completions zsh > ~/.zfunc/_fairlab"
)]
pub(crate) struct CompletionsArgs {
    /// The shell
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
