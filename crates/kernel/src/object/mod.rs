// SPDX-License-Identifier: GPL-2.0-or-later
//! An engine's object in this process: all unsafe code of the project, by the rules at the top of the crate.

mod raw;
mod show;

use crate::error::KernelError;
use fairlab_sched::topology::CpuIdleType;
use raw::Functions;
use std::ffi::{CStr, CString, c_int, c_ulong};
use std::mem::ManuallyDrop;
use std::os::fd::RawFd;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether this process has loaded an object: kernel code is booted once.
static IS_LOADED: AtomicBool = AtomicBool::new(false);

/// A loaded object.
pub struct Object {
    /// Never unloaded: texts and functions of it are kept.
    _library: ManuallyDrop<libloading::Library>,
    functions: Functions,
    nr_cpus: usize,
    /// Kernel code has one state and no locks that would mean anything to threads of this process.
    _one_thread: std::marker::PhantomData<*const ()>,
}

/// A place of a CPU, and what it can do.
#[derive(Clone, Copy, Debug)]
pub struct Cpu {
    /// Core, cluster, last-level cache, package and node.
    pub place: [u32; 5],
    /// Capacity, of 1024.
    pub capacity: u32,
}

/// CPUs whose frequency changes together.
#[derive(Clone, Debug)]
pub struct FrequencyDomain {
    /// The CPUs, ascending.
    pub cpus: Vec<u32>,
    /// Frequencies, ascending.
    pub khz: Vec<u32>,
    /// Powers in microwatts, one for each; or none.
    pub uw: Vec<u32>,
    /// The frequency at which it stays; none: schedutil drives it.
    pub fixed_khz: Option<u32>,
    /// Of schedutil.
    pub rate_limit_us: u32,
    /// Whether a CPU that has not idled since counts as busy.
    pub holds_when_busy: bool,
    /// Whether its driver sleeps, so that schedutil has a thread for it.
    pub sleeps: bool,
    /// Whether frequencies that cost no less than a higher one are left out.
    pub skips_inefficient: bool,
}

/// A policy as the kernel numbers it: SCHED_*, priority, and runtime, deadline and period in ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    /// SCHED_*.
    pub number: i32,
    /// Real-time priority.
    pub priority: i32,
    /// Of SCHED_DEADLINE.
    pub deadline: [i64; 3],
    /// Takes what other deadline tasks leave.
    pub reclaims: bool,
    /// Is the thread of a governor.
    pub is_governor: bool,
}

/// A task to be forked.
#[derive(Clone, Debug)]
pub struct NewTask<'a> {
    /// Its number: the next one.
    pub id: u32,
    /// Its process id.
    pub pid: i32,
    /// Nice value.
    pub nice: i32,
    /// Group; 0 is the root.
    pub group: i32,
    /// Policy, but SCHED_DEADLINE.
    pub policy: Policy,
    /// Clamps, if set.
    pub uclamp: Option<(u32, u32)>,
    /// CPUs that it may use: a bit each.
    pub mask: &'a [u64],
}

/// A function that stands for an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CountedOps {
    /// Its place in the object.
    pub function: u64,
    /// Number of the operation.
    pub operation: usize,
    /// How often it counts for each call.
    pub times: i32,
    /// The function that has to run meanwhile, if one has to.
    pub within: Option<u64>,
    /// Whether that one has to be the innermost of all that are counted.
    pub is_direct: bool,
}

/// So many operations an object can count: as in `engine/host/host.c`.
const MOST_OPERATIONS: usize = 64;

/// What the kernel's side has told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EngineRecord {
    /// A task became runnable.
    Wakeup { on: u32, cpu: u32, task: u32, is_new: bool },
    /// A CPU has another task. The state is that of the one that goes.
    Switch { cpu: u32, prev: u32, next: u32, state: u32 },
    /// A task belongs to another CPU.
    Migrate { on: u32, task: u32, from: u32, to: u32 },
    /// An interrupt was sent: to reschedule (0), or for the queue of calls (1).
    Ipi { on: u32, cpu: u32, kind: u32 },
    /// A counter of a domain grew.
    Stat { on: u32, cpu: u32, level: u32, counter: &'static str, idle: Option<CpuIdleType>, amount: i64 },
    /// The timer of a CPU was programmed.
    Timer { cpu: u32, at: u64 },
    /// The tree's schedutil has changed the frequency of a CPU: part of the highest, of 1024.
    Frequency { cpu: u32, part: u64 },
    /// The tree's schedutil wants its thread for a frequency domain.
    Governor { cpu: u32, domain: u32 },
}

