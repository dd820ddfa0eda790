// SPDX-License-Identifier: GPL-2.0-or-later
//! Round trips between CPUs at each distance, on processors whose cache-line latencies are published.
//!
//! The table is part of the book. `FAIRLAB_BLESS=1 cargo test -p fairlab-machine --test it distances` writes it.

use fairlab_board::{Distance, parse};
use fairlab_machine::hardware::Hardware;

use fairlab_machine::observer::Observer;
use fairlab_machine::sim::{Machine, Setup};
use fairlab_sched::ctx::PrevState;
use fairlab_sched::probe::{Event, SchedObserver};

use fairlab_sched::series::KernelSeries;
use fairlab_sched::units::Nanos;
use fairlab_workload::bench::micro::{Micro, MicroTest};
use std::fmt::Write;
use std::path::Path;

/// Processor with published latencies.
struct PublishedProcessor {
    name: &'static str,
    arch: &'static str,
    /// Entries of `[cpus]`.
    cpus: &'static str,
    /// One-way latencies of a cache line, in ns.
    line_ns: &'static [(Distance, u64)],
}

const PROCESSORS: [PublishedProcessor; 9] = [
    PublishedProcessor {
        name: "2 x Xeon E5-2680 v4",
        arch: "x86_64",
        cpus: "count = 56\nthreads_per_core = 2\ncores_per_llc = 14\ncores_per_package = 14",
        line_ns: &[(Distance::Core, 8), (Distance::Cache, 45), (Distance::System, 128)],
    },
    PublishedProcessor {
        name: "2 x Xeon Gold 6242",
        arch: "x86_64",
        cpus: "count = 64\nthreads_per_core = 2\ncores_per_llc = 16\ncores_per_package = 16",
        line_ns: &[(Distance::Core, 7), (Distance::Cache, 48), (Distance::System, 141)],
    },
    PublishedProcessor {
        name: "2 x Xeon 8375C",
        arch: "x86_64",
        cpus: "count = 128\nthreads_per_core = 2\ncores_per_llc = 32\ncores_per_package = 32",
        line_ns: &[(Distance::Core, 8), (Distance::Cache, 51), (Distance::System, 101)],
    },
    PublishedProcessor {
        name: "2 x Sapphire Rapids, 56 cores",
        arch: "x86_64",
        cpus: "count = 224\nthreads_per_core = 2\ncores_per_llc = 56\ncores_per_package = 56",
        line_ns: &[(Distance::Core, 8), (Distance::Cache, 65), (Distance::System, 140)],
    },
    PublishedProcessor {
        name: "2 x EPYC 7742",
        arch: "x86_64",
        cpus: "count = 256\nthreads_per_core = 2\ncores_per_llc = 4\ncores_per_package = 64",
        line_ns: &[(Distance::Core, 8), (Distance::Cache, 25), (Distance::Package, 121), (Distance::System, 267)],
    },
    PublishedProcessor {
        name: "2 x EPYC 7R13",
        arch: "x86_64",
        cpus: "count = 192\nthreads_per_core = 2\ncores_per_llc = 8\ncores_per_package = 48",
        line_ns: &[(Distance::Core, 10), (Distance::Cache, 23), (Distance::Package, 107), (Distance::System, 197)],
    },
    PublishedProcessor {
        name: "EPYC 7773X",
        arch: "x86_64",
        cpus: "count = 128\nthreads_per_core = 2\ncores_per_llc = 8\ncores_per_package = 64",
        line_ns: &[(Distance::Core, 10), (Distance::Cache, 26), (Distance::Package, 117)],
    },
    PublishedProcessor {
        name: "Kunpeng 920-6426",
        arch: "arm64",
        cpus: "count = 64\ncores_per_cluster = 4\ncores_per_llc = 32\ncores_per_package = 64",
        line_ns: &[(Distance::Cluster, 34), (Distance::Cache, 36), (Distance::Package, 80)],
    },
    PublishedProcessor { name: "Graviton 3", arch: "arm64", cpus: "count = 64", line_ns: &[(Distance::Cache, 46)] },
];

