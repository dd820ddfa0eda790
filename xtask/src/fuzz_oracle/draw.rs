// SPDX-License-Identifier: GPL-2.0-or-later
//! Generator of random scenarios from seeds.
//!
//! There are two grammars: that of the reference, and one that also has the statements which the reference does not
//! know ([`extensions`]).

mod extensions;
#[cfg(test)]
mod tests;

use fairlab_machine::streams::RandomStream;
use fairlab_sched::features::Feature;
use fairlab_sched::series::KernelSeries;
use fairlab_sched::tunables::{TunableInfo, TunableStatement};
use std::fmt::Write as _;

/// Tick of scenarios, in nanoseconds.
const TICK_NS: u64 = 4_000_000;
/// Largest number of changes in one scenario.
const MAX_CHANGES: u64 = 60;

struct ScenarioGenerator {
    series: KernelSeries,
    stream: RandomStream,
    text: String,
    nr_cpus: u64,
    /// Number of consecutive CPUs with equal capacity, and with one frequency domain if there is one.
    block: u64,
    end: u64,
    groups: u64,
    /// Names of the tasks.
    tasks: Vec<String>,
    /// Times at which several events happen.
    instants: Vec<u64>,
    /// Whether parameters of fair servers change.
    changes_servers: bool,
    /// Whether the scenario has statements that the reference does not know.
    has_extensions: bool,
    /// Whether CPUs go offline. Then there are no deadline tasks: see [`ScenarioGenerator::draw_hotplug`].
    has_hotplug: bool,
    nodes: u64,
    /// CPUs of a last-level cache.
    llc: u64,
    cpusets: u64,
}

/// Returns the text of the scenario of a seed, with what the kernel of a series and the reference have.
pub(super) fn scenario(seed: u64, series: KernelSeries) -> String {
    draw_scenario(RandomStream::new(seed, "fuzz-oracle", 0), series, false)
}

/// Returns the text of the scenario of a seed, with what the kernel of a series has.
pub(crate) fn scenario_with_extensions(seed: u64, series: KernelSeries) -> String {
    draw_scenario(RandomStream::new(seed, "fuzz-oracle-extensions", 0), series, true)
}

fn draw_scenario(stream: RandomStream, series: KernelSeries, has_extensions: bool) -> String {
    let mut draw = ScenarioGenerator {
        series,
        stream,
        text: String::new(),
        nr_cpus: 1,
        block: 1,
        end: 0,
        groups: 0,
        tasks: Vec::new(),
        instants: Vec::new(),
        changes_servers: false,
        has_extensions,
        has_hotplug: false,
        nodes: 1,
        llc: 1,
        cpusets: 0,
    };
    if has_extensions {
        draw.draw_hotplug();
    }
    draw.machine();
    draw.speeds();
    draw.scheduler();
    draw.make_groups();
    if has_extensions {
        draw.extend_machine();
        draw.make_cpusets();
    }
    draw.start_servers();
    draw.make_tasks();
    if has_extensions {
        draw.add_packets();
        draw.draw_responses();
    }
    draw.make_changes();
    // Engines do not report updates of averages.
    if !has_extensions && draw.stream.draw_one_in(16) {
        draw.line("tracepelt 1");
    }
    draw.text
}

impl ScenarioGenerator {
    fn line(&mut self, line: &str) {
        writeln!(self.text, "{line}").expect("text can be written");
    }

    /// Draws a time whose magnitude is as random as its digits; it is often round.
    fn time(&mut self, most: u64) -> u64 {
        let magnitude = 1 << (8 + self.stream.draw_below(18));
        let time = 1 + self.stream.draw_below(magnitude);
        let unit = self.stream.draw_one_of(&[1, 1_000, 100_000, 1_000_000]);
        (time / unit * unit).clamp(1, most.max(1))
    }

