// SPDX-License-Identifier: GPL-2.0-or-later
//! Rule `slice-cut`: a task has a slice of its own (6.12), and practically never keeps it.
//!
//! A long slice asks for long turns on the CPU, with few switches. RUN_TO_PARITY protects a turn until the slice ends or
//! the task has overtaken the others; real-time tasks, woken tasks with shorter slices and migrations end it earlier. A
//! turn counts as kept if it lasts for at least half of the slice. Only turns that end while the task is runnable are
//! counted: a task that sleeps has given up the rest. A yield is not distinguished from a preemption.
//!
//! Slices shorter than a tick last until the tick, unless a wake-up comes before. Such long turns are not reported.

use super::evidence::Sentence;
use super::rule::{Preemption, Rule, RuleInfo, RuleSeverity};
use super::{Finding, FindingContext, FindingTasks, Severity, moment};
use fairlab_explain::Question;
use fairlab_machine::sim::{Machine, START};
use fairlab_measure::slot_mut;
use fairlab_sched::ids::TaskId;
use fairlab_sched::units::Nanos;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;

/// Evidence of tasks that practically never keep their slice.
#[expect(missing_docs, reason = "the field names describe their content")]
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
#[schemars(inline)]
pub struct CutSlicesEvidence {
    pub family: String,
    pub task: String,
    pub nr_turns: u64,
    pub average_ns: u64,
    pub slice_ns: u64,
    /// Task that followed most often; absent for a kernel thread.
    pub follower: Option<String>,
}

impl Sentence for CutSlicesEvidence {
    fn write(&self, finding: &Finding, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { family, task, nr_turns, .. } = self;
        let (count, average, slice) = (finding.count, Nanos(self.average_ns), Nanos(self.slice_ns));
        let follower = self.follower.as_deref().unwrap_or("a kernel thread");
        write!(
            f,
            "{family} lost the CPU {count} of {nr_turns} times before half of the slice had passed, after {average} on \
             average; {task} (slice {slice}) most often to {follower}"
        )
    }
}

/// Minimum number of turns for a finding.
const MIN_TURNS: u64 = 20;
/// Number of turns of which at least one should have kept the slice.
const PER_KEPT: u64 = 10;

/// Turns of a task with a slice of its own.
#[derive(Clone, Debug, Default)]
struct SliceTurns {
    place: usize,
    family: usize,
    /// Its slice, the last one if it has none of its own now.
    slice: Nanos,
    /// Whether it has a slice of its own, so that its turns count.
    is_counted: bool,
    turns: u64,
    kept: u64,
    /// Time of the turns that did not keep the slice.
    cut_time: Nanos,
    last_cut: Nanos,
    /// Number of such turns by the task that ran next.
    followers: BTreeMap<TaskId, u64>,
}

/// Turns of all tasks with a slice of their own, by task.
#[derive(Debug, Default)]
pub(super) struct CutSlices {
    tasks: Vec<Option<SliceTurns>>,
}

impl Rule for CutSlices {
    const INFO: RuleInfo = RuleInfo {
        name: "slice-cut",
        condition: "in 6.12, of at least 20 times that a task with a slice of its own was preempted, fewer than one in 10 \
                    was after half of the slice or later",
        severity: RuleSeverity::Fixed(Severity::Low),
        is_for_traces: false,
    };

    #[inline]
    fn on_preempt(&mut self, now: Nanos, preemption: &Preemption) {
        if let Some(Some(track)) = self.tasks.get_mut(preemption.task.index()) {
            track.add(now, preemption);
        }
    }

    fn on_attributes(&mut self, machine: &Machine, tasks: &FindingTasks) {
        if !machine.sched().rules().has_task_slices {
            return;
        }
        for (id, task) in tasks.iter() {
            let se = machine.sched().entity(id);
            if se.has_custom_slice {
                let new =
                    || SliceTurns { place: task.place, family: task.family, last_cut: START, ..SliceTurns::default() };
                let track = slot_mut(&mut self.tasks, id.index()).get_or_insert_with(new);
                (track.slice, track.is_counted) = (Nanos(se.slice), true);
            } else if let Some(Some(track)) = self.tasks.get_mut(id.index()) {
                track.is_counted = false;
            }
        }
    }

