// SPDX-License-Identifier: GPL-2.0-or-later
//! Mirror of `engine/arch/include/asm/fairlab.h`: structures and functions with their C types.

use std::ffi::{c_char, c_int, c_long, c_longlong, c_uint, c_ulong, c_ulonglong};

/// Record of the kernel's side.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct RawRecord {
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
pub(crate) const FREQUENCY: c_uint = 6;
pub(crate) const GOVERNOR: c_uint = 7;
pub(crate) const RUNTIME: c_uint = 8;
pub(crate) const WAKING: c_uint = 9;
pub(crate) const PRIO: c_uint = 10;
pub(crate) const LAG: c_uint = 11;
pub(crate) const THROTTLING: c_uint = 12;

/// Limits of `THROTTLING` records that are no group.
pub(crate) const NO_LIMIT: c_longlong = 0;
pub(crate) const REAL_TIME_LIMIT: c_longlong = -1;
pub(crate) const DEADLINE_LIMIT: c_longlong = -2;

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct RawCpu {
    pub(crate) core: c_int,
    pub(crate) cluster: c_int,
    pub(crate) llc: c_int,
    pub(crate) package: c_int,
    pub(crate) node: c_int,
    pub(crate) capacity: c_uint,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RawPolicy {
    pub(crate) policy: c_int,
    pub(crate) priority: c_int,
    pub(crate) reclaims: c_int,
    pub(crate) is_governor: c_int,
    pub(crate) runtime: c_longlong,
    pub(crate) deadline: c_longlong,
    pub(crate) period: c_longlong,
}

#[repr(C)]
#[derive(Debug)]
pub(crate) struct RawFrequencyDomain {
    pub(crate) nr_cpus: c_uint,
    pub(crate) nr_points: c_uint,
    pub(crate) rate_limit_us: c_uint,
    pub(crate) holds_when_busy: c_uint,
    pub(crate) sleeps: c_uint,
    pub(crate) skips_inefficient: c_uint,
    pub(crate) fixed_khz: c_uint,
    pub(crate) cpus: *const c_uint,
    pub(crate) khz: *const c_uint,
    pub(crate) uw: *const c_uint,
}

#[repr(C)]
#[derive(Debug)]
pub(crate) struct RawTaskSpec {
    pub(crate) id: c_uint,
    pub(crate) pid: c_int,
    pub(crate) nice: c_int,
    pub(crate) group: c_int,
    pub(crate) policy: RawPolicy,
    pub(crate) uclamp_min: c_int,
    pub(crate) uclamp_max: c_int,
    pub(crate) slice: c_ulonglong,
    pub(crate) mask: *const c_ulong,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RawNohz {
    pub(crate) nr_cpus: c_uint,
    pub(crate) has_blocked: c_uint,
    pub(crate) needs_update: c_uint,
    pub(crate) next_balance: c_longlong,
    pub(crate) next_blocked: c_longlong,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RawLlc {
    pub(crate) is_first: c_uint,
    pub(crate) size: c_uint,
    pub(crate) has_idle_cores: c_uint,
    pub(crate) nr_idle_scan: c_int,
    pub(crate) nr_busy_cpus: c_int,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RawAvg {
    pub(crate) last_update_time: c_ulonglong,
    pub(crate) load_sum: c_ulonglong,
    pub(crate) runnable_sum: c_ulonglong,
    pub(crate) util_sum: c_uint,
    pub(crate) period_contrib: c_uint,
    pub(crate) load_avg: c_ulong,
    pub(crate) runnable_avg: c_ulong,
    pub(crate) util_avg: c_ulong,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RawRq {
    pub(crate) nr_running: c_uint,
    pub(crate) h_nr_running: c_uint,
    pub(crate) curr: c_uint,
    pub(crate) frequency: c_uint,
    pub(crate) util_avg: c_ulong,
    pub(crate) runnable_avg: c_ulong,
    pub(crate) load_avg: c_ulong,
    pub(crate) cpu_capacity: c_ulong,
    pub(crate) misfit_task_load: c_ulong,
    pub(crate) clock: c_ulonglong,
    pub(crate) clock_pelt: c_ulonglong,
    pub(crate) lost_idle_time: c_ulonglong,
    pub(crate) min_vruntime: c_ulonglong,
    pub(crate) avg_idle: c_ulonglong,
    pub(crate) next_balance: c_longlong,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RawTask {
    pub(crate) cpu: c_uint,
    pub(crate) on_rq: c_uint,
    pub(crate) avg: RawAvg,
    pub(crate) vruntime: c_ulonglong,
    pub(crate) sum_exec_runtime: c_ulonglong,
    pub(crate) util_est: c_ulonglong,
}

pub(crate) const MAX_DOMAINS: usize = 16;

#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RawDomain {
    pub(crate) name: [c_char; 16],
    pub(crate) nr_balance_failed: c_uint,
    pub(crate) cache_nice_tries: c_uint,
    pub(crate) imbalance_pct: c_uint,
    pub(crate) level: c_uint,
    pub(crate) lb: [[c_uint; 7]; 3],
    pub(crate) alb: [c_uint; 3],
    pub(crate) sb: [c_uint; 2],
    pub(crate) ttwu: [c_uint; 3],
    pub(crate) balance_interval: c_uint,
    pub(crate) imb_numa_nr: c_uint,
    pub(crate) max_newidle_lb_cost: c_ulonglong,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RawSchedstat {
    pub(crate) calls: [c_uint; 5],
    pub(crate) nr_domains: c_uint,
    pub(crate) times: [c_ulonglong; 3],
    pub(crate) domains: [RawDomain; MAX_DOMAINS],
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct RawFeature {
    pub(crate) name: *const c_char,
    pub(crate) on: c_int,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct RawTunable {
    pub(crate) name: *const c_char,
    pub(crate) value: c_longlong,
    pub(crate) min: c_longlong,
    pub(crate) max: c_longlong,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RawLag {
    pub(crate) cpu: c_uint,
    pub(crate) is_task: c_uint,
    pub(crate) depth: c_uint,
    pub(crate) on_rq: c_uint,
    pub(crate) delayed: c_uint,
    pub(crate) has_relative_deadline: c_uint,
    pub(crate) has_custom_slice: c_uint,
    pub(crate) weight: c_ulong,
    pub(crate) vruntime: c_longlong,
    pub(crate) deadline: c_longlong,
    pub(crate) vlag: c_longlong,
    pub(crate) slice: c_ulonglong,
    pub(crate) nr_queued: c_uint,
    pub(crate) h_nr_queued: c_uint,
    pub(crate) h_nr_runnable: c_uint,
    pub(crate) sum_weight: c_ulonglong,
    pub(crate) zero_vruntime: c_longlong,
    pub(crate) sum_w_vruntime: c_longlong,
    pub(crate) avg_vruntime: c_longlong,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RawBandwidth {
    pub(crate) quota: c_longlong,
    pub(crate) period: c_ulonglong,
    pub(crate) burst: c_ulonglong,
    pub(crate) nr_periods: c_ulonglong,
    pub(crate) nr_throttled: c_ulonglong,
    pub(crate) throttled_time: c_ulonglong,
    pub(crate) nr_burst: c_ulonglong,
    pub(crate) burst_time: c_ulonglong,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct RawClock {
    pub(crate) now: c_ulonglong,
    pub(crate) ahead: c_ulonglong,
    pub(crate) newidle_cost: c_ulonglong,
}

/// Function that was entered, or a call of fairlab (`function` is 0).
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct RawTracedCall {
    pub(crate) function: c_ulong,
    pub(crate) depth: c_int,
    pub(crate) cpu: c_int,
    pub(crate) at: c_ulonglong,
    pub(crate) what: *const c_char,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RawYield {
    pub(crate) why: c_int,
    pub(crate) cpu: c_int,
    pub(crate) call: c_int,
    pub(crate) mark: c_int,
    pub(crate) is_search: c_int,
    pub(crate) irqs_off: c_int,
    pub(crate) in_softirq: c_int,
    pub(crate) nr: c_uint,
}

/// Result of a call that has yielded.
pub(crate) const YIELDED: c_long = -1;

/// Sizes of the structures, in the order of `fl_layout()`.
pub(crate) const SIZES: [usize; 17] = [
    size_of::<RawRecord>(),
    size_of::<RawCpu>(),
    size_of::<RawPolicy>(),
    size_of::<RawTaskSpec>(),
    size_of::<RawClock>(),
    size_of::<RawNohz>(),
    size_of::<RawLlc>(),
    size_of::<RawRq>(),
    size_of::<RawTask>(),
    size_of::<RawSchedstat>(),
    size_of::<RawFrequencyDomain>(),
    size_of::<RawTracedCall>(),
    size_of::<RawYield>(),
    size_of::<RawFeature>(),
    size_of::<RawTunable>(),
    size_of::<RawLag>(),
    size_of::<RawBandwidth>(),
];

/// Declares the table of functions, and the lookup of each.
macro_rules! functions {
    ($($name:ident($($arg:ty),*) $(-> $ret:ty)?;)*) => {
        /// Functions of an object.
        pub(crate) struct Functions {
            $(pub(crate) $name: unsafe extern "C" fn($($arg),*) $(-> $ret)?,)*
        }

        impl Functions {
            /// Looks up all functions.
            ///
            /// # Safety
            /// The library must have been linked from this crate's own files, whose functions have these
            /// types, and must never be unloaded.
            pub(crate) unsafe fn find(library: &libloading::Library) -> Result<Self, libloading::Error> {
                Ok(Self {
                    // SAFETY: the caller guarantees the type of each.
                    $($name: *unsafe { library.get(concat!(stringify!($name), "\0").as_bytes()) }?,)*
                })
            }
        }
    };
}

functions! {
    fl_set_clock(*const RawClock);
    fl_report_runtimes();
    fl_report_lags();
    fl_lags() -> *const RawLag;
    fl_forget_lags();
    fl_ahead() -> c_ulonglong;
    fl_max_cpus() -> c_uint;
    fl_tick_hz() -> c_uint;
    fl_layout(c_int) -> c_uint;
    fl_node_distances(c_int, *const c_uint);
    fl_frequency_domain(*const RawFrequencyDomain);
    fl_boot(c_int, *const RawCpu, *const c_char);
    fl_features(*mut c_uint) -> *const RawFeature;
    fl_set_feature(*const c_char, c_int) -> c_int;
    fl_tunables(*mut c_uint) -> *const RawTunable;
    fl_set_tunable(c_int, *const c_char, c_longlong) -> c_int;
    fl_has_group_file(*const c_char) -> c_int;
    fl_timer_resolution(c_uint);
    fl_jiffies(c_ulonglong);
    fl_frequency(c_int, c_ulong);
    fl_seed_dice(c_int, *const c_uint);
    fl_irq_time(c_int, c_ulonglong);
    fl_steal(c_int, c_ulonglong);
    fl_limit(c_int, c_int, c_int, c_ulong);
    fl_exit_latency(c_int, c_longlong);
    fl_skips_inefficient() -> c_int;
    fl_begin_transition(c_uint) -> c_uint;
    fl_end_transition(c_uint, c_uint);
    fl_group_new(c_int, c_int) -> c_int;
    fl_group_shares(c_int, c_int, c_ulong) -> c_int;
    fl_group_quota(c_int, c_int, c_longlong, c_longlong, c_longlong) -> c_int;
    fl_group_idle(c_int, c_int, c_int) -> c_int;
    fl_first_clamps(c_int);
    fl_group_uclamp(c_int, c_int, c_int) -> c_int;
    fl_cpuset_new(*const c_ulong) -> c_int;
    fl_cpuset_cpus(c_uint, *const c_ulong);
    fl_cpuset_update(c_uint) -> c_int;
    fl_cpuset_follow(c_int, c_uint);
    fl_cpuset_of(c_uint) -> c_uint;
    fl_cpuset_note(c_uint, c_uint);
    fl_cpuset_limit(c_uint, *mut c_ulong);
    fl_offline(c_int, c_int) -> c_int;
    fl_online(c_int, c_int);
    fl_is_online(c_int) -> c_int;
    fl_is_active(c_int) -> c_int;
    fl_fork(c_int, *const RawTaskSpec);
    fl_waiter_prio(c_uint) -> c_int;
    fl_deadline(c_uint) -> c_ulonglong;
    fl_inherit(c_int, c_uint, c_int);
    fl_set_affinity(c_int, c_uint, *const c_ulong) -> c_int;
    fl_set_nice(c_int, c_uint, c_int);
    fl_set_policy(c_int, c_uint, *const RawPolicy) -> c_int;
    fl_has_slices() -> c_int;
    fl_set_slice(c_int, c_uint, c_ulonglong) -> c_int;
    fl_has_fair_servers() -> c_int;
    fl_set_fair_server(c_int, c_int, c_ulonglong, c_ulonglong) -> c_int;
    fl_set_uclamp(c_int, c_uint, c_int, c_int) -> c_int;
    fl_uclamp(c_uint) -> c_uint;
    fl_spans_domain(c_uint) -> c_int;
    fl_move(c_int, c_uint, c_int);
    fl_set_leaving(c_uint);
    fl_begin(c_int, c_int, c_uint, c_uint) -> c_long;
    fl_resume(c_int) -> c_long;
    fl_paused(c_int, *mut RawYield) -> c_int;
    fl_phase_over(c_int);
    fl_keeps_lock(c_int, c_int) -> c_int;
    fl_grant(c_int, c_int);
    fl_ready() -> c_int;
    fl_deadlock(c_int);
    fl_is_asleep(c_uint) -> c_int;
    fl_awaited_stopper(c_int);
    fl_wake_idle(c_int);
    fl_idle_exit(c_int);
    fl_leaving();
    fl_duty(c_int) -> c_int;
    fl_running(c_int) -> c_uint;
    fl_cpu_of(c_uint) -> c_int;
    fl_tick_is_stopped(c_int) -> c_int;
    fl_show_nohz(*mut RawNohz);
    fl_show_llc(c_int, *mut RawLlc);
    fl_show_rq(c_int, *mut RawRq);
    fl_show_task(c_uint, *mut RawTask);
    fl_show_schedstat(c_int, *mut RawSchedstat);
    fl_show_lag(c_uint, *mut RawLag) -> c_int;
    fl_show_queue_lag(c_int, *mut RawLag) -> c_int;
    fl_show_bandwidth(c_int, *mut RawBandwidth) -> c_int;
    fl_records(*mut c_uint) -> *const RawRecord;
    fl_count(c_ulong, c_int, c_int, c_ulong, c_int, c_int);
    fl_measure(c_ulong, c_int, c_uint);
    fl_mark(c_ulong, c_int);
    fl_count_as_look(c_int);
    fl_counts(*mut c_ulonglong) -> *mut c_longlong;
    fl_trace(c_int);
    fl_called(*mut c_uint) -> *const RawTracedCall;
    fl_guard(c_int, c_uint);
    fl_entering(*const c_char, c_int, c_ulonglong);
}
