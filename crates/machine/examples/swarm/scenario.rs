// SPDX-License-Identifier: GPL-2.0-or-later
//! Generator of random scenarios: a machine, groups, tasks, switches and changes.

use fairlab_machine::streams::RandomStream;
use fairlab_sched::features::Feature;
use fairlab_sched::series::KernelSeries;
use std::fmt::Write;

/// Maximum number of checks of a CPU in one scenario.
const MAX_CPU_CHECKS: u64 = 400_000;

/// Draws random numbers and writes lines.
struct ScenarioWriter {
    stream: RandomStream,
    text: String,
}

impl ScenarioWriter {
    /// Returns a duration in microseconds with a random magnitude.
    fn micros(&mut self, most: u64) -> u64 {
        let magnitude = 1 << (4 + self.stream.draw_below(12));
        (1 + self.stream.draw_below(magnitude)).min(most)
    }

    fn line(&mut self, line: &str) {
        writeln!(self.text, "{line}").expect("text can be written");
    }

    /// Returns a random range of CPUs.
    fn range(&mut self, nr_cpus: u64) -> String {
        let (a, b) = (self.stream.draw_below(nr_cpus), self.stream.draw_below(nr_cpus));
        if self.stream.draw_one_in(3) { format!("{a}-{a}") } else { format!("{}-{}", a.min(b), a.max(b)) }
    }
}

/// Returns the number of CPUs and the text of a seed's scenario.
pub(crate) fn text(seed: u64, series: KernelSeries) -> (u32, String) {
    let mut draw = ScenarioWriter { stream: RandomStream::new(seed, "swarm", 0), text: String::new() };
    let nr_cpus = 1 << draw.stream.draw_below(9);
    let nr_cpus =
        if nr_cpus > 2 && draw.stream.draw_one_in(4) { nr_cpus - draw.stream.draw_below(nr_cpus / 2) } else { nr_cpus };
    let nr_tasks = 1 + draw.stream.draw_below(2 * nr_cpus + 4);
    // There are about four events for each task and millisecond, and each check covers every CPU.
    let length_us = (MAX_CPU_CHECKS * 250 / (nr_cpus * nr_tasks.max(4))).clamp(3_000, 150_000);
    machine(&mut draw, nr_cpus);
    switches(&mut draw, series);
    draw.line(&format!("end {length_us}us"));
    let nr_groups = if draw.stream.draw_one_in(2) { draw.stream.draw_below(6) } else { 0 };
    groups(&mut draw, nr_groups);
    let families = tasks(&mut draw, nr_cpus, nr_tasks, nr_groups, length_us);
    changes(&mut draw, nr_cpus, nr_groups, &families, length_us);
    if series == KernelSeries::V6_12 {
        changes_of_eevdf(&mut draw, nr_cpus, &families, length_us);
    }
    (nr_cpus as u32, draw.text)
}

fn machine(draw: &mut ScenarioWriter, nr_cpus: u64) {
    draw.line(&format!("cpus {nr_cpus}"));
    let smt = draw.stream.draw_one_of(&[1, 1, 2, 2, 4]);
    let llc = smt * draw.stream.draw_one_of(&[1, 2, 4, 8, 16, 64]);
    let package = llc * draw.stream.draw_one_of(&[1, 1, 2, 4]);
    let levels = draw.stream.draw_one_of(&["M", "SM", "SMP", "SMPA", "MP", "MA", "SMA"]);
    draw.line(&format!("topo smt={smt} llc={llc} pkg={package}"));
    draw.line(&format!("levels {levels}"));
    if draw.stream.draw_one_in(4) && nr_cpus >= 4 {
        let small = draw.stream.draw_one_of(&[200u64, 400, 700]);
        let caps: Vec<String> =
            (0..nr_cpus).map(|cpu| if cpu < nr_cpus / 2 { small } else { 1024 }.to_string()).collect();
        draw.line(&format!("caps {}\nscale 1", caps.join(" ")));
    }
    if draw.stream.draw_one_in(2) {
        let ipi = 1 + draw.stream.draw_below(5_000);
        draw.line(&format!("ipi {ipi}ns"));
    }
    if draw.stream.draw_one_in(3) {
        let skew = 1 + draw.stream.draw_below(15);
        draw.line(&format!("skew {skew}us"));
    }
    if draw.stream.draw_one_in(4) {
        let cost = 1 + draw.stream.draw_below(40);
        draw.line(&format!("lbcost {cost}us"));
    }
    if draw.stream.draw_one_in(5) {
        let (cpus, every, time) =
            (draw.range(nr_cpus), 1_000 + draw.stream.draw_below(4_000), 1 + draw.stream.draw_below(300));
        draw.line(&format!("irq {cpus} {every}us {time}us"));
    }
    if draw.stream.draw_one_in(5) {
        // Power values belong to one kind of CPU.
        let parts = match draw.text.contains("\ncaps ") {
            true => vec![(0, nr_cpus / 2), (nr_cpus / 2, nr_cpus)],
            false => vec![(0, nr_cpus)],
        };
        for (first, end) in parts {
            draw.line(&format!("fdom {first}-{} 500000:100000 1000000:300000 2000000:1200000", end - 1));
        }
    }
}

