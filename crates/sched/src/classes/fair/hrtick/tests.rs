// SPDX-License-Identifier: GPL-2.0-or-later
use crate::interface::ctx::IpiKind;
use crate::state::timers::Timer;
use crate::test_machine::flat;
use crate::types::ids::CpuId;

#[test]
fn the_slice_timer_of_another_cpu_is_armed_there_when_it_hears_of_it() {
    let mut machine = flat(2);
    let is_armed =
        |machine: &crate::test_machine::TestMachine| machine.sched.rqs[CpuId(1)].timers.is_active(Timer::Hrtick);
    machine.on(0, |sched, ctx| sched.hrtick_start(ctx, CpuId(1), 1_000_000));
    assert!(!is_armed(&machine));
    machine.on(1, |sched, ctx| sched.handle_ipi(ctx, IpiKind::CallFunction));
    assert!(is_armed(&machine));
}
