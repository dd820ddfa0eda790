// SPDX-License-Identifier: GPL-2.0-or-later
//! Statements, options and operations that the reference does not know.
//!
//! Compiled-kernel engines have all of them, so a second grammar compares them with the built-in scheduler.

use super::ScenarioGenerator;
use fairlab_machine::streams::RandomStream;
use fairlab_sched::features::Feature;
use fairlab_sched::series::KernelSeries;
use fairlab_sched::tunables::{TunableInfo, TunableStatement};

/// Number of mutexes of a scenario.
const MUTEXES: u64 = 4;
/// Number of semaphores of a scenario.
const SEMAPHORES: u64 = 3;

impl ScenarioGenerator {
    /// Draws whether CPUs go offline.
    ///
    /// Without deadline tasks, because of a known difference: the kernel does not count the bandwidth of deadline tasks
    /// that sleep on offline CPUs, fairlab does.
    pub(super) fn draw_hotplug(&mut self) {
        self.has_hotplug = self.stream.draw_one_in(2);
    }

    /// Draws an irregular topology and steal time.
    pub(super) fn extend_machine(&mut self) {
        if self.stream.draw_one_in(8) {
            // The threads of a core are in one cache.
            let core = |stream: &mut RandomStream, cpu| cpu / self.llc * self.llc + stream.draw_below(self.llc);
            let cores: Vec<String> = (0..self.nr_cpus).map(|cpu| core(&mut self.stream, cpu).to_string()).collect();
            self.line(&format!("smtmap {}", cores.join(" ")));
        }
        if self.nodes > 1 && self.stream.draw_one_in(2) {
            self.distances();
        }
        if self.stream.draw_one_in(3) {
            let every = 50_000 + self.time(5_000_000);
            let (range, length) = (self.range(), 1 + self.stream.draw_below(every / 3));
            self.line(&format!("steal {range} {every} {length}"));
        }
    }

    /// Draws symmetric distances between the nodes.
    fn distances(&mut self) {
        let nodes = self.nodes as usize;
        let mut distances = vec![10; nodes * nodes];
        for (from, to) in (0..nodes).flat_map(|from| (0..from).map(move |to| (from, to))) {
            let distance = self.stream.draw_one_of(&[15, 20, 31, 40, 255]);
            (distances[from * nodes + to], distances[to * nodes + from]) = (distance, distance);
        }
        let words: Vec<String> = distances.iter().map(ToString::to_string).collect();
        self.line(&format!("dist {nodes} {}", words.join(" ")));
    }

    pub(super) fn make_cpusets(&mut self) {
        self.cpusets = if self.stream.draw_one_in(2) { self.stream.draw_below(4) } else { 0 };
        for cpuset in 0..self.cpusets {
            let cpus = self.range();
            self.line(&format!("cpuset s{cpuset} cpus={cpus}"));
        }
    }

    /// Draws packets that wake a task. The kernel's softirqs have no cost in scenarios.
    pub(super) fn add_packets(&mut self) {
        if self.stream.draw_one_in(4) {
            let every = 100_000 + self.time(10_000_000);
            let task = self.tasks[self.stream.draw_below(self.tasks.len() as u64) as usize].clone();
            let (range, count) = (self.range(), 1 + self.stream.draw_below(4));
            self.line(&format!("packets {range} {every} {count} {task}"));
        }
    }

    /// Draws the clamps of a new group.
    pub(super) fn group_extension(&mut self) -> String {
        if !self.stream.draw_one_in(4) {
            return String::new();
        }
        let (min, max) = (self.stream.draw_below(1025), self.stream.draw_below(1025));
        match self.stream.draw_below(3) {
            0 => format!(" umin={min}"),
            1 => format!(" umax={max}"),
            _ => format!(" umin={min} umax={max}"),
        }
    }

    /// Draws a part of a program that holds mutexes, in the order of their names, so that no cycle of owners waits.
    pub(super) fn critical_sections(&mut self) -> String {
        let mut text = String::new();
        let mutexes: Vec<u64> = (0..MUTEXES).filter(|_| self.stream.draw_one_in(2)).collect();
        for mutex in &mutexes {
            text.push_str(&format!(" lock m{mutex}"));
            if self.stream.draw_one_in(2) {
                text.push_str(&format!(" run {}", 1_000 + self.time(3_000_000)));
            }
            if self.stream.draw_one_in(6) {
                text.push_str(&format!(" sleep {}", 10_000 + self.time(2_000_000)));
            }
        }
        text.push_str(&format!(" run {}", 1_000 + self.time(1_000_000)));
        let is_last_first = self.stream.draw_one_in(2);
        let order: Vec<u64> = if is_last_first { mutexes.into_iter().rev().collect() } else { mutexes };
        for mutex in order {
            text.push_str(&format!(" unlock m{mutex}"));
            if self.stream.draw_one_in(4) {
                text.push_str(&format!(" run {}", 1_000 + self.time(1_000_000)));
            }
        }
        text
    }

