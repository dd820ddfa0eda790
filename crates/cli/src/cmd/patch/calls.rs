// SPDX-License-Identifier: GPL-2.0-or-later
//! First decision that two kernels make differently: compares the functions that both enter, call by call. It
//! needs only function names, so it works for any two kernel trees.
//!
//! 1. Both runs are repeated up to the time of the first differing event, and record the functions that the
//!    calls at that time enter.
//! 2. Functions that only one kernel has are ignored at first: a patch that adds a function has not made a
//!    decision yet.
//! 3. If both enter equal functions, they differ only in values.

use fairlab_kernel::object::TracedCall;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Largest number of steps that are shown after the difference.
const MAX_STEPS: usize = 14;
/// Largest number of steps that are shown before the difference, in the same function.
const MAX_PREVIOUS_STEPS: usize = 3;

/// Call of a kernel's scheduler by the machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct KernelCall {
    what: String,
    cpu: u32,
    /// Depth and name of each function that was entered.
    functions: Vec<(u32, String)>,
}

/// Function that was entered, possibly several times in a row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub(crate) struct CallStep {
    /// Depth relative to the function in which the two kernels differ.
    pub(crate) depth: u32,
    /// Name of the function.
    pub(crate) function: String,
    /// Number of entries in a row.
    pub(crate) times: u32,
}

/// First difference between two kernels in the functions that they enter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub(crate) struct CallDifference {
    /// Call of the machine, and its CPU.
    pub(crate) call: String,
    /// Time of the call in the run, in nanoseconds, if it is before the first differing event.
    pub(crate) at_ns: Option<u64>,
    /// Whether the two kernels were called for different reasons.
    #[serde(skip)]
    pub(crate) is_another_call: bool,
    /// Whether the difference is in functions that both kernels have, not only in a new one.
    #[serde(skip)]
    pub(crate) is_of_both: bool,
    /// Kind of decision, if a known function makes it.
    pub(crate) kind: Option<&'static str>,
    /// CPU of the call.
    pub(crate) cpu: u32,
    /// Functions that both kernels are in, outermost first.
    pub(crate) path: Vec<String>,
    /// Functions that both entered before, in the innermost of these.
    pub(crate) before: Vec<CallStep>,
    /// Functions that the base kernel enters next, up to the end of that function.
    pub(crate) base: Vec<CallStep>,
    /// Functions that the patched kernel enters next, up to the end of that function.
    pub(crate) patched: Vec<CallStep>,
}

/// Kinds of decision by function, with the names of several kernel versions.
const DECISION_KINDS: [(&str, &str); 24] = [
    ("newidle_balance", "newly-idle balancing"),
    ("sched_balance_newidle", "newly-idle balancing"),
    ("rebalance_domains", "periodic balancing"),
    ("sched_balance_domains", "periodic balancing"),
    ("active_load_balance_cpu_stop", "active balancing"),
    ("_nohz_idle_balance", "NOHZ idle balancing"),
    ("nohz_balancer_kick", "NOHZ kick"),
    ("select_task_rq_fair", "CPU selection"),
    ("select_task_rq_rt", "CPU selection"),
    ("select_task_rq_dl", "CPU selection"),
    ("check_preempt_wakeup", "preemption at a wake-up"),
    ("check_preempt_wakeup_fair", "preemption at a wake-up"),
    ("wakeup_preempt_fair", "preemption at a wake-up"),
    ("pick_next_task_fair", "selection of the next task"),
    ("pick_task_fair", "selection of the next task"),
    ("enqueue_task_fair", "enqueueing"),
    ("dequeue_task_fair", "dequeueing"),
    ("task_tick_fair", "tick of a fair task"),
    ("update_blocked_averages", "decay of blocked load"),
    ("sched_balance_update_blocked_averages", "decay of blocked load"),
    ("pull_rt_task", "pulling of real-time tasks"),
    ("push_rt_task", "pushing of real-time tasks"),
    ("scheduler_tick", "tick"),
    ("sched_tick", "tick"),
];

/// Replaces the addresses of functions by names.
pub(super) fn with_function_names(calls: Vec<TracedCall>, names: &BTreeMap<u64, String>) -> Vec<KernelCall> {
    let name = |place: u64| names.get(&place).cloned().unwrap_or_else(|| format!("{place:x}"));
    let named = |call: TracedCall| KernelCall {
        what: call.what,
        cpu: call.cpu,
        functions: call.functions.into_iter().map(|(depth, place)| (depth, name(place))).collect(),
    };
    calls.into_iter().map(named).collect()
}

