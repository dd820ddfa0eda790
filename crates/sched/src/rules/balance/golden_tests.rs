// SPDX-License-Identifier: GPL-2.0-or-later
//! Load balancing in random states of seven machines, and its arithmetic, compared with Linux 6.1.192
//! ([`crate::recorded_states`]).
//!
//! A line `lb` has the results of a pass over one domain: statistics of the groups, busiest group and queue,
//! imbalance, and whether the running task should be pushed. A line `nohz` has the kick that a tick decided.

use crate::interface::balance::{GroupType, MigrationType, NOHZ_KICK_MASK};
use crate::paths::sched::Sched;
use crate::recorded_states::{
    BIGLITTLE8, CLUSTER24, FLAT8, NUMA32, RecordedState, SMT16, SRV64, TRI8, TopologyShape, recording,
};
use crate::rules::balance::classify::{group_classify, group_has_capacity, group_is_overloaded};
use crate::rules::balance::env::LbEnv;
use crate::rules::balance::imbalance::{ImbalanceParams, calculate_imbalance};
use crate::rules::balance::stats::{SdLbStats, SgLbStats, nr_idle_scan};
use crate::state::topology::{SchedGroupId, SdFlags};
use crate::types::cpumask::CpuMask;
use crate::types::idle_type::CpuIdleType;
use crate::types::ids::CpuId;
use serde_json::{Value, json};
use std::format;
use std::vec::Vec;

fn idle_type(line: &Value) -> CpuIdleType {
    match line["idle"].as_str() {
        Some("busy") => CpuIdleType::NotIdle,
        Some("idle") => CpuIdleType::Idle,
        Some("newidle") => CpuIdleType::NewlyIdle,
        other => panic!("unknown idle type: {other:?}"),
    }
}

fn numbers(value: &Value) -> Vec<u64> {
    value.as_array().expect("an array").iter().map(|n| n.as_u64().expect("a number")).collect()
}

/// Returns the columns of a group in `lb` lines.
fn columns(sgs: &SgLbStats) -> Value {
    json!([
        type_in_6_1(sgs.group_type) as u32,
        sgs.avg_load,
        sgs.group_load,
        sgs.group_capacity,
        sgs.group_util,
        sgs.group_runnable,
        sgs.sum_nr_running,
        sgs.sum_h_nr_running,
        sgs.idle_cpus,
        sgs.group_weight,
        sgs.group_misfit_task_load,
    ])
}

fn first_cpu(sched: &Sched, group: Option<SchedGroupId>) -> i64 {
    group.map_or(-1, |group| i64::from(sched.domains.groups[group].span.first().expect("a group has CPUs").0))
}

impl RecordedState {
    /// Recomputes the capacities of all CPUs and groups, level by level, and compares them with the recorded
    /// ones.
    fn recompute_capacities(&mut self) {
        let sched = &mut self.sched;
        let before = sched.domains.capacities.clone();
        let cpus: Vec<_> = sched.rqs.iter_mut().map(|rq| core::mem::take(&mut rq.cpu_capacity)).collect();
        for level in 0..8 {
            for cpu in sched.cpu_ids() {
                let sd = sched.domains.chain(cpu).nth(level);
                if let Some(sd) = sd {
                    sched.update_group_capacity(sd, cpu);
                }
            }
        }
        assert!(sched.rqs.iter().map(|rq| rq.cpu_capacity).eq(cpus), "capacities of CPUs");
        for (actual, recorded) in sched.domains.capacities.iter().zip(before.iter()) {
            let three = |c: &crate::state::topology::SchedGroupCapacity| (c.capacity, c.min_capacity, c.max_capacity);
            assert_eq!(three(actual), three(recorded), "capacity of a group");
        }
    }

