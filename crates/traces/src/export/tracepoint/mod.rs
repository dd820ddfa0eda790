// SPDX-License-Identifier: GPL-2.0-or-later
//! Tracepoints that traces contain, as the kernel describes them: name, fields, and print format.
//!
//! A tracepoint is one entry of [`TRACEPOINTS`]. Its encoding ([`encode`]), its text ([`text`]) and its
//! format file ([`format`](self::format)) follow from the entry and from the values that a record has for it
//! ([`values`]). Events of LISA's kernel module have LISA's names.

pub mod encode;
pub mod format;
#[cfg(test)]
mod tests;
pub mod text;
pub mod values;

use super::thread::COMM_LEN;

/// Data type of a field.
#[expect(missing_docs, reason = "the variants are named after the C types")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldKind {
    Comm,
    Pid,
    Int,
    Short,
    U32,
    U64,
    /// Task state (`long`), printed as letters.
    State,
    /// CPU mask of variable length, stored after the fields.
    Mask,
    /// Kernel string, stored as its address.
    Reason,
    Address,
    /// Text of variable length at the end of the event.
    Text,
}

impl FieldKind {
    /// Returns the size in bytes and the alignment within the event.
    pub const fn size(self) -> (usize, usize) {
        match self {
            Self::Comm => (COMM_LEN, 1),
            Self::Pid | Self::Int | Self::U32 | Self::Mask => (4, 4),
            Self::Short => (2, 2),
            Self::U64 | Self::State | Self::Reason | Self::Address => (8, 8),
            Self::Text => (0, 1),
        }
    }
}

/// Declares the tracepoints once: system, name, fields and print format.
macro_rules! tracepoints {
    ($($tracepoint:ident $system:literal $name:literal [$($kind:ident $field:literal),*] $template:literal)*) => {
        /// Tracepoint of the kernel or of LISA's module.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Tracepoint {
            $(#[doc = $name] $tracepoint,)*
        }

        /// Definitions of all tracepoints, in the order of the enum.
        pub const TRACEPOINTS: &[TracepointDefinition] = &[
            $(TracepointDefinition {
                tracepoint: Tracepoint::$tracepoint,
                system: $system,
                name: $name,
                fields: &[$((FieldKind::$kind, $field)),*],
                template: $template,
            },)*
        ];
    };
}

/// Definition of a tracepoint.
#[expect(missing_docs, reason = "the field names describe their content")]
#[derive(Clone, Copy, Debug)]
pub struct TracepointDefinition {
    pub tracepoint: Tracepoint,
    /// Directory of the event in tracefs.
    pub system: &'static str,
    pub name: &'static str,
    /// Fields after the common ones, in order.
    pub fields: &'static [(FieldKind, &'static str)],
    /// Print format: C's conversions, one for each field, in the order of the fields.
    pub template: &'static str,
}

impl Tracepoint {
    /// Returns the definition of the tracepoint.
    #[inline]
    pub const fn definition(self) -> &'static TracepointDefinition {
        &TRACEPOINTS[self as usize]
    }

    /// Returns the event type number in files. Some readers rely on the kernel's number of `print`.
    pub const fn id(self) -> u16 {
        match self {
            Self::Print => 5,
            _ => 300 + self as u16,
        }
    }
}

tracepoints! {
    Switch "sched" "sched_switch"
        [Comm "prev_comm", Pid "prev_pid", Int "prev_prio", State "prev_state", Comm "next_comm", Pid "next_pid", Int "next_prio"]
        "prev_comm=%s prev_pid=%d prev_prio=%d prev_state=%s ==> next_comm=%s next_pid=%d next_prio=%d"
    Waking "sched" "sched_waking" [Comm "comm", Pid "pid", Int "prio", Int "target_cpu"]
        "comm=%s pid=%d prio=%d target_cpu=%03d"
    Wakeup "sched" "sched_wakeup" [Comm "comm", Pid "pid", Int "prio", Int "target_cpu"]
        "comm=%s pid=%d prio=%d target_cpu=%03d"
    WakeupNew "sched" "sched_wakeup_new" [Comm "comm", Pid "pid", Int "prio", Int "target_cpu"]
        "comm=%s pid=%d prio=%d target_cpu=%03d"
    Migrate "sched" "sched_migrate_task" [Comm "comm", Pid "pid", Int "prio", Int "orig_cpu", Int "dest_cpu"]
        "comm=%s pid=%d prio=%d orig_cpu=%d dest_cpu=%d"
    Fork "sched" "sched_process_fork" [Comm "parent_comm", Pid "parent_pid", Comm "child_comm", Pid "child_pid"]
        "comm=%s pid=%d child_comm=%s child_pid=%d"
    Exit "sched" "sched_process_exit" [Comm "comm", Pid "pid", Int "prio"]
        "comm=%s pid=%d prio=%d"
    Setprio "sched" "sched_pi_setprio" [Comm "comm", Pid "pid", Int "oldprio", Int "newprio"]
        "comm=%s pid=%d oldprio=%d newprio=%d"
    StatRuntime "sched" "sched_stat_runtime" [Comm "comm", Pid "pid", U64 "runtime"]
        "comm=%s pid=%d runtime=%Lu [ns]"
    StatWait "sched" "sched_stat_wait" [Comm "comm", Pid "pid", U64 "delay"]
        "comm=%s pid=%d delay=%Lu [ns]"
    Rename "task" "task_rename" [Pid "pid", Comm "oldcomm", Comm "newcomm", Short "oom_score_adj"]
        "pid=%d oldcomm=%s newcomm=%s oom_score_adj=%hd"
    Idle "power" "cpu_idle" [U32 "state", U32 "cpu_id"]
        "state=%lu cpu_id=%lu"
    Frequency "power" "cpu_frequency" [U32 "state", U32 "cpu_id"]
        "state=%lu cpu_id=%lu"
    Ipi "ipi" "ipi_raise" [Mask "target_cpus", Reason "reason"]
        "target_mask=%s (%s)"
    PeltCfs "lisa" "lisa__sched_pelt_cfs"
        [Int "cpu", Comm "path", U64 "load", U64 "rbl_load", U64 "util", U64 "update_time"]
        "cpu=%d path=%s load=%llu rbl_load=%llu util=%llu update_time=%llu"
    PeltSe "lisa" "lisa__sched_pelt_se"
        [Int "cpu", Comm "path", Comm "comm", Pid "pid", U64 "load", U64 "rbl_load", U64 "util", U64 "update_time"]
        "cpu=%d path=%s comm=%s pid=%d load=%llu rbl_load=%llu util=%llu update_time=%llu"
    UtilEstSe "lisa" "lisa__sched_util_est_se"
        [Int "cpu", Comm "path", Comm "comm", Pid "pid", U32 "enqueued", U32 "ewma", U64 "util"]
        "cpu=%d path=%s comm=%s pid=%d enqueued=%lu ewma=%lu util=%llu"
    UpdateNrRunning "lisa" "lisa__sched_update_nr_running" [Int "cpu", Int "change", U32 "nr_running"]
        "cpu=%d change=%d nr_running=%lu"
    CpuCapacity "lisa" "lisa__sched_cpu_capacity" [Int "cpu", U64 "capacity"]
        "cpu=%d capacity=%llu"
    Print "ftrace" "print" [Address "ip", Text "buf"]
        "%ps: %s"
}
