// SPDX-License-Identifier: GPL-2.0-or-later
//! Background of the kernel: threads that timers wake, as tasks of a workload, and their timers.
//!
//! A timer belongs to a CPU. A deferrable one does not wake an idle CPU, as in `__run_timers()` for `BASE_DEF`
//! (6.1): it expires at the first tick of its CPU after its time.
//
// DIFFERS: timers of background threads expire at their time, not with a tick; a deferrable one expires with a
// tick. They are started when the thread is woken, not when it has worked, and stay on their first CPU. While
// that CPU is offline, they do nothing.

use crate::streams::RandomStream;
use fairlab_sched::ids::CpuId;
use fairlab_sched::state::topology::MachineTopology;
use fairlab_sched::units::Nanos;
use fairlab_workload::background::{BackgroundPlacement, BackgroundSource, BackgroundThread};
use fairlab_workload::workload::{Affinity, Attributes, TaskSpec, Workload};

/// Timer of a background thread.
#[derive(Clone, Debug)]
pub(crate) struct BackgroundTimer {
    /// Index of the thread among the workload's tasks.
    pub(crate) spec: usize,
    /// Index of the machine's task; `None` until the timer first expires.
    pub(crate) task: Option<usize>,
    /// CPU of the timer.
    pub(crate) cpu: CpuId,
    pub(crate) interval: Nanos,
    pub(crate) is_deferrable: bool,
    /// Next expiry; [`Nanos::NEVER`] while an expired timer waits for its CPU.
    pub(crate) at: Nanos,
}

/// Background of a machine.
#[derive(Clone, Debug)]
pub(crate) struct Background {
    pub(crate) timers: Vec<BackgroundTimer>,
    /// Indices of the timers of each CPU.
    of_cpu: Vec<Vec<usize>>,
    seed: u64,
}

impl Background {
    /// Adds the threads of the workload's background to the end of its tasks, and returns their timers.
    pub(crate) fn new(workload: &mut Workload, topology: &MachineTopology) -> Self {
        let nr_cpus = topology.cpus.len();
        let mut background = Self { timers: Vec::new(), of_cpu: vec![Vec::new(); nr_cpus], seed: 0 };
        for (number, source) in workload.background.iter().enumerate() {
            for (cpu, cpus) in instances(&source.placement, topology) {
                let index = background.timers.len();
                let work = source.work;
                let start = Attributes { affinity: Some(cpus), ..Attributes::default() };
                let name = thread_name(source, number, cpu, index);
                let program = move || BackgroundThread::new(work);
                background.of_cpu[cpu as usize].push(index);
                background.timers.push(BackgroundTimer {
                    spec: workload.tasks.len(),
                    task: None,
                    cpu: CpuId(cpu),
                    interval: source.interval,
                    is_deferrable: source.is_deferrable,
                    at: Nanos::NEVER,
                });
                workload.tasks.push(TaskSpec::kthread(name, &source.family, cpu, start, program));
            }
        }
        background
    }

    /// Sets the seed of the first expiries.
    pub(crate) const fn seed(&mut self, seed: u64) {
        self.seed = seed;
    }

    /// Starts all timers. Each first expires within one interval, at a random time.
    pub(crate) fn start(&mut self, now: Nanos) {
        for (index, timer) in self.timers.iter_mut().enumerate() {
            let mut stream = RandomStream::new(self.seed, "background", index as u64);
            timer.at = now + Nanos(stream.draw_below(timer.interval.0));
        }
    }

    /// Returns the next expiry on a CPU, for its idle governor, which does not regard deferrable timers.
    #[inline]
    pub(crate) fn next_expiry(&self, cpu: CpuId) -> Nanos {
        let timers = self.of_cpu[cpu.index()].iter().map(|&index| &self.timers[index]);
        timers.filter(|timer| !timer.is_deferrable).map(|timer| timer.at).min().unwrap_or(Nanos::NEVER)
    }

    /// Returns a deferrable timer of a CPU that has expired by now, and marks it as waiting for its CPU.
    #[inline]
    pub(crate) fn take_deferred(&mut self, cpu: CpuId, now: Nanos) -> Option<usize> {
        let mut indices = self.of_cpu[cpu.index()].iter().copied();
        let index = indices.find(|&index| self.timers[index].is_deferrable && self.timers[index].at <= now)?;
        self.timers[index].at = Nanos::NEVER;
        Some(index)
    }
}

/// Returns the CPU and the affinity of each instance.
fn instances(placement: &BackgroundPlacement, topology: &MachineTopology) -> Vec<(u32, Affinity)> {
    let nr_cpus = topology.cpus.len() as u32;
    let bound = |cpu: u32| (cpu, Affinity::Cpus(vec![cpu]));
    match placement {
        BackgroundPlacement::EachCpu => (0..nr_cpus).map(bound).collect(),
        BackgroundPlacement::EachNode => {
            let node_of = |cpu: u32| topology.cpus[cpu as usize].node;
            let of_node = |node| (0..nr_cpus).filter(|&cpu| node_of(cpu) == node).collect::<Vec<_>>();
            let nodes = (0..topology.distances.len() as u32).map(of_node).filter(|cpus| !cpus.is_empty());
            nodes.map(|cpus| (cpus[0], Affinity::Cpus(cpus))).collect()
        }
        BackgroundPlacement::Bound(cpus) => cpus.iter().map(|cpu| bound(cpu % nr_cpus)).collect(),
        BackgroundPlacement::Free(cpus) => cpus.iter().map(|cpu| (cpu % nr_cpus, Affinity::All)).collect(),
    }
}

/// Returns the name of a thread: that of a kworker has its pool, and the number of its source.
fn thread_name(source: &BackgroundSource, number: usize, cpu: u32, index: usize) -> String {
    match (source.family.as_str(), &source.placement) {
        ("kworker", BackgroundPlacement::Free(_)) => format!("kworker/u:{index}"),
        ("kworker", BackgroundPlacement::EachCpu) => format!("kworker/{cpu}:{number}"),
        ("kworker", _) => format!("kworker/{cpu}:{index}"),
        (family, BackgroundPlacement::EachNode) => format!("{family}:{cpu}"),
        (family, _) => family.to_owned(),
    }
}
