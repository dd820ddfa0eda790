// SPDX-License-Identifier: GPL-2.0-or-later
//! Tests of machine files: their content, the presets, and writing.

use fairlab_board::{
    FrequencyGovernor, Hz, KERNEL_PROFILES, MachineDescription, OPERATIONS, SHEETS, describe, load, parse, preset,
    preset_text, presets,
};
use fairlab_sched::ids::CpuId;
use fairlab_sched::topology::TopologyLevel::{All, Cluster, Mc, Package, Smt};
use fairlab_sched::units::Nanos;
use proptest::prelude::*;

fn machine(text: &str) -> MachineDescription {
    parse("x.toml", text).unwrap_or_else(|error| panic!("{error}"))
}

fn preset_machine(name: &str) -> MachineDescription {
    preset(name).unwrap_or_else(|| panic!("there is no {name}"))
}

#[test]
fn the_smallest_file_gives_an_idealised_machine() {
    let machine = machine("name = \"x\"\n[cpus]\ncount = 4\n");
    let topology = machine.topology();
    assert_eq!(topology.levels, [Mc, All]);
    assert_eq!(topology.capacity, [1024; 4]);
    assert_eq!(topology.distances, [[10]]);
    let places: Vec<_> = topology.cpus.iter().map(|p| (p.core, p.cluster, p.llc, p.package, p.node)).collect();
    assert_eq!(places, [(0, 0, 0, 0, 0), (1, 1, 0, 0, 0), (2, 2, 0, 0, 0), (3, 3, 0, 0, 0)]);
    assert_eq!((machine.hz(), machine.kernel(), machine.scale_work()), (Hz::DEFAULT, "6.12", true));
    assert_eq!((machine.tick_skew(), machine.ipi_latency()), (Nanos::ZERO, Nanos::ZERO));
    assert!(!machine.polling_idle() && preset_machine("xeon-2s-224").polling_idle());
    assert!(machine.frequency_domain(CpuId(0)).is_none() && machine.idle_states().is_empty());
    assert!(machine.processor().is_none() && machine.interrupt_loads().is_empty());
}

#[test]
fn the_tick_is_the_kernels_tick_nsec() {
    let ticks = [100, 250, 300, 1000].map(|hz| Hz::new(hz).expect("configurable").tick().0);
    assert_eq!(ticks, [10_000_000, 4_000_000, 3_333_333, 1_000_000]);
}

#[test]
fn threads_last_makes_cpu_i_and_i_plus_half_siblings() {
    let topology = preset_machine("xeon-2s-224").topology();
    assert_eq!(topology.cpus.len(), 224);
    for cpu in 0..112 {
        assert_eq!(topology.cpus[cpu], topology.cpus[cpu + 112], "cpu {cpu}");
        assert_eq!((topology.cpus[cpu].core, topology.cpus[cpu].node), (cpu as u32, cpu as u32 / 56));
    }
    assert_eq!(topology.levels, [Smt, Mc, Package]);
}

#[test]
fn core_major_makes_neighbours_siblings() {
    let topology = machine("name = \"x\"\n[cpus]\ncount = 4\nthreads_per_core = 2\n").topology();
    assert_eq!(topology.cpus.iter().map(|place| place.core).collect::<Vec<_>>(), [0, 0, 1, 1]);
    assert_eq!(topology.levels, [Smt, Mc, All]);
}

#[test]
fn levels_between_packages_and_nodes_follow_from_how_they_lie() {
    let levels = |more: &str| machine(&format!("name = \"x\"\n[cpus]\ncount = 16\n{more}")).topology().levels;
    assert_eq!(levels("cores_per_llc = 4\ncores_per_package = 8\ncores_per_node = 8"), [Mc, Package]);
    assert_eq!(levels("cores_per_llc = 4\ncores_per_package = 8"), [Mc, All]);
    assert_eq!(levels("cores_per_llc = 4\ncores_per_package = 8\ncores_per_node = 4"), [Mc]);
    assert_eq!(levels("cores_per_cluster = 4"), [Cluster, Mc, All]);
    assert_eq!(levels("levels = [\"mc\"]"), [Mc]);
}

