// SPDX-License-Identifier: GPL-2.0-or-later
//! Interface of a rule, and the macro for the list of all rules.
//!
//! A rule is a type that implements [`Rule`], with its name, condition and severity in [`Rule::INFO`]. It overrides the
//! handlers of what it needs. Calls are static, so handlers that no rule overrides cost nothing.

use super::{FindingContext, FindingTasks, Limits};
use crate::occupancy::ClassTimes;
use crate::{Evidence, Finding};
use fairlab_explain::Question;
use fairlab_machine::sim::Machine;
use fairlab_measure::episodes::Episode;
use fairlab_sched::cpumask::CpuMask;
use fairlab_sched::ids::{CpuId, TaskId};
use fairlab_sched::interface::eevdf::LimitedLag;
use fairlab_sched::probe::{BalanceDecision, KickDecision};
use fairlab_sched::units::Nanos;
use serde::Serialize;

/// Severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Worth checking, with little effect.
    Low,
    /// Costs latency or throughput.
    Medium,
    /// Starves tasks or wastes CPUs.
    High,
}

impl Severity {
    /// Name of the severity, as in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }
}

/// Severity of a rule's findings.
#[expect(missing_docs, reason = "the field names describe their content")]
#[derive(Clone, Copy, Debug)]
pub enum RuleSeverity {
    /// All findings have one severity.
    Fixed(Severity),
    /// Findings are raised to the higher severity above a bound.
    Raised { to: Severity, above: &'static str, from: Severity },
}

impl RuleSeverity {
    /// Returns the severity of a finding, given whether it is above the bound.
    pub(super) const fn of(self, is_above: bool) -> Severity {
        match self {
            Self::Fixed(severity) => severity,
            Self::Raised { to, .. } if is_above => to,
            Self::Raised { from, .. } => from,
        }
    }

    /// Returns the highest severity.
    pub const fn max(self) -> Severity {
        self.of(true)
    }
}

impl std::fmt::Display for RuleSeverity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Fixed(severity) => f.write_str(severity.name()),
            Self::Raised { to, above, from } => write!(f, "{} above {above}, else {}", to.name(), from.name()),
        }
    }
}

/// Description of a rule, for its findings and for the book.
#[expect(missing_docs, reason = "the field names describe their content")]
#[derive(Clone, Copy, Debug)]
pub struct RuleInfo {
    pub name: &'static str,
    pub condition: &'static str,
    pub severity: RuleSeverity,
    /// Whether the events of a recorded trace suffice.
    pub is_for_traces: bool,
}

impl RuleInfo {
    /// Returns the rule with the given name.
    pub fn from_name(name: &str) -> Option<&'static Self> {
        super::RULES.iter().find(|rule| rule.name == name)
    }

    /// Returns a finding of the highest severity, without times and occurrences.
    pub(super) fn finding(&self, evidence: impl Into<Evidence>, question: Question) -> Finding {
        let (rule, severity) = (self.name, self.severity.max());
        Finding {
            rule,
            severity,
            evidence: evidence.into(),
            sentence: String::new(),
            count: 0,
            total_ns: 0,
            worst_ns: 0,
            is_open: false,
            awaited: None,
            at_ns: 0,
            last_ns: 0,
            only_in_first_ns: None,
            question,
        }
    }
}

/// Wait of a task of the workload.
#[derive(Clone, Copy, Debug)]
pub(super) struct FindingWait {
    /// Index among the machine's tasks.
    pub(super) task: usize,
    pub(super) family: usize,
    pub(super) episode: Episode,
    /// Deadline of a deadline task after its wake-up.
    pub(super) deadline: Option<Nanos>,
    /// Classes of the tasks that ran on its CPUs meanwhile.
    pub(super) ran: ClassTimes,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct FindingMigration {
    /// Index among the machine's tasks.
    pub(super) task: usize,
    pub(super) family: usize,
    pub(super) from: CpuId,
    pub(super) to: CpuId,
}

/// End of a task's turn on a CPU although the task is still runnable.
#[derive(Clone, Copy, Debug)]
pub(super) struct Preemption {
    pub(super) task: TaskId,
    /// Task that runs next.
    pub(super) next: TaskId,
    /// Time for which the preempted task has run.
    pub(super) ran: Nanos,
}

/// Rule that collects data during a run, and reports findings at its end.
pub(super) trait Rule: Default {
    const INFO: RuleInfo;

    /// Returns a rule that has seen no event. A rule with thresholds or with state of each CPU overrides it.
    fn new(_nr_cpus: usize, _limits: Limits) -> Self {
        Self::default()
    }

    /// Called when a CPU begins or ends to run its idle task.
    fn on_idle(&mut self, _now: Nanos, _cpu: CpuId, _begins: bool) {}

    /// Called when a task of the workload is switched out while it is runnable.
    fn on_preempt(&mut self, _now: Nanos, _preemption: &Preemption) {}

    /// Called when a task, given as index and family, leaves its cfs_rq with a lag beyond the limit.
    fn on_limited_lag(&mut self, _now: Nanos, _task: (usize, usize), _lag: &LimitedLag) {}

    /// Called when a fair server picks a task of its CPU.
    fn on_server_pick(&mut self, _now: Nanos, _cpu: CpuId) {}