/// Returns the first difference between two lists of calls at one time, if there is one. `known` are the
/// functions of either kernel.
pub(super) fn first_difference(
    base: &[KernelCall],
    patched: &[KernelCall],
    known: [&BTreeSet<&str>; 2],
) -> Option<CallDifference> {
    let both = |name: &str| known.iter().all(|known| known.contains(name));
    let of_both = |call: &KernelCall| -> Vec<(u32, String)> {
        // Depths are ignored here: they depend on functions that only one kernel has.
        call.functions.iter().filter(|(_, name)| both(name)).map(|(_, name)| (0, name.clone())).collect()
    };
    let is_same = |one: &KernelCall, other: &KernelCall| (&one.what, one.cpu) == (&other.what, other.cpu);
    let number = base.len().max(patched.len());
    let at = |is_same: &dyn Fn(&KernelCall, &KernelCall) -> bool| {
        (0..number)
            .find(|&nr| !matches!((base.get(nr), patched.get(nr)), (Some(one), Some(other)) if is_same(one, other)))
    };
    let nr_of_both = at(&|one, other| is_same(one, other) && of_both(one) == of_both(other));
    let nr = nr_of_both.or_else(|| at(&|one, other| one == other))?;
    let nothing = KernelCall { what: String::new(), cpu: 0, functions: Vec::new() };
    let (one, other) = (base.get(nr).unwrap_or(&nothing), patched.get(nr).unwrap_or(&nothing));
    let is_another_call = !is_same(one, other);
    let call = if is_another_call {
        let describe = |call: &KernelCall| match call.what.as_str() {
            "" => "no call of the kernel".to_owned(),
            what => format!("{what}, on CPU {}", call.cpu),
        };
        format!("{} in the base kernel, {} in the patched one", describe(one), describe(other))
    } else {
        format!("{}, on CPU {}", one.what, one.cpu)
    };
    Some(CallDifference { is_another_call, is_of_both: nr_of_both.is_some(), ..call_difference(call, one, other) })
}

fn call_difference(call: String, one: &KernelCall, other: &KernelCall) -> CallDifference {
    let (base_functions, patched_functions) = (&one.functions, &other.functions);
    let place = base_functions.iter().zip(patched_functions).take_while(|(one, other)| one == other).count();
    let depth_at = |functions: &[(u32, String)]| functions.get(place).map(|(depth, _)| *depth);
    let depth = match (depth_at(base_functions), depth_at(patched_functions)) {
        (Some(one), Some(other)) => one.max(other),
        (one, other) => one.or(other).unwrap_or(0),
    };
    // The enclosing functions are the entries with a smaller depth that have not returned.
    let (mut path, mut path_depth) = (Vec::new(), depth);
    for (function_depth, name) in base_functions[..place].iter().rev() {
        if *function_depth < path_depth {
            path.push((*function_depth, name.clone()));
            path_depth = *function_depth;
        }
    }
    path.reverse();
    let in_it = |(function_depth, _): &&(u32, String)| *function_depth >= depth;
    let before: Vec<_> = base_functions[..place]
        .iter()
        .rev()
        .take_while(in_it)
        .filter(|(function_depth, _)| *function_depth == depth)
        .cloned()
        .collect();
    let before: Vec<_> = before.into_iter().rev().collect();
    let mut before = steps(&before, depth);
    before.drain(..before.len().saturating_sub(MAX_PREVIOUS_STEPS));
    let rest = |functions: &[(u32, String)]| {
        let rest: Vec<_> = functions[place.min(functions.len())..].iter().take_while(in_it).cloned().collect();
        steps(&rest, depth)
    };
    let kind = path.iter().rev().find_map(|(_, name)| DECISION_KINDS.iter().find(|(known, _)| known == name));
    CallDifference {
        call,
        at_ns: None,
        is_another_call: false,
        is_of_both: false,
        kind: kind.map(|(_, what)| *what),
        cpu: one.cpu,
        path: path.into_iter().map(|(_, name)| name).collect(),
        before,
        base: rest(base_functions),
        patched: rest(patched_functions),
    }
}

/// Merges consecutive entries of one function into a step.
fn steps(functions: &[(u32, String)], depth: u32) -> Vec<CallStep> {
    let mut steps: Vec<CallStep> = Vec::new();
    for (function_depth, function) in functions {
        let step = CallStep { depth: function_depth - depth, function: function.clone(), times: 1 };
        match steps.last_mut() {
            Some(last) if last.depth == step.depth && last.function == step.function => last.times += 1,
            _ => steps.push(step),
        }
    }
    steps.truncate(MAX_STEPS);
    steps
}

impl CallStep {
    fn text(&self) -> String {
        let times = if self.times == 1 { String::new() } else { format!(" ({} times)", self.times) };
        format!("{}{}{times}", "  ".repeat(self.depth as usize), self.function)
    }
}

impl CallDifference {
    /// Describes the different decision in a sentence.
    pub(crate) fn sentence(&self) -> String {
        if self.is_another_call {
            return format!("the kernels are called for different reasons: {}", self.call);
        }
        let within = self.path.last().map_or_else(|| "at its beginning".to_owned(), |name| format!("in {name}()"));
        let next = |steps: &[CallStep]| match steps.first() {
            Some(step) => format!("enters {}()", step.function),
            None => "enters no more functions there".to_owned(),
        };
        let after = match self.before.last() {
            Some(step) if step.times > 1 => format!(" after {} times {}()", step.times, step.function),
            Some(step) => format!(" after {}()", step.function),
            None => String::new(),
        };
        let kind = self.kind.map_or_else(String::new, |kind| format!("{kind} on CPU {}, ", self.cpu));
        format!("{kind}{within}{after}: base {}, patched {}", next(&self.base), next(&self.patched))
    }