#[test]
fn an_irregular_machine_is_given_cpu_by_cpu() {
    let machine = machine(
        "name = \"x\"\n[cpus]\ncount = 6\ncore = [0, 0, 1, 1, 2, 3]\nllc = [0, 0, 0, 0, 1, 1]\n\
         [[cpu_type]]\nname = \"P\"\ncpus = \"0-3\"\ncapacity = 1024\n\
         [[cpu_type]]\nname = \"E\"\ncpus = \"4-5\"\ncapacity = 600\n",
    );
    let topology = machine.topology();
    assert_eq!(topology.capacity, [1024, 1024, 1024, 1024, 600, 600]);
    assert_eq!(topology.cpus.iter().map(|place| place.llc).collect::<Vec<_>>(), [0, 0, 0, 0, 1, 1]);
    assert_eq!((machine.cpu_type(CpuId(5)).name.as_str(), machine.capacity(CpuId(0))), ("E", 1024));
    assert_eq!(machine, parse("again.toml", &machine.to_toml()).expect("what is written can be read"));
}

#[test]
fn schedutils_rate_limit_follows_the_kernels_rule() {
    let limit = |more: &str| {
        let text = format!("name = \"x\"\n[cpus]\ncount = 1\n[[frequency_domain]]\ncpus = \"0\"\nkhz = [1000]\n{more}");
        machine(&text).frequency_domains()[0].rate_limit_us()
    };
    assert_eq!(limit(""), 1_000);
    assert_eq!(limit("transition_latency_ns = 999"), 1_000);
    assert_eq!(limit("transition_latency_ns = 5_000"), 5_000);
    assert_eq!(limit("transition_latency_ns = 300_000"), 10_000);
    assert_eq!(limit("transition_latency_ns = 300_000\nrate_limit_us = 0"), 0);
}

#[test]
fn hikey960_has_the_capacities_and_frequencies_of_its_device_tree() {
    let machine = preset_machine("hikey960");
    assert_eq!(machine.topology().capacity, [462, 462, 462, 462, 1024, 1024, 1024, 1024]);
    let little = machine.frequency_domain(CpuId(3)).expect("it has one");
    assert_eq!((little.max_khz(), little.governor), (1_844_000, FrequencyGovernor::Schedutil));
    assert_eq!(little.freq_scale(533_000), 295);
    let states: Vec<&str> = machine.cpu_idle_states(CpuId(7)).map(|state| state.name.as_str()).collect();
    assert_eq!(states, ["WFI", "cpu-sleep-1"]);
}

#[test]
fn sc7180_has_one_cache_and_two_capacities() {
    let topology = preset_machine("sc7180").topology();
    assert_eq!(topology.capacity, [452, 452, 452, 452, 452, 452, 1024, 1024]);
    assert!(topology.cpus.iter().all(|place| place.llc == 0));
}

#[test]
fn epyc_has_caches_of_sixteen_cpus() {
    let topology = preset_machine("epyc-16llc").topology();
    let nr_llcs = 1 + topology.cpus.iter().map(|place| place.llc).max().expect("CPUs");
    assert_eq!((topology.cpus.len(), nr_llcs), (256, 16));
    for llc in 0..nr_llcs {
        assert_eq!(topology.cpus.iter().filter(|place| place.llc == llc).count(), 16);
    }
}

