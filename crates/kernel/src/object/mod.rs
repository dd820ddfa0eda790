// SPDX-License-Identifier: GPL-2.0-or-later
//! Object of an engine in this process. All unsafe code of the project is here, by the rules at the top of
//! the crate.

mod raw;
mod types;

pub use types::{
    EngineCpu, EngineDuty, EngineFrequencyDomain, EngineIrq, EnginePolicy, EngineTaskSpec, SchedDomainState,
};

use crate::error::KernelError;
use fairlab_workload::message::Message;
use raw::Functions;
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
            KernelError::Load(
                Message::in_file(path.display().to_string(), what).with_help("fairlab kernel add builds it again"),
            )
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
        let object =
            Self { _library: ManuallyDrop::new(library), functions, nr_cpus: 0, _one_thread: std::marker::PhantomData };
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

    /// Defines a frequency domain, before the boot.
    ///
    /// # Panics
    /// If it has no CPU or no frequency, or if the number of power values differs.
    pub fn frequency_domain(&self, domain: &EngineFrequencyDomain) {
        let EngineFrequencyDomain {
            cpus,
            khz,
            uw,
            fixed_khz,
            rate_limit_us,
            holds_when_busy,
            sleeps,
            skips_inefficient,
        } = domain;
        assert!(!cpus.is_empty() && !khz.is_empty() && [0, khz.len()].contains(&uw.len()), "{domain:?}");
        assert!(cpus.iter().all(|&cpu| (cpu as usize) < self.limits().0), "a CPU beyond the limit of the object");
        let raw_domain = raw::RawFrequencyDomain {
            nr_cpus: cpus.len() as u32,
            nr_points: khz.len() as u32,
            rate_limit_us: *rate_limit_us,
            holds_when_busy: u32::from(*holds_when_busy),
            sleeps: u32::from(*sleeps),
            skips_inefficient: u32::from(*skips_inefficient),
            fixed_khz: fixed_khz.unwrap_or(0),
            cpus: cpus.as_ptr(),
            khz: khz.as_ptr(),
            uw: if uw.is_empty() { std::ptr::null() } else { uw.as_ptr() },
        };
        call!(self, fl_frequency_domain(&raw const raw_domain));
    }

    /// Boots at the time of the clock. `distances` are those of nodes, row by row; `levels` has a letter for
    /// each level, lowest first.
    ///
    /// # Panics
    /// If there are more CPUs than the object supports, or it was booted before.
    pub fn boot(&mut self, cpus: &[EngineCpu], distances: &[Vec<u32>], levels: &str) {
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
        let to_raw = |cpu: &EngineCpu| {
            let [core, cluster, llc, package, node] = cpu.place.map(c_cpu);
            raw::RawCpu { core, cluster, llc, package, node, capacity: cpu.capacity }
        };
        let raw: Vec<raw::RawCpu> = cpus.iter().map(to_raw).collect();
        let levels = CString::new(levels).expect("levels are letters");
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
    pub fn fork(&self, cpu: u32, new: &EngineTaskSpec<'_>) {
        let (uclamp_min, uclamp_max) = new.uclamp.map_or((-1, -1), |(min, max)| (c_cpu(min), c_cpu(max)));
        let spec = raw::RawTaskSpec {
            id: new.id,
            pid: new.pid,
            nice: new.nice,
            group: new.group,
            policy: policy(new.policy),
            uclamp_min,
            uclamp_max,
            slice: new.slice_ns,
            mask: self.mask(new.mask).as_ptr().cast(),
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
    pub fn next_action(&self, cpu: u32) -> EngineDuty {
        match call!(self, fl_duty(self.cpu(cpu))) {
            0 => EngineDuty::Reschedule,
            1 => EngineDuty::Stopper,
            2 => EngineDuty::Idle,
            _ => EngineDuty::Task,
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

fn policy(policy: EnginePolicy) -> raw::RawPolicy {
    let [runtime, deadline, period] = policy.deadline;
    let (reclaims, is_governor) = (c_int::from(policy.reclaims), c_int::from(policy.is_governor));
    raw::RawPolicy {
        policy: policy.number,
        priority: policy.priority,
        reclaims,
        is_governor,
        runtime,
        deadline,
        period,
    }
}

fn to_result(answer: c_int) -> Result<(), i32> {
    if answer == 0 { Ok(()) } else { Err(answer) }
}
