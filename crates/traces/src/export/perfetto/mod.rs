// SPDX-License-Identifier: GPL-2.0-or-later
//! Perfetto's own format, for ui.perfetto.dev and `trace_processor`.
//!
//! Kernel events are written as ftrace events ([`bundle`]), from which Perfetto builds its tables of threads,
//! CPUs and states. Counters and decisions get tracks of their own ([`tracks`]): counters, instants and
//! spans, with their reasons as arguments. Field numbers are those of Perfetto's protocol; [`proto`] encodes
//! them.

mod bundle;
mod proto;
mod tracks;

use super::pass_spans::PassSpans;
use super::record::{RecordKind, TraceRecord};
use super::sink::{BufferedOut, TraceSink};
use super::thread::{ThreadId, ThreadInfo, ThreadTable};
use super::{CHART_GROUPS, ExportFormat, ExportRun, FormatOpener, SinkOpener, details};
use bundle::BundleWriter;
use proto::{put_bytes, put_message, put_number, put_signed};
use std::io::{self, Write};
use tracks::{PerfettoTrack, PerfettoTracks, TrackEvent};

/// Fields of `Trace` and `TracePacket`.
const PACKET: u32 = 1;
const FTRACE_EVENTS: u32 = 1;
const PROCESS_TREE: u32 = 2;
const TIMESTAMP: u32 = 8;
const CLOCK_SNAPSHOT: u32 = 6;
/// `BUILTIN_CLOCK_BOOTTIME`.
const BOOTTIME: u64 = 6;
const SEQUENCE: u32 = 10;
const SEQUENCE_FLAGS: u32 = 13;
const SYSTEM_INFO: u32 = 45;
const THIS_SEQUENCE: u64 = 1;
/// `SEQ_INCREMENTAL_STATE_CLEARED`: the numbering of interned names starts.
const CLEARED: u64 = 1;

pub(super) const FORMAT: ExportFormat = ExportFormat {
    name: "perfetto",
    extension: "pftrace",
    meaning: "Perfetto's protocol buffers: ui.perfetto.dev, trace_processor",
    groups: CHART_GROUPS,
    opener: FormatOpener::Events(SinkOpener::File(|out, _, run| Ok(Box::new(Perfetto::new(out, run))))),
};

struct Perfetto<W: Write> {
    out: BufferedOut<W>,
    bundles: Vec<BundleWriter>,
    tracks: PerfettoTracks,
    spans: PassSpans,
}

impl<W: Write> Perfetto<W> {
    fn new(to: W, run: &ExportRun<'_>) -> Self {
        let (nr_cpus, threads) = (run.nr_cpus(), run.threads);
        let mut out = BufferedOut::new(to);
        put_packet(out.next(), |bytes| {
            put_number(bytes, SEQUENCE_FLAGS, CLEARED);
            put_message(bytes, SYSTEM_INFO, |bytes| {
                put_message(bytes, 1, |bytes| {
                    put_bytes(bytes, 1, b"Linux");
                    put_bytes(bytes, 2, concat!("fairlab ", env!("CARGO_PKG_VERSION")).as_bytes());
                    put_bytes(bytes, 3, b"6.1.0-fairlab");
                    put_bytes(bytes, 4, run.name().as_bytes());
                });
                put_number(bytes, 8, nr_cpus as u64);
            });
        });
        // Perfetto knows idle tasks without a description.
        let known = threads.iter().filter(|info| info.pid != 0);
        put_process_tree(out.next(), threads, known, 0);
        let bundles = (0..nr_cpus).map(|_| BundleWriter::default()).collect();
        Self { out, bundles, tracks: PerfettoTracks::default(), spans: PassSpans::new(nr_cpus) }
    }

    fn put_bundle(&mut self, cpu: usize) {
        let bundle = &mut self.bundles[cpu];
        put_packet(self.out.next(), |bytes| {
            put_message(bytes, FTRACE_EVENTS, |bytes| bundle.take_into(bytes, cpu as u32));
        });
    }

