// SPDX-License-Identifier: GPL-2.0-or-later
//! Counts of kernel operations as JSON Lines: one line per call of the scheduler, with its time, CPU, kernel
//! path and counts.

use fairlab_machine::observer::{Interest, KernelPath, Observer};
use fairlab_sched::ids::CpuId;
use fairlab_sched::probe::SchedObserver;
use fairlab_sched::units::Nanos;
use fairlab_sched::work::{KernelOp, OpCounts};
use std::io::{self, BufWriter, Write};

/// Observer that writes a line for each call.
pub struct WorkJsonl<W: Write> {
    out: BufWriter<W>,
    error: Option<io::Error>,
}

impl<W: Write> WorkJsonl<W> {
    /// Creates an observer that writes to `out`.
    pub fn new(out: W) -> Self {
        Self { out: BufWriter::new(out), error: None }
    }

    /// Writes the buffered lines.
    ///
    /// # Errors
    /// If a line could not be written, now or earlier.
    pub fn finish(mut self) -> io::Result<()> {
        self.error.map_or_else(|| self.out.flush(), Err)
    }

    fn put(&mut self, now: Nanos, cpu: CpuId, path: KernelPath, counted: &OpCounts) -> io::Result<()> {
        write!(self.out, "{{\"t\":{},\"cpu\":{},\"path\":\"{}\"", now.0, cpu.0, path.name())?;
        for &op in KernelOp::ALL.iter().filter(|&&op| counted.get(op) > 0) {
            write!(self.out, ",\"{}\":{}", op.name(), counted.get(op))?;
        }
        writeln!(self.out, "}}")
    }
}

impl<W: Write> SchedObserver for WorkJsonl<W> {}

impl<W: Write, E> Observer<E> for WorkJsonl<W> {
    fn wants(&self) -> Interest {
        Interest::NONE
    }

    fn wants_ops(&self) -> bool {
        true
    }

    fn work(&mut self, now: Nanos, cpu: CpuId, path: KernelPath, counted: &OpCounts) {
        if self.error.is_none() {
            self.error = self.put(now, cpu, path, counted).err();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairlab_machine::sim::{Machine, Setup};
    use fairlab_sched::series::KernelSeries;
    use fairlab_workload::scenario;

    #[test]
    fn what_all_calls_have_counted_is_what_the_run_has() {
        let text = "cpus 2\ntopo smt=1 llc=2 pkg=2\nlevels MP\nend 50ms\ntask a n=3 run 1ms sleep 2ms\n";
        let scenario = scenario::parse("test.scn", text, KernelSeries::V6_1).expect("it is a scenario");
        let mut machine = Machine::new(Setup::from_scenario(scenario)).expect("it fits");
        let (mut out, mut sum) = (Vec::new(), [0; KernelOp::ALL.len()]);
        let mut lines = WorkJsonl::new(&mut out);
        machine.run(&mut lines).expect("it runs");
        lines.finish().expect("memory can be written");
        for line in String::from_utf8(out).expect("text").lines() {
            let line: serde_json::Value = serde_json::from_str(line).expect("a line is JSON");
            assert!(KernelPath::ALL.iter().any(|path| line["path"] == path.name()), "{line}");
            for &op in KernelOp::ALL {
                sum[op as usize] += line[op.name()].as_u64().unwrap_or(0);
            }
        }
        assert!(sum[KernelOp::PickNext as usize] > 50 && sum == *machine.total_ops().counts(), "{sum:?}");
    }
}
