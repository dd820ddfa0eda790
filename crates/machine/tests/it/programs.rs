// SPDX-License-Identifier: GPL-2.0-or-later
//! Benchmark models beside the real programs, whose transactions `cargo xtask real-programs` records.
//!
//! The table is part of the book. `FAIRLAB_BLESS=1 cargo test -p fairlab-machine --test it programs` writes it.

use fairlab_board::parse;
use fairlab_machine::hardware::Hardware;
use fairlab_machine::observer::{Interest, MachineEvent, Observer};
use fairlab_machine::sim::{Machine, Setup};
use fairlab_sched::ctx::PrevState;
use fairlab_sched::probe::{Event, SchedObserver};
use fairlab_sched::series::KernelSeries;
use fairlab_sched::units::Nanos;
use fairlab_workload::bench::cyclictest::{self, Cyclictest};
use fairlab_workload::bench::hackbench::{self, Hackbench, Messaging};
use fairlab_workload::bench::netperf::{self, Netperf, NetperfTest};
use fairlab_workload::bench::pipe::Pipe;
use fairlab_workload::bench::schbench_rps::{self, SchbenchRps};
use fairlab_workload::bench::stress_sock::{self, StressSock};
use fairlab_workload::bench::tbench::{self, Tbench};
use fairlab_workload::bench::{Benchmark, Starts};
use fairlab_workload::step::{Behaviour, Step};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Kernels on which programs were recorded. The ratio is to the first, whose scheduler the model has.
const KERNELS: [&str; 2] = ["6.1", "6.12"];
/// Columns of a row of `sheets/programs/transactions.tsv` that are compared.
const QUANTITIES: [(&str, usize); 6] = [
    ("user instructions", 5),
    ("wake-ups", 6),
    ("blocking switches", 7),
    ("preemptions", 8),
    ("instructions", 9),
    ("switches", 10),
];

/// Instructions of a nanosecond of a program's own work, as in the models.
const INSTRUCTIONS_PER_NS: u64 = 2;
/// Matrix products of a request of schbench in the model. The program multiplies five; an inner step counts 8.3 instructions and
/// takes 1 ns in the model.
const SCHBENCH_PRODUCTS: u64 = 21;

/// Sums of a run.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    wakeups: u64,
    blocking: u64,
    preemptions: u64,
    switches: u64,
    /// Work of the programs themselves.
    user: u64,
    /// Time in tasks and in the kernel.
    busy: u64,
}

/// Program whose own work is added up and becomes instructions of 1 ns.
struct CountedWork {
    program: Box<dyn Behaviour>,
    user: Arc<AtomicU64>,
}

impl Behaviour for CountedWork {
    fn next(&mut self) -> Step {
        match self.program.next() {
            Step::Run(work) => {
                let instructions = INSTRUCTIONS_PER_NS * work.0;
                self.user.fetch_add(instructions, Ordering::Relaxed);
                Step::Run(Nanos(instructions))
            }
            // The number of calls is not known, so this work is in no sum.
            Step::ReceiveBytes { channel, bytes, buffer, between } => {
                Step::ReceiveBytes { channel, bytes, buffer, between: Nanos(INSTRUCTIONS_PER_NS * between.0) }
            }
            step => step,
        }
    }
}

/// Counts what happens until each mark that is in a range.
struct Counter {
    range: core::ops::Range<u32>,
    user: Arc<AtomicU64>,
    sums: Sums,
    at_marks: Vec<Sums>,
}

impl SchedObserver for Counter {
    fn event(&mut self, _now: Nanos, event: &Event<'_>) {
        if let Event::Switch { .. } = event {
            self.sums.switches += 1;
        }
        match event {
            Event::Waking { .. } => self.sums.wakeups += 1,
            // The idle task is task 0 of its CPU, and never blocks.
            Event::Switch { prev_state: PrevState::Runnable, prev, .. } if prev.index() > 0 => {
                self.sums.preemptions += 1;
            }
            Event::Switch { prev, .. } if prev.index() > 0 => self.sums.blocking += 1,
            _ => {}
        }
    }
}

impl Observer for Counter {
    fn wants(&self) -> Interest {
        Interest::EVENTS
    }

    fn machine_event(&mut self, _now: Nanos, event: &MachineEvent) {
        if let MachineEvent::Mark { phase, .. } = event
            && self.range.contains(phase)
        {
            self.at_marks.push(Sums { user: self.user.load(Ordering::Relaxed), ..self.sums });
        }
    }
}

