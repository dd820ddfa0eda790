// SPDX-License-Identifier: GPL-2.0-or-later
//! rt-app's own example files, and scenarios of the reference.

use fairlab_sched::series::KernelSeries;
use fairlab_sched::units::Nanos;
use fairlab_workload::load::{LoadedWorkload, WorkloadKind, detect, load};
use fairlab_workload::rtapp::{DuplicateKeys, RtAppOptions, parse};
use fairlab_workload::step::{Step, TimerMode, TimerRef};
use fairlab_workload::workload::Workload;
use std::fs;
use std::path::PathBuf;

fn data(directory: &str) -> Vec<(String, String)> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(directory);
    let entries =
        fs::read_dir(path).expect("the data are part of the crate").map(|entry| entry.expect("readable").path());
    let mut files: Vec<PathBuf> = entries.filter(|path| path.extension().is_some_and(|ext| ext != "md")).collect();
    files.sort();
    let read = |path: PathBuf| {
        let name = path.file_name().expect("a file").to_string_lossy().into_owned();
        (name, fs::read_to_string(path).expect("text"))
    };
    files.into_iter().map(read).collect()
}

fn example(name: &str) -> String {
    let found = data("rtapp").into_iter().find(|(file, _)| file == name);
    found.unwrap_or_else(|| panic!("no {name}")).1
}

fn workload(name: &str, duplicate_keys: DuplicateKeys) -> Workload {
    let options = RtAppOptions { duplicate_keys, ..RtAppOptions::for_cpus(KernelSeries::V6_1, 4) };
    parse(name, &example(name), options).unwrap_or_else(|error| panic!("{error}"))
}

fn steps(workload: &Workload, task: &str, count: usize) -> Vec<Step> {
    let task = workload.tasks.iter().find(|spec| spec.name == task).unwrap_or_else(|| panic!("no {task}"));
    let mut behaviour = (task.behaviour)(0);
    while behaviour.next() != Step::AwaitOrigin {}
    std::iter::repeat_with(move || behaviour.next()).filter(|step| !matches!(step, Step::Mark(_))).take(count).collect()
}

const fn ms(ms: u64) -> Nanos {
    Nanos::from_millis(ms)
}

#[test]
fn all_22_examples_are_read_or_refused_as_rt_app_refuses_them_and_workgen_mends_them() {
    let files = data("rtapp");
    assert_eq!(files.len(), 22);
    for (name, text) in files {
        assert_eq!(detect(&name, &text), Ok(WorkloadKind::RtApp), "{name}");
        for duplicate_keys in [DuplicateKeys::LastValue, DuplicateKeys::KeepAll] {
            let result =
                load(&name, &text, RtAppOptions { duplicate_keys, ..RtAppOptions::for_cpus(KernelSeries::V6_1, 4) });
            if name.starts_with("video-") && duplicate_keys == DuplicateKeys::LastValue {
                let error = result.err().unwrap_or_else(|| panic!("{name} has a key without a value"));
                let place = error.place.as_ref().expect("an error of a file has a place");
                assert_eq!((place.line, place.file.as_str()), (Some(6), name.as_str()));
                assert!(error.text.contains("\"suspend\" has no value; rt-app itself rejects"), "{error}");
                continue;
            }
            let loaded = result.unwrap_or_else(|error| panic!("{error}"));
            let LoadedWorkload::RtApp(workload) = loaded else { panic!("{name} is no scenario") };
            assert!(!workload.tasks.is_empty(), "{name}");
            // Every thread yields steps for a while.
            for task in &workload.tasks {
                let mut behaviour = (task.behaviour)(0);
                assert!((0..500).any(|_| behaviour.next() != Step::Mark(0)), "{name}: {}", task.name);
            }
        }
    }
}

#[test]
fn what_the_examples_say_is_what_threads_do() {
    let example2 = workload("tutorial-example2.json", DuplicateKeys::LastValue);
    let timer = |period, timer| Step::Timer { timer, period: ms(period), mode: TimerMode::Relative };
    let unique = |period| timer(period, TimerRef::Own(0));
    assert_eq!(steps(&example2, "thread0-0", 3), [Step::Run(ms(10)), unique(100), Step::Run(ms(10))]);
    assert_eq!(example2.duration, Some(Nanos::from_secs(2)));

    let example3 = workload("tutorial-example3.json", DuplicateKeys::LastValue);
    assert_eq!(example3.tasks.len(), 12);
    let thread = steps(&example3, "thread0-11", 41);
    let expected = [Step::Run(ms(3)), unique(30), Step::Run(ms(27)), Step::Exit];
    assert_eq!([thread[18], thread[19], thread[20], thread[40]], expected);

    let example4 = workload("tutorial-example4.json", DuplicateKeys::LastValue);
    assert_eq!(example4.objects.suspends, ["thread1", "thread0"]);
    assert_eq!(steps(&example4, "thread0-0", 3), [Step::Run(ms(10)), Step::Resume(0), Step::Suspend(1)]);
    assert_eq!(example4.duration, None);

    let dvfs = workload("cpufreq-dvfs.json", DuplicateKeys::LastValue);
    let running = [Step::SetAttributes(0), timer(1200, TimerRef::Shared(0)), Step::Run(ms(900))];
    assert_eq!(steps(&dvfs, "thread-0", 3), running);

    let forks = workload("later-fork.json", DuplicateKeys::LastValue);
    assert_eq!(steps(&forks, "parent-0", 4)[3], Step::Fork(1));
}

#[test]
fn an_example_that_needs_workgen_loses_events_with_a_warning_unless_all_keys_are_kept() {
    let lossy = workload("browser-short.json", DuplicateKeys::LastValue);
    assert!(lossy.warnings.iter().any(|warning| warning.contains("equal keys in one object (\"resume\", \"run\")")));
    let whole = workload("browser-short.json", DuplicateKeys::KeepAll);
    assert!(!whole.warnings.iter().any(|warning| warning.contains("equal keys")));
    let display = steps(&whole, "BrowserDisplay-", 6);
    let suspend = |step| matches!(step, Step::Suspend(_));
    // Its priority, then suspend, run, resume, run, lock.
    assert!(matches!(display[0], Step::SetAttributes(0)) && suspend(display[1]));
    assert_eq!([display[2], display[4]], [Step::Run(Nanos::from_micros(300)), Step::Run(ms(12))]);
    assert_eq!(steps(&lossy, "BrowserDisplay-", 3)[2], Step::Run(Nanos::from_micros(400)));
}

#[test]
fn the_scenarios_of_the_oracle_are_read() {
    let files = data("scn");
    assert!(files.len() >= 15);
    for (name, text) in files {
        let loaded =
            load(&name, &text, RtAppOptions::for_cpus(KernelSeries::V6_1, 1)).unwrap_or_else(|error| panic!("{error}"));
        let LoadedWorkload::Scenario(scenario) = loaded else { panic!("{name} is a scenario") };
        assert_eq!(scenario.machine.topology.cpus.len(), scenario.machine.nr_cpus as usize, "{name}");
        assert!(!scenario.workload.tasks.is_empty(), "{name}");
    }
}
