// SPDX-License-Identifier: GPL-2.0-or-later
//! Both ends of a connection that passes one byte, by each transport.

use fairlab_workload::bench::micro::Transport;
use rustix::event::{EventfdFlags, epoll, eventfd};
use rustix::fd::OwnedFd;
use rustix::thread::futex;
use std::io;
use std::mem::MaybeUninit;
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// Endpoint of a connection.
#[derive(Debug)]
pub(crate) enum Endpoint {
    /// Two words in shared memory: 1 says that a byte is there.
    Words { inbox: Arc<AtomicU32>, outbox: Arc<AtomicU32> },
    /// Two file descriptors, and the bytes of a message. With an epoll instance, the receiver waits for that.
    Files { inbox: OwnedFd, outbox: OwnedFd, bytes: usize, poller: Option<OwnedFd> },
}

impl Endpoint {
    /// Sends a message.
    pub(crate) fn send(&self) -> io::Result<()> {
        match self {
            Self::Words { outbox, .. } => {
                outbox.store(1, Ordering::Release);
                futex::wake(outbox, futex::Flags::PRIVATE, 1)?;
            }
            Self::Files { outbox, bytes, .. } => {
                let sent = rustix::io::write(outbox, &1_u64.to_ne_bytes()[..*bytes])?;
                check(sent, *bytes)?;
            }
        }
        Ok(())
    }

    /// Waits for a message.
    pub(crate) fn receive(&self) -> io::Result<()> {
        match self {
            Self::Words { inbox, .. } => {
                while inbox.swap(0, Ordering::Acquire) == 0 {
                    match futex::wait(inbox, futex::Flags::PRIVATE, 0, None) {
                        Ok(()) | Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => {}
                        Err(error) => return Err(error.into()),
                    }
                }
            }
            Self::Files { inbox, bytes, poller, .. } => {
                if let Some(poller) = poller {
                    let mut events = [MaybeUninit::<epoll::Event>::uninit(); 1];
                    epoll::wait(poller, &mut events, None)?;
                }
                let mut buffer = [0; 8];
                let received = rustix::io::read(inbox, &mut buffer[..*bytes])?;
                check(received, *bytes)?;
            }
        }
        Ok(())
    }
}

fn check(moved: usize, bytes: usize) -> io::Result<()> {
    if moved == bytes { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}

/// Returns the two ends of a connection.
pub(crate) fn connect(transport: Transport) -> io::Result<(Endpoint, Endpoint)> {
    Ok(match transport {
        Transport::Futex => {
            let (a, b) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
            (Endpoint::Words { inbox: Arc::clone(&a), outbox: Arc::clone(&b) }, Endpoint::Words { inbox: b, outbox: a })
        }
        Transport::Eventfd => {
            let (a, b) = (eventfd(0, EventfdFlags::empty())?, eventfd(0, EventfdFlags::empty())?);
            let (second_a, second_b) = (a.try_clone()?, b.try_clone()?);
            (
                Endpoint::Files { inbox: a, outbox: b, bytes: 8, poller: None },
                Endpoint::Files { inbox: second_b, outbox: second_a, bytes: 8, poller: None },
            )
        }
        Transport::Pipe => {
            let ((from_b, to_a), (from_a, to_b)) = (io::pipe()?, io::pipe()?);
            (files(from_b, to_b), files(from_a, to_a))
        }
        Transport::Unix => {
            let (a, b) = UnixStream::pair()?;
            (files(a.try_clone()?, a), files(b.try_clone()?, b))
        }
        Transport::Tcp | Transport::TcpEpoll => {
            let listener = TcpListener::bind("127.0.0.1:0")?;
            let a = TcpStream::connect(listener.local_addr()?)?;
            let (b, _) = listener.accept()?;
            for stream in [&a, &b] {
                stream.set_nodelay(true)?;
            }
            if transport == Transport::TcpEpoll {
                return Ok((polled(a.try_clone()?.into(), a.into())?, polled(b.try_clone()?.into(), b.into())?));
            }
            (files(a.try_clone()?, a), files(b.try_clone()?, b))
        }
        Transport::Udp => {
            let (a, b) = (UdpSocket::bind("127.0.0.1:0")?, UdpSocket::bind("127.0.0.1:0")?);
            a.connect(b.local_addr()?)?;
            b.connect(a.local_addr()?)?;
            (files(a.try_clone()?, a), files(b.try_clone()?, b))
        }
    })
}

fn files(inbox: impl Into<OwnedFd>, outbox: impl Into<OwnedFd>) -> Endpoint {
    Endpoint::Files { inbox: inbox.into(), outbox: outbox.into(), bytes: 1, poller: None }
}

/// Returns an end whose receiver waits with `epoll_wait()`.
fn polled(inbox: OwnedFd, outbox: OwnedFd) -> io::Result<Endpoint> {
    let poller = epoll::create(epoll::CreateFlags::empty())?;
    epoll::add(&poller, &inbox, epoll::EventData::new_u64(0), epoll::EventFlags::IN)?;
    Ok(Endpoint::Files { inbox, outbox, bytes: 1, poller: Some(poller) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_transport_passes_a_message_in_both_directions() {
        use Transport::{Eventfd, Futex, Pipe, Tcp, TcpEpoll, Udp, Unix};
        for transport in [Futex, Eventfd, Pipe, Unix, Tcp, TcpEpoll, Udp] {
            let (a, b) = connect(transport).expect("a connection can be made");
            for (from, to) in [(&a, &b), (&b, &a), (&a, &b)] {
                from.send().and_then(|()| to.receive()).unwrap_or_else(|error| panic!("{transport:?}: {error}"));
            }
        }
    }
}
