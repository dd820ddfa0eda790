// SPDX-License-Identifier: GPL-2.0-or-later
//! `trace.dat`, the file of trace-cmd, which KernelShark and LISA open too. Version 6 and version 7.
//!
//! Each CPU has pages of a ring buffer ([`page`]). They stand CPU by CPU in the file, behind a head that says how many there are, so
//! that they wait for the end of the run in a file of their own; only the order of the pages is kept in memory.

mod head;
mod page;
#[cfg(test)]
mod tests;

use super::record::Record;
use super::sink::{Out, Sink, Spool};
use super::thread::Threads;
use super::tracepoint::{encode, values};
pub(super) use head::put_tracing_data;
use head::{Buffer, Head};
use page::{PAGE, Page};
use std::io::{self, Write};
use std::path::Path;

/// Which version of the format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Version {
    /// Read by all versions of trace-cmd.
    V6,
    /// Since trace-cmd 3.0; never compressed here.
    V7,
}

/// A CPU's events.
struct Cpu {
    page: Page,
    /// Places of its pages among all that wait.
    pages: Vec<u32>,
}

/// A trace.dat on its way.
pub(super) struct TraceDat<W: Write> {
    out: Out<W>,
    spool: Spool,
    cpus: Vec<Cpu>,
    version: Version,
    /// An event that is being put together.
    event: Vec<u8>,
    machine: String,
}

impl<W: Write> TraceDat<W> {
    pub(super) fn new(to: W, version: Version, nr_cpus: usize, machine: String, directory: &Path) -> io::Result<Self> {
        let cpus = (0..nr_cpus).map(|_| Cpu { page: Page::new(), pages: Vec::new() }).collect();
        let spool = Spool::new(directory)?;
        Ok(Self { out: Out::new(to), spool, cpus, version, event: Vec::new(), machine })
    }
}

/// Puts a full page among those that wait.
fn put_away(spool: &mut Spool, cpu: &mut Cpu) {
    let place = u32::try_from(spool.len() / PAGE as u64).expect("a trace has less than 16 TiB");
    cpu.pages.push(place);
    cpu.page.take_into(spool.next());
}

impl<W: Write> Sink for TraceDat<W> {
    fn record(&mut self, threads: &Threads, record: &Record<'_>) {
        let Self { cpus, spool, event, .. } = self;
        let nr_cpus = cpus.len();
        let cpu = &mut cpus[record.cpu.index()];
        let common = encode::Common { pid: threads.get(record.current).pid, flags: record.what.flags() };
        values::visit(threads, record, |tracepoint, values| {
            event.clear();
            encode::put_event(event, tracepoint, common, values, nr_cpus);
            if !cpu.page.push(record.at.0, event) {
                put_away(spool, cpu);
                let fits = cpu.page.push(record.at.0, event);
                assert!(fits, "an event of {} bytes does not fit into a page", event.len());
            }
        });
    }

    fn finish(&mut self, threads: &Threads) -> io::Result<()> {
        for cpu in &mut self.cpus {
            if !cpu.page.is_empty() {
                put_away(&mut self.spool, cpu);
            }
        }
        let lengths = self.cpus.iter().map(|cpu| (cpu.pages.len() * PAGE) as u64).collect();
        let head = Head { threads, machine: &self.machine };
        let (head, length) = head.bytes(self.version, &Buffer { lengths });
        self.out.next().extend_from_slice(&head);
        debug_assert_eq!(head.len() as u64, length, "the pages begin behind the head");
        let places = self.cpus.iter().flat_map(|cpu| cpu.pages.iter().copied());
        self.spool.copy_pieces(PAGE, places, &mut self.out)?;
        self.out.finish()
    }

    fn has_failed(&self) -> bool {
        self.out.has_failed() || self.spool.has_failed()
    }
}
