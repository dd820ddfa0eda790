// SPDX-License-Identifier: GPL-2.0-or-later
//! `perf.data`, as `perf record -e 'sched:*' -a` would write it, for `perf script` and `perf sched`.
//!
//! The header gives the length of the records, so the records are kept in a temporary file until the end of
//! the run. They are followed by the features: tracepoint formats, event names and properties of the machine.

use super::record::{RecordKind, TraceRecord};
use super::sink::{BufferedOut, Spool, TraceSink, put_u16, put_u32, put_u64};
use super::thread::{COMM_LEN, ThreadInfo, ThreadTable};
use super::trace_dat::put_tracing_data;
use super::tracepoint::{TRACEPOINTS, Tracepoint, encode, values};
use super::{EVENT_GROUPS, ExportFormat, ExportRun, FormatOpener, SinkOpener};
use std::io::{self, Write};
use std::path::Path;

pub(super) const FORMAT: ExportFormat = ExportFormat {
    name: "perf",
    extension: "data",
    meaning: "perf.data: perf script, perf sched timehist, latency and map",
    groups: EVENT_GROUPS,
    opener: FormatOpener::Events(SinkOpener::File(|out, directory, run| {
        Ok(Box::new(PerfData::new(out, run, directory)?))
    })),
};

// Lengths in bytes: of the file header, and of one `perf_event_attr`.
const HEAD: u64 = 104;
const ATTR: u64 = 128;
/// Length of an attribute with its section of ids.
const ATTR_WITH_IDS: u64 = ATTR + 16;
/// Type of attributes that select a tracepoint: `PERF_TYPE_TRACEPOINT`.
const TRACEPOINT: u32 = 2;
/// Fields of a sample: instruction pointer, pid and tid, time, CPU, period, raw data, event id.
const SAMPLE_TYPE: u64 = 0x0001_0587;
/// Read format with the event id: `PERF_FORMAT_ID`.
const READ_FORMAT: u64 = 4;
/// `sample_id_all`: all records have times and ids.
const SAMPLE_ID_ALL: u64 = 1 << 18;
/// Record types: `PERF_RECORD_COMM`, `_SAMPLE`, `_FINISHED_ROUND`.
const COMM: u32 = 3;
const SAMPLE: u32 = 9;
const FINISHED_ROUND: u32 = 68;
/// `PERF_RECORD_MISC_KERNEL`: the sample was taken in the kernel.
const IN_KERNEL: u16 = 1;
/// Bytes between two `FINISHED_ROUND` records, at which readers sort and flush the events read so far.
const ROUND: u64 = 1 << 20;
const FEATURE_TRACING_DATA: u32 = 1;
const FEATURE_HOSTNAME: u32 = 3;
const FEATURE_OSRELEASE: u32 = 4;
const FEATURE_VERSION: u32 = 5;
const FEATURE_ARCH: u32 = 6;
const FEATURE_NR_CPUS: u32 = 7;
const FEATURE_CPU_DESC: u32 = 8;
const FEATURE_CPU_ID: u32 = 9;
const FEATURE_CMDLINE: u32 = 11;
const FEATURE_EVENT_DESC: u32 = 12;

struct PerfData<W: Write> {
    out: BufferedOut<W>,
    records: Spool,
    round_at: u64,
    nr_cpus: usize,
    machine: String,
    event: Vec<u8>,
    /// Bit mask of the tracepoints that occurred. Others, which readers may not support, get no attribute.
    seen: u64,
}

impl<W: Write> PerfData<W> {
    fn new(to: W, run: &ExportRun<'_>, directory: &Path) -> io::Result<Self> {
        let mut data = Self {
            out: BufferedOut::new(to),
            records: Spool::new(directory)?,
            round_at: ROUND,
            nr_cpus: run.nr_cpus(),
            machine: run.name(),
            event: Vec::new(),
            // COMM records carry the id of `sched_switch`, so it must always have an attribute.
            seen: bit_of(Tracepoint::Switch),
        };
        // Idle tasks share pid 0, whose name readers know.
        for info in run.threads.iter().filter(|info| info.pid != 0) {
            data.put_comm(info, 0, 0);
        }
        Ok(data)
    }

