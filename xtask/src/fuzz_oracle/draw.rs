// SPDX-License-Identifier: GPL-2.0-or-later
//! The scenario of a seed.

use fairlab_machine::streams::Stream;
use fairlab_sched::features::Feature;
use fairlab_sched::tunables::{SetBy, TUNABLES};
use std::fmt::Write as _;

/// A tick of scenarios, in nanoseconds.
const TICK: u64 = 4_000_000;
/// Changes of one scenario.
const MOST_CHANGES: u64 = 60;

struct Draw {
    stream: Stream,
    text: String,
    nr_cpus: u64,
    /// CPUs in a row that have one capacity, and one frequency if any.
    block: u64,
    end: u64,
    groups: u64,
    /// Names of tasks.
    tasks: Vec<String>,
    /// Instants at which several things happen.
    instants: Vec<u64>,
}

/// The text of the scenario of a seed.
pub(super) fn scenario(seed: u64) -> String {
    let mut draw = Draw {
        stream: Stream::new(seed, "fuzz-oracle", 0),
        text: String::new(),
        nr_cpus: 1,
        block: 1,
        end: 0,
        groups: 0,
        tasks: Vec::new(),
        instants: Vec::new(),
    };
    draw.machine();
    draw.speeds();
    draw.scheduler();
    draw.make_groups();
    draw.make_tasks();
    draw.make_changes();
    draw.text
}

impl Draw {
    fn line(&mut self, line: &str) {
        writeln!(self.text, "{line}").expect("text can be written");
    }

    /// A time whose magnitude is as random as its digits, often round.
    fn time(&mut self, most: u64) -> u64 {
        let magnitude = 1 << (8 + self.stream.below(18));
        let time = 1 + self.stream.below(magnitude);
        let unit = self.stream.draw_one_of(&[1, 1_000, 100_000, 1_000_000]);
        (time / unit * unit).clamp(1, most.max(1))
    }

    /// A time within the run: any, at a tick or next to one, or one that others have too.
    fn moment(&mut self) -> u64 {
        let tick = self.stream.below(self.end / TICK + 1) * TICK;
        match self.stream.below(5) {
            0 => self.stream.below(self.end),
            1 => tick,
            2 => tick + self.stream.below(3),
            _ => self.stream.draw_one_of(&self.instants.clone()),
        }
    }

    fn range(&mut self) -> String {
        let (a, b) = (self.stream.below(self.nr_cpus), self.stream.below(self.nr_cpus));
        if self.stream.draw_one_in(3) { a.to_string() } else { format!("{}-{}", a.min(b), a.max(b)) }
    }

    fn machine(&mut self) {
        self.nr_cpus = self.stream.draw_one_of(&[1, 1, 2, 2, 3, 4, 4, 6, 8, 8, 12, 16, 24]);
        self.block = self.stream.draw_one_of(&[1, 2, 4, 8]);
        self.line(&format!("cpus {}", self.nr_cpus));
        // No more than two threads: in the reference the siblings of a core come up all at once, and its kernel knows of threads only
        // if it has seen a core with two of them.
        let smt = self.stream.draw_one_of(&[1, 1, 2]);
        let llc = smt * self.stream.draw_one_of(&[1, 2, 4, 8]);
        let package = llc * self.stream.draw_one_of(&[1, 2]);
        let node = package * self.stream.draw_one_of(&[1, 1, 2]);
        self.line(&format!("topo smt={smt} llc={llc} pkg={package} node={node}"));
        let levels = self.stream.draw_one_of(&["M", "SM", "SMP", "SMPA", "MP", "MA", "SMA", "SCMA"]);
        self.line(&format!("levels {levels}"));
        self.end = (5 + self.stream.below(120)) * 1_000_000 + self.stream.draw_one_of(&[0, 0, 1, 999_999]);
        self.line(&format!("end {}", self.end));
        self.instants = (0..3).map(|_| self.stream.below(self.end)).collect();
        self.line("trace 3");
        if self.stream.draw_one_in(3) {
            let every = 1_000_000 + self.time(50_000_000);
            self.line(&format!("stats {every}"));
        }
        if self.stream.draw_one_in(2) {
            let ipi = self.time(20_000);
            self.line(&format!("ipi {ipi}"));
        }
        if self.stream.draw_one_in(3) {
            let skew = self.time(TICK / self.nr_cpus);
            self.line(&format!("skew {skew}"));
        }
        if self.stream.draw_one_in(4) {
            let cost = self.time(2_000_000);
            self.line(&format!("lbcost {cost}"));
        }
    }

