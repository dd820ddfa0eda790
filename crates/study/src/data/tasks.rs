// SPDX-License-Identifier: GPL-2.0-or-later
//! `tasks`: families of tasks that run and sleep by turns, each for times of its own, drawn anew with each seed.
//!
//! They become an rt-app file, so that all that is said of such files holds. A number that is drawn depends on the seed and on its own
//! place alone, so that another family, or one task more, shifts no other.

use crate::run::draw;
use serde::{Deserialize, Serialize};

/// Tasks that are alike but for their times.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TaskFamily {
    /// Their name; a number comes behind it.
    pub name: String,
    /// How many; as many as there are periods, if these are a list.
    pub number: Option<u64>,
    /// When all of them begin, in microseconds: one time for the family.
    pub together_us: Option<TaskTime>,
    /// How much later each begins.
    pub delay_us: Option<TaskTime>,
    /// Work in a turn, at full speed. Without `sleep_us` and `period_us` the task never rests.
    pub run_us: Option<TaskTime>,
    /// Sleep in a turn.
    pub sleep_us: Option<TaskTime>,
    /// Or the period of a timer; a list has one for each task.
    pub period_us: Option<Periods>,
    /// Whether a late task begins a new grid of its period instead of keeping the old one. rt-app's default.
    #[serde(default)]
    pub new_grid_when_late: bool,
    /// The place of the family's first draw.
    #[serde(default)]
    pub draws_from: u64,
}

/// A time in microseconds, or the range from which it is drawn (the upper end is not in it).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum TaskTime {
    /// This.
    Fixed(u64),
    /// One of these.
    Drawn([u64; 2]),
}

/// Periods in microseconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Periods {
    /// All have this.
    One(u64),
    /// One each.
    Each(Vec<u64>),
}

impl TaskTime {
    /// The time, drawn at the next place if it has to be.
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
    /// What is wrong with it, and the way out.
    pub(super) fn validation_error(&self) -> Option<(String, String)> {
        let wrong = |what: &str, help: &str| Some((format!("tasks {}: {what}", self.name), help.to_owned()));
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

/// The rt-app file of families with a seed.
pub(crate) fn rtapp_of(families: &[TaskFamily], seed: u64) -> String {
    let members: Vec<String> = families.iter().flat_map(|family| family.members(seed)).collect();
    format!(r#"{{ "tasks": {{ {} }} }}"#, members.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
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
        let workload = rtapp::parse("tasks.json", &both, rtapp::Options::for_cpus(4)).expect("rt-app reads it");
        assert_eq!(workload.tasks.len(), 5);
    }

    #[test]
    fn a_family_that_cannot_be_one_is_told() {
        for (text, expected) in [
            ("name = 't'\nrun_us = [5, 5]", "a range is empty"),
            ("name = 't'\nsleep_us = 5", "no `run_us`"),
            ("name = 't'\nrun_us = 1\nsleep_us = 5\nperiod_us = 9", "`sleep_us` and `period_us`"),
            ("name = 't'\nrun_us = 1\nnumber = 2\nperiod_us = [9, 8]", "`number` beside a list"),
        ] {
            assert!(family(text).validation_error().expect(text).0.contains(expected), "{text}");
        }
        assert_eq!(family(FAMILY).validation_error(), None);
    }
}
