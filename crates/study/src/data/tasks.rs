// SPDX-License-Identifier: GPL-2.0-or-later
//! `tasks`: families of tasks that alternately run and sleep, for times that are drawn by seed.
//!
//! Families are converted to an rt-app file, so that the rules of those files apply. A drawn number depends
//! only on the seed and on its position in the family, so that another family, or one more task, changes no
//! other number.

use crate::run::draw;
use fairlab_workload::message::Message;
use serde::{Deserialize, Serialize};

/// Tasks that differ only in their times.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TaskFamily {
    /// Name of the tasks, to which the task's number is appended.
    pub name: String,
    /// Number of tasks: 1 by default, or the number of periods if they are a list.
    pub number: Option<u64>,
    /// Start time of the whole family, in microseconds.
    pub together_us: Option<TaskTime>,
    /// Additional start delay of each task, in microseconds.
    pub delay_us: Option<TaskTime>,
    /// Work in each iteration, in microseconds at the highest capacity and frequency. A task without
    /// `sleep_us` and `period_us` never sleeps.
    pub run_us: Option<TaskTime>,
    /// Sleep in each iteration, in microseconds.
    pub sleep_us: Option<TaskTime>,
    /// Timer period in place of a sleep, in microseconds; a list has one for each task.
    pub period_us: Option<Periods>,
    /// Whether a late task restarts its period grid instead of keeping the old one: the timer mode `relative`
    /// of rt-app, its default.
    #[serde(default)]
    pub new_grid_when_late: bool,
    /// Position of the family's first random draw.
    #[serde(default)]
    pub draws_from: u64,
}

/// Time in microseconds, or the range from which it is drawn, without the upper end.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum TaskTime {
    /// Constant time for all tasks.
    Fixed(u64),
    /// Range of times: least, and one more than the most.
    Drawn([u64; 2]),
}

/// Timer periods in microseconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Periods {
    /// Period of all tasks.
    One(u64),
    /// Periods of the tasks, in order.
    Each(Vec<u64>),
}

impl TaskTime {
    /// Returns the time; a range is drawn at position `place`, which is then incremented.
    fn draw(self, seed: u64, place: &mut u64) -> u64 {
        match self {
            Self::Fixed(time) => time,
            Self::Drawn([low, high]) => {
                *place += 1;
                low + draw(seed, *place - 1) % (high - low)
            }
        }
    }
}

impl TaskFamily {
    /// Returns the first error in the family.
    pub(super) fn validation_error(&self) -> Option<Message> {
        let wrong = |text: &str, help| Some(Message::new(format!("tasks {}: {text}", self.name)).with_help(help));
        let times = [self.together_us, self.delay_us, self.run_us, self.sleep_us];
        let is_empty = |time: &TaskTime| matches!(time, TaskTime::Drawn([low, high]) if low >= high);
        if times.iter().flatten().any(is_empty) {
            return wrong("a range is empty", "write [least, one more than the most]");
        }
        if self.run_us.is_none() {
            return wrong("no `run_us`", "say how much work a turn is");
        }
        if self.sleep_us.is_some() && self.period_us.is_some() {
            return wrong("`sleep_us` and `period_us`", "say one of them");
        }
        let is_list = matches!(self.period_us, Some(Periods::Each(_)));
        (is_list && self.number.is_some())
            .then(|| wrong("`number` beside a list of periods", "leave it out: there is a task for each"))
            .flatten()
    }

    fn members(&self, seed: u64) -> Vec<String> {
        let mut place = self.draws_from;
        let together = self.together_us.map_or(0, |time| time.draw(seed, &mut place));
        let number = match &self.period_us {
            Some(Periods::Each(periods)) => periods.len() as u64,
            _ => self.number.unwrap_or(1),
        };
        let task = |task: u64| {
            let mut time = |time: Option<TaskTime>| time.map(|time| time.draw(seed, &mut place));
            let delay = together + time(self.delay_us).unwrap_or(0);
            let run = time(self.run_us).unwrap_or(0);
            let rest = match (time(self.sleep_us), &self.period_us) {
                (Some(sleep), _) => format!(r#", "sleep": {sleep}"#),
                (None, Some(periods)) => self.timer(match periods {
                    Periods::One(period) => *period,
                    Periods::Each(periods) => periods[task as usize],
                }),
                (None, None) => String::new(),
            };
            format!(r#""{}{task}": {{ "loop": -1, "delay": {delay}, "run": {run}{rest} }}"#, self.name)
        };
        (0..number).map(task).collect()
    }

    fn timer(&self, period: u64) -> String {
        let mode = if self.new_grid_when_late { "relative" } else { "absolute" };
        format!(r#", "timer": {{ "ref": "unique", "period": {period}, "mode": "{mode}" }}"#)
    }
}

/// Returns the text of the rt-app file for families and a seed.
pub(crate) fn rtapp_of(families: &[TaskFamily], seed: u64) -> String {
    let members: Vec<String> = families.iter().flat_map(|family| family.members(seed)).collect();
    format!(r#"{{ "tasks": {{ {} }} }}"#, members.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairlab_sched::series::KernelSeries;
    use fairlab_workload::rtapp;

    const FAMILY: &str =
        "name = 't'\nnumber = 3\nrun_us = [50, 60]\nsleep_us = 20\ndelay_us = [0, 2000]\ndraws_from = 7";

    fn family(text: &str) -> TaskFamily {
        toml::from_str(text).expect("it is a family")
    }

    #[test]
    fn tasks_draw_from_their_ranges_and_differ_by_seed() {
        let text = |seed| rtapp_of(&[family(FAMILY)], seed);
        assert_eq!(text(1), text(1));
        assert_ne!(text(1), text(2));
        let delay = draw(1, 7) % 2000;
        let run = 50 + draw(1, 8) % 10;
        let first = format!(r#"{{ "tasks": {{ "t0": {{ "loop": -1, "delay": {delay}, "run": {run}, "sleep": 20 }}, "#);
        assert!(text(1).starts_with(&first), "{}", text(1));
    }

    #[test]
    fn another_family_shifts_no_draw() {
        let alone = rtapp_of(&[family(FAMILY)], 5);
        let system = family("name = 's'\nperiod_us = [1000, 3000]\nrun_us = 10\ndelay_us = [0, 9]\ndraws_from = 100");
        let both = rtapp_of(&[family(FAMILY), system], 5);
        assert!(both.starts_with(alone.strip_suffix(" } }").expect("it ends so")));
        let workload = rtapp::parse("tasks.json", &both, rtapp::RtAppOptions::for_cpus(KernelSeries::V6_1, 4))
            .expect("rt-app reads it");
        assert_eq!(workload.tasks.len(), 5);
    }

    #[test]
    fn an_invalid_family_is_rejected() {
        for (text, expected) in [
            ("name = 't'\nrun_us = [5, 5]", "a range is empty"),
            ("name = 't'\nsleep_us = 5", "no `run_us`"),
            ("name = 't'\nrun_us = 1\nsleep_us = 5\nperiod_us = 9", "`sleep_us` and `period_us`"),
            ("name = 't'\nrun_us = 1\nnumber = 2\nperiod_us = [9, 8]", "`number` beside a list"),
        ] {
            assert!(family(text).validation_error().expect(text).text.contains(expected), "{text}");
        }
        assert_eq!(family(FAMILY).validation_error(), None);
    }
}
