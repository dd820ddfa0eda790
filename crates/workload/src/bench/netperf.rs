// SPDX-License-Identifier: GPL-2.0-or-later
//! netperf's TCP_RR and UDP_RR over the loopback device: pairs of client and server that pass requests and responses.
//!
//! One transaction of a pair: the client sends a request and waits; the server, which has waited, sends a response. One is
//! under way at a time, so a pair keeps about one CPU busy. The send goes through the protocol down to the loopback device,
//! whose softirq runs at once on the sender's CPU and wakes the receiver (`sock_def_readable()`, with WF_SYNC: the waker is
//! about to sleep).
//!
//! What it costs: `Syscall` and `TcpTransfer` or `UdpTransfer` for each send and each receive, `LoopbackSoftirq` for each send.
//! A sender pays before the receiver is woken, a receiver after it has been. What the programs do themselves is `own_work` for
//! each of the two in each transaction.
//! Not modelled: connecting, acknowledgements without data (responses carry them), bursts (`-b`), contents, CPU measurement
//! (`-c`, `-C`), and netperf's control connection. Latencies are from one transaction's end to the next one's, as the client is
//! always busy with one.

use super::{CREATOR, Repeat, created_task};
use crate::step::Step;
use crate::workload::{Channel, ChannelKind, Objects, TaskSpec, Workload};
use fairlab_sched::units::Nanos;

/// The mark of a client at the end of a transaction.
pub const TRANSACTION: u32 = 1;
/// Messages that a socket holds: far more than one.
const CAPACITY: u32 = 256;

/// Which test (`-t`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Test {
    /// Request and response over TCP.
    TcpRr,
    /// Request and response over UDP.
    UdpRr,
}

/// What netperf is asked for, several times at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Netperf {
    /// Which test.
    pub test: Test,
    /// How long (`-l`).
    pub length: Nanos,
    /// Number of pairs: netperf is started so many times.
    pub pairs: u32,
    /// What client and server do themselves in each transaction, each of them.
    pub own_work: Nanos,
    /// How long the shell is busy with starting one instance before it starts the next.
    pub start_every: Nanos,
}

impl Default for Netperf {
    fn default() -> Self {
        Self {
            test: Test::TcpRr,
            length: Nanos::from_secs(10),
            pairs: 1,
            own_work: Nanos(500),
            start_every: Nanos::ZERO,
        }
    }
}

/// A channel of a connection through the loopback device.
pub(super) const fn loopback(kind: ChannelKind) -> Channel {
    Channel { kind, capacity: CAPACITY, wake_senders_at: CAPACITY - 1 }
}

impl Netperf {
    /// The workload: a shell that starts all, pair by pair, then for each pair the server and the client.
    pub fn workload(self) -> Workload {
        let nr_tasks = 2 * self.pairs as usize;
        let mut tasks = vec![self.shell()];
        let work = Step::Run(self.own_work);
        for pair in 0..self.pairs as usize {
            let (request, response) = (2 * pair, 2 * pair + 1);
            let serve = vec![Step::Receive(request), work, Step::Send(response)];
            let ask = vec![work, Step::Send(request), Step::Receive(response), Step::Mark(TRANSACTION)];
            tasks.push(created_task(format!("netserver{pair}"), "netserver", move |_| Repeat::endless(serve.clone())));
            tasks.push(created_task(format!("netperf{pair}"), "netperf", move |_| Repeat::endless(ask.clone())));
        }
        let kind = match self.test {
            Test::TcpRr => ChannelKind::Tcp,
            Test::UdpRr => ChannelKind::Udp,
        };
        Workload {
            tasks,
            objects: Objects { channels: vec![loopback(kind); nr_tasks], ..Objects::default() },
            duration: Some(self.length),
            ..Workload::default()
        }
    }

    /// What starts the pairs, one after the other, and then ends.
    fn shell(self) -> TaskSpec {
        let mut steps = Vec::new();
        for pair in 0..self.pairs as usize {
            let server = CREATOR + 1 + 2 * pair;
            steps.extend([Step::Fork(server), Step::Fork(server + 1)]);
            if self.start_every > Nanos::ZERO {
                steps.push(Step::Run(self.start_every));
            }
        }
        let behaviour = move |_| Repeat::once(steps.clone());
        TaskSpec { start_at: Some(Nanos::ZERO), ..created_task("shell".to_owned(), "shell", behaviour) }
    }

    /// The tasks that are clients, in the order of the pairs.
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
        assert_eq!(steps(4), [work, Step::Send(2), Step::Receive(3), Step::Mark(TRANSACTION)]);
        assert_eq!(steps(3)[..3], [Step::Receive(2), work, Step::Send(3)]);
        assert_eq!(workload.objects.channels.len(), 4);
    }
}
