// SPDX-License-Identifier: GPL-2.0-or-later
//! Tests of each selection rule, in the smallest machine on which it applies.

mod policy;

use crate::interface::ctx::{Ctx, Effect};
use crate::interface::policy::{CpuSample, PolicySlot, WakeChoice, WakeRequest};
use crate::interface::probe::{Event, SchedObserver};
use crate::interface::wakeup::{AffineRule, WakeFlags, WakeRule, WakeupDecision};
use crate::paths::sched::{Sched, SchedConfig};
use crate::rules::wakeup::search::{ScanBudget, Selection};
use crate::state::State;
use crate::state::cpufreq::domain::{FrequencyDomain, Governor, SchedutilConfig};
use crate::state::new_task::NewTask;
use crate::state::task::{Policy, Uclamp};
use crate::state::topology::{CpuPlace, MachineTopology, TopologyLevel};
use crate::types::cpumask::CpuMask;
use crate::types::features::Feature;
use crate::types::ids::{CfsRqId, CpuId, GroupId, TaskId};
use crate::types::series::KernelSeries;
use crate::types::units::Nanos;
use crate::types::work::{Access, KernelOp, OpCounts};
use std::boxed::Box;
use std::vec;
use std::vec::Vec;

const WAKE: WakeFlags = WakeFlags { ttwu: true, fork: false, exec: false, sync: false, in_interrupt: false };
const SYNC: WakeFlags = WakeFlags { sync: true, ..WAKE };
const INTERRUPT: WakeFlags = WakeFlags { in_interrupt: true, ..WAKE };
const FORK: WakeFlags = WakeFlags { ttwu: false, fork: true, ..WAKE };

/// Builds a topology from its number of CPUs, and the CPUs per core, cache and node.
fn topology(nr_cpus: u32, smt: u32, llc: u32, node: u32) -> MachineTopology {
    let place = |cpu| CpuPlace { core: cpu / smt, cluster: cpu, llc: cpu / llc, package: cpu / node, node: cpu / node };
    let nr_nodes = nr_cpus / node;
    let row = |a| (0..nr_nodes).map(|b| if a == b { 10 } else { 20 }).collect();
    MachineTopology {
        cpus: (0..nr_cpus).map(place).collect(),
        capacity: vec![1024; nr_cpus as usize],
        levels: vec![TopologyLevel::Smt, TopologyLevel::Mc],
        distances: (0..nr_nodes).map(row).collect(),
    }
}

/// Builds four CPUs that share a cache.
fn flat() -> WakeupTestMachine {
    WakeupTestMachine::new(topology(4, 1, 4, 4))
}

/// Builds two cores of two CPUs that share a cache.
fn smt() -> WakeupTestMachine {
    WakeupTestMachine::new(topology(4, 2, 4, 4))
}

/// Builds two small and two big CPUs that share a cache.
fn big_little() -> WakeupTestMachine {
    WakeupTestMachine::new(MachineTopology { capacity: vec![446, 446, 1024, 1024], ..topology(4, 1, 4, 4) })
}

/// Builds [`big_little`] with frequency domains and an energy model. `util` is blocked utilisation of `cpu`.
fn energy_aware(cpu: u32, util: u64) -> WakeupTestMachine {
    let mut machine = big_little();
    let governor = Governor::Schedutil(SchedutilConfig { rate_limit: Nanos(0), holds_when_busy: false });
    for (cpus, khz, power_uw) in
        [([0, 1], [223_000, 446_000], [20_000, 80_000]), ([2, 3], [512_000, 1_024_000], [200_000, 800_000])]
    {
        let cpus = cpus.iter().map(|&cpu| CpuId(cpu)).collect();
        let domain = FrequencyDomain::new(cpus, khz.to_vec(), power_uw.to_vec(), governor).expect("a valid domain");
        machine.sched.set_frequency_domain(domain).expect("the CPUs are in no other domain");
    }
    machine.sched.start_governors();
    machine.sched.fair.cfs_rqs[CfsRqId::from_index(cpu as usize)].avg.util_avg = util;
    machine
}

/// Builds two nodes of two CPUs, whose distance allows load balancing only.
fn far_nodes() -> WakeupTestMachine {
    WakeupTestMachine::new(MachineTopology { distances: vec![vec![10, 40], vec![40, 10]], ..topology(4, 1, 2, 2) })
}

#[derive(Default)]
struct DecisionLog(Vec<WakeupDecision>);

impl SchedObserver for DecisionLog {
    fn event(&mut self, _now: Nanos, event: &Event<'_>) {
        if let Event::WakeupDecision(decision) = event {
            self.0.push(**decision);
        }
    }
}

/// Test machine with a sleeping task, which last used CPU 0 unless a test changes it.
struct WakeupTestMachine {
    sched: Sched,
    task: TaskId,
    work: OpCounts,
    policy: Option<PolicySlot>,
}

impl WakeupTestMachine {
    fn new(topology: MachineTopology) -> Self {
        let mut sched =
            Sched::new(SchedConfig { topology, tick_ns: 4_000_000, jiffies: 1000, series: KernelSeries::V6_1 })
                .expect("a machine");
        let task = new_task(&mut sched);
        for rq in &mut sched.rqs {
            rq.idle_stamp = 1;
        }
        let shared_sizes: Vec<_> = sched.cpu_ids().map(|cpu| sched.domains.cpus[cpu]).collect();
        for cpu in shared_sizes {
            if let Some(shared) = cpu.sd_llc_shared {
                sched.domains.shared[shared].nr_idle_scan = cpu.sd_llc_size as i32;
            }
        }
        Self { sched, task, work: OpCounts::default(), policy: None }
    }

