// SPDX-License-Identifier: GPL-2.0-or-later
//! `perf bench sched pipe`: two processes pass a token of four bytes back and forth through two pipes.
//!
//! In each round one process reads and then writes, and the other writes and then reads. That is two wake-ups
//! by a waker that is about to sleep. A pipe takes far more than one token, so neither process ever waits for
//! room. Not modelled: creating the processes.

use super::{nested_groups, repeating_task};
use crate::step::Step;
use crate::workload::{Channel, ChannelKind, Objects, Workload};

/// Number of slots of a pipe.
const PIPE_CAPACITY: u32 = 16;

/// Bytes of a message.
const MESSAGE_BYTES: u32 = 4;

/// Pipe for small messages.
pub(super) const PIPE: Channel = Channel::new(ChannelKind::Pipe, PIPE_CAPACITY);

/// Returns the benchmark with this many rounds, in the innermost of nested task groups.
pub fn pipe(rounds: u64, group_levels: u32) -> Workload {
    let groups = nested_groups(group_levels);
    let group = groups.len().checked_sub(1);
    let ping = vec![Step::Receive(0), Step::Send(1, MESSAGE_BYTES)];
    let pong = vec![Step::Send(0, MESSAGE_BYTES), Step::Receive(1)];
    Workload {
        tasks: vec![
            repeating_task("pipe0".to_owned(), "pipe", group, ping, rounds),
            repeating_task("pipe1".to_owned(), "pipe", group, pong, rounds),
        ],
        groups,
        objects: Objects { channels: vec![PIPE; 2], ..Objects::default() },
        ..Workload::default()
    }
}