    /// Draws a time within the run: any, at or next to a tick, or one that other events also have.
    fn moment(&mut self) -> u64 {
        let tick = self.stream.draw_below(self.end / TICK_NS + 1) * TICK_NS;
        match self.stream.draw_below(5) {
            0 => self.stream.draw_below(self.end),
            1 => tick,
            2 => tick + self.stream.draw_below(3),
            _ => self.stream.draw_one_of(&self.instants.clone()),
        }
    }

    fn range(&mut self) -> String {
        let (a, b) = (self.stream.draw_below(self.nr_cpus), self.stream.draw_below(self.nr_cpus));
        if self.stream.draw_one_in(3) { a.to_string() } else { format!("{}-{}", a.min(b), a.max(b)) }
    }

    fn machine(&mut self) {
        self.nr_cpus = self.stream.draw_one_of(&[1, 1, 2, 2, 3, 4, 4, 6, 8, 8, 12, 16, 24]);
        self.block = self.stream.draw_one_of(&[1, 2, 4, 8]);
        self.line(&format!("cpus {}", self.nr_cpus));
        // At most two threads: in the reference all siblings of a core come up together, and its kernel
        // detects threads only if a core has two of them.
        let smt = self.stream.draw_one_of(&[1, 1, 2]);
        let llc = smt * self.stream.draw_one_of(&[1, 2, 4, 8]);
        let package = llc * self.stream.draw_one_of(&[1, 2]);
        let node = package * self.stream.draw_one_of(&[1, 1, 2]);
        self.llc = llc;
        self.nodes = self.nr_cpus.div_ceil(node);
        self.line(&format!("topo smt={smt} llc={llc} pkg={package} node={node}"));
        let levels = self.stream.draw_one_of(&["M", "SM", "SMP", "SMPA", "MP", "MA", "SMA", "SCMA"]);
        self.line(&format!("levels {levels}"));
        self.end = (5 + self.stream.draw_below(120)) * 1_000_000 + self.stream.draw_one_of(&[0, 0, 1, 999_999]);
        self.line(&format!("end {}", self.end));
        self.instants = (0..3).map(|_| self.stream.draw_below(self.end)).collect();
        self.line("trace 3");
        if self.series == KernelSeries::V6_12 {
            self.line("tracelag 1");
        }
        if self.stream.draw_one_in(3) {
            let every = 1_000_000 + self.time(50_000_000);
            self.line(&format!("stats {every}"));
        }
        if self.stream.draw_one_in(2) {
            let ipi = self.time(20_000);
            self.line(&format!("ipi {ipi}"));
        }
        if self.stream.draw_one_in(3) {
            let skew = self.time(TICK_NS / self.nr_cpus);
            self.line(&format!("skew {skew}"));
        }
        if self.stream.draw_one_in(4) {
            let cost = self.time(2_000_000);
            self.line(&format!("lbcost {cost}"));
        }
    }

    /// Draws capacities, frequencies and interrupts.
    fn speeds(&mut self) {
        if self.stream.draw_one_in(3) && self.nr_cpus > 1 {
            let kinds = [self.stream.draw_one_of(&[1, 50, 300, 512, 1023]), 1024];
            // CPUs of a frequency domain have equal capacity, which the energy model needs.
            let blocks: Vec<u64> = (0..=self.nr_cpus / self.block).map(|_| self.stream.draw_one_of(&kinds)).collect();
            let caps: Vec<String> =
                (0..self.nr_cpus).map(|cpu| blocks[(cpu / self.block) as usize].to_string()).collect();
            self.line(&format!("caps {}", caps.join(" ")));
        }
        if self.stream.draw_one_in(2) {
            self.line("scale 1");
        }
        match self.stream.draw_below(4) {
            0 => {
                for _ in 0..1 + self.stream.draw_below(12) {
                    let (at, cpu, part) =
                        (self.moment(), self.stream.draw_below(self.nr_cpus), 1 + self.stream.draw_below(1024));
                    self.line(&format!("freq {at} {cpu} {part}"));
                }
            }
            1 => self.domains(),
            _ => {}
        }
        if self.stream.draw_one_in(3) {
            let every = 50_000 + self.time(5_000_000);
            let (range, length) = (self.range(), 1 + self.stream.draw_below(every / 3));
            self.line(&format!("irq {range} {every} {length}"));
        }
    }