    /// Runs a task of load 1024 on each of these CPUs.
    fn busy(mut self, cpus: &[u32]) -> Self {
        for &cpu in cpus {
            let runner = new_task(&mut self.sched);
            let rq = &mut self.sched.rqs[CpuId::from_index(cpu as usize)];
            (rq.curr, rq.nr_running, rq.idle_stamp) = (runner, 1, 0);
            self.sched.tasks[runner].cpu = CpuId(cpu);
            let se = self.sched.tasks[runner].se;
            self.sched.fair.entities[se].cfs_rq = CfsRqId::root(CpuId(cpu));
            let cfs_rq = &mut self.sched.fair.cfs_rqs[CfsRqId::from_index(cpu as usize)];
            (cfs_rq.nr_running, cfs_rq.h_nr_running, cfs_rq.avg.load_avg) = (1, 1, 1024);
        }
        self
    }

    fn load(mut self, cpu: u32, load: u64) -> Self {
        self.sched.fair.cfs_rqs[CfsRqId::from_index(cpu as usize)].avg.load_avg = load;
        self
    }

    fn util(mut self, util: u64) -> Self {
        let se = self.sched.tasks[self.task].se;
        self.sched.fair.entities[se].avg.util_avg = util;
        self
    }

    fn clamps(mut self, clamps: Uclamp) -> Self {
        let task = self.task;
        self.with_ctx(0, |sched, ctx| sched.set_uclamp(ctx, task, clamps)).0.expect("the task inherits no deadline");
        self
    }

    fn nr_running(mut self, cpu: u32, nr_running: u32) -> Self {
        self.sched.rqs[CpuId::from_index(cpu as usize)].nr_running = nr_running;
        self
    }

    fn allow(mut self, cpus: &[u32]) -> Self {
        let p = &mut self.sched.tasks[self.task];
        p.cpus_allowed.clear_all();
        cpus.iter().for_each(|&cpu| p.cpus_allowed.set(CpuId(cpu)));
        p.nr_cpus_allowed = cpus.len() as u32;
        self
    }

    fn recent(mut self, cpu: u32) -> Self {
        self.sched.tasks[self.task].recent_used_cpu = CpuId(cpu);
        self
    }

    fn feature(mut self, feature: Feature, on: bool) -> Self {
        self.sched.features.set(feature, on);
        self
    }

