// SPDX-License-Identifier: GPL-2.0-or-later
//! Background of a booted kernel: kernel threads that timers wake beside a workload.

use crate::step::{Behaviour, Step};
use fairlab_sched::units::Nanos;

/// Kernel thread, or work item of a kworker, that a timer wakes again and again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackgroundSource {
    /// Name of the thread without the numbers of CPU and thread, such as `kworker`.
    pub family: String,
    /// Instances, and the CPUs that they may use.
    pub placement: BackgroundPlacement,
    /// Time between two expiries of an instance's timer.
    pub interval: Nanos,
    /// Work of a run, on a CPU of capacity 1024 at its highest frequency.
    pub work: Nanos,
    /// Whether the timer waits for a tick of its CPU instead of waking an idle CPU.
    pub is_deferrable: bool,
}

/// Instances of a background source, and the CPUs that they may use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BackgroundPlacement {
    /// One instance for each CPU, bound to it.
    EachCpu,
    /// One instance for each NUMA node, which may use the CPUs of the node.
    EachNode,
    /// An instance for each of these CPUs, modulo the number of CPUs of the machine, bound to it.
    Bound(Vec<u32>),
    /// An instance for each of these CPUs, modulo the number of CPUs of the machine, whose timer is on that CPU. The thread
    /// may use all CPUs.
    Free(Vec<u32>),
}

/// Endless program of a background thread: works, and waits for its timer.
pub struct BackgroundThread {
    work: Nanos,
    is_awake: bool,
}

impl BackgroundThread {
    /// Returns the program of a thread that works this long after each wake-up.
    pub const fn new(work: Nanos) -> Self {
        Self { work, is_awake: false }
    }
}

impl Behaviour for BackgroundThread {
    fn next(&mut self) -> Step {
        self.is_awake = !self.is_awake;
        if self.is_awake { Step::Run(self.work) } else { Step::WaitWake }
    }
}
