// SPDX-License-Identifier: GPL-2.0-or-later

use super::case::{CaseGroup, CaseMachine, CasePolicy, CaseProgram, FuzzCase, MachineShape, TaskSet};
use super::ingredients::{self, Ingredient};
use super::minimise::minimise;
use super::{FuzzSearch, PropertyCheck, Violation, generate, rtapp, scenario, search};
use fairlab_sched::series::KernelSeries;
use fairlab_workload::rtapp as real;
use fairlab_workload::scenario::{ParseContext, SwitchNames, parse_with_context};
use std::convert::Infallible;

const NAP: CaseProgram = CaseProgram::Sleeper { run_us: 1234, sleep_us: 5678 };

fn empty(nr_cpus: u32) -> FuzzCase {
    FuzzCase {
        machine: CaseMachine::Shape(MachineShape::flat(nr_cpus)),
        groups: Vec::new(),
        tasks: Vec::new(),
        features: Vec::new(),
        tunables: Vec::new(),
        end_ms: 1000,
    }
}

/// Violates `mixed` if a hog has an affinity mask, and `nice` if at least three tasks have a positive nice
/// value.
struct TestRules;

impl PropertyCheck for TestRules {
    type Error = Infallible;

    fn violations(&self, case: &FuzzCase) -> Result<Vec<Violation>, Infallible> {
        let is_mixed = case.tasks.iter().any(|set| set.program == CaseProgram::Hog && set.mask.is_some());
        let nice: u32 = case.tasks.iter().filter(|set| set.nice > 0).map(|set| set.number).sum();
        let rules = [("mixed", is_mixed), ("nice", nice >= 3)];
        let broken = rules.into_iter().filter(|(_, is_broken)| *is_broken).map(|(property, _)| Violation {
            property: property.to_owned(),
            worst: 1.0,
            sentence: String::new(),
            at_ns: 0,
            question: None,
        });
        Ok(broken.collect())
    }
}

#[test]
fn a_small_case_has_nothing_that_can_be_taken_away() {
    let mut case = empty(16);
    let mut hogs = TaskSet::new(7, CaseProgram::Hog);
    hogs.mask = Some((3, 9));
    hogs.class = CasePolicy::Idle;
    let mut nice = TaskSet::new(9, NAP);
    (nice.nice, nice.group, nice.start_ms) = (19, Some(0), 20);
    case.groups.push(CaseGroup { shares: 2, quota_ms: Some(30) });
    case.tasks.extend([hogs, nice]);
    let broken = TestRules.violations(&case).expect("it runs");
    assert_eq!(broken.len(), 2);
    let Ok((small, _, _)) = minimise(&TestRules, case.clone(), broken[0].clone());
    assert_eq!(small.tasks.len(), 1);
    assert_eq!((small.nr_tasks(), small.tasks[0].class, small.machine.nr_cpus()), (1, CasePolicy::Normal, 2));
    assert_eq!((small.groups.len(), small.end_ms), (0, 100));
    let Ok((small, _, _)) = minimise(&TestRules, case, broken[1].clone());
    let mut three = TaskSet::new(3, CaseProgram::Sleeper { run_us: 2000, sleep_us: 6000 });
    three.nice = 19;
    assert_eq!(small.tasks, [three], "and times are rounded");
}

#[test]
fn each_way_to_break_a_property_is_one_finding() {
    let asked = FuzzSearch {
        first_seed: 1,
        most_cases: 400,
        most_findings: 9,
        machine: None,
        switches_of: None,
        without: Vec::new(),
    };
    let mut heard = 0;
    let Ok(tally) = search(&TestRules, &asked, &|| true, &mut |_, found| {
        heard += usize::from(found.is_some());
        Ok(())
    });
    let mut found: Vec<_> =
        tally.found.iter().map(|found| (found.broken.property.as_str(), &found.ingredients)).collect();
    found.sort();
    let (nice, hogs) = (Ingredient::Nice, Ingredient::Hogs);
    let wanted = [vec![Ingredient::Affinity, hogs], vec![nice, hogs], vec![nice, Ingredient::Sleepers]];
    let wanted: Vec<_> = ["mixed", "nice", "nice"].into_iter().zip(&wanted).collect();
    assert_eq!(found, wanted);
    assert_eq!((tally.cases, heard), (400, 3), "wakers become sleepers");
    assert!(tally.found.iter().all(|found| found.others > 0), "others were recognised");
    let plain = FuzzSearch { without: vec![nice, Ingredient::Affinity], ..asked };
    let Ok(tally) = search(&TestRules, &plain, &|| true, &mut |_, _| Ok(()));
    assert_eq!((tally.cases, tally.broken), (400, 0), "what is left out is not there");
}

