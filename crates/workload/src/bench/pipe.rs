// SPDX-License-Identifier: GPL-2.0-or-later
//! Model of `perf bench sched pipe`: [`PipeLine`] describes it.
//!
//! A pipe takes far more than one token, so neither task ever waits for room.

use super::{BenchModel, Benchmark, CommandLine, nested_groups, repeating_task};
use crate::message::Message;
use crate::step::Step;
use crate::workload::{Channel, ChannelKind, Objects, Workload};
use clap::Args;
use serde::{Deserialize, Serialize};

/// Number of slots of a pipe.
const PIPE_CAPACITY: u32 = 16;

/// Bytes of a message.
const MESSAGE_BYTES: u32 = 4;

/// Pipe for small messages.
pub(super) const PIPE: Channel = Channel::new(ChannelKind::Pipe, PIPE_CAPACITY);

/// Returns the benchmark with this many rounds, in the innermost of nested task groups.
pub fn pipe(rounds: u64, group_levels: u32) -> Workload {
    let groups = nested_groups(group_levels);
    let group = groups.len().checked_sub(1);
    let ping = vec![Step::Receive(0), Step::Send(1, MESSAGE_BYTES)];
    let pong = vec![Step::Send(0, MESSAGE_BYTES), Step::Receive(1)];
    Workload {
        tasks: vec![
            repeating_task("pipe0".to_owned(), "pipe", group, ping, rounds),
            repeating_task("pipe1".to_owned(), "pipe", group, pong, rounds),
        ],
        groups,
        objects: Objects { channels: vec![PIPE; 2], ..Objects::default() },
        ..Workload::default()
    }
}

/// Options of `perf bench sched pipe`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pipe {
    /// Number of round trips.
    pub loops: u64,
    /// Threads instead of processes.
    pub threads: bool,
}

impl BenchModel for Pipe {
    const NAME: &'static str = "perf bench sched pipe";
    const IS_KERNEL_WORK: bool = true;
    const RUNS_TO_END: bool = true;

    fn make_workload(&self, _nr_cpus: u32) -> Workload {
        pipe(self.loops, 0)
    }
}

/// Two tasks that pass a token through two pipes
///
/// In each round one task writes and then reads, and the other reads and then writes: two synchronous wake-ups. Result: total time, time per
/// round. Not modelled: creating the tasks.
#[derive(Debug, Args)]
#[command(after_help = examples!(
    "perf sched pipe -l 100 --machine hikey960",
))]
pub struct PipeLine {
    /// Number of round trips
    #[arg(short, long = "loop", value_name = "N", default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    loops: u64,
    /// Use threads instead of processes
    #[arg(short = 'T', long)]
    threaded: bool,
}

impl CommandLine for PipeLine {
    fn benchmark(&self) -> Result<Benchmark, Message> {
        Ok(Benchmark::Pipe(Pipe { loops: self.loops, threads: self.threaded }))
    }
}
