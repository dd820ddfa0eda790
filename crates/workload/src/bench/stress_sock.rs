// SPDX-License-Identifier: GPL-2.0-or-later
//! Model of the sock stressor of stress-ng: [`StressNgLine`] describes it.
//!
//! Client and server of an instance run at once, and both are preempted where there are more tasks than CPUs.

use super::netperf::connections;
use super::{BenchModel, Benchmark, CREATOR, CommandLine, RepeatedSteps, created_task, creator};
use crate::message::Message;
use crate::serde_time::nanos;
use crate::step::Step;
use crate::time::parse_time;
use crate::workload::{Channel, ChannelKind, Objects, Workload};
use clap::Args;
use fairlab_sched::units::Nanos;
use serde::{Deserialize, Serialize};

/// Mark of a client at the end of a connection.
pub const BOGO_OP: u32 = 1;
/// Number of messages of a connection: 16 to 8176 bytes.
pub const MESSAGES: usize = 511;
/// Difference between the sizes of two messages, and size of the first.
const SIZE_STEP: u32 = 16;
/// Bytes of the client's buffer.
const BUFFER_BYTES: u32 = 8192;
/// Bytes of a connection.
const CONNECTION_BYTES: u32 = SIZE_STEP * (MESSAGES * (MESSAGES + 1) / 2) as u32;
/// Work of a server for each message. Counted: 28 instructions, at 2 per nanosecond.
const PER_MESSAGE: Nanos = Nanos(14);
/// Work of a client for each receive. Counted: 82 instructions, and 750 of the `ioctl()`, at 2 per nanosecond.
const PER_RECEIVE: Nanos = Nanos(416);
/// Work of a client for each connection. Counted: 2,800 instructions, at 2 per nanosecond.
const PER_CONNECTION: Nanos = Nanos(1_400);

/// Options of the stressor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StressSock {
    /// Number of instances (`--sock`).
    pub instances: u32,
    /// Length of the test (`-t`).
    #[serde(rename = "timeout_ns", with = "nanos")]
    pub timeout: Nanos,
}

impl StressSock {
    /// Returns the workload: the creator of all, then for each instance the server and the client.
    pub fn workload(self) -> Workload {
        let nr_tasks = 2 * self.instances as usize;
        let mut tasks = vec![creator("stress-ng", (CREATOR + 1..=nr_tasks).collect())];
        for instance in 0..self.instances as usize {
            let (connect, data) = (2 * instance, 2 * instance + 1);
            let mut serve = vec![Step::Receive(connect)];
            let send = |index: u32| [Step::Run(PER_MESSAGE), Step::Send(data, index * SIZE_STEP)];
            serve.extend((1..=MESSAGES as u32).flat_map(send));
            let all = Step::ReceiveBytes {
                channel: data,
                bytes: CONNECTION_BYTES,
                buffer: BUFFER_BYTES,
                between: PER_RECEIVE,
            };
            let read = vec![Step::Run(PER_CONNECTION), Step::Send(connect, 1), all, Step::Mark(BOGO_OP)];
            tasks.push(created_task(format!("sock-srv{instance}"), "sock-server", move |_| {
                RepeatedSteps::endless(serve.clone())
            }));
            tasks.push(created_task(format!("sock{instance}"), "sock", move |_| RepeatedSteps::endless(read.clone())));
        }
        let mut channels = connections(ChannelKind::Tcp, self.instances as usize);
        for channel in &mut channels {
            // Connecting sends nothing that could acknowledge data. The data of a connection fits into the buffers.
            *channel = Channel { is_delayed: true, ..Channel::new(channel.kind, MESSAGES as u32) };
        }
        Workload {
            tasks,
            objects: Objects { channels, ..Objects::default() },
            duration: Some(self.timeout),
            ..Workload::default()
        }
    }
}

impl BenchModel for StressSock {
    const NAME: &'static str = "stress-ng";

    fn make_workload(&self, _nr_cpus: u32) -> Workload {
        Self::workload(*self)
    }
}

/// The sock stressor of stress-ng
///
/// For each connection the client wakes the server, which sends 511 messages; the socket takes them all. The server does not set `TCP_NODELAY`:
/// while a message waits for its acknowledgement, further ones are appended, and the client receives up to 8 KiB with each call. Work, counted in
/// instructions, at 2 per nanosecond: server 14 ns per message; client 416 ns per receive, with the `ioctl()` before it, and 1.4 us per
/// connection.
///
/// Result: bogo operations (connections) per second, context switches, involuntary ones. Not modelled: socket options, opening and closing, a
/// server that preempts its client inside `connect()`.
#[derive(Debug, Args)]
#[command(after_help = examples!(
    "stress-ng --sock 2 -t 50ms --machine hikey960",
))]
pub struct StressNgLine {
    /// Number of instances of the sock stressor
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
    sock: u32,
    /// Duration: seconds, or a time such as 300ms
    #[arg(short, long, value_name = "T", default_value = "10", value_parser = seconds_or_time)]
    timeout: Nanos,
    /// Report metrics: accepted, they are always reported
    #[arg(long)]
    metrics: bool,
}

impl CommandLine for StressNgLine {
    fn benchmark(&self) -> Result<Benchmark, Message> {
        Ok(Benchmark::StressSock(StressSock { instances: self.sock, timeout: self.timeout }))
    }
}

/// Parses a number of seconds, or a time with its unit.
fn seconds_or_time(text: &str) -> Result<Nanos, Message> {
    parse_time(text).or_else(|why| parse_time(&format!("{text}s")).map_err(|_| why))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_is_one_request_and_all_messages() {
        let workload = StressSock { instances: 1, timeout: Nanos::from_secs(1) }.workload();
        let steps = |task: usize, nr_steps: usize| -> Vec<Step> {
            let mut behaviour = (workload.tasks[task].behaviour)(0);
            (0..nr_steps).map(|_| behaviour.next()).collect()
        };
        let served = steps(1, 1 + 2 * MESSAGES);
        let sizes = served.iter().filter_map(|step| if let Step::Send(1, bytes) = step { Some(bytes) } else { None });
        assert_eq!((served[0], sizes.clone().count(), sizes.sum()), (Step::Receive(0), MESSAGES, CONNECTION_BYTES));
        let read = steps(2, 4);
        assert_eq!((read[1], read[3]), (Step::Send(0, 1), Step::Mark(BOGO_OP)));
        assert!(matches!(read[2], Step::ReceiveBytes { channel: 1, bytes: CONNECTION_BYTES, .. }), "{read:?}");
    }
}
