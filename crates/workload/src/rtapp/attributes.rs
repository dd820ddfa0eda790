// SPDX-License-Identifier: GPL-2.0-or-later
//! Scheduling attributes of tasks and phases, and their changes from one phase to the next.
//!
//! rt-app sets a thread's attributes at the start of each phase:
//! - CPUs always: those of the phase, or else of the task, or else all.
//! - Policy with priority, deadline parameters and clamps only if the phase names one of them.
//!
//! Policy, nice value, clamps and group therefore keep the value of the last phase that named them, also when
//! the phases start over. [`attribute_changes`] simulates this once, so that a thread only has to name the
//! set of attributes that comes next.

use super::fields::Fields;
use crate::message::Message;
use crate::policy::PolicyKind;
use crate::source_text::SourceText;
use crate::suggest;
use crate::workload::{Affinity, Attributes};
use fairlab_sched::task::Policy;
use fairlab_sched::units::Nanos;

/// Shortest runtime of a deadline task that the kernel accepts, in ns (`1 << DL_SCALE`).
const MIN_DL_RUNTIME_NS: u64 = 1024;

/// Priority of real-time threads whose file names none.
const DEFAULT_RT_PRIORITY: i64 = 10;

/// Returns the policy with a name.
pub(super) fn policy_by_name(source: SourceText<'_>, at: usize, name: &str) -> Result<PolicyKind, Message> {
    PolicyKind::ALL.iter().copied().find(|kind| kind.name() == name).ok_or_else(|| {
        let names: Vec<&str> = PolicyKind::ALL.iter().map(|kind| kind.name()).collect();
        let help = suggest::help(name, "policies", &names);
        source.error(at, format!("unknown policy \"{name}\"")).with_help(help)
    })
}