    /// Called at the end of an episode, and for open ones at the end of the run. The affinity of the task is given if it
    /// is known.
    fn on_wait(&mut self, _wait: &FindingWait, _allowed: Option<&CpuMask>) {}

    /// Called when a task, given as index and family, blocks after it was woken, with the time since its wake-up and its
    /// deadline.
    fn on_job(&mut self, _now: Nanos, _task: (usize, usize), _time: Nanos, _deadline: Nanos) {}

    fn on_migrate(&mut self, _now: Nanos, _migration: FindingMigration) {}

    fn on_balance(&mut self, _now: Nanos, _decision: &BalanceDecision) {}

    fn on_kick(&mut self, _now: Nanos, _decision: &KickDecision) {}

    /// Called when the machine becomes over-utilised, or recovers.
    fn on_overutilized(&mut self, _now: Nanos, _is_over: bool, _cpu: CpuId) {}

    /// Called after affinities, policies or slices of tasks may have changed, or tasks are new.
    fn on_attributes(&mut self, _machine: &Machine, _tasks: &FindingTasks) {}

    /// Called at intervals, for state without events. `_at` may be later than the last event.
    fn sample(&mut self, _machine: &Machine, _tasks: &FindingTasks, _at: Nanos) {}

    fn findings(&mut self, about: &FindingContext<'_>) -> Vec<Finding>;
}

/// Declares the rules: the field of [`RuleSet`], the type with its module, and the kinds of evidence with their records in
/// this module.
macro_rules! rules {
    ($($field:ident: $module:ident::$rule:ident $(=> $($kind:ident($record:ident))|+)?,)*) => {
        kinds_of_evidence! { $($($($kind($module::$record),)+)?)* }

        /// All rules, in the order in which findings of equal weight are listed.
        pub const RULES: &[RuleInfo] = &[$(<$module::$rule as Rule>::INFO),*];

        #[derive(Debug)]
        pub(in crate) struct RuleSet {
            $($field: $module::$rule,)*
        }

        impl RuleSet {
            pub(in crate) fn new(nr_cpus: usize, limits: Limits) -> Self {
                Self { $($field: $module::$rule::new(nr_cpus, limits),)* }
            }

            #[inline]
            pub(in crate) fn on_idle(&mut self, now: Nanos, cpu: CpuId, begins: bool) {
                $(self.$field.on_idle(now, cpu, begins);)*
            }

            #[inline]
            pub(in crate) fn on_wait(&mut self, wait: &FindingWait, allowed: Option<&CpuMask>) {
                $(self.$field.on_wait(wait, allowed);)*
            }

            pub(in crate) fn on_job(
                &mut self,
                now: Nanos,
                task: (usize, usize),
                time: Nanos,
                deadline: Nanos,
            ) {
                $(self.$field.on_job(now, task, time, deadline);)*
            }

            #[inline]
            pub(in crate) fn on_preempt(&mut self, now: Nanos, preemption: &Preemption) {
                $(self.$field.on_preempt(now, preemption);)*
            }

            pub(in crate) fn on_limited_lag(
                &mut self,
                now: Nanos,
                task: (usize, usize),
                lag: &LimitedLag,
            ) {
                $(self.$field.on_limited_lag(now, task, lag);)*
            }

            pub(in crate) fn on_server_pick(&mut self, now: Nanos, cpu: CpuId) {
                $(self.$field.on_server_pick(now, cpu);)*
            }

            #[inline]
            pub(in crate) fn on_migrate(&mut self, now: Nanos, migration: FindingMigration) {
                $(self.$field.on_migrate(now, migration);)*
            }

            #[inline]
            pub(in crate) fn on_balance(&mut self, now: Nanos, decision: &BalanceDecision) {
                $(self.$field.on_balance(now, decision);)*
            }

            #[inline]
            pub(in crate) fn on_kick(&mut self, now: Nanos, decision: &KickDecision) {
                $(self.$field.on_kick(now, decision);)*
            }

            #[inline]
            pub(in crate) fn on_overutilized(&mut self, now: Nanos, is_over: bool, cpu: CpuId) {
                $(self.$field.on_overutilized(now, is_over, cpu);)*
            }

            pub(in crate) fn on_attributes(&mut self, machine: &Machine, tasks: &FindingTasks) {
                $(self.$field.on_attributes(machine, tasks);)*
            }

            pub(in crate) fn sample(&mut self, machine: &Machine, tasks: &FindingTasks, at: Nanos) {
                $(self.$field.sample(machine, tasks, at);)*
            }

            /// Returns the findings of all rules that apply to a run or to a trace, the worst first. Those that were only
            /// made in the first part of the run come last.
            pub(in crate) fn findings(&mut self, about: &FindingContext<'_>) -> Vec<Finding> {
                let mut all = Vec::new();
                $(if about.machine.is_some() || <$module::$rule as Rule>::INFO.is_for_traces {
                    all.extend(self.$field.findings(about));
                })*
                for finding in &mut all {
                    finding.mark_start(about);
                    finding.sentence = finding.to_string();
                }
                all.sort_by_key(|finding: &Finding| {
                    let weight = (finding.severity, finding.total_ns, finding.count);
                    (finding.only_in_first_ns.is_some(), std::cmp::Reverse(weight))
                });
                all
            }
        }
    };
}

pub(super) use rules;
