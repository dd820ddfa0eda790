// SPDX-License-Identifier: GPL-2.0-or-later
//! Rule `stretched`: task families whose work took at least twice the CPU time that it takes on the fastest CPU, with a
//! loss to low frequencies, and that had no time to spare.
//!
//! Work is the CPU time weighted by the capacity and the frequency at which it was spent. A family that sleeps in
//! between is not reported: a task whose work is done in time runs slowly on purpose. The sleeping time is sampled.

use super::evidence::Sentence;
use super::rule::{Rule, RuleInfo, RuleSeverity};
use super::{Finding, FindingContext, Severity, moment};
use fairlab_explain::Question;
use fairlab_machine::sim::Machine;
use fairlab_measure::families::FamilySummary;
use fairlab_measure::residency::FamilyResidency;
use fairlab_sched::units::{Nanos, SCHED_CAPACITY_SCALE};
use serde::Serialize;
use std::fmt;

/// Evidence of work that took much more CPU time than on the fastest CPU.
#[expect(missing_docs, reason = "the field names describe their content")]
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
#[schemars(inline)]
pub struct StretchedEvidence {
    pub family: String,
    pub work_ns: u64,
    pub ran_ns: u64,
    pub is_by_frequency: bool,
    /// Share of the CPU time at the most frequent speed.
    pub percent: u64,
    pub khz: Option<u64>,
    /// Speed in percent of the highest frequency.
    pub speed_percent: u64,
    pub capacity: u64,
}

impl Sentence for StretchedEvidence {
    fn write(&self, _finding: &Finding, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { family, percent, capacity, .. } = self;
        let (work, ran) = (Nanos(self.work_ns), Nanos(self.ran_ns));
        let cause = if self.is_by_frequency { "low frequencies" } else { "CPUs of low capacity" };
        let speed = match self.khz {
            Some(khz) => format!("{} MHz", khz / 1000),
            None => format!("{} % of the highest frequency", self.speed_percent),
        };
        write!(
            f,
            "{family}: {work} of work took {ran} of CPU time because of {cause}; {percent} % of it at {speed} on CPUs of \
             capacity {capacity}"
        )
    }
}

/// Part of the run that a family must lose: a twentieth.
const PARTS_OF_RUN: u64 = 20;
/// Part of its existence for which a family may sleep: a tenth.
const PARTS_OF_LIFE: u64 = 10;

/// Families whose work took much more CPU time than on the fastest CPU. All is known at the end of a run.
#[derive(Debug, Default)]
pub(super) struct Stretched;

/// CPU time of a family, and what it lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Stretch {
    /// CPU time in ns.
    ran: u64,
    /// CPU time in ns that was lost because CPUs have less than the largest capacity.
    lost_to_capacity: u64,
    /// CPU time in ns that was lost because CPUs did not run at their highest frequency.
    lost_to_frequency: u64,
}

impl Stretch {
    fn of(residency: &FamilyResidency) -> Self {
        let mut stretch = Self::default();
        let part_of =
            |ns: u64, part: u64| (u128::from(ns) * u128::from(part) / u128::from(SCHED_CAPACITY_SCALE)) as u64;
        for point in &residency.points {
            let at_highest = part_of(point.ns, point.capacity.min(SCHED_CAPACITY_SCALE));
            stretch.ran += point.ns;
            stretch.lost_to_capacity += point.ns - at_highest;
            stretch.lost_to_frequency += at_highest - part_of(at_highest, point.part.min(SCHED_CAPACITY_SCALE));
        }
        stretch
    }

    /// Returns the lost CPU time in ns.
    const fn lost(self) -> u64 {
        self.lost_to_capacity + self.lost_to_frequency
    }

    /// Returns the time of the work on the fastest CPU at its highest frequency, in ns.
    const fn work(self) -> u64 {
        self.ran - self.lost()
    }

    /// Whether the CPU time is at least twice the work, and low frequencies cost at least a twentieth of a run of
    /// `length_ns`. CPUs of low capacity alone do not count: not all tasks can run on the largest ones.
    const fn is_long(self, length_ns: u64) -> bool {
        self.lost() >= self.work() && self.lost_to_frequency * PARTS_OF_RUN >= length_ns
    }

    const fn is_by_frequency(self) -> bool {
        self.lost_to_frequency >= self.lost_to_capacity
    }
}

impl Rule for Stretched {
    const INFO: RuleInfo = RuleInfo {
        name: "stretched",
        condition: "tasks that hardly slept took at least twice the CPU time of their work on the fastest CPU, and lost 5 % of \
                    the run to low frequencies",
        severity: RuleSeverity::Raised {
            to: Severity::Medium,
            above: "half of the loss to low frequencies",
            from: Severity::Low,
        },
        is_for_traces: false,
    };

    fn findings(&mut self, about: &FindingContext<'_>) -> Vec<Finding> {
        let Some(machine) = about.machine.filter(|machine| machine.hardware().scale_work) else { return Vec::new() };
        let has_slept = |family: &FamilySummary| {
            let index = about.families.iter().position(|name| *name == family.name);
            let lifetime = index.map_or(0, |index| about.lifetimes[index].0);
            let asleep = lifetime.saturating_sub(family.run_ns + family.wait_ns + family.throttled_ns);
            asleep * PARTS_OF_LIFE > lifetime
        };
        let families = about.summaries.iter().filter(|family| !has_slept(family));
        families.filter_map(|family| finding(about, machine, family)).collect()
    }
}

