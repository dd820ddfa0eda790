// SPDX-License-Identifier: GPL-2.0-or-later
//! Shared cores of SMT threads, and turbo frequencies with few busy cores.

use fairlab_machine::hardware::Hardware;
use fairlab_machine::observer::NoObserver;
use fairlab_machine::sim::{Machine, Setup};
use fairlab_sched::ids::CpuId;
use fairlab_sched::series::KernelSeries;
use fairlab_sched::units::Nanos;

const TURBO: &str = "[turbo]\nbase_khz = 2_000_000\nbusy_cores = [1, 2, 4]\nkhz = [3_000_000, 2_500_000, 2_000_000]\nsource = \"made up\"\n";
const SMT: &str = "[smt]\nthroughput_percent = [100, 125]\nsource = \"made up\"\n";

/// Runs tasks on eight CPUs in four cores of a package, with `more` in the machine file.
fn run(more: &str, tasks: &str, ms: u64) -> Machine {
    let text = format!("name = \"t\"\n[cpus]\ncount = 8\nthreads_per_core = 2\n{more}");
    let hardware = Hardware::from_description(&fairlab_board::parse("t.toml", &text).expect("well-formed"));
    let text = format!("cpus 8\nend {ms}ms\n{tasks}");
    let scenario = fairlab_workload::scenario::parse("test.scn", &text, KernelSeries::V6_1).expect("well-formed");
    let mut machine = Machine::new(Setup::with_hardware(hardware, scenario)).expect("a possible machine");
    machine.run(&mut NoObserver).unwrap_or_else(|error| panic!("{error}"));
    machine
}

/// Returns the runtime of a task whose program has ended.
fn took(machine: &Machine, name: &str) -> u64 {
    let task = machine.tasks().iter().find(|task| task.name == name).expect("it is there");
    task.runtime_ns.unsigned_abs()
}

#[test]
fn two_threads_of_a_core_get_done_what_the_file_says() {
    let alone = run(SMT, "task a cpu=0 mask=0-0 run 10ms exit\n", 100);
    assert_eq!(took(&alone, "a"), 10_000_000);
    let both = run(SMT, "task a cpu=0 mask=0-0 run 10ms exit\ntask b cpu=1 mask=1-1 run 10ms exit\n", 100);
    // Each has 640 of 1024 of the core.
    assert_eq!([took(&both, "a"), took(&both, "b")], [16_000_000, 16_000_000]);
    let apart = run(SMT, "task a cpu=0 mask=0-0 run 10ms exit\ntask b cpu=2 mask=2-2 run 10ms exit\n", 100);
    assert_eq!([took(&apart, "a"), took(&apart, "b")], [10_000_000, 10_000_000]);
    let without = run("", "task a cpu=0 mask=0-0 run 10ms exit\ntask b cpu=1 mask=1-1 run 10ms exit\n", 100);
    assert_eq!(took(&without, "a"), 10_000_000);
}

#[test]
fn a_thread_is_faster_as_soon_as_the_other_one_rests() {
    let tasks = "task a cpu=0 mask=0-0 run 10ms exit\ntask b cpu=1 mask=1-1 run 5ms exit\n";
    let machine = run(SMT, tasks, 100);
    // Both run for 8 ms, in which each completes 5 ms of work; then one continues alone.
    assert_eq!([took(&machine, "a"), took(&machine, "b")], [13_000_000, 8_000_000]);
}

