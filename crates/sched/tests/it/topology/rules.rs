// SPDX-License-Identifier: GPL-2.0-or-later
//! Rules that hold for the domains of every machine, and descriptions that are rejected.

use super::RULES;
use super::machine::{data, flat, parse, read_zst};
use fairlab_sched::cpumask::CpuMask;
use fairlab_sched::ids::CpuId;
use fairlab_sched::topology::{
    BuildError, BuildParams, DomainId, MachineTopology, NumaTopologyType, SchedDomains, SdFlags, build_sched_domains,
};

fn build(scenario: &str) -> SchedDomains {
    build_sched_domains(&parse(scenario), &BuildParams::new(RULES)).expect("the machine is well described")
}

fn refusal(machine: &MachineTopology) -> BuildError {
    build_sched_domains(machine, &BuildParams::new(RULES)).expect_err("the machine is badly described")
}

/// Returns a machine of the largest allowed size: 16 nodes in two sockets, caches of 16 CPUs, two threads per
/// core.
fn huge() -> MachineTopology {
    let mut distances = vec!["dist 16".to_owned()];
    for a in 0..16 {
        let distance = |b| {
            if a == b {
                10
            } else if a / 8 == b / 8 {
                12
            } else {
                32
            }
        };
        distances.extend((0..16).map(|b| distance(b).to_string()));
    }
    parse(&format!("cpus 4096\ntopo smt=2 llc=16 pkg=256 node=256\nlevels SMP\n{}", distances.join(" ")))
}

/// Checks the domain of one CPU and its ring.
fn check_domain(sds: &SchedDomains, id: DomainId) {
    let sd = &sds.domains[id];
    assert!(sd.span.contains(sd.cpu));
    assert_eq!(sd.span.weight(), sd.span_weight as usize);
    if let Some(parent) = sd.parent.map(|parent| &sds.domains[parent]) {
        assert_eq!((parent.cpu, parent.child), (sd.cpu, Some(id)));
        assert!(sd.span.is_subset_of(&parent.span) && sd.level < parent.level);
    }
    let mut covered = CpuMask::new(sd.span.nr_cpus());
    for group in sds.ring(id).map(|group| &sds.groups[group]) {
        assert!(sd.flags.contains(SdFlags::OVERLAP) || !group.span.intersects(&covered), "groups overlap");
        assert_eq!(group.span.weight(), group.group_weight as usize);
        assert_eq!(group.balance_mask.first(), Some(group.balance_cpu));
        assert!(group.balance_mask.is_subset_of(&group.span));
        assert_eq!(sds.capacities[group.capacity].id, group.balance_cpu);
        covered.or_with(&group.span);
    }
    assert_eq!(covered, sd.span, "groups cover the span");
    let own = &sds.groups[sd.groups];
    assert!(own.span.contains(sd.cpu) && own.balance_mask.contains(sd.cpu));
}

fn check_machine(sds: &SchedDomains) {
    for id in sds.domains.ids() {
        check_domain(sds, id);
    }
    for (cpu, cached) in sds.cpus.iter().enumerate() {
        let cpu = CpuId::from_index(cpu);
        let chain: Vec<_> = sds.chain(cpu).collect();
        assert!(chain.iter().all(|&sd| sds.domains[sd].cpu == cpu));
        assert_eq!(chain.first().copied(), cached.base);
        if let Some(llc) = cached.sd_llc {
            assert_eq!(sds.domains[llc].shared, cached.sd_llc_shared);
            assert_eq!(sds.domains[llc].span.first(), Some(cached.sd_llc_id));
            assert!(sds.domains[llc].span.iter().all(|other| sds.cpus_share_cache(cpu, other)));
        }
    }
}

#[test]
fn chains_and_rings_of_machines_of_any_shape_are_sound() {
    for recording in read_zst(&data("shapes.txt.zst")).split_terminator("\nend\n") {
        check_machine(&build(recording.split_once("\ndomains\n").expect("a line says domains").0));
    }
}

#[test]
fn a_machine_of_4096_cpus_shares_its_groups() {
    let sds = build_sched_domains(&huge(), &BuildParams::new(RULES)).expect("the machine is well described");
    let names: Vec<_> = sds.chain(CpuId(4095)).map(|sd| sds.domains[sd].name).collect();
    assert_eq!(names, ["SMT", "MC", "PKG", "NUMA", "NUMA"]);
    assert_eq!(sds.domains.len(), 5 * 4096);
    // Threads, cores of caches, caches of packages; nodes of sockets; two sockets that do not overlap.
    assert_eq!(sds.groups.len(), 4096 + 2048 + 256 + 2 * 8 + 2);
    assert_eq!(sds.shared.len(), 2048 + 256);
    for cpu in [0, 1, 17, 2048, 4095] {
        sds.chain(CpuId(cpu)).for_each(|sd| check_domain(&sds, sd));
    }
}

