// SPDX-License-Identifier: GPL-2.0-or-later
//! Counts of operations, and traces of entered functions.

use super::{Object, raw};
use std::ffi::{CStr, c_int};

/// Function that is counted as an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CountedOps {
    /// Address in the object.
    pub function: u64,
    /// Number of the operation.
    pub operation: usize,
    /// Counts per call; negative if the entry corrects another one.
    pub times: i32,
    /// Address of the function that must be running for a call to count; `None` if every call counts.
    pub within: Option<u64>,
    /// Whether `within` has to be the innermost running function of those that are counted.
    pub is_direct: bool,
    /// Whether the entry does not make its functions callers of others.
    pub is_hidden: bool,
}

/// Call of fairlab into the kernel's side, with the functions that it entered.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct TracedCall {
    /// Name of the call.
    pub what: String,
    /// CPU of the call.
    pub cpu: u32,
    /// Time on the machine's clock, in nanoseconds.
    pub at_ns: u64,
    /// Functions in the order in which they were entered: nesting depth, and address in the object.
    pub functions: Vec<(u32, u64)>,
}

/// Largest number of operations that an object can count: as in `engine/host/host.c`.
pub(crate) const MAX_OPERATIONS: usize = 64;

impl Object {
    /// Sets the functions to count. They must be functions of this object, from the file that was written
    /// beside it.
    ///
    /// # Panics
    /// If an operation has a larger number than the object can count.
    pub fn set_counted_ops(&self, counted: &[CountedOps]) {
        for &CountedOps { function, operation, times, within, is_direct, is_hidden } in counted {
            assert!(operation < MAX_OPERATIONS, "operation {operation} of {MAX_OPERATIONS}");
            let within = within.unwrap_or(0);
            let [is_direct, is_hidden] = [is_direct, is_hidden].map(c_int::from);
            call!(self, fl_count(function, operation as c_int, times, within, is_direct, is_hidden));
        }
    }

    /// Makes the clock run ahead by `ns` for each such operation while a function runs, and return when it
    /// ends. The function thus measures this cost.
    pub fn measure(&self, function: u64, operation: usize, ns: u32) {
        call!(self, fl_measure(function, operation as c_int, ns));
    }

    /// Reports the counts since the last call, by operation, for those that are not 0.
    pub(crate) fn counts(&self, mut listen: impl FnMut(usize, i64)) {
        let mut which = 0;
        let counts = call!(self, fl_counts(&raw mut which));
        if which == 0 {
            return;
        }
        // SAFETY: there are MAX_OPERATIONS counts, as long as the object is loaded, and no other code reads
        // or writes them until the kernel's side is entered again, which this borrow of the object prevents.
        let counts = unsafe { std::slice::from_raw_parts_mut(counts, MAX_OPERATIONS) };
        while which != 0 {
            let operation = which.trailing_zeros() as usize;
            listen(operation, std::mem::take(&mut counts[operation]));
            which &= which - 1;
        }
    }

    /// Turns the tracing of entered functions on or off.
    pub fn trace(&self, is_wanted: bool) {
        call!(self, fl_trace(c_int::from(is_wanted)));
    }

    /// Returns the traced calls since the last call of this function.
    pub fn take_traced_calls(&self) -> Vec<TracedCall> {
        let mut nr = 0;
        let entries = call!(self, fl_called(&raw mut nr));
        if nr == 0 {
            return Vec::new();
        }
        // SAFETY: there are `nr` entries, which stay until the kernel's side is entered again, which this
        // borrow of the object prevents.
        let entries = unsafe { std::slice::from_raw_parts(entries, nr as usize) };
        let mut calls: Vec<TracedCall> = Vec::new();
        for &raw::RawTracedCall { function, depth, cpu, at, what } in entries {
            if function != 0 {
                if let Some(call) = calls.last_mut() {
                    call.functions.push((depth as u32, function));
                }
                continue;
            }
            // SAFETY: the text is the one that `set_current_call` was given, a constant of this program.
            let what: &'static CStr = unsafe { CStr::from_ptr(what) };
            let what = what.to_string_lossy().into_owned();
            calls.push(TracedCall { what, cpu: cpu as u32, at_ns: at, functions: Vec::new() });
        }
        calls
    }
}