/// What balancing keeps of a sched domain, under the kernel's names.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
pub struct Domain {
    /// Name, where the tree has one.
    pub name: String,
    /// Level in the topology.
    pub level: u32,
    /// Passes since the last one that moved something.
    pub nr_balance_failed: u32,
    /// So many of them before tasks are taken whose caches are warm.
    pub cache_nice_tries: u32,
    /// From which imbalance on it balances, of 100.
    pub imbalance_pct: u32,
    /// In milliseconds.
    pub balance_interval: u32,
}

/// A call of the kernel's side by the laboratory, with the functions that it entered.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Called {
    /// What was called.
    pub what: String,
    /// On which CPU.
    pub cpu: u32,
    /// When, on the machine's clock.
    pub at_ns: u64,
    /// Functions in the order in which they were entered: how deep, and their places in the object.
    pub functions: Vec<(u32, u64)>,
}

/// What a CPU has to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EngineDuty {
    /// Reschedule.
    Reschedule,
    /// The work of its stopper.
    Stopper,
    /// Nothing.
    Idle,
    /// A task's.
    Task,
}

/// Which interrupt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Irq {
    /// Look at need_resched.
    Reschedule,
    /// Serve the queue of calls.
    Call,
    /// The timer has expired.
    Timer,
}

/// Calls a function of the object. All are of the kernel's side or the host and have the types of `raw.rs`; the object was checked when it was
/// loaded.
macro_rules! call {
    ($object:expr, $function:ident($($arg:expr),*)) => {
        // SAFETY: the object is loaded and never unloaded, its layout was compared (rule 3), this is the one thread that calls it (rule 2: an
        // Object is neither Send nor Sync), and pointers among the arguments are borrowed for the length of the call (rule 4).
        unsafe { ($object.functions.$function)($($arg),*) }
    };
}

// After the macro that they use.
mod change;
pub mod paths;

/// CPUs are numbers that C has as int.
fn c(number: u32) -> c_int {
    c_int::try_from(number).expect("numbers of CPUs, tasks and groups are small")
}

