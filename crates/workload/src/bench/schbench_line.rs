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

/// Options of schbench on a command line.
#[derive(Debug, Args)]
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
