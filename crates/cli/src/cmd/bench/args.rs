// SPDX-License-Identifier: GPL-2.0-or-later
//! The command lines of `fairlab bench`: each benchmark has the options that it has itself.

use crate::args::VariantArgs;
use crate::exports::ExportArgs;
use crate::values::time_of;
use clap::{Args, Subcommand, ValueEnum};
use fairlab_sched::units::Nanos;

const EXAMPLES: &str = "\
Examples:
  fairlab bench schbench --release 2020 -m 2 -t 2 -r 5 --machine sc7180
  fairlab bench hackbench -g 4 -f 14 -l 1000 --pipe --machine xeon-2s-224
  fairlab bench netperf -t TCP_RR -l 1 --instances 28 --machine xeon-2s-224 --kernel 5.18
  fairlab bench perf sched pipe -l 10000 --machine hikey
  fairlab bench cyclictest -t 8 -S -p 80 --hogs 16 --for 2s

Each prints what the benchmark prints. --machine, --kernel, --features, --set, --prices, --seed and --for are fairlab's own.";

/// Run the model of a benchmark with the benchmark's own options, and print its results in the benchmark's own form
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, arg_required_else_help = true)]
pub(crate) struct BenchArgs {
    #[command(subcommand)]
    pub(crate) bench: Bench,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Bench {
    /// Wake-up latencies of workers that wait for message threads
    Schbench(SchbenchArgs),
    /// Groups of senders and receivers over sockets or pipes
    Hackbench(HackbenchArgs),
    /// Requests and responses over the loopback device
    Netperf(NetperfArgs),
    /// perf bench sched pipe, perf bench sched messaging
    Perf(PerfArgs),
    /// The network part of a file server's load
    Tbench(TbenchArgs),
    /// Latencies of real-time threads that wait for a timer
    Cyclictest(CyclictestArgs),
    /// stress-ng's sock stressor
    StressNg(StressNgArgs),
    /// A mix like sysbench's oltp_read_write
    Oltp(OltpArgs),
    /// A build of many small files with make -jN
    Make(MakeArgs),
}

/// Where and how a benchmark runs: fairlab's own options.
#[derive(Debug, Args)]
#[command(next_help_heading = "Options of fairlab")]
pub(crate) struct On {
    #[command(flatten)]
    pub(crate) variant: VariantArgs,
    /// Draw everything random in the scheduler and in the benchmark from this seed
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// Vary with the seed what nobody holds still: when tasks start, against the tick and each other
    #[arg(long, requires = "seed")]
    pub(crate) vary: bool,
    /// Permute what happens at one instant, another way for each N: what changes is an accident
    #[arg(long, value_name = "N")]
    pub(crate) perturb: Option<u64>,
    /// How long to simulate at most: 5s, 300ms, ... [default: what the benchmark's options say]
    #[arg(long = "for", value_name = "TIME", value_parser = time_of)]
    pub(crate) duration: Option<Nanos>,
    /// Simulate for this long before anything is measured: 500ms, ...
    ///
    /// A machine that has just started is not yet what it will be: limits of searches come with the first periodic balancing,
    /// averages take some hundred milliseconds. The warm-up comes before what --for or the benchmark's options say.
    #[arg(long, value_name = "TIME", value_parser = time_of)]
    pub(crate) warmup: Option<Nanos>,
    #[command(flatten)]
    pub(crate) exports: ExportArgs,
    /// One of several runs with an engine, of which a worker tells all.
    #[arg(long, hide = true, requires = "engine")]
    pub(crate) engine_trial: bool,
}

/// Which schbench: they differ in who works when, and in what is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Release {
    #[value(name = "2016")]
    Y2016,
    #[value(name = "2020")]
    Y2020,
    #[value(name = "2021")]
    Y2021,
    #[value(name = "2025")]
    Y2025,
}