#[test]
fn every_case_is_a_valid_scenario_and_valid_files_of_rt_app_with_the_same_tasks() {
    for (seed, series) in (0..400).map(|seed| (seed, KernelSeries::ALL[seed as usize % 2])) {
        let case = generate::case(seed, None, Some(series));
        let text = scenario::text(&case, &[format!("seed {seed}")], None);
        let context = ParseContext {
            given: None,
            named: &|_| unreachable!(),
            vary: None,
            kernel: &|_| Ok(SwitchNames::BuiltIn(series)),
        };
        let scenario = parse_with_context("case.scn", &text, context).unwrap_or_else(|error| panic!("{error}\n{text}"));
        assert_eq!(scenario.workload.tasks.len(), case.nr_tasks() as usize, "{text}");
        let mut nr_tasks = 0;
        for file in rtapp::files(&case) {
            let options = real::RtAppOptions::for_cpus(series, case.machine.nr_cpus());
            let workload =
                real::parse(&file.name, &file.text, options).unwrap_or_else(|e| panic!("{e}\n{}", file.text));
            nr_tasks += workload.tasks.len();
        }
        assert_eq!(nr_tasks, case.nr_tasks() as usize, "{text}");
    }
}

#[test]
fn what_an_ingredient_is_taken_out_of_does_not_have_it() {
    for seed in 0..200 {
        let case = generate::case(seed, None, Some(KernelSeries::V6_1));
        for ingredient in ingredients::of(&case) {
            let without = ingredient.remove_from(&case);
            assert!(!ingredients::of(&without).contains(&ingredient), "{ingredient:?} of {case:?}");
        }
    }
}

#[test]
fn a_machine_that_shrinks_keeps_its_shape_where_it_divides() {
    let shape = MachineShape { nr_cpus: 16, smt: 2, llc: 4, node: 8, nr_little: 0 };
    assert_eq!(shape.with_cpus(8), MachineShape { nr_cpus: 8, ..shape });
    assert_eq!(shape.with_cpus(7), MachineShape { nr_cpus: 7, smt: 1, llc: 7, node: 7, nr_little: 0 });
    assert_eq!(shape.with_cpus(1), MachineShape { nr_cpus: 1, smt: 1, llc: 1, node: 1, nr_little: 0 });
}

#[test]
fn the_script_makes_groups_and_runs_a_file_in_each() {
    let mut case = empty(4);
    case.groups.push(CaseGroup { shares: 2048, quota_ms: Some(30) });
    let mut set = TaskSet::new(2, CaseProgram::Waker { run_us: 100, sleep_us: 900 });
    set.group = Some(0);
    case.tasks.extend([set, TaskSet::new(1, CaseProgram::Hog)]);
    let script = rtapp::script(&case, &[]);
    for part in [
        "echo 200 > /sys/fs/cgroup/fairlab-g0/cpu.weight",
        "echo 30000 100000 >",
        "rt-app case.json",
        "rt-app case-g0.json",
    ] {
        assert!(script.contains(part), "{part} in\n{script}");
    }
    let names: Vec<String> = rtapp::files(&case).into_iter().map(|file| file.name).collect();
    assert_eq!(names, ["case.json", "case-g0.json"]);
    assert!(rtapp::files(&case)[1].text.contains("\"resume\": \"wakeeA1\""));
}

#[test]
fn the_script_says_which_rt_app_a_policy_needs_and_that_groups_need_cgroup_v2() {
    let plain = rtapp::script(&empty(4), &[]);
    assert!(!plain.contains("1.0") && !plain.contains("cgroup.controllers"), "{plain}");
    let mut case = empty(4);
    case.groups.push(CaseGroup { shares: 1024, quota_ms: None });
    let mut set = TaskSet::new(1, CaseProgram::Hog);
    (set.class, set.group) = (CasePolicy::Batch, Some(0));
    case.tasks.push(set);
    let script = rtapp::script(&case, &[]);
    for part in ["if [ ! -f /sys/fs/cgroup/cgroup.controllers ]", "rt-app 1.0 does not support SCHED_BATCH"] {
        assert!(script.contains(part), "{part} in\n{script}");
    }
}