    fn domains(&mut self) {
        let has_powers = self.stream.draw_one_in(2);
        let size = self.block;
        let mut first = 0;
        while first < self.nr_cpus && first / size < 12 {
            let last = (first + size - 1).min(self.nr_cpus - 1);
            let mut khz = 100_000 + self.stream.draw_below(500_000);
            let mut power = 1 + self.stream.draw_below(50_000);
            let mut line = format!("fdom {first}-{last}");
            for _ in 0..1 + self.stream.draw_below(6) {
                let point = if has_powers { format!(" {khz}:{power}") } else { format!(" {khz}") };
                line.push_str(&point);
                khz += 1 + self.stream.draw_below(700_000);
                power += 1 + self.stream.draw_below(200_000);
            }
            self.line(&line);
            first = last + 1;
        }
    }

    fn scheduler(&mut self) {
        // HRTICK is excluded: it programs timers so often that a scenario takes minutes.
        let names: Vec<&str> =
            Feature::of_series(self.series).map(Feature::name).filter(|name| !name.contains("HRTICK")).collect();
        for _ in 0..if self.stream.draw_one_in(2) { self.stream.draw_below(6) } else { 0 } {
            let (name, on) = (self.stream.draw_one_of(&names), self.stream.draw_below(2));
            if !name.contains("WARN") {
                self.line(&format!("feature {name} {on}"));
            }
        }
        let of_series = TunableInfo::of_series(self.series);
        let tunables: Vec<_> = of_series.filter(|info| info.statement == Some(TunableStatement::Tune)).collect();
        for _ in 0..if self.stream.draw_one_in(2) { self.stream.draw_below(4) } else { 0 } {
            let TunableInfo { name, range, .. } = tunables[self.stream.draw_below(tunables.len() as u64) as usize];
            let (least, most) = (*range.start(), (*range.end()).min(4_000_000_000));
            let value = match self.stream.draw_below(4) {
                0 => least.max(0),
                1 => most.min(2_000_000_000),
                _ => (least.max(0) + self.time(100_000_000) as i64).min(most),
            };
            self.line(&format!("tune {name} {value}"));
        }
    }

    fn make_groups(&mut self) {
        self.groups = if self.stream.draw_one_in(2) { self.stream.draw_below(5) } else { 0 };
        for group in 0..self.groups {
            let mut line = format!("group g{group}");
            if group > 0 && self.stream.draw_one_in(2) {
                line.push_str(&format!(" parent=g{}", self.stream.draw_below(group)));
            }
            if self.stream.draw_one_in(2) {
                let shares = self.stream.draw_one_of(&[2, 3, 100, 1024, 4096, 262_144]);
                line.push_str(&format!(" shares={shares}"));
            }
            if self.stream.draw_one_in(3) {
                let (quota, period) = self.bandwidth();
                line.push_str(&format!(" quota={quota}us period={period}us"));
                if self.stream.draw_one_in(3) {
                    line.push_str(&format!(" burst={}us", self.stream.draw_below(quota + 1)));
                }
            }
            if self.stream.draw_one_in(5) {
                line.push_str(" idle");
            }
            if self.has_extensions {
                line.push_str(&self.group_extension());
            }
            self.line(&line);
        }
    }

    /// Draws a slice, which the kernel limits to 0.1 to 100 ms; rarely that of the kernel.
    fn slice(&mut self) -> u64 {
        if self.stream.draw_one_in(8) { 0 } else { self.time(200_000_000) }
    }

