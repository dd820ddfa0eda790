// SPDX-License-Identifier: GPL-2.0-or-later
//! `trace.dat`, versions 6 and 7: the file format of trace-cmd, which KernelShark and LISA read too.
//!
//! Each CPU has pages of a ring buffer ([`page`]). The file stores them CPU by CPU after a header that gives
//! their number, so pages are kept in a temporary file until the end of the run. Only the order of the pages
//! is in memory.

mod header;
mod page;
#[cfg(test)]
mod tests;

use super::record::TraceRecord;
use super::sink::{BufferedOut, Spool, TraceSink};
use super::thread::ThreadTable;
use super::tracepoint::{encode, values};
use super::{EVENT_GROUPS, ExportFormat, ExportRun, FormatOpener, SinkOpener};
use header::TraceDatHead;
pub(super) use header::put_tracing_data;
use page::{PAGE, RingPage};
use std::io::{self, Write};
use std::path::Path;

pub(super) const FORMAT_6: ExportFormat = ExportFormat {
    name: "trace-dat",
    extension: "dat",
    meaning: "trace.dat of version 6: trace-cmd, KernelShark, LISA",
    groups: EVENT_GROUPS,
    opener: FormatOpener::Events(SinkOpener::File(|out, directory, run| {
        Ok(Box::new(TraceDat::new(out, TraceDatVersion::V6, run, directory)?))
    })),
};

pub(super) const FORMAT_7: ExportFormat = ExportFormat {
    name: "trace-dat-7",
    meaning: "trace.dat of version 7, not compressed: trace-cmd since 3.0",
    opener: FormatOpener::Events(SinkOpener::File(|out, directory, run| {
        Ok(Box::new(TraceDat::new(out, TraceDatVersion::V7, run, directory)?))
    })),
    ..FORMAT_6
};

/// Version of the file format. Version 6 is for all versions of trace-cmd, version 7 for 3.0 or later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TraceDatVersion {
    V6,
    V7,
}

struct TraceDatCpu {
    page: RingPage,
    /// Indices of the CPU's pages in the temporary file.
    pages: Vec<u32>,
}

struct TraceDat<W: Write> {
    out: BufferedOut<W>,
    spool: Spool,
    cpus: Vec<TraceDatCpu>,
    version: TraceDatVersion,
    event: Vec<u8>,
    machine: String,
}

impl<W: Write> TraceDat<W> {
    fn new(to: W, version: TraceDatVersion, run: &ExportRun<'_>, directory: &Path) -> io::Result<Self> {
        let cpus = (0..run.nr_cpus()).map(|_| TraceDatCpu { page: RingPage::new(), pages: Vec::new() }).collect();
        let (spool, machine) = (Spool::new(directory)?, run.name());
        Ok(Self { out: BufferedOut::new(to), spool, cpus, version, event: Vec::new(), machine })
    }
}

fn spool_page(spool: &mut Spool, cpu: &mut TraceDatCpu) {
    cpu.pages.push(u32::try_from(spool.len() / PAGE as u64).expect("a trace has less than 16 TiB"));
    cpu.page.take_into(spool.next());
}

impl<W: Write> TraceSink for TraceDat<W> {
    fn record(&mut self, threads: &ThreadTable, record: &TraceRecord<'_>) {
        let Self { cpus, spool, event, .. } = self;
        let nr_cpus = cpus.len();
        let cpu = &mut cpus[record.cpu.index()];
        let common = encode::CommonFields { pid: threads.get(record.current).pid, flags: record.what.flags() };
        values::visit(threads, record, |tracepoint, values| {
            event.clear();
            encode::put_event(event, tracepoint, common, values, nr_cpus);
            if !cpu.page.push(record.at.0, event) {
                spool_page(spool, cpu);
                let fits = cpu.page.push(record.at.0, event);
                assert!(fits, "an event of {} bytes does not fit into a page", event.len());
            }
        });
    }

    fn finish(&mut self, threads: &ThreadTable) -> io::Result<()> {
        for cpu in &mut self.cpus {
            if !cpu.page.is_empty() {
                spool_page(&mut self.spool, cpu);
            }
        }
        let lengths: Vec<u64> = self.cpus.iter().map(|cpu| (cpu.pages.len() * PAGE) as u64).collect();
        let head = TraceDatHead { threads, machine: &self.machine };
        self.out.next().extend_from_slice(&head.bytes(self.version, &lengths));
        let places = self.cpus.iter().flat_map(|cpu| cpu.pages.iter().copied());
        self.spool.copy_pieces(PAGE, places, &mut self.out)?;
        self.out.finish()
    }

    fn has_failed(&self) -> bool {
        self.out.has_failed() || self.spool.has_failed()
    }
}
