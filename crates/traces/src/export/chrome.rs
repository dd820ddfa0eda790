// SPDX-License-Identifier: GPL-2.0-or-later
//! Chrome's JSON trace events, for `chrome://tracing`, Perfetto, Speedscope and scripts.
//!
//! A trace has the tasks that run on each CPU, counters over time, and decisions with their reasons. Times
//! are in microseconds.

use super::details::{self, Detail, Details, thread_text};
use super::pass_spans::PassSpans;
use super::record::{RecordKind, TraceRecord};
use super::sink::{BufferedOut, TraceSink};
use super::thread::{ThreadId, ThreadTable};
use super::tracepoint::values::state_letter;
use super::{CHART_GROUPS, ExportFormat, FormatOpener, SinkOpener};
use fairlab_machine::sim::START;
use fairlab_sched::ids::CpuId;
use fairlab_sched::units::Nanos;
use std::io::{self, Write};

pub(super) const FORMAT: ExportFormat = ExportFormat {
    name: "chrome",
    extension: "json",
    meaning: "Chrome's trace events in JSON: chrome://tracing, ui.perfetto.dev",
    groups: CHART_GROUPS,
    opener: FormatOpener::Events(SinkOpener::File(|out, _, run| Ok(Box::new(Chrome::new(out, run.nr_cpus()))))),
};

/// "Processes" of the format. Each has one row per CPU.
#[derive(Clone, Copy)]
enum ChromeRows {
    Running = 1,
    Balancing = 2,
    Decisions = 3,
}

