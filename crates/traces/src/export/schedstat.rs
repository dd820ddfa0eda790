// SPDX-License-Identifier: GPL-2.0-or-later
//! Text of `/proc/schedstat`, before and after a run.
//!
//! Version 15 is that of 6.1. Version 16, that of 6.12 (since 6.8), lists busy CPUs before idle ones. Version 17
//! (since 6.15) splits imbalances by migration type, which neither kernel counts, so it cannot be written.

use super::record::{EventGroups, TraceRecord};
use super::sink::{StateSink, TraceSink};
use super::thread::ThreadTable;
use super::{ExportFormat, FormatOpener, SinkOpener};
use fairlab_machine::sim::Machine;
use fairlab_sched::cpumask::CpuMask;
use fairlab_sched::ids::CpuId;
use fairlab_sched::series::KernelSeries;
use fairlab_sched::topology::{CpuIdleType, SchedDomain};
use std::fmt::Write;
use std::io;
use std::path::{Path, PathBuf};

pub(super) const FORMAT: ExportFormat = ExportFormat {
    name: "schedstat",
    extension: "schedstat.d",
    meaning: "a directory with /proc/schedstat of the run's kernel (6.1: version 15; 6.12: version 16) before and \
              after the run: sched-scoreboard, scripts",
    groups: EventGroups::from_slice(&[]),
    opener: FormatOpener::State(SinkOpener::Directory(|directory, _| {
        Ok(Box::new(SchedstatFiles::new(directory, None)))
    })),
};

pub(super) const FORMAT_16: ExportFormat = ExportFormat {
    name: "schedstat-16",
    meaning: "a directory with /proc/schedstat (version 16, since Linux 6.8) before and after the run",
    opener: FormatOpener::State(SinkOpener::Directory(|directory, _| {
        Ok(Box::new(SchedstatFiles::new(directory, Some(SchedstatVersion::V16))))
    })),
    ..FORMAT
};

/// File names, as AMD's sched-scoreboard expects them.
const BEFORE: &str = "schedstat-before";
const AFTER: &str = "schedstat-after";

/// Version of the text format.
#[derive(Clone, Copy, Debug)]
pub enum SchedstatVersion {
    /// Linux 2.6.36 to 6.7, including 6.1.
    V15 = 15,
    /// Linux 6.8 to 6.14, including 6.12.
    V16,
}

impl SchedstatVersion {
    const fn of(series: KernelSeries) -> Self {
        match series {
            KernelSeries::V6_1 => Self::V15,
            KernelSeries::V6_12 => Self::V16,
        }
    }

    /// Order in which the format lists the load-balance statistics of a domain.
    const fn order(self) -> [CpuIdleType; 3] {
        match self {
            Self::V15 => [CpuIdleType::Idle, CpuIdleType::NotIdle, CpuIdleType::NewlyIdle],
            Self::V16 => [CpuIdleType::NotIdle, CpuIdleType::Idle, CpuIdleType::NewlyIdle],
        }
    }
}

/// Returns the text of `/proc/schedstat` for the current state of a machine.
pub fn schedstat(machine: &Machine, version: SchedstatVersion) -> String {
    let number = version as u32;
    let mut text = format!("version {number}\ntimestamp {}\n", machine.now().0 / machine.hardware().tick.0);
    let sched = machine.sched();
    for cpu in sched.cpu_ids().filter(|&cpu| sched.is_online(cpu)) {
        put_cpu(&mut text, machine, cpu, version);
    }
    text
}

fn put_cpu(text: &mut String, machine: &Machine, cpu: CpuId, version: SchedstatVersion) {
    let domains = machine.sched().domains();
    let stats = machine.sched().snapshot(cpu).stats;
    let _ = write!(text, "cpu{} {} 0 {} {}", cpu.0, stats.yld_count, stats.sched_count, stats.sched_goidle);
    let _ = write!(text, " {} {} {}", stats.ttwu_count, stats.ttwu_local, stats.rq_cpu_time);
    let _ = writeln!(text, " {} {}", stats.run_delay, stats.pcount);
    for (level, sd) in domains.chain(cpu).enumerate() {
        put_domain(text, level, &domains.domains[sd], machine.hardware().nr_cpus(), version);
    }
}

