// SPDX-License-Identifier: GPL-2.0-or-later

use super::*;
use fairlab_board::parse;
use fairlab_native::record::{IdleWakeUp, ProgramResult, TestResult};
use fairlab_workload::message::Message;

fn measured(results: &[(MicroTest, f64)]) -> Calibration {
    let result = |&(test, ns): &(MicroTest, f64)| TestResult {
        test: test.name(),
        ns: Spread::of(&[ns]).expect("there is a result"),
    };
    Calibration {
        schema: fairlab_native::record::SCHEMA.to_owned(),
        kernel: KernelInfo::default(),
        nr_cpus: 1,
        cpus: vec![0],
        seconds: 1.0,
        disturbance: Disturbance::default(),
        tests: results.iter().map(result).collect(),
        programs: Vec::new(),
        ipi_round_trip: None,
        wake_ups: Vec::new(),
        lines: Vec::new(),
        timer_slack: 50_000,
    }
}

const PIPE: MicroTest = MicroTest::Pass(Transport::Pipe);
const TCP: MicroTest = MicroTest::Pass(Transport::Tcp);

#[test]
fn an_error_is_the_simulated_median_by_the_measured_one() {
    let measured = measured(&[(MicroTest::EmptyCall, 165.0), (PIPE, 1000.0), (TCP, 4000.0)]);
    let simulated = [(PIPE.name(), vec![1190.0, 1200.0, 1500.0]), (TCP.name(), vec![2400.0])];
    let validation = Validation::new("m".to_owned(), "machine".to_owned(), &measured, &simulated);
    let errors: Vec<_> = validation.rows.iter().map(|row| row.error.map(|error| (100.0 * error).round())).collect();
    assert_eq!(errors, [None, Some(20.0), Some(-40.0)]);
    assert_eq!(validation.nr_compared, 2);
    // 2400 by 1200 is 2, 4000 by 1000 is 4.
    assert_eq!(validation.rows[2].ratio_error, Some(-0.5));
    assert_eq!(
        validation.headline(),
        "2 quantities compared: median error 30 %, largest 40 % (pass-tcp); ratios of channels to the pipe are off by up to 50 %"
    );
    let page = validation.page();
    assert!(page.contains("no model") && page.contains("pass-tcp: -40 %"), "{page}");
}

#[test]
fn only_measured_operations_with_a_model_and_enough_cpus_are_simulated() {
    let far = MicroTest::PingPong(Transport::Pipe, Placement::TwoCpus);
    let mut measured = measured(&[(MicroTest::EmptyCall, 165.0), (PIPE, 1000.0), (far, 9000.0)]);
    let ns = Spread::of(&[9000.0]).expect("there is a result");
    measured.programs = vec![ProgramResult { command: PROGRAMS[0].command.to_owned(), ns }];
    let names = |nr_cpus| models(&measured, nr_cpus).into_iter().map(|model| model.name).collect::<Vec<_>>();
    assert_eq!(names(2), ["pass-pipe", "pingpong-pipe-2cpus", "perf bench sched pipe -l 20000"]);
    assert_eq!(names(1), ["pass-pipe", "perf bench sched pipe -l 20000"]);
    let nothing = Validation::new("m".to_owned(), "machine".to_owned(), &measured, &[]);
    assert_eq!((nothing.rows.len(), nothing.headline().as_str()), (4, "nothing could be compared"));
}

#[test]
fn a_program_is_compared_by_what_both_print() {
    let mut measured = measured(&[]);
    let ns = Spread::of(&[10_000.0]).expect("there is a result");
    measured.programs = vec![ProgramResult { command: PROGRAMS[0].command.to_owned(), ns }];
    let printed = PROGRAMS[0].result_ns("       8.000000 usecs/op\n").expect("the text has a result");
    let simulated = [(PROGRAMS[0].command.to_owned(), vec![printed])];
    let row = &Validation::new("m".to_owned(), "machine".to_owned(), &measured, &simulated).rows[0];
    assert_eq!((row.unit.as_str(), row.error), ("round trip", Some(8_000.0 / 10_000.0 - 1.0)));
}

#[test]
fn times_have_three_digits_and_large_errors_are_factors() {
    let texts = [165.2, 999.6, 9_994.0, 20_900.0, 456_700.0, 2_345_678.0].map(time_text);
    assert_eq!(texts, ["165 ns", "1.00 us", "9.99 us", "20.9 us", "457 us", "2.35 ms"]);
    assert_eq!([0.15, -0.5, 10.0, -0.95, -1.0].map(error_text), ["+15 %", "-50 %", "x 11", "1/20", "1/1000"]);
}

