// SPDX-License-Identifier: GPL-2.0-or-later
//! Messages of one byte: passed by a thread to itself, or there and back between two threads.

use crate::cpus::{join, restrict_to, run_on};
use crate::transport::connect;
use fairlab_workload::bench::micro::Transport;
use std::time::Instant;
use std::{io, thread};

/// Rounds before the measured ones.
pub(crate) const WARM_UP: u64 = 50;

/// Returns the duration of `rounds` messages that a thread sends to itself, in nanoseconds.
pub(crate) fn pass(transport: Transport, rounds: u64, cpu: u32) -> io::Result<f64> {
    let (from, to) = connect(transport)?;
    run_on(&[cpu], || {
        repeat(WARM_UP, || from.send().and_then(|()| to.receive()))?;
        timed(rounds, || from.send().and_then(|()| to.receive()))
    })
}

/// Returns the duration of `rounds` round trips between two threads, in nanoseconds.
pub(crate) fn ping_pong(transport: Transport, rounds: u64, cpus: [u32; 2]) -> io::Result<f64> {
    let (here, there) = connect(transport)?;
    thread::scope(|scope| {
        // Both ends belong to their threads, so that one that fails closes its end and the other one does not wait.
        let peer = scope.spawn(move || {
            restrict_to(&cpus[1..])?;
            repeat(WARM_UP + rounds, || there.receive().and_then(|()| there.send()))
        });
        let measured = scope.spawn(move || {
            restrict_to(&cpus[..1])?;
            repeat(WARM_UP, || here.send().and_then(|()| here.receive()))?;
            timed(rounds, || here.send().and_then(|()| here.receive()))
        });
        let (measured, peer) = (join(measured), join(peer));
        peer.and(measured)
    })
}

/// Repeats an operation.
pub(crate) fn repeat(rounds: u64, mut operation: impl FnMut() -> io::Result<()>) -> io::Result<()> {
    (0..rounds).try_for_each(|_| operation())
}

/// Returns the time that `rounds` repetitions of an operation take, in nanoseconds.
pub(crate) fn timed(rounds: u64, operation: impl FnMut() -> io::Result<()>) -> io::Result<f64> {
    let begun = Instant::now();
    repeat(rounds, operation)?;
    Ok(begun.elapsed().as_nanos() as f64)
}
