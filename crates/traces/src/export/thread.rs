// SPDX-License-Identifier: GPL-2.0-or-later
//! Threads named in a trace, with pid, name and priority as the kernel keeps them.

use fairlab_machine::engine::Engine;
use fairlab_machine::sim::{Machine, instance_name};
use fairlab_sched::boot::FIRST_STOPPER_PID;
use fairlab_sched::ids::{CpuId, TaskId};
use fairlab_workload::scenario::FIRST_PID;

/// Priority of a fair task of nice 0 (`DEFAULT_PRIO`), which the kernel reports for its idle tasks too.
const DEFAULT_PRIO: i32 = 120;
/// Length of a thread name in bytes, including the terminating zero: `TASK_COMM_LEN`.
pub const COMM_LEN: usize = 16;

/// Thread name as the kernel keeps it: at most 15 bytes, padded with zeros.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Comm([u8; COMM_LEN]);

impl Comm {
    /// Returns `name`, truncated at a character boundary. Control characters, which break lines, become `_`.
    pub fn new(name: &str) -> Self {
        let mut comm = [0; COMM_LEN];
        let kept = &name[..name.floor_char_boundary(COMM_LEN - 1)];
        for (place, byte) in comm.iter_mut().zip(kept.bytes()) {
            *place = if byte.is_ascii_control() { b'_' } else { byte };
        }
        Self(comm)
    }

    /// Returns all 16 bytes, including the padding.
    pub const fn bytes(&self) -> &[u8; COMM_LEN] {
        &self.0
    }

    /// Returns the name without the padding.
    pub fn as_str(&self) -> &str {
        let end = self.0.iter().position(|&byte| byte == 0).unwrap_or(COMM_LEN);
        core::str::from_utf8(&self.0[..end]).expect("a name is cut where a character ends")
    }
}

/// Index of a thread in a [`ThreadTable`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ThreadId(u32);

impl ThreadId {
    /// Process that started the tasks of the workload. It runs on no CPU of the machine.
    pub const MAIN: Self = Self(0);

    /// Returns the thread of a scheduler task.
    pub const fn from_task(task: TaskId) -> Self {
        Self(task.0 + 1)
    }

    /// Returns the thread of an index in the table.
    ///
    /// # Panics
    /// If the index does not fit into 32 bits.
    pub const fn from_index(index: usize) -> Self {
        assert!(index <= u32::MAX as usize);
        Self(index as u32)
    }

    /// Returns the index in the table.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// Name, pid and priority of a thread.
#[expect(missing_docs, reason = "the field names describe their content")]
#[derive(Clone, Copy, Debug)]
pub struct ThreadInfo {
    /// Thread id as the kernel counts; 0 for idle tasks.
    pub pid: i32,
    /// Pid of the process to which the thread belongs.
    pub tgid: i32,
    pub comm: Comm,
    /// Kernel priority (`task_struct->prio`): a smaller value is more important.
    pub prio: i32,
    /// Whether the thread belongs to the kernel: idle tasks, stoppers.
    pub is_kernel: bool,
}

#[derive(Debug)]
struct ForkSpec {
    name: String,
    family: String,
    forks: u32,
    /// Whether the workload itself starts the task, rather than another task.
    is_started: bool,
}

/// All threads that have existed so far, by [`ThreadId`].
#[derive(Debug)]
pub struct ThreadTable {
    list: Vec<ThreadInfo>,
    specs: Vec<ForkSpec>,
    /// Whether the workload's tasks are threads of one process, rather than processes.
    is_one_process: bool,
}

impl ThreadTable {
    /// Returns the threads of a machine whose run has not begun. `main` is the name of the process to which
    /// all tasks of the workload belong; with `None` each task is a process.
    pub fn new(machine: &Machine<impl Engine>, main: Option<&str>) -> Self {
        let pid = FIRST_PID as i32 - 1;
        let info =
            |pid, comm: &str, prio, is_kernel| ThreadInfo { pid, tgid: pid, comm: Comm::new(comm), prio, is_kernel };
        let cpus = || 0..machine.hardware().nr_cpus();
        let mut list = vec![info(pid, main.unwrap_or("sh"), DEFAULT_PRIO, false)];
        list.extend(cpus().map(|cpu| info(0, &format!("swapper/{cpu}"), DEFAULT_PRIO, true)));
        list.extend(cpus().map(|cpu| info(FIRST_STOPPER_PID + cpu as i32, &format!("migration/{cpu}"), 0, true)));
        list.push(info(1, "init", DEFAULT_PRIO, false));
        let specs = machine.workload().tasks.iter().map(|spec| ForkSpec {
            name: spec.name.clone(),
            family: spec.family.clone(),
            forks: 0,
            is_started: spec.start_at.is_some(),
        });
        Self { list, specs: specs.collect(), is_one_process: main.is_some() }
    }

    /// Returns the data of a thread.
    #[inline]
    pub fn get(&self, thread: ThreadId) -> &ThreadInfo {
        &self.list[thread.index()]
    }

    /// All threads, by [`ThreadId`].
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &ThreadInfo> {
        self.list.iter()
    }

    /// Returns the idle task of a CPU.
    pub const fn idle(cpu: CpuId) -> ThreadId {
        ThreadId::from_task(TaskId(cpu.0))
    }

    /// Whether a thread is the idle task of a CPU.
    #[inline]
    pub fn is_idle(&self, thread: ThreadId) -> bool {
        self.get(thread).pid == 0
    }

    /// Whether a thread is a task of the workload, rather than one of the machine: idle tasks, stoppers, init.
    #[inline]
    pub fn is_of_workload(&self, thread: ThreadId) -> bool {
        let info = self.get(thread);
        !info.is_kernel && info.pid >= FIRST_PID as i32
    }

    /// Adds the thread of a forked task. Returns it, and whether the workload itself starts it.
    pub(super) fn forked(&mut self, id: TaskId, pid: i32, spec: usize) -> (ThreadId, bool) {
        let spec = &mut self.specs[spec];
        let comm = Comm::new(&instance_name(&spec.name, &spec.family, spec.forks));
        spec.forks += 1;
        let is_started = spec.is_started;
        let tgid = if self.is_one_process { self.list[0].pid } else { pid };
        let thread = ThreadId::from_task(id);
        debug_assert_eq!(thread.index(), self.list.len(), "tasks are numbered in the order of their creation");
        self.list.push(ThreadInfo { pid, tgid, comm, prio: DEFAULT_PRIO, is_kernel: false });
        (thread, is_started)
    }

    pub(super) fn set_prio(&mut self, thread: ThreadId, prio: i32) -> i32 {
        std::mem::replace(&mut self.list[thread.index()].prio, prio)
    }
}
