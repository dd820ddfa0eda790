// SPDX-License-Identifier: GPL-2.0-or-later
//! Object of an engine in this process. All unsafe code of the project is here, by the rules at the top of
//! the crate.

mod raw;
mod types;

pub(crate) use types::TaskPolicy;
pub use types::{EngineIrq, SchedDomainState};

use crate::error::KernelError;
use fairlab_sched::ids::TaskId;
use fairlab_sched::state::cpufreq::domain::{FrequencyDomain, Governor};
use fairlab_sched::state::new_task::NewTask;
use fairlab_sched::state::snapshot::CpuAction;
use fairlab_sched::task::Policy;
use fairlab_sched::topology::{CpuPlace, MachineTopology, TopologyLevel};
use fairlab_workload::message::Message;
use raw::Functions;
use records::CounterNames;
use std::cell::RefCell;
use std::ffi::{CStr, CString, c_int, c_ulong};
use std::mem::ManuallyDrop;
use std::os::fd::RawFd;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether this process has loaded an object: kernel code can be booted only once.
static IS_LOADED: AtomicBool = AtomicBool::new(false);

/// Loaded object of an engine.
pub struct Object {
    /// Never unloaded: texts and functions of it are kept.
    _library: ManuallyDrop<libloading::Library>,
    functions: Functions,
    counter_names: RefCell<CounterNames>,
    nr_cpus: usize,
    /// Kernel code has one state, and its locks do not protect against threads of this process.
    _one_thread: std::marker::PhantomData<*const ()>,
}

/// Calls a function of the object. All functions belong to the kernel's side or the host and have the types
/// of `raw.rs`; the object was checked when it was loaded.
macro_rules! call {
    ($object:expr, $function:ident($($arg:expr),*)) => {
        // SAFETY: the object is loaded and never unloaded, its layout was compared (rule 3), only this thread
        // calls it (rule 2: an Object is neither Send nor Sync), and pointers among the arguments are
        // borrowed for the length of the call (rule 4).
        unsafe { ($object.functions.$function)($($arg),*) }
    };
}

// These modules use the macro, so they follow it.
mod change;
mod counting;
mod lag;
pub mod paths;
mod records;
mod show;
mod switches;

pub(crate) use counting::MAX_OPERATIONS;
pub use counting::{CountedOps, TracedCall};
pub(crate) use records::EngineRecord;
pub(crate) use switches::ENOENT;

