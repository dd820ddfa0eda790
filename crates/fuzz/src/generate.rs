// SPDX-License-Identifier: GPL-2.0-or-later
//! Random cases from a seed: machines of 1 to 32 CPUs with a few task sets, some of them with groups,
//! affinity masks and policies.

use super::case::{CaseGroup, CaseMachine, CasePolicy, CaseProgram, FuzzCase, MachineShape, TaskSet};
use fairlab_machine::streams::RandomStream;
use fairlab_sched::features::Feature;
use fairlab_sched::series::KernelSeries;
use fairlab_sched::tunables::{TunableInfo, TunableStatement};

/// Returns the case of a seed, on a generated topology or on the given machine. Features and
/// tunables of `switches_of` are drawn too.
pub fn case(seed: u64, machine: Option<&CaseMachine>, switches_of: Option<KernelSeries>) -> FuzzCase {
    let mut draw = RandomStream::new(seed, "fuzz", 0);
    let machine = machine.cloned().unwrap_or_else(|| CaseMachine::Shape(shape(&mut draw)));
    let nr_cpus = machine.nr_cpus();
    let nr_groups = if draw.draw_one_in(3) { 1 + draw.draw_below(3) as usize } else { 0 };
    let groups = (0..nr_groups).map(|_| group(&mut draw, nr_cpus)).collect();
    let nr_sets = 1 + draw.draw_below(4);
    let tasks = (0..nr_sets).map(|_| set(&mut draw, nr_cpus, nr_groups)).collect();
    let mut case = FuzzCase { machine, groups, tasks, features: Vec::new(), tunables: Vec::new(), end_ms: 1000 };
    case.end_ms = draw.draw_one_of(&[500, 1000, 2000]);
    if let Some(series) = switches_of {
        switches(&mut draw, series, &mut case);
    }
    case
}

fn shape(draw: &mut RandomStream) -> MachineShape {
    let nr_cpus = draw.draw_one_of(&[1, 2, 4, 4, 8, 8, 8, 16, 16, 32]);
    let smt = draw.draw_one_of(&[1, 1, 2]);
    let llc = draw.draw_one_of(&[2, 4, 8, 32]).max(smt);
    let node = llc * draw.draw_one_of(&[1, 1, 2, 4]);
    let shape = MachineShape { nr_cpus, smt, llc, node, nr_little: 0 }.with_cpus(nr_cpus);
    let is_mixed = shape.smt == 1 && shape.node == nr_cpus && nr_cpus > 1 && draw.draw_one_in(3);
    if is_mixed { MachineShape { nr_little: nr_cpus / 2, ..shape } } else { shape }
}

fn group(draw: &mut RandomStream, nr_cpus: u32) -> CaseGroup {
    let quota_ms = draw.draw_one_in(4).then(|| 5 + draw.draw_below(u64::from(nr_cpus) * 100) as u32);
    CaseGroup { shares: draw.draw_one_of(&[2, 64, 512, 1024, 1024, 4096, 65536]), quota_ms }
}

fn set(draw: &mut RandomStream, nr_cpus: u32, nr_groups: usize) -> TaskSet {
    let time = |draw: &mut RandomStream| {
        let magnitude = draw.draw_one_of(&[20, 100, 500, 2_000, 10_000]);
        magnitude * (1 + draw.draw_below(9))
    };
    let (run_us, sleep_us) = (time(draw), time(draw));
    let program = match draw.draw_below(5) {
        0 | 1 => CaseProgram::Hog,
        2 | 3 => CaseProgram::Sleeper { run_us, sleep_us },
        _ => CaseProgram::Waker { run_us, sleep_us },
    };
    let nr_cpus = u64::from(nr_cpus);
    let number = match draw.draw_below(4) {
        0 => 1,
        1 => nr_cpus,
        2 => 1 + draw.draw_below(nr_cpus),
        _ => 1 + draw.draw_below(2 * nr_cpus),
    };
    let mut set = TaskSet::new(number as u32, program);
    set.class = draw.draw_one_of(&[
        CasePolicy::Normal,
        CasePolicy::Normal,
        CasePolicy::Normal,
        CasePolicy::Normal,
        CasePolicy::Batch,
        CasePolicy::Idle,
    ]);
    if draw.draw_one_in(12) && program != CaseProgram::Hog {
        set.class = CasePolicy::Fifo;
    }
    if draw.draw_one_in(3) && set.class != CasePolicy::Fifo {
        set.nice = draw.draw_one_of(&[-20, -10, -5, 5, 10, 19]);
    }
    if draw.draw_one_in(4) && nr_cpus > 1 {
        let (one, other) = (draw.draw_below(nr_cpus) as u32, draw.draw_below(nr_cpus) as u32);
        set.mask = Some((one.min(other), one.max(other))).filter(|&mask| mask != (0, nr_cpus as u32 - 1));
    }
    if nr_groups > 0 && set.class != CasePolicy::Fifo && !draw.draw_one_in(3) {
        set.group = Some(draw.draw_below(nr_groups as u64) as usize);
    }
    set.start_ms = if draw.draw_one_in(3) { draw.draw_below(200) } else { 0 };
    set.cpu = if draw.draw_one_in(3) { draw.draw_below(nr_cpus) as u32 } else { 0 };
    set
}

fn switches(draw: &mut RandomStream, series: KernelSeries, case: &mut FuzzCase) {
    let features: Vec<Feature> = Feature::of_series(series).collect();
    let nr_features = draw.draw_below(3);
    for _ in 0..nr_features {
        let feature = draw.draw_one_of(&features);
        if case.features.iter().all(|&(other, _)| other != feature) {
            case.features.push((feature, draw.draw_one_in(2)));
        }
    }
    let of_series = TunableInfo::of_series(series);
    let tunables: Vec<_> = of_series.filter(|info| info.statement == Some(TunableStatement::Tune)).collect();
    if draw.draw_one_in(3) {
        let info = draw.draw_one_of(&tunables);
        let (least, most) = (*info.range.start(), (*info.range.end()).min(1_000_000_000));
        let any = least + draw.draw_below(u64::try_from(most - least).unwrap_or(0).saturating_add(1)) as i64;
        case.tunables.push((info.name, draw.draw_one_of(&[info.test_values[0], info.test_values[1], any])));
    }
}
