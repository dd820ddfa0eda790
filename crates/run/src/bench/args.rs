// SPDX-License-Identifier: GPL-2.0-or-later
//! Command lines of benchmarks: each has its own options, and prints its own output.

use crate::values::{parse_time, parse_two_cpus};
use clap::{Args, Subcommand, ValueEnum};
use fairlab_sched::units::Nanos;
use fairlab_workload::bench::netperf::OWN_WORK;
use fairlab_workload::message::Message;

/// Benchmark on a command line.
#[derive(Debug, Subcommand)]
pub(super) enum BenchCommand {
    /// Wake-up latencies of workers that wait for message threads
    Schbench(SchbenchArgs),
    /// Groups of senders and receivers over sockets or pipes
    Hackbench(HackbenchArgs),
    /// Requests and responses over the loopback device
    Netperf(NetperfArgs),
    /// perf bench sched pipe, perf bench sched messaging
    Perf {
        #[command(subcommand)]
        perf: Perf,
    },
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
    /// One operation of the kernel, repeated, as `fairlab machine validate` measures it
    Micro(MicroArgs),
}

/// Version of schbench. Versions differ in the work of each thread and in their output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Release {
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
pub(super) struct SchbenchArgs {
    /// Version of schbench: 2016, 2020, 2021 or 2025 (the current one)
    #[arg(long, value_enum, default_value_t = Release::Y2025, value_name = "YEAR", hide_possible_values = true)]
    pub(super) release: Release,
    /// Number of message threads [default: 1; 2 until 2021]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(super) message_threads: Option<u32>,
    /// Number of worker threads per message thread [default: CPUs / message threads; 16 until 2021]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub(super) threads: Option<u32>,
    /// Duration, in seconds; 0: until it is stopped, which --for has to do
    #[arg(short, long, value_name = "S", default_value_t = 30, value_parser = clap::value_parser!(u64).range(..=1_000_000))]
    pub(super) runtime: u64,
    /// Sleep of a request, in microseconds [default: 100]; until 2021: of a message thread [default: 30000]
    #[arg(short, long = "sleep-usec", visible_alias = "sleeptime", value_name = "US", value_parser = clap::value_parser!(u64).range(..=1_000_000_000))]
    pub(super) sleep: Option<u64>,
    /// Until 2021: work of a worker, in microseconds [default: 30000]
    #[arg(short, long, value_name = "US", value_parser = clap::value_parser!(u64).range(..=1_000_000_000))]
    pub(super) cputime: Option<u64>,
    /// 2020 and 2021: work of a message thread, in microseconds [default: 30000]
    #[arg(short = 'C', long, value_name = "US", value_parser = clap::value_parser!(u64).range(..=1_000_000_000))]
    pub(super) message_cputime: Option<u64>,
    /// 2025: requests per second; 0 means without a limit [default: 0]
    #[arg(short = 'R', long, value_name = "N", value_parser = clap::value_parser!(u64).range(..=10_000_000))]
    pub(super) rps: Option<u64>,
    /// 2025: matrix multiplications per request [default: 5]
    #[arg(short = 'n', long, value_name = "N", value_parser = clap::value_parser!(u64).range(..=1_000_000))]
    pub(super) operations: Option<u64>,
    /// 2025: cache footprint, in kilobytes [default: 256]
    #[arg(short = 'F', long = "cache_footprint", value_name = "KB", value_parser = clap::value_parser!(u64).range(1..=1_048_576))]
    pub(super) cache_footprint: Option<u64>,
    /// 2025: do not take the per-CPU locks
    #[arg(short = 'L', long)]
    pub(super) no_locking: bool,
    /// 2025: give each message thread a CPU; lists of CPUs are not modelled
    #[arg(short = 'M', long, value_name = "auto")]
    pub(super) message_cpus: Option<AutoPinning>,
}

/// Value of schbench's `-M`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum AutoPinning {
    Auto,
}