#[derive(Debug, Args)]
pub(crate) struct SchbenchArgs {
    /// Which schbench: 2016, 2020, 2021 or 2025 (today's)
    #[arg(long, value_enum, default_value_t = Release::Y2025, value_name = "YEAR", hide_possible_values = true)]
    pub(crate) release: Release,
    /// Message threads [default: 1; 2 until 2021]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(crate) message_threads: Option<u32>,
    /// Worker threads of each message thread [default: CPUs / message threads; 16 until 2021]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub(crate) threads: Option<u32>,
    /// How long to run, in seconds
    #[arg(short, long, value_name = "S", default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub(crate) runtime: u64,
    /// Sleep of a request, in microseconds [default: 100]; until 2021: of a message thread [default: 30000]
    #[arg(short, long = "sleep-usec", visible_alias = "sleeptime", value_name = "US", value_parser = clap::value_parser!(u64).range(..=1_000_000_000))]
    pub(crate) sleep: Option<u64>,
    /// Until 2021: work of a worker, in microseconds [default: 30000]
    #[arg(short, long, value_name = "US", value_parser = clap::value_parser!(u64).range(..=1_000_000_000))]
    pub(crate) cputime: Option<u64>,
    /// 2020 and 2021: work of a message thread, in microseconds [default: 30000]
    #[arg(short = 'C', long, value_name = "US", value_parser = clap::value_parser!(u64).range(..=1_000_000_000))]
    pub(crate) message_cputime: Option<u64>,
    /// Today's: requests per second; 0: as fast as they go [default: 0]
    #[arg(short = 'R', long, value_name = "N", value_parser = clap::value_parser!(u64).range(..=10_000_000))]
    pub(crate) rps: Option<u64>,
    /// Today's: matrix products of a request [default: 5]
    #[arg(short = 'n', long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub(crate) operations: Option<u64>,
    /// Today's: cache footprint in kilobytes [default: 256]
    #[arg(short = 'F', long = "cache_footprint", value_name = "KB", value_parser = clap::value_parser!(u64).range(1..=1_048_576))]
    pub(crate) cache_footprint: Option<u64>,
    /// Today's: without the locks of CPUs
    #[arg(short = 'L', long)]
    pub(crate) no_locking: bool,
    #[command(flatten)]
    pub(crate) on: On,
}

#[derive(Debug, Args)]
pub(crate) struct HackbenchArgs {
    /// Groups
    #[arg(short, long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(crate) groups: u32,
    /// Senders of a group, and as many receivers
    #[arg(short, long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(crate) fds: u32,
    /// Messages of each sender to each receiver
    #[arg(short, long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..=100_000_000))]
    pub(crate) loops: u64,
    /// Bytes of a message
    #[arg(short = 's', long, value_name = "BYTES", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub(crate) datasize: u32,
    /// Pipes instead of sockets
    #[arg(short, long, conflicts_with = "sockets")]
    pub(crate) pipe: bool,
    /// Sockets: the default
    #[arg(long)]
    pub(crate) sockets: bool,
    /// Threads instead of processes
    #[arg(short = 'T', long, conflicts_with = "process")]
    pub(crate) threads: bool,
    /// Processes: the default
    #[arg(short = 'P', long)]
    pub(crate) process: bool,
    /// All tasks start at once, instead of one that creates the others and releases them together (fairlab's own)
    #[arg(long)]
    pub(crate) at_once: bool,
    #[command(flatten)]
    pub(crate) on: On,
}

/// Tests of netperf that are modelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum NetperfTest {
    #[value(name = "TCP_RR")]
    TcpRr,
    #[value(name = "UDP_RR")]
    UdpRr,
}

#[derive(Debug, Args)]
pub(crate) struct NetperfArgs {
    /// Test
    #[arg(short = 't', value_enum, value_name = "TEST", default_value_t = NetperfTest::TcpRr)]
    pub(crate) test: NetperfTest,
    /// Length in seconds
    #[arg(short = 'l', value_name = "S", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub(crate) length: u64,
    /// Server: only this machine
    #[arg(short = 'H', value_name = "HOST", default_value = "127.0.0.1", value_parser = ["127.0.0.1", "localhost"])]
    pub(crate) host: String,
    /// IPv4: accepted, makes no difference
    #[arg(short = '4')]
    pub(crate) ipv4: bool,
    /// CPU use of the client: accepted, not told
    #[arg(short = 'c')]
    pub(crate) local_cpu: bool,
    /// CPU use of the server: accepted, not told
    #[arg(short = 'C')]
    pub(crate) remote_cpu: bool,
    /// How many netperfs run at once
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub(crate) instances: u32,
    /// What client and server each do themselves in a transaction, in nanoseconds at full speed
    #[arg(long, value_name = "NS", default_value_t = 500, value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    pub(crate) own_work: u64,
    /// How long the shell that starts them is busy with each, in microseconds
    #[arg(long, value_name = "US", default_value_t = 0, value_parser = clap::value_parser!(u64).range(..=1_000_000))]
    pub(crate) start_every: u64,
    #[command(flatten)]
    pub(crate) on: On,
}