#[test]
fn presets_are_found_by_their_own_names() {
    let names: Vec<String> = presets().map(|machine| machine.name().to_owned()).collect();
    assert_eq!(
        names,
        [
            "hikey",
            "hikey960",
            "phone-8",
            "sc7180",
            "xeon-1s-112",
            "xeon-2s-224",
            "xeon-4s-192",
            "xeon-2s-104",
            "thunderx2-224",
            "epyc-16llc",
            "epyc-1s-256",
            "laptop-8",
            "uniprocessor"
        ]
    );
    for name in names {
        let machine = load(&name).expect("a preset");
        assert_eq!(machine.name(), name);
        assert!(!machine.description().is_empty() && !machine.source().is_empty(), "{name}");
        assert!(preset_text(&name).expect("its file").starts_with("# SPDX-License-Identifier"), "{name}");
    }
}

#[test]
fn a_preset_written_and_read_again_is_the_same_machine() {
    for machine in presets() {
        let text = machine.to_toml();
        assert_eq!(parse("again.toml", &text).as_ref(), Ok(&machine), "{text}");
    }
}

#[test]
fn what_is_written_for_a_regular_machine_fits_on_a_screen() {
    let text = preset_machine("xeon-2s-224").to_toml();
    assert!(text.contains("numbering = \"threads-last\"") && text.contains("cores_per_llc = 56"), "{text}");
    let shape = text.split("[[idle_state]]").next().expect("there is a first part");
    assert!(shape.lines().count() < 60, "{text}");
}

#[test]
fn the_page_draws_the_topology() {
    let page = describe(&preset_machine("laptop-8"));
    let drawing = "
  +- LLC 0 -----------------+
  | [0 4] [1 5] [2 6] [3 7] |
  +-------------------------+
";
    assert!(page.contains(drawing), "{page}");
    let page = describe(&preset_machine("hikey960"));
    let drawing = "\
  +- LLC 0, Cortex-A53 (capacity 462) -+ +- LLC 1, Cortex-A73 (capacity 1024) -+
  | [0] [1] [2] [3]                    | | [4] [5] [6] [7]                     |
  +------------------------------------+ +-------------------------------------+
";
    assert!(page.contains(drawing), "{page}");
    assert!(page.contains(" 533000       133     28728"), "{page}");
}

#[test]
fn the_books_examples_are_valid_machines() {
    let book = include_str!("../../../../docs/book/src/reference/machine-files.md");
    let examples: Vec<&str> =
        book.split("```toml\n").skip(1).map(|rest| rest.split("```").next().expect("it has an end")).collect();
    assert!(examples.len() >= 2);
    for example in examples {
        machine(example);
    }
    for operation in OPERATIONS {
        assert!(book.contains(&format!("`{operation}`")), "the book does not explain {operation}");
    }
}

#[test]
fn a_machine_is_loaded_from_a_file() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../machines/hikey.toml");
    assert_eq!(load(path).expect("a preset's file"), preset_machine("hikey"));
}

#[test]
fn pages_are_plain_text_of_readable_width() {
    for machine in presets() {
        let page = describe(&machine);
        assert!(page.is_ascii() && page.ends_with('\n'), "{page}");
        assert!(page.lines().all(|line| line.len() <= 110 && line.trim_end() == line), "{page}");
    }
}