/// Rounds that are left out, because the first ones differ, and rounds in all.
const ROUNDS: [u64; 2] = [300, 600];
const CHANNELS: [&str; 4] = ["futex", "pipe", "unix", "tcp"];

/// Returns a machine file that has the facts of all processors except for their latencies.
fn file(arch: &str, cpus: &str, line_ns: &[(Distance, u64)]) -> String {
    let fact = |key: &str, value: u64| format!("{key} = {{ value = {value}, source = \"test\" }}\n");
    let lines: String = line_ns.iter().map(|(distance, ns)| fact(distance.name(), *ns)).collect();
    let own = fact("instructions_per_us", 2200) + &fact("line_share_percent", 20);
    format!(
        "name = \"x\"\npreemption = \"voluntary\"\n[cpus]\n{cpus}\n[processor]\nsheet = \"6.12-{arch}\"\n{own}[processor.line_ns]\n{lines}"
    )
}

/// Time of the last exit of a task.
#[derive(Default)]
struct LastExit(Nanos);

impl SchedObserver for LastExit {
    fn event(&mut self, now: Nanos, event: &Event<'_>) {
        if let Event::Switch { prev_state: PrevState::Dead, .. } = event {
            self.0 = now;
        }
    }
}

impl Observer for LastExit {}

/// Duration of a round trip in nanoseconds.
fn round_ns(hardware: &Hardware, test: MicroTest, cpus: [u32; 2]) -> f64 {
    let end = |rounds: u64| {
        let workload = Micro::new(test, rounds, cpus).workload();
        let setup = Setup::new(KernelSeries::V6_1, hardware.clone(), workload, Nanos::from_secs(10));
        let mut machine = Machine::new(setup).expect("the machine is possible");
        let mut last = LastExit::default();
        machine.run(&mut last).expect("the tasks make progress");
        last.0.0
    };
    let [first, last] = ROUNDS;
    (end(last) - end(first)) as f64 / (last - first) as f64
}

fn table() -> String {
    let mut text = String::from(
        "| Processor | Distance | Line, published, ns | futex | pipe | unix | TCP | pipe, beside the nearest |\n|---|---|---|---|---|---|---|---|\n",
    );
    for PublishedProcessor { name, arch, cpus, line_ns } in PROCESSORS {
        let machine = parse("x.toml", &file(arch, cpus, line_ns)).unwrap_or_else(|error| panic!("{name}: {error}"));
        let hardware = Hardware::from_description(&machine);
        let places = &hardware.topology.cpus;
        let mut nearest = None;
        for (distance, ns) in line_ns {
            let at = |place: &_| Distance::between(&places[0], place) == *distance;
            let peer = 1 + places[1..].iter().position(at).expect("the machine has the distance");
            let rounds = CHANNELS.map(|channel| {
                let test = MicroTest::from_name(&format!("pingpong-{channel}-2cpus")).expect("it is a test");
                round_ns(&hardware, test, [0, peer as u32])
            });
            let of_nearest = rounds[1] / *nearest.get_or_insert(rounds[1]);
            let [futex, pipe, unix, tcp] = rounds.map(|ns| format!("{:.1}", ns / 1000.0));
            let _ = writeln!(
                text,
                "| {name} | {} | {ns} | {futex} | {pipe} | {unix} | {tcp} | {of_nearest:.2} |",
                distance.name()
            );
        }
    }
    text
}

#[test]
fn round_trips_at_each_distance_are_in_the_book() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/book/src/validation/distances.md");
    let text = std::fs::read_to_string(&page).expect("the book has the page");
    let (begin, end) = ("<!-- table -->\n\n", "\n<!-- end -->");
    let from = text.find(begin).expect("the page has a place for the table") + begin.len();
    let to = from + text[from..].find(end).expect("the table has an end");
    let table = table();
    if std::env::var_os("FAIRLAB_BLESS").is_some() {
        std::fs::write(page, format!("{}{table}{}", &text[..from], &text[to..])).expect("the page can be written");
    } else {
        assert_eq!(table, text[from..to], "if costs were to change, FAIRLAB_BLESS=1 writes the table");
    }
}
