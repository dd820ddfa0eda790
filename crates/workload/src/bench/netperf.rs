// SPDX-License-Identifier: GPL-2.0-or-later
//! netperf's TCP_RR and UDP_RR over the loopback device: pairs of client and server that exchange requests
//! and responses.
//!
//! In one transaction of a pair the client sends a request and waits; the waiting server then sends a
//! response. Only one is in flight at a time, so a pair keeps about one CPU busy. The send goes through the
//! protocol down to the loopback device, whose softirq runs at once on the sender's CPU and wakes the
//! receiver (`sock_def_readable()`, with WF_SYNC: the waker is about to sleep).
//!
//! Costs: `Syscall` and `TcpTransfer` or `UdpTransfer` for each send and each receive, `LoopbackSoftirq` for
//! each send. A sender pays before the receiver is woken, a receiver after it was woken. The programs
//! themselves work `own_work` each in each transaction.
//!
//! Not modelled: connecting, acknowledgements without data (responses carry them), bursts (`-b`), contents,
//! CPU measurement (`-c`, `-C`), and netperf's control connection. A latency is the time from the end of a
//! transaction to the end of the next, as the client always has one in flight.

use super::{CREATOR, RepeatedSteps, created_task};
use crate::serde_time::nanos;
use crate::step::Step;
use crate::workload::{Channel, ChannelKind, Objects, TaskSpec, Workload};
use fairlab_sched::units::Nanos;
use serde::{Deserialize, Serialize};

/// Mark of a client at the end of a transaction.
pub const TRANSACTION: u32 = 1;
/// Number of messages that a socket holds: far more than the one in flight.
const SOCKET_MESSAGES: u32 = 256;
/// Bytes of a request and of a response (`-r 1,1`, the default).
const MESSAGE_BYTES: u32 = 1;

/// Test of netperf (`-t`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum NetperfTest {
    /// Request and response over TCP (`TCP_RR`).
    TcpRr,
    /// Request and response over UDP (`UDP_RR`).
    UdpRr,
}

/// Options of several netperf instances that run at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "the field names describe their content")]
pub struct Netperf {
    pub test: NetperfTest,
    /// Length of the test (`-l`).
    #[serde(rename = "length_ns", with = "nanos")]
    pub length: Nanos,
    /// Number of pairs, each of which is one start of netperf.
    pub pairs: u32,
    /// Work of the client, and also of the server, in each transaction.
    #[serde(rename = "own_work_ns", with = "nanos")]
    pub own_work: Nanos,
    /// Work of the shell that starts one instance before it starts the next.
    #[serde(rename = "start_every_ns", with = "nanos")]
    pub start_every: Nanos,
}

impl Default for Netperf {
    fn default() -> Self {
        Self {
            test: NetperfTest::TcpRr,
            length: Nanos::from_secs(10),
            pairs: 1,
            own_work: Nanos(500),
            start_every: Nanos::ZERO,
        }
    }
}

/// Returns the channels of connections, two for each: one in each direction.
pub(super) fn connections(kind: ChannelKind, nr_connections: usize) -> Vec<Channel> {
    let channel = |index: usize| Channel { reverse: Some(index ^ 1), ..Channel::new(kind, SOCKET_MESSAGES) };
    (0..2 * nr_connections).map(channel).collect()
}

impl Netperf {
    /// Returns the workload: a shell that starts all, pair by pair, then for each pair the server and the
    /// client.
    pub fn workload(self) -> Workload {
        let mut tasks = vec![self.shell()];
        let work = Step::Run(self.own_work);
        for pair in 0..self.pairs as usize {
            let (request, response) = (2 * pair, 2 * pair + 1);
            let serve = vec![Step::Receive(request), work, Step::Send(response, MESSAGE_BYTES)];
            let ask = vec![work, Step::Send(request, MESSAGE_BYTES), Step::Receive(response), Step::Mark(TRANSACTION)];
            tasks.push(created_task(format!("netserver{pair}"), "netserver", move |_| {
                RepeatedSteps::endless(serve.clone())
            }));
            tasks.push(created_task(format!("netperf{pair}"), "netperf", move |_| RepeatedSteps::endless(ask.clone())));
        }
        let kind = match self.test {
            NetperfTest::TcpRr => ChannelKind::Tcp,
            NetperfTest::UdpRr => ChannelKind::Udp,
        };
        Workload {
            tasks,
            objects: Objects { channels: connections(kind, self.pairs as usize), ..Objects::default() },
            duration: Some(self.length),
            ..Workload::default()
        }
    }

    /// Returns the task that starts the pairs, one after the other, and then ends.
    fn shell(self) -> TaskSpec {
        let mut steps = Vec::new();
        for pair in 0..self.pairs as usize {
            let server = CREATOR + 1 + 2 * pair;
            steps.extend([Step::Fork(server), Step::Fork(server + 1)]);
            if self.start_every > Nanos::ZERO {
                steps.push(Step::Run(self.start_every));
            }
        }
        let behaviour = move |_| RepeatedSteps::once(steps.clone());
        TaskSpec { start_at: Some(Nanos::ZERO), ..created_task("shell".to_owned(), "shell", behaviour) }
    }

    /// Returns the tasks that are clients, in the order of the pairs.
    pub fn clients(&self) -> impl Iterator<Item = usize> {
        (0..self.pairs as usize).map(|pair| CREATOR + 2 + 2 * pair)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_starts_pairs_one_after_the_other() {
        let steps = |start_every: Nanos| {
            let workload = Netperf { pairs: 2, start_every, ..Netperf::default() }.workload();
            let mut shell = (workload.tasks[0].behaviour)(0);
            core::iter::from_fn(move || Some(shell.next()).filter(|step| *step != Step::Exit)).collect::<Vec<_>>()
        };
        let (fork, loops) = (Step::Fork, Step::Run(Nanos(300)));
        assert_eq!(steps(Nanos::ZERO), [fork(1), fork(2), fork(3), fork(4)]);
        assert_eq!(steps(Nanos(300)), [fork(1), fork(2), loops, fork(3), fork(4), loops]);
    }

    #[test]
    fn clients_ask_and_servers_answer_on_the_same_channels() {
        let bench = Netperf { pairs: 2, ..Netperf::default() };
        let workload = bench.workload();
        assert_eq!(bench.clients().collect::<Vec<_>>(), [2, 4]);
        let steps = |task: usize| {
            let mut behaviour = (workload.tasks[task].behaviour)(0);
            (0..4).map(|_| behaviour.next()).collect::<Vec<_>>()
        };
        let work = Step::Run(bench.own_work);
        assert_eq!(steps(4), [work, Step::Send(2, 1), Step::Receive(3), Step::Mark(TRANSACTION)]);
        assert_eq!(steps(3)[..3], [Step::Receive(2), work, Step::Send(3, 1)]);
        assert_eq!(workload.objects.channels.len(), 4);
    }
}