    fn policy(mut self, policy: fn(&WakeRequest<'_>, Option<&CpuSample>) -> WakeChoice) -> Self {
        self.policy = Some(PolicySlot::new(Box::new(policy)));
        self
    }

    /// Sets the scan limit and the idle-core hint of CPU 0's cache domain.
    fn cache(mut self, nr_idle_scan: i32, has_idle_cores: bool) -> Self {
        let shared = self.sched.domains.cpus[CpuId(0)].sd_llc_shared.expect("a cache domain");
        let shared = &mut self.sched.domains.shared[shared];
        (shared.nr_idle_scan, shared.has_idle_cores) = (nr_idle_scan, has_idle_cores);
        self
    }

    fn update_idle_core(&mut self) {
        let State { domains, rqs, hotplug, .. } = &mut self.sched.state;
        domains.update_idle_core(rqs, &hotplug.active, CpuId(0));
    }

    fn has_idle_cores(&self) -> bool {
        self.sched.domains.test_idle_cores(CpuId(0))
    }

    fn with_ctx<R>(&mut self, this_cpu: u32, act: impl FnOnce(&mut Sched, &mut Ctx<'_>) -> R) -> (R, DecisionLog) {
        let (mut effects, mut recorder): (Vec<Effect>, _) = (Vec::new(), DecisionLog::default());
        let ctx = &mut Ctx {
            cpu: CpuId(this_cpu),
            now: Nanos(1_000_000),
            clock_offset: Nanos::ZERO,
            self_timed: None,
            effects: &mut effects,
            observer: &mut recorder,
            wants_accounting: false,
            wants_lags: false,
            op_counts: &mut self.work,
            policy: self.policy.as_mut(),
        };
        // Tests write to runqueues directly.
        self.sched.lb_cache.mark_all_dirty();
        (act(&mut self.sched, ctx), recorder)
    }

    /// Selects a CPU for the task, which used `prev`, on behalf of `this_cpu`.
    fn select_from(&mut self, this_cpu: u32, prev: u32, flags: WakeFlags) -> WakeupDecision {
        let task = self.task;
        self.sched.tasks[task].cpu = CpuId(prev);
        let se = self.sched.tasks[task].se;
        self.sched.fair.entities[se].cfs_rq = CfsRqId::root(CpuId(prev));
        let (cpu, DecisionLog(decisions)) =
            self.with_ctx(this_cpu, |sched, ctx| sched.select_at_once(ctx, task, CpuId(prev), flags));
        assert_eq!(decisions.len(), 1, "a selection reports one decision");
        assert_eq!(decisions[0].cpu, cpu, "the reported CPU is the selected one");
        decisions[0]
    }

    fn select(&mut self, flags: WakeFlags) -> WakeupDecision {
        self.select_from(0, 0, flags)
    }
}

fn new_task(sched: &mut Sched) -> TaskId {
    let cpus_allowed = CpuMask::full(sched.nr_cpus());
    let new = NewTask {
        pid: 1000,
        policy: Policy::Normal,
        nice: 0,
        group: GroupId::ROOT,
        cpus_allowed,
        uclamp: None,
        slice: None,
    };
    sched.new_task(new, CpuId(0))
}

/// Returns the smallest selection that a rule decides, and the CPU that it should choose.
fn canonical(rule: WakeRule) -> (WakeupDecision, u32) {
    match rule {
        WakeRule::PinnedToOne => (flat().allow(&[2]).select(WAKE), 2),
        WakeRule::Fallback => (flat().allow(&[1, 2]).select_from(3, 3, WAKE), 1),
        WakeRule::TargetIdle => (flat().busy(&[0]).select_from(0, 1, WAKE), 1),
        // The waker goes to sleep, so its CPU is the target, but it is not idle yet.
        WakeRule::PrevIdle => (flat().busy(&[0]).select_from(0, 1, SYNC), 1),
        WakeRule::PerCpuKthread => {
            let mut machine = flat().busy(&[0]);
            let kthread = machine.sched.curr(CpuId(0));
            machine.sched.tasks[kthread].is_per_cpu_kthread = true;
            (machine.select(WAKE), 0)
        }
        WakeRule::RecentUsedIdle => (flat().busy(&[0, 1]).recent(3).select_from(0, 1, WAKE), 3),
        WakeRule::EnergyNone => (energy_aware(2, 0).select_from(0, 2, WAKE), 2),
        WakeRule::EnergyPrev => (energy_aware(2, 0).util(50).select_from(2, 0, WAKE), 0),
        WakeRule::EnergyBest => (energy_aware(2, 0).util(50).select_from(2, 2, WAKE), 0),
        // The blocked utilisation of CPU 0 needs a high frequency, which the task's upper clamp excludes.
        WakeRule::EnergyUnsure => {
            (energy_aware(0, 300).util(50).clamps(Uclamp { min: 0, max: 50 }).select_from(2, 0, WAKE), 0)
        }
        WakeRule::AsymFits => (big_little().busy(&[0]).util(200).select(WAKE), 1),
        WakeRule::AsymBest => (big_little().busy(&[0, 2]).util(900).select(WAKE), 3),
        WakeRule::NoCacheDomain => (WakeupTestMachine::new(topology(4, 1, 1, 4)).busy(&[0]).select(WAKE), 0),
        WakeRule::IdleSmt => (smt().busy(&[0, 2]).cache(4, false).select(WAKE), 1),
        WakeRule::IdleCore => (smt().busy(&[0]).cache(4, true).select(WAKE), 2),
        WakeRule::IdleCpuOfBusyCore => (smt().busy(&[0, 2]).cache(4, true).select(WAKE), 1),
        WakeRule::IdleCpu => (flat().busy(&[0, 1]).select(WAKE), 2),
        WakeRule::ScanBusy => (flat().busy(&[0]).cache(0, false).select(WAKE), 0),
        WakeRule::ScanLimit => (flat().busy(&[0, 1]).cache(1, false).select(WAKE), 0),
        WakeRule::NothingIdle => (flat().busy(&[0, 1, 2, 3]).select(WAKE), 0),
        WakeRule::NoDomain => {
            let distances = vec![vec![10, 40], vec![40, 10]];
            let lonely = MachineTopology { distances, ..topology(2, 1, 1, 1) };
            (WakeupTestMachine::new(lonely).busy(&[0]).select(FORK), 0)
        }
        WakeRule::SlowPathNotAllowed => (far_nodes().allow(&[2, 3]).select_from(0, 2, FORK), 2),
        WakeRule::SlowPathIdlest => (flat().busy(&[0]).select(FORK), 1),
        WakeRule::SlowPathStays => (flat().select(FORK), 0),
        WakeRule::Policy => (flat().policy(|_, _| WakeChoice::Cpu(CpuId(3))).select(WAKE), 3),
    }
}

/// Returns the smallest wake-up whose target a rule decides.
fn canonical_affine(rule: AffineRule) -> WakeupDecision {
    let both_busy = || flat().busy(&[0, 1]);
    match rule {
        AffineRule::NotAsked => flat().select(FORK),
        AffineRule::Wide => {
            let mut machine = both_busy();
            let waker = machine.sched.curr(CpuId(0));
            machine.sched.tasks[waker].wakee_flips = 100;
            machine.sched.tasks[waker].wakee_flip_decay_ts = 1000;
            machine.sched.tasks[machine.task].wakee_flips = 4;
            machine.select_from(0, 1, WAKE)
        }
        AffineRule::NotAllowed => both_busy().allow(&[1, 2]).select_from(0, 1, WAKE),
        AffineRule::NoDomain => far_nodes().select_from(0, 2, WAKE),
        AffineRule::SameCpu => flat().select(WAKE),
        AffineRule::ThisIdle => flat().busy(&[1]).select_from(0, 1, INTERRUPT),
        AffineRule::BothIdle => flat().select_from(0, 1, INTERRUPT),
        AffineRule::SyncAlone => both_busy().select_from(0, 1, SYNC),
        AffineRule::PrevIdle => flat().busy(&[0]).select_from(0, 1, WAKE),
        AffineRule::SyncAllLoad => both_busy().nr_running(0, 2).load(0, 100).select_from(0, 1, SYNC),
        AffineRule::LessLoad => both_busy().load(0, 0).load(1, 4096).select_from(0, 1, WAKE),
        AffineRule::NotLessLoad => both_busy().select_from(0, 1, WAKE),
        AffineRule::NotCompared => both_busy().feature(Feature::WaWeight, false).select_from(0, 1, WAKE),
    }
}

#[test]
fn every_rule_has_a_selection_that_it_decides() {
    for &rule in WakeRule::ALL {
        let (decision, cpu) = canonical(rule);
        assert_eq!((decision.rule, decision.cpu), (rule, CpuId(cpu)), "{decision:?}");
    }
}

#[test]
fn every_rule_for_the_target_has_a_wakeup_that_it_decides() {
    for &rule in AffineRule::ALL {
        let decision = canonical_affine(rule);
        assert_eq!(decision.affine, rule, "{decision:?}");
        let target = if rule.is_pull() { decision.waker } else { decision.prev };
        assert_eq!(decision.target, target, "{decision:?}");
    }
}

#[test]
fn a_pull_to_the_waker_is_counted_in_the_lowest_domain_of_both() {
    let mut machine = smt().busy(&[0, 2]);
    machine.select_from(0, 2, SYNC);
    let pulls =
        machine.sched.domains.chain(CpuId(0)).map(|sd| machine.sched.domains.domains[sd].stats.ttwu_move_affine);
    assert_eq!(pulls.collect::<Vec<_>>(), [0, 1]);
}

#[test]
fn wake_affine_needs_less_load_here_but_half_the_margin_is_in_favour_of_here() {
    // Without the task the loads are 1000 here and `prev_load` less the task's own load there.
    let compare = |bias, prev_load| {
        let machine = flat().busy(&[0, 1]).load(0, 1000).load(1, prev_load);
        machine.feature(Feature::WaBias, bias).select_from(0, 1, WAKE).affine
    };
    // 1024 * `prev_load` / (`prev_load` + 1) is rounded down, so the task weighs 1023 there.
    assert_eq!(compare(false, 1000 + 2 * 1023), AffineRule::NotLessLoad);
    assert_eq!(compare(false, 1001 + 2 * 1023), AffineRule::LessLoad);
    // With a margin of 17 %, 2023 here is less than 1.08 times 1874 there.
    assert_eq!(compare(true, 1873 + 1023), AffineRule::NotLessLoad);
    assert_eq!(compare(true, 1874 + 1023), AffineRule::LessLoad);
}

#[test]
fn a_cpu_with_only_sched_idle_tasks_counts_as_idle() {
    let mut machine = flat().busy(&[0, 1, 2, 3]);
    machine.sched.fair.cfs_rqs[CfsRqId::root(CpuId(2))].idle_h_nr_running = 1;
    let decision = machine.select(WAKE);
    assert_eq!((decision.rule, decision.cpu), (WakeRule::IdleCpu, CpuId(2)));
}

#[test]
fn before_6_0_wakeups_for_idle_cpus_of_the_same_cache_are_not_queued() {
    let leaves = |wakelist_far, llc| {
        let mut machine = WakeupTestMachine::new(topology(4, 1, llc, 4));
        machine.sched.tunables.changes.wakelist_far = wakelist_far;
        machine.sched.tasks[machine.task].on_cpu = false;
        machine.sched.is_wakeup_queued(CpuId(0), machine.task, CpuId(1))
    };
    assert!(leaves(false, 4));
    assert!(!leaves(true, 4));
    assert!(leaves(true, 1), "wake-ups for another cache are queued");
}

#[test]
fn a_cpu_with_a_queued_wakeup_is_not_idle_any_more() {
    let mut machine = flat().busy(&[0]);
    machine.sched.rqs[CpuId(1)].ttwu_pending = true;
    assert_eq!(machine.select(WAKE).cpu, CpuId(2));
}

#[test]
fn an_interrupt_on_an_idle_cpu_is_no_kernel_thread() {
    let mut machine = flat().nr_running(0, 1);
    assert!(machine.sched.tasks[machine.sched.curr(CpuId(0))].is_per_cpu_kthread, "the idle task counts");
    assert_eq!(machine.select(INTERRUPT).rule, WakeRule::IdleCpu);
    assert_eq!(machine.select(WAKE).rule, WakeRule::PerCpuKthread);
}

#[test]
fn a_kernel_thread_beside_which_another_task_waits_does_not_keep_the_wakee_on_its_cpu() {
    let mut machine = flat().busy(&[0]).nr_running(0, 2);
    let kthread = machine.sched.curr(CpuId(0));
    machine.sched.tasks[kthread].is_per_cpu_kthread = true;
    let decision = machine.select(WAKE);
    assert_eq!((decision.rule, decision.cpu), (WakeRule::IdleCpu, CpuId(1)));
}

#[test]
fn the_previous_cpu_becomes_the_recent_one_unless_a_better_guess_was_right() {
    let mut machine = flat().busy(&[0, 1]).recent(0);
    machine.select_from(0, 1, WAKE);
    assert_eq!(machine.sched.tasks[machine.task].recent_used_cpu, CpuId(1));
    let mut machine = flat().recent(3);
    machine.select_from(0, 1, WAKE);
    assert_eq!(machine.sched.tasks[machine.task].recent_used_cpu, CpuId(3));
}

#[test]
fn the_search_starts_after_the_target_and_wraps() {
    let mut machine = flat().busy(&[2, 3]).recent(2);
    let decision = machine.select_from(2, 2, WAKE);
    assert_eq!((decision.cpu, decision.nr_scanned), (CpuId(0), 2));
    assert_eq!(machine.work.get(KernelOp::ScanCpu), 2);
}

#[test]
fn the_search_skips_what_the_task_may_not_use() {
    let decision = flat().busy(&[0]).allow(&[0, 3]).select(WAKE);
    assert_eq!((decision.cpu, decision.nr_scanned), (CpuId(3), 1));
}

#[test]
fn without_a_limit_every_cpu_of_the_cache_is_looked_at() {
    let decision = flat().busy(&[0, 1, 2, 3]).feature(Feature::SisUtil, false).select(WAKE);
    assert_eq!((decision.rule, decision.nr_scanned, decision.nr_idle_scan), (WakeRule::NothingIdle, 4, None));
}

/// Builds a machine of 16 busy CPUs with SIS_PROP, this average idle time, and this average scan cost.
fn prop_lab(wake_avg_idle: u64, avg_scan_cost: u64) -> WakeupTestMachine {
    let all: Vec<u32> = (0..16).collect();
    let machine = WakeupTestMachine::new(topology(16, 1, 16, 16)).busy(&all);
    let mut machine = machine.feature(Feature::SisUtil, false).feature(Feature::SisProp, true);
    let sd = machine.sched.domains.cpus[CpuId(0)].sd_llc.expect("a cache domain");
    machine.sched.domains.domains[sd].avg_scan_cost = avg_scan_cost;
    machine.sched.rqs[CpuId(0)].wake_avg_idle = wake_avg_idle;
    machine
}

#[test]
fn by_average_idle_time_the_search_looks_at_three_cpus_at_least() {
    let decision = prop_lab(0, 1000).select(WAKE);
    assert_eq!((decision.rule, decision.nr_scanned, decision.nr_idle_scan), (WakeRule::ScanLimit, 3, Some(3)));
}

#[test]
fn by_average_idle_time_the_search_may_cost_the_domains_part_of_it() {
    // 16 CPUs times 500 ns of idle time pay for ten CPUs at 800 ns; the tenth is not sampled.
    let decision = prop_lab(500, 799).select(WAKE);
    assert_eq!((decision.rule, decision.nr_scanned, decision.nr_idle_scan), (WakeRule::ScanLimit, 9, Some(9)));
}

#[test]
fn average_idle_time_halves_with_each_jiffy_without_a_wakeup() {
    let mut machine = prop_lab(4000, 799);
    machine.sched.rqs[CpuId(0)].wake_stamp = 997;
    assert_eq!(machine.select(WAKE).nr_scanned, 9);
    assert_eq!((machine.sched.rqs[CpuId(0)].wake_stamp, machine.sched.rqs[CpuId(0)].wake_avg_idle), (1000, 500));
}

#[test]
fn a_finished_search_is_accounted_and_one_that_gave_up_is_not() {
    let cost_and_idle = |machine: &mut WakeupTestMachine| {
        machine.sched.tunables.changes.scan_cost_ns = 100;
        machine.select(WAKE);
        let sd = machine.sched.domains.cpus[CpuId(0)].sd_llc.expect("a cache domain");
        (machine.sched.domains.domains[sd].avg_scan_cost, machine.sched.rqs[CpuId(0)].wake_avg_idle)
    };
    // 16 CPUs cost 1600 ns; one eighth of the difference goes into the average.
    assert_eq!(cost_and_idle(&mut prop_lab(100_000, 0)), (200, 98_400));
    assert_eq!(cost_and_idle(&mut prop_lab(500, 799)), (799, 500));
}

#[test]
fn the_cost_of_a_search_begins_with_its_first_sample() {
    let mut machine = prop_lab(100_000, 0);
    let task = machine.task;
    let sd = machine.sched.domains.cpus[CpuId(0)].sd_llc.expect("a cache domain");
    machine.with_ctx(0, |sched, ctx| {
        let selection = sched.select_task_rq_fair(ctx, task, CpuId(0), WAKE);
        let Selection::Search(mut search) = selection else { panic!("no CPU is idle") };
        // The selection before the scan takes 700 ns, the scan itself twice 400 ns.
        ctx.now += Nanos(700);
        while !search.is_over() {
            sched.resume_scan(ctx, &mut search, ScanBudget::at_most(8));
            ctx.now += Nanos(400);
        }
        let selection = sched.conclude_search(ctx, search);
        assert!(matches!(selection, Selection::Chosen(_)));
    });
    assert_eq!(machine.sched.domains.domains[sd].avg_scan_cost, 800 / 8);
}

#[test]
fn siblings_that_were_looked_at_before_are_no_part_of_the_searchs_cost() {
    let mut machine = smt().busy(&[0, 1, 2, 3]).cache(4, false);
    machine = machine.feature(Feature::SisUtil, false).feature(Feature::SisProp, true);
    machine.sched.tunables.changes.scan_cost_ns = 800;
    assert_eq!((machine.select(WAKE).nr_scanned, machine.work.get(KernelOp::ScanCpu)), (5, 5));
    let sd = machine.sched.domains.cpus[CpuId(0)].sd_llc.expect("a cache domain");
    assert_eq!(machine.sched.domains.domains[sd].avg_scan_cost, 4 * 800 / 8);
}

#[test]
fn a_search_for_an_idle_core_in_vain_takes_the_hint_back() {
    let mut machine = smt().busy(&[0, 2]).cache(4, true);
    machine.select(WAKE);
    assert!(!machine.has_idle_cores());
    let mut machine = smt().busy(&[0]).cache(4, true);
    let decision = machine.select(WAKE);
    assert!(machine.has_idle_cores());
    assert_eq!((decision.nr_cores_scanned, decision.nr_scanned, machine.work.get(KernelOp::ScanCore)), (2, 4, 2));
}

#[test]
fn a_core_becomes_idle_with_the_last_of_its_cpus() {
    let mut machine = smt().busy(&[1, 2]).cache(4, false);
    machine.update_idle_core();
    assert!(!machine.has_idle_cores());
    machine.sched.rqs[CpuId(1)].curr = machine.sched.rqs[CpuId(1)].idle;
    machine.sched.rqs[CpuId(1)].nr_running = 0;
    // The runqueue of CPU 0 need not be idle yet, because it is about to be.
    machine.update_idle_core();
    assert!(machine.has_idle_cores());
}

#[test]
fn a_lower_clamp_that_a_cpu_cannot_reach_makes_it_second_best() {
    let clamps = Uclamp { min: 600, max: 1024 };
    let decision = big_little().busy(&[0, 2, 3]).util(100).clamps(clamps).select(WAKE);
    assert_eq!((decision.rule, decision.cpu), (WakeRule::AsymBest, CpuId(1)));
}

#[test]
fn a_fork_takes_the_cpu_of_an_idle_group_that_went_idle_last() {
    let mut machine = WakeupTestMachine::new(topology(8, 1, 4, 4)).busy(&[0, 1]);
    for (cpu, stamp) in [(4, 10), (5, 30), (6, 20), (7, 5)] {
        machine.sched.rqs[CpuId(cpu)].idle_stamp = stamp;
    }
    let decision = machine.select(FORK);
    assert_eq!((decision.rule, decision.cpu), (WakeRule::SlowPathIdlest, CpuId(5)));
    assert_eq!(u64::from(decision.nr_scanned), machine.work.get(KernelOp::GroupStatCpu));
}

#[test]
fn a_fork_prefers_the_idle_cpu_that_wakes_up_the_soonest() {
    let mut machine = WakeupTestMachine::new(topology(8, 1, 4, 4)).busy(&[0, 1]);
    for (cpu, stamp, latency_ns) in [(4, 40, 50), (5, 30, 10), (6, 20, 10), (7, 35, 20)] {
        machine.sched.rqs[CpuId(cpu)].idle_stamp = stamp;
        machine.sched.set_idle_exit_latency(CpuId(cpu), Some(Nanos(latency_ns)));
    }
    assert_eq!(machine.select(FORK).cpu, CpuId(5));
}

#[test]
fn a_task_that_begins_another_program_does_not_count_itself_as_work() {
    let mut machine = flat().busy(&[0]);
    machine.task = machine.sched.curr(CpuId(0));
    machine.sched.tasks[machine.task].on_rq = crate::state::task::OnRq::Queued;
    let se = machine.sched.tasks[machine.task].se;
    machine.sched.fair.entities[se].avg.last_update_time = 1;
    machine.sched.fair.cfs_rqs[CfsRqId::root(CpuId(0))].avg.last_update_time = 1;
    let exec = WakeFlags { fork: false, exec: true, ..FORK };
    assert_eq!(machine.select(exec).rule, WakeRule::SlowPathStays);
    machine.sched.rqs[CpuId(0)].nr_running = 2;
    assert_eq!(machine.select(exec).rule, WakeRule::SlowPathIdlest);
}

#[test]
fn a_fork_stays_in_its_node_while_few_tasks_run_there() {
    // A node of 16 CPUs may have two tasks, including the new one, before an imbalance counts.
    let mut machine = WakeupTestMachine::new(topology(32, 1, 16, 16)).busy(&[0]);
    assert_eq!(machine.select(FORK).cpu, CpuId(1));
    let mut machine = WakeupTestMachine::new(topology(32, 1, 16, 16)).busy(&[0, 1]);
    assert_eq!(machine.select(FORK).cpu, CpuId(16));
    // A task that may use only one CPU of its node exceeds the limit.
    let mut machine = WakeupTestMachine::new(topology(32, 1, 16, 16)).busy(&[0]).allow(&[0, 16, 17]);
    assert_eq!(machine.select(FORK).cpu, CpuId(16));
}

/// Builds a machine with the rules before 5.5 and these runnable loads and loads. Inside a cache domain the
/// margin is 17 %: runnable loads are close within 174, and "clearly less" means by 8 %.
fn by_load(topology: MachineTopology, loads: &[(u64, u64)]) -> WakeupTestMachine {
    let mut machine = WakeupTestMachine::new(topology);
    machine.sched.tunables.changes.fork_by_load = true;
    for (cpu, &(runnable, load)) in loads.iter().enumerate() {
        if runnable > 0 {
            machine = machine.busy(&[cpu as u32]);
            let runner = machine.sched.rqs[CpuId::from_index(cpu)].curr;
            let se = machine.sched.tasks[runner].se;
            machine.sched.fair.entities[se].avg.load_avg = runnable;
            machine.sched.fair.cfs_rqs[CfsRqId::from_index(cpu)].curr = Some(se);
        }
        machine = machine.load(cpu as u32, load);
    }
    machine
}

#[test]
fn before_5_5_a_fork_goes_to_the_least_runnable_load_and_what_sleeps_decides_where_that_is_close() {
    let fork = |loads: &[(u64, u64)]| by_load(topology(4, 1, 4, 4), loads).select(FORK).cpu.0;
    // 700 is more than 500 + 174, so CPU 2 is the new reference. CPU 3 is not below 500 - 174, and has no
    // clearly lower load.
    assert_eq!(fork(&[(1024, 1024), (700, 700), (500, 500), (330, 480)]), 2);
    // 100 * 500 > 108 * 460: CPU 3 is close and has clearly less load.
    assert_eq!(fork(&[(1024, 1024), (700, 700), (500, 500), (330, 460)]), 3);
    // CPU 1 has no runnable load, but much blocked load; CPU 2 has a runnable load of 100, which is close.
    assert_eq!(fork(&[(1024, 1024), (0, 700), (100, 300), (1024, 1024)]), 2);
    assert_eq!(fork(&[(1024, 1024), (0, 700), (175, 300), (1024, 1024)]), 1);
}

#[test]
fn before_5_5_a_fork_stays_where_the_local_load_is_clearly_less_and_leaves_where_all_is_equal() {
    let fork = |loads: &[(u64, u64)]| by_load(topology(4, 1, 4, 4), loads).select(FORK).cpu.0;
    let far = (1024, 1024);
    // 108 * 300 = 32 400 is less than 100 * 325, but not than 100 * 324.
    assert_eq!(fork(&[(100, 300), (0, 325), far, far]), 0);
    assert_eq!(fork(&[(100, 300), (0, 324), far, far]), 1);
    // More runnable load by the margin: blocked load does not count.
    assert_eq!(fork(&[(174, 174), (0, 1000), far, far]), 1);
    assert_eq!(fork(&[(173, 174), (0, 1000), far, far]), 0);
    // Less runnable load by more than the margin.
    assert_eq!(fork(&[(100, 2000), (275, 10), far, far]), 0);
    assert_eq!(fork(&[(100, 2000), (274, 10), far, far]), 1);
    // Among equals the local group does not win; since 5.5 it does.
    assert_eq!(fork(&[(0, 0); 4]), 1);
    assert_eq!(flat().select(FORK).cpu.0, 0);
}

#[test]
fn before_5_5_a_fork_stays_in_its_node_within_the_margin() {
    let fork = |local: u64| by_load(topology(8, 1, 4, 4), &[(local, local)]).select(FORK).cpu.0;
    let machine = WakeupTestMachine::new(topology(8, 1, 4, 4));
    let widest = machine.sched.domains.chain(CpuId(0)).last().expect("a domain of nodes");
    let pct = u64::from(machine.sched.domains.domains[widest].imbalance_pct);
    // Four CPUs share the load of one.
    let margin = 1024 * (pct - 100) / 100 * 4;
    assert!(fork(margin) < 4);
    assert!(fork(margin + 4) >= 4);
}

#[test]
fn before_5_5_exec_looks_for_room_first() {
    const EXEC: WakeFlags = WakeFlags { fork: false, exec: true, ..FORK };
    let exec = |util: u64, used: [u64; 4]| {
        let mut machine = by_load(topology(4, 1, 4, 4), &[(0, 0); 4]).util(util);
        for (cpu, used) in used.into_iter().enumerate() {
            machine.sched.fair.cfs_rqs[CfsRqId::from_index(cpu)].avg.util_avg = used;
        }
        machine.select(EXEC).cpu.0
    };
    // Spare capacity is 724 here and 774 there: 108 * 724 = 78 192 is more than 77 400. With 824 there it is
    // not.
    assert_eq!(exec(400, [300, 500, 250, 500]), 0);
    assert_eq!(exec(400, [300, 500, 200, 500]), 2);
    // Half of the task exceeds the spare capacity here (30 against 24). CPU 3 has enough.
    assert_eq!(exec(60, [1000, 1024, 1024, 990]), 3);
}

#[test]
fn before_5_5_an_idle_cpu_comes_before_one_that_runs_only_idle_tasks() {
    for (by_load, expected) in [(true, 3), (false, 2)] {
        let mut machine = WakeupTestMachine::new(topology(4, 1, 2, 2)).busy(&[0, 1, 2]);
        machine.sched.tunables.changes.fork_by_load = by_load;
        let cfs_rq = &mut machine.sched.fair.cfs_rqs[CfsRqId::root(CpuId(2))];
        (cfs_rq.idle_nr_running, cfs_rq.idle_h_nr_running) = (1, 1);
        machine.with_ctx(0, |sched, _| sched.refresh_lb_cache());
        let group = machine.sched.domains.chain(CpuId(0)).last().expect("nodes");
        let far = machine.sched.domains.ring(group).nth(1).expect("the other node");
        let task = machine.task;
        let (cpu, _) = machine.with_ctx(0, |sched, ctx| sched.find_idlest_group_cpu(ctx, far, task, CpuId(0)));
        assert_eq!(cpu, CpuId(expected), "{by_load}");
    }
}

#[test]
fn what_is_queued_of_a_group_is_its_part_of_the_runnable_load() {
    let mut machine = flat();
    let (group, _) = machine.with_ctx(0, |sched, ctx| sched.create_group(ctx, GroupId::ROOT));
    let inner = machine.sched.fair.cfs_rq_of_group(group, CpuId(1));
    let entity = machine.sched.fair.group_entity(group, CpuId(1)).expect("a group has an entity on each CPU");
    let (a, b) = (new_task(&mut machine.sched), new_task(&mut machine.sched));
    let [a, b] = [a, b].map(|task| machine.sched.tasks[task].se);
    machine.sched.fair.entities[a].avg.load_avg = 200;
    machine.sched.fair.entities[b].avg.load_avg = 100;
    machine.sched.fair.entities[entity].avg.load_avg = 512;
    machine.sched.fair.cfs_rqs[inner].avg.load_avg = 400;
    machine.sched.fair.cfs_rqs[inner].timeline.insert(1, a);
    assert_eq!(machine.sched.fair.runnable_load(CfsRqId::root(CpuId(1))), 0, "the group itself is not queued");
    machine.sched.fair.cfs_rqs[CfsRqId::root(CpuId(1))].timeline.insert(1, entity);
    assert_eq!(machine.sched.fair.runnable_load(CfsRqId::root(CpuId(1))), 512 * 200 / 400);
    machine.sched.fair.cfs_rqs[inner].curr = Some(b);
    assert_eq!(machine.sched.fair.runnable_load(CfsRqId::root(CpuId(1))), 512 * 300 / 400);
}

#[test]
fn who_wakes_another_task_each_time_flips_and_forgets_half_of_it_in_a_second() {
    let mut machine = flat();
    let (a, b) = (machine.task, new_task(&mut machine.sched));
    let waker = machine.sched.curr(CpuId(0));
    let waker = &mut machine.sched.tasks[waker];
    [a, b, b, a].into_iter().for_each(|wakee| waker.record_wakee(wakee, 1000, 250));
    assert_eq!((waker.wakee_flips, waker.wakee_flip_decay_ts), (3, 1000));
    waker.record_wakee(a, 1250, 250);
    assert_eq!(waker.wakee_flips, 3);
    waker.record_wakee(a, 1251, 250);
    assert_eq!(waker.wakee_flips, 1);
}

#[test]
fn energy_does_not_decide_while_a_cpu_is_over_utilised() {
    let mut machine = energy_aware(2, 0).util(50);
    machine.sched.domains.root.overutilized = true;
    assert_eq!(machine.select_from(2, 2, WAKE).rule, WakeRule::TargetIdle);
}

#[test]
fn energy_spreads_a_task_only_as_far_as_it_may_go() {
    let decision = energy_aware(2, 0).util(50).allow(&[2, 3]).select_from(2, 2, WAKE);
    assert_eq!((decision.rule, decision.cpu), (WakeRule::EnergyPrev, CpuId(2)));
}

#[test]
fn a_task_whose_lower_clamp_is_above_a_small_cpu_goes_to_a_big_one() {
    let decision = energy_aware(2, 0).util(50).clamps(Uclamp { min: 500, max: 1024 }).select_from(0, 0, WAKE);
    assert_eq!((decision.rule, decision.cpu), (WakeRule::EnergyBest, CpuId(2)));
}

#[test]
fn a_task_that_is_too_big_for_the_small_cpus_is_kept_off_them() {
    let decision = energy_aware(2, 0).util(400).select_from(0, 3, WAKE);
    assert_eq!(decision.cpu, CpuId(3));
}

#[test]
fn before_6_0_a_sixteenth_of_the_energy_must_be_saved_by_leaving() {
    // CPU 3 has so much blocked load that the task adds little to it.
    let choose = |energy_margin, util| {
        let mut machine = energy_aware(3, 500).util(util);
        machine.sched.tunables.changes.energy_margin = energy_margin;
        let decision = machine.select_from(2, 2, WAKE);
        (decision.rule, decision.cpu.0)
    };
    assert_eq!(choose(false, 20), (WakeRule::EnergyBest, 0));
    assert_eq!(choose(true, 20), (WakeRule::EnergyPrev, 2));
    assert_eq!(choose(true, 60), (WakeRule::EnergyBest, 0));
    // Energy savings do not count where the task does not fit.
    let mut machine = energy_aware(3, 500).util(400);
    machine.sched.tunables.changes.energy_margin = true;
    machine.sched.fair.cfs_rqs[CfsRqId::root(CpuId(0))].avg.util_avg = 400;
    assert_eq!(machine.select_from(0, 0, WAKE).cpu, CpuId(2));
}

#[test]
fn before_6_0_a_task_adds_nothing_where_more_is_blocked_than_it_is_remembered_for() {
    let choose = |energy_sum| {
        let mut machine = energy_aware(2, 400);
        machine.sched.fair.cfs_rqs[CfsRqId::root(CpuId(3))].avg.util_avg = 400;
        let se = machine.sched.tasks[machine.task].se;
        machine.sched.fair.entities[se].avg.util_est.enqueued = 100;
        machine.sched.tunables.changes.energy_sum = energy_sum;
        let decision = machine.select_from(0, 0, WAKE);
        (decision.rule, decision.cpu.0)
    };
    assert_eq!(choose(false), (WakeRule::EnergyPrev, 0));
    assert_eq!(choose(true), (WakeRule::EnergyBest, 2));
}

#[test]
fn forks_do_not_ask_for_energy() {
    assert_eq!(energy_aware(2, 0).util(50).busy(&[0]).select_from(0, 0, FORK).rule, WakeRule::SlowPathIdlest);
}

#[test]
fn on_request_the_meter_lists_which_runqueues_a_search_has_looked_at() {
    // The scan reads the target and the CPUs after it up to the first idle one.
    let mut machine = WakeupTestMachine::new(topology(4, 1, 4, 4)).busy(&[0, 1]);
    machine.select(WAKE);
    assert!(machine.work.touches().is_empty());
    let mut machine = WakeupTestMachine::new(topology(4, 1, 4, 4)).busy(&[0, 1]);
    machine.work.record_touches(true, 16);
    let decision = machine.select(WAKE);
    assert_eq!((decision.cpu, decision.nr_scanned), (CpuId(2), 2));
    let reads = machine.work.touches().iter().filter(|touch| touch.access != Access::Write);
    let reads: Vec<_> = reads.map(|touch| touch.runqueue().expect("a search reads runqueues only").0).collect();
    assert_eq!(reads, [0, 1, 2]);
    machine.work.clear_touches();
    assert!(machine.work.touches().is_empty());
}