impl Object {
    /// Loads an object into this process.
    ///
    /// # Errors
    /// If it cannot be loaded, is not of this program, or another one was loaded before.
    pub fn load(path: &Path) -> Result<Self, KernelError> {
        let failed = |what: String| {
            KernelError::Load(format!("{}: {what}\nhelp: fairlab kernel add builds it anew", path.display()))
        };
        if IS_LOADED.swap(true, Ordering::SeqCst) {
            return Err(failed("this process has loaded an engine before".to_owned()));
        }
        // SAFETY: an object's only code that runs when it is loaded is that of its constructors: those of gcc's counters, if it has them, and
        // no others, since kernel code registers itself in sections that nobody reads.
        let library = unsafe { libloading::Library::new(path) }.map_err(|error| failed(error.to_string()))?;
        // SAFETY: objects are linked from this crate's files; that they are of this version is what the comparison of sizes below is for,
        // before which nothing but fl_layout() is called. The library is never unloaded.
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

    /// Has crashes, and calls that take so many seconds of CPU time, end this process with a report on a file descriptor. 0: no limit.
    pub fn guard(&self, report: RawFd, loop_seconds: u32) {
        call!(self, fl_guard(report, loop_seconds));
    }

    /// Has operations counted: functions of this very object, by the file that was written beside it.
    ///
    /// # Panics
    /// If there are more operations than the object has room for.
    pub fn count(&self, counted: &[CountedOps]) {
        for &CountedOps { function, operation, times, within, is_direct } in counted {
            assert!(operation < MOST_OPERATIONS, "operation {operation} of {MOST_OPERATIONS}");
            let within = within.unwrap_or(0);
            call!(self, fl_count(function, operation as c_int, times, within, c_int::from(is_direct)));
        }
    }

    /// Has clocks run ahead by so much for each such operation while this function runs, and go back when it ends: what it measures of itself.
    pub fn measure(&self, function: u64, operation: usize, ns: u32) {
        call!(self, fl_measure(function, operation as c_int, ns));
    }

    /// What was counted since the last call, by operation: how often, if at all.
    pub(crate) fn counts(&self, mut listen: impl FnMut(usize, i64)) {
        let mut which = 0;
        let counts = call!(self, fl_counts(&raw mut which));
        if which == 0 {
            return;
        }
        // SAFETY: so many stand there, as long as the object is loaded, and nobody else reads or writes them until the kernel's side is entered
        // again, which this borrow of the object does not do.
        let counts = unsafe { std::slice::from_raw_parts_mut(counts, MOST_OPERATIONS) };
        while which != 0 {
            let operation = which.trailing_zeros() as usize;
            listen(operation, std::mem::take(&mut counts[operation]));
            which &= which - 1;
        }
    }

    /// Has it remembered which functions are entered, or not any more.
    pub fn trace(&self, is_wanted: bool) {
        call!(self, fl_trace(c_int::from(is_wanted)));
    }

    /// What was called since the last call of this, as far as it was traced.
    pub fn called(&self) -> Vec<Called> {
        let mut nr = 0;
        let entries = call!(self, fl_called(&raw mut nr));
        if nr == 0 {
            return Vec::new();
        }
        // SAFETY: so many entries stand there, and stay until the kernel's side is entered again, which this borrow of the object does not do.
        let entries = unsafe { std::slice::from_raw_parts(entries, nr as usize) };
        let mut calls: Vec<Called> = Vec::new();
        for &raw::RawCalled { function, depth, cpu, at, what } in entries {
            if function != 0 {
                if let Some(call) = calls.last_mut() {
                    call.functions.push((depth as u32, function));
                }
                continue;
            }
            // SAFETY: the text is the one that `entering` was given, a constant of this program.
            let what: &'static CStr = unsafe { CStr::from_ptr(what) };
            let what = what.to_string_lossy().into_owned();
            calls.push(Called { what, cpu: cpu as u32, at_ns: at, functions: Vec::new() });
        }
        calls
    }

    /// Most CPUs, and ticks in a second.
    pub fn limits(&self) -> (usize, u64) {
        (call!(self, fl_max_cpus()) as usize, u64::from(call!(self, fl_tick_hz())))
    }

    /// Sets the clock for the calls that follow: the time, how far clocks have run ahead, and how far each newly-idle pass lets them.
    pub fn set_clock(&self, now: u64, ahead: u64, newidle_cost: u64) {
        let clock = raw::RawClock { now, ahead, newidle_cost };
        call!(self, fl_set_clock(&raw const clock));
    }

    /// How far clocks have run ahead.
    pub fn ahead(&self) -> u64 {
        call!(self, fl_ahead())
    }

    /// Says what is called next, for a report.
    pub fn entering(&self, what: &'static CStr, cpu: u32, now: u64) {
        call!(self, fl_entering(what.as_ptr(), c(cpu), now));
    }

    /// A frequency domain, to be told before the boot.
    ///
    /// # Panics
    /// If it has no CPU or no frequency, or not as many powers.
    pub fn frequency_domain(&self, domain: &FrequencyDomain) {
        let FrequencyDomain { cpus, khz, uw, fixed_khz, rate_limit_us, holds_when_busy, sleeps, skips_inefficient } =
            domain;
        assert!(!cpus.is_empty() && !khz.is_empty() && [0, khz.len()].contains(&uw.len()), "{domain:?}");
        assert!(cpus.iter().all(|&cpu| (cpu as usize) < self.limits().0), "CPUs that the object has room for");
        let told = raw::RawFrequencyDomain {
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
        call!(self, fl_frequency_domain(&raw const told));
    }

    /// Boots, at the time of the clock. Distances are those of nodes, row by row; levels a letter each, lowest first.
    ///
    /// # Panics
    /// If there are more CPUs than the object has room for, or it was booted before.
    pub fn boot(&mut self, cpus: &[Cpu], distances: &[Vec<u32>], levels: &str) {
        assert!(
            self.nr_cpus == 0 && !cpus.is_empty() && cpus.len() <= self.limits().0,
            "it can be booted once, on {}",
            self.limits().0
        );
        let flat: Vec<u32> = distances.concat();
        assert!(flat.len() == distances.len() * distances.len(), "distances are a square");
        if !flat.is_empty() {
            call!(self, fl_node_distances(c(distances.len() as u32), flat.as_ptr()));
        }
        let to_raw = |cpu: &Cpu| {
            let [core, cluster, llc, package, node] = cpu.place.map(c);
            raw::RawCpu { core, cluster, llc, package, node, capacity: cpu.capacity }
        };
        let raw: Vec<raw::RawCpu> = cpus.iter().map(to_raw).collect();
        let levels = CString::new(levels).expect("levels are letters");
        self.nr_cpus = cpus.len();
        call!(self, fl_boot(c(cpus.len() as u32), raw.as_ptr(), levels.as_ptr()));
    }

    /// A CPU that there is: the kernel's side does not look.
    fn cpu(&self, cpu: u32) -> c_int {
        assert!((cpu as usize) < self.nr_cpus, "CPU {cpu} of {}", self.nr_cpus);
        c(cpu)
    }

    /// A mask with a bit for each CPU, which C reads as longs.
    fn mask<'a>(&self, mask: &'a [u64]) -> &'a [u64] {
        assert!(mask.len() * 64 >= self.nr_cpus, "a bit for each CPU");
        mask
    }