fn switches(draw: &mut ScenarioWriter, series: KernelSeries) {
    for feature in Feature::of_series(series) {
        if draw.stream.draw_one_in(20) {
            let on = draw.stream.draw_below(2);
            draw.line(&format!("feature {} {on}", feature.name()));
        }
    }
    if series == KernelSeries::V6_12 {
        if draw.stream.draw_one_in(3) {
            let slice = draw.micros(20_000);
            draw.line(&format!("tune base_slice_ns {}", 1000 * slice));
        }
        return;
    }
    for (name, values) in [
        ("misfit_kick", &[0i64, 1][..]),
        ("llc_kick", &[0, 1]),
        ("kick_next", &[0, 1]),
        ("redo_max", &[0, 1, 2]),
        ("blocked_limit", &[0, 50]),
        ("newidle_blocked", &[0, 1]),
    ] {
        if draw.stream.draw_one_in(6) {
            let value = draw.stream.draw_one_of(values);
            draw.line(&format!("arm {name} {value}"));
        }
    }
}

fn groups(draw: &mut ScenarioWriter, nr_groups: u64) {
    for group in 0..nr_groups {
        let mut line = format!("group g{group}");
        if group > 0 && draw.stream.draw_one_in(2) {
            let parent = draw.stream.draw_below(group);
            write!(line, " parent=g{parent}").expect("text can be written");
        }
        if draw.stream.draw_one_in(2) {
            let shares = draw.stream.draw_one_of(&[2, 100, 512, 4096, 100_000]);
            write!(line, " shares={shares}").expect("text can be written");
        }
        if draw.stream.draw_one_in(3) {
            let (quota, period) = (1 + draw.stream.draw_below(30), draw.stream.draw_one_of(&[5, 10, 20]));
            write!(line, " quota={quota}ms period={period}ms").expect("text can be written");
        }
        if draw.stream.draw_one_in(8) {
            line.push_str(" idle");
        }
        draw.line(&line);
    }
}

