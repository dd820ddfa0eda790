// SPDX-License-Identifier: GPL-2.0-or-later
//! Command lines of `fairlab bench`: each benchmark has its own options.

use crate::args::VariantArgs;
use crate::exports::ExportArgs;
use crate::values::parse_time;
use clap::{Args, Subcommand, ValueEnum};
use fairlab_sched::units::Nanos;

const EXAMPLES: &str = "\
Examples:
  fairlab bench schbench --release 2020 -m 2 -t 2 -r 5 --machine sc7180
  fairlab bench hackbench -g 4 -f 14 -l 1000 --pipe --machine xeon-2s-224
  fairlab bench netperf -t TCP_RR -l 1 --instances 28 --machine xeon-2s-224 --kernel 5.18
  fairlab bench perf sched pipe -l 10000 --machine hikey
  fairlab bench cyclictest -t 8 -S -p 80 --hogs 16 --for 2s

Each model prints the output of its benchmark. --machine, --kernel, --features, --set, --prices, --seed and --for \
are options of fairlab.";

/// Run the model of a benchmark with the benchmark's own options, and print its results in the benchmark's
/// own format
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
    /// Network load of a file server
    Tbench(TbenchArgs),
    /// Latencies of real-time threads that wait for a timer
    Cyclictest(CyclictestArgs),
    /// The sock stressor of stress-ng
    StressNg(StressNgArgs),
    /// Database transactions with the mix of sysbench's oltp_read_write
    Oltp(OltpArgs),
    /// Build of many small files with make -jN
    Make(MakeArgs),
}

/// Options of fairlab for a benchmark: machine, seed, duration, traces.
#[derive(Debug, Args)]
#[command(next_help_heading = "Options of fairlab")]
pub(crate) struct On {
    #[command(flatten)]
    pub(crate) variant: VariantArgs,
    /// Seed of all random numbers of the scheduler and the benchmark
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// Also randomise start times, from the seed
    #[arg(long, requires = "seed")]
    pub(crate) vary: bool,
    /// Permute simultaneous events, differently for each N; results that change depend only on the order of
    /// simultaneous events
    #[arg(long, value_name = "N")]
    pub(crate) perturb: Option<u64>,
    /// Longest simulated time: 5s, 300ms, ... [default: from the benchmark's options]
    #[arg(long = "for", value_name = "TIME", value_parser = parse_time)]
    pub(crate) duration: Option<Nanos>,
    /// Simulated time before anything is measured: 500ms, ...
    ///
    /// A machine that has just started is not in its steady state: the first periodic balancing sets search
    /// limits, and averages take some hundred milliseconds. The durations of --for and of the benchmark's
    /// options are counted after the warm-up.
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub(crate) warmup: Option<Nanos>,
    #[command(flatten)]
    pub(crate) exports: ExportArgs,
    /// Report one run in full, as the worker of several runs with an engine.
    #[arg(long, hide = true, requires = "engine")]
    pub(crate) engine_trial: bool,
}

/// Version of schbench. Versions differ in the work of each thread and in their output.
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
    /// Version of schbench: 2016, 2020, 2021 or 2025 (the current one)
    #[arg(long, value_enum, default_value_t = Release::Y2025, value_name = "YEAR", hide_possible_values = true)]
    pub(crate) release: Release,
    /// Number of message threads [default: 1; 2 until 2021]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(crate) message_threads: Option<u32>,
    /// Number of worker threads per message thread [default: CPUs / message threads; 16 until 2021]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub(crate) threads: Option<u32>,
    /// Duration, in seconds
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
    /// 2025: requests per second; 0 means without a limit [default: 0]
    #[arg(short = 'R', long, value_name = "N", value_parser = clap::value_parser!(u64).range(..=10_000_000))]
    pub(crate) rps: Option<u64>,
    /// 2025: matrix multiplications per request [default: 5]
    #[arg(short = 'n', long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub(crate) operations: Option<u64>,
    /// 2025: cache footprint, in kilobytes [default: 256]
    #[arg(short = 'F', long = "cache_footprint", value_name = "KB", value_parser = clap::value_parser!(u64).range(1..=1_048_576))]
    pub(crate) cache_footprint: Option<u64>,
    /// 2025: do not take the per-CPU locks
    #[arg(short = 'L', long)]
    pub(crate) no_locking: bool,
    #[command(flatten)]
    pub(crate) on: On,
}