    /// Whether the tree has a feature.
    pub fn has_feature(&self, name: &str) -> bool {
        CString::new(name).is_ok_and(|name| call!(self, fl_has_feature(name.as_ptr())) != 0)
    }

    /// Switches a feature. Nothing happens if there is none of that name.
    pub fn set_feature(&self, name: &str, on: bool) {
        if self.has_feature(name) {
            let name = CString::new(name).expect("it was looked up");
            call!(self, fl_feature(name.as_ptr(), c_int::from(on)));
        }
    }

    /// Whether the tree has a tunable.
    pub fn has_tunable(&self, name: &str) -> bool {
        CString::new(name).is_ok_and(|name| call!(self, fl_has_tunable(name.as_ptr())) != 0)
    }

    /// Whether the tree's cgroups have a file of this name, without the controller's prefix.
    pub fn has_group_file(&self, name: &str) -> bool {
        CString::new(name).is_ok_and(|name| call!(self, fl_has_group_file(name.as_ptr())) != 0)
    }

    /// Sets a tunable. Nothing happens if there is none of that name.
    pub fn set_tunable(&self, name: &str, value: u32) {
        if self.has_tunable(name) {
            let name = CString::new(name).expect("it was looked up");
            call!(self, fl_tunable(name.as_ptr(), value));
        }
    }

    /// No timer is moved on by less.
    pub fn set_timer_resolution(&self, ns: u32) {
        call!(self, fl_timer_resolution(ns));
    }

    /// Jiffies since the kernel's own beginning.
    pub fn jiffies(&self, number: u64) {
        call!(self, fl_jiffies(number));
    }

    /// The frequency of a CPU, of 1024.
    pub fn set_frequency(&self, cpu: u32, part: u64) {
        call!(self, fl_frequency(self.cpu(cpu), part as c_ulong));
    }

    /// The state of a CPU's dice.
    pub fn seed_random(&self, cpu: u32, words: [u32; 4]) {
        call!(self, fl_seed_dice(self.cpu(cpu), words.as_ptr()));
    }

    /// Interrupts have taken time of a CPU.
    pub fn irq_time(&self, cpu: u32, ns: u64) {
        call!(self, fl_irq_time(self.cpu(cpu), ns));
    }

    /// A new task, forked on a CPU. [`paths::Call::WakeNew`] comes next.
    pub fn fork(&self, cpu: u32, new: &NewTask<'_>) {
        let (uclamp_min, uclamp_max) = new.uclamp.map_or((-1, -1), |(min, max)| (c(min), c(max)));
        let spec = raw::RawTaskSpec {
            id: new.id,
            pid: new.pid,
            nice: new.nice,
            group: new.group,
            policy: policy(new.policy),
            uclamp_min,
            uclamp_max,
            mask: self.mask(new.mask).as_ptr().cast(),
        };
        call!(self, fl_fork(self.cpu(cpu), &raw const spec));
    }

    /// The stopper of a CPU does its work, if it has any, while somebody waits for that.
    pub fn awaited_stopper(&self, cpu: u32) {
        call!(self, fl_awaited_stopper(self.cpu(cpu)));
    }

    /// Somebody on a CPU wants all CPUs that idle to choose their states anew.
    pub fn wake_idle(&self, cpu: u32) {
        call!(self, fl_wake_idle(self.cpu(cpu)));
    }