    fn tracepoints(&self) -> impl Iterator<Item = Tracepoint> {
        let seen = self.seen;
        TRACEPOINTS.iter().map(|definition| definition.tracepoint).filter(move |&it| seen & bit_of(it) != 0)
    }

    fn data_at(&self) -> u64 {
        HEAD + self.tracepoints().count() as u64 * (ATTR_WITH_IDS + 8)
    }

    fn put_comm(&mut self, info: &ThreadInfo, at: u64, cpu: u32) {
        let bytes = self.records.next();
        put_record_head(bytes, COMM, 0, 8 + 8 + COMM_LEN as u16 + 32);
        put_thread(bytes, info);
        bytes.extend_from_slice(info.comm.bytes());
        // Fields that `sample_id_all` adds to all records: thread, time, CPU, event id.
        put_thread(bytes, info);
        put_u64(bytes, at);
        put_u64(bytes, cpu.into());
        put_u64(bytes, id_of(Tracepoint::Switch));
    }

    fn head(&self, data_length: u64, features: &[(u32, Vec<u8>)]) -> Vec<u8> {
        let nr = self.tracepoints().count() as u64;
        let mut bytes = b"PERFILE2".to_vec();
        let (ids_at, data_at) = (HEAD + nr * ATTR_WITH_IDS, self.data_at());
        for number in [HEAD, ATTR_WITH_IDS, HEAD, nr * ATTR_WITH_IDS, data_at, data_length, 0, 0] {
            put_u64(&mut bytes, number);
        }
        let bits = features.iter().fold(0_u64, |bits, (feature, _)| bits | 1 << feature);
        [bits, 0, 0, 0].into_iter().for_each(|word| put_u64(&mut bytes, word));
        for (place, tracepoint) in self.tracepoints().enumerate() {
            put_attribute(&mut bytes, tracepoint);
            put_u64(&mut bytes, ids_at + 8 * place as u64);
            put_u64(&mut bytes, 8);
        }
        self.tracepoints().for_each(|tracepoint| put_u64(&mut bytes, id_of(tracepoint)));
        bytes
    }

    fn features(&self, threads: &ThreadTable) -> Vec<(u32, Vec<u8>)> {
        let mut tracing = Vec::new();
        put_tracing_data(&mut tracing, threads);
        let text = |text: &str| {
            let mut bytes = Vec::new();
            put_string(&mut bytes, text);
            bytes
        };
        let nr = self.nr_cpus as u32;
        let mut command = 1_u32.to_le_bytes().to_vec();
        put_string(&mut command, "fairlab");
        vec![
            (FEATURE_TRACING_DATA, tracing),
            (FEATURE_HOSTNAME, text(&self.machine)),
            (FEATURE_OSRELEASE, text("6.1.0-fairlab")),
            (FEATURE_VERSION, text(env!("CARGO_PKG_VERSION"))),
            (FEATURE_ARCH, text("x86_64")),
            (FEATURE_NR_CPUS, nr.to_le_bytes().repeat(2)),
            // `perf data convert --to-json` crashes without these two features.
            (FEATURE_CPU_DESC, text(&self.machine)),
            (FEATURE_CPU_ID, text("fairlab")),
            (FEATURE_CMDLINE, command),
            (FEATURE_EVENT_DESC, self.event_descriptions()),
        ]
    }

    fn event_descriptions(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        put_u32(&mut bytes, self.tracepoints().count() as u32);
        put_u32(&mut bytes, ATTR as u32);
        for tracepoint in self.tracepoints() {
            let definition = &TRACEPOINTS[tracepoint as usize];
            put_attribute(&mut bytes, tracepoint);
            put_u32(&mut bytes, 1);
            put_string(&mut bytes, &format!("{}:{}", definition.system, definition.name));
            put_u64(&mut bytes, id_of(tracepoint));
        }
        bytes
    }
}

