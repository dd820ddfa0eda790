// SPDX-License-Identifier: GPL-2.0-or-later
//! A mix like that of an OLTP benchmark (sysbench's `oltp_read_write` on a database with a thread for each connection).
//!
//! Each client thread has a connection over the loopback device to a server thread of its own. A transaction is twenty queries,
//! one after the other: the client sends one and waits; the server computes and replies. The last one commits: it takes the
//! log's mutex, and holds it while the log is written to the disk.
//!
//! Times are drawn from half to one and a half of the mean: a query `QUERY`, a commit's write `WRITE`. They are assumed: of the
//! order of a small database in memory with a fast disk. Not modelled: locks of rows, disk reads, background threads.

use super::netperf::loopback;
use super::random::Random;
use super::{CREATOR, created_task, creator};
use crate::step::{Behaviour, Step};
use crate::workload::{ChannelKind, Objects, Workload};
use fairlab_sched::units::Nanos;

/// The mark of a client at the end of a transaction.
pub const TRANSACTION: u32 = 1;
/// Queries of a transaction: 14 that read, 4 that write, begin and commit, as `oltp_read_write` has.
pub const QUERIES: u32 = 20;
/// Of those, queries that read.
pub const READS: u32 = 14;
/// Of those, queries that write.
pub const WRITES: u32 = 4;

/// Mean computing time of a query.
const QUERY: Nanos = Nanos::from_micros(80);
/// Mean time for which the disk writes the log.
const WRITE: Nanos = Nanos::from_micros(50);
/// What a client does for a query.
const CLIENT: Nanos = Nanos::from_micros(5);
/// The mutex of the log.
const LOG: usize = 0;

/// What the benchmark is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Oltp {
    /// Client threads (`--threads`).
    pub threads: u32,
    /// How long (`--time`).
    pub time: Nanos,
    /// Seed of all times.
    pub seed: u64,
}

impl Oltp {
    /// The workload: what starts all, then for each connection the server's thread and the client's.
    pub fn workload(self) -> Workload {
        let nr_tasks = 2 * self.threads as usize;
        let mut tasks = vec![creator("sysbench", (CREATOR + 1..=nr_tasks).collect())];
        for connection in 0..self.threads as usize {
            let (query, reply) = (2 * connection, 2 * connection + 1);
            tasks.push(created_task(format!("db{connection}"), "db", move |_| Server {
                query,
                reply,
                random: Random::new(self.seed, "oltp", connection as u64),
                done: 0,
                pending: Vec::new(),
            }));
            let ask = [Step::Run(CLIENT), Step::Send(query), Step::Receive(reply)];
            let mut transaction = ask.repeat(QUERIES as usize);
            transaction.push(Step::Mark(TRANSACTION));
            tasks.push(created_task(format!("client{connection}"), "client", move |_| {
                super::Repeat::endless(transaction.clone())
            }));
        }
        Workload {
            tasks,
            objects: Objects {
                mutexes: vec!["log".to_owned()],
                channels: vec![loopback(ChannelKind::Tcp); nr_tasks],
                ..Objects::default()
            },
            duration: Some(self.time),
            ..Workload::default()
        }
    }
}

/// A thread of the server.
struct Server {
    query: usize,
    reply: usize,
    random: Random,
    /// Queries of this transaction.
    done: u32,
    /// Steps that come next, the last one first.
    pending: Vec<Step>,
}

impl Behaviour for Server {
    fn next(&mut self) -> Step {
        if let Some(step) = self.pending.pop() {
            return step;
        }
        self.done += 1;
        self.pending.push(Step::Send(self.reply));
        if self.done == QUERIES {
            self.done = 0;
            let write = Step::WaitIo(self.random.around(WRITE));
            self.pending.extend([Step::Unlock(LOG), write, Step::Lock(LOG)]);
        }
        self.pending.push(Step::Run(self.random.around(QUERY)));
        Step::Receive(self.query)
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
        assert_eq!(steps[61..], [Step::Unlock(LOG), Step::Send(1)]);
    }
}
