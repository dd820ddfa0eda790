// SPDX-License-Identifier: GPL-2.0-or-later
//! Recordings of results of the kernel's own functions, and a scheduler that takes their inputs.
//!
//! The recordings come from the unmodified `kernel/sched` of Linux 6.1.192 or 6.12.117, run as a program. Every number of
//! every step is compared; a passing test prints the number of steps.

use crate::interface::ctx::{Ctx, Effect};
use crate::interface::probe::NoSchedObserver;
use crate::paths::sched::{Sched, SchedConfig};
use crate::state::entity::SchedEntity;
use crate::state::new_task::NewTask;
use crate::state::task::Policy;
use crate::state::topology::{CpuPlace, MachineTopology, TopologyLevel};
use crate::types::cpumask::CpuMask;
use crate::types::ids::{CfsRqId, CpuId, EntityId, GroupId, TaskId};
use crate::types::pelt::SchedAvg;
use crate::types::series::KernelSeries;
use crate::types::units::{Nanos, SCHED_CAPACITY_SCALE};
use crate::types::work::OpCounts;
use serde_json::Value;
use std::path::Path;
use std::string::String;
use std::vec;
use std::vec::Vec;

/// The only CPU of the scheduler under test.
pub(crate) const CPU: CpuId = CpuId(0);

/// Reads the lines of a recording.
pub(crate) fn recording(name: &str) -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/kernel").join(name);
    let packed = std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let text = String::from_utf8(zstd::decode_all(&packed[..]).expect("the recording is zstd data")).unwrap();
    text.lines().map(|line| serde_json::from_str(line).expect("a line is a JSON object")).collect()
}

/// Reads a whole number; a negative one is converted to unsigned as in the kernel.
pub(crate) fn number(value: &Value) -> u64 {
    let negative = || value.as_i64().map(|number| number as u64);
    value.as_u64().or_else(negative).unwrap_or_else(|| panic!("{value} is no whole number"))
}

/// Reads an array of whole numbers.
pub(crate) fn numbers(value: &Value) -> Vec<u64> {
    value.as_array().unwrap_or_else(|| panic!("{value} is no array")).iter().map(number).collect()
}

/// Reads an array of exactly `N` whole numbers.
pub(crate) fn columns<const N: usize>(value: &Value) -> [u64; N] {
    numbers(value).try_into().unwrap_or_else(|all: Vec<u64>| panic!("{} columns instead of {N}", all.len()))
}

/// Steps of a line.
pub(crate) fn steps(line: &Value) -> &[Value] {
    line["steps"].as_array().expect("a line has steps")
}

/// Returns the eight columns of an average.
pub(crate) fn avg_columns(avg: &SchedAvg) -> [u64; 8] {
    [
        avg.last_update_time,
        avg.load_sum,
        avg.runnable_sum,
        u64::from(avg.util_sum),
        u64::from(avg.period_contrib),
        avg.load_avg,
        avg.runnable_avg,
        avg.util_avg,
    ]
}

/// Creates an average from its eight columns.
pub(crate) fn avg_from(columns: [u64; 8]) -> SchedAvg {
    let [last_update_time, load_sum, runnable_sum, util_sum, period_contrib, load_avg, runnable_avg, util_avg] =
        columns;
    let (util_sum, period_contrib) = (util_sum as u32, period_contrib as u32);
    SchedAvg {
        last_update_time,
        load_sum,
        runnable_sum,
        util_sum,
        period_contrib,
        load_avg,
        runnable_avg,
        util_avg,
        ..SchedAvg::default()
    }
}

/// Scheduler of one CPU that was not booted, so that its averages are zero.
pub(crate) struct GoldenTestMachine {
    pub(crate) sched: Sched,
    effects: Vec<Effect>,
    work: OpCounts,
}

