// SPDX-License-Identifier: GPL-2.0-or-later
//! stress-ng's sock stressor: each instance is a client that connects, reads all data of a server, and
//! connects again.
//!
//! Client and server of an instance are two processes. For each connection the connecting client wakes the
//! server, which sends messages of 16, 32, ... bytes up to 8 KiB; the client reads them as they arrive. The
//! server does not wait for the client, so both run at once, and both are preempted where there are more
//! tasks than CPUs. One connection is one bogo operation.
//!
//! Costs are those of netperf. Not modelled: message sizes (each message has the cost of any message, and
//! `PER_MESSAGE` of the program's own work), socket options, addresses, and the cost of closing.

use super::netperf::loopback;
use super::{CREATOR, RepeatedSteps, created_task, creator};
use crate::serde_time::nanos;
use crate::step::Step;
use crate::workload::{ChannelKind, Objects, Workload};
use fairlab_sched::units::Nanos;
use serde::{Deserialize, Serialize};

/// Mark of a client at the end of a connection.
pub const BOGO_OP: u32 = 1;
/// Number of messages of a connection: 16 to 8176 bytes.
pub const MESSAGES: usize = 511;
/// Work of a program itself for each message.
const PER_MESSAGE: Nanos = Nanos(300);

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
            let work = Step::Run(PER_MESSAGE);
            let mut serve = vec![Step::Receive(connect)];
            let mut read = vec![Step::Send(connect)];
            for _ in 0..MESSAGES {
                serve.extend([work, Step::Send(data)]);
                read.extend([Step::Receive(data), work]);
            }
            read.push(Step::Mark(BOGO_OP));
            tasks.push(created_task(format!("sock-srv{instance}"), "sock-server", move |_| {
                RepeatedSteps::endless(serve.clone())
            }));
            tasks.push(created_task(format!("sock{instance}"), "sock", move |_| RepeatedSteps::endless(read.clone())));
        }
        Workload {
            tasks,
            objects: Objects { channels: vec![loopback(ChannelKind::Tcp); nr_tasks], ..Objects::default() },
            duration: Some(self.timeout),
            ..Workload::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_is_one_request_and_all_messages() {
        let workload = StressSock { instances: 1, timeout: Nanos::from_secs(1) }.workload();
        let count = |task: usize, steps: usize, wanted: Step| {
            let mut behaviour = (workload.tasks[task].behaviour)(0);
            (0..steps).filter(|_| behaviour.next() == wanted).count()
        };
        let nr_steps = 1 + 2 * MESSAGES;
        assert_eq!((count(1, nr_steps, Step::Send(1)), count(1, nr_steps, Step::Receive(0))), (MESSAGES, 1));
        assert_eq!(
            (count(2, nr_steps + 1, Step::Receive(1)), count(2, nr_steps + 1, Step::Mark(BOGO_OP))),
            (MESSAGES, 1)
        );
    }
}
