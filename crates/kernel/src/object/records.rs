// SPDX-License-Identifier: GPL-2.0-or-later
//! Records of the kernel's side: what has happened during a call.

use super::{Object, raw};
use fairlab_sched::ids::GroupId;
use fairlab_sched::interface::lag::LagMoment;
use fairlab_sched::probe::RuntimeLimit;
use fairlab_sched::topology::CpuIdleType;
use std::cell::RefCell;
use std::ffi::{CStr, c_char};

/// Record of the kernel's side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EngineRecord {
    /// Task that became runnable.
    Wakeup { on: u32, cpu: u32, task: u32, is_new: bool },
    /// Context switch of a CPU. The state is that of `prev`.
    Switch { cpu: u32, prev: u32, next: u32, state: u32 },
    /// Task moved to another CPU.
    Migrate { on: u32, task: u32, from: u32, to: u32 },
    /// Interrupt was sent: to reschedule (kind 0), or for the call function queue (kind 1).
    Ipi { on: u32, cpu: u32, kind: u32 },
    /// Counter of a sched domain was increased.
    Stat { on: u32, cpu: u32, level: u32, counter: &'static str, idle: Option<CpuIdleType>, amount: i64 },
    /// Timer of a CPU was programmed.
    Timer { cpu: u32, at: u64 },
    /// The tree's schedutil has changed the frequency of a CPU: share of the highest, of 1024.
    Frequency { cpu: u32, part: u64 },
    /// The tree's schedutil wakes its thread for a frequency domain.
    Governor { cpu: u32, domain: u32 },
    /// Task was charged for run time.
    Runtime { on: u32, task: u32, runtime_ns: u64 },
    /// Sleeping task is about to be woken; `cpu` is where it was.
    Waking { on: u32, cpu: u32, task: u32 },
    /// Priority of a task was set.
    Priority { on: u32, task: u32, prio: i32, is_inherited: bool },
    /// Virtual times of a task and the groups above it: places for [`Object::lags`].
    Lag { task: u32, moment: LagMoment, first: u32, nr: u32 },
    /// Limit whose runtime a task waits for has changed.
    Throttling { task: u32, limit: Option<RuntimeLimit> },
}

impl Object {
    /// Reports the records since the last call, in order.
    pub(crate) fn drain_records(&self, mut listen: impl FnMut(EngineRecord)) {
        let mut nr = 0;
        let records = call!(self, fl_records(&raw mut nr));
        if nr == 0 {
            return;
        }
        // SAFETY: there are `nr` records, which stay until the kernel's side is entered again, which this
        // borrow of the object prevents.
        let records = unsafe { std::slice::from_raw_parts(records, nr as usize) };
        for record in records {
            listen(to_record(record, &self.counter_names));
        }
    }
}

/// Names of counters by the addresses of their expressions, which are constants of the object. Each slot keeps the
/// last expression that belongs there, since a run reports few expressions often.
#[derive(Debug)]
pub(super) struct CounterNames([(usize, &'static str); NR_NAME_SLOTS]);

/// Number of slots; the expressions of a tree are about 60.
const NR_NAME_SLOTS: usize = 256;

impl Default for CounterNames {
    fn default() -> Self {
        Self([(0, ""); NR_NAME_SLOTS])
    }
}

impl CounterNames {
    #[inline]
    fn name_of(&mut self, expression: *const c_char) -> &'static str {
        let address = expression.addr();
        let slot = &mut self.0[(address / 8) % NR_NAME_SLOTS];
        if slot.0 != address {
            // SAFETY: the text is a constant of the object, which is never unloaded.
            let text: &'static CStr = unsafe { CStr::from_ptr(expression) };
            *slot = (address, counter_name(text.to_str().unwrap_or_default()));
        }
        slot.1
    }
}

fn to_record(record: &raw::RawRecord, names: &RefCell<CounterNames>) -> EngineRecord {
    let &raw::RawRecord { kind, on, cpu, task, a, b, text } = record;
    match kind {
        raw::WAKEUP => EngineRecord::Wakeup { on, cpu, task, is_new: a != 0 },
        raw::SWITCH => EngineRecord::Switch { cpu, prev: task, next: a as u32, state: record.b as u32 },
        raw::MIGRATE => EngineRecord::Migrate { on, task, from: cpu, to: a as u32 },
        raw::IPI => EngineRecord::Ipi { on, cpu, kind: a as u32 },
        raw::STAT => {
            let counter = names.borrow_mut().name_of(text);
            let idle = usize::try_from(b - 1).ok().map(|place| CpuIdleType::ALL[place]);
            EngineRecord::Stat { on, cpu, level: task, counter, idle, amount: a }
        }
        raw::TIMER => EngineRecord::Timer { cpu, at: a as u64 },
        raw::FREQUENCY => EngineRecord::Frequency { cpu, part: a as u64 },
        raw::GOVERNOR => EngineRecord::Governor { cpu, domain: task },
        raw::RUNTIME => EngineRecord::Runtime { on, task, runtime_ns: a as u64 },
        raw::WAKING => EngineRecord::Waking { on, cpu, task },
        raw::PRIO => EngineRecord::Priority { on, task, prio: a as i32, is_inherited: b != 0 },
        raw::LAG => {
            let moment = [LagMoment::Wakeup, LagMoment::SwitchFrom, LagMoment::SwitchTo][cpu as usize];
            EngineRecord::Lag { task, moment, first: a as u32, nr: b as u32 }
        }
        raw::THROTTLING => EngineRecord::Throttling { task, limit: runtime_limit(a) },
        other => unreachable!("records have thirteen kinds, not {other}"),
    }
}

fn runtime_limit(number: i64) -> Option<RuntimeLimit> {
    match number {
        raw::NO_LIMIT => None,
        raw::REAL_TIME_LIMIT => Some(RuntimeLimit::RealTime),
        raw::DEADLINE_LIMIT => Some(RuntimeLimit::Deadline),
        group => Some(RuntimeLimit::Quota(GroupId(group as u32))),
    }
}

/// Returns the name of a counter: `lb_count` for the expression `env->sd->lb_count[env->idle]`.
fn counter_name(expression: &'static str) -> &'static str {
    let counter = expression.split('[').next().unwrap_or(expression);
    counter.rsplit_once("->").map_or(counter, |(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::counter_name;

    #[test]
    fn counters_have_the_name_of_their_field() {
        assert_eq!(counter_name("sd->lb_count[idle]"), "lb_count");
        assert_eq!(counter_name("env->sd->lb_gained[env->idle]"), "lb_gained");
        assert_eq!(counter_name("sd->alb_pushed"), "alb_pushed");
    }
}