    /// The end of each call: ends the process if something is held that was not held before.
    pub(crate) fn leaving(&self) {
        call!(self, fl_leaving());
    }

    /// The idle task of a CPU leaves its loop.
    pub fn idle_exit(&self, cpu: u32) {
        call!(self, fl_idle_exit(self.cpu(cpu)));
    }

    /// What a CPU has to do.
    #[inline]
    pub fn duty(&self, cpu: u32) -> EngineDuty {
        match call!(self, fl_duty(self.cpu(cpu))) {
            0 => EngineDuty::Reschedule,
            1 => EngineDuty::Stopper,
            2 => EngineDuty::Idle,
            _ => EngineDuty::Task,
        }
    }

    /// The number of the task that a CPU runs.
    #[inline]
    pub fn running(&self, cpu: u32) -> u32 {
        call!(self, fl_running(self.cpu(cpu)))
    }

    /// The CPU to which a task belongs.
    pub fn cpu_of(&self, task: u32) -> u32 {
        call!(self, fl_cpu_of(task)) as u32
    }

    /// Whether a task is on a runqueue, or on its way between two.
    #[inline]
    pub fn is_queued(&self, task: u32) -> bool {
        call!(self, fl_is_queued(task)) != 0
    }

    /// Whether the tick of a CPU is stopped.
    pub fn is_tick_stopped(&self, cpu: u32) -> bool {
        call!(self, fl_tick_is_stopped(self.cpu(cpu))) != 0
    }

    /// What has been told since the last call, in order.
    pub(crate) fn told(&self, mut listen: impl FnMut(EngineRecord)) {
        let mut nr = 0;
        let records = call!(self, fl_records(&raw mut nr));
        if nr == 0 {
            return;
        }
        // SAFETY: so many records stand there, and stay until the kernel's side is entered again, which this borrow of the object does not do.
        let records = unsafe { std::slice::from_raw_parts(records, nr as usize) };
        for record in records {
            listen(to_told(record));
        }
    }
}

fn to_told(record: &raw::RawRecord) -> EngineRecord {
    let &raw::RawRecord { kind, on, cpu, task, a, b, text } = record;
    match kind {
        raw::WAKEUP => EngineRecord::Wakeup { on, cpu, task, is_new: a != 0 },
        raw::SWITCH => EngineRecord::Switch { cpu, prev: task, next: a as u32, state: record.b as u32 },
        raw::MIGRATE => EngineRecord::Migrate { on, task, from: cpu, to: a as u32 },
        raw::IPI => EngineRecord::Ipi { on, cpu, kind: a as u32 },
        raw::STAT => {
            // SAFETY: the text is a constant of the object, which is never unloaded.
            let text: &'static CStr = unsafe { CStr::from_ptr(text) };
            let counter = counter_of(text.to_str().unwrap_or_default());
            let idle = usize::try_from(b - 1).ok().map(|place| CpuIdleType::ALL[place]);
            EngineRecord::Stat { on, cpu, level: task, counter, idle, amount: a }
        }
        raw::TIMER => EngineRecord::Timer { cpu, at: a as u64 },
        raw::FREQUENCY => EngineRecord::Frequency { cpu, part: a as u64 },
        raw::GOVERNOR => EngineRecord::Governor { cpu, domain: task },
        other => unreachable!("records have eight kinds, not {other}"),
    }
}

/// `env->sd->lb_count[env->idle]` is the counter `lb_count`.
fn counter_of(expression: &'static str) -> &'static str {
    let counter = expression.split('[').next().unwrap_or(expression);
    counter.rsplit_once("->").map_or(counter, |(_, name)| name)
}

fn policy(policy: Policy) -> raw::RawPolicy {
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

fn result(answer: c_int) -> Result<(), i32> {
    if answer == 0 { Ok(()) } else { Err(answer) }
}

#[cfg(test)]
mod tests {
    use super::counter_of;

    #[test]
    fn counters_have_the_name_of_their_field() {
        assert_eq!(counter_of("sd->lb_count[idle]"), "lb_count");
        assert_eq!(counter_of("env->sd->lb_gained[env->idle]"), "lb_gained");
        assert_eq!(counter_of("sd->alb_pushed"), "alb_pushed");
    }
}
