// SPDX-License-Identifier: GPL-2.0-or-later
//! Rule `fair-server`: fair tasks that got a CPU only because the CPU's fair server ran them (6.12).
//!
//! Real-time or deadline tasks keep the CPU until the server's remaining budget just fits before its deadline: with the
//! default server, 50 ms in each second, fair tasks starve for up to 950 ms. Of each wait that a pick of the server
//! ends, the whole time counts.

use super::rule::{EndedWait, FindingWait, Rule, RuleInfo, RuleSeverity};
use super::{ByFamily, Finding, FindingContext, Limits, Severity, moment};
use crate::explain::Question;
use crate::plural::counted;
use fairlab_sched::ids::CpuId;
use fairlab_sched::units::Nanos;

/// Longest time between the pick of a server and the switch to the task.
const MAX_SWITCH: Nanos = Nanos::from_millis(1);

/// Waits that ended with a pick of a fair server.
#[derive(Debug)]
pub(super) struct ServedTasks {
    limit: Nanos,
    starvation: Nanos,
    /// Last pick of each CPU's server, until a long wait ends there; empty before the first pick of any.
    picked: Vec<Option<Nanos>>,
    nr_cpus: usize,
    waits: ByFamily<(FindingWait, CpuId)>,
}

impl Rule for ServedTasks {
    const INFO: RuleInfo = RuleInfo {
        name: "fair-server",
        condition: "in 6.12, a task waited more than 10 ms (`--latency`) behind real-time or deadline tasks until the fair \
                    server ran it",
        severity: RuleSeverity::Raised {
            to: Severity::High,
            above: "500 ms (`--starvation`) at a time",
            from: Severity::Medium,
        },
        is_for_traces: false,
        is_about_waits: true,
    };

    fn new(nr_cpus: usize, limits: Limits) -> Self {
        let (limit, starvation) = (limits.latency, limits.starvation);
        Self { limit, starvation, picked: Vec::new(), nr_cpus, waits: ByFamily::new() }
    }

    fn on_server_pick(&mut self, now: Nanos, cpu: CpuId) {
        self.picked.resize(self.nr_cpus, None);
        self.picked[cpu.index()] = Some(now);
    }

    #[inline]
    fn on_wait(&mut self, ended: &EndedWait<'_>) {
        if self.picked.is_empty() {
            return;
        }
        let wait = ended.wait;
        let Some(cpu) = ended.cpu.filter(|_| wait.until - wait.since > self.limit) else { return };
        let picked = self.picked[cpu.index()].take();
        if picked.is_some_and(|at| at >= wait.since && wait.until - at <= MAX_SWITCH) {
            self.waits.entry(wait.family).or_default().add(wait.until - wait.since, (wait, cpu));
        }
    }

    fn findings(&mut self, about: &FindingContext<'_>) -> Vec<Finding> {
        let of_family = |(&family, found): (&usize, &super::Occurrences<(FindingWait, CpuId)>)| {
            let (time, (wait, cpu)) = found.worst.as_ref()?;
            let name = (about.name)(wait.task);
            Some(Finding {
                rule: Self::INFO.name,
                severity: Self::INFO.severity.of(*time > self.starvation),
                sentence: format!(
                    "{} starved behind real-time or deadline tasks until the fair server ran them, {} ({} in total); worst: {name} on \
                     CPU {} for {time}",
                    about.families[family],
                    counted(found.count, "time", "times"),
                    found.total,
                    cpu.0
                ),
                count: found.count,
                total_ns: found.total.0,
                worst_ns: time.0,
                // Just before the wait ends, so that the explanation covers all of it.
                at_ns: moment(wait.until).saturating_sub(1),
                question: Question::Task(name),
            })
        };
        self.waits.iter().filter_map(of_family).collect()
    }
}
