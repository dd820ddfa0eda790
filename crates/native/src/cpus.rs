// SPDX-License-Identifier: GPL-2.0-or-later
//! CPUs of the machine: those that the process may use, their distances, and threads that are fixed to them.

use crate::kernel::read_line;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::{io, thread};

/// Returns the CPUs that this process may use, in ascending order.
pub(crate) fn allowed() -> io::Result<Vec<u32>> {
    let set = sched_getaffinity(None)?;
    Ok((0..CpuSet::MAX_CPU).filter(|&cpu| set.is_set(cpu)).map(|cpu| cpu as u32).collect())
}

/// Restricts the calling thread to CPUs.
pub(crate) fn restrict_to(cpus: &[u32]) -> io::Result<()> {
    let mut set = CpuSet::new();
    for &cpu in cpus {
        set.set(cpu as usize);
    }
    Ok(sched_setaffinity(None, &set)?)
}

/// Runs a function in a thread that is restricted to CPUs.
pub(crate) fn run_on<T: Send>(cpus: &[u32], measure: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
    thread::scope(|scope| join(scope.spawn(|| restrict_to(cpus).and_then(|()| measure()))))
}

/// Returns the result of a thread; a panic in it goes on in the caller.
pub(crate) fn join<T>(thread: thread::ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Returns the pair of CPUs for tests that need two: different cores with a common last-level cache, or the next best.
pub(crate) fn default_pair(allowed: &[u32]) -> Option<[u32; 2]> {
    let (&first, others) = allowed.split_first()?;
    let rank = |cpu: u32| match distance(first, cpu) {
        Distance::Cache => 0,
        Distance::Package => 1,
        Distance::Remote => 2,
        Distance::Core => 3,
    };
    others.iter().copied().min_by_key(|&cpu| rank(cpu)).map(|second| [first, second])
}

/// Closest unit of the machine that two CPUs share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Distance {
    Core,
    Cache,
    Package,
    Remote,
}

impl Distance {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Core => "core",
            Self::Cache => "last-level cache",
            Self::Package => "package",
            Self::Remote => "none",
        }
    }
}

/// Returns the distance of two CPUs, from sysfs. Without sysfs, it is [`Distance::Remote`].
pub(crate) fn distance(first: u32, second: u32) -> Distance {
    let shared = |file: &str| {
        let list = read_line(&format!("/sys/devices/system/cpu/cpu{first}/{file}"));
        list.is_some_and(|list| contains(&list, second))
    };
    if shared("topology/thread_siblings_list") {
        Distance::Core
    } else if (2..=4).any(|index| shared(&format!("cache/index{index}/shared_cpu_list"))) {
        Distance::Cache
    } else if shared("topology/core_siblings_list") {
        Distance::Package
    } else {
        Distance::Remote
    }
}

/// Whether a list such as `0-3,8` has a CPU.
fn contains(list: &str, cpu: u32) -> bool {
    list.split(',').any(|part| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        matches!((first.trim().parse::<u32>(), last.trim().parse::<u32>()), (Ok(a), Ok(b)) if (a..=b).contains(&cpu))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_cpus_have_ranges_and_single_cpus() {
        assert!(contains("0-3,8", 2) && contains("0-3,8", 8) && !contains("0-3,8", 4) && !contains("", 0));
    }

    #[test]
    fn a_thread_runs_on_its_cpu_and_the_caller_stays_free() {
        let before = allowed().expect("the affinity can be read");
        let last = *before.last().expect("there is a CPU");
        let inside = run_on(&[last], allowed).expect("the affinity can be set");
        assert_eq!(inside, [last]);
        assert_eq!(allowed().expect("the affinity can be read"), before);
    }
}
