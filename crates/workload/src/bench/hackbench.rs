// SPDX-License-Identifier: GPL-2.0-or-later
//! hackbench (and `perf bench sched messaging`): groups of senders and receivers over pairs of sockets or pipes.
//!
//! In each group every sender writes, for each loop, one message to every receiver of the group in turn; every receiver reads
//! what all senders of its group have for it. Who finds a buffer full or empty blocks. The run ends when the last task does.
//!
//! A stream socket of the default 212992 bytes takes 278 messages of 100 bytes with their bookkeeping (768 bytes each), and
//! wakes writers when a quarter or less of that is in use; a pipe of 16 pages takes 640 messages, and wakes writers when
//! there is room. Not modelled: creating the tasks, and the start signal for which they all wait: they start at once, forked
//! one after the other.

use super::{nested_groups, repeating_task};
use crate::step::Step;
use crate::workload::{Channel, ChannelKind, Objects, Workload};

/// What hackbench is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hackbench {
    /// Groups (`-g`).
    pub groups: u32,
    /// Senders, and also receivers, in each group (`-f`).
    pub fds: u32,
    /// Messages from each sender to each receiver (`-l`).
    pub loops: u64,
    /// Pipes instead of sockets (`-p`).
    pub pipe: bool,
    /// Task groups around it.
    pub group_levels: u32,
}

impl Default for Hackbench {
    fn default() -> Self {
        Self { groups: 10, fds: 20, loops: 100, pipe: false, group_levels: 0 }
    }
}

impl Hackbench {
    /// The workload.
    pub fn workload(self) -> Workload {
        let groups = nested_groups(self.group_levels);
        let group = groups.len().checked_sub(1);
        let channel = if self.pipe {
            Channel { kind: ChannelKind::Pipe, capacity: 640, wake_senders_at: 639 }
        } else {
            Channel { kind: ChannelKind::Socket, capacity: 278, wake_senders_at: 278 / 4 }
        };
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
                let steps = channels.clone().map(Step::Send).collect();
                tasks.push(repeating_task(format!("send{sender}"), "senders", group, steps, self.loops));
            }
        }
        let nr_channels = (self.groups * self.fds) as usize;
        Workload {
            tasks,
            groups,
            objects: Objects { channels: vec![channel; nr_channels], ..Objects::default() },
            ..Workload::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_has_as_many_senders_as_receivers_and_all_messages_arrive() {
        let workload = Hackbench { groups: 2, fds: 3, loops: 5, ..Hackbench::default() }.workload();
        assert_eq!(workload.tasks.len(), 12);
        let (mut sent, mut received) = (0, 0);
        for task in &workload.tasks {
            let mut behaviour = (task.behaviour)(0);
            loop {
                match behaviour.next() {
                    Step::Send(_) => sent += 1,
                    Step::Receive(_) => received += 1,
                    _ => break,
                }
            }
        }
        assert_eq!((sent, received), (2 * 3 * 3 * 5, 2 * 3 * 3 * 5));
    }
}
