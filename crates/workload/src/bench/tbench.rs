// SPDX-License-Identifier: GPL-2.0-or-later
//! Model of tbench: [`TbenchLine`] describes it.

use super::netperf::connections;
use super::random::ModelRandom;
use super::{BenchModel, Benchmark, CREATOR, CommandLine, RunContext, created_task, creator};
use crate::message::Message;
use crate::serde_time::nanos;
use crate::step::{Behaviour, Step};
use crate::workload::{ChannelKind, Objects, Workload};
use clap::Args;
use fairlab_sched::units::Nanos;
use serde::{Deserialize, Serialize};

/// Work of a client before a request. Counted: 4,960 instructions, and 1,000 of `kill()`, at 2 per nanosecond.
const BEFORE_REQUEST: Nanos = Nanos(2_980);
/// Work of a server before a reply. Counted: 126 instructions, at 2 per nanosecond.
const BEFORE_REPLY: Nanos = Nanos(63);
/// Work between the two parts of a message. Counted: 41 to 70 instructions, at 2 per nanosecond.
const BETWEEN_PARTS: Nanos = Nanos(28);
/// Bytes of the first part of a message: its length.
const LENGTH_BYTES: u32 = 4;
/// First mark of a client, at the beginning of an operation. The mark at its end is [`DONE`] plus the index
/// of the operation.
pub const BEGIN: u32 = 0;
/// Mark at the end of operation 0 of [`OPERATIONS`]; that of operation i is `DONE + i`.
pub const DONE: u32 = 1;

/// Kind of file operation: its name, frequency and sizes.
#[derive(Clone, Copy, Debug)]
pub struct TbenchOperation {
    /// Name in the output of tbench; several operations may have it.
    pub name: &'static str,
    weight: u32,
    request: u32,
    reply: u32,
    /// Bytes of the file that are read or written, which count as throughput.
    pub data: u32,
}

const fn operation(name: &'static str, weight: u32, request: u32, reply: u32, data: u32) -> TbenchOperation {
    TbenchOperation { name, weight, request, reply, data }
}

/// Mix of operations. Reads and writes come in the list's usual sizes.
pub const OPERATIONS: [TbenchOperation; 16] = [
    operation("ReadX", 2258, 55, 4100, 4096),
    operation("ReadX", 452, 55, 61_444, 61_440),
    operation("NTCreateX", 1730, 111, 69, 0),
    operation("Qpathinfo", 1570, 61, 80, 0),
    operation("Close", 1270, 45, 39, 0),
    operation("WriteX", 277, 65_587, 41, 65_536),
    operation("WriteX", 216, 4_147, 41, 4_096),
    operation("WriteX", 367, 52, 41, 1),
    operation("Find", 610, 61, 200, 0),
    operation("Unlink", 350, 83, 39, 0),
    operation("Qfsinfo", 290, 41, 80, 0),
    operation("Qfileinfo", 275, 41, 80, 0),
    operation("Sfileinfo", 140, 41, 80, 0),
    operation("Flush", 120, 41, 39, 0),
    operation("Rename", 70, 81, 39, 0),
    operation("Rmdir", 5, 83, 39, 0),
];

/// Options of tbench, and the builder of its workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tbench {
    /// Number of clients, each with a server.
    pub clients: u32,
    /// Length of the test (`-t`).
    #[serde(rename = "runtime_ns", with = "nanos")]
    pub runtime: Nanos,
    /// Seed of the operations.
    #[serde(skip)]
    pub seed: u64,
}

impl Default for Tbench {
    fn default() -> Self {
        Self { clients: 1, runtime: Nanos::from_secs(10), seed: 0 }
    }
}

impl Tbench {
    /// Returns the workload: the creator of all, then for each pair the server and the client.
    pub fn workload(self) -> Workload {
        let nr_tasks = 2 * self.clients as usize;
        let mut tasks = vec![creator("tbench", (CREATOR + 1..=nr_tasks).collect())];
        for pair in 0..self.clients as usize {
            let side = move |is_client: bool| TbenchPeer {
                is_client,
                request: 2 * pair,
                reply: 2 * pair + 1,
                random: ModelRandom::new(self.seed, "tbench", pair as u64),
                drawn: 0,
                step: 0,
            };
            tasks.push(created_task(format!("tbench_srv{pair}"), "tbench_srv", move |_| side(false)));
            tasks.push(created_task(format!("tbench{pair}"), "tbench", move |_| side(true)));
        }
        Workload {
            tasks,
            objects: Objects { channels: connections(ChannelKind::Tcp, self.clients as usize), ..Objects::default() },
            duration: Some(self.runtime),
            ..Workload::default()
        }
    }
}

/// Behaviour of one side of a connection. Both sides draw the same operations.
struct TbenchPeer {
    is_client: bool,
    request: usize,
    reply: usize,
    random: ModelRandom,
    drawn: usize,
    /// Index of the next step of the operation.
    step: usize,
}