#[test]
fn few_busy_cores_are_faster_than_many() {
    let one = run(TURBO, "task a cpu=0 mask=0-0 run 9ms exit\n", 100);
    assert_eq!(took(&one, "a"), 6_000_000);
    // The second thread of a core makes no second core busy.
    let same = run(TURBO, "task a cpu=0 mask=0-0 run 9ms exit\ntask b cpu=1 mask=1-1 run 9ms exit\n", 100);
    assert_eq!(took(&same, "b"), 6_000_000);
    // The hardware evaluates after half a millisecond: 0.5 ms at 1.5 times the base frequency, the rest at
    // 1.25 times.
    let two = run(TURBO, "task a cpu=0 mask=0-0 run 9ms exit\ntask b cpu=2 mask=2-2 run 9ms exit\n", 100);
    assert_eq!(took(&two, "a"), 500_000 + (9_000_000 - 750_000) * 4 / 5);
    let off = run(&format!("{TURBO}enabled = false\n"), "task a cpu=0 mask=0-0 run 9ms exit\n", 100);
    assert_eq!(took(&off, "a"), 9_000_000);
}

#[test]
fn the_kernel_learns_at_ticks_at_what_frequency_a_cpu_has_run() {
    let hogs = |nr: u64| (0..nr).map(|n| format!("task h{n} cpu={0} mask={0}-{0} run 1s\n", 2 * n)).collect::<String>();
    let seen = |more: &str, nr| run(more, &hogs(nr), 40).sched().snapshot(CpuId(0)).freq_capacity;
    // The frequency of four busy cores counts as full, so higher turbo frequencies are not seen.
    assert_eq!(seen(TURBO, 1), 1024);
    assert_eq!(seen(TURBO, 4), 1024);
    let wide = TURBO.replace("busy_cores", "reference_khz = 3_000_000\nbusy_cores");
    assert_eq!(seen(&wide, 1), 1024);
    assert_eq!(seen(&wide, 2), 1280 * 1024 / 1536);
    assert_eq!(seen(&wide, 4), 1024 * 1024 / 1536);
    assert_eq!(seen(&format!("{wide}scale_invariant = false\n"), 4), 1024, "a kernel before 5.7");
    assert_eq!(seen(&format!("{wide}enabled = false\n"), 4), 1024, "no_turbo");
}

#[test]
fn what_a_cpu_has_done_at_which_frequency_is_counted() {
    let machine = run(TURBO, "task a cpu=0 mask=0-0 run 9ms exit\n", 10);
    let times = machine.frequency_times(CpuId(0), machine.now());
    let times: Vec<_> = times.whole.iter().map(|(freq, time)| (freq.part(), *time)).collect();
    assert_eq!(times, [(1536, Nanos::from_millis(10))]);
}

#[test]
fn a_wrong_table_is_refused_with_the_way_out() {
    let wrong = |more: &str| {
        let text = format!("name = \"t\"\n[cpus]\ncount = 8\nthreads_per_core = 2\n{more}");
        fairlab_board::parse("t.toml", &text).expect_err("it is wrong").to_string()
    };
    let few = wrong("[smt]\nthroughput_percent = [100]\nsource = \"\"\n");
    assert!(few.contains("1 number for cores of up to 2 threads"), "{few}");
    let much = wrong("[smt]\nthroughput_percent = [100, 201]\nsource = \"\"\n");
    assert!(much.contains("201 percent is out of range") && much.contains("100 to 200"), "{much}");
    let both = wrong(&format!("{TURBO}[[frequency_domain]]\ncpus = \"0-7\"\nkhz = [1_000_000]\n"));
    assert!(both.contains("the machine has frequency domains too"), "{both}");
    let lengths = wrong(&TURBO.replace("[1, 2, 4]", "[1, 2]"));
    assert!(lengths.contains("3 frequencies for 2 numbers of cores"), "{lengths}");
    let below = wrong(&TURBO.replace("2_500_000, 2_000_000]", "2_500_000, 1_000_000]"));
    assert!(below.contains("1000000 kHz is out of range"), "{below}");
}

#[test]
fn the_tables_are_written_as_they_were_read() {
    let text = format!("name = \"t\"\n[cpus]\ncount = 8\nthreads_per_core = 2\n{SMT}{TURBO}");
    let machine = fairlab_board::parse("t.toml", &text).expect("well-formed");
    assert_eq!(fairlab_board::parse("t.toml", &machine.to_toml()).expect("well-formed"), machine);
}