    /// Draws a change that only kernels with EEVDF know: of a slice, or of fair servers.
    fn eevdf_change(&mut self, at: u64, task: &str) -> String {
        if !self.changes_servers || self.stream.draw_one_in(2) {
            return format!("slice {at} {task} {}", self.slice());
        }
        let period = 100_000 + self.time(400_000_000);
        let runtime = if self.stream.draw_one_in(4) { 0 } else { self.time(period) };
        format!("server {} {} {runtime} {period}", at + 1, self.range())
    }

    /// Draws whether fair servers change. If so, a fair task arrives on each CPU at the start: the reference takes
    /// a server that no fair task has started yet for a task, and what follows is undefined.
    fn start_servers(&mut self) {
        self.changes_servers = self.series == KernelSeries::V6_12 && self.stream.draw_one_in(2);
        let nr_cpus = if self.changes_servers { self.nr_cpus } else { 0 };
        for cpu in 0..nr_cpus {
            self.line(&format!("task first{cpu} cpu={cpu} mask={cpu} run 1000 exit"));
        }
    }

    fn bandwidth(&mut self) -> (u64, u64) {
        let longest = self.stream.draw_one_of(&[1, 3_000, 30_000, 200_000]);
        let period = 1_000 + self.stream.draw_below(longest);
        (1_000 + self.stream.draw_below(2 * period), period)
    }

    fn policy(&mut self) -> String {
        match self.stream.draw_below(8) {
            0 => format!("fifo={}", 1 + self.stream.draw_below(99)),
            1 => format!("rr={}", 1 + self.stream.draw_below(99)),
            2 => "batch".to_owned(),
            3 => "idlepol".to_owned(),
            4 if !self.has_hotplug => {
                let runtime = 50 + self.stream.draw_below(3_000);
                let deadline = runtime + self.stream.draw_below(20_000);
                format!("dl={runtime}us/{deadline}us/{}us", deadline + self.stream.draw_below(10_000))
            }
            _ => String::new(),
        }
    }

    fn make_tasks(&mut self) {
        let lines = 1 + self.stream.draw_below(7);
        let mut sleepers = Vec::new();
        for line in 0..lines {
            let count = if self.stream.draw_one_in(2) { 1 } else { 1 + self.stream.draw_below(2 * self.nr_cpus) };
            let name = format!("t{line}x");
            let names: Vec<String> =
                if count == 1 { vec![name.clone()] } else { (0..count).map(|i| format!("{name}{i}")).collect() };
            let mut text = format!("task {name} n={count} {}", self.policy());
            if self.stream.draw_one_in(3) {
                text.push_str(&format!(" nice={}", self.stream.draw_below(40) as i64 - 20));
            }
            text.push_str(&format!(" cpu={}", self.stream.draw_below(self.nr_cpus)));
            if self.stream.draw_one_in(3) {
                text.push_str(&format!(" start={}", self.moment()));
            }
            if self.stream.draw_one_in(4) && !text.contains("dl=") {
                text.push_str(&format!(" mask={}", self.range()));
            }
            if self.groups > 0 && self.stream.draw_one_in(2) {
                text.push_str(&format!(" group=g{}", self.stream.draw_below(self.groups)));
            }
            if self.stream.draw_one_in(6) {
                let min = self.stream.draw_below(1025);
                text.push_str(&format!(" umin={min} umax={}", min + self.stream.draw_below(1025 - min)));
            }
            // Only fair tasks have a slice: for others the reference refuses the scenario.
            let is_fair = !["fifo=", "rr=", "idlepol", "dl="].iter().any(|policy| text.contains(policy));
            if self.series == KernelSeries::V6_12 && is_fair && self.stream.draw_one_in(3) {
                text.push_str(&format!(" slice={}", self.slice()));
            }
            if self.has_extensions {
                text.push_str(&self.task_extension());
            }
            let waits = self.stream.draw_one_in(4);
            self.program(&mut text, waits, &sleepers);
            if waits {
                sleepers.push(names[0].clone());
            }
            self.tasks.extend(names);
            self.line(&text);
        }
    }

