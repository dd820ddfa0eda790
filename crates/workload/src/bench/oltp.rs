// SPDX-License-Identifier: GPL-2.0-or-later
//! Model of database transactions: [`OltpLine`] describes it.

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

/// Mark of a client at the end of a transaction.
pub const TRANSACTION: u32 = 1;
/// Queries of a transaction as in `oltp_read_write`: 14 that read, 4 that write, begin and commit.
pub const QUERIES: u32 = 20;
/// Number of the [`QUERIES`] that read.
pub const READS: u32 = 14;
/// Number of the [`QUERIES`] that write.
pub const WRITES: u32 = 4;

/// Mean computing time of a query.
const QUERY: Nanos = Nanos::from_micros(80);
/// Mean time for which the disk writes the log.
const WRITE: Nanos = Nanos::from_micros(50);
/// Work of a client for a query.
const CLIENT: Nanos = Nanos::from_micros(5);
/// Bytes of a query and of a reply (assumed: a prepared statement, and a row).
const QUERY_BYTES: u32 = 50;
const REPLY_BYTES: u32 = 200;
/// Mutex of the log.
const LOG: usize = 0;

/// Options of the benchmark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Oltp {
    /// Number of client threads (`--threads`).
    pub threads: u32,
    /// Length of the test (`--time`).
    #[serde(rename = "time_ns", with = "nanos")]
    pub time: Nanos,
    /// Seed of all random times.
    #[serde(skip)]
    pub seed: u64,
}

impl Oltp {
    /// Returns the workload: the creator of all, then for each connection the server's thread and the
    /// client's.
    pub fn workload(self) -> Workload {
        let nr_tasks = 2 * self.threads as usize;
        let mut tasks = vec![creator("sysbench", (CREATOR + 1..=nr_tasks).collect())];
        for connection in 0..self.threads as usize {
            let (query, reply) = (2 * connection, 2 * connection + 1);
            tasks.push(created_task(format!("db{connection}"), "db", move |_| OltpServer {
                query,
                reply,
                random: ModelRandom::new(self.seed, "oltp", connection as u64),
                done: 0,
                pending: Vec::new(),
            }));
            let ask = [Step::Run(CLIENT), Step::Send(query, QUERY_BYTES), Step::Receive(reply)];
            let mut transaction = ask.repeat(QUERIES as usize);
            transaction.push(Step::Mark(TRANSACTION));
            tasks.push(created_task(format!("client{connection}"), "client", move |_| {
                super::RepeatedSteps::endless(transaction.clone())
            }));
        }
        Workload {
            tasks,
            objects: Objects {
                mutexes: vec!["log".to_owned()],
                channels: connections(ChannelKind::Tcp, self.threads as usize),
                ..Objects::default()
            },
            duration: Some(self.time),
            ..Workload::default()
        }
    }
}

/// Behaviour of a thread of the server.
struct OltpServer {
    query: usize,
    reply: usize,
    random: ModelRandom,
    /// Queries of the current transaction so far.
    done: u32,
    /// Next steps, in reverse order.
    pending: Vec<Step>,
}

impl Behaviour for OltpServer {
    fn next(&mut self) -> Step {
        if let Some(step) = self.pending.pop() {
            return step;
        }
        self.done += 1;
        self.pending.push(Step::Send(self.reply, REPLY_BYTES));
        if self.done == QUERIES {
            self.done = 0;
            let write = Step::WaitIo(self.random.around(WRITE));
            self.pending.extend([Step::Unlock(LOG), write, Step::Lock(LOG)]);
        }
        self.pending.push(Step::Run(self.random.around(QUERY)));
        Step::Receive(self.query)
    }
}

impl BenchModel for Oltp {
    const NAME: &'static str = "oltp";

    fn for_run(self, run: &RunContext) -> Self {
        Self { seed: run.seed, ..self }
    }

    fn make_workload(&self, _nr_cpus: u32) -> Workload {
        Self::workload(*self)
    }
}

/// Database transactions with the mix of sysbench's oltp_read_write
///
/// Each client has a server thread, over TCP. A transaction has 20 queries (14 read, 4 write, begin, commit), sent one by one. Per query the
/// server computes 80 us, drawn from half to one and a half of that, and the client 5 us. A commit holds the log's mutex for 50 us. These times
/// are assumptions, of the order of a small database in memory with a fast disk.
///
/// Result: transactions per second, latencies. Not modelled: row locks, disk reads, background threads.
#[derive(Debug, Args)]
#[command(after_help = examples!(
    "oltp --threads 4 --machine hikey960 --for 40ms",
))]
pub struct OltpLine {
    /// Number of client threads, each with one server thread
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=4096))]
    threads: u32,
    /// Duration, in seconds
    #[arg(long, value_name = "S", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    time: u64,
}

impl CommandLine for OltpLine {
    fn benchmark(&self) -> Result<Benchmark, Message> {
        Ok(Benchmark::Oltp(Oltp { threads: self.threads, time: Nanos::from_secs(self.time), seed: 0 }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_last_query_of_a_transaction_writes_the_log() {
        assert_eq!(READS + WRITES + 2, QUERIES);
        let workload = Oltp { threads: 1, time: Nanos::from_secs(1), seed: 0 }.workload();
        let mut server = (workload.tasks[1].behaviour)(0);
        let steps: Vec<Step> = (0..63).map(|_| server.next()).collect();
        assert_eq!(steps.iter().filter(|step| **step == Step::Receive(0)).count(), 20);
        assert_eq!(steps[59], Step::Lock(LOG));
        assert!(matches!(steps[60], Step::WaitIo(_)));
        assert_eq!(steps[61..], [Step::Unlock(LOG), Step::Send(1, REPLY_BYTES)]);
    }
}
