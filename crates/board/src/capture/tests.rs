// SPDX-License-Identifier: GPL-2.0-or-later
use super::*;
use crate::parse;
use fairlab_sched::ids::CpuId;
use fairlab_workload::message::Message;
use std::io::Write;

/// Files of a small board: two small and two big CPUs, one of them offline; a governor, an idle state, two
/// kinds of caches.
fn board_files() -> Vec<(String, String)> {
    let mut files = Vec::new();
    let mut put = |path: &str, text: &str| files.push((path.to_owned(), format!("{text}\n")));
    put("sys/devices/system/cpu/online", "0-2");
    for cpu in 0..4 {
        let own = |file: &str| format!("sys/devices/system/cpu/cpu{cpu}/{file}");
        let (mates, capacity) = if cpu < 2 { ("0-1", "400") } else { ("2-3", "1000") };
        put(&own("topology/core_cpus_list"), &cpu.to_string());
        put(&own("topology/package_cpus_list"), "0-3");
        put(&own("topology/cluster_id"), "-1");
        put(&own("cache/index0/level"), "1");
        put(&own("cache/index0/type"), "Data");
        put(&own("cache/index0/shared_cpu_list"), &cpu.to_string());
        put(&own("cache/index1/level"), "2");
        put(&own("cache/index1/type"), "Unified");
        put(&own("cache/index1/shared_cpu_list"), mates);
        put(&own("cpu_capacity"), capacity);
        put(&own("cpuidle/state0/name"), "WFI");
        put(&own("cpuidle/state0/latency"), "1");
        put(&own("cpuidle/state0/residency"), "1");
    }
    put("sys/devices/system/cpu/cpufreq/policy0/related_cpus", "0 1");
    put("sys/devices/system/cpu/cpufreq/policy0/scaling_available_frequencies", "900000 500000 1400000");
    put("sys/devices/system/cpu/cpufreq/policy0/scaling_governor", "ondemand");
    put("sys/devices/system/cpu/cpufreq/policy0/cpuinfo_transition_latency", "4294967295");
    put("sys/devices/system/cpu/cpufreq/policy2/related_cpus", "2 3");
    put("sys/devices/system/cpu/cpufreq/policy2/cpuinfo_min_freq", "800000");
    put("sys/devices/system/cpu/cpufreq/policy2/cpuinfo_max_freq", "2000000");
    put("sys/devices/system/node/node0/cpulist", "0-3");
    put("sys/devices/system/node/node0/distance", "10");
    for (place, (khz, power)) in [(500_000, 10_000), (900_000, 30_000), (1_400_000, 90_000)].iter().enumerate() {
        let state = format!("sys/kernel/debug/energy_model/cpu0/ps:{place}");
        put(&format!("{state}/frequency"), &khz.to_string());
        put(&format!("{state}/power"), &power.to_string());
    }
    put("sys/kernel/debug/energy_model/cpu0/cpus", "0-1");
    put("sys/kernel/debug/sched/features", "GENTLE_FAIR_SLEEPERS NO_SIS_UTIL UNHEARD_OF");
    put("sys/kernel/debug/sched/migration_cost_ns", "250000");
    put("proc/sys/kernel/osrelease", "5.15.0-7-generic");
    put("boot/config-5.15.0-7-generic", "CONFIG_X=y\nCONFIG_HZ=300");
    put("proc/cpuinfo", "processor : 0\nmodel name : A \"board\"");
    files
}