/// Returns a machine file that uses every table.
fn full(hz: u64, threads: usize, cores: usize, llcs: usize, nodes: usize, is_last: bool, price: u64) -> String {
    let count = threads * cores * llcs * nodes;
    let numbering = if is_last { "threads-last" } else { "core-major" };
    let last = KERNEL_PROFILES[count % KERNEL_PROFILES.len()];
    format!(
        "name = \"m{count}\"\ndescription = \"a \\\"quoted\\\" text\\n\"\nkernel = \"{last}\"\nhz = {hz}\n\
         [cpus]\ncount = {count}\nthreads_per_core = {threads}\nnumbering = \"{numbering}\"\n\
         cores_per_llc = {cores}\ncores_per_package = {}\ncores_per_node = {}\n\
         [[frequency_domain]]\ncpus = \"0-{}\"\nkhz = [{hz}, {}]\npower_uw = [1, {hz}]\ngovernor = \"fixed\"\n\
         fixed_khz = {hz}\nrate_limit_us = {price}\n\
         [[idle_state]]\nname = \"C1\"\nexit_latency_ns = {price}\n\
         exit_typical_ns = {}\nentry_latency_ns = {}\ntarget_residency_ns = {hz}\npower_uw = 0\n\
         [[interrupt_load]]\nname = \"eth0\"\ncpus = \"0\"\nperiod_ns = 1_000_000\nduration_ns = {hz}\n\
         [[steal]]\nname = \"host\"\nperiod_ns = 10_000_000\nduration_ns = {hz}\n\
         [[frequency_limit]]\nat_ns = {price}\nreason = \"thermal\"\npart = 512\n\
         [processor]\nsheet = \"{}\"\n\
         instructions_per_us = {{ value = 1000, min = 500, max = {}, source = \"a 'source'\" }}\n\
         line_share_percent = {{ value = 20, source = \"made up\" }}\n\
         [processor.line_ns]\ncore = {{ value = {threads}, source = \"made up\" }}\n\
         llc = {{ value = 50, source = \"made up\" }}\npackage = {{ value = 70, source = \"made up\" }}\nsystem = {{ value = 90, source = \"made up\" }}\n",
        cores * llcs,
        cores * llcs,
        count - 1,
        hz + 1,
        price / 3,
        price / 4,
        SHEETS[count % SHEETS.len()],
        1000 + price / 2,
    )
}

fn machine_files() -> impl Strategy<Value = String> {
    let hz = prop::sample::select(vec![100, 250, 300, 1000]);
    (hz, 1..=4usize, 1..=5usize, 1..=3usize, 1..=4usize, any::<bool>(), 0..100_000u64).prop_map(
        |(hz, threads, cores, llcs, nodes, is_last, price)| full(hz, threads, cores, llcs, nodes, is_last, price),
    )
}

/// Generates machine files with random damage.
fn mutated_files() -> impl Strategy<Value = String> {
    let originals: Vec<String> = presets().map(|machine| machine.to_toml()).collect();
    let original = prop_oneof![prop::sample::select(originals), machine_files()];
    let pieces =
        vec!["0", "-1", "99999999999", "1.5", "\"", "[", "]", "=", "\n", "[[cpu_type]]", "all", "{", "cpus", "é"];
    let edit = (any::<prop::sample::Index>(), 0..20usize, prop::sample::select(pieces));
    (original, prop::collection::vec(edit, 1..6)).prop_map(|(mut text, edits)| {
        for (at, removed, piece) in edits {
            let letters: Vec<char> = text.chars().collect();
            let start = at.index(letters.len() + 1);
            let end = (start + removed).min(letters.len());
            text =
                letters[..start].iter().copied().chain(piece.chars()).chain(letters[end..].iter().copied()).collect();
        }
        text
    })
}

proptest! {
    #[test]
    fn a_machine_written_and_read_again_is_the_same(text in machine_files()) {
        let machine = parse("x.toml", &text).map_err(|error| TestCaseError::fail(error.to_string()))?;
        prop_assert_eq!(parse("again.toml", &machine.to_toml()), Ok(machine));
    }

    #[test]
    fn a_mutated_file_gives_a_machine_or_an_error_but_no_panic(text in mutated_files()) {
        match parse("x.toml", &text) {
            Ok(machine) => {
                describe(&machine);
                prop_assert_eq!(parse("again.toml", &machine.to_toml()), Ok(machine));
            }
            Err(error) => {
                let line = error.place.as_ref().and_then(|place| place.line).expect("an error of a file has a line") as usize;
                prop_assert!(line >= 1 && line <= text.lines().count() + 1);
                prop_assert!(!error.text.is_empty() && error.help.is_some_and(|help| !help.is_empty()));
            }
        }
    }
}

const BOARD: &str = "name = \"board\"\nbase = \"hikey960\"\nhz = 1000\n";