/// Converts a frequency or power value, for which the kernel has 32 bits.
pub(crate) fn to_u32(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// Converts a number of a CPU, task or group, which is an int in C.
fn c_cpu(number: u32) -> c_int {
    c_int::try_from(number).expect("numbers of CPUs, tasks and groups are small")
}

impl Object {
    /// Loads an object into this process.
    ///
    /// # Errors
    /// If the object cannot be loaded or was built by another version of fairlab, or if this process has
    /// loaded one before.
    pub fn load(path: &Path) -> Result<Self, KernelError> {
        let failed = |what: String| {
            KernelError::Load(Message::in_file(path, what).with_help("fairlab kernel add builds it again"))
        };
        if IS_LOADED.swap(true, Ordering::SeqCst) {
            return Err(failed("this process has already loaded an engine".to_owned()));
        }
        // SAFETY: the only code of an object that runs when it is loaded are its constructors: those of gcc's
        // counters, if it has them. Kernel code registers itself in sections that are never read.
        let library = unsafe { libloading::Library::new(path) }.map_err(|error| failed(error.to_string()))?;
        // SAFETY: objects are linked from this crate's files. The comparison of sizes below checks that they
        // are of this version; before it nothing but fl_layout() is called. The library is never unloaded.
        let functions = unsafe { Functions::find(&library) }.map_err(|error| failed(error.to_string()))?;
        let object = Self {
            _library: ManuallyDrop::new(library),
            functions,
            counter_names: RefCell::default(),
            nr_cpus: 0,
            _one_thread: std::marker::PhantomData,
        };
        for (what, size) in (0..).zip(raw::SIZES) {
            if call!(object, fl_layout(what)) as usize != size {
                return Err(failed("it was built by another version of fairlab".to_owned()));
            }
        }
        Ok(object)
    }

    /// Makes crashes, and calls that take `loop_seconds` of CPU time, end this process with a report on a
    /// file descriptor. 0: no limit.
    pub fn install_guards(&self, report: RawFd, loop_seconds: u32) {
        call!(self, fl_guard(report, loop_seconds));
    }

    /// Returns the largest number of CPUs, and the ticks per second.
    pub fn limits(&self) -> (usize, u64) {
        (call!(self, fl_max_cpus()) as usize, u64::from(call!(self, fl_tick_hz())))
    }

    /// Sets the clock for the following calls: the time, the offset by which clocks have run ahead, and the
    /// increase of that offset with each newly-idle pass, all in ns.
    pub fn set_clock(&self, now: u64, ahead: u64, newidle_cost: u64) {
        let clock = raw::RawClock { now, ahead, newidle_cost };
        call!(self, fl_set_clock(&raw const clock));
    }

    /// Also records charges of run time from now on.
    pub fn report_runtimes(&self) {
        call!(self, fl_report_runtimes());
    }

    /// Also records virtual times of tasks from now on, if the tree has lags.
    pub fn report_lags(&self) {
        call!(self, fl_report_lags());
    }

    /// Returns the offset by which clocks have run ahead, in ns.
    pub fn clock_offset(&self) -> u64 {
        call!(self, fl_ahead())
    }

    /// Records the name, CPU and time of the next call, for reports.
    pub fn set_current_call(&self, what: &'static CStr, cpu: u32, now: u64) {
        call!(self, fl_entering(what.as_ptr(), c_cpu(cpu), now));
    }

    /// Defines a frequency domain, before the boot. Invalid domains were rejected before.
    pub(crate) fn frequency_domain(&self, domain: &FrequencyDomain) {
        let small = |numbers: &[u64]| -> Vec<u32> { numbers.iter().map(|&number| to_u32(number)).collect() };
        let cpus: Vec<u32> = domain.cpus().map(|cpu| cpu.0).collect();
        let (khz, uw) = (small(domain.khz()), small(domain.power_uw()));
        let (fixed_khz, schedutil) = match domain.governor() {
            Governor::Fixed { khz } => (to_u32(khz), None),
            Governor::Schedutil(config) => (0, Some(config)),
        };
        assert!(!cpus.is_empty() && !khz.is_empty() && [0, khz.len()].contains(&uw.len()), "{domain:?}");
        assert!(cpus.iter().all(|&cpu| (cpu as usize) < self.limits().0), "a CPU beyond the limit of the object");
        let raw_domain = raw::RawFrequencyDomain {
            nr_cpus: cpus.len() as u32,
            nr_points: khz.len() as u32,
            rate_limit_us: schedutil.map_or(0, |config| to_u32(config.rate_limit.0 / 1000)),
            holds_when_busy: schedutil.map_or(0, |config| u32::from(config.holds_when_busy)),
            sleeps: u32::from(domain.has_governor_thread()),
            skips_inefficient: u32::from(domain.skips_inefficient()),
            fixed_khz,
            cpus: cpus.as_ptr(),
            khz: khz.as_ptr(),
            uw: if uw.is_empty() { std::ptr::null() } else { uw.as_ptr() },
        };
        call!(self, fl_frequency_domain(&raw const raw_domain));
    }

    /// Boots at the time of the clock.
    ///
    /// # Panics
    /// If there are more CPUs than the object supports, or it was booted before.
    pub(crate) fn boot(&mut self, topology: &MachineTopology) {
        let MachineTopology { cpus, capacity, levels, distances } = topology;
        assert!(
            self.nr_cpus == 0 && !cpus.is_empty() && cpus.len() <= self.limits().0,
            "it can be booted once, on {}",
            self.limits().0
        );
        let flat: Vec<u32> = distances.concat();
        assert!(flat.len() == distances.len() * distances.len(), "distances are a square");
        if !flat.is_empty() {
            call!(self, fl_node_distances(c_cpu(distances.len() as u32), flat.as_ptr()));
        }
        let to_raw = |(place, &capacity): (&CpuPlace, &u64)| {
            let [core, cluster, llc, package, node] =
                [place.core, place.cluster, place.llc, place.package, place.node].map(c_cpu);
            raw::RawCpu { core, cluster, llc, package, node, capacity: capacity as u32 }
        };
        let raw: Vec<raw::RawCpu> = cpus.iter().zip(capacity).map(to_raw).collect();
        let letter = |level: &TopologyLevel| match level {
            TopologyLevel::Smt => 'S',
            TopologyLevel::Cluster => 'C',
            TopologyLevel::Mc => 'M',
            TopologyLevel::Package => 'P',
            TopologyLevel::All => 'A',
        };
        let levels = CString::new(levels.iter().map(letter).collect::<String>()).expect("levels are letters");
        self.nr_cpus = cpus.len();
        call!(self, fl_boot(c_cpu(cpus.len() as u32), raw.as_ptr(), levels.as_ptr()));
    }

    /// Whether the kernel has booted.
    pub fn is_booted(&self) -> bool {
        self.nr_cpus > 0
    }

    /// Returns a CPU number for the kernel's side, which does not check it.
    fn cpu(&self, cpu: u32) -> c_int {
        assert!((cpu as usize) < self.nr_cpus, "CPU {cpu} of {}", self.nr_cpus);
        c_cpu(cpu)
    }

    /// Checks that a mask has a bit for each CPU; C reads it as longs.
    fn mask<'a>(&self, mask: &'a [u64]) -> &'a [u64] {
        assert!(mask.len() * 64 >= self.nr_cpus, "a bit for each CPU");
        mask
    }

    /// Whether the tree's cgroups have a file of this name, without the controller's prefix.
    pub fn has_group_file(&self, name: &str) -> bool {
        CString::new(name).is_ok_and(|name| call!(self, fl_has_group_file(name.as_ptr())) != 0)
    }

    /// Sets the smallest distance by which a timer is moved, in ns.
    pub fn set_timer_resolution(&self, ns: u32) {
        call!(self, fl_timer_resolution(ns));
    }

    /// Sets jiffies, counted from time 0 of the machine's clock.
    pub fn jiffies(&self, number: u64) {
        call!(self, fl_jiffies(number));
    }

    /// Sets the frequency of a CPU, as a share of the highest, of 1024.
    pub fn set_frequency(&self, cpu: u32, part: u64) {
        call!(self, fl_frequency(self.cpu(cpu), part as c_ulong));
    }

    /// Sets the state of a CPU's random number generator.
    pub fn seed_random(&self, cpu: u32, words: [u32; 4]) {
        call!(self, fl_seed_dice(self.cpu(cpu), words.as_ptr()));
    }

    /// Adds to the interrupt time of a CPU.
    pub fn irq_time(&self, cpu: u32, ns: u64) {
        call!(self, fl_irq_time(self.cpu(cpu), ns));
    }

    /// Creates a task that is forked on a CPU. [`paths::EngineCall::WakeNew`] must follow.
    /// `id` must be the next number of a task; `mask` has a bit for each CPU that the task may use.
    pub(crate) fn fork(&self, cpu: u32, id: TaskId, new: &NewTask, mask: &[u64]) {
        let (uclamp_min, uclamp_max) = new.uclamp.map_or((-1, -1), |clamps| (c_cpu(clamps.min), c_cpu(clamps.max)));
        let spec = raw::RawTaskSpec {
            id: id.0,
            pid: new.pid,
            nice: i32::from(new.nice),
            group: c_cpu(new.group.0),
            policy: raw_policy(TaskPolicy { policy: new.policy, reclaims: false, is_governor: false }),
            uclamp_min,
            uclamp_max,
            // 0 is the slice of the kernel.
            slice: new.slice.map_or(0, |slice| slice.0),
            mask: self.mask(mask).as_ptr().cast(),
        };
        call!(self, fl_fork(self.cpu(cpu), &raw const spec));
    }

    /// Runs the work of a CPU's stopper, if it has any, while a caller waits for it.
    pub fn awaited_stopper(&self, cpu: u32) {
        call!(self, fl_awaited_stopper(self.cpu(cpu)));
    }

    /// Makes all idle CPUs choose their idle states again (`wake_up_all_idle_cpus()`).
    pub fn wake_idle(&self, cpu: u32) {
        call!(self, fl_wake_idle(self.cpu(cpu)));
    }

    /// Ends a call: ends the process if a lock or section is held that was not held before.
    pub(crate) fn end_call(&self) {
        call!(self, fl_leaving());
    }

    /// Makes the idle task of a CPU leave its loop.
    pub fn idle_exit(&self, cpu: u32) {
        call!(self, fl_idle_exit(self.cpu(cpu)));
    }

    /// Returns the next action of a CPU.
    #[inline]
    pub(crate) fn next_action(&self, cpu: u32) -> CpuAction {
        match call!(self, fl_duty(self.cpu(cpu))) {
            0 => CpuAction::Reschedule,
            1 => CpuAction::Stopper,
            2 => CpuAction::Idle,
            _ => CpuAction::Task(TaskId(self.running(cpu))),
        }
    }

    /// Returns the number of the task that a CPU runs.
    #[inline]
    pub fn running(&self, cpu: u32) -> u32 {
        call!(self, fl_running(self.cpu(cpu)))
    }

    /// Returns the CPU to which a task belongs.
    pub fn cpu_of(&self, task: u32) -> u32 {
        call!(self, fl_cpu_of(task)) as u32
    }

    /// Whether the tick of a CPU is stopped.
    pub fn is_tick_stopped(&self, cpu: u32) -> bool {
        call!(self, fl_tick_is_stopped(self.cpu(cpu))) != 0
    }
}

fn raw_policy(TaskPolicy { policy, reclaims, is_governor }: TaskPolicy) -> raw::RawPolicy {
    let (number, priority, [runtime, deadline, period]) = match policy {
        Policy::Normal => (0, 0, [0; 3]),
        Policy::Fifo(priority) => (1, priority, [0; 3]),
        Policy::RoundRobin(priority) => (2, priority, [0; 3]),
        Policy::Batch => (3, 0, [0; 3]),
        Policy::Idle => (5, 0, [0; 3]),
        Policy::Deadline { runtime, deadline, period } => (6, 0, [runtime, deadline, period].map(|time| time.0 as i64)),
    };
    let (reclaims, is_governor) = (c_int::from(reclaims), c_int::from(is_governor));
    raw::RawPolicy { policy: number, priority: i32::from(priority), reclaims, is_governor, runtime, deadline, period }
}

fn to_result(answer: c_int) -> Result<(), i32> {
    if answer == 0 { Ok(()) } else { Err(answer) }
}