    /// Capacities, frequencies, interrupts.
    fn speeds(&mut self) {
        if self.stream.draw_one_in(3) && self.nr_cpus > 1 {
            let kinds = [self.stream.draw_one_of(&[1, 50, 300, 512, 1023]), 1024];
            // Those of a frequency domain are alike, or there is no energy model.
            let blocks: Vec<u64> = (0..=self.nr_cpus / self.block).map(|_| self.stream.draw_one_of(&kinds)).collect();
            let caps: Vec<String> =
                (0..self.nr_cpus).map(|cpu| blocks[(cpu / self.block) as usize].to_string()).collect();
            self.line(&format!("caps {}", caps.join(" ")));
        }
        if self.stream.draw_one_in(2) {
            self.line("scale 1");
        }
        match self.stream.below(4) {
            0 => {
                for _ in 0..1 + self.stream.below(12) {
                    let (at, cpu, part) = (self.moment(), self.stream.below(self.nr_cpus), 1 + self.stream.below(1024));
                    self.line(&format!("freq {at} {cpu} {part}"));
                }
            }
            1 => self.domains(),
            _ => {}
        }
        if self.stream.draw_one_in(3) {
            let every = 50_000 + self.time(5_000_000);
            let (range, length) = (self.range(), 1 + self.stream.below(every / 3));
            self.line(&format!("irq {range} {every} {length}"));
        }
    }

    fn domains(&mut self) {
        let has_powers = self.stream.draw_one_in(2);
        let size = self.block;
        let mut first = 0;
        while first < self.nr_cpus && first / size < 12 {
            let last = (first + size - 1).min(self.nr_cpus - 1);
            let mut khz = 100_000 + self.stream.below(500_000);
            let mut power = 1 + self.stream.below(50_000);
            let mut line = format!("fdom {first}-{last}");
            for _ in 0..1 + self.stream.below(6) {
                let point = if has_powers { format!(" {khz}:{power}") } else { format!(" {khz}") };
                line.push_str(&point);
                khz += 1 + self.stream.below(700_000);
                power += 1 + self.stream.below(200_000);
            }
            self.line(&line);
            first = last + 1;
        }
    }

    fn scheduler(&mut self) {
        // HRTICK programs timers so often that a scenario takes minutes.
        let names: Vec<&str> =
            Feature::ALL.iter().map(|feature| feature.name()).filter(|name| !name.contains("HRTICK")).collect();
        for _ in 0..if self.stream.draw_one_in(2) { self.stream.below(6) } else { 0 } {
            let (name, on) = (self.stream.draw_one_of(&names), self.stream.below(2));
            if !name.contains("WARN") {
                self.line(&format!("feature {name} {on}"));
            }
        }
        let tunables: Vec<_> = TUNABLES.iter().filter(|info| info.statement == Some(SetBy::Tune)).collect();
        for _ in 0..if self.stream.draw_one_in(2) { self.stream.below(4) } else { 0 } {
            let info = self.stream.draw_one_of(&tunables);
            let (least, most) = (*info.range.start(), (*info.range.end()).min(4_000_000_000));
            let value = match self.stream.below(4) {
                0 => least.max(0),
                1 => most.min(2_000_000_000),
                _ => (least.max(0) + self.time(100_000_000) as i64).min(most),
            };
            self.line(&format!("tune {} {value}", info.name));
        }
    }

    fn make_groups(&mut self) {
        self.groups = if self.stream.draw_one_in(2) { self.stream.below(5) } else { 0 };
        for group in 0..self.groups {
            let mut line = format!("group g{group}");
            if group > 0 && self.stream.draw_one_in(2) {
                line.push_str(&format!(" parent=g{}", self.stream.below(group)));
            }
            if self.stream.draw_one_in(2) {
                let shares = self.stream.draw_one_of(&[2, 3, 100, 1024, 4096, 262_144]);
                line.push_str(&format!(" shares={shares}"));
            }
            if self.stream.draw_one_in(3) {
                let (quota, period) = self.bandwidth();
                line.push_str(&format!(" quota={quota}us period={period}us"));
                if self.stream.draw_one_in(3) {
                    line.push_str(&format!(" burst={}us", self.stream.below(quota + 1)));
                }
            }
            if self.stream.draw_one_in(5) {
                line.push_str(" idle");
            }
            self.line(&line);
        }
    }