impl Behaviour for TbenchPeer {
    fn next(&mut self) -> Step {
        if self.step == 0 {
            self.drawn = self.random.pick(OPERATIONS.iter().map(|operation| operation.weight));
        }
        let operation = &OPERATIONS[self.drawn];
        let part = |channel, bytes| Step::ReceiveBytes { channel, bytes, buffer: bytes, between: Nanos::ZERO };
        let length = |channel| part(channel, LENGTH_BYTES);
        let client = [
            Step::Mark(BEGIN),
            Step::Run(BEFORE_REQUEST),
            Step::Send(self.request, operation.request),
            length(self.reply),
            Step::Run(BETWEEN_PARTS),
            part(self.reply, operation.reply - LENGTH_BYTES),
            Step::Mark(DONE + self.drawn as u32),
        ];
        let server = [
            length(self.request),
            Step::Run(BETWEEN_PARTS),
            part(self.request, operation.request - LENGTH_BYTES),
            Step::Run(BEFORE_REPLY),
            Step::Send(self.reply, operation.reply),
        ];
        let steps: &[Step] = if self.is_client { &client } else { &server };
        let step = steps[self.step];
        self.step = (self.step + 1) % steps.len();
        step
    }
}

impl BenchModel for Tbench {
    const NAME: &'static str = "tbench";

    fn for_run(self, run: &RunContext) -> Self {
        Self { seed: run.seed, ..self }
    }

    fn make_workload(&self, _nr_cpus: u32) -> Workload {
        Self::workload(*self)
    }
}

/// Network load of a file server
///
/// Each client exchanges a request and a reply with its server per file operation, without pauses. Frequencies and sizes of operations are the
/// benchmark's. Both sides receive the length of a message with one call and the rest with another. Work, counted in instructions, at 2 per
/// nanosecond: client 2.98 us per operation, with a `kill()`, server 63 ns, and 28 ns between the two calls; messages cost what their bytes do.
///
/// Result: MB/s of file data, longest operation. Not modelled: connection setup, segments of large messages, the order of operations, tbench_srv
/// as the parent of servers.
#[derive(Debug, Args)]
#[command(after_help = examples!(
    "tbench 3 --machine hikey960 --for 20ms",
))]
pub struct TbenchLine {
    /// Number of clients
    #[arg(value_name = "NPROCS", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=4096))]
    clients: u32,
    /// Server: only this machine
    #[arg(value_name = "SERVER", default_value = "127.0.0.1", value_parser = ["127.0.0.1", "localhost"])]
    server: String,
    /// Duration, in seconds
    #[arg(short = 't', long = "timelimit", value_name = "S", default_value_t = 600, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    time: u64,
}

impl CommandLine for TbenchLine {
    fn benchmark(&self) -> Result<Benchmark, Message> {
        Ok(Benchmark::Tbench(Tbench { clients: self.clients, runtime: Nanos::from_secs(self.time), seed: 0 }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_sides_draw_the_same_operations() {
        let workload = Tbench { clients: 1, seed: 3, ..Tbench::default() }.workload();
        let sent = |task: usize, channel: usize| -> Vec<u32> {
            let mut behaviour = (workload.tasks[task].behaviour)(0);
            let steps = (0..300).map(|_| behaviour.next());
            steps
                .filter_map(|step| match step {
                    Step::Send(of, bytes) if of == channel => Some(bytes),
                    _ => None,
                })
                .collect()
        };
        let (requests, replies) = (sent(2, 0), sent(1, 1));
        assert!(requests.len() >= 30);
        for (request, reply) in requests.into_iter().zip(replies) {
            assert!(OPERATIONS.iter().any(|operation| (operation.request, operation.reply) == (request, reply)));
        }
    }

    #[test]
    fn a_message_is_received_in_two_parts_which_have_all_its_bytes() {
        let workload = Tbench { clients: 1, seed: 3, ..Tbench::default() }.workload();
        let mut client = (workload.tasks[2].behaviour)(0);
        let steps: Vec<Step> = (0..7).map(|_| client.next()).collect();
        let parts = steps.iter().filter_map(|step| match step {
            Step::ReceiveBytes { channel: 1, bytes, .. } => Some(*bytes),
            _ => None,
        });
        let parts: Vec<u32> = parts.collect();
        assert_eq!((parts.len(), parts[0]), (2, LENGTH_BYTES));
        let Step::Mark(mark) = steps[6] else { panic!("the operation ends with a mark: {steps:?}") };
        assert_eq!(parts[0] + parts[1], OPERATIONS[(mark - DONE) as usize].reply);
    }

    #[test]
    fn the_mix_is_the_list_s() {
        let weight = |name: &str| -> u32 {
            OPERATIONS.iter().filter(|operation| operation.name == name).map(|operation| operation.weight).sum()
        };
        assert_eq!([weight("ReadX"), weight("WriteX"), weight("NTCreateX")], [2710, 860, 1730]);
        let all: u32 = OPERATIONS.iter().map(|operation| operation.weight).sum();
        assert_eq!(all, 10_000);
        // A pass of 458,344 operations reads 1.47 GB and writes 1.02 GB.
        let data = |name: &str| -> f64 {
            let of_name = OPERATIONS.iter().filter(|operation| operation.name == name);
            of_name.map(|o| f64::from(o.weight) * f64::from(o.data)).sum::<f64>() / 10_000.0 * 458_344.0 / 1e9
        };
        assert!((data("ReadX") - 1.47).abs() < 0.3 && (data("WriteX") - 1.02).abs() < 0.3);
    }
}