#[test]
fn facts_are_added_before_and_after_the_tables_of_a_machine_file() {
    let kernel = KernelInfo { arch: "x86_64".to_owned(), preemption: Some("none".to_owned()), ..KernelInfo::default() };
    let measured = Calibration { kernel, ..measured(&[(MicroTest::EmptyCall, 165.0), (PIPE, 1000.0), (TCP, 9000.0)]) };
    let text = with_facts("name = \"x\"\nhz = 250\n\n[cpus]\ncount = 2\n", &measured).expect("there are speeds");
    let machine = parse("x.toml", &text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let processor = machine.processor().expect("it has facts");
    let speeds = kernel_speeds(&measured);
    assert!(speeds.is_sorted() && !speeds.is_empty());
    assert_eq!(processor.instructions_per_us(), (speeds[speeds.len() / 2] * 1000.0).round() as u64);
    assert_eq!(machine.timer_slack().0, measured.timer_slack);
    let riscv = Calibration { kernel: KernelInfo { arch: "riscv64".to_owned(), ..KernelInfo::default() }, ..measured };
    assert_eq!(with_facts("name = \"x\"\n", &riscv), Err(Message::new("kernel code was not counted on riscv64")));
}

#[test]
fn a_wake_up_is_divided_into_an_interrupt_and_an_idle_exit() {
    let spread = |ns| Spread::of(&[ns]).expect("there is a result");
    let keys = |round_trip: Option<f64>| {
        let kernel = KernelInfo { arch: "x86_64".to_owned(), ..KernelInfo::default() };
        let wake_ups = [(20_000, 18_000.0), (200_000, 25_000.0)].map(|(idle, ns)| IdleWakeUp { idle, ns: spread(ns) });
        let measured = measured(&[(MicroTest::EmptyCall, 165.0)]);
        let measured =
            Calibration { kernel, wake_ups: wake_ups.to_vec(), ipi_round_trip: round_trip.map(spread), ..measured };
        let text = with_facts("name = \"x\"\n[cpus]\ncount = 2\n", &measured).expect("there are speeds");
        let machine = parse("x.toml", &text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        let exits: Vec<u64> = machine.idle_states().iter().map(|state| state.exit_latency.0).collect();
        (machine.ipi_latency().0, exits)
    };
    let (ipi, exits) = keys(Some(10_000.0));
    assert_eq!(ipi, 5_000);
    let wake_up = ipi + exits[0];
    assert!((12_000..18_000).contains(&wake_up), "less its instructions: {wake_up}");
    assert_eq!(exits[1] - exits[0], 7_000);
    assert_eq!(keys(None), (wake_up, vec![0, 7_000]), "a wake-up without a known interrupt has no exit");
    assert_eq!(keys(Some(90_000.0)), (wake_up, vec![0, 7_000]), "an interrupt does not take longer than the wake-up");
}

#[test]
fn measured_idle_states_replace_those_of_no_driver_and_of_haltpoll() {
    let wake_up = |idle, ns| IdleWakeUp { idle, ns: Spread::of(&[ns]).expect("there is a result") };
    let states = |driver: Option<&str>, file: &str| {
        let kernel =
            KernelInfo { arch: "x86_64".to_owned(), idle_driver: driver.map(str::to_owned), ..KernelInfo::default() };
        let wake_ups = vec![wake_up(20_000, 9_000.0), wake_up(200_000, 30_000.0)];
        let measured = Calibration { kernel, wake_ups, ..measured(&[(MicroTest::EmptyCall, 165.0)]) };
        let text = with_facts(file, &measured).expect("there are speeds");
        let machine = parse("x.toml", &text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        machine.idle_states().iter().map(|state| state.name.to_owned()).collect::<Vec<_>>()
    };
    let cpus = "name = \"x\"\n[cpus]\ncount = 2\n";
    let captured = "[[idle_state]]\nname = \"C1\"\nexit_latency_ns = 1000\ntarget_residency_ns = 1000\n";
    let file = format!("{cpus}{captured}");
    let of_measurement = ["measured-20us", "measured-200us"];
    assert_eq!(states(None, cpus), of_measurement);
    assert_eq!(states(None, &file), of_measurement);
    assert_eq!(states(Some("haltpoll"), &file), of_measurement);
    assert_eq!(states(Some("intel_idle"), &file), ["C1"]);
    assert_eq!(states(Some("intel_idle"), cpus), [""; 0]);
}
