// SPDX-License-Identifier: GPL-2.0-or-later
//! Who is named in a trace: threads with pid, name and priority, as the kernel keeps them.

use fairlab_machine::engine::{Machine, instance_name};
use fairlab_machine::seam::Engine;
use fairlab_sched::boot::FIRST_STOPPER_PID;
use fairlab_sched::ids::{CpuId, TaskId};
use fairlab_workload::scn::FIRST_PID;

/// Priority of a fair task of nice 0, and what the kernel shows of its idle tasks.
const DEFAULT_PRIO: i32 = 120;
/// Length of a name with the zero at its end: TASK_COMM_LEN.
pub const COMM_LEN: usize = 16;

/// A name as the kernel keeps it: at most 15 bytes, the rest zeros.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Comm([u8; COMM_LEN]);

impl Comm {
    /// A name, cut where a character ends; what would end a line or a field of a text becomes `_`.
    pub fn new(name: &str) -> Self {
        let mut comm = [0; COMM_LEN];
        let kept = &name[..name.floor_char_boundary(COMM_LEN - 1)];
        for (place, byte) in comm.iter_mut().zip(kept.bytes()) {
            *place = if byte.is_ascii_control() { b'_' } else { byte };
        }
        Self(comm)
    }

    /// With the zeros.
    pub const fn bytes(&self) -> &[u8; COMM_LEN] {
        &self.0
    }

    /// As text.
    pub fn as_str(&self) -> &str {
        let end = self.0.iter().position(|&byte| byte == 0).unwrap_or(COMM_LEN);
        core::str::from_utf8(&self.0[..end]).expect("a name is cut where a character ends")
    }
}

/// A thread by its place in [`Threads`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Thread(u32);

impl Thread {
    /// Who started the tasks of the workload. It runs on no CPU of the machine, but has a name and a pid.
    pub const MAIN: Self = Self(0);

    /// The thread that is one of the scheduler's tasks.
    pub const fn of(task: TaskId) -> Self {
        Self(task.0 + 1)
    }

    /// Its place.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// What is known of a thread.
#[derive(Clone, Copy, Debug)]
pub struct ThreadInfo {
    /// Process id; 0 for idle tasks.
    pub pid: i32,
    /// Process to which it belongs.
    pub tgid: i32,
    /// Name.
    pub comm: Comm,
    /// Priority, as the kernel counts: a lower one is more important.
    pub prio: i32,
    /// Whether it belongs to the kernel: idle tasks and stoppers.
    pub is_kernel: bool,
}

/// A task of the workload, from which threads are forked.
#[derive(Debug)]
struct Spec {
    name: String,
    family: String,
    /// How many instances there are already.
    forks: u32,
    /// Forked by the workload itself rather than by one of its tasks.
    is_started: bool,
}

/// All threads that there have been so far.
#[derive(Debug)]
pub struct Threads {
    list: Vec<ThreadInfo>,
    specs: Vec<Spec>,
    /// Whether tasks are threads of one process, rather than processes.
    is_one_process: bool,
}

impl Threads {
    /// Those of a machine whose run has not begun. `main` is the name of the process to which all tasks of the workload belong;
    /// without it each of them is a process.
    pub fn new(machine: &Machine<impl Engine>, main: Option<&str>) -> Self {
        let pid = FIRST_PID as i32 - 1;
        let info =
            |pid, comm: &str, prio, is_kernel| ThreadInfo { pid, tgid: pid, comm: Comm::new(comm), prio, is_kernel };
        let cpus = || 0..machine.hardware().nr_cpus();
        let mut list = vec![info(pid, main.unwrap_or("sh"), DEFAULT_PRIO, false)];
        list.extend(cpus().map(|cpu| info(0, &format!("swapper/{cpu}"), DEFAULT_PRIO, true)));
        list.extend(cpus().map(|cpu| info(FIRST_STOPPER_PID + cpu as i32, &format!("migration/{cpu}"), 0, true)));
        list.push(info(1, "init", DEFAULT_PRIO, false));
        let specs = machine.workload().tasks.iter();
        let specs = specs.map(|spec| Spec {
            name: spec.name.clone(),
            family: spec.family.clone(),
            forks: 0,
            is_started: spec.start_at.is_some(),
        });
        let specs = specs.collect();
        Self { list, specs, is_one_process: main.is_some() }
    }

    /// Whether tasks of the workload are threads of [`Thread::MAIN`]'s process.
    pub const fn is_one_process(&self) -> bool {
        self.is_one_process
    }

    /// What is known of one.
    #[inline]
    pub fn get(&self, thread: Thread) -> &ThreadInfo {
        &self.list[thread.index()]
    }

    /// All of them.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &ThreadInfo> {
        self.list.iter()
    }

    /// The idle task of a CPU.
    pub const fn idle(cpu: CpuId) -> Thread {
        Thread::of(TaskId(cpu.0))
    }

    /// Whether a thread is an idle task.
    #[inline]
    pub fn is_idle(&self, thread: Thread) -> bool {
        self.get(thread).pid == 0
    }

    /// A task is forked. Returns its thread, and whether the workload itself starts it.
    pub(super) fn forked(&mut self, id: TaskId, pid: i32, spec: usize) -> (Thread, bool) {
        let spec = &mut self.specs[spec];
        let comm = Comm::new(&instance_name(&spec.name, &spec.family, spec.forks));
        spec.forks += 1;
        let is_started = spec.is_started;
        let tgid = if self.is_one_process { self.list[0].pid } else { pid };
        let thread = Thread::of(id);
        debug_assert_eq!(thread.index(), self.list.len(), "tasks are numbered in the order of their creation");
        self.list.push(ThreadInfo { pid, tgid, comm, prio: DEFAULT_PRIO, is_kernel: false });
        (thread, is_started)
    }

    /// Notes a priority. Returns the one before.
    pub(super) fn set_prio(&mut self, thread: Thread, prio: i32) -> i32 {
        std::mem::replace(&mut self.list[thread.index()].prio, prio)
    }
}
