// SPDX-License-Identifier: GPL-2.0-or-later
//! Lists of CPUs as Linux writes them: `0-3,8,10-11`.

use fairlab_sched::ids::CpuId;
use std::fmt;

/// CPUs of a machine: at least one, in ascending order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CpuList(Vec<u32>);

impl CpuList {
    /// All CPUs of a machine of `count` CPUs; `count` is at least 1.
    pub(super) fn all(count: u32) -> Self {
        debug_assert!(count > 0, "a machine has at least one CPU");
        Self((0..count).collect())
    }

    /// The CPUs of `members`, ascending and not empty.
    pub(super) fn from_sorted(members: Vec<u32>) -> Self {
        debug_assert!(!members.is_empty() && members.is_sorted(), "not a list of CPUs: {members:?}");
        Self(members)
    }

    /// Reads a list for a machine of `count` CPUs. `all` stands for every CPU.
    ///
    /// # Errors
    /// A message without place: no list, a CPU that the machine does not have, a range that runs backwards, or a CPU
    /// that is named twice.
    pub(super) fn parse(text: &str, count: u32) -> Result<Self, String> {
        if text.trim() == "all" {
            return Ok(Self::all(count));
        }
        let mut is_member = vec![false; count as usize];
        for part in text.split(',') {
            let (first, last) = range(part.trim())?;
            if last < first {
                return Err(format!("the range {first}-{last} runs backwards"));
            }
            if last >= count {
                return Err(format!("cpu {last} does not exist: the machine has CPUs 0-{}", count - 1));
            }
            for cpu in first..=last {
                if std::mem::replace(&mut is_member[cpu as usize], true) {
                    return Err(format!("cpu {cpu} is named twice"));
                }
            }
        }
        Ok(Self((0..count).filter(|&cpu| is_member[cpu as usize]).collect()))
    }

    /// The CPUs in ascending order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = CpuId> + '_ {
        self.0.iter().map(|&cpu| CpuId(cpu))
    }

    /// Is the CPU in the list?
    pub fn contains(&self, cpu: CpuId) -> bool {
        self.0.binary_search(&cpu.0).is_ok()
    }

    /// The lowest CPU.
    pub fn first(&self) -> CpuId {
        CpuId(self.0[0])
    }

    /// How many CPUs are in the list; never 0.
    pub fn nr_cpus(&self) -> usize {
        self.0.len()
    }
}

/// `3` or `0-3`.
fn range(part: &str) -> Result<(u32, u32), String> {
    let number = |text: &str| {
        let text = text.trim();
        text.parse::<u32>()
            .map_err(|_| format!("`{}` is not a list of CPUs", if text.is_empty() { part } else { text }))
    };
    match part.split_once('-') {
        Some((first, last)) => Ok((number(first)?, number(last)?)),
        None => number(part).map(|cpu| (cpu, cpu)),
    }
}

impl fmt::Display for CpuList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&cpu_list(&self.0))
    }
}

/// CPUs in ascending order, as Linux writes them: ranges, separated by commas.
pub fn cpu_list(cpus: &[u32]) -> String {
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
        assert_eq!(cpu_list(&[0, 1, 2, 3, 8, 10, 11]), "0-3,8,10-11");
        assert_eq!(cpu_list(&[]), "");
    }
}