    fn findings(&mut self, about: &FindingContext<'_>) -> Vec<Finding> {
        let is_found = |track: &&SliceTurns| track.turns >= MIN_TURNS && track.kept * PER_KEPT < track.turns;
        let mut found: BTreeMap<usize, Vec<&SliceTurns>> = BTreeMap::new();
        for track in self.tasks.iter().flatten().filter(is_found) {
            found.entry(track.family).or_default().push(track);
        }
        found.into_iter().map(|(family, tracks)| finding(about, family, &tracks)).collect()
    }
}

impl SliceTurns {
    fn add(&mut self, now: Nanos, preemption: &Preemption) {
        if !self.is_counted {
            return;
        }
        self.turns += 1;
        if preemption.ran.0 * 2 >= self.slice.0 {
            self.kept += 1;
        } else {
            self.cut_time += preemption.ran;
            self.last_cut = now;
            *self.followers.entry(preemption.next).or_insert(0) += 1;
        }
    }

    const fn nr_cut(&self) -> u64 {
        self.turns - self.kept
    }
}

/// Returns the finding of a family, given its tasks that are found.
fn finding(about: &FindingContext<'_>, family: usize, tracks: &[&SliceTurns]) -> Finding {
    let (turns, count) = tracks.iter().fold((0, 0), |(turns, cut), one| (turns + one.turns, cut + one.nr_cut()));
    let time: u64 = tracks.iter().map(|track| track.cut_time.0).sum();
    let mut worst = tracks[0];
    for track in tracks.iter().filter(|track| track.nr_cut() > worst.nr_cut()) {
        worst = track;
    }
    let name = (about.name)(worst.place);
    let follower = worst.followers.iter().max_by_key(|(id, nr)| (**nr, std::cmp::Reverse(**id)));
    let by = follower.and_then(|(&id, _)| about.machine?.tasks().iter().find(|task| task.id == Some(id)));
    let evidence = CutSlicesEvidence {
        family: about.families[family].clone(),
        task: name.clone(),
        nr_turns: turns,
        average_ns: time / count.max(1),
        slice_ns: worst.slice.0,
        follower: by.map(|task| task.name.clone()),
    };
    // Just before the preemption, so that the explanation has the task that was preempted.
    let at_ns = moment(worst.last_cut).saturating_sub(1);
    let last_ns = tracks.iter().map(|track| moment(track.last_cut)).max().unwrap_or(0);
    Finding { count, at_ns, last_ns, ..CutSlices::INFO.finding(evidence, Question::Task(name)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{family_and_task, found_in_6_12, of, sentence};

    #[test]
    fn cut_slices_are_printed_with_the_task_that_followed_most_often() {
        let cut = |follower: Option<&str>| {
            let (family, task) = family_and_task();
            let (nr_turns, average_ns, slice_ns) = (9, 1_000_000, 3_000_000);
            let follower = follower.map(str::to_owned);
            sentence(CutSlicesEvidence { family, task, nr_turns, average_ns, slice_ns, follower })
        };
        let start = "f lost the CPU 2 of 9 times before half of the slice had passed, after 1ms on average; f0 (slice 3ms) most often to ";
        assert_eq!(cut(Some("g0")), format!("{start}g0"));
        assert_eq!(cut(None), format!("{start}a kernel thread"));
    }

    #[test]
    fn a_slice_that_others_always_cut_is_found() {
        let scenario = |others: &str| {
            format!("cpus 1\nend 2s\ntask long slice=20ms cpu=0 run 10s\ntask plain cpu=0 run 10s\n{others}")
        };
        let findings = found_in_6_12(&scenario("task radio fifo=9 cpu=0 loop run 100us sleep 2ms\n"));
        let finding = of(&findings, "slice-cut").unwrap_or_else(|| panic!("{findings:?}"));
        assert!(finding.count > 200 && finding.question == Question::Task("long".to_owned()), "{finding:?}");
        assert!(finding.sentence.contains("long (slice 20ms) most often to radio"), "{finding:?}");
        assert!(of(&found_in_6_12(&scenario("")), "slice-cut").is_none(), "it keeps its slice");
        let ended = found_in_6_12(&scenario("task radio fifo=9 cpu=0 loop run 100us sleep 2ms\nslice 1s long 0\n"));
        let finding = of(&ended, "slice-cut").unwrap_or_else(|| panic!("{ended:?}"));
        assert!(
            finding.sentence.contains("long (slice 20ms)"),
            "the slice that was cut, not the present one: {finding:?}"
        );
        let rare = scenario("task radio fifo=9 cpu=0 loop run 100us sleep 50ms\n");
        assert!(of(&found_in_6_12(&rare), "slice-cut").is_none(), "it keeps most slices");
    }
}
