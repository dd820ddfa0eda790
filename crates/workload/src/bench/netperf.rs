// SPDX-License-Identifier: GPL-2.0-or-later
//! Model of netperf's request and response tests: [`NetperfLine`] describes it.
//!
//! The send of a message goes through the protocol down to the loopback device, whose softirq runs at once on the sender's CPU and
//! wakes the receiver (`sock_def_readable()`, with WF_SYNC: the waker is about to sleep). Responses carry acknowledgements.

use super::{
    BenchModel, Benchmark, CREATOR, CommandLine, PROGRAM_WORK, PrefixedBehaviour, RepeatedSteps, RunContext,
    SHELL_WORK, Starts, created_task, creator,
};
use crate::message::Message;
use crate::serde_time::nanos;
use crate::step::{ObjectId, Step};
use crate::workload::{Channel, ChannelKind, Objects, TaskSpec, Workload};
use clap::{Args, ValueEnum};
use fairlab_sched::units::Nanos;
use serde::{Deserialize, Serialize};

/// Mark of a client at the end of a transaction.
pub const TRANSACTION: u32 = 1;
/// Number of messages that a socket holds: far more than the one in flight.
const SOCKET_MESSAGES: u32 = 256;
/// Bytes of a request and of a response (`-r 1,1`, the default).
const MESSAGE_BYTES: u32 = 1;

/// Own work of each side in a transaction. Counted: 234 to 251 instructions, at 2 per nanosecond.
pub const OWN_WORK: Nanos = Nanos(120);

/// Test of netperf (`-t`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
pub enum NetperfTest {
    /// Request and response over TCP (`TCP_RR`).
    #[value(name = "TCP_RR", help = None)]
    TcpRr,
    /// Request and response over UDP (`UDP_RR`).
    #[value(name = "UDP_RR", help = None)]
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
    /// How the instances begin; `None` until the machine is known.
    #[serde(default)]
    pub starts: Option<Starts>,
}

impl Default for Netperf {
    fn default() -> Self {
        Self { test: NetperfTest::TcpRr, length: Nanos::from_secs(10), pairs: 1, own_work: OWN_WORK, starts: None }
    }
}

/// Returns the channels of connections, two for each: one in each direction.
pub(super) fn connections(kind: ChannelKind, nr_connections: usize) -> Vec<Channel> {
    let channel = |index: usize| Channel { reverse: Some(index ^ 1), ..Channel::new(kind, SOCKET_MESSAGES) };
    (0..2 * nr_connections).map(channel).collect()
}

impl Netperf {
    /// Returns the workload: the task that starts all, then for each pair the server and the client, then with
    /// [`Starts::Shell`] netserver itself.
    pub fn workload(self) -> Workload {
        let pairs = self.pairs as usize;
        let has_shell = self.starts == Some(Starts::Shell);
        let mut tasks = vec![if has_shell { self.shell() } else { self.creator() }];
        let work = Step::Run(self.own_work);
        for pair in 0..pairs {
            let (request, response) = (2 * pair, 2 * pair + 1);
            let serve = vec![Step::Receive(request), work, Step::Send(response, MESSAGE_BYTES)];
            let ask = vec![work, Step::Send(request, MESSAGE_BYTES), Step::Receive(response), Step::Mark(TRANSACTION)];
            let (mut begin_server, mut begin_client) = (Vec::new(), Vec::new());
            if has_shell {
                let connect = Step::Send(self.control(), MESSAGE_BYTES);
                begin_client = vec![Step::Exec, Step::Run(PROGRAM_WORK), connect, Step::Receive(response)];
                begin_server = vec![Step::Send(response, MESSAGE_BYTES)];
            }
            let server = created_task(format!("netserver{pair}"), "netserver", move |_| {
                PrefixedBehaviour::new(begin_server.clone(), RepeatedSteps::endless(serve.clone()))
            });
            tasks.push(server);
            tasks.push(created_task(format!("netperf{pair}"), "netperf", move |_| {
                PrefixedBehaviour::new(begin_client.clone(), RepeatedSteps::endless(ask.clone()))
            }));
        }
        let kind = match self.test {
            NetperfTest::TcpRr => ChannelKind::Tcp,
            NetperfTest::UdpRr => ChannelKind::Udp,
        };
        let mut channels = connections(kind, pairs);
        let mut starts = Nanos::ZERO;
        if has_shell {
            tasks.push(self.listener());
            channels.push(Channel::new(ChannelKind::Tcp, SOCKET_MESSAGES.max(self.pairs)));
            starts = Nanos(u64::from(self.pairs) * SHELL_WORK.0);
        }
        Workload {
            tasks,
            objects: Objects { channels, ..Objects::default() },
            duration: Some(self.length),
            starts,
            ..Workload::default()
        }
    }

    /// Channel through which clients connect.
    const fn control(self) -> ObjectId {
        2 * self.pairs as usize
    }

    /// Returns the task that starts the pairs at once, and then ends.
    fn creator(self) -> TaskSpec {
        creator("shell", (CREATOR + 1..=2 * self.pairs as usize).collect())
    }

    /// Returns the shell that starts the clients, one after the other, and then ends.
    fn shell(self) -> TaskSpec {
        let steps: Vec<Step> = self.clients().flat_map(|client| [Step::Run(SHELL_WORK), Step::Fork(client)]).collect();
        let behaviour = move |_| RepeatedSteps::once(steps.clone());
        TaskSpec { start_at: Some(Nanos::ZERO), ..created_task("shell".to_owned(), "shell", behaviour) }
    }

