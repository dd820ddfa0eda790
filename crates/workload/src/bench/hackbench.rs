// SPDX-License-Identifier: GPL-2.0-or-later
//! Model of hackbench and of `perf bench sched messaging`: [`HackbenchLine`] describes it.

use super::{
    BenchModel, Benchmark, CREATOR, CommandLine, PrefixedBehaviour, RepeatedSteps, created_task, creator,
    nested_groups, repeating_task,
};
use crate::message::Message;
use crate::step::Step;
use crate::workload::{Channel, ChannelKind, Objects, TaskSpec, Workload};
use clap::Args;
use serde::{Deserialize, Serialize};

/// Options of hackbench, and the builder of its workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hackbench {
    /// Number of groups (`-g`).
    pub groups: u32,
    /// Number of senders, and also of receivers, in each group (`-f`).
    pub fds: u32,
    /// Number of messages from each sender to each receiver (`-l`).
    pub loops: u64,
    /// Pipes instead of sockets (`-p`).
    pub pipe: bool,
    /// Bytes of a message (`-s`), 1 to 4096.
    pub data_size: u32,
    /// Threads instead of processes (`-T`).
    pub threads: bool,
    /// Whether one task creates the others and releases them together, instead of their starting at once.
    pub start_signal: bool,
    /// Number of nested task groups around the benchmark.
    pub group_levels: u32,
}

impl Default for Hackbench {
    fn default() -> Self {
        Self {
            groups: 10,
            fds: 20,
            loops: 100,
            pipe: false,
            data_size: 100,
            threads: false,
            start_signal: false,
            group_levels: 0,
        }
    }
}

/// Mark of a sender that has written a message to every receiver of its group.
pub const LOOP: u32 = 1;

/// Bytes of a socket's send buffer (`net.core.wmem_default`).
const SEND_BUFFER_BYTES: u32 = 212_992;
/// Bytes of a network buffer beside the data: the descriptor (`struct sk_buff`), and the structure behind the
/// data (`struct skb_shared_info`).
const DESCRIPTOR: u32 = 256;
const SHARED_INFO: u32 = 320;
/// Pages of a pipe, and their size. A message does not cross a page boundary if it fits into one page.
const PIPE_PAGES: u32 = 16;
const PAGE_BYTES: u32 = 4096;

/// Returns a pair of sockets for messages of a size. The share of a message in the send buffer is rounded up
/// to a size of the allocator.
fn socket(data_size: u32) -> Channel {
    let taken = DESCRIPTOR + (data_size.next_multiple_of(64) + SHARED_INFO).next_power_of_two();
    Channel {
        // The socket accepts one more message while the buffer is not full.
        capacity: (SEND_BUFFER_BYTES - 1) / taken + 1,
        wake_senders_at: SEND_BUFFER_BYTES / 4 / taken,
        ..Channel::new(ChannelKind::Socket, 0)
    }
}

/// Returns a pipe for messages of a size. A reader wakes a writer of a full pipe when a page is empty.
fn pipe(data_size: u32) -> Channel {
    let per_page = PAGE_BYTES / data_size.clamp(1, PAGE_BYTES);
    let capacity = PIPE_PAGES * per_page;
    Channel { wake_senders_at: capacity - per_page, ..Channel::new(ChannelKind::Pipe, capacity) }
}

/// Barrier at which all tasks wait for the start, and the semaphore that counts the tasks that are ready.
const START: usize = 0;
const READY: usize = 0;

