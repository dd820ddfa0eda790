// SPDX-License-Identifier: GPL-2.0-or-later
//! Tasks that call exec, and the CPUs on which they continue.

use crate::common::TestRun;
use fairlab_board::preset;
use fairlab_machine::hardware::Hardware;
use fairlab_machine::observer::Observer;
use fairlab_machine::sim::{Machine, Setup};
use fairlab_sched::interface::wakeup::WakeKind;
use fairlab_sched::probe::{Event, SchedObserver};
use fairlab_sched::series::KernelSeries;
use fairlab_sched::task::Policy;
use fairlab_sched::units::Nanos;
use fairlab_workload::bench::kernel_build::KernelBuild;
use fairlab_workload::step::{Behaviour, Step};
use fairlab_workload::workload::{Affinity, Attributes, TaskSpec, Workload};

const MS: Nanos = Nanos::from_millis(1);

/// A program whose steps are executed once.
struct OneShotProgram(std::vec::IntoIter<Step>);

impl Behaviour for OneShotProgram {
    fn next(&mut self) -> Step {
        self.0.next().unwrap_or(Step::Exit)
    }
}

/// Returns a task that is bound to CPU 0 until it gets attributes of its list.
fn task(name: &str, policy: Policy, attributes: Vec<Attributes>, steps: Vec<Step>) -> TaskSpec {
    let on_first = Some(Affinity::Cpus(vec![0]));
    TaskSpec {
        name: name.to_owned(),
        family: name.to_owned(),
        start: Attributes { policy: Some(policy), affinity: on_first, ..Attributes::default() },
        attributes,
        cpuset: None,
        start_cpu: 0,
        start_at: Some(Nanos::ZERO),
        own_timers: Vec::new(),
        timer_origin: Nanos::ZERO,
        is_from_shell: false,
        is_kthread: false,
        awaits_origin: false,
        behaviour: Box::new(move |_| Box::new(OneShotProgram(steps.clone().into_iter()))),
    }
}

/// Runs two CPUs. On the first one, a task works 1 ms, may then use both CPUs, calls exec, and works 4 ms,
/// optionally beside a task that stays there. `first` is the step directly before the exec.
fn run(policy: Policy, beside: bool, first: Step) -> TestRun {
    let scenario =
        fairlab_workload::scenario::parse("two.scn", "cpus 2\nend 30ms", KernelSeries::V6_1).expect("a machine");
    let anywhere = Attributes { affinity: Some(Affinity::All), ..Attributes::default() };
    let steps = vec![Step::Run(MS), first, Step::Exec, Step::Run(Nanos(4 * MS.0))];
    let mut tasks = vec![task("program", policy, vec![anywhere], steps)];
    if beside {
        tasks.push(task("hog", Policy::Normal, Vec::new(), vec![Step::Run(Nanos(20 * MS.0))]));
    }
    let setup = Setup { workload: Workload { tasks, ..Workload::default() }, ..Setup::from_scenario(scenario) };
    crate::common::run_machine(
        Machine::new(setup).expect("a possible machine"),
        "cargo test -p fairlab-machine --test it exec",
    )
}

/// Returns the time in ms that the program ran on each CPU.
fn ran_on(run: &TestRun) -> [f64; 2] {
    [0, 1].map(|cpu| run.ran_ms("program", 0.0, 30.0, |on| on == cpu))
}

#[test]
fn a_task_that_shares_its_cpu_goes_to_the_idle_one_when_it_calls_exec_and_does_not_sleep_for_that() {
    let run = run(Policy::Normal, true, Step::SetAttributes(0));
    assert_eq!(ran_on(&run), [1.0, 4.0]);
    assert_eq!(run.runtime_ms("program"), 5.0);
    // The hog is alone once the program has left.
    let left = run.log.switches.iter().find(|switch| switch.cpu.0 == 1 && switch.task == Some(0));
    let left = left.expect("the program ran there").ms;
    assert_eq!(run.ran_ms("hog", left, left + 4.0, |_| true), 4.0);
}

#[test]
fn a_task_that_is_alone_on_its_cpu_stays_there() {
    assert_eq!(ran_on(&run(Policy::Normal, false, Step::SetAttributes(0))), [5.0, 0.0]);
}

#[test]
fn a_task_that_may_use_no_other_cpu_stays_there() {
    assert_eq!(ran_on(&run(Policy::Normal, true, Step::Mark(0))), [5.0, 0.0]);
}

#[test]
fn a_real_time_task_stays_where_it_is() {
    assert_eq!(ran_on(&run(Policy::Fifo(1), true, Step::SetAttributes(0))), [5.0, 0.0]);
}

/// Numbers of exec calls, and of those that selected another CPU.
#[derive(Debug, Default, PartialEq, Eq)]
struct ExecCounts {
    called: u32,
    sent_away: u32,
}

impl SchedObserver for ExecCounts {
    fn event(&mut self, _now: Nanos, event: &Event<'_>) {
        if let Event::WakeupDecision(decision) = event
            && decision.kind == WakeKind::Exec
        {
            self.called += 1;
            self.sent_away += u32::from(decision.cpu != decision.prev);
        }
    }
}

impl Observer for ExecCounts {}

#[test]
fn each_shell_and_each_compiler_of_a_build_calls_exec_once_where_kernel_code_takes_time_too() {
    for name in ["laptop-8", "hikey960"] {
        let setup = Setup::new(
            KernelSeries::V6_1,
            Hardware::from_description(&preset(name).expect("it is a preset")),
            KernelBuild { jobs: 12, objects: 20, seed: 3 }.workload(),
            Nanos::from_secs(5),
        );
        let mut machine = Machine::new(setup).expect("a possible machine");
        machine.check_every_event("cargo test -p fairlab-machine --test it exec");
        let mut execs = ExecCounts::default();
        machine.run(&mut execs).expect("the build makes progress");
        assert!(machine.is_done(), "{name}: the build ends");
        assert_eq!(execs.called, 40);
        assert!(execs.sent_away > 0, "{name}");
    }
}
