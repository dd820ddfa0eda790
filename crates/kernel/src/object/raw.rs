// SPDX-License-Identifier: GPL-2.0-or-later
//! The mirror of `engine/arch/include/asm/fairlab.h`: structures and functions as C has them.

use std::ffi::{c_char, c_int, c_longlong, c_uint, c_ulong, c_ulonglong};

/// What the kernel's side tells.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Record {
    pub(crate) kind: c_uint,
    pub(crate) on: c_uint,
    pub(crate) cpu: c_uint,
    pub(crate) task: c_uint,
    pub(crate) a: c_longlong,
    pub(crate) b: c_longlong,
    pub(crate) text: *const c_char,
}

/// Kinds of records, in the order of the header.
pub(crate) const WAKEUP: c_uint = 0;
pub(crate) const SWITCH: c_uint = 1;
pub(crate) const MIGRATE: c_uint = 2;
pub(crate) const IPI: c_uint = 3;
pub(crate) const STAT: c_uint = 4;
pub(crate) const TIMER: c_uint = 5;

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cpu {
    pub(crate) core: c_int,
    pub(crate) cluster: c_int,
    pub(crate) llc: c_int,
    pub(crate) package: c_int,
    pub(crate) node: c_int,
    pub(crate) capacity: c_uint,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Policy {
    pub(crate) policy: c_int,
    pub(crate) priority: c_int,
    pub(crate) runtime: c_longlong,
    pub(crate) deadline: c_longlong,
    pub(crate) period: c_longlong,
}

#[repr(C)]
#[derive(Debug)]
pub(crate) struct TaskSpec {
    pub(crate) id: c_uint,
    pub(crate) pid: c_int,
    pub(crate) nice: c_int,
    pub(crate) group: c_int,
    pub(crate) policy: Policy,
    pub(crate) uclamp_min: c_int,
    pub(crate) uclamp_max: c_int,
    pub(crate) mask: *const c_ulong,
}

/// Figures of a CPU, under the kernel's names.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Figures {
    /// Runnable tasks of all classes.
    pub nr_running: c_uint,
    /// Runnable fair tasks, those of groups among them.
    pub cfs_h_nr_running: c_uint,
    /// The number of the task that `rq->curr` is.
    pub curr: c_uint,
    /// Frequency, of 1024.
    pub frequency: c_uint,
    /// Averages of the root cfs_rq.
    pub util_avg: c_ulong,
    /// Load.
    pub load_avg: c_ulong,
    /// Runnable time.
    pub runnable_avg: c_ulong,
    /// What is left of the capacity for fair tasks.
    pub capacity: c_ulong,
    /// `rq->clock`.
    pub clock: c_ulonglong,
    /// `rq->clock_task`.
    pub clock_task: c_ulonglong,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    pub(crate) now: c_ulonglong,
    pub(crate) ahead: c_ulonglong,
    pub(crate) newidle_cost: c_ulonglong,
}

/// Sizes, in the order of `fl_layout()`.
pub(crate) const SIZES: [usize; 6] = [
    size_of::<Record>(),
    size_of::<Cpu>(),
    size_of::<Policy>(),
    size_of::<TaskSpec>(),
    size_of::<Figures>(),
    size_of::<Clock>(),
];

/// Writes the table of functions, and how each is found.
macro_rules! functions {
    ($($name:ident($($arg:ty),*) $(-> $ret:ty)?;)*) => {
        /// The functions of an object.
        pub(crate) struct Functions {
            $(pub(crate) $name: unsafe extern "C" fn($($arg),*) $(-> $ret)?,)*
        }

        impl Functions {
            /// Finds them all.
            ///
            /// # Safety
            /// The library must have been linked from this crate's own files, whose functions have these types, and must never be
            /// unloaded.
            pub(crate) unsafe fn find(library: &libloading::Library) -> Result<Self, libloading::Error> {
                Ok(Self {
                    // SAFETY: the caller vouches for the type of each.
                    $($name: *unsafe { library.get(concat!(stringify!($name), "\0").as_bytes()) }?,)*
                })
            }
        }
    };
}

functions! {
    fl_set_clock(*const Clock);
    fl_ahead() -> c_ulonglong;
    fl_max_cpus() -> c_uint;
    fl_tick_hz() -> c_uint;
    fl_layout(c_int) -> c_uint;
    fl_node_distances(c_int, *const c_uint);
    fl_boot(c_int, *const Cpu, *const c_char);
    fl_has_feature(*const c_char) -> c_int;
    fl_feature(*const c_char, c_int);
    fl_has_tunable(*const c_char) -> c_int;
    fl_tunable(*const c_char, c_uint);
    fl_timer_resolution(c_uint);
    fl_jiffies(c_ulonglong);
    fl_frequency(c_int, c_ulong);
    fl_seed_dice(c_int, *const c_uint);
    fl_irq_time(c_int, c_ulonglong);
    fl_group_new(c_int) -> c_int;
    fl_group_shares(c_int, c_ulong) -> c_int;
    fl_group_quota(c_int, c_longlong, c_longlong, c_longlong) -> c_int;
    fl_group_idle(c_int, c_int) -> c_int;
    fl_fork(c_int, *const TaskSpec);
    fl_wake(c_int, c_uint, c_int) -> c_int;
    fl_block(c_int, c_int, c_int);
    fl_yield(c_int);
    fl_set_affinity(c_int, c_uint, *const c_ulong) -> c_int;
    fl_set_nice(c_int, c_uint, c_int);
    fl_set_policy(c_int, c_uint, *const Policy) -> c_int;
    fl_set_uclamp(c_int, c_uint, c_int, c_int) -> c_int;
    fl_move(c_int, c_uint, c_int);
    fl_interrupt(c_int, c_int);
    fl_interrupt_wake(c_int, c_uint) -> c_int;
    fl_reschedule(c_int);
    fl_stopper(c_int);
    fl_idle_enter(c_int, c_int);
    fl_idle_exit(c_int);
    fl_duty(c_int) -> c_int;
    fl_running(c_int) -> c_uint;
    fl_cpu_of(c_uint) -> c_int;
    fl_tick_is_stopped(c_int) -> c_int;
    fl_figures(c_int, *mut Figures);
    fl_task_util(c_uint, *mut c_ulong, *mut c_ulonglong);
    fl_records(*mut c_uint) -> *const Record;
    fl_count(c_ulong, c_int, c_int, c_ulong);
    fl_counts() -> *mut c_longlong;
    fl_guard(c_int, c_uint);
    fl_entering(*const c_char, c_int, c_ulonglong);
}