fn assert_is_board(text: &str) {
    let machine = parse("board.toml", text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let topology = machine.topology();
    assert_eq!(topology.cpus.iter().map(|place| place.llc).collect::<Vec<_>>(), [0, 0, 1], "CPU 3 is offline");
    assert_eq!(topology.capacity, [409, 409, 1024]);
    assert_eq!((machine.hz().get(), machine.kernel()), (300, "5.15"));
    let domain = machine.frequency_domain(CpuId(0)).expect("a domain");
    assert_eq!(
        (domain.khz.as_slice(), domain.power_uw.as_deref()),
        (&[500_000, 900_000, 1_400_000][..], Some(&[10_000, 30_000, 90_000][..]))
    );
    assert_eq!(machine.frequency_domain(CpuId(2)).map(|domain| domain.khz.len()), Some(2));
    assert_eq!(machine.cpu_idle_states(CpuId(1)).map(|state| state.exit_latency.0).collect::<Vec<_>>(), [1000]);
    for part in [
        "--set migration_cost_ns=250000",
        "--features GENTLE_FAIR_SLEEPERS,NO_SIS_UTIL",
        "not modelled: UNHEARD_OF",
        "governor is ondemand, which is not modelled",
        "The driver has no table",
        "offline CPUs are left out: [3]",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn a_directory_and_its_archives_give_the_same_machine() {
    let directory = tempfile::tempdir().expect("a directory");
    let root = directory.path().join("root");
    let mut archive = tar::Builder::new(Vec::new());
    for (path, text) in board_files() {
        let own = root.join(&path);
        std::fs::create_dir_all(own.parent().expect("it lies in a folder")).expect("folders");
        std::fs::write(own, &text).expect("a file");
        let mut header = tar::Header::new_gnu();
        // tar packs sysfs files as a full page, filled with zeros.
        let text = format!("{text:\0<4096}");
        header.set_size(text.len() as u64);
        header.set_mode(0o644);
        archive.append_data(&mut header, format!("./host/{path}"), text.as_bytes()).expect("memory");
    }
    let plain = archive.into_inner().expect("memory");
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    let mut bzip = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
    gzip.write_all(&plain).and_then(|()| bzip.write_all(&plain)).expect("memory");
    let packed = [plain.clone(), gzip.finish().expect("memory"), bzip.finish().expect("memory")];
    let of_root = capture(&root, "board", false).unwrap_or_else(|error| panic!("{error}"));
    assert_is_board(&of_root);
    for bytes in packed {
        assert!(is_source(&bytes));
        assert_eq!(
            capture_file(&bytes, "board.tar", "board", false).unwrap_or_else(|error| panic!("{error}")),
            of_root
        );
        let file = directory.path().join("board.tar");
        std::fs::write(&file, bytes).expect("a file");
        assert_eq!(capture(&file, "board", false).unwrap_or_else(|error| panic!("{error}")), of_root);
    }
    let devices = capture(&root.join("sys/devices/system"), "board", false).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(parse("x", &devices).expect("it was checked").nr_cpus(), 3);
}

fn capture_text(text: &str) -> Result<String, Message> {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("file");
    std::fs::write(&file, text).expect("a file");
    capture(&file, "it", false)
}

#[test]
fn workloads_traces_and_pages_are_no_sources() {
    for text in
        ["", "{}", "{\"tasks\": {\"cpus\": []}}", "cpus 2\n", "# tracer: nop\n", "<!DOCTYPE html>\n<html>", "\u{1}"]
    {
        assert!(!is_source(text.as_bytes()), "{text}");
    }
    for text in ["{\"lscpu\": []}", " {\"cpus\": []}", "<?xml version=\"1.0\"?>\n<topology version=\"2.0\">"] {
        assert!(is_source(text.as_bytes()), "{text}");
    }
}

fn shape(text: &str) -> Vec<(u32, u32, u32, u32)> {
    let description = capture_text(text).unwrap_or_else(|error| panic!("{error}"));
    let machine = parse("it", &description).unwrap_or_else(|error| panic!("{error}\n{description}"));
    machine.topology().cpus.iter().map(|cpu| (cpu.core, cpu.llc, cpu.package, cpu.node)).collect()
}

#[test]
fn lscpu_gives_the_shape_from_its_list_and_from_its_summary() {
    let cpu = |cpu: u32, core: u32, l3: u32, online: bool| {
        format!(
            r#"{{"cpu": {cpu}, "node": {l3}, "socket": {l3}, "core": {core}, "l1d:l1i:l2:l3": "{core}:{core}:{core}:{l3}", "online": {online}}}"#
        )
    };
    let list = [cpu(0, 0, 0, true), cpu(1, 1, 1, true), cpu(2, 0, 0, true), cpu(3, 1, 1, true), cpu(4, 2, 1, false)];
    let expected = [(0, 0, 0, 0), (1, 1, 1, 1), (0, 0, 0, 0), (1, 1, 1, 1)];
    assert_eq!(shape(&format!(r#"{{"cpus": [{}]}}"#, list.join(","))), expected);
    let field = |name: &str, data: &str| format!(r#"{{"field": "{name}:", "data": "{data}"}}"#);
    let fields = [
        field("CPU(s)", "4"),
        field("Thread(s) per core", "2"),
        field("Socket(s)", "2"),
        format!(
            r#"{{"field": "Caches (sum of all):", "data": "", "children": [{}]}}"#,
            field("L3 cache", "2 MiB (2 instances)")
        ),
        field("NUMA node0 CPU(s)", "0,2"),
        field("NUMA node1 CPU(s)", "1,3"),
    ];
    assert_eq!(shape(&format!(r#"{{"lscpu": [{}]}}"#, fields.join(","))), expected);
}

#[test]
fn hwloc_gives_packages_caches_cores_and_distances() {
    let pu = |cpu: u32| format!("<object type=\"PU\" os_index=\"{cpu}\" cpuset=\"0x{:08x}\"/>", 1 << cpu);
    let package = |node: u32| {
        format!(
            "<object type=\"Package\" os_index=\"{node}\"><object type=\"NUMANode\" os_index=\"{node}\" cpuset=\"0x{:08x}\"/>\
             <object type=\"L3Cache\"><object type=\"L2Cache\"><object type=\"Core\">{}{}</object></object></object></object>",
            0b101 << node,
            pu(node),
            pu(node + 2)
        )
    };
    let xml = format!(
        "<?xml version=\"1.0\"?><!DOCTYPE topology SYSTEM \"hwloc2.dtd\"><topology version=\"2.0\"><object type=\"Machine\">{}{}</object>\
         <distances2 type=\"NUMANode\" nbobjs=\"2\" kind=\"5\" indexing=\"os\"><u64values length=\"11\">10 21 21 10 </u64values></distances2></topology>",
        package(0),
        package(1)
    );
    assert_eq!(shape(&xml), [(0, 0, 0, 0), (1, 1, 1, 1), (0, 0, 0, 0), (1, 1, 1, 1)]);
    let description = capture_text(&xml).expect("a machine");
    assert_eq!(parse("it", &description).expect("a machine").topology().distances, [[10, 21], [21, 10]]);
}

#[test]
fn what_is_no_source_is_refused_with_the_way_out() {
    for text in ["", "nonsense", "{", "{\"x\": 1}", "<html></html>", "<topology/>", "{\"cpus\": []}"] {
        let error = capture_text(text).expect_err(text).to_string();
        assert!(error.contains("help: "), "{error}");
    }
    let nothing = tempfile::tempdir().expect("a directory");
    assert!(capture(nothing.path(), "x", false).expect_err("it is empty").to_string().contains("has no CPUs"));
    assert!(parse_cpu_list("0-4294967295").is_empty() && parse_cpu_list("3-1,x").is_empty());
    assert_eq!(parse_cpu_list("0-2,8 9"), [0, 1, 2, 8, 9]);
}
