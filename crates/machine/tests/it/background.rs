// SPDX-License-Identifier: GPL-2.0-or-later
//! Background threads: timers wake them, and deferrable timers only where a CPU ticks.

use fairlab_machine::observer::Observer;
use fairlab_machine::sim::{Machine, START, Setup};
use fairlab_sched::ids::{CpuId, TaskId};
use fairlab_sched::probe::{Event, SchedObserver};
use fairlab_sched::series::KernelSeries;
use fairlab_sched::units::Nanos;
use fairlab_workload::background::{BackgroundPlacement, BackgroundSource};
use fairlab_workload::scenario;

/// Wake-ups: time since the start in us, task, and CPU.
#[derive(Default)]
struct WakeupLog(Vec<(u64, TaskId, CpuId)>);

impl SchedObserver for WakeupLog {
    fn event(&mut self, now: Nanos, event: &Event<'_>) {
        if let Event::Wakeup { task, cpu, .. } = *event {
            self.0.push(((now - START).0 / 1000, task, cpu));
        }
    }
}

impl Observer for WakeupLog {}

fn source(placement: BackgroundPlacement, is_deferrable: bool) -> BackgroundSource {
    let (interval, work) = (Nanos::from_millis(10), Nanos::from_micros(3));
    BackgroundSource { family: "kworker".to_owned(), placement, interval, work, is_deferrable }
}

/// Runs a scenario for 1 s with a background; returns the machine and the wake-ups of its threads.
fn run(scenario: &str, background: Vec<BackgroundSource>, seed: u64) -> (Machine, Vec<(u64, String, u32)>) {
    let text = format!("cpus 4\nend 1000ms\n{scenario}");
    let mut setup = Setup::from_scenario(
        scenario::parse("test.scn", &text, KernelSeries::V6_1).unwrap_or_else(|error| panic!("{error}")),
    );
    setup.workload.background = background;
    let mut machine = Machine::new(setup).expect("a possible machine");
    machine.seed(seed);
    machine.check_every_event("a test of the background");
    let mut log = WakeupLog::default();
    machine.run(&mut log).unwrap_or_else(|error| panic!("{error}"));
    let thread = |id| machine.tasks().iter().find(|task| task.id == Some(id) && task.name.starts_with("kworker"));
    let named = |&(at, id, cpu): &(u64, TaskId, CpuId)| Some((at, thread(id)?.name.clone(), cpu.0));
    let of_background = log.0.iter().filter_map(named).collect();
    (machine, of_background)
}

const BUSY: &str = "task busy cpu=1 mask=1-1 run 2s\n";

#[test]
fn a_plain_timer_wakes_its_thread_every_interval_on_an_idle_cpu() {
    let (machine, wakeups) = run("", vec![source(BackgroundPlacement::Bound(vec![6]), false)], 1);
    assert!((99..=100).contains(&wakeups.len()), "{}", wakeups.len());
    assert!(wakeups.iter().all(|(_, name, cpu)| name == "kworker/2:0" && *cpu == 2));
    assert!(wakeups.windows(2).all(|pair| pair[1].0 - pair[0].0 == 10_000), "{wakeups:?}");
    let thread = machine.tasks().iter().find(|task| task.name == "kworker/2:0").expect("it was needed");
    assert_eq!(thread.runtime_ns, 3000 * wakeups.len() as i64);
}

#[test]
fn a_deferrable_timer_waits_for_the_next_tick_of_its_cpu() {
    let background = || vec![source(BackgroundPlacement::EachCpu, true)];
    let (_, wakeups) = run(BUSY, background(), 1);
    // CPU 1 is busy and ticks every 4 ms. An interval of 10 ms from a tick ends before the third tick after it.
    let of_busy: Vec<u64> = wakeups.iter().filter(|wakeup| wakeup.2 == 1).map(|wakeup| wakeup.0).collect();
    assert!(of_busy.len() > 80 && of_busy.windows(2).all(|pair| pair[1] - pair[0] == 12_000), "{of_busy:?}");
    // The others tick only until they have gone idle.
    assert!(wakeups.iter().filter(|wakeup| wakeup.2 != 1).count() <= 3, "{wakeups:?}");
}

#[test]
fn the_seed_decides_the_first_expiry_and_a_thread_exists_once_it_is_woken() {
    let first = |seed| run("", vec![source(BackgroundPlacement::Free(vec![3]), false)], seed).1[0].0;
    assert_eq!(first(1), first(1));
    assert!(first(1) != first(2) && first(1) < 10_000 && first(2) < 10_000);
    let mut late = source(BackgroundPlacement::EachCpu, false);
    late.interval = Nanos::from_secs(1_000_000);
    let (machine, wakeups) = run(BUSY, vec![late], 1);
    assert_eq!((machine.tasks().len(), wakeups.len()), (1, 0));
}

#[test]
fn a_timer_of_an_offline_cpu_waits_until_the_cpu_is_back() {
    let text = "offline 200ms 2\nonline 600ms 2\n";
    let (_, wakeups) = run(text, vec![source(BackgroundPlacement::Bound(vec![2]), false)], 1);
    assert!(wakeups.iter().all(|(at, ..)| !(200_000..600_000).contains(at)), "{wakeups:?}");
    assert!(wakeups.iter().any(|(at, ..)| *at > 600_000));
}
