// SPDX-License-Identifier: GPL-2.0-or-later
//! The command line of schbench, whose versions have models of their own.

use super::schbench::{Schbench, SchbenchRelease};
use super::schbench_rps::SchbenchRps;
use super::{Benchmark, CommandLine};
use crate::message::Message;
use clap::{Args, ValueEnum};
use fairlab_sched::units::Nanos;

/// Version of schbench. Versions differ in the work of each thread and in their output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[expect(missing_docs, reason = "the variants are named after what they select")]
pub enum SchbenchVersion {
    #[value(name = "2016")]
    Y2016,
    #[value(name = "2020")]
    Y2020,
    #[value(name = "2021")]
    Y2021,
    #[value(name = "2025")]
    Y2025,
}

/// Wake-up latencies of workers that wait for message threads
///
/// Releases of 2016, 2020 and 2021: a worker works for `-c`, enters the list of its message thread, posts its futex, and waits. In 2021 it waits
/// first. The message thread takes the list, posts all, and waits for the first to come back. It works for `-C` (not in 2016) and sleeps for
/// `-s` and up to a quarter more. With `-s 0` it does not wait for workers (in 2016 it does). A latency runs from taking the list to the
/// worker's start; in 2021 to the end of its work. Latencies below 1 us are no samples.
///
/// Release of 2025: a worker enters the list, posts, waits, and then handles a request. With `-R`, requests go to workers in turn at the start of
/// each second; a worker with 128 unfinished requests gets no more. A request sleeps for `-s`, and multiplies matrices under the lock of its CPU,
/// a busy wait. A product of matrices with sqrt(F * 1024 / 24) = 104 rows takes 104^3 ns at full speed (counted: 8.3 instructions per
/// multiplication; assumed: a core of 3 to 4 GHz with the data in its second cache). A worker that preempts another one on its CPU is
/// therefore blocked until that one continues.
///
/// Result: wake-up latencies; 2025: also request latencies and requests per second. Not modelled: the interval printer, warm-up, the end of the
/// run, lists of `-M` and `-W`, `-P`, `-A`, `-p`, `-a`, `sched delay`.
#[derive(Debug, Args)]
#[command(after_help = examples!(
    "schbench --release 2020 -m 1 -t 4 --machine hikey960 --for 200ms",
    "schbench -m 1 -t 1 --machine hikey960 --for 2100ms",
))]
pub struct SchbenchLine {
    /// Version of schbench: 2016, 2020, 2021 or 2025 (the current one)
    #[arg(long, value_enum, default_value_t = SchbenchVersion::Y2025, value_name = "YEAR", hide_possible_values = true)]
    release: SchbenchVersion,
    /// Number of message threads [default: 1; 2 until 2021]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    message_threads: Option<u32>,
    /// Number of worker threads per message thread [default: CPUs / message threads; 16 until 2021]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
    threads: Option<u32>,
    /// Duration, in seconds; 0: until it is stopped, which --for has to do
    #[arg(short, long, value_name = "S", default_value_t = 30, value_parser = clap::value_parser!(u64).range(..=1_000_000))]
    runtime: u64,
    /// Sleep of a request, in microseconds [default: 100]; until 2021: of a message thread [default: 30000]
    #[arg(short, long = "sleep-usec", visible_alias = "sleeptime", value_name = "US", value_parser = clap::value_parser!(u64).range(..=1_000_000_000))]
    sleep: Option<u64>,
    /// Until 2021: work of a worker, in microseconds [default: 30000]
    #[arg(short, long, value_name = "US", value_parser = clap::value_parser!(u64).range(..=1_000_000_000))]
    cputime: Option<u64>,
    /// 2020 and 2021: work of a message thread, in microseconds [default: 30000]
    #[arg(short = 'C', long, value_name = "US", value_parser = clap::value_parser!(u64).range(..=1_000_000_000))]
    message_cputime: Option<u64>,
    /// 2025: requests per second; 0 means without a limit [default: 0]
    #[arg(short = 'R', long, value_name = "N", value_parser = clap::value_parser!(u64).range(..=10_000_000))]
    rps: Option<u64>,
    /// 2025: matrix multiplications per request [default: 5]
    #[arg(short = 'n', long, value_name = "N", value_parser = clap::value_parser!(u64).range(..=1_000_000))]
    operations: Option<u64>,
    /// 2025: cache footprint, in kilobytes [default: 256]
    #[arg(short = 'F', long = "cache_footprint", value_name = "KB", value_parser = clap::value_parser!(u64).range(1..=1_048_576))]
    cache_footprint: Option<u64>,
    /// 2025: do not take the per-CPU locks
    #[arg(short = 'L', long)]
    no_locking: bool,
    /// 2025: give each message thread a CPU; lists of CPUs are not modelled
    #[arg(short = 'M', long, value_name = "auto")]
    message_cpus: Option<AutoPinning>,
}