#[derive(Debug, Args)]
pub(super) struct HackbenchArgs {
    /// Number of groups
    #[arg(short, long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(super) groups: u32,
    /// Number of senders per group, and of receivers
    #[arg(short, long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(super) fds: u32,
    /// Number of messages from each sender to each receiver
    #[arg(short, long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..=100_000_000))]
    pub(super) loops: u64,
    /// Size of a message, in bytes
    #[arg(short = 's', long, value_name = "BYTES", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub(super) datasize: u32,
    /// Use pipes instead of sockets
    #[arg(short, long, conflicts_with = "sockets")]
    pub(super) pipe: bool,
    /// Use sockets, which is the default
    #[arg(long)]
    pub(super) sockets: bool,
    /// Use threads instead of processes
    #[arg(short = 'T', long, conflicts_with = "process")]
    pub(super) threads: bool,
    /// Use processes, which is the default
    #[arg(short = 'P', long)]
    pub(super) process: bool,
    /// Start all tasks at once, instead of one that creates the others and releases them together (an option
    /// of fairlab)
    #[arg(long)]
    pub(super) at_once: bool,
}

/// How the instances of a benchmark begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum StartsArg {
    Shell,
    AtOnce,
}

/// Tests of netperf that are modelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum NetperfTest {
    #[value(name = "TCP_RR")]
    TcpRr,
    #[value(name = "UDP_RR")]
    UdpRr,
}

#[derive(Debug, Args)]
pub(super) struct NetperfArgs {
    /// Test to run
    #[arg(short = 't', value_enum, value_name = "TEST", default_value_t = NetperfTest::TcpRr)]
    pub(super) test: NetperfTest,
    /// Duration, in seconds
    #[arg(short = 'l', value_name = "S", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub(super) length: u64,
    /// Server: only this machine
    #[arg(short = 'H', value_name = "HOST", default_value = "127.0.0.1", value_parser = ["127.0.0.1", "localhost"])]
    pub(super) host: String,
    /// Use IPv4: accepted, without effect
    #[arg(short = '4')]
    pub(super) ipv4: bool,
    /// Measure CPU utilisation of the client: accepted, not reported
    #[arg(short = 'c')]
    pub(super) local_cpu: bool,
    /// Measure CPU utilisation of the server: accepted, not reported
    #[arg(short = 'C')]
    pub(super) remote_cpu: bool,
    /// Number of netperf instances at the same time
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub(super) instances: u32,
    /// Work of client and server outside the kernel per transaction, in nanoseconds at full capacity
    #[arg(long, value_name = "NS", default_value_t = OWN_WORK.0, value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    pub(super) own_work: u64,
    /// How the instances begin: a shell forks one after the other on a machine that has been up for 2 s, or all are forked at
    /// once [default: shell where kernel code has costs]
    #[arg(id = "instance_starts", long = "starts", value_enum, value_name = "WAY")]
    pub(super) starts: Option<StartsArg>,
}

#[derive(Debug, Subcommand)]
pub(super) enum Perf {
    /// Benchmarks; only those of the scheduler
    #[command(alias = "bench")]
    Sched {
        #[command(subcommand)]
        sched: PerfSched,
    },
}

#[derive(Debug, Subcommand)]
pub(super) enum PerfSched {
    /// Two tasks that pass a token through two pipes
    Pipe(PerfPipeArgs),
    /// Groups of senders and receivers, like hackbench
    Messaging(PerfMessagingArgs),
}

#[derive(Debug, Args)]
pub(super) struct PerfPipeArgs {
    /// Number of round trips
    #[arg(short, long = "loop", value_name = "N", default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    pub(super) loops: u64,
    /// Use threads instead of processes
    #[arg(short = 'T', long)]
    pub(super) threaded: bool,
}

#[derive(Debug, Args)]
pub(super) struct PerfMessagingArgs {
    /// Number of groups
    #[arg(short, long = "group", value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(super) groups: u32,
    /// Number of messages from each sender to each receiver
    #[arg(short, long = "nr_loops", value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..=100_000_000))]
    pub(super) loops: u64,
    /// Use pipes instead of sockets
    #[arg(short, long)]
    pub(super) pipe: bool,
    /// Use threads instead of processes
    #[arg(short, long)]
    pub(super) thread: bool,
}

#[derive(Debug, Args)]
pub(super) struct TbenchArgs {
    /// Number of clients
    #[arg(value_name = "NPROCS", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub(super) clients: u32,
    /// Server: only this machine
    #[arg(value_name = "SERVER", default_value = "127.0.0.1", value_parser = ["127.0.0.1", "localhost"])]
    pub(super) server: String,
    /// Duration, in seconds
    #[arg(short = 't', long = "timelimit", value_name = "S", default_value_t = 600, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub(super) time: u64,
}

