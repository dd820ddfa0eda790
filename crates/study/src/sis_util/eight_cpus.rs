// SPDX-License-Identifier: GPL-2.0-or-later
//! Scenario of an eight-CPU cache with seven busy CPUs: `scenarios/eight-cpus.scn`, under both arms.
//!
//! The cache's utilisation is 87.5 %, above the 85 % at which SIS_UTIL permits no scan. A wake-up therefore
//! does not find the idle CPU 7.

use crate::definition::{ArmDefinition, StudyDefinition};
use crate::error::StudyError;
use crate::report::{MeasuredFigure, ReportTable};
use fairlab_machine::observer::{Interest, Observer};
use fairlab_machine::sim::{Machine, Setup};
use fairlab_run::drive::drive_through;
use fairlab_sched::ids::{CpuId, TaskId};
use fairlab_sched::probe::{BalanceVerdict, Event, SchedObserver};
use fairlab_sched::topology::CpuIdleType;
use fairlab_sched::units::Nanos;

use fairlab_sched::interface::wakeup::WakeRule;
use fairlab_workload::scenario;

/// Name of the table in the study's data.
pub(super) const TABLE: &str = "eight CPUs";
/// Labels of the table's rows.
pub(super) const LABELS: &[&str] = &["8 CPUs, nr_scan", "8 CPUs, wake-up finds CPU 7", "8 CPUs, CPU 7 gets work by"];
const SCENARIO: &str = include_str!("../../../../scenarios/eight-cpus.scn");
/// The only idle CPU.
const IDLE: CpuId = CpuId(7);

/// Observer of the wake-up and of the migration that follows.
#[derive(Default)]
struct WakeupTrace {
    /// Woken task, its CPU, the rule that selected it, and the limit of a search.
    woken: Option<(TaskId, CpuId, WakeRule, Option<u32>)>,
    /// Whether the task was moved to the idle CPU.
    moved: bool,
    /// Idle state of the CPU whose load balancing moved the task.
    moved_by: Option<CpuIdleType>,
}

impl SchedObserver for WakeupTrace {
    fn event(&mut self, _now: Nanos, event: &Event<'_>) {
        match *event {
            // All other wake-ups are of tasks that may use one CPU only.
            Event::WakeupDecision(decision) if decision.rule != WakeRule::PinnedToOne => {
                self.woken = Some((decision.task, decision.cpu, decision.rule, decision.nr_idle_scan));
            }
            Event::Migrate { task, to: IDLE, .. } => self.moved |= self.woken.is_some_and(|woken| woken.0 == task),
            Event::BalanceDecision(pass)
                if self.moved && self.moved_by.is_none() && pass.verdict == BalanceVerdict::Moved =>
            {
                self.moved_by = Some(pass.idle);
            }
            _ => {}
        }
    }
}

impl Observer for WakeupTrace {
    fn wants(&self) -> Interest {
        Interest { details: true, ..Interest::EVENTS }
    }
}

fn trace_wakeup(arm: &ArmDefinition) -> Result<WakeupTrace, StudyError> {
    let scenario = scenario::parse("eight-cpus.scn", SCENARIO, arm.kernel().series()).expect("the scenario is tested");
    let setup = arm.applied_to(Setup::from_scenario(scenario))?;
    let mut story = WakeupTrace::default();
    drive_through(&mut Machine::new(setup)?, &mut story)?;
    Ok(story)
}

pub(super) fn table(study: &StudyDefinition) -> Result<ReportTable, StudyError> {
    let stories = [trace_wakeup(study.arm("before"))?, trace_wakeup(study.arm("after"))?];
    Ok(ReportTable::fill(study.table(TABLE), |row| {
        let story = &stories[usize::from(row.arm == "after")];
        let Some((_, cpu, rule, nr_idle_scan)) = story.woken else { return MeasuredFigure::text("no wake-up") };
        match row.label.as_str() {
            "8 CPUs, nr_scan" => nr_idle_scan
                .map_or_else(|| MeasuredFigure::text("no limit"), |nr| MeasuredFigure::number(f64::from(nr))),
            "8 CPUs, wake-up finds CPU 7" => MeasuredFigure::text(if cpu == IDLE { "yes" } else { "no" })
                .with_remark(format!("rule {}", rule.name())),
            "8 CPUs, CPU 7 gets work by" => MeasuredFigure::text(match story.moved_by {
                _ if cpu == IDLE => "wake-up",
                Some(CpuIdleType::NewlyIdle) => "newly-idle",
                Some(_) => "periodic",
                None => "nothing",
            }),
            _ => MeasuredFigure::text("not measured"),
        }
    }))
}
