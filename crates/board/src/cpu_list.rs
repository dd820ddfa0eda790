// SPDX-License-Identifier: GPL-2.0-or-later
//! Lists of CPUs in Linux's format: `0-3,8,10-11`.

use fairlab_sched::ids::CpuId;
use fairlab_workload::message::Message;
use std::fmt;

/// CPUs of a machine: at least one, in ascending order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CpuList(Vec<u32>);

impl CpuList {
    /// Returns all CPUs of a machine of `count` CPUs; `count` is at least 1.
    pub(super) fn all(count: u32) -> Self {
        debug_assert!(count > 0, "a machine has at least one CPU");
        Self((0..count).collect())
    }

    /// Returns the list of `members`, which must be ascending and not empty.
    pub(super) fn from_sorted(members: Vec<u32>) -> Self {
        debug_assert!(!members.is_empty() && members.is_sorted(), "not a list of CPUs: {members:?}");
        Self(members)
    }

    /// Parses a list for a machine of `count` CPUs. `all` means every CPU.
    ///
    /// # Errors
    /// A message without position: no list, a CPU that the machine does not have, a range that runs
    /// backwards, or a CPU that is named twice.
    pub(super) fn parse(text: &str, count: u32) -> Result<Self, Message> {
        if text.trim() == "all" {
            return Ok(Self::all(count));
        }
        let mut is_member = vec![false; count as usize];
        for part in text.split(',') {
            let (first, last) = range(part.trim())?;
            if last < first {
                return Err(Message::new(format!("the range {first}-{last} runs backwards")));
            }
            if last >= count {
                return Err(Message::new(format!("cpu {last} does not exist: the machine has CPUs 0-{}", count - 1)));
            }
            for cpu in first..=last {
                if std::mem::replace(&mut is_member[cpu as usize], true) {
                    return Err(Message::new(format!("cpu {cpu} is named twice")));
                }
            }
        }
        Ok(Self((0..count).filter(|&cpu| is_member[cpu as usize]).collect()))
    }

    /// Returns the CPUs in ascending order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = CpuId> + '_ {
        self.0.iter().map(|&cpu| CpuId(cpu))
    }

    /// Whether the CPU is in the list.
    pub fn contains(&self, cpu: CpuId) -> bool {
        self.0.binary_search(&cpu.0).is_ok()
    }

    /// Lowest CPU of the list.
    pub fn first(&self) -> CpuId {
        CpuId(self.0[0])
    }

    /// Number of CPUs in the list; never 0.
    pub fn nr_cpus(&self) -> usize {
        self.0.len()
    }
}

/// Parses `3` or `0-3`.
fn range(part: &str) -> Result<(u32, u32), Message> {
    let number = |text: &str| {
        let text = text.trim();
        text.parse::<u32>()
            .map_err(|_| Message::new(format!("`{}` is not a list of CPUs", if text.is_empty() { part } else { text })))
    };
    match part.split_once('-') {
        Some((first, last)) => Ok((number(first)?, number(last)?)),
        None => number(part).map(|cpu| (cpu, cpu)),
    }
}

impl fmt::Display for CpuList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&format_cpu_list(&self.0))
    }
}

/// Formats CPUs, which must be ascending, as ranges separated by commas.
pub fn format_cpu_list(cpus: &[u32]) -> String {
    let ranges = cpus.chunk_by(|a, b| a + 1 == *b).map(|run| match run {
        [only] => only.to_string(),
        _ => format!("{}-{}", run[0], run[run.len() - 1]),
    });
    ranges.collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_cpus_are_short() {
        assert_eq!(format_cpu_list(&[0, 1, 2, 3, 8, 10, 11]), "0-3,8,10-11");
        assert_eq!(format_cpu_list(&[]), "");
    }
}
