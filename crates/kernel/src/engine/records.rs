// SPDX-License-Identifier: GPL-2.0-or-later
//! Records of the kernel's side as events for the observer and effects for the machine.

use crate::object::{EngineRecord, Object};
use fairlab_sched::ctx::{Ctx, Effect, IpiKind, PrevState};
use fairlab_sched::ids::{CpuId, TaskId};
use fairlab_sched::probe::Event;
use fairlab_sched::units::{Capacity, Nanos};
use fairlab_sched::work::KernelOp;

/// `TASK_DEAD` of the kernel.
const TASK_DEAD: u32 = 0x80;

/// Turns one record of the kernel's side into events and effects.
pub(super) fn apply_record(
    ctx: &mut Ctx<'_>,
    object: &Object,
    pending: &mut [[bool; 2]],
    is_polling: impl Fn(u32) -> bool,
    record: EngineRecord,
) {
    match record {
        EngineRecord::Wakeup { on, cpu, task, is_new } => {
            ctx.report(Event::Wakeup { task: TaskId(task), cpu: CpuId(cpu), is_new, on: CpuId(on) });
        }
        EngineRecord::Switch { cpu, prev, next, state } => {
            let (cpu, prev, next) = (CpuId(cpu), TaskId(prev), TaskId(next));
            let prev_state = match state {
                0 => PrevState::Runnable,
                TASK_DEAD => PrevState::Dead,
                _ => PrevState::Blocked,
            };
            ctx.report(Event::Switch { cpu, prev, next, prev_state });
            ctx.charge(KernelOp::ContextSwitch);
            ctx.emit(Effect::Switch { cpu, prev, next, prev_state });
        }
        EngineRecord::Migrate { on, task, from, to } => {
            ctx.report(Event::Migrate { task: TaskId(task), from: CpuId(from), to: CpuId(to), on: CpuId(on) });
        }
        EngineRecord::Ipi { on, cpu, kind } => {
            if std::mem::replace(&mut pending[cpu as usize][kind as usize], true) {
                return;
            }
            if !is_polling(cpu) {
                ctx.charge(KernelOp::IpiSend);
            }
            let (cpu, kind) = (CpuId(cpu), if kind == 0 { IpiKind::Reschedule } else { IpiKind::CallFunction });
            ctx.report(Event::Ipi { cpu, kind, on: CpuId(on) });
            ctx.emit(Effect::SendIpi { cpu, kind });
        }
        EngineRecord::Stat { on, cpu, level, counter, idle, amount } => {
            ctx.report(Event::DomainStat { on: CpuId(on), cpu: CpuId(cpu), level, counter, idle, amount });
        }
        EngineRecord::Frequency { cpu, part } => {
            let (cpu, capacity) = (CpuId(cpu), Capacity::from(part));
            ctx.emit(Effect::SetFrequency { cpu, capacity, khz: 0 });
            ctx.report(Event::Frequency { cpu, capacity, khz: 0 });
        }
        EngineRecord::Governor { cpu, domain } => ctx.emit(Effect::WakeGovernor { cpu: CpuId(cpu), policy: domain }),
        EngineRecord::Runtime { on, task, runtime_ns } => {
            ctx.report(Event::Runtime { task: TaskId(task), on: CpuId(on), runtime: Nanos(runtime_ns) });
        }
        EngineRecord::Waking { on, cpu, task } => {
            ctx.report(Event::Waking { task: TaskId(task), cpu: CpuId(cpu), on: CpuId(on) });
        }
        EngineRecord::Priority { on, task, prio, is_inherited } => {
            ctx.report(Event::Priority { task: TaskId(task), prio, is_inherited, on: CpuId(on) });
        }
        EngineRecord::Lag { task, moment, first, nr } => {
            object.lags(task, first as usize..(first + nr) as usize, |entity, queue| {
                ctx.report(Event::Lag { moment, entity: &entity, queue: &queue });
            });
        }
        EngineRecord::Throttling { task, limit } => ctx.report(Event::Throttling { task: TaskId(task), limit }),
        EngineRecord::Timer { cpu, at } => {
            ctx.charge(KernelOp::HrtimerProgram);
            ctx.emit(Effect::ArmTimer { cpu: CpuId(cpu), at: timer_at(at) });
        }
    }
}

/// Converts an expiry. The kernel's value for "never" is the largest signed number.
pub(super) fn timer_at(at: u64) -> Nanos {
    if at >= i64::MAX as u64 { Nanos::NEVER } else { Nanos(at) }
}