impl Hackbench {
    /// Returns the workload: for each group its receivers and senders, preceded by their creator with
    /// `start_signal`.
    pub fn workload(self) -> Workload {
        let groups = nested_groups(self.group_levels);
        let group = groups.len().checked_sub(1);
        let channel = if self.pipe { pipe(self.data_size) } else { socket(self.data_size) };
        let mut tasks = Vec::new();
        for instance in 0..self.groups {
            let first = (instance * self.fds) as usize;
            let channels = first..first + self.fds as usize;
            for receiver in channels.clone() {
                let steps = vec![Step::Receive(receiver)];
                let rounds = self.loops * u64::from(self.fds);
                tasks.push(repeating_task(format!("recv{receiver}"), "receivers", group, steps, rounds));
            }
            for sender in channels.clone() {
                let steps = channels
                    .clone()
                    .map(|channel| Step::Send(channel, self.data_size))
                    .chain([Step::Mark(LOOP)])
                    .collect();
                tasks.push(repeating_task(format!("send{sender}"), "senders", group, steps, self.loops));
            }
        }
        let nr_channels = (self.groups * self.fds) as usize;
        let mut objects = Objects { channels: vec![channel; nr_channels], ..Objects::default() };
        if self.start_signal {
            objects.semaphores = vec!["ready".to_owned()];
            objects.barriers = vec![("start".to_owned(), 2 * nr_channels as u32 + 1)];
            tasks = with_start_signal(tasks);
        }
        Workload { tasks, groups, objects, ..Workload::default() }
    }
}

/// Returns the tasks with a creator in front, which forks them and then releases them together.
fn with_start_signal(tasks: Vec<TaskSpec>) -> Vec<TaskSpec> {
    let nr_tasks = tasks.len();
    let mut main = creator("hackbench", Vec::new());
    main.start.group = tasks.first().and_then(|task| task.start.group);
    main.behaviour = Box::new(move |_| {
        let mut steps: Vec<Step> = (CREATOR + 1..=nr_tasks).map(Step::Fork).collect();
        steps.extend(vec![Step::SemWait(READY); nr_tasks]);
        steps.push(Step::Barrier(START));
        Box::new(RepeatedSteps::once(steps))
    });
    let child = |spec: TaskSpec| {
        let TaskSpec { name, family, start, behaviour, .. } = spec;
        let begin = [Step::SemPost(READY), Step::Barrier(START)];
        let then = move |instance| PrefixedBehaviour { first: begin.to_vec(), done: 0, rest: behaviour(instance) };
        TaskSpec { start, ..created_task(name, &family, then) }
    };
    core::iter::once(main).chain(tasks.into_iter().map(child)).collect()
}

/// Options of `perf bench sched messaging`, which is hackbench with another output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Messaging(pub Hackbench);

impl BenchModel for Hackbench {
    const NAME: &'static str = "hackbench";
    const IS_KERNEL_WORK: bool = true;
    const RUNS_TO_END: bool = true;

    fn make_workload(&self, _nr_cpus: u32) -> Workload {
        Self::workload(*self)
    }
}

impl BenchModel for Messaging {
    const NAME: &'static str = "perf bench sched messaging";
    const IS_KERNEL_WORK: bool = true;
    const RUNS_TO_END: bool = true;

    fn make_workload(&self, _nr_cpus: u32) -> Workload {
        self.0.workload()
    }
}

/// Groups of senders and receivers over sockets or pipes
///
/// A sender sends one message per loop to every receiver of its group. One task creates the others, receivers first, and releases all
/// together; with `--at-once`, an option of fairlab, all start without it. The run ends when the last task has exited.
///
/// A socket holds 278 messages of 100 bytes (212,992 bytes, 768 per message) and wakes senders when a quarter or less is in use. A pipe of 16
/// pages holds 640 and wakes senders when a page is empty. The size of a message does not change its cost, and processes and threads differ
/// only in the output. Result: time until the last task has exited.
#[derive(Debug, Args)]
#[command(after_help = examples!(
    "hackbench -g 1 -f 2 -l 5 --machine hikey960",
    "hackbench -g 4 -f 14 -l 1000 --pipe --machine xeon-2s-224",
))]
pub struct HackbenchLine {
    /// Number of groups
    #[arg(short, long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=1024))]
    groups: u32,
    /// Number of senders per group, and of receivers
    #[arg(short, long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=1024))]
    fds: u32,
    /// Number of messages from each sender to each receiver
    #[arg(short, long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..=100_000_000))]
    loops: u64,
    /// Size of a message, in bytes
    #[arg(short = 's', long, value_name = "BYTES", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=4096))]
    datasize: u32,
    /// Use pipes instead of sockets
    #[arg(short, long, conflicts_with = "sockets")]
    pipe: bool,
    /// Use sockets, which is the default
    #[arg(long)]
    sockets: bool,
    /// Use threads instead of processes
    #[arg(short = 'T', long, conflicts_with = "process")]
    threads: bool,
    /// Use processes, which is the default
    #[arg(short = 'P', long)]
    process: bool,
    /// Start all tasks at once, instead of one that creates the others and releases them together (an option
    /// of fairlab)
    #[arg(long)]
    at_once: bool,
}