#[derive(Debug, Args)]
pub(super) struct CyclictestArgs {
    /// Number of threads [default: 1; with -S one per CPU]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub(super) threads: Option<u32>,
    /// SCHED_FIFO priority of the first thread; 0 means the fair class
    #[arg(short = 'p', long, value_name = "PRIO", default_value_t = 0, value_parser = clap::value_parser!(u8).range(..=99))]
    pub(super) priority: u8,
    /// Interval of the first thread, in microseconds
    #[arg(short, long, value_name = "US", default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    pub(super) interval: u64,
    /// Difference between the intervals of two threads, in microseconds [default: 500; with -S 0]
    #[arg(short, long, value_name = "US", value_parser = clap::value_parser!(u64).range(..=1_000_000_000))]
    pub(super) distance: Option<u64>,
    /// Number of cycles of each thread; 0 means until the end of --for [default: 0, for 5 s]
    #[arg(short, long, value_name = "N", default_value_t = 0)]
    pub(super) loops: u64,
    /// Run one thread on each CPU, all with equal priority
    #[arg(short = 'S', long)]
    pub(super) smp: bool,
    /// Pin each thread to its own CPU
    #[arg(short, long)]
    pub(super) affinity: bool,
    /// Exit latency to request through /dev/cpu_dma_latency, in microseconds: no CPU enters an idle state
    /// with a longer one
    #[arg(short = 'e', long, value_name = "PM_QOS", default_value_t = 0, value_parser = clap::value_parser!(u32).range(..=2_000_000_000))]
    pub(super) latency: u32,
    /// Do not open /dev/cpu_dma_latency: idle CPUs sleep as without cyclictest
    #[arg(long, conflicts_with = "latency")]
    pub(super) laptop: bool,
    /// Change no setting of the system; has the effect of --laptop
    #[arg(long, conflicts_with = "latency")]
    pub(super) default_system: bool,
    /// Number of busy tasks of the fair class beside the threads (an option of fairlab)
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u32).range(..=4096))]
    pub(super) hogs: u32,
}

#[derive(Debug, Args)]
pub(super) struct StressNgArgs {
    /// Number of instances of the sock stressor
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub(super) sock: u32,
    /// Duration: seconds, or a time such as 300ms
    #[arg(short, long, value_name = "T", default_value = "10", value_parser = seconds_or_time)]
    pub(super) timeout: Nanos,
    /// Report metrics: accepted, they are always reported
    #[arg(long)]
    pub(super) metrics: bool,
}

#[derive(Debug, Args)]
pub(super) struct OltpArgs {
    /// Number of client threads, each with one server thread
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub(super) threads: u32,
    /// Duration, in seconds
    #[arg(long, value_name = "S", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub(super) time: u64,
}

#[derive(Debug, Args)]
pub(super) struct MakeArgs {
    /// Number of compilations at the same time
    #[arg(short, long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub(super) jobs: u32,
    /// Number of files to compile (an option of fairlab)
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(super) objects: u32,
}

/// Parses a number of seconds, or a time with its unit.
fn seconds_or_time(text: &str) -> Result<Nanos, Message> {
    parse_time(text).or_else(|why| parse_time(&format!("{text}s")).map_err(|_| why))
}

#[derive(Debug, Args)]
pub(super) struct MicroArgs {
    /// Test to run: yield, pass-CHANNEL, pingpong-CHANNEL-1cpu, pingpong-CHANNEL-2cpus, sleep-200us, thread,
    /// messaging-pipe, messaging-unix. CHANNEL is futex, eventfd, pipe, unix, udp, tcp or tcp-epoll; pass-futex does not
    /// exist
    #[arg(value_name = "TEST")]
    pub(super) test: String,
    /// Number of repetitions
    #[arg(short, long, value_name = "N", default_value_t = 2000, value_parser = clap::value_parser!(u64).range(1..=100_000_000))]
    pub(super) rounds: u64,
    /// Bytes of a message of pass-CHANNEL and pingpong-CHANNEL; futexes and eventfds have no size
    #[arg(short, long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=65_536))]
    pub(super) bytes: u32,
    /// CPUs of the two tasks; tests of one CPU use the first
    #[arg(long, value_name = "A,B", value_parser = parse_two_cpus, default_value = "0,1")]
    pub(super) cpus: [u32; 2],
}