    fn put_details(&mut self, threads: &ThreadTable, record: &TraceRecord<'_>) {
        let (bytes, at, cpu) = (self.out.next(), record.at, record.cpu);
        if let Some(span) = self.spans.record(record) {
            let (track, name) = (PerfettoTrack::Balance(cpu), span.path.name());
            let moment = TrackEvent { track, name, details: &details::of_span(&span) };
            self.tracks.put_span(bytes, threads, moment, span.began, span.ended);
        }
        let mut put_moment = |track, name, details: &details::Details| {
            self.tracks.put_instant(bytes, threads, TrackEvent { track, name, details }, at);
        };
        match record.what {
            RecordKind::Selected { thread, decision } => {
                let (name, details) = details::of_selection(thread, decision);
                put_moment(PerfettoTrack::Selection(cpu), name, &details);
            }
            RecordKind::BalancedReason(decision) => {
                let (name, details) = details::of_pass(decision);
                put_moment(PerfettoTrack::Balance(cpu), name, &details);
            }
            RecordKind::Kicked(decision) => {
                if let Some((name, details)) = details::of_kick(decision) {
                    put_moment(PerfettoTrack::Kick(cpu), name, &details);
                }
            }
            RecordKind::Path { path, began, waited, .. } if waited.0 > 0 => {
                let moment = TrackEvent { track: PerfettoTrack::Lock(cpu), name: path.name(), details: &Vec::new() };
                self.tracks.put_span(bytes, threads, moment, began, began + waited);
            }
            _ => {}
        }
    }
}

impl<W: Write> TraceSink for Perfetto<W> {
    fn record(&mut self, threads: &ThreadTable, record: &TraceRecord<'_>) {
        match record.what {
            RecordKind::Counter { of, counter, value } => {
                self.tracks.put_counter(self.out.next(), PerfettoTrack::Counter(counter, of), record.at, value);
            }
            RecordKind::Selected { .. }
            | RecordKind::BalancedReason(_)
            | RecordKind::Kicked(_)
            | RecordKind::Path { .. } => self.put_details(threads, record),
            RecordKind::End => put_clocks(self.out.next(), record.at.0),
            RecordKind::StatRuntime { .. }
            | RecordKind::StatWait { .. }
            | RecordKind::Wait { .. }
            | RecordKind::PeltSe { .. }
            | RecordKind::PeltCfs { .. } => {}
            _ => {
                if let RecordKind::Fork { child, .. } = record.what {
                    put_process_tree(self.out.next(), threads, std::iter::once(threads.get(child)), record.at.0);
                }
                let cpu = record.cpu.index();
                if self.bundles[cpu].push(threads, record) {
                    self.put_bundle(cpu);
                }
            }
        }
    }

    fn finish(&mut self, _threads: &ThreadTable) -> io::Result<()> {
        for cpu in 0..self.bundles.len() {
            if !self.bundles[cpu].is_empty() {
                self.put_bundle(cpu);
            }
        }
        self.out.finish()
    }

    fn has_failed(&self) -> bool {
        self.out.has_failed()
    }
}

fn put_packet(bytes: &mut Vec<u8>, put: impl FnOnce(&mut Vec<u8>)) {
    put_message(bytes, PACKET, |bytes| {
        put_number(bytes, SEQUENCE, THIS_SEQUENCE);
        put(bytes);
    });
}

/// Writes a snapshot of the clock of all events, as recorders do at the end of a trace.
fn put_clocks(bytes: &mut Vec<u8>, at: u64) {
    put_packet(bytes, |bytes| {
        put_number(bytes, TIMESTAMP, at);
        put_message(bytes, CLOCK_SNAPSHOT, |bytes| {
            put_message(bytes, 1, |bytes| {
                put_number(bytes, 1, BOOTTIME);
                put_number(bytes, 2, at);
            });
        });
    });
}

fn put_process_tree<'a>(
    bytes: &mut Vec<u8>,
    threads: &ThreadTable,
    infos: impl Iterator<Item = &'a ThreadInfo>,
    at: u64,
) {
    let main = threads.get(ThreadId::MAIN).pid;
    put_packet(bytes, |bytes| {
        put_number(bytes, TIMESTAMP, at);
        put_message(bytes, PROCESS_TREE, |bytes| {
            for info in infos {
                let (pid, tgid) = (i64::from(info.pid), i64::from(info.tgid));
                if pid == tgid {
                    put_message(bytes, 1, |bytes| {
                        put_signed(bytes, 1, pid);
                        put_signed(bytes, 2, if info.is_kernel || pid == 1 { 0 } else { main.into() });
                        put_bytes(bytes, 3, info.comm.as_str().as_bytes());
                        put_number(bytes, 8, info.is_kernel.into());
                    });
                }
                put_message(bytes, 2, |bytes| {
                    put_signed(bytes, 1, pid);
                    put_bytes(bytes, 2, info.comm.as_str().as_bytes());
                    put_signed(bytes, 3, tgid);
                });
            }
        });
    });
}