    /// Returns the netserver that forks a server for each connection.
    fn listener(self) -> TaskSpec {
        let accept = Step::Receive(self.control());
        let mut steps: Vec<Step> = self.clients().flat_map(|client| [accept, Step::Fork(client - 1)]).collect();
        steps.push(accept);
        let behaviour = move |_| RepeatedSteps::once(steps.clone());
        let task = created_task("netserver".to_owned(), "netserver", behaviour);
        TaskSpec { start_at: Some(Nanos::ZERO), ..task }
    }

    /// Returns the tasks that are clients, in the order of the pairs.
    pub fn clients(&self) -> impl Iterator<Item = usize> {
        (0..self.pairs as usize).map(|pair| CREATOR + 2 + 2 * pair)
    }
}

impl BenchModel for Netperf {
    const NAME: &'static str = "netperf";

    fn for_run(self, run: &RunContext) -> Self {
        let default = if run.has_costs { Starts::Shell } else { Starts::AtOnce };
        Self { starts: self.starts.or(Some(default)), ..self }
    }

    fn make_workload(&self, _nr_cpus: u32) -> Workload {
        Self::workload(*self)
    }
}

/// Requests and responses over the loopback device
///
/// In each transaction of a pair, client and server compute (`--own-work`: 120 ns, counted instructions), send and wait. Only one message is in
/// flight, so a pair keeps about one CPU busy. A latency is the time between the ends of two transactions.
///
/// How a run begins decides where it ends: under load, pairs have stable states, with both ends on one CPU, each end on a CPU of its own, or
/// each wake-up on a different CPU. With `--starts shell` the machine has been up for 2 s. A shell forks one client after the other (530 us
/// each); a client executes the program (430 us) and connects, and netserver forks a server for it. netserver was started by that shell, as
/// the kernel test robot does (`netserver -D`). Results and `--warmup` count from the last start. With `--starts at-once` one task forks all.
///
/// Result: transactions per second, the share of them on one CPU, moves between CPUs, latencies. The output reports a change of state: shares on
/// one CPU in the first and the last quarter that differ by more than 25 points. The quarters are counted in milliseconds from the first
/// transaction to the last.
///
/// Not modelled: the system calls of connecting, the control connection, bursts (`-b`), message sizes (`-r`), CPU measurement (`-c`, `-C`).
#[derive(Debug, Args)]
#[command(after_help = examples!(
    "netperf -t TCP_RR --instances 3 --machine hikey960 --for 20ms",
    "netperf -t UDP_RR -l 1 --instances 28 --machine xeon-2s-224 --kernel 5.18",
))]
pub struct NetperfLine {
    /// Test to run
    #[arg(short = 't', value_enum, value_name = "TEST", default_value_t = NetperfTest::TcpRr)]
    test: NetperfTest,
    /// Duration, in seconds
    #[arg(short = 'l', value_name = "S", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    length: u64,
    /// Server: only this machine
    #[arg(short = 'H', value_name = "HOST", default_value = "127.0.0.1", value_parser = ["127.0.0.1", "localhost"])]
    host: String,
    /// Use IPv4: accepted, without effect
    #[arg(short = '4')]
    ipv4: bool,
    /// Measure CPU utilisation of the client: accepted, not reported
    #[arg(short = 'c')]
    local_cpu: bool,
    /// Measure CPU utilisation of the server: accepted, not reported
    #[arg(short = 'C')]
    remote_cpu: bool,
    /// Number of netperf instances at the same time
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=4096))]
    instances: u32,
    /// Work of client and server outside the kernel per transaction, in nanoseconds at full capacity
    #[arg(long, value_name = "NS", default_value_t = OWN_WORK.0, value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    own_work: u64,
    /// How the instances begin: a shell forks one after the other on a machine that has been up for 2 s, or all are forked at
    /// once [default: shell where kernel code has costs]
    #[arg(id = "instance_starts", long = "starts", value_enum, value_name = "WAY")]
    starts: Option<Starts>,
}

impl CommandLine for NetperfLine {
    fn benchmark(&self) -> Result<Benchmark, Message> {
        Ok(Benchmark::Netperf(Netperf {
            test: self.test,
            length: Nanos::from_secs(self.length),
            pairs: self.instances,
            own_work: Nanos(self.own_work),
            starts: self.starts,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps_of(workload: &Workload, task: usize, nr_steps: usize) -> Vec<Step> {
        let mut behaviour = (workload.tasks[task].behaviour)(0);
        (0..nr_steps).map(|_| behaviour.next()).take_while(|step| *step != Step::Exit).collect()
    }

    #[test]
    fn a_shell_starts_clients_and_netserver_their_servers() {
        let at_once = Netperf { pairs: 2, ..Netperf::default() }.workload();
        assert_eq!(steps_of(&at_once, 0, 10), [1, 2, 3, 4].map(Step::Fork));
        let workload = Netperf { pairs: 2, starts: Some(Starts::Shell), ..Netperf::default() }.workload();
        let work = Step::Run(SHELL_WORK);
        assert_eq!(steps_of(&workload, 0, 10), [work, Step::Fork(2), work, Step::Fork(4)]);
        let accept = Step::Receive(4);
        assert_eq!(steps_of(&workload, 5, 10), [accept, Step::Fork(1), accept, Step::Fork(3), accept]);
        let (connect, ready) = (Step::Send(4, 1), Step::Receive(3));
        assert_eq!(steps_of(&workload, 4, 4), [Step::Exec, Step::Run(PROGRAM_WORK), connect, ready]);
        assert_eq!(workload.starts, Nanos(2 * SHELL_WORK.0));
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