impl GoldenTestMachine {
    pub(crate) fn new() -> Self {
        let topology = MachineTopology {
            cpus: vec![CpuPlace { core: 0, cluster: 0, llc: 0, package: 0, node: 0 }],
            capacity: vec![SCHED_CAPACITY_SCALE],
            levels: vec![TopologyLevel::Mc],
            distances: vec![vec![10]],
        };
        let sched = Sched::new(SchedConfig { topology, tick_ns: 4_000_000, jiffies: 0, series: KernelSeries::V6_1 })
            .expect("one CPU is a machine");
        Self { sched, effects: Vec::new(), work: OpCounts::default() }
    }

    /// Calls the scheduler at time 0.
    pub(crate) fn with<R>(&mut self, act: impl FnOnce(&mut Sched, &mut Ctx<'_>) -> R) -> R {
        let mut ctx = Ctx {
            cpu: CPU,
            now: Nanos::ZERO,
            clock_offset: Nanos::ZERO,
            self_timed: None,
            effects: &mut self.effects,
            observer: &mut NoSchedObserver,
            wants_accounting: false,
            wants_lags: false,
            op_counts: &mut self.work,
            policy: None,
        };
        act(&mut self.sched, &mut ctx)
    }

    /// Creates a nice-0 task that is not queued, with averages of zero.
    pub(crate) fn task(&mut self) -> (TaskId, EntityId) {
        let cpus_allowed = CpuMask::full(1);
        let new = NewTask {
            pid: 1000,
            policy: Policy::Normal,
            nice: 0,
            group: GroupId::ROOT,
            cpus_allowed,
            uclamp: None,
            slice: None,
        };
        let task = self.sched.new_task(new, CPU);
        let entity = self.sched.tasks[task].se;
        self.sched.fair.entities[entity].avg = SchedAvg::default();
        (task, entity)
    }

    /// Creates a group that is not queued, with averages of zero, and returns it with its entity.
    pub(crate) fn group(&mut self) -> (GroupId, EntityId) {
        let group = self.with(|sched, ctx| sched.create_group(ctx, GroupId::ROOT));
        let entity = self.sched.fair.group_entity(group, CPU).expect("every group but the root has entities");
        self.sched.fair.entities[entity].avg = SchedAvg::default();
        (group, entity)
    }
}

/// Fills a root cfs_rq with the first `nr` entities of a line, of which one may be running. `set` gives an entity its
/// recorded values. Returns all entities, one more than are queued.
pub(crate) fn fill_cfs_rq(
    rig: &mut GoldenTestMachine,
    line: &Value,
    set: impl Fn(&mut SchedEntity, &Value),
) -> Vec<EntityId> {
    let cfs_rq = CfsRqId::root(CPU);
    let nr = number(&line["nr"]) as usize;
    let curr = usize::try_from(line["curr"].as_i64().expect("an index or -1")).ok();
    let mut ids = Vec::new();
    for (index, entity) in line["e"].as_array().expect("entities").iter().enumerate() {
        let (_, id) = rig.task();
        let exec_start = rig.sched.rqs[CPU].clock_task;
        let se = &mut rig.sched.fair.entities[id];
        set(se, entity);
        se.exec_start = exec_start;
        se.on_rq = index < nr;
        let weight = se.load.weight;
        ids.push(id);
        if index == nr {
            continue;
        }
        let queue = &mut rig.sched.fair.cfs_rqs[cfs_rq];
        queue.load.add(weight);
        queue.nr_running += 1;
        queue.h_nr_running += 1;
        if Some(index) == curr {
            queue.curr = Some(id);
        } else {
            match rig.sched.rules.fair_is_eevdf {
                false => rig.sched.fair.insert_into_timeline_cfs(cfs_rq, id),
                true => rig.sched.fair.insert_into_timeline_eevdf(cfs_rq, id),
            }
        }
    }
    assert_eq!(ids.len(), nr + 1, "one entity more than are queued");
    ids
}

/// Prints the number of compared steps and checks it against the number in the recording.
#[expect(clippy::print_stdout, reason = "how much was compared is a result of the test")]
pub(crate) fn compared(what: &str, nr_compared: usize, expected: usize) {
    std::println!("{what}: {nr_compared} steps compared");
    assert_eq!(nr_compared, expected, "{what}: the number of steps in the recording has changed");
}