fn put_domain(text: &mut String, level: usize, sd: &SchedDomain, nr_cpus: usize, version: SchedstatVersion) {
    let _ = write!(text, "domain{level} {}", mask(&sd.span, nr_cpus));
    let stats = &sd.stats;
    for idle in version.order() {
        let lb = &stats.lb[idle];
        let _ = write!(text, " {} {} {} {}", lb.count, lb.balanced, lb.failed, lb.imbalance);
        let _ = write!(text, " {} {} {} {}", lb.gained, lb.hot_gained, lb.nobusyq, lb.nobusyg);
    }
    let _ = write!(text, " {} {} {}", stats.alb_count, stats.alb_failed, stats.alb_pushed);
    let _ = write!(text, " {} {} {}", stats.sbe_count, stats.sbe_balanced, stats.sbe_pushed);
    let _ = write!(text, " {} {} {}", stats.sbf_count, stats.sbf_balanced, stats.sbf_pushed);
    let _ = writeln!(text, " {} {} {}", stats.ttwu_wake_remote, stats.ttwu_move_affine, stats.ttwu_move_balance);
}

/// Returns a CPU mask as the kernel prints it: hexadecimal words of 32 bits, the highest first.
pub fn mask(cpus: &CpuMask, nr_cpus: usize) -> String {
    let contains = |cpu: usize| cpu < nr_cpus && cpus.contains(CpuId::from_index(cpu));
    let word = |place: usize| (0..32).fold(0, |word, bit| word | u32::from(contains(32 * place + bit)) << bit);
    let places = nr_cpus.div_ceil(32);
    let words = (0..places).rev().map(|place| {
        // The highest word has only the digits that its CPUs need.
        let digits = if place == places - 1 { (nr_cpus - 32 * place).div_ceil(4) } else { 8 };
        format!("{:0digits$x}", word(place))
    });
    words.collect::<Vec<_>>().join(",")
}

struct SchedstatFiles {
    directory: PathBuf,
    /// Version of the text; `None` for that of the run's kernel.
    version: Option<SchedstatVersion>,
    error: Option<io::Error>,
}

impl SchedstatFiles {
    fn new(directory: &Path, version: Option<SchedstatVersion>) -> Self {
        Self { directory: directory.to_owned(), version, error: None }
    }

    fn write(&mut self, name: &str, machine: &Machine) {
        let version = self.version.unwrap_or_else(|| SchedstatVersion::of(machine.sched().series()));
        let written = std::fs::write(self.directory.join(name), schedstat(machine, version));
        self.error = self.error.take().or_else(|| written.err());
    }
}

impl StateSink for SchedstatFiles {
    fn begin(&mut self, machine: &Machine) {
        self.write(BEFORE, machine);
    }

    fn end(&mut self, machine: &Machine, _threads: &ThreadTable) {
        self.write(AFTER, machine);
    }
}

impl TraceSink for SchedstatFiles {
    fn record(&mut self, _threads: &ThreadTable, _record: &TraceRecord<'_>) {}

    fn finish(&mut self, _threads: &ThreadTable) -> io::Result<()> {
        self.error.take().map_or(Ok(()), Err)
    }

    fn has_failed(&self) -> bool {
        self.error.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_are_words_of_which_the_highest_has_the_digits_that_it_needs() {
        let of =
            |nr_cpus, cpus: &[u32]| mask(&CpuMask::from_cpus(nr_cpus, cpus.iter().map(|&cpu| CpuId(cpu))), nr_cpus);
        assert_eq!(of(4, &[0, 1, 2, 3]), "f");
        assert_eq!(of(8, &[2]), "04");
        assert_eq!(of(36, &[0, 33]), "2,00000001");
    }
}