    /// Draws an operation on a semaphore, or a point.
    pub(super) fn semaphore_operation(&mut self) -> String {
        let semaphore = self.stream.draw_below(SEMAPHORES);
        // There are more posts than takes, so that most programs go on.
        match self.stream.draw_below(8) {
            0 | 1 => format!(" take s{semaphore}"),
            2 => format!(" point p{semaphore}"),
            _ => format!(" post s{semaphore}"),
        }
    }

    /// Draws responses between the points, if there are points. Definitions change nothing in a run.
    pub(super) fn draw_responses(&mut self) {
        for point in 0..SEMAPHORES {
            if self.text.contains(&format!(" point p{point}")) && self.stream.draw_one_in(2) {
                self.line(&format!("response r{point} from=p{point} deadline=1ms"));
            }
        }
    }

    /// Draws options of a new task.
    pub(super) fn task_extension(&mut self) -> String {
        let mut options = String::new();
        if self.cpusets > 0 && self.stream.draw_one_in(2) {
            options.push_str(&format!(" cpuset=s{}", self.stream.draw_below(self.cpusets)));
        }
        // What tasks reclaim beside fair servers, and after hotplug, is in the list of differences.
        if !self.has_hotplug && self.series != KernelSeries::V6_12 && self.stream.draw_one_in(4) {
            options.push_str(" reclaim");
        }
        options
    }

    /// Draws the burst of a new quota, which stays without the word.
    pub(super) fn burst(&mut self) -> String {
        match self.stream.draw_below(4) {
            0 => " burst=0".to_owned(),
            1 => format!(" burst={}", self.time(100_000_000)),
            _ => String::new(),
        }
    }

    /// Draws a change that the reference does not have.
    pub(super) fn extension_change(&mut self, at: u64, task: &str) -> String {
        let range = self.range();
        match self.stream.draw_below(12) {
            0 | 1 if self.has_hotplug => format!("offline {at} {range}"),
            2 | 3 if self.has_hotplug => format!("online {at} {range}"),
            4 | 5 if self.cpusets > 0 => match self.stream.draw_below(self.cpusets + 1) {
                cpuset if cpuset == self.cpusets => format!("attach {at} {task} /"),
                cpuset => format!("attach {at} {task} s{cpuset}"),
            },
            6 if self.cpusets > 0 => format!("setcpus {at} s{} {range}", self.stream.draw_below(self.cpusets)),
            7 if self.groups > 0 => {
                let (min, max) = (self.stream.draw_below(1025), self.stream.draw_below(1025));
                format!("groupclamp {at} g{} {min} {max}", self.stream.draw_below(self.groups))
            }
            8 => {
                let limit = if self.stream.draw_one_in(3) { "none".to_owned() } else { "20us".to_owned() };
                format!("cpu_dma_latency {at} {limit}")
            }
            9 => {
                let names: Vec<&str> = Feature::of_series(self.series)
                    .map(Feature::name)
                    .filter(|name| !name.contains("HRTICK") && !name.contains("WARN"))
                    .collect();
                format!("feature {at} {} {}", self.stream.draw_one_of(&names), self.stream.draw_below(2))
            }
            10 => self.tunable(at),
            _ => {
                let limit = self.stream.draw_one_of(&["thermal", "maxfreq"]);
                format!("{limit} {at} {range} {}", 1 + self.stream.draw_below(1024))
            }
        }
    }

    /// Draws a new value of a tunable, within the range that is likely to matter.
    fn tunable(&mut self, at: u64) -> String {
        let of_series = TunableInfo::of_series(self.series);
        let tunables: Vec<_> = of_series.filter(|info| info.statement == Some(TunableStatement::Tune)).collect();
        let TunableInfo { name, range, .. } = tunables[self.stream.draw_below(tunables.len() as u64) as usize];
        let value = ((*range.start()).max(1) + self.time(100_000_000) as i64).min(*range.end());
        format!("tune {at} {name} {value}")
    }
}