/// Groups of senders and receivers, like hackbench
///
/// The model is that of `fairlab bench hackbench`, with the options and the output of perf.
#[derive(Debug, Args)]
#[command(after_help = examples!(
    "perf sched messaging -g 1 -l 2 --machine hikey960",
))]
pub struct MessagingLine {
    /// Number of groups
    #[arg(short, long = "group", value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=1024))]
    groups: u32,
    /// Number of messages from each sender to each receiver
    #[arg(short, long = "nr_loops", value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..=100_000_000))]
    loops: u64,
    /// Use pipes instead of sockets
    #[arg(short, long)]
    pipe: bool,
    /// Use threads instead of processes
    #[arg(short, long)]
    thread: bool,
}

impl CommandLine for HackbenchLine {
    fn benchmark(&self) -> Result<Benchmark, Message> {
        Ok(Benchmark::Hackbench(Hackbench {
            groups: self.groups,
            fds: self.fds,
            loops: self.loops,
            pipe: self.pipe,
            data_size: self.datasize,
            threads: self.threads,
            start_signal: !self.at_once,
            group_levels: 0,
        }))
    }
}

impl CommandLine for MessagingLine {
    fn benchmark(&self) -> Result<Benchmark, Message> {
        Ok(Benchmark::Messaging(Messaging(Hackbench {
            groups: self.groups,
            loops: self.loops,
            pipe: self.pipe,
            threads: self.thread,
            start_signal: true,
            ..Hackbench::default()
        })))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_messages_fit_as_the_kernel_s_buffers_take() {
        let of = |channel: Channel| (channel.capacity, channel.wake_senders_at);
        assert_eq!(of(socket(100)), (278, 69));
        assert_eq!(of(pipe(100)), (640, 600));
        assert_eq!(of(socket(1000)), (93, 23), "2304 bytes each");
        assert_eq!((pipe(4096).capacity, pipe(3000).capacity, pipe(1).capacity), (16, 16, 65_536));
    }

    #[test]
    fn with_a_start_signal_one_task_creates_all_and_everybody_waits_for_it() {
        let bench = Hackbench { groups: 2, fds: 3, loops: 1, start_signal: true, ..Hackbench::default() };
        let workload = bench.workload();
        assert_eq!(workload.tasks.len(), 13);
        assert_eq!(workload.objects.barriers[0].1, 13);
        assert!(workload.tasks[1..].iter().all(|task| task.start_at.is_none()));
        let mut main = (workload.tasks[0].behaviour)(0);
        let steps: Vec<Step> = (0..26).map(|_| main.next()).collect();
        assert_eq!(
            (steps[0], steps[11], steps[12], steps[24]),
            (Step::Fork(1), Step::Fork(12), Step::SemWait(0), Step::Barrier(0))
        );
        let mut child = (workload.tasks[1].behaviour)(0);
        assert_eq!([child.next(), child.next(), child.next()], [Step::SemPost(0), Step::Barrier(0), Step::Receive(0)]);
    }

    #[test]
    fn a_group_has_as_many_senders_as_receivers_and_all_messages_arrive() {
        let workload = Hackbench { groups: 2, fds: 3, loops: 5, ..Hackbench::default() }.workload();
        assert_eq!(workload.tasks.len(), 12);
        let (mut sent, mut received) = (0, 0);
        for task in &workload.tasks {
            let mut behaviour = (task.behaviour)(0);
            loop {
                match behaviour.next() {
                    Step::Send(..) => sent += 1,
                    Step::Receive(_) => received += 1,
                    Step::Mark(_) => {}
                    _ => break,
                }
            }
        }
        assert_eq!((sent, received), (2 * 3 * 3 * 5, 2 * 3 * 3 * 5));
    }
}