#[derive(Debug, Args)]
pub(crate) struct HackbenchArgs {
    /// Number of groups
    #[arg(short, long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(crate) groups: u32,
    /// Number of senders per group, and of receivers
    #[arg(short, long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(crate) fds: u32,
    /// Number of messages from each sender to each receiver
    #[arg(short, long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..=100_000_000))]
    pub(crate) loops: u64,
    /// Size of a message, in bytes
    #[arg(short = 's', long, value_name = "BYTES", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub(crate) datasize: u32,
    /// Use pipes instead of sockets
    #[arg(short, long, conflicts_with = "sockets")]
    pub(crate) pipe: bool,
    /// Use sockets, which is the default
    #[arg(long)]
    pub(crate) sockets: bool,
    /// Use threads instead of processes
    #[arg(short = 'T', long, conflicts_with = "process")]
    pub(crate) threads: bool,
    /// Use processes, which is the default
    #[arg(short = 'P', long)]
    pub(crate) process: bool,
    /// Start all tasks at once, instead of one that creates the others and releases them together (an option
    /// of fairlab)
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
    /// Test to run
    #[arg(short = 't', value_enum, value_name = "TEST", default_value_t = NetperfTest::TcpRr)]
    pub(crate) test: NetperfTest,
    /// Duration, in seconds
    #[arg(short = 'l', value_name = "S", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub(crate) length: u64,
    /// Server: only this machine
    #[arg(short = 'H', value_name = "HOST", default_value = "127.0.0.1", value_parser = ["127.0.0.1", "localhost"])]
    pub(crate) host: String,
    /// Use IPv4: accepted, without effect
    #[arg(short = '4')]
    pub(crate) ipv4: bool,
    /// Measure CPU utilisation of the client: accepted, not reported
    #[arg(short = 'c')]
    pub(crate) local_cpu: bool,
    /// Measure CPU utilisation of the server: accepted, not reported
    #[arg(short = 'C')]
    pub(crate) remote_cpu: bool,
    /// Number of netperf instances at the same time
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub(crate) instances: u32,
    /// Work of client and server outside the kernel per transaction, in nanoseconds at full capacity
    #[arg(long, value_name = "NS", default_value_t = 500, value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    pub(crate) own_work: u64,
    /// CPU time of the shell that starts the instances, per instance, in microseconds
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
    /// Two tasks that pass a token through two pipes
    Pipe(PerfPipeArgs),
    /// Groups of senders and receivers, like hackbench
    Messaging(PerfMessagingArgs),
}

#[derive(Debug, Args)]
pub(crate) struct PerfPipeArgs {
    /// Number of round trips
    #[arg(short, long = "loop", value_name = "N", default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    pub(crate) loops: u64,
    /// Use threads instead of processes
    #[arg(short = 'T', long)]
    pub(crate) threaded: bool,
    #[command(flatten)]
    pub(crate) on: On,
}

#[derive(Debug, Args)]
pub(crate) struct PerfMessagingArgs {
    /// Number of groups
    #[arg(short, long = "group", value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(crate) groups: u32,
    /// Number of messages from each sender to each receiver
    #[arg(short, long = "nr_loops", value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..=100_000_000))]
    pub(crate) loops: u64,
    /// Use pipes instead of sockets
    #[arg(short, long)]
    pub(crate) pipe: bool,
    /// Use threads instead of processes
    #[arg(short, long)]
    pub(crate) thread: bool,
    #[command(flatten)]
    pub(crate) on: On,
}