#[test]
fn a_machine_inherits_what_its_file_does_not_say() {
    let (board, base) = (parse("board.toml", BOARD).expect("valid"), preset_machine("hikey960"));
    assert_eq!((board.name(), board.hz().get(), board.nr_cpus()), ("board", 1000, 8));
    assert_eq!(board.idle_states(), base.idle_states());
    assert_eq!(board.frequency_domains(), base.frequency_domains());
    assert_eq!(
        board.source(),
        format!("of its base hikey960: {}", base.source()),
        "its own numbers have another source"
    );
    assert!(board.processor().is_some() && board.processor() == base.processor());
    // A written file has no base.
    assert_eq!(parse("again.toml", &board.to_toml()), Ok(board));
}

#[test]
fn a_board_of_three_kinds_of_cpus_takes_facts_from_another_one() {
    let file = "name = \"4-3-1\"\nbase = \"hikey960\"\n[cpus]\ncount = 8\n\
        [[cpu_type]]\nname = \"little\"\ncpus = \"0-3\"\ncapacity = 300\n\
        [[cpu_type]]\nname = \"big\"\ncpus = \"4-6\"\ncapacity = 800\n\
        [[cpu_type]]\nname = \"prime\"\ncpus = \"7\"\ncapacity = 1024\n";
    let own_domains = "[[frequency_domain]]\ncpus = \"0-3\"\nkhz = [500_000, 1_800_000]\n\
        [[frequency_domain]]\ncpus = \"4-6\"\nkhz = [700_000, 2_400_000]\n\
        [[frequency_domain]]\ncpus = \"7\"\nkhz = [800_000, 2_800_000]\n";
    let board = parse("board.toml", &format!("{file}{own_domains}")).expect("valid");
    assert_eq!(board.cpu_types().len(), 3);
    assert_eq!(board.processor(), preset_machine("hikey960").processor());
    // Inherited parts must fit the machine.
    let error = parse("board.toml", file).expect_err("the base's domains mix capacities").to_string();
    assert!(error.starts_with("base hikey960:") && error.contains("inherited by board.toml"), "{error}");
    assert!(error.contains("add `frequency_domain` to the file"), "{error}");
}

#[test]
fn bases_are_files_too_from_where_the_file_lies_and_may_not_go_in_circles() {
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).expect("it can be written");
    write("near.toml", "name = \"near\"\nbase = \"far.toml\"\nhz = 300\n");
    write("far.toml", "name = \"far\"\nbase = \"hikey\"\nhz = 100\nipi_ns = 7\n");
    write("circle.toml", "name = \"circle\"\nbase = \"circle.toml\"\n");
    write("lost.toml", "name = \"lost\"\nbase = \"hickey960\"\n");
    let read = |name: &str| load(folder.path().join(name).to_str().expect("a plain path"));
    let near = read("near.toml").expect("valid");
    assert_eq!((near.hz().get(), near.ipi_latency().0, near.nr_cpus()), (300, 7, 8));
    write("one.toml", "name = \"one\"\nbase = \"two.toml\"\n");
    write("two.toml", "name = \"two\"\nbase = \"one.toml\"\n");
    for (file, circle) in
        [("circle.toml", "circle.toml, which"), ("one.toml", "two.toml, which is based on one.toml, which")]
    {
        let error = read(file).expect_err("a circle").to_string();
        assert!(error.contains(&format!("{file}:2: base: the bases form a cycle: {circle}")), "{error}");
        assert!(error.contains("help: let one of them"), "{error}");
    }
    let error = read("lost.toml").expect_err("no such base").to_string();
    assert!(error.contains("lost.toml:2: base") && error.contains("`hickey960`"), "{error}");
    assert!(error.contains("help: did you mean `hikey960`"), "{error}");
    write("unit.toml", "name = \"unit\"\nbase = \"hikey960\"\n[[frequency_domain]]\nrate_limit_us = \"2ms\"\n");
    let error = read("unit.toml").expect_err("a number").to_string();
    assert!(error.contains("unit.toml:4") && error.contains("help: write a whole number of microseconds"), "{error}");
}
