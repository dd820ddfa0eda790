// SPDX-License-Identifier: GPL-2.0-or-later
//! fairlab's own microbenchmarks: one operation of a kernel, repeated. [`MicroLine`] describes them.
//!
//! `fairlab machine validate` runs these tests on a real machine, with the programs of the crate `native`, and compares. A test is
//! therefore as small as a model can be exact about it: no work between two operations, and fixed CPUs except for messaging.

use super::hackbench::Hackbench;
use super::netperf::connections;
use super::pipe::PIPE;
use super::{BenchModel, Benchmark, CommandLine, RepeatedSteps, created_task, repeating_task};
use crate::message::Message;
use crate::step::Step;
use crate::workload::{Affinity, Channel, ChannelKind, Objects, TaskSpec, Workload};
use clap::Args;
use fairlab_sched::units::Nanos;
use serde::{Deserialize, Serialize};

/// Requested sleep of [`MicroTest::Sleep`].
pub const SLEEP: Nanos = Nanos::from_micros(200);

/// Senders of the one group of [`MicroTest::Messaging`], and receivers.
pub const MESSAGING_SENDERS: u32 = 10;

/// Bytes of a message of [`MicroTest::Messaging`].
pub const MESSAGING_BYTES: u32 = 100;

/// Way in which a test passes one byte, or wakes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "the variants are named after what they use")]
pub enum Transport {
    Futex,
    Eventfd,
    Pipe,
    /// Pair of stream sockets of the family AF_UNIX.
    Unix,
    /// Over the loopback device, as are UDP's datagrams.
    Tcp,
    /// TCP whose receiver waits with `epoll_wait()`.
    TcpEpoll,
    Udp,
}

impl Transport {
    const ALL: [Self; 7] = [Self::Futex, Self::Eventfd, Self::Pipe, Self::Unix, Self::Udp, Self::Tcp, Self::TcpEpoll];

    const fn name(self) -> &'static str {
        match self {
            Self::Futex => "futex",
            Self::Eventfd => "eventfd",
            Self::Pipe => "pipe",
            Self::Unix => "unix",
            Self::Tcp => "tcp",
            Self::TcpEpoll => "tcp-epoll",
            Self::Udp => "udp",
        }
    }

    /// Returns the channels that model it, one in each direction; none for futexes.
    fn channels(self) -> Vec<Channel> {
        match self {
            Self::Futex => Vec::new(),
            Self::Eventfd => vec![Channel::new(ChannelKind::Eventfd, u32::MAX); 2],
            Self::Pipe => vec![PIPE; 2],
            Self::Unix => connections(ChannelKind::Socket, 1),
            Self::Tcp => connections(ChannelKind::Tcp, 1),
            Self::TcpEpoll => connections(ChannelKind::TcpEpoll, 1),
            Self::Udp => connections(ChannelKind::Udp, 1),
        }
    }
}

/// CPUs of the two tasks of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "the variants explain themselves")]
pub enum Placement {
    OneCpu,
    TwoCpus,
}

/// Operation that a test repeats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MicroTest {
    /// `getppid()`: entry and exit of the kernel.
    EmptyCall,
    /// `sched_yield()` of a task that is alone on its CPU.
    Yield,
    /// A task sends a byte to itself, so that nothing waits.
    Pass(Transport),
    /// Two tasks pass a byte there and back, and each waits for the other.
    PingPong(Transport, Placement),
    /// Lateness of a sleep of 200 us.
    Sleep,
    /// A thread is created, ends at once, and is waited for.
    Thread,
    /// As hackbench: a group of ten senders and ten receivers of 100 bytes. The result is for one message.
    Messaging(Transport),
}

impl MicroTest {
    /// Returns all tests, in the order of tables.
    pub fn all() -> Vec<Self> {
        let mut tests = vec![Self::EmptyCall, Self::Yield];
        tests.extend(Transport::ALL.into_iter().skip(1).map(Self::Pass));
        for placement in [Placement::OneCpu, Placement::TwoCpus] {
            tests.extend(Transport::ALL.map(|transport| Self::PingPong(transport, placement)));
        }
        tests.extend([Self::Sleep, Self::Thread, Self::Messaging(Transport::Pipe), Self::Messaging(Transport::Unix)]);
        tests
    }