    fn check_pass(&mut self, line: &Value) {
        let dst = CpuId(line["dst"].as_u64().expect("a CPU") as u32);
        let level = line["lvl"].as_u64().expect("a level") as usize;
        let sd = self.sched.domains.chain(dst).nth(level).expect("a domain");
        let cpus = self.sched.domains.domains[sd].span.clone();
        let shared = self.sched.domains.cpus[dst].sd_llc_shared;
        let nr_idle_scan = |sched: &Sched| shared.map_or(-1, |shared| sched.domains.shared[shared].nr_idle_scan);
        let before = nr_idle_scan(&self.sched);
        let mut env = LbEnv::new(dst, sd, 0, dst, idle_type(line), cpus);
        env.has_all_cpus = true;
        let mut actual = json!({});
        self.ctx(dst, |sched, ctx, _| {
            let sds = sched.update_sd_lb_stats(ctx, &mut env);
            actual["tl"] = json!(sds.total_load);
            actual["tc"] = json!(sched.domains.capacity_of_domain(env.sd));
            assert!(sds.busiest.is_none() || sds.total_capacity == sched.domains.capacity_of_domain(env.sd));
            actual["ps"] = json!(u32::from(sds.prefer_sibling));
            actual["bg0"] = json!(first_cpu(sched, sds.busiest));
            actual["nr_scan"] = json!(nr_idle_scan(sched));
            actual["l"] = columns(&sds.local_stat);
            if sds.busiest.is_some() {
                actual["b"] = columns(&sds.busiest_stat);
            }
            let group = sched.find_busiest_group(ctx, &mut env).ok();
            actual["group"] = json!(first_cpu(sched, group));
            actual["mt"] = json!(group.map_or(-1, |_| env.migration as i32));
            actual["imb"] = json!(env.imbalance);
            let queue = group.and_then(|group| sched.find_busiest_queue(ctx, &env, group));
            actual["queue"] = json!(queue.map_or(-1, |cpu| i64::from(cpu.0)));
            if let Some(queue) = queue {
                env.src_cpu = queue;
                let tries = sched.domains.domains[sd].cache_nice_tries;
                actual["active"] = json!([0, tries + 3].map(|failed| {
                    sched.domains.domains[sd].nr_balance_failed = failed;
                    u32::from(sched.need_active_balance(&env))
                }));
                sched.domains.domains[sd].nr_balance_failed = 0;
            }
            if let Some(shared) = shared {
                sched.domains.shared[shared].nr_idle_scan = before;
            }
        });
        for key in ["lb", "dst", "lvl", "idle"] {
            actual[key] = line[key].clone();
        }
        assert_eq!(&actual, line);
    }

    fn check_tick(&mut self, line: &Value) {
        let cpu = CpuId(line["cpu"].as_u64().expect("a CPU") as u32);
        let number = |key: &str| line[key].as_i64().expect("a number");
        let sched = &mut self.sched;
        let now = sched.jiffies as i64;
        let tickless = numbers(&line["idle_mask"]).into_iter().map(|cpu| CpuId(cpu as u32));
        sched.nohz.idle_cpus_mask = CpuMask::from_cpus(sched.rqs.len(), tickless);
        sched.nohz.nr_cpus = sched.nohz.idle_cpus_mask.weight() as u32;
        sched.nohz.next_balance = (now + number("next_balance")) as u64;
        sched.nohz.next_blocked = (now + number("next_blocked")) as u64;
        sched.nohz.has_blocked = number("has_blocked") == 1;
        sched.nohz.needs_update = number("needs_update") == 1;
        let tickless = sched.nohz.idle_cpus_mask.clone();
        for rq in &mut sched.rqs {
            rq.nohz_tick_stopped = tickless.contains(rq.cpu);
        }
        sched.rqs[cpu].idle_balance = sched.rqs[cpu].is_idle_task_running();
        self.ctx(cpu, |sched, ctx, _| {
            sched.nohz_balancer_kick(ctx);
        });
        let sched = &mut self.sched;
        let kicked = sched.rqs.iter().find(|rq| rq.nohz_flags & NOHZ_KICK_MASK != 0);
        let (ilb, flags) = kicked.map_or((-1, 0), |rq| (i64::from(rq.cpu.0), rq.nohz_flags));
        let next_balance = sched.nohz.next_balance as i64 - now;
        assert_eq!(
            (ilb, i64::from(flags), next_balance),
            (number("ilb"), number("flags"), number("next_balance_after")),
            "{line}"
        );
        for rq in &mut sched.rqs {
            assert_eq!(rq.call_queue.len(), usize::from(i64::from(rq.cpu.0) == ilb), "interrupted CPU: {line}");
            rq.call_queue.clear();
            rq.ipi_pending = [false; 2];
            rq.nohz_flags = 0;
            rq.idle_balance = false;
        }
    }
}

/// Compares all lines of one kind in a recording, and returns their number.
fn compare(shape: &TopologyShape, kind: &str, check: impl Fn(&mut RecordedState, &Value)) -> usize {
    let mut fixture = RecordedState::new(shape);
    fixture.sched.jiffies = 1000;
    let mut nr_cases = 0;
    for line in recording(&format!("vec-{kind}-{}", shape.name)) {
        if line.get("state").is_some() {
            fixture.enter(&line);
            fixture.recompute_capacities();
        } else {
            check(&mut fixture, &line);
            nr_cases += 1;
        }
    }
    nr_cases
}

const SHAPES: [&TopologyShape; 7] = [&FLAT8, &SMT16, &BIGLITTLE8, &TRI8, &NUMA32, &SRV64, &CLUSTER24];

#[test]
fn what_passes_find_equals_the_kernel_in_16228_cases() {
    let nr_cases = SHAPES.map(|shape| compare(shape, "lb", RecordedState::check_pass));
    assert_eq!(nr_cases, [1200, 7200, 1200, 1200, 1596, 3212, 620]);
    assert_eq!(nr_cases.iter().sum::<usize>(), 16_228);
}