#[test]
fn a_machine_of_one_cpu_has_no_domains() {
    let sds = build("cpus 1");
    assert!(sds.domains.is_empty());
    let cached = sds.cpus[CpuId(0)];
    assert_eq!((cached.base, cached.sd_llc, cached.sd_llc_size, cached.sd_llc_id), (None, None, 1, CpuId(0)));
}

#[test]
fn domains_start_in_the_state_of_sd_init() {
    let params = BuildParams { jiffies: 249, ..BuildParams::new(RULES) };
    let sds = build_sched_domains(&flat(8), &params).expect("the machine is well described");
    let sd = &sds.domains[sds.cpus[CpuId(3)].base.expect("eight cpus have a domain")];
    assert_eq!((sd.last_balance, sd.last_decay_max_lb_cost, sd.balance_interval), (249, 249, 8));
    assert_eq!((sd.newidle_call, sd.newidle_success, sd.newidle_ratio), (512, 256, 512));
    assert_eq!((sd.nr_balance_failed, sd.max_newidle_lb_cost, sd.avg_scan_cost), (0, 0, 0));
    let shared = sds.shared[sd.shared.expect("a cache is shared")];
    assert_eq!((shared.nr_busy_cpus, shared.has_idle_cores, shared.nr_idle_scan), (8, false, 0));
    // 8 ms are 2 jiffies.
    assert_eq!(sds.capacities[sds.groups[sd.groups].capacity].next_update, 251);
    assert_eq!((sds.root.max_cpu_capacity, sds.root.overload, sds.root.overutilized), (1024, false, false));
}

#[test]
fn cpus_without_a_domain_of_some_level_keep_their_own_pointers() {
    // The third core has only one thread.
    let sds = build("cpus 5\nsmtmap 0 0 1 1 2\nlevels SM");
    assert!(sds.smt_present);
    let names = |cpu| sds.chain(CpuId(cpu)).map(|sd| sds.domains[sd].name).collect::<Vec<_>>();
    assert_eq!(names(0), ["SMT", "MC"]);
    assert_eq!(names(4), ["MC"]);
    let base = &sds.domains[sds.cpus[CpuId(4)].base.expect("a domain")];
    assert_eq!((base.child, base.level), (None, 1));
    assert_eq!(sds.groups[base.groups].flags, SdFlags::EMPTY, "no domain below stands for the group any more");
    assert_eq!(sds.cores.mask_of(CpuId(3)).to_string(), "2-3");
}

#[test]
fn capacities_of_every_kind_make_a_domain_full_and_fewer_do_not() {
    let sds = build("cpus 8\ntopo llc=4 pkg=8\ncaps 446 446 446 446 446 1024 1024 1024\nlevels MP");
    let flags = |cpu| sds.chain(CpuId(cpu)).map(|sd| sds.domains[sd].flags).collect::<Vec<_>>();
    let (asym, full) = (SdFlags::ASYM_CPUCAPACITY, SdFlags::ASYM_CPUCAPACITY_FULL);
    assert!(!flags(0)[0].intersects(asym | full) && flags(0)[1].contains(asym | full));
    assert!(flags(4)[0].contains(asym | full));
    assert!(!flags(0)[0].contains(SdFlags::PREFER_SIBLING), "the domain above differs in capacity");
    assert_eq!(sds.cpus[CpuId(0)].sd_asym_cpucapacity, sds.chain(CpuId(0)).nth(1));
    assert_eq!(sds.cpus[CpuId(4)].sd_asym_cpucapacity, sds.cpus[CpuId(4)].base);
    assert!(sds.asym_cpucapacity);
}

#[test]
fn nothing_is_placed_beyond_the_reclaim_distance() {
    let machine = parse("cpus 4\ntopo llc=2 pkg=2 node=2\nlevels M\ndist 2 10 32 32 10");
    let place = SdFlags::BALANCE_EXEC | SdFlags::BALANCE_FORK | SdFlags::WAKE_AFFINE;
    for (node_reclaim_distance, placed) in [(30, false), (32, true)] {
        let params = BuildParams { node_reclaim_distance, ..BuildParams::new(RULES) };
        let sds = build_sched_domains(&machine, &params).expect("the machine is well described");
        let numa = &sds.domains[sds.cpus[CpuId(0)].sd_numa.expect("two nodes")];
        assert_eq!(numa.flags.intersects(place), placed);
    }
}