    /// Returns both sequences side by side from the difference on, as lines.
    pub(crate) fn lines(&self) -> Vec<String> {
        let mut lines: Vec<String> = Some(&self.path)
            .filter(|path| !path.is_empty())
            .map(|path| format!("in {}", path.join(" > ")))
            .into_iter()
            .collect();
        let text = |steps: &[CallStep]| steps.iter().map(CallStep::text).collect::<Vec<_>>();
        let (base, patched) = (text(&self.base), text(&self.patched));
        let width = text(&self.before).iter().chain(&base).map(String::len).max().unwrap_or(0).max(24);
        lines.push(format!("{:<width$}  patched", "base"));
        lines.extend(text(&self.before).iter().map(|step| format!("{step:<width$}  {step}")));
        let of = |side: &[String], nr: usize| match side.get(nr) {
            Some(step) => step.clone(),
            None if nr == side.len() && nr < MAX_STEPS => "(returns)".to_owned(),
            None => String::new(),
        };
        let number = base.len().max(patched.len());
        lines.extend(
            (0..number).map(|nr| format!("{:<width$}  {}", of(&base, nr), of(&patched, nr)).trim_end().to_owned()),
        );
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(functions: &[(u32, &str)]) -> KernelCall {
        let functions = functions.iter().map(|(depth, name)| (*depth, (*name).to_owned())).collect();
        KernelCall { what: "schedule".to_owned(), cpu: 5, functions }
    }

    fn decided(base: &KernelCall, patched: &KernelCall, known: &[&str]) -> Option<CallDifference> {
        let known: BTreeSet<&str> = known.iter().copied().collect();
        first_difference(std::slice::from_ref(base), std::slice::from_ref(patched), [&known, &known])
    }

    #[test]
    fn the_decision_is_where_the_functions_part() {
        let begin = [(0, "newidle_balance"), (1, "load_balance"), (2, "detach_tasks"), (3, "can_migrate_task")];
        let base = call(&[&begin[..], &[(3, "can_migrate_task"), (1, "update_rq_clock")]].concat());
        let patched =
            call(&[&begin[..], &[(3, "detach_task"), (4, "dequeue_task_fair"), (1, "attach_tasks")]].concat());
        let decision = decided(&base, &patched, &["newidle_balance"]).expect("they differ");
        assert_eq!(decision.path, ["newidle_balance", "load_balance", "detach_tasks"]);
        assert_eq!(
            decision.sentence(),
            "newly-idle balancing on CPU 5, in detach_tasks() after can_migrate_task(): base enters can_migrate_task(), patched enters detach_task()"
        );
        let lines = decision.lines();
        assert!(lines[2].starts_with("can_migrate_task ") && lines[2].ends_with("  can_migrate_task"), "{lines:?}");
        assert!(
            lines.iter().any(|line| line.contains("(returns)") && line.ends_with("  dequeue_task_fair")),
            "{lines:?}"
        );
    }

    #[test]
    fn calls_of_different_kinds_are_named_and_not_their_functions() {
        let tick = KernelCall { what: "tick".to_owned(), cpu: 3, functions: Vec::new() };
        let block = call(&[(0, "schedule")]);
        let known = BTreeSet::from(["schedule"]);
        let found = first_difference(std::slice::from_ref(&tick), &[block], [&known, &known]).expect("they differ");
        assert_eq!(
            found.sentence(),
            "the kernels are called for different reasons: tick, on CPU 3 in the base kernel, schedule, on CPU 5 in the patched one"
        );
        let alone = first_difference(&[tick], &[], [&known, &known]).expect("they differ");
        assert!(
            alone.sentence().ends_with("tick, on CPU 3 in the base kernel, no call of the kernel in the patched one")
        );
    }

    #[test]
    fn a_function_that_only_one_kernel_has_is_no_decision_as_long_as_another_differs() {
        let calls =
            |new: &[(u32, &str)], last: &str| [call(&[&[(0, "a")], new].concat()), call(&[(0, "b"), (1, last)])];
        let (base, patched) = (calls(&[], "x"), calls(&[(1, "added")], "y"));
        let base_functions = BTreeSet::from(["a", "b", "x", "y"]);
        let patched_functions = BTreeSet::from(["a", "b", "x", "y", "added"]);
        let found = first_difference(&base, &patched, [&base_functions, &patched_functions]).expect("they differ");
        assert_eq!((found.path, found.base[0].function.as_str()), (vec!["b".to_owned()], "x"));
        let alone =
            first_difference(&base[..1], &patched[..1], [&base_functions, &patched_functions]).expect("they differ");
        assert_eq!(alone.patched[0].function, "added");
        assert!(first_difference(&base, &base, [&base_functions, &patched_functions]).is_none());
    }
}
