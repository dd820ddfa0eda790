// SPDX-License-Identifier: GPL-2.0-or-later
//! Benchmarks of frequent operations: pick and switch, sleep and wake, tick; with few and with many tasks, in and out of groups.

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use fairlab_sched::cpumask::CpuMask;
use fairlab_sched::ctx::{Ctx, Effect};
use fairlab_sched::ids::{CpuId, GroupId, TaskId};
use fairlab_sched::probe::NoSchedObserver;
use fairlab_sched::sched::{Sched, SchedConfig};
use fairlab_sched::series::KernelSeries;
use fairlab_sched::state::new_task::NewTask;
use fairlab_sched::task::Policy;
use fairlab_sched::topology::{CpuPlace, MachineTopology, TopologyLevel};
use fairlab_sched::units::Nanos;
use fairlab_sched::work::OpCounts;

const START: Nanos = Nanos(1_000_000_000);

/// A scheduler of one CPU, and its time.
struct OneCpu {
    sched: Sched,
    now: Nanos,
    effects: Vec<Effect>,
    work: OpCounts,
}

impl OneCpu {
    /// With so many runnable tasks, each below so many groups.
    fn new(nr_tasks: i32, depth: usize) -> Self {
        let topology = MachineTopology {
            cpus: vec![CpuPlace { core: 0, cluster: 0, llc: 0, package: 0, node: 0 }],
            capacity: vec![1024],
            levels: vec![TopologyLevel::Mc],
            distances: vec![vec![10]],
        };
        let config = SchedConfig { topology, tick_ns: 4_000_000, jiffies: 250, series: KernelSeries::V6_1 };
        let mut sched = Sched::new(config).expect("one CPU is a machine");
        sched.boot(Nanos(START.0 - 1_000_000));
        let mut cpu = Self { sched, now: START, effects: Vec::new(), work: OpCounts::default() };
        let mut group = GroupId::ROOT;
        for _ in 0..depth {
            group = cpu.enter(0, |sched, ctx| sched.create_group(ctx, group));
        }
        for task in 0..nr_tasks {
            let (pid, policy, cpus_allowed) = (1000 + task, Policy::Normal, CpuMask::full(1));
            let new = NewTask { pid, policy, nice: 0, group, cpus_allowed, uclamp: None, slice: None };
            cpu.enter(1_000, |sched, ctx| sched.handle_fork(ctx, new));
            cpu.enter(0, |sched, ctx| sched.handle_reschedule(ctx));
        }
        cpu
    }

    /// Calls the scheduler some time later.
    fn enter<R>(&mut self, later_ns: u64, act: impl FnOnce(&mut Sched, &mut Ctx<'_>) -> R) -> R {
        self.now += Nanos(later_ns);
        let mut ctx = Ctx {
            cpu: CpuId(0),
            now: self.now,
            clock_offset: Nanos::ZERO,
            self_timed: None,
            effects: &mut self.effects,
            observer: &mut NoSchedObserver,
            wants_accounting: false,
            wants_lags: false,
            op_counts: &mut self.work,
            policy: None,
        };
        let result = act(&mut self.sched, &mut ctx);
        self.effects.clear();
        result
    }

    fn running(&self) -> TaskId {
        self.sched.curr(CpuId(0))
    }
}

fn switch(criterion: &mut Criterion) {
    let shapes = [(2, 0), (8, 0), (64, 0), (1000, 0), (8, 3)];
    let name = |(nr_tasks, depth)| format!("{nr_tasks} tasks, {depth} groups deep");
    let mut group = criterion.benchmark_group("yield");
    for shape in shapes {
        let mut cpu = OneCpu::new(shape.0, shape.1);
        group.bench_function(BenchmarkId::from_parameter(name(shape)), |bencher| {
            bencher.iter(|| cpu.enter(50_000, |sched, ctx| sched.handle_yield(ctx)));
        });
    }
    group.finish();
    let mut group = criterion.benchmark_group("block and wake");
    for shape in shapes {
        let mut cpu = OneCpu::new(shape.0, shape.1);
        group.bench_function(BenchmarkId::from_parameter(name(shape)), |bencher| {
            bencher.iter(|| {
                let task = cpu.running();
                cpu.enter(50_000, |sched, ctx| sched.handle_block(ctx));
                cpu.enter(10_000, |sched, ctx| {
                    sched.handle_wakeup(ctx, task, false);
                    if sched.need_resched(ctx.cpu) {
                        sched.handle_reschedule(ctx);
                    }
                });
            });
        });
    }
    group.finish();
    let mut group = criterion.benchmark_group("tick");
    for shape in shapes {
        let mut cpu = OneCpu::new(shape.0, shape.1);
        group.bench_function(BenchmarkId::from_parameter(name(shape)), |bencher| {
            bencher.iter(|| {
                cpu.enter(4_000_000, |sched, ctx| {
                    sched.handle_tick(ctx);
                    if sched.need_resched(ctx.cpu) {
                        sched.handle_reschedule(ctx);
                    }
                });
            });
        });
    }
}

criterion_group!(benches, switch);
criterion_main!(benches);