#[test]
fn what_ticks_ask_of_tickless_cpus_equals_the_kernel_in_15000_cases() {
    let nr_cases = SHAPES.map(|shape| compare(shape, "nohz", RecordedState::check_tick));
    assert_eq!(nr_cases, [3000, 3000, 3000, 3000, 1000, 1000, 1000]);
}

fn check_nr_idle_scan(line: &Value) -> usize {
    let number = |key: &str| line[key].as_u64().expect("a number");
    let recorded = numbers(&line["out"]);
    for (step, &out) in (0..).zip(&recorded) {
        let actual = nr_idle_scan(step * number("step"), number("llc_weight") as u32, number("pct") as u32);
        assert_eq!(actual as u64, out, "step {step} of {line}");
    }
    recorded.len()
}

fn check_group_classify(line: &Value) {
    let number = |key: &str| line[key].as_u64().expect("a number");
    let sgs = SgLbStats {
        group_weight: number("weight") as u32,
        group_capacity: number("cap"),
        sum_nr_running: number("nr") as u32,
        sum_h_nr_running: number("nr") as u32,
        group_util: number("util"),
        group_runnable: number("runnable"),
        group_asym_packing: number("asym") == 1,
        group_smt_balance: false,
        group_misfit_task_load: number("misfit"),
        ..SgLbStats::default()
    };
    let pct = number("pct") as u32;
    let actual = [
        u64::from(group_has_capacity(pct, &sgs)),
        u64::from(group_is_overloaded(pct, &sgs)),
        type_in_6_1(group_classify(pct, number("imb") == 1, &sgs)) as u64,
    ];
    assert_eq!(actual, ["has_cap", "overl", "type"].map(number), "{line}");
}

/// Number of a group type in 6.1.
fn type_in_6_1(group_type: GroupType) -> usize {
    GROUP_TYPES.iter().position(|&of| of == group_type).expect("a type of 6.1")
}

const GROUP_TYPES: [GroupType; 6] = [
    GroupType::HasSpare,
    GroupType::FullyBusy,
    GroupType::MisfitTask,
    GroupType::AsymPacking,
    GroupType::Imbalanced,
    GroupType::Overloaded,
];

fn check_calculate_imbalance(line: &Value) {
    let number = |key: &str| line[key].as_u64().expect("a number");
    let group = |key: &str, misfit| {
        let [kind, weight, capacity, nr, h_nr, idle, util, runnable, load, avg_load] = numbers(&line[key])[..] else {
            panic!("expected ten columns: {line}")
        };
        SgLbStats {
            group_type: GROUP_TYPES[kind as usize],
            group_weight: weight as u32,
            group_capacity: capacity,
            sum_nr_running: nr as u32,
            sum_h_nr_running: h_nr as u32,
            idle_cpus: idle as u32,
            group_util: util,
            group_runnable: runnable,
            group_load: load,
            avg_load,
            group_misfit_task_load: misfit,
            group_smt_balance: false,
            group_asym_packing: false,
        }
    };
    let mut sds = SdLbStats {
        busiest: Some(SchedGroupId::from_index(1)),
        local: SchedGroupId::from_index(0),
        total_load: number("total_load"),
        total_capacity: number("total_cap"),
        avg_load: number("avg_in"),
        prefer_sibling: number("prefer_sibling") == 1,
        busiest_stat: group("b", number("b_misfit")),
        local_stat: group("l", 0),
    };
    let mut flags = SdFlags::EMPTY;
    if number("asymcap") == 1 {
        flags.insert(SdFlags::ASYM_CPUCAPACITY);
    }
    if number("share_llc") == 1 {
        flags.insert(SdFlags::SHARE_PKG_RESOURCES);
    }
    let at = ImbalanceParams {
        idle: idle_type(line),
        flags,
        imbalance_pct: 117,
        imb_numa_nr: 0,
        energy_aware: false,
        cores: None,
    };
    let (migration, imbalance) = calculate_imbalance(&mut sds, &at);
    let types = [MigrationType::Load, MigrationType::Util, MigrationType::Task, MigrationType::Misfit];
    assert_eq!(migration, types[number("mt") as usize], "{line}");
    assert_eq!(Some(imbalance), line["imb"].as_i64(), "{line}");
    assert_eq!((sds.local_stat.avg_load, sds.avg_load), (number("l_avg"), number("avg")), "{line}");
}

#[test]
fn arithmetic_of_balancing_equals_the_kernel_in_28949_cases() {
    let (mut scans, mut classified, mut imbalances) = (0, 0, 0);
    for line in recording("vec-arith-balance") {
        match line["f"].as_str() {
            Some("nr_idle_scan") => scans += check_nr_idle_scan(&line),
            Some("group_classify") => {
                check_group_classify(&line);
                classified += 1;
            }
            Some("calculate_imbalance") => {
                check_calculate_imbalance(&line);
                imbalances += 1;
            }
            other => panic!("unknown function: {other:?}"),
        }
    }
    assert_eq!((scans, classified, imbalances), (16_560, 6000, 6389));
}