/// Value of schbench's `-M`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[expect(missing_docs, reason = "the variants are named after what they select")]
pub enum AutoPinning {
    Auto,
}

impl CommandLine for SchbenchLine {
    fn benchmark(&self) -> Result<Benchmark, Message> {
        self.reject_options_of_others()?;
        let micros = |given: Option<u64>, default: Nanos| given.map_or(default, Nanos::from_micros);
        let runtime = Nanos::from_secs(self.runtime);
        let form = match self.release {
            SchbenchVersion::Y2016 => SchbenchRelease::Y2016,
            SchbenchVersion::Y2020 => SchbenchRelease::Y2020,
            SchbenchVersion::Y2021 => SchbenchRelease::Y2021,
            SchbenchVersion::Y2025 => {
                let default = SchbenchRps::for_cpus(0);
                return Ok(Benchmark::SchbenchRps(SchbenchRps {
                    message_threads: self.message_threads.unwrap_or(default.message_threads),
                    threads: self.threads.unwrap_or(default.threads),
                    runtime,
                    rps: self.rps.unwrap_or(0),
                    sleep: micros(self.sleep, default.sleep),
                    operations: self.operations.unwrap_or(default.operations),
                    footprint_kb: self.cache_footprint.unwrap_or(default.footprint_kb),
                    no_locking: self.no_locking,
                    auto_pinning: self.message_cpus.is_some(),
                }));
            }
        };
        let default = Schbench::default();
        Ok(Benchmark::Schbench(Schbench {
            form,
            message_threads: self.message_threads.unwrap_or(default.message_threads),
            threads: self.threads.unwrap_or(default.threads),
            runtime,
            sleeptime: micros(self.sleep, default.sleeptime),
            cputime: micros(self.cputime, default.cputime),
            message_cputime: micros(self.message_cputime, default.message_cputime),
            seed: 0,
        }))
    }
}

impl SchbenchLine {
    /// Rejects options that only other versions of schbench have.
    fn reject_options_of_others(&self) -> Result<(), Message> {
        use SchbenchVersion::{Y2016, Y2020, Y2021, Y2025};
        let options: [(&str, bool, &[SchbenchVersion]); 7] = [
            ("-c", self.cputime.is_some(), &[Y2016, Y2020, Y2021]),
            ("-C", self.message_cputime.is_some(), &[Y2020, Y2021]),
            ("-R", self.rps.is_some(), &[Y2025]),
            ("-n", self.operations.is_some(), &[Y2025]),
            ("-F", self.cache_footprint.is_some(), &[Y2025]),
            ("-L", self.no_locking, &[Y2025]),
            ("-M", self.message_cpus.is_some(), &[Y2025]),
        ];
        for (option, is_given, releases) in options {
            if is_given && !releases.contains(&self.release) {
                let year = |release: SchbenchVersion| {
                    release.to_possible_value().expect("every release has a name").get_name().to_owned()
                };
                let with: Vec<String> = releases.iter().map(|&release| year(release)).collect();
                return Err(Message::new(format!("schbench of {} has no {option}", year(self.release)))
                    .with_help(format!("omit it, or choose a version that has it: --release {}", with.join(" or "))));
            }
        }
        Ok(())
    }
}