/// Policy and clamps that a task or a phase names.
#[derive(Clone, Debug)]
pub(super) struct SchedData {
    /// Byte offset of the first key that was given.
    at: usize,
    /// `None` leaves the policy unchanged.
    pub(super) policy: Option<PolicyKind>,
    /// `None` leaves the nice value or priority unchanged, and the policy with them.
    priority: Option<i64>,
    runtime: Nanos,
    deadline: Nanos,
    period: Nanos,
    util_min: Option<u32>,
    util_max: Option<u32>,
    /// First key that only deadline tasks have, if one is given, with its byte offset.
    deadline_key: Option<(&'static str, usize)>,
}

impl SchedData {
    /// Reads the keys of a task, for which there is a default policy, or of a phase, for which there is none.
    ///
    /// Returns `None` if none of the keys is given.
    pub(super) fn read(fields: Fields<'_>, default: Option<PolicyKind>) -> Result<Option<Self>, Message> {
        let named = fields.get("policy").map_or(fields.at, |node| node.at);
        let policy = match fields.text("policy")? {
            Some(name) => Some(policy_by_name(fields.source, named, name)?),
            None => default,
        };
        let default_priority = policy.map(|policy| match policy {
            PolicyKind::Fifo | PolicyKind::RoundRobin => DEFAULT_RT_PRIORITY,
            PolicyKind::Normal | PolicyKind::Batch | PolicyKind::Idle | PolicyKind::Deadline => 0,
        });
        let at = ["policy", "priority", "dl-runtime", "dl-period", "dl-deadline", "util_min", "util_max"];
        let at = at.iter().find_map(|key| fields.get(key)).map_or(fields.at, |node| node.at);
        let micros = |key: &str| Ok::<_, Message>(fields.count(key)?.map(Nanos::from_micros));
        let mut runtime = micros("dl-runtime")?.unwrap_or_default();
        let mut period = micros("dl-period")?.unwrap_or(runtime);
        let mut deadline = micros("dl-deadline")?.unwrap_or(period);
        if policy == Some(PolicyKind::Deadline) && default.is_some() {
            // In the old grammar these keys stand for the parameters that are still missing.
            let or_else = |now: Nanos, key, default| Ok(if now.0 > 0 { now } else { micros(key)?.unwrap_or(default) });
            runtime = or_else(runtime, "runtime", Nanos::ZERO)?;
            period = or_else(period, "period", runtime)?;
            deadline = or_else(deadline, "deadline", period)?;
        }
        let data = Self {
            at,
            policy,
            priority: fields.int("priority")?.or(default_priority),
            runtime,
            deadline,
            period,
            util_min: clamp(fields, "util_min")?,
            util_max: clamp(fields, "util_max")?,
            deadline_key: ["dl-period", "dl-deadline"]
                .into_iter()
                .find_map(|key| fields.get(key).map(|node| (key, node.at))),
        };
        let says_something = data.priority.is_some()
            || [data.runtime, data.deadline, data.period].iter().any(|time| time.0 > 0)
            || data.util_min.is_some()
            || data.util_max.is_some();
        Ok(says_something.then_some(data))
    }
}

fn without_deadline_policy(key: &str) -> String {
    format!("\"{key}\" has no effect without \"policy\": \"SCHED_DEADLINE\"")
}

/// Keys of deadline tasks in the old grammar, each with the key that replaces it.
const OLD_DEADLINE_KEYS: [(&str, &str); 3] =
    [("runtime", "dl-runtime"), ("period", "dl-period"), ("deadline", "dl-deadline")];

/// Returns warnings about keys of the old grammar that a task has in vain.
pub(super) fn unused_deadline_keys(fields: Fields<'_>, sched: &SchedData) -> Vec<String> {
    let is_deadline = sched.policy == Some(PolicyKind::Deadline);
    let has_phases = fields.get("phases").is_some();
    let unused = OLD_DEADLINE_KEYS.into_iter().filter_map(|(key, current)| {
        // Without phases, `runtime` is an event.
        let node = fields.get(key).filter(|_| key != "runtime" || has_phases)?;
        let what = match is_deadline {
            true if fields.get(current).is_some() => format!("\"{key}\" has no effect beside \"{current}\""),
            false => without_deadline_policy(key),
            _ => return None,
        };
        Some(format!("{}: {what}", fields.source.location(node.at)))
    });
    unused.collect()
}

fn clamp(fields: Fields<'_>, key: &str) -> Result<Option<u32>, Message> {
    match fields.int(key)? {
        None | Some(-1) => Ok(None),
        Some(value @ 0..=1024) => Ok(Some(u32::try_from(value).expect("a clamp"))),
        Some(value) => {
            let at = fields.get(key).map_or(fields.at, |node| node.at);
            Err(fields.error(at, format!("\"{key}\" is {value}, which is not in 0..1024 (or -1 for none)")))
        }
    }
}

/// Attributes that a phase names, with its CPUs already resolved.
#[derive(Clone, Debug)]
pub(super) struct PhaseAttributes {
    pub(super) cpus: Affinity,
    pub(super) sched: Option<SchedData>,
    pub(super) group: Option<Option<usize>>,
}

/// Sets of attributes, and the phases at whose start they take effect.
#[derive(Debug, Default)]
pub(super) struct AttributeChanges {
    pub(super) sets: Vec<Attributes>,
    /// Index of the set for each phase in the first loop of the thread; `None` if nothing changes.
    pub(super) first: Vec<Option<usize>>,
    /// Index of the set for each phase in every later loop of the thread.
    pub(super) later: Vec<Option<usize>>,
    pub(super) warnings: Vec<String>,
}

/// Simulates the phases of a thread that starts with the default attributes.
///
/// Two loops are enough: at the end of the second every attribute is what it was at the end of the first,
/// because each phase sets the same ones again.
pub(super) fn attribute_changes(
    source: SourceText<'_>,
    task: &SchedData,
    task_group: Option<Option<usize>>,
    phases: &[PhaseAttributes],
) -> Result<AttributeChanges, Message> {
    let mut changes = AttributeChanges::default();
    let mut thread = RtAppThread::default();
    let mut in_force = thread.current.clone();
    thread.apply(source, task, task.policy.unwrap_or(PolicyKind::Normal))?;
    thread.current.group = task_group.unwrap_or_default();
    // A phase without a policy gets the policy that it finds in the first loop, and keeps it.
    let mut resolved: Vec<PolicyKind> = Vec::new();
    for later in [false, true] {
        for (i, phase) in phases.iter().enumerate() {
            thread.current.affinity = phase.cpus.clone();
            if let Some(sched) = &phase.sched {
                if !later {
                    resolved.resize(i + 1, PolicyKind::Normal);
                    resolved[i] = sched.policy.unwrap_or(thread.assumed_policy);
                }
                thread.apply(source, sched, resolved[i])?;
            }
            if let Some(group) = phase.group {
                thread.current.group = group;
            }
            thread.check_deadline_affinity(source, task);
            let set = changes.add(thread.current.difference(&in_force));
            if later { &mut changes.later } else { &mut changes.first }.push(set);
            in_force = thread.current.clone();
        }
    }
    changes.warnings = thread.warnings;
    Ok(changes)
}

impl AttributeChanges {
    fn add(&mut self, set: Attributes) -> Option<usize> {
        if set == Attributes::default() {
            return None;
        }
        let known = self.sets.iter().position(|known| *known == set);
        Some(known.unwrap_or_else(|| {
            self.sets.push(set);
            self.sets.len() - 1
        }))
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct EffectiveAttributes {
    policy: Policy,
    nice: i8,
    affinity: Affinity,
    util_min: Option<u32>,
    util_max: Option<u32>,
    group: Option<usize>,
    slice: Option<Nanos>,
}

impl EffectiveAttributes {
    /// Returns the attributes that must be set to get from `from` to `self`. A new policy resets the slice.
    fn difference(&self, from: &Self) -> Attributes {
        let old_slice = from.slice.filter(|_| self.policy == from.policy);
        Attributes {
            reclaims: false,
            policy: (self.policy != from.policy).then_some(self.policy),
            nice: (self.nice != from.nice).then_some(self.nice),
            affinity: (self.affinity != from.affinity).then(|| self.affinity.clone()),
            uclamp_min: self.util_min.filter(|_| self.util_min != from.util_min),
            uclamp_max: self.util_max.filter(|_| self.util_max != from.util_max),
            group: (self.group != from.group).then_some(self.group),
            slice: self.slice.filter(|_| self.slice != old_slice),
        }
    }
}

/// State of a thread as rt-app tracks it.
#[derive(Debug)]
struct RtAppThread {
    current: EffectiveAttributes,
    /// Policy that was set last. It is not the policy in force if that step only set clamps.
    assumed_policy: PolicyKind,
    warnings: Vec<String>,
}

impl Default for RtAppThread {
    fn default() -> Self {
        Self { current: EffectiveAttributes::default(), assumed_policy: PolicyKind::Normal, warnings: Vec::new() }
    }
}

impl RtAppThread {
    fn apply(&mut self, source: SourceText<'_>, data: &SchedData, policy: PolicyKind) -> Result<(), Message> {
        let old_policy = self.current.policy;
        if let Some(priority) = data.priority {
            self.set_policy(source, data, policy, priority)?;
        } else if policy == PolicyKind::Deadline {
            self.current.policy = deadline_policy(source, data)?;
        }
        if policy == PolicyKind::Deadline {
            if data.util_min.is_some() || data.util_max.is_some() {
                self.warn(
                    source,
                    data.at,
                    "rt-app does not set utilisation clamps of deadline tasks; they are ignored",
                );
            }
        } else {
            self.current.util_min = data.util_min.or(self.current.util_min);
            self.current.util_max = data.util_max.or(self.current.util_max);
            if self.current.policy != old_policy {
                self.current.slice = None;
            }
            self.set_slice(source, data, policy);
        }
        let (min, max) = (self.current.util_min.unwrap_or(0), self.current.util_max.unwrap_or(1024));
        if min > max {
            return Err(source.error(data.at, format!("util_min is {min}, above util_max, which is {max}")));
        }
        self.assumed_policy = policy;
        Ok(())
    }

    fn set_policy(
        &mut self,
        source: SourceText<'_>,
        data: &SchedData,
        policy: PolicyKind,
        priority: i64,
    ) -> Result<(), Message> {
        let out_of = |range: &str| {
            Err(source.error(data.at, format!("\"priority\" is {priority}, which is not in {range} for this policy")))
        };
        match policy {
            PolicyKind::Fifo | PolicyKind::RoundRobin => {
                let Ok(priority @ 1..=99) = u8::try_from(priority) else { return out_of("1..99") };
                let is_fifo = policy == PolicyKind::Fifo;
                self.current.policy = if is_fifo { Policy::Fifo(priority) } else { Policy::RoundRobin(priority) };
            }
            PolicyKind::Deadline => {
                if priority != 0 {
                    self.warn(source, data.at, "\"priority\" has no effect on a deadline task");
                }
                self.current.policy = deadline_policy(source, data)?;
            }
            PolicyKind::Normal | PolicyKind::Batch | PolicyKind::Idle => {
                let Ok(nice @ -20..=19) = i8::try_from(priority) else { return out_of("-20..19") };
                if policy != self.assumed_policy || self.current.policy == Policy::Normal {
                    self.current.policy = match policy {
                        PolicyKind::Batch => Policy::Batch,
                        PolicyKind::Idle => Policy::Idle,
                        _ => Policy::Normal,
                    };
                }
                if policy != PolicyKind::Idle {
                    self.current.nice = nice;
                } else if nice != 0 {
                    self.warn(source, data.at, "\"priority\" has no effect on a task of SCHED_IDLE");
                }
            }
        }
        Ok(())
    }

    /// Sets the slice of a fair task to `dl-runtime`, if that is given. Otherwise it stays.
    fn set_slice(&mut self, source: SourceText<'_>, data: &SchedData, policy: PolicyKind) {
        match policy {
            _ if data.runtime == Nanos::ZERO => {}
            PolicyKind::Normal | PolicyKind::Batch => self.current.slice = Some(data.runtime),
            PolicyKind::Idle => {
                self.warn(source, data.at, "\"dl-runtime\" has no effect on a task of SCHED_IDLE");
            }
            PolicyKind::Fifo | PolicyKind::RoundRobin => {
                self.warn(source, data.at, "\"dl-runtime\" has no effect on a real-time task");
            }
            PolicyKind::Deadline => {}
        }
        if let Some((key, at)) = data.deadline_key.filter(|_| policy != PolicyKind::Deadline) {
            self.warn(source, at, &without_deadline_policy(key));
        }
    }

    fn check_deadline_affinity(&mut self, source: SourceText<'_>, task: &SchedData) {
        if matches!(self.current.policy, Policy::Deadline { .. }) && self.current.affinity != Affinity::All {
            let what = "Linux refuses to bind a deadline task to some of the CPUs unless they are a cpuset of their own; \
                        rt-app would stop";
            self.warn(source, task.at, what);
        }
    }

    /// Records a warning, unless it was recorded already.
    fn warn(&mut self, source: SourceText<'_>, at: usize, message: &str) {
        let warning = format!("{}: {message}", source.location(at));
        if !self.warnings.contains(&warning) {
            self.warnings.push(warning);
        }
    }
}

fn deadline_policy(source: SourceText<'_>, data: &SchedData) -> Result<Policy, Message> {
    let SchedData { runtime, deadline, period, .. } = *data;
    if runtime.0 < MIN_DL_RUNTIME_NS {
        let error = source.error(data.at, "a deadline task needs a \"dl-runtime\" of at least 2 us");
        return Err(error.with_help("\"dl-runtime\", \"dl-deadline\" and \"dl-period\" are in microseconds"));
    }
    if runtime > deadline || deadline > period {
        let message = format!(
            "a deadline task needs dl-runtime <= dl-deadline <= dl-period, not {runtime}, {deadline}, {period}"
        );
        return Err(source.error(data.at, message));
    }
    Ok(Policy::Deadline { runtime, deadline, period })
}