/// Model of a recorded program: the benchmark of a length, and what ends a transaction.
struct Model {
    program: &'static str,
    bench: fn(u64) -> Benchmark,
    /// Length of the run whose middle half counts.
    traced: u64,
    /// Lengths of the two runs whose difference counts.
    counts: [u64; 2],
    marks: core::ops::Range<u32>,
    /// Transactions of a mark, or without marks of a unit of length.
    each: u64,
}

fn hackbench(loops: u64, pipe: bool, fds: u32) -> Hackbench {
    Hackbench { groups: 1, fds, loops, pipe, start_signal: true, ..Hackbench::default() }
}

fn netperf(test: NetperfTest, length: u64) -> Benchmark {
    let starts = Some(Starts::AtOnce);
    Benchmark::Netperf(Netperf { test, length: Nanos::from_millis(length), starts, ..Netperf::default() })
}

fn stress_sock(length: u64) -> Benchmark {
    Benchmark::StressSock(StressSock { instances: 1, timeout: Nanos::from_millis(length) })
}

fn cyclictest(loops: u64) -> Benchmark {
    Benchmark::Cyclictest(Cyclictest { threads: 1, priority: 80, loops, ..Cyclictest::default() })
}

fn schbench(threads: u32, length: u64, footprint_kb: u64) -> Benchmark {
    Benchmark::SchbenchRps(SchbenchRps {
        threads,
        runtime: Nanos::from_millis(length),
        footprint_kb,
        operations: SCHBENCH_PRODUCTS,
        ..SchbenchRps::for_cpus(1)
    })
}