    fn bandwidth(&mut self) -> (u64, u64) {
        let longest = self.stream.draw_one_of(&[1, 3_000, 30_000, 200_000]);
        let period = 1_000 + self.stream.below(longest);
        (1_000 + self.stream.below(2 * period), period)
    }

    fn policy(&mut self) -> String {
        match self.stream.below(8) {
            0 => format!("fifo={}", 1 + self.stream.below(99)),
            1 => format!("rr={}", 1 + self.stream.below(99)),
            2 => "batch".to_owned(),
            3 => "idlepol".to_owned(),
            4 => {
                let runtime = 50 + self.stream.below(3_000);
                let deadline = runtime + self.stream.below(20_000);
                format!("dl={runtime}us/{deadline}us/{}us", deadline + self.stream.below(10_000))
            }
            _ => String::new(),
        }
    }

    fn make_tasks(&mut self) {
        let lines = 1 + self.stream.below(7);
        let mut sleepers = Vec::new();
        for line in 0..lines {
            let count = if self.stream.draw_one_in(2) { 1 } else { 1 + self.stream.below(2 * self.nr_cpus) };
            let name = format!("t{line}x");
            let names: Vec<String> =
                if count == 1 { vec![name.clone()] } else { (0..count).map(|i| format!("{name}{i}")).collect() };
            let mut text = format!("task {name} n={count} {}", self.policy());
            if self.stream.draw_one_in(3) {
                text.push_str(&format!(" nice={}", self.stream.below(40) as i64 - 20));
            }
            text.push_str(&format!(" cpu={}", self.stream.below(self.nr_cpus)));
            if self.stream.draw_one_in(3) {
                text.push_str(&format!(" start={}", self.moment()));
            }
            if self.stream.draw_one_in(4) && !text.contains("dl=") {
                text.push_str(&format!(" mask={}", self.range()));
            }
            if self.groups > 0 && self.stream.draw_one_in(2) {
                text.push_str(&format!(" group=g{}", self.stream.below(self.groups)));
            }
            if self.stream.draw_one_in(6) {
                let min = self.stream.below(1025);
                text.push_str(&format!(" umin={min} umax={}", min + self.stream.below(1025 - min)));
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

    /// Each round takes time, so that a program gets on.
    fn program(&mut self, text: &mut String, waits: bool, sleepers: &[String]) {
        if waits {
            text.push_str(" wait");
        }
        for _ in 0..1 + self.stream.below(3) {
            let time = 10_000 + self.time(5_000_000);
            let operation = match self.stream.below(8) {
                0 => format!(" runr {time} {}", time + self.stream.below(2_000_000)),
                1 => format!(" sleepr {time} {}", time + self.stream.below(2_000_000)),
                2 | 3 => format!(" sleep {time}"),
                4 => " yield".to_owned(),
                5 if !sleepers.is_empty() => {
                    let which = self.stream.below(sleepers.len() as u64) as usize;
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
        let count = if self.stream.draw_one_in(3) { 0 } else { self.stream.below(MOST_CHANGES) };
        for _ in 0..count {
            let at = self.moment();
            let which = self.stream.below(self.tasks.len() as u64) as usize;
            let task = self.tasks[which].clone();
            let change = match self.stream.below(8) {
                0 | 1 => {
                    let policy = self.policy();
                    format!("policy {at} {task} {}", if policy.is_empty() { "fair" } else { &policy })
                }
                2 => format!("nice {at} {task} {}", self.stream.below(40) as i64 - 20),
                3 => format!("affinity {at} {task} {}", self.range()),
                4 => {
                    let min = self.stream.below(1025);
                    format!("clamp {at} {task} {min} {}", min + self.stream.below(1025 - min))
                }
                _ if self.groups == 0 => continue,
                5 => {
                    let group = self.stream.below(self.groups + 1);
                    let group = if group == self.groups { "/".to_owned() } else { format!("g{group}") };
                    format!("move {at} {task} {group}")
                }
                6 => format!(
                    "shares {at} g{} {}",
                    self.stream.below(self.groups),
                    self.stream.draw_one_of(&[2, 77, 1024, 262_144])
                ),
                _ => {
                    let (quota, period) = self.bandwidth();
                    let quota = if self.stream.draw_one_in(4) { "none".to_owned() } else { format!("{quota}us") };
                    format!("quota {at} g{} {quota} {period}us", self.stream.below(self.groups))
                }
            };
            self.line(&change);
        }
    }
}
