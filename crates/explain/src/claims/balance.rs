// SPDX-License-Identifier: GPL-2.0-or-later
//! Claims about load balancing: passes, kicks of idle CPUs, and domain levels.
#![expect(
    missing_docs,
    reason = "names of fields describe their content; all times are in ns from the start of the run"
)]

use super::{Reason, cpu_list, time, write_lines};
use fairlab_measure::plural::counted;
use fairlab_sched::units::Nanos;
use serde::Serialize;
use std::fmt;

/// Load-balance pass at one domain level.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub struct PassRecordClaim {
    pub at_ns: u64,
    /// CPU that executed the pass.
    pub on: u32,
    /// CPU that the pass was for.
    pub cpu: u32,
    pub level: u32,
    /// Name of the level, and the CPUs of the domain; none if the domain does not exist any more.
    pub domain: Option<DomainName>,
    /// `idle`, `busy` or `newly-idle`.
    pub idle: &'static str,
    pub verdict: Reason,
    /// Reason why the groups are balanced.
    pub balanced: Option<Reason>,
    pub local: Option<&'static str>,
    pub busiest: Option<&'static str>,
    /// First CPU of the busiest group.
    pub busiest_group: Option<u32>,
    pub busiest_queue: Option<u32>,
    /// Kind of the imbalance: `Load`, `Util`, `Task` or `Misfit`.
    pub migration: Option<&'static str>,
    pub imbalance: i64,
    pub scanned: u32,
    pub moved: u32,
    pub redos: u32,
    /// Attempts whose busiest runqueue had lost its tasks.
    pub raced: u32,
    pub emptied: u32,
}

/// Name of a domain level, and the CPUs of the domain.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub struct DomainName {
    pub name: String,
    pub cpus: Vec<u32>,
}

impl fmt::Display for DomainName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (CPUs {})", self.name, cpu_list(&self.cpus))
    }
}

impl PassRecordClaim {
    fn details(&self) -> Vec<String> {
        let mut details = Vec::new();
        if let Some(local) = self.local {
            details.push(format!("local group {local}"));
        }
        if let Some(busiest) = self.busiest {
            let of = self.busiest_group.map_or_else(String::new, |cpu| format!(" (the one of CPU {cpu})"));
            details.push(format!("busiest group {busiest}{of}"));
        }
        if let Some(queue) = self.busiest_queue {
            details.push(format!("busiest runqueue that of CPU {queue}"));
        }
        if let Some(migration) = self.migration {
            let unit = match migration {
                "Util" => "utilisation",
                "Task" => "tasks",
                "Misfit" => "misfit tasks",
                _ => "load",
            };
            details.push(format!("imbalance {} in {unit}", self.imbalance));
        }
        if self.busiest_queue.is_some() {
            details.push(format!("{} scanned, {} moved", counted(self.scanned, "task", "tasks"), self.moved));
        }
        if self.redos > 0 {
            let again = counted(self.redos, "time", "times");
            let why = match self.raced {
                0 => "all tasks of the busiest runqueue were pinned",
                raced if raced == self.redos => "the busiest runqueue had lost its tasks before its lock was taken",
                _ => "tasks of the busiest runqueues were pinned or gone",
            };
            details.push(format!(
                "retried {again}, because {why}; the runqueue named here may be that of an earlier attempt"
            ));
        } else if self.emptied > 0 {
            details.push("the busiest runqueue had lost its tasks before its lock was taken".to_owned());
        }
        details
    }
}

/// Clause of a sentence, without the time.
impl fmt::Display for PassRecordClaim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let level = self.domain.as_ref().map_or_else(|| format!("number {}", self.level), DomainName::to_string);
        write!(f, "{} pass at level {level}", self.idle)?;
        if self.on != self.cpu {
            write!(f, ", done by CPU {}", self.on)?;
        }
        match self.balanced {
            Some(why) => write!(f, ": balanced, {why}")?,
            None => write!(f, ": {}", self.verdict)?,
        }
        let details = self.details();
        if details.is_empty() { Ok(()) } else { write!(f, " [{}]", details.join("; ")) }
    }
}

/// Decision of a busy CPU's tick whether to kick an idle CPU.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub struct KickRecord {
    pub at_ns: u64,
    /// CPU of the tick.
    pub cpu: u32,
    pub reason: Reason,
    /// Kernel's flags of the kick; 0 if no CPU was to be kicked.
    pub flags: u32,
    /// Purpose of the kick: `balance`, `blocked-load` or `next-balance`.
    pub purpose: Option<&'static str>,
    /// Chosen idle CPU.
    pub target: Option<u32>,
    /// Whether the kick was sent; false if the target had a pending one.
    pub kicked: bool,
}