#[derive(Debug, Args)]
pub(crate) struct TbenchArgs {
    /// Number of clients
    #[arg(value_name = "NPROCS", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub(crate) clients: u32,
    /// Server: only this machine
    #[arg(value_name = "SERVER", default_value = "127.0.0.1", value_parser = ["127.0.0.1", "localhost"])]
    pub(crate) server: String,
    /// Duration, in seconds
    #[arg(short = 't', long = "timelimit", value_name = "S", default_value_t = 600, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub(crate) time: u64,
    #[command(flatten)]
    pub(crate) on: On,
}

#[derive(Debug, Args)]
pub(crate) struct CyclictestArgs {
    /// Number of threads [default: 1; with -S one per CPU]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub(crate) threads: Option<u32>,
    /// SCHED_FIFO priority of the first thread; 0 means the fair class
    #[arg(short = 'p', long, value_name = "PRIO", default_value_t = 0, value_parser = clap::value_parser!(u8).range(..=99))]
    pub(crate) priority: u8,
    /// Interval of the first thread, in microseconds
    #[arg(short, long, value_name = "US", default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    pub(crate) interval: u64,
    /// Difference between the intervals of two threads, in microseconds [default: 500; with -S 0]
    #[arg(short, long, value_name = "US", value_parser = clap::value_parser!(u64).range(..=1_000_000_000))]
    pub(crate) distance: Option<u64>,
    /// Number of cycles of each thread; 0 means until the end of --for [default: 0, for 5 s]
    #[arg(short, long, value_name = "N", default_value_t = 0)]
    pub(crate) loops: u64,
    /// Run one thread on each CPU, all with equal priority
    #[arg(short = 'S', long)]
    pub(crate) smp: bool,
    /// Pin each thread to its own CPU
    #[arg(short, long)]
    pub(crate) affinity: bool,
    /// Exit latency to request through /dev/cpu_dma_latency, in microseconds: no CPU enters an idle state
    /// with a longer one
    #[arg(short = 'e', long, value_name = "PM_QOS", default_value_t = 0, value_parser = clap::value_parser!(u32).range(..=2_000_000_000))]
    pub(crate) latency: u32,
    /// Do not open /dev/cpu_dma_latency: idle CPUs sleep as without cyclictest
    #[arg(long, conflicts_with = "latency")]
    pub(crate) laptop: bool,
    /// Change no setting of the system; has the effect of --laptop
    #[arg(long, conflicts_with = "latency")]
    pub(crate) default_system: bool,
    /// Number of busy tasks of the fair class beside the threads (an option of fairlab)
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u32).range(..=4096))]
    pub(crate) hogs: u32,
    #[command(flatten)]
    pub(crate) on: On,
}

#[derive(Debug, Args)]
pub(crate) struct StressNgArgs {
    /// Number of instances of the sock stressor
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub(crate) sock: u32,
    /// Duration: seconds, or a time such as 300ms
    #[arg(short, long, value_name = "T", default_value = "10", value_parser = seconds_or_time)]
    pub(crate) timeout: Nanos,
    /// Report metrics: accepted, they are always reported
    #[arg(long)]
    pub(crate) metrics: bool,
    #[command(flatten)]
    pub(crate) on: On,
}

#[derive(Debug, Args)]
pub(crate) struct OltpArgs {
    /// Number of client threads, each with one server thread
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub(crate) threads: u32,
    /// Duration, in seconds
    #[arg(long, value_name = "S", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub(crate) time: u64,
    #[command(flatten)]
    pub(crate) on: On,
}

#[derive(Debug, Args)]
pub(crate) struct MakeArgs {
    /// Number of compilations at the same time
    #[arg(short, long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub(crate) jobs: u32,
    /// Number of files to compile (an option of fairlab)
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) objects: u32,
    #[command(flatten)]
    pub(crate) on: On,
}

/// Parses a number of seconds, or a time with its unit.
fn seconds_or_time(text: &str) -> Result<Nanos, String> {
    parse_time(text).or_else(|why| parse_time(&format!("{text}s")).map_err(|_| why))
}