#[derive(Debug, Args)]
pub(crate) struct PerfArgs {
    #[command(subcommand)]
    pub(crate) perf: Perf,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Perf {
    /// Benchmarks; only those of the scheduler
    #[command(alias = "bench")]
    Sched(PerfSchedArgs),
}

#[derive(Debug, Args)]
pub(crate) struct PerfSchedArgs {
    #[command(subcommand)]
    pub(crate) sched: PerfSched,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PerfSched {
    /// Two tasks pass a token through two pipes
    Pipe(PerfPipeArgs),
    /// Groups of senders and receivers: hackbench
    Messaging(PerfMessagingArgs),
}

#[derive(Debug, Args)]
pub(crate) struct PerfPipeArgs {
    /// Rounds
    #[arg(short, long = "loop", value_name = "N", default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    pub(crate) loops: u64,
    /// Threads instead of processes
    #[arg(short = 'T', long)]
    pub(crate) threaded: bool,
    #[command(flatten)]
    pub(crate) on: On,
}

#[derive(Debug, Args)]
pub(crate) struct PerfMessagingArgs {
    /// Groups
    #[arg(short, long = "group", value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(crate) groups: u32,
    /// Messages of each sender to each receiver
    #[arg(short, long = "nr_loops", value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..=100_000_000))]
    pub(crate) loops: u64,
    /// Pipes instead of sockets
    #[arg(short, long)]
    pub(crate) pipe: bool,
    /// Threads instead of processes
    #[arg(short, long)]
    pub(crate) thread: bool,
    #[command(flatten)]
    pub(crate) on: On,
}

#[derive(Debug, Args)]
pub(crate) struct TbenchArgs {
    /// Clients
    #[arg(value_name = "NPROCS", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub(crate) clients: u32,
    /// Server: only this machine
    #[arg(value_name = "SERVER", default_value = "127.0.0.1", value_parser = ["127.0.0.1", "localhost"])]
    pub(crate) server: String,
    /// How long to run, in seconds
    #[arg(short = 't', long = "timelimit", value_name = "S", default_value_t = 600, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub(crate) time: u64,
    #[command(flatten)]
    pub(crate) on: On,
}

#[derive(Debug, Args)]
pub(crate) struct CyclictestArgs {
    /// Threads [default: 1; with -S one for each CPU]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub(crate) threads: Option<u32>,
    /// Priority of the first thread (SCHED_FIFO); 0: the fair class
    #[arg(short = 'p', long, value_name = "PRIO", default_value_t = 0, value_parser = clap::value_parser!(u8).range(..=99))]
    pub(crate) priority: u8,
    /// Interval of the first thread in microseconds
    #[arg(short, long, value_name = "US", default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    pub(crate) interval: u64,
    /// Difference of intervals between two threads, in microseconds [default: 500; with -S 0]
    #[arg(short, long, value_name = "US", value_parser = clap::value_parser!(u64).range(..=1_000_000_000))]
    pub(crate) distance: Option<u64>,
    /// Cycles of each thread; 0: until --for [default: 0, for 5 s]
    #[arg(short, long, value_name = "N", default_value_t = 0)]
    pub(crate) loops: u64,
    /// A thread on each CPU, all alike
    #[arg(short = 'S', long)]
    pub(crate) smp: bool,
    /// Each thread on its own CPU
    #[arg(short, long)]
    pub(crate) affinity: bool,
    /// What it holds on /dev/cpu_dma_latency, in microseconds: no CPU enters an idle state that takes longer to leave
    #[arg(short = 'e', long, value_name = "PM_QOS", default_value_t = 0, value_parser = clap::value_parser!(u32).range(..=2_000_000_000))]
    pub(crate) latency: u32,
    /// Leave /dev/cpu_dma_latency alone: idle CPUs sleep as they would without cyclictest
    #[arg(long, conflicts_with = "latency")]
    pub(crate) laptop: bool,
    /// The same: tune nothing of the system
    #[arg(long, conflicts_with = "latency")]
    pub(crate) default_system: bool,
    /// Busy tasks of the fair class beside it (fairlab's own)
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u32).range(..=4096))]
    pub(crate) hogs: u32,
    #[command(flatten)]
    pub(crate) on: On,
}

#[derive(Debug, Args)]
pub(crate) struct StressNgArgs {
    /// Instances of the sock stressor
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub(crate) sock: u32,
    /// How long to run: seconds, or a time such as 300ms
    #[arg(short, long, value_name = "T", default_value = "10", value_parser = seconds_or_time)]
    pub(crate) timeout: Nanos,
    /// Accepted: the numbers are always told
    #[arg(long)]
    pub(crate) metrics: bool,
    #[command(flatten)]
    pub(crate) on: On,
}

#[derive(Debug, Args)]
pub(crate) struct OltpArgs {
    /// Client threads, each with a thread of the server
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub(crate) threads: u32,
    /// How long to run, in seconds
    #[arg(long, value_name = "S", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub(crate) time: u64,
    #[command(flatten)]
    pub(crate) on: On,
}

#[derive(Debug, Args)]
pub(crate) struct MakeArgs {
    /// Compilations at a time
    #[arg(short, long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub(crate) jobs: u32,
    /// Files to be compiled (fairlab's own)
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) objects: u32,
    #[command(flatten)]
    pub(crate) on: On,
}

/// A number of seconds, or a time with its unit.
fn seconds_or_time(text: &str) -> Result<Nanos, String> {
    time_of(text).or_else(|why| time_of(&format!("{text}s")).map_err(|_| why))
}
