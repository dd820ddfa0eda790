// SPDX-License-Identifier: GPL-2.0-or-later
//! One group of hackbench: ten senders write to each of ten receivers.

use crate::cpus::{allowed, join, restrict_to};
use fairlab_workload::bench::micro::{MESSAGING_BYTES, MESSAGING_SENDERS, Transport};
use rustix::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Barrier};
use std::time::Instant;
use std::{io, thread};

/// Returns the duration of a run with `loops` messages from each sender to each receiver, in nanoseconds.
///
/// The time starts when all threads are ready, as the first of them sees it, and ends when the last one has ended, as in
/// hackbench.
pub(crate) fn messaging(transport: Transport, loops: u64) -> io::Result<f64> {
    let cpus = allowed()?;
    let senders = MESSAGING_SENDERS as usize;
    let (mut inboxes, mut outboxes) = (Vec::new(), Vec::new());
    for _ in 0..senders {
        let (inbox, outbox) = connect(transport)?;
        inboxes.push(inbox);
        outboxes.push(outbox);
    }
    // A sender owns the outboxes together with the others: the last one closes them.
    let outboxes: Arc<[OwnedFd]> = outboxes.into();
    let barrier = Barrier::new(2 * senders);
    thread::scope(|scope| {
        let mut threads = Vec::new();
        for inbox in inboxes {
            let (barrier, cpus) = (&barrier, &cpus);
            threads.push(scope.spawn(move || {
                let begun = begin(cpus, barrier)?;
                let bytes = loops * u64::from(MESSAGING_SENDERS * MESSAGING_BYTES);
                read_all(&inbox, bytes).map(|()| (begun, Instant::now()))
            }));
        }
        for _ in 0..senders {
            let (barrier, cpus, outboxes) = (&barrier, &cpus, Arc::clone(&outboxes));
            threads.push(scope.spawn(move || {
                let begun = begin(cpus, barrier)?;
                (0..loops).try_for_each(|_| outboxes.iter().try_for_each(write_message))?;
                Ok((begun, Instant::now()))
            }));
        }
        drop(outboxes);
        let times = threads.into_iter().map(join).collect::<io::Result<Vec<(Instant, Instant)>>>()?;
        let (begun, ended) = times.into_iter().unzip::<_, _, Vec<_>, Vec<_>>();
        let (begun, ended) = (begun.into_iter().min(), ended.into_iter().max());
        Ok(ended.zip(begun).map_or(0.0, |(ended, begun)| (ended - begun).as_nanos() as f64))
    })
}

/// Makes a thread ready, and returns the time at which all were.
fn begin(cpus: &[u32], barrier: &Barrier) -> io::Result<Instant> {
    let pinned = restrict_to(cpus);
    barrier.wait();
    pinned.map(|()| Instant::now())
}

fn connect(transport: Transport) -> io::Result<(OwnedFd, OwnedFd)> {
    Ok(match transport {
        Transport::Pipe => {
            let (inbox, outbox) = io::pipe()?;
            (inbox.into(), outbox.into())
        }
        _ => {
            let (inbox, outbox) = UnixStream::pair()?;
            (inbox.into(), outbox.into())
        }
    })
}

/// Reads messages of [`MESSAGING_BYTES`], one for each call, until `bytes` have come.
fn read_all(inbox: &OwnedFd, bytes: u64) -> io::Result<()> {
    let mut left = bytes;
    let mut buffer = [0; MESSAGING_BYTES as usize];
    while left > 0 {
        match rustix::io::read(inbox, &mut buffer)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            read => left -= read as u64,
        }
    }
    Ok(())
}

fn write_message(outbox: &OwnedFd) -> io::Result<()> {
    let mut message: &[u8] = &[1; MESSAGING_BYTES as usize];
    while !message.is_empty() {
        message = &message[rustix::io::write(outbox, message)?..];
    }
    Ok(())
}