    /// Returns the test with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::all().into_iter().find(|test| test.name() == name)
    }

    /// Returns the name on command lines and in results.
    pub fn name(self) -> String {
        match self {
            Self::EmptyCall => "empty-call".to_owned(),
            Self::Yield => "yield".to_owned(),
            Self::Pass(transport) => format!("pass-{}", transport.name()),
            Self::PingPong(transport, Placement::OneCpu) => format!("pingpong-{}-1cpu", transport.name()),
            Self::PingPong(transport, Placement::TwoCpus) => format!("pingpong-{}-2cpus", transport.name()),
            Self::Sleep => "sleep-200us".to_owned(),
            Self::Thread => "thread".to_owned(),
            Self::Messaging(transport) => format!("messaging-{}", transport.name()),
        }
    }

    /// Returns what one result of the test is the duration of, for people.
    pub const fn unit(self) -> &'static str {
        match self {
            Self::EmptyCall | Self::Yield => "call",
            Self::Pass(_) | Self::Messaging(_) => "message",
            Self::PingPong(..) => "round trip",
            Self::Sleep => "sleep, without the requested 200 us",
            Self::Thread => "thread",
        }
    }

    /// Whether there is a model of the test.
    pub const fn is_modelled(self) -> bool {
        !matches!(self, Self::EmptyCall | Self::Pass(Transport::Futex))
    }
}

/// A test with its number of rounds and its CPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Micro {
    /// Operation to repeat.
    pub test: MicroTest,
    /// Number of repetitions; of messaging, number of messages from each sender to each receiver.
    pub rounds: u64,
    /// Bytes of a message of [`MicroTest::Pass`] and [`MicroTest::PingPong`].
    #[serde(default = "one_byte")]
    pub bytes: u32,
    /// CPUs of the two tasks. Tests of one CPU use the first.
    pub cpus: [u32; 2],
}

const fn one_byte() -> u32 {
    1
}

impl Micro {
    /// Returns a test of messages of one byte.
    pub const fn new(test: MicroTest, rounds: u64, cpus: [u32; 2]) -> Self {
        Self { test, rounds, bytes: one_byte(), cpus }
    }

    /// Returns the CPUs on which tasks of the test are fixed.
    pub fn used_cpus(&self) -> &[u32] {
        match self.test {
            MicroTest::PingPong(_, Placement::TwoCpus) => &self.cpus,
            MicroTest::Messaging(_) => &[],
            _ => &self.cpus[..1],
        }
    }

    /// Returns the duration of one operation in nanoseconds, from that of the whole test.
    pub fn per_operation_ns(&self, elapsed: Nanos) -> f64 {
        let messages = u64::from(MESSAGING_SENDERS * MESSAGING_SENDERS);
        let operations = self.rounds * if matches!(self.test, MicroTest::Messaging(_)) { messages } else { 1 };
        let requested = if self.test == MicroTest::Sleep { SLEEP.0 as f64 } else { 0.0 };
        elapsed.0 as f64 / operations as f64 - requested
    }

    /// Returns the workload of a test that is modelled, and an empty one of any other test.
    pub fn workload(self) -> Workload {
        let mut objects = Objects { futexes: 2, ..Objects::default() };
        let task = |name: &str, cpu: u32, steps: Vec<Step>| {
            let mut task = repeating_task(name.to_owned(), name, None, steps, self.rounds);
            task.start.affinity = Some(Affinity::Cpus(vec![cpu]));
            TaskSpec { start_cpu: cpu, ..task }
        };
        let [first, second] = self.cpus;
        let tasks = match self.test {
            MicroTest::EmptyCall => Vec::new(),
            MicroTest::Yield => vec![task("yield", first, vec![Step::Yield])],
            MicroTest::Pass(transport) => {
                objects.channels = transport.channels();
                vec![task("pass", first, vec![Step::Send(0, self.bytes), Step::Receive(0)])]
            }
            MicroTest::PingPong(transport, placement) => {
                let peer = if placement == Placement::OneCpu { first } else { second };
                objects.channels = transport.channels();
                let send = |channel| match transport {
                    Transport::Futex => vec![Step::FutexPost(channel)],
                    _ => vec![Step::Send(channel, self.bytes)],
                };
                let receive = |channel| match transport {
                    Transport::Futex => vec![Step::FutexWait(channel), Step::FutexArm(channel)],
                    _ => vec![Step::Receive(channel)],
                };
                vec![
                    task("ping", first, [send(0), receive(1)].concat()),
                    task("pong", peer, [receive(0), send(1)].concat()),
                ]
            }
            MicroTest::Sleep => vec![task("sleep", first, vec![Step::Sleep(SLEEP)])],
            MicroTest::Thread => {
                objects.semaphores = vec!["joined".to_owned()];
                let child = created_task("child".to_owned(), "child", |_| RepeatedSteps::once(vec![Step::SemPost(0)]));
                let main = task("main", first, vec![Step::Fork(1), Step::SemWait(0)]);
                // Threads inherit the affinity of their creator.
                let start = main.start.clone();
                vec![main, TaskSpec { start, start_cpu: first, ..child }]
            }
            MicroTest::Messaging(transport) => {
                return Hackbench {
                    groups: 1,
                    fds: MESSAGING_SENDERS,
                    loops: self.rounds,
                    pipe: matches!(transport, Transport::Pipe),
                    data_size: MESSAGING_BYTES,
                    threads: true,
                    start_signal: true,
                    group_levels: 0,
                }
                .workload();
            }
        };
        Workload { tasks, objects, ..Workload::default() }
    }
}