impl ChromeRows {
    const ALL: [(Self, &'static str); 3] =
        [(Self::Running, "CPUs"), (Self::Balancing, "balancing"), (Self::Decisions, "selections and kicks")];
}

struct Chrome<W: Write> {
    out: BufferedOut<W>,
    /// Current thread of each CPU, and the start of its run.
    running: Vec<(ThreadId, Nanos)>,
    spans: PassSpans,
    now: Nanos,
}

impl<W: Write> Chrome<W> {
    fn new(to: W, nr_cpus: usize) -> Self {
        let mut out = BufferedOut::new(to);
        let bytes = out.next();
        bytes.extend_from_slice(b"{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n");
        for (place, (rows, name)) in ChromeRows::ALL.into_iter().enumerate() {
            let separator = if place == 0 { "" } else { ",\n" };
            let pid = rows as u32;
            let _ = write!(
                bytes,
                "{separator}{{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":{pid},\"args\":{{\"name\":\"{name}\"}}}},\n\
                 {{\"ph\":\"M\",\"name\":\"process_sort_index\",\"pid\":{pid},\"args\":{{\"sort_index\":{pid}}}}}"
            );
            for cpu in 0..nr_cpus {
                let _ = write!(
                    bytes,
                    ",\n{{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":{pid},\"tid\":{cpu},\
                     \"args\":{{\"name\":\"CPU {cpu}\"}}}}"
                );
            }
        }
        let running = (0..nr_cpus).map(|cpu| (ThreadTable::idle(CpuId::from_index(cpu)), START)).collect();
        Self { out, running, spans: PassSpans::new(nr_cpus), now: START }
    }

    /// Writes the run of the current task, from its switch-in to `until`.
    fn put_run(&mut self, threads: &ThreadTable, cpu: CpuId, until: Nanos, state: &str) {
        let (thread, since) = self.running[cpu.index()];
        if threads.is_idle(thread) || until == since {
            return;
        }
        let info = threads.get(thread);
        let bytes = self.out.next();
        put_head(bytes, "X", ChromeRows::Running, cpu, since);
        put_duration(bytes, until - since);
        bytes.extend_from_slice(b",\"name\":");
        put_text(bytes, info.comm.as_str());
        let (pid, prio) = (info.pid, info.prio);
        let _ = write!(bytes, ",\"args\":{{\"pid\":{pid},\"prio\":{prio},\"state\":\"{state}\"}}}}");
    }

    fn put_counter(&mut self, at: Nanos, name: &str, of: CpuId, value: u64) {
        let bytes = self.out.next();
        put_head(bytes, "C", ChromeRows::Running, of, at);
        let cpu = of.0;
        let _ = write!(bytes, ",\"name\":\"{name} CPU {cpu}\",\"args\":{{\"{name}\":{value}}}}}");
    }

    fn put_moment(
        &mut self,
        threads: &ThreadTable,
        rows: ChromeRows,
        record: &TraceRecord<'_>,
        (name, details): &(&str, Details),
    ) {
        let bytes = self.out.next();
        put_head(bytes, "i", rows, record.cpu, record.at);
        let _ = write!(bytes, ",\"s\":\"t\",\"name\":\"{name}\",\"args\":");
        put_details(bytes, threads, details);
    }

    fn put_spans(&mut self, threads: &ThreadTable, record: &TraceRecord<'_>) {
        let Some(span) = self.spans.record(record) else { return };
        let bytes = self.out.next();
        put_head(bytes, "X", ChromeRows::Balancing, span.cpu, span.began);
        put_duration(bytes, span.ended - span.began);
        let _ = write!(bytes, ",\"name\":\"{}\",\"args\":", span.path.name());
        put_details(bytes, threads, &details::of_span(&span));
    }
}

impl<W: Write> TraceSink for Chrome<W> {
    fn record(&mut self, threads: &ThreadTable, record: &TraceRecord<'_>) {
        self.now = record.at;
        self.put_spans(threads, record);
        match record.what {
            RecordKind::Switch { prev_state, next, .. } => {
                self.put_run(threads, record.cpu, record.at, state_letter(prev_state));
                self.running[record.cpu.index()] = (next, record.at);
            }
            RecordKind::Counter { of, counter, value } => self.put_counter(record.at, counter.name(), of, value),
            RecordKind::Frequency { cpu_id, khz } => self.put_counter(record.at, "khz", cpu_id, khz),
            RecordKind::Idle { cpu_id, state } => {
                // 0 stands for not idle, so state numbers are shifted by one.
                let state = state.map_or(0, |state| u64::from(state) + 1);
                self.put_counter(record.at, "idle state", cpu_id, state);
            }
            RecordKind::Selected { thread, decision } => {
                self.put_moment(threads, ChromeRows::Decisions, record, &details::of_selection(thread, decision));
            }
            RecordKind::BalancedReason(decision) => {
                self.put_moment(threads, ChromeRows::Balancing, record, &details::of_pass(decision));
            }
            RecordKind::Kicked(decision) => {
                if let Some(kick) = details::of_kick(decision) {
                    self.put_moment(threads, ChromeRows::Decisions, record, &kick);
                }
            }
            _ => {}
        }
    }

    fn finish(&mut self, threads: &ThreadTable) -> io::Result<()> {
        for cpu in 0..self.running.len() {
            self.put_run(threads, CpuId::from_index(cpu), self.now, "R");
        }
        self.out.next().extend_from_slice(b"\n]}\n");
        self.out.finish()
    }

    fn has_failed(&self) -> bool {
        self.out.has_failed()
    }
}

/// Writes the beginning of a JSON object, which the caller continues with a comma.
fn put_head(bytes: &mut Vec<u8>, kind: &str, rows: ChromeRows, cpu: CpuId, at: Nanos) {
    let (pid, cpu, us, ns) = (rows as u32, cpu.0, at.0 / 1000, at.0 % 1000);
    let _ = write!(bytes, ",\n{{\"ph\":\"{kind}\",\"pid\":{pid},\"tid\":{cpu},\"ts\":{us}.{ns:03}");
}

fn put_duration(bytes: &mut Vec<u8>, time: Nanos) {
    let _ = write!(bytes, ",\"dur\":{}.{:03}", time.0 / 1000, time.0 % 1000);
}

/// Writes named values as an object, and closes the event.
fn put_details(bytes: &mut Vec<u8>, threads: &ThreadTable, details: &Details) {
    for (place, (key, value)) in details.iter().enumerate() {
        bytes.push(if place == 0 { b'{' } else { b',' });
        let _ = write!(bytes, "\"{key}\":");
        match value {
            Detail::Number(number) => drop(write!(bytes, "{number}")),
            Detail::Word(word) => put_text(bytes, word),
            Detail::Thread(thread) => put_text(bytes, &thread_text(threads, *thread)),
        }
    }
    bytes.extend_from_slice(b"}}");
}

fn put_text(bytes: &mut Vec<u8>, text: &str) {
    serde_json::to_writer(bytes, text).expect("text can be written into memory");
}