#[test]
fn preferred_cpus_are_packed_first() {
    let params = BuildParams { asym_priority: Some(vec![3, 3, 9, 9, 5, 5, 1, 1]), ..BuildParams::new(RULES) };
    let machine = parse("cpus 8\ntopo smt=2 llc=8 pkg=8\nlevels SMP");
    let sds = build_sched_domains(&machine, &params).expect("the machine is well described");
    let mc = sds.cpus[CpuId(0)].sd_asym_packing.expect("smt and mc have the flag");
    assert_eq!(sds.domains[mc].name, "MC");
    let preferred: Vec<_> = sds.ring(mc).map(|group| sds.groups[group].asym_prefer_cpu.0).collect();
    assert_eq!(preferred, [0, 2, 4, 6]);
}

#[test]
fn cpus_that_are_not_in_use_are_in_no_domain() {
    let online = CpuMask::from_cpus(8, [0, 1, 4, 5, 6, 7].map(CpuId));
    let params = BuildParams { online: Some(online.clone()), ..BuildParams::new(RULES) };
    let machine = parse("cpus 8\ntopo smt=2 llc=4 pkg=8\nlevels SMP");
    let sds = build_sched_domains(&machine, &params).expect("the machine is well described");
    check_machine(&sds);
    assert_eq!(sds.cpus[CpuId(2)].base, None);
    assert_eq!(sds.root.span, online);
    let spans: Vec<_> = sds.chain(CpuId(0)).map(|sd| sds.domains[sd].span.to_string()).collect();
    assert_eq!(spans, ["0-1", "0-1,4-7"]);
}

#[test]
fn the_kind_of_numa_machine_is_recognised() {
    let kind = |dist: &str| {
        let nodes = dist.split(' ').next().unwrap();
        build(&format!("cpus {nodes}\ntopo llc=1 pkg=1 node=1\nlevels M\ndist {dist}")).numa_topology
    };
    assert_eq!(kind("2 10 20 20 10"), NumaTopologyType::Direct);
    assert_eq!(kind("3 10 15 20 15 10 15 20 15 10"), NumaTopologyType::GluelessMesh);
    assert_eq!(kind("4 10 15 20 20 15 10 20 20 20 20 10 15 20 20 15 10"), NumaTopologyType::Backplane);
}

#[test]
fn a_bad_description_is_refused_with_its_place() {
    let broken = |change: &dyn Fn(&mut MachineTopology)| {
        let mut machine = flat(4);
        change(&mut machine);
        refusal(&machine)
    };
    assert_eq!(broken(&|machine| machine.cpus.clear()), BuildError::NrCpus(0));
    assert_eq!(broken(&|machine| machine.capacity[2] = 0), BuildError::Capacity { cpu: CpuId(2), capacity: 0 });
    assert_eq!(broken(&|machine| machine.levels.clear()), BuildError::NoLevels);
    let error = broken(&|machine| machine.cpus[3].node = 1);
    assert_eq!(error, BuildError::NodeWithoutDistances { cpu: CpuId(3), node: 1 });
    assert_eq!(error.to_string(), "cpu 3: node 1 has no row in the table of distances: add it");
    let row_of_two = |machine: &mut MachineTopology| machine.distances = vec![vec![10, 20]];
    assert_eq!(broken(&row_of_two), BuildError::DistancesNotSquare { row: 0 });
    assert_eq!(
        broken(&|machine| machine.distances = vec![vec![11]]),
        BuildError::OwnDistance { node: 0, distance: 11 }
    );
    let too_far = |machine: &mut MachineTopology| machine.distances = vec![vec![10, 256], vec![20, 10]];
    assert_eq!(broken(&too_far), BuildError::Distance { from: 0, to: 1, distance: 256 });
}

#[test]
fn units_that_cross_each_other_are_refused() {
    // Cores 1 and 2 lie in the caches 0-2 and 3-5 with one CPU each.
    let crossing = parse("cpus 6\ntopo smt=2 llc=3\nlevels SM");
    assert!(matches!(refusal(&crossing), BuildError::UnitsCross { level: "MC", .. }));
    // Node 1 is as near to 0 and to 2 as to itself, but nodes 0 and 2 are farther apart.
    let bridge = parse("cpus 3\ntopo llc=1 pkg=1 node=1\nlevels M\ndist 3 10 10 20 10 10 10 20 10 10");
    assert!(matches!(refusal(&bridge), BuildError::UnitsCross { level: "NODE", .. }));
    // A cache that spans two of three nodes, which do not all see each other.
    let cache = parse(
        "cpus 6\ntopo llc=2 pkg=2 node=1\nlevels M\ndist 6 \
        10 20 30 30 30 30 20 10 20 30 30 30 30 20 10 20 30 30 30 30 20 10 20 30 30 30 30 20 10 20 30 30 30 30 20 10",
    );
    assert!(matches!(refusal(&cache), BuildError::UnitsCross { level: "NUMA", .. }), "{:?}", refusal(&cache));
}