impl<W: Write> TraceSink for PerfData<W> {
    fn record(&mut self, threads: &ThreadTable, record: &TraceRecord<'_>) {
        let (at, cpu) = (record.at.0, record.cpu.0);
        if let RecordKind::Fork { child, .. } = record.what {
            self.put_comm(threads.get(child), at, cpu);
        }
        let Self { records, event, nr_cpus, round_at, seen, .. } = self;
        let current = threads.get(record.current);
        values::visit(threads, record, |tracepoint, values| {
            event.clear();
            *seen |= bit_of(tracepoint);
            let common = encode::CommonFields { pid: current.pid, flags: record.what.flags() };
            encode::put_event(event, tracepoint, common, values, *nr_cpus);
            put_sample(records.next(), tracepoint, current, at, cpu, event);
        });
        if records.len() >= *round_at {
            *round_at = records.len() + ROUND;
            put_record_head(records.next(), FINISHED_ROUND, 0, 8);
        }
    }

    fn finish(&mut self, threads: &ThreadTable) -> io::Result<()> {
        put_record_head(self.records.next(), FINISHED_ROUND, 0, 8);
        let (length, features) = (self.records.len(), self.features(threads));
        let head = self.head(length, &features);
        self.out.next().extend_from_slice(&head);
        self.records.copy_to(&mut self.out)?;
        let mut at = self.data_at() + length + 16 * features.len() as u64;
        let bytes = self.out.next();
        for (_, content) in &features {
            put_u64(bytes, at);
            put_u64(bytes, content.len() as u64);
            at += content.len() as u64;
        }
        features.iter().for_each(|(_, content)| bytes.extend_from_slice(content));
        self.out.finish()
    }

    fn has_failed(&self) -> bool {
        self.out.has_failed() || self.records.has_failed()
    }
}

const fn bit_of(tracepoint: Tracepoint) -> u64 {
    1 << tracepoint as u32
}

/// Event id that the samples of a tracepoint carry.
const fn id_of(tracepoint: Tracepoint) -> u64 {
    1 + tracepoint as u64
}

fn put_attribute(bytes: &mut Vec<u8>, tracepoint: Tracepoint) {
    let end = bytes.len() + ATTR as usize;
    put_u32(bytes, TRACEPOINT);
    put_u32(bytes, ATTR as u32);
    // `config` is the tracepoint's id; the sample period is 1.
    for number in [tracepoint.id().into(), 1, SAMPLE_TYPE, READ_FORMAT, SAMPLE_ID_ALL] {
        put_u64(bytes, number);
    }
    bytes.resize(end, 0);
}

fn put_sample(bytes: &mut Vec<u8>, tracepoint: Tracepoint, current: &ThreadInfo, at: u64, cpu: u32, event: &[u8]) {
    let raw = (4 + event.len()).next_multiple_of(8);
    let length = 8 + 6 * 8 + raw;
    put_record_head(bytes, SAMPLE, IN_KERNEL, u16::try_from(length).expect("events are short"));
    put_u64(bytes, id_of(tracepoint));
    // The instruction pointer is unknown.
    put_u64(bytes, 0);
    put_thread(bytes, current);
    put_u64(bytes, at);
    put_u64(bytes, cpu.into());
    put_u64(bytes, 1);
    put_u32(bytes, raw as u32 - 4);
    bytes.extend_from_slice(event);
    bytes.resize(bytes.len() + raw - 4 - event.len(), 0);
}

fn put_record_head(bytes: &mut Vec<u8>, kind: u32, misc: u16, length: u16) {
    put_u32(bytes, kind);
    put_u16(bytes, misc);
    put_u16(bytes, length);
}

/// Writes process and thread id; both are 0 for idle tasks.
fn put_thread(bytes: &mut Vec<u8>, info: &ThreadInfo) {
    put_u32(bytes, info.tgid as u32);
    put_u32(bytes, info.pid as u32);
}

/// Writes a text with its length, which is a multiple of 8 and includes a terminating zero.
fn put_string(bytes: &mut Vec<u8>, text: &str) {
    let length = (text.len() + 1).next_multiple_of(8);
    put_u32(bytes, length as u32);
    let end = bytes.len() + length;
    bytes.extend_from_slice(text.as_bytes());
    bytes.resize(end, 0);
}