fn finding(about: &FindingContext<'_>, machine: &Machine, family: &FamilySummary) -> Option<Finding> {
    let residency = family.residency.as_ref()?;
    let stretch = Stretch::of(residency);
    if !stretch.is_long(about.length_ns()) {
        return None;
    }
    let longest = residency.points.iter().max_by_key(|point| point.ns)?;
    let specs = &machine.workload().tasks;
    let first = machine.tasks().iter().find(|task| task.id.is_some() && specs[task.spec].family == family.name)?;
    let evidence = StretchedEvidence {
        family: family.name.clone(),
        work_ns: stretch.work(),
        ran_ns: stretch.ran,
        is_by_frequency: stretch.is_by_frequency(),
        percent: longest.ns * 100 / stretch.ran.max(1),
        khz: longest.khz,
        speed_percent: longest.part * 100 / SCHED_CAPACITY_SCALE,
        capacity: longest.capacity,
    };
    Some(Finding {
        severity: Stretched::INFO.severity.of(stretch.is_by_frequency()),
        count: 1,
        total_ns: stretch.lost(),
        worst_ns: stretch.lost(),
        at_ns: moment(about.now).saturating_sub(1),
        ..Stretched::INFO.finding(evidence, Question::Task(first.name.clone()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{found, of, sentence};
    use fairlab_measure::residency::ResidencyPoint;

    #[test]
    fn loss_is_divided_between_capacity_and_frequency() {
        let point = |capacity, part, ns| ResidencyPoint { capacity, part, ns, ..ResidencyPoint::default() };
        let stretch = |points| Stretch::of(&FamilyResidency { points, ..FamilyResidency::default() });
        let slow = stretch(vec![point(1024, 256, 1000)]);
        assert_eq!((slow.work(), slow.lost_to_capacity, slow.lost_to_frequency), (250, 0, 750));
        assert!(slow.is_by_frequency() && slow.is_long(15_000) && !slow.is_long(15_001));
        let small = stretch(vec![point(256, 512, 1000), point(1024, 1024, 100)]);
        assert_eq!((small.work(), small.lost_to_capacity, small.lost_to_frequency), (225, 750, 125));
        assert!(!small.is_by_frequency() && small.is_long(2500) && !small.is_long(2501));
        assert!(!stretch(vec![point(600, 1024, 1000)]).is_long(0), "less than twice the work");
    }

    #[test]
    fn stretched_work_is_printed_with_its_cause_and_the_most_frequent_speed() {
        let of = |is_by_frequency, khz| {
            let (family, work_ns, ran_ns) = ("f".to_owned(), 1_000_000, 5_000_000);
            let (percent, speed_percent, capacity) = (80, 25, 512);
            sentence(StretchedEvidence {
                family,
                work_ns,
                ran_ns,
                is_by_frequency,
                percent,
                khz,
                speed_percent,
                capacity,
            })
        };
        assert_eq!(
            of(true, Some(500_000)),
            "f: 1ms of work took 5ms of CPU time because of low frequencies; 80 % of it at 500 MHz on CPUs of capacity 512"
        );
        assert_eq!(
            of(false, None),
            "f: 1ms of work took 5ms of CPU time because of CPUs of low capacity; 80 % of it at 25 % of the highest frequency on \
             CPUs of capacity 512"
        );
    }

    #[test]
    fn work_that_low_frequencies_stretch_is_found_unless_the_task_sleeps() {
        let board = "cpus 2\nscale 1\nfdom 0-1 200000 1000000\nend 400ms\nmaxfreq 0 0-1 205\n";
        let findings = found(&format!("{board}task hog cpu=0 run 10s\n"));
        let finding = of(&findings, "stretched").unwrap_or_else(|| panic!("{findings:?}"));
        assert_eq!(finding.severity, Severity::Medium);
        assert!(finding.sentence.contains("because of low frequencies; 99 % of it at 200 MHz"), "{}", finding.sentence);
        assert!((310_000_000..330_000_000).contains(&finding.total_ns), "{finding:?}");
        let sleeper = found(&format!("{board}task light cpu=0 loop every 10ms run 1ms\n"));
        assert!(of(&sleeper, "stretched").is_none(), "its work is done in time: {sleeper:?}");
        // Its life ends with its last step: the time afterwards is no time for which it waits.
        let early = found(&format!("{board}task early cpu=0 {} exit\n", "run 3ms sleep 5ms ".repeat(5)));
        assert!(of(&early, "stretched").is_none(), "it slept for a quarter of its life: {early:?}");
        let fast = found("cpus 2\nscale 1\nfdom 0-1 200000 1000000\nend 400ms\ntask hog cpu=0 run 10s\n");
        assert!(of(&fast, "stretched").is_none(), "schedutil follows: {fast:?}");
    }

    #[test]
    fn small_cpus_are_named_if_they_cost_more_than_low_frequencies_and_alone_are_not_found() {
        let board = "cpus 2\ncaps 400 1024\nscale 1\nfdom 0-0 200000 500000 1000000\nend 400ms\ntask hog cpu=0 mask=0-0 run 10s\n";
        let findings = found(&format!("{board}maxfreq 0 0-0 512\n"));
        let finding = of(&findings, "stretched").unwrap_or_else(|| panic!("{findings:?}"));
        assert_eq!(finding.severity, Severity::Low);
        assert!(
            finding.sentence.contains("because of CPUs of low capacity; 100 % of it at 500 MHz"),
            "{}",
            finding.sentence
        );
        let fast = found(board);
        assert!(of(&fast, "stretched").is_none(), "at its highest frequency: {fast:?}");
    }
}
