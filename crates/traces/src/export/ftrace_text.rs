// SPDX-License-Identifier: GPL-2.0-or-later
//! Text of the kernel's `trace` file, as `trace-cmd report`, systrace and other readers of ftrace text expect
//! it.
//!
//! Times have nine decimal places, to keep nanoseconds; the kernel prints six.

use super::record::TraceRecord;
use super::sink::{BufferedOut, TraceSink};
use super::thread::ThreadTable;
use super::tracepoint::{text, values};
use super::{EVENT_GROUPS, ExportFormat, FormatOpener, SinkOpener};
use std::io::{self, Write};

pub(super) const FORMAT: ExportFormat = ExportFormat {
    name: "ftrace",
    extension: "txt",
    meaning: "the text of the kernel's trace file: systrace, Perfetto, LISA, grep",
    groups: EVENT_GROUPS,
    opener: FormatOpener::Events(SinkOpener::File(|out, _, run| Ok(Box::new(FtraceText::new(out, run.nr_cpus()))))),
};

const HEAD: &str = "\
#                                _-----=> irqs-off/BH-disabled
#                               / _----=> need-resched
#                              | / _---=> hardirq/softirq
#                              || / _--=> preempt-depth
#                              ||| / _-=> migrate-disable
#                              |||| /     delay
#           TASK-PID     CPU#  |||||  TIMESTAMP  FUNCTION
#              | |         |   |||||     |         |
";

struct FtraceText<W: Write> {
    out: BufferedOut<W>,
    nr_cpus: usize,
}

impl<W: Write> FtraceText<W> {
    fn new(to: W, nr_cpus: usize) -> Self {
        let mut out = BufferedOut::new(to);
        let head = format!("# tracer: nop\n#\n#                                      #P:{nr_cpus}\n#\n{HEAD}");
        out.next().extend_from_slice(head.as_bytes());
        Self { out, nr_cpus }
    }
}

impl<W: Write> TraceSink for FtraceText<W> {
    fn record(&mut self, threads: &ThreadTable, record: &TraceRecord<'_>) {
        let (out, nr_cpus) = (&mut self.out, self.nr_cpus);
        values::visit(threads, record, |tracepoint, values| {
            let bytes = out.next();
            let current = threads.get(record.current);
            let name = if current.pid == 0 { "<idle>" } else { current.comm.as_str() };
            let (cpu, seconds, rest) = (record.cpu.0, record.at.0 / 1_000_000_000, record.at.0 % 1_000_000_000);
            // `drop` ignores the result: a write into memory cannot fail.
            let flags = if record.what.flags() == 0 { "....." } else { "d.h.." };
            drop(write!(bytes, "{name:>16}-{:<7} [{cpu:03}] {flags} {seconds:5}.{rest:09}: ", current.pid));
            text::put_event(bytes, tracepoint, values, nr_cpus);
            bytes.push(b'\n');
        });
    }

    fn finish(&mut self, _threads: &ThreadTable) -> io::Result<()> {
        self.out.finish()
    }

    fn has_failed(&self) -> bool {
        self.out.has_failed()
    }
}