    /// Draws a task's program. Each round takes time, so that it makes progress.
    fn program(&mut self, text: &mut String, waits: bool, sleepers: &[String]) {
        if waits {
            text.push_str(" wait");
        }
        for _ in 0..1 + self.stream.draw_below(3) {
            let time = 10_000 + self.time(5_000_000);
            if self.has_extensions && self.stream.draw_one_in(4) {
                text.push_str(&self.critical_sections());
                continue;
            }
            if self.has_extensions && self.stream.draw_one_in(4) {
                text.push_str(&self.semaphore_operation());
                continue;
            }
            if self.has_extensions && self.stream.draw_one_in(4) {
                let operation = self.stream.draw_one_of(&["runx", "sleepx", "every"]);
                text.push_str(&format!(" {operation} {time}"));
                continue;
            }
            let operation = match self.stream.draw_below(8) {
                0 => format!(" runr {time} {}", time + self.stream.draw_below(2_000_000)),
                1 => format!(" sleepr {time} {}", time + self.stream.draw_below(2_000_000)),
                2 | 3 => format!(" sleep {time}"),
                4 => " yield".to_owned(),
                5 if !sleepers.is_empty() => {
                    let which = self.stream.draw_below(sleepers.len() as u64) as usize;
                    format!(" {} {}", self.stream.draw_one_of(&["wake", "wakesync"]), sleepers[which])
                }
                _ => format!(" run {time}"),
            };
            text.push_str(&operation);
        }
        let last = 1_000 + self.time(3_000_000);
        text.push_str(&format!(" run {last}"));
        if self.stream.draw_one_in(12) {
            text.push_str(" exit");
        }
    }

    fn make_changes(&mut self) {
        let count = if self.stream.draw_one_in(3) { 0 } else { self.stream.draw_below(MAX_CHANGES) };
        for _ in 0..count {
            let at = self.moment();
            let which = self.stream.draw_below(self.tasks.len() as u64) as usize;
            let task = self.tasks[which].clone();
            if self.has_extensions && self.stream.draw_one_in(2) {
                let change = self.extension_change(at, &task);
                self.line(&change);
                continue;
            }
            if self.series == KernelSeries::V6_12 && self.stream.draw_one_in(4) {
                let change = self.eevdf_change(at, &task);
                self.line(&change);
                continue;
            }
            let change = match self.stream.draw_below(8) {
                0 | 1 => {
                    let policy = self.policy();
                    format!("policy {at} {task} {}", if policy.is_empty() { "fair" } else { &policy })
                }
                2 => format!("nice {at} {task} {}", self.stream.draw_below(40) as i64 - 20),
                3 => format!("affinity {at} {task} {}", self.range()),
                4 => {
                    let min = self.stream.draw_below(1025);
                    format!("clamp {at} {task} {min} {}", min + self.stream.draw_below(1025 - min))
                }
                _ if self.groups == 0 => continue,
                5 => {
                    let group = self.stream.draw_below(self.groups + 1);
                    let group = if group == self.groups { "/".to_owned() } else { format!("g{group}") };
                    format!("move {at} {task} {group}")
                }
                6 => format!(
                    "shares {at} g{} {}",
                    self.stream.draw_below(self.groups),
                    self.stream.draw_one_of(&[2, 77, 1024, 262_144])
                ),
                _ => {
                    let (quota, period) = self.bandwidth();
                    let quota = if self.stream.draw_one_in(4) { "none".to_owned() } else { format!("{quota}us") };
                    let burst = if self.has_extensions { self.burst() } else { String::new() };
                    format!("quota {at} g{} {quota} {period}us{burst}", self.stream.draw_below(self.groups))
                }
            };
            self.line(&change);
        }
    }
}