/// Clause of a sentence that begins with the tick.
impl fmt::Display for KickRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the tick of CPU {} at {} ({})", self.cpu, time(self.at_ns), self.reason)?;
        let to = match self.purpose {
            None => return f.write_str(", which kicked no CPU"),
            Some("balance") => "to balance for all tickless CPUs",
            Some("blocked-load") => "to update blocked load, without balancing",
            Some(_) => "to update the next balance time, without balancing",
        };
        match self.target {
            None => write!(f, ", which searched for an idle CPU {to}, and found none"),
            Some(target) if self.kicked => write!(f, ", which kicked CPU {target} {to}"),
            Some(target) => write!(f, ", which chose CPU {target} {to}; that CPU had a pending kick"),
        }
    }
}

/// Last kick decisions that concern a CPU.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub struct KickClaim {
    pub cpu: u32,
    /// Whether the question is about the CPU's passes, and not about its idle time.
    pub is_about_passes: bool,
    /// Last kick decision of any busy CPU.
    pub last_decision: Option<KickRecord>,
    /// Last decision that chose this CPU.
    pub last_chosen: Option<KickRecord>,
}

impl fmt::Display for KickClaim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut lines = Vec::new();
        if let Some(last) = &self.last_decision {
            lines.push(format!("The last kick decision of a busy CPU was made by {last}."));
        }
        match &self.last_chosen {
            Some(kick) if self.is_about_passes => lines.push(format!("The last kick that chose it came from {kick}.")),
            Some(kick) => lines.push(format!("It was last chosen by {kick}.")),
            None => lines.push("No kick has chosen it so far.".to_owned()),
        }
        write_lines(f, &lines)
    }
}

/// Newly-idle passes at the begin of an idle period, or their absence.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub struct NewlyIdleClaim {
    pub cpu: u32,
    pub idle_since_ns: u64,
    pub passes: Vec<PassRecordClaim>,
    /// Last newly-idle pass of an earlier idle period, if there is none of this one.
    pub earlier: Option<PassRecordClaim>,
    /// Whether a CPU of the root domain is overloaded, at the explained moment.
    pub is_overloaded: bool,
    /// Average idle time of the CPU, at the explained moment.
    pub avg_idle_ns: u64,
    /// Largest cost of a newly-idle pass at the first level.
    pub max_cost_ns: u64,
}

impl fmt::Display for NewlyIdleClaim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut lines: Vec<String> = self.passes.iter().map(|pass| format!("When it went idle: {pass}.")).collect();
        if lines.is_empty() {
            lines.push(format!(
                "No newly-idle pass was made when it went idle; the reason is not recorded. Possible reasons: no CPU of the root \
                 domain was overloaded (now {}), or the CPU's average idle time was below the cost of a pass at the first level \
                 (now {} and {}).",
                if self.is_overloaded { "at least one is" } else { "none is" },
                time(self.avg_idle_ns),
                time(self.max_cost_ns)
            ));
        }
        lines.extend(
            self.earlier.iter().map(|last| format!("Its last newly-idle pass was at {}: {last}.", time(last.at_ns))),
        );
        write_lines(f, &lines)
    }
}

/// Idle passes for a CPU since it went idle: the last one of each level.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub struct IdlePassesClaim {
    pub cpu: u32,
    pub idle_since_ns: u64,
    pub passes: Vec<PassRecordClaim>,
}

impl fmt::Display for IdlePassesClaim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.passes.is_empty() {
            return f.write_str("Since then no idle pass was made for it.");
        }
        let line = |pass: &PassRecordClaim| format!("Since then, last at {}: {pass}.", time(pass.at_ns));
        write_lines(f, &self.passes.iter().map(line).collect::<Vec<_>>())
    }
}

/// Last load-balance passes for a CPU, oldest first.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub struct PassesClaim {
    pub cpu: u32,
    pub at_ns: u64,
    pub nr_passes: u64,
    pub passes: Vec<PassRecordClaim>,
}

impl fmt::Display for PassesClaim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (at, cpu) = (time(self.at_ns), self.cpu);
        if self.nr_passes == 0 {
            return write!(f, "Up to {at} no balance pass was made for CPU {cpu}.");
        }
        let nr_kept = self.passes.len();
        let kept = if nr_kept as u64 == self.nr_passes { String::new() } else { format!("; the last {nr_kept}") };
        let made = counted(self.nr_passes, "balance pass was", "balance passes were");
        let mut lines = vec![format!("Up to {at} {made} made for CPU {cpu}{kept}, oldest first:")];
        lines.extend(self.passes.iter().map(|pass| format!("At {}, {pass}.", time(pass.at_ns))));
        write_lines(f, &lines)
    }
}

/// State of a CPU's domain at the explained moment.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub struct DomainLevelClaim {
    pub cpu: u32,
    pub level: u32,
    pub domain: DomainName,
    pub balance_interval_ms: u64,
    pub nr_balance_failed: u32,
}

impl fmt::Display for DomainLevelClaim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Level {} now: {} between passes, {} in a row.",
            self.domain,
            Nanos::from_millis(self.balance_interval_ms),
            counted(self.nr_balance_failed, "failed pass", "failed passes")
        )
    }
}
