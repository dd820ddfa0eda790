// SPDX-License-Identifier: GPL-2.0-or-later
//! Debian's 6.1 as an engine, and the edits of the regression corpus in 6.1 and 6.12. Without these trees or a
//! compiler the tests are ignored; FAIRLAB_KERNEL_TREE names another tree in place of 6.1.

mod common;

use common::requirement::{self, named};
use common::{ENGINE, NEWER_SOURCE, NEWER_TREE, SOURCE, kept, object, tree};
use fairlab_kernel::costs::CostPlan;
use fairlab_kernel::engine::KernelEngine;
use fairlab_kernel::regressions;
use fairlab_kernel::tree::TreeSource;
use fairlab_machine::engine::Engine as _;
use fairlab_machine::observer::NoObserver;
use fairlab_machine::sim::{Machine, Setup, SetupError};
use fairlab_sched::series::KernelSeries;
use fairlab_workload::message::Message;
use fairlab_workload::scenario;
use std::collections::BTreeMap;
use std::process::ExitCode;

const SCENARIO: &str = "cpus 4\nend 100ms\ngroup g shares=512\ntask hog n=3 run 5ms\ntask nap n=4 group=g runr 100us 900us sleepr 1ms 3ms\n\
                        task ping n=2 run 50us wake pong wait\ntask pong n=2 wait run 30us wake ping\n";

fn setup() -> Setup {
    let scenario = scenario::parse("test", SCENARIO, KernelSeries::V6_1);
    Setup::from_scenario(scenario.unwrap_or_else(|error| panic!("{error}")))
}

fn the_edits_of_all_regressions_of_6_1_fit_the_tree() {
    apply_edits("6.1", &tree());
}

fn the_edits_of_all_regressions_of_6_12_fit_the_tree() {
    apply_edits("6.12", NEWER_TREE);
}

/// Applies each bug's edits to the files of a tree. Nothing is built.
fn apply_edits(release: &str, source: &str) {
    let kept = kept();
    let source = TreeSource::parse(source).unwrap_or_else(|error| panic!("{error}"));
    std::fs::create_dir_all(&kept).expect("a folder");
    let tree = source.folder(&kept).unwrap_or_else(|error| panic!("{error}"));
    let bugs = regressions::bugs().into_iter().filter(|bug| bug.label.kernel == release).collect::<Vec<_>>();
    assert!(!bugs.is_empty(), "{release}");
    for bug in bugs {
        let mut texts = BTreeMap::new();
        for edit in &bug.label.edits {
            let path = tree.join("kernel/sched").join(&edit.file);
            let text = texts.remove(&edit.file).unwrap_or_else(|| std::fs::read_to_string(&path).expect("it is there"));
            let edited = edit.apply(&text).unwrap_or_else(|misfit| panic!("{}: {}: {misfit}", bug.name, edit.file));
            assert_ne!(edited, text, "{}", bug.name);
            texts.insert(edit.file.clone(), edited);
        }
    }
}

/// A process can load only one object, so a single test does all that needs one.
fn the_kernel_boots_runs_under_the_machine_and_decides_as_the_built_in_scheduler() {
    let object = object();
    let plan = CostPlan::of_objects(&[&object], 0).expect("the files beside the object");
    let load = |config| {
        KernelEngine::load(&object, &plan, config, 2, 10)
            .map_err(|error| SetupError::Unsupported(Message::new(error.to_string())))
    };
    let mut kernel = Machine::with_engine(setup(), load).unwrap_or_else(|error| panic!("{error}"));
    let mut built_in = Machine::new(setup()).unwrap_or_else(|error| panic!("{error}"));
    kernel.run(&mut NoObserver).unwrap_or_else(|error| panic!("{error}"));
    built_in.run(&mut NoObserver).unwrap_or_else(|error| panic!("{error}"));
    assert!(kernel.counters().switches > 100, "{:?}", kernel.counters());
    assert_eq!(kernel.counters(), built_in.counters());
    assert_eq!(kernel.digest(), built_in.digest());
    let (built_in_sched, kernel_sched) = (built_in.sched(), kernel.sched());
    assert_eq!(kernel_sched.nohz_snapshot(), built_in_sched.nohz_snapshot());
    for cpu in built_in_sched.cpu_ids() {
        assert_eq!(kernel_sched.object().rq_curr(cpu.0), built_in_sched.curr(cpu).0, "CPU {}", cpu.0);
        assert_eq!(kernel_sched.rq_snapshot(cpu), built_in_sched.rq_snapshot(cpu), "CPU {}", cpu.0);
        assert_eq!(kernel_sched.llc_snapshot(cpu), built_in_sched.llc_snapshot(cpu), "CPU {}", cpu.0);
        assert_eq!(kernel_sched.schedstat_snapshot(cpu), built_in_sched.schedstat_snapshot(cpu), "CPU {}", cpu.0);
    }
    for id in built_in.tasks().iter().filter_map(|task| task.id) {
        let mut of_ours = built_in_sched.task_snapshot(id);
        // The kernel's side returns it as one number.
        of_ours.avg.util_est = Default::default();
        assert_eq!(kernel_sched.task_snapshot(id), of_ours, "task {}", id.0);
    }
    assert!(
        KernelEngine::load(
            &object,
            &plan,
            fairlab_sched::sched::SchedConfig {
                topology: setup().hardware.topology,
                tick_ns: 4_000_000,
                jiffies: 0,
                series: KernelSeries::V6_1
            },
            2,
            10
        )
        .is_err(),
        "a process loads one object"
    );
}

fn main() -> ExitCode {
    let mut tests = SOURCE.trials(named![the_edits_of_all_regressions_of_6_1_fit_the_tree]);
    tests.extend(NEWER_SOURCE.trials(named![the_edits_of_all_regressions_of_6_12_fit_the_tree]));
    tests.extend(ENGINE.trials(named![the_kernel_boots_runs_under_the_machine_and_decides_as_the_built_in_scheduler]));
    requirement::run(tests)
}