/// Models of the recorded programs, with the options of `xtask/real-programs/programs.toml`. The length of a test that runs
/// for a time is in milliseconds.
fn models() -> Vec<Model> {
    let of = |program, bench, traced, counts, mark: u32, each| Model {
        program,
        bench,
        traced,
        counts,
        marks: mark..mark + 1,
        each,
    };
    let no_mark = u32::MAX - 1;
    vec![
        of("hackbench", |n| Benchmark::Hackbench(hackbench(n, false, 10)), 60, [100, 500], hackbench::LOOP, 10),
        of("hackbench-pipe", |n| Benchmark::Hackbench(hackbench(n, true, 10)), 60, [100, 500], hackbench::LOOP, 10),
        of(
            "perf-messaging",
            |n| Benchmark::Messaging(Messaging(hackbench(n, false, 20))),
            20,
            [50, 250],
            hackbench::LOOP,
            20,
        ),
        of("perf-pipe", |n| Benchmark::Pipe(Pipe { loops: n, threads: false }), 1000, [2000, 8000], no_mark, 1),
        of("netperf-tcp", |n| netperf(NetperfTest::TcpRr, n), 100, [100, 300], netperf::TRANSACTION, 1),
        of("netperf-udp", |n| netperf(NetperfTest::UdpRr, n), 100, [100, 300], netperf::TRANSACTION, 1),
        Model {
            program: "tbench",
            bench: |n| Benchmark::Tbench(Tbench { clients: 1, runtime: Nanos::from_millis(n), seed: 1 }),
            traced: 1000,
            counts: [100, 1000],
            marks: tbench::DONE..u32::MAX,
            each: 1,
        },
        of("stress-ng-sock", stress_sock, 200, [200, 600], stress_sock::BOGO_OP, 1),
        of("cyclictest", cyclictest, 400, [100, 300], cyclictest::SAMPLE, 1),
        of("schbench", |n| schbench(4, n, 16), 1000, [100, 1000], schbench_rps::REQUEST_END, 1),
        of("schbench-default", |n| schbench(2, n, 256), 2000, [1000, 3000], schbench_rps::REQUEST_END, 1),
    ]
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Runs a benchmark on the recorded guest: a CPU whose instructions take 1 ns and whose caches never miss.
fn run(model: &Model, length: u64) -> (Vec<Sums>, Sums) {
    let fact = |key: &str, value: u64| format!("{key} = {{ value = {value}, source = \"test\" }}\n");
    let text = format!(
        "name = \"x\"\npreemption = \"voluntary\"\nhz = 250\n[cpus]\ncount = 1\n[processor]\nsheet = \"6.12-x86_64\"\n{}{}[processor.line_ns]\n{}",
        fact("instructions_per_us", 1000),
        fact("line_share_percent", 100),
        fact("llc", 0)
    );
    let machine = parse("x.toml", &text).unwrap_or_else(|error| panic!("{error}"));
    let mut workload = (model.bench)(length).workload(1);
    let user = Arc::new(AtomicU64::new(0));
    for task in &mut workload.tasks {
        let behaviour = core::mem::replace(&mut task.behaviour, Box::new(|_| unreachable!("it is replaced")));
        let user = Arc::clone(&user);
        task.behaviour =
            Box::new(move |instance| Box::new(CountedWork { program: behaviour(instance), user: Arc::clone(&user) }));
    }
    let duration = workload.duration.unwrap_or(Nanos::from_secs(10));
    let setup = Setup::new(KernelSeries::V6_1, Hardware::from_description(&machine), workload, duration);
    let mut machine = Machine::new(setup).expect("the machine is possible");
    let mut counter =
        Counter { range: model.marks.clone(), user: Arc::clone(&user), sums: Sums::default(), at_marks: Vec::new() };
    machine.run(&mut counter).expect("the tasks make progress");
    let [cpu] = machine.counters().per_cpu.as_slice() else { panic!("the machine has one CPU") };
    let end = Sums { busy: (cpu.work + cpu.kernel).0, user: user.load(Ordering::Relaxed), ..counter.sums };
    (counter.at_marks, end)
}

/// Returns the quantities of a transaction, in the order of [`QUANTITIES`].
fn modelled(model: &Model) -> [f64; 6] {
    let (marks, end) = run(model, model.traced);
    let (begin, end, transactions) = match marks.as_slice() {
        [] => (Sums::default(), end, model.traced),
        marks => (marks[marks.len() / 4], marks[marks.len() * 3 / 4], (marks.len() * 3 / 4 - marks.len() / 4) as u64),
    };
    let per = |of: fn(&Sums) -> u64| (of(&end) - of(&begin)) as f64 / (transactions * model.each) as f64;
    let [short, long] = model.counts.map(|length| run(model, length));
    let transactions = match long.0.len() - short.0.len() {
        0 => model.counts[1] - model.counts[0],
        marks => marks as u64,
    };
    let difference = |of: fn(&Sums) -> u64| (of(&long.1) - of(&short.1)) as f64 / (transactions * model.each) as f64;
    [
        per(|sums| sums.user),
        per(|sums| sums.wakeups),
        per(|sums| sums.blocking),
        per(|sums| sums.preemptions),
        difference(|sums| sums.busy),
        difference(|sums| sums.switches),
    ]
}

/// Formats a count, with two digits after the point if it is small.
fn number(value: f64) -> String {
    if value >= 10.0 { format!("{value:.0}") } else { format!("{value:.2}") }
}

fn table() -> String {
    let text = std::fs::read_to_string(root().join("sheets/programs/transactions.tsv")).expect("there is the table");
    let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split('\t').collect()).collect();
    let mut table = format!(
        "| Program | Per transaction | {} | {} | Modelled | Ratio |\n|---|---|---|---|---|---|\n",
        KERNELS[0], KERNELS[1]
    );
    for model in models() {
        let values = modelled(&model);
        for ((quantity, column), value) in QUANTITIES.into_iter().zip(values) {
            let counted = KERNELS.map(|kernel| {
                let row = rows.iter().find(|row| row.len() > column && (row[0], row[1]) == (model.program, kernel));
                row.and_then(|row| row[column].parse::<f64>().ok())
            });
            let [first, second] = counted.map(|counted| counted.map_or_else(|| "-".to_owned(), number));
            // A quotient of rare events would be noise.
            let ratio = counted[0].filter(|counted| *counted >= 0.05);
            let ratio = ratio.map_or_else(|| "-".to_owned(), |counted| format!("{:.2}", value / counted));
            let _ = writeln!(
                table,
                "| {} | {quantity} | {first} | {second} | {} | {ratio} |",
                model.program,
                number(value)
            );
        }
    }
    table
}

#[test]
fn models_are_beside_recorded_programs_in_the_book() {
    let page = root().join("docs/book/src/validation/programs.md");
    let mut text = std::fs::read_to_string(&page).expect("the book has the page");
    let (begin, end) = ("<!-- table: programs -->\n\n", "\n<!-- end: programs -->");
    let from = text.find(begin).expect("the page has a place for the table") + begin.len();
    let to = from + text[from..].find(end).expect("the table has an end");
    let table = table();
    if std::env::var_os("FAIRLAB_BLESS").is_some() {
        text.replace_range(from..to, &table);
        std::fs::write(page, text).expect("the page can be written");
    } else {
        assert_eq!(table, text[from..to], "if a model or costs were to change, FAIRLAB_BLESS=1 writes the table");
    }
}