impl BenchModel for Micro {
    const NAME: &'static str = "micro";
    const IS_KERNEL_WORK: bool = true;
    const RUNS_TO_END: bool = true;

    fn make_workload(&self, _nr_cpus: u32) -> Workload {
        Self::workload(*self)
    }
}

/// One operation of the kernel, repeated, as `fairlab machine validate` measures it
///
/// Tests: `yield` (`sched_yield()` of a task alone on its CPU), `pass-CHANNEL` (a task sends a byte to itself), `pingpong-CHANNEL-1cpu` and
/// `pingpong-CHANNEL-2cpus` (a byte there and back between two tasks), `sleep-200us` (lateness of a sleep), `thread` (a thread is created, ends,
/// and is waited for), `messaging-pipe` and `messaging-unix` (a message of hackbench with one group of ten senders and ten receivers).
///
/// CHANNEL is `pipe`, `eventfd`, `unix` (a pair of stream sockets), `udp`, `tcp` or `tcp-epoll` (the receiver waits with `epoll_wait()`); for
/// ping-pong also `futex`. Result: time of one operation. Not modelled: an empty system call, and creating the tasks, except in `thread`.
#[derive(Debug, Args)]
#[command(after_help = examples!(
    "micro pingpong-pipe-2cpus --rounds 50 --machine hikey960",
))]
pub struct MicroLine {
    /// Test to run: yield, pass-CHANNEL, pingpong-CHANNEL-1cpu, pingpong-CHANNEL-2cpus, sleep-200us, thread,
    /// messaging-pipe, messaging-unix. CHANNEL is futex, eventfd, pipe, unix, udp, tcp or tcp-epoll; pass-futex does not
    /// exist
    #[arg(value_name = "TEST")]
    test: String,
    /// Number of repetitions
    #[arg(short, long, value_name = "N", default_value_t = 2000, value_parser = clap::value_parser!(u64).range(1..=100_000_000))]
    rounds: u64,
    /// Bytes of a message of pass-CHANNEL and pingpong-CHANNEL; futexes and eventfds have no size
    #[arg(short, long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=65_536))]
    bytes: u32,
    /// CPUs of the two tasks; tests of one CPU use the first
    #[arg(long, value_name = "A,B", value_parser = parse_two_cpus, default_value = "0,1")]
    cpus: [u32; 2],
}

impl CommandLine for MicroLine {
    fn benchmark(&self) -> Result<Benchmark, Message> {
        let modelled = || MicroTest::all().into_iter().filter(|test| test.is_modelled()).map(MicroTest::name);
        let wrong = |text: String| {
            let modelled = modelled().collect::<Vec<_>>().join(", ");
            Message::new(text).with_help(format!("tests with a model: {modelled}"))
        };
        let test = MicroTest::from_name(&self.test).ok_or_else(|| wrong(format!("there is no test {}", self.test)))?;
        if !test.is_modelled() {
            return Err(wrong(format!("{} runs on real machines only: it has no model", self.test)));
        }
        Ok(Benchmark::Micro(Micro { bytes: self.bytes, ..Micro::new(test, self.rounds, self.cpus) }))
    }
}

/// Parses two different CPUs: `0,1`.
///
/// # Errors
/// If the text is something else.
pub fn parse_two_cpus(text: &str) -> Result<[u32; 2], Message> {
    let cpus: Option<Vec<u32>> = text.split(',').map(|cpu| cpu.parse().ok()).collect();
    match cpus.as_deref() {
        Some(&[first, second]) if first != second => Ok([first, second]),
        _ => Err(Message::new("two different CPUs are needed, such as 0,1")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_test_has_a_name_of_its_own_and_a_model_has_tasks() {
        let tests = MicroTest::all();
        assert!(tests.len() >= 20, "{}", tests.len());
        for test in tests {
            assert_eq!(MicroTest::from_name(&test.name()), Some(test));
            let workload = Micro::new(test, 3, [0, 1]).workload();
            assert_eq!(workload.tasks.is_empty(), test == MicroTest::EmptyCall, "{test:?}");
        }
    }

    #[test]
    fn a_message_is_one_of_a_group_and_a_sleep_counts_without_its_length() {
        let micro = |test, rounds| Micro::new(test, rounds, [0, 1]);
        let messaging = micro(MicroTest::Messaging(Transport::Pipe), 5);
        assert!((messaging.per_operation_ns(Nanos(500_000)) - 1000.0).abs() < 1e-9);
        assert!((micro(MicroTest::Sleep, 2).per_operation_ns(Nanos(500_000)) - 50_000.0).abs() < 1e-9);
        assert!((micro(MicroTest::Yield, 2).per_operation_ns(Nanos(500)) - 250.0).abs() < 1e-9);
    }
}