/// Writes families of tasks. Returns their names, each with the number of its tasks.
fn tasks(draw: &mut ScenarioWriter, nr_cpus: u64, nr_tasks: u64, nr_groups: u64, length_us: u64) -> Vec<(String, u64)> {
    let (mut left, mut families) = (nr_tasks, Vec::new());
    while left > 0 && families.len() < 20 {
        let name = format!("f{}_", char::from(b'a' + families.len() as u8));
        let nr = 1 + draw.stream.draw_below(left);
        left -= nr;
        let mut line = format!(
            "task {name} n={nr} cpu={} start={}us",
            draw.stream.draw_below(nr_cpus),
            draw.stream.draw_below(length_us / 3)
        );
        let option = match draw.stream.draw_below(12) {
            0 => format!(" nice={}", draw.stream.draw_below(40) as i64 - 20),
            1 => " batch".to_owned(),
            2 => " idlepol".to_owned(),
            3 => format!(" fifo={}", 1 + draw.stream.draw_below(99)),
            4 => format!(" rr={}", 1 + draw.stream.draw_below(99)),
            5 if nr <= 2 => format!(" dl={}us/20ms/20ms", 1_100 + draw.stream.draw_below(4_000)),
            6 | 7 => format!(" mask={}", draw.range(nr_cpus)),
            8 => format!(" umin={} umax={}", draw.stream.draw_below(500), 500 + draw.stream.draw_below(525)),
            _ => String::new(),
        };
        line.push_str(&option);
        if nr_groups > 0 && draw.stream.draw_one_in(2) {
            let group = draw.stream.draw_below(nr_groups);
            write!(line, " group=g{group}").expect("text can be written");
        }
        let (a, b) = (draw.micros(9_000), draw.micros(9_000));
        let program = match draw.stream.draw_below(7) {
            0 => "run 1s".to_owned(),
            1 => format!("run {a}us yield run {b}us sleep 1ms"),
            2 => format!("run {a}us exit"),
            3 => format!("runr {a}us {}us sleepr {b}us {}us", 2 * a, 3 * b),
            4 if families.len() < 19 => {
                let partner = format!("f{}_", char::from(b'b' + families.len() as u8));
                draw.line(&format!("{line} loop run {a}us wakesync {partner} wait"));
                families.push((name.clone(), nr));
                let (nr_text, cpu) = (format!("task {partner} n={nr}"), draw.stream.draw_below(nr_cpus));
                draw.line(&format!("{nr_text} cpu={cpu} loop wait run {b}us wake {name}"));
                families.push((partner, nr));
                continue;
            }
            _ => format!("run {a}us sleep {b}us"),
        };
        draw.line(&format!("{line} {program}"));
        families.push((name, nr));
    }
    families
}

fn changes(draw: &mut ScenarioWriter, nr_cpus: u64, nr_groups: u64, families: &[(String, u64)], length_us: u64) {
    for _ in 0..draw.stream.draw_below(12) {
        let at = draw.stream.draw_below(length_us);
        let (family, nr) = &families[draw.stream.draw_below(families.len() as u64) as usize];
        let task = if *nr == 1 { family.clone() } else { format!("{family}{}", draw.stream.draw_below(*nr)) };
        let line = match draw.stream.draw_below(6) {
            0 => format!("affinity {at}us {task} {}", draw.range(nr_cpus)),
            1 => format!("nice {at}us {task} {}", draw.stream.draw_below(40) as i64 - 20),
            2 => {
                format!(
                    "policy {at}us {task} {}",
                    draw.stream.draw_one_of(&["fair", "batch", "idlepol", "fifo=5", "rr=50"])
                )
            }
            3 => format!("clamp {at}us {task} {} {}", draw.stream.draw_below(400), 400 + draw.stream.draw_below(625)),
            4 if nr_groups > 0 => format!("move {at}us {task} g{}", draw.stream.draw_below(nr_groups)),
            5 if nr_groups > 0 => {
                format!("shares {at}us g{} {}", draw.stream.draw_below(nr_groups), 2 + draw.stream.draw_below(5_000))
            }
            _ => continue,
        };
        draw.line(&line);
    }
}

/// Writes changes that kernels without EEVDF do not have: slices and parameters of fair servers.
///
/// The first fair task of a CPU starts its server and overwrites earlier parameters, whose bandwidth is never released.
/// So each CPU runs such a task before. Changes of servers while their bandwidth is still in use can also lose that of
/// deadline tasks, so there are none of these.
fn changes_of_eevdf(draw: &mut ScenarioWriter, nr_cpus: u64, families: &[(String, u64)], length_us: u64) {
    let has_servers = !draw.text.contains(" dl=") && draw.stream.draw_one_in(2);
    for cpu in 0..if has_servers { nr_cpus } else { 0 } {
        draw.line(&format!("task starter{cpu} mask={cpu} cpu={cpu} run 10us exit"));
    }
    for _ in 0..draw.stream.draw_below(8) {
        let at = length_us / 2 + draw.stream.draw_below(length_us / 2);
        if has_servers && draw.stream.draw_one_in(3) {
            let (cpus, runtime) = (draw.range(nr_cpus), draw.micros(5_000));
            draw.line(&format!("server {at}us {cpus} {runtime}us 20ms"));
            continue;
        }
        let (family, nr) = &families[draw.stream.draw_below(families.len() as u64) as usize];
        let task = if *nr == 1 { family.clone() } else { format!("{family}{}", draw.stream.draw_below(*nr)) };
        let slice = draw.micros(30_000);
        draw.line(&format!("slice {at}us {task} {slice}us"));
    }
}
