// SPDX-License-Identifier: GPL-2.0-or-later
//! `[[idle_state]]`: what an idle CPU can sink into. Without states, an idle CPU goes on at once.

use super::cpu_list::CpuList;
use super::cpu_types::cpu_list;
use super::error::DescriptionFault;
use super::frequency::MAX_POWER_UW;
use super::raw::RawIdleState;
use super::read::{MAX_SPAN_NS, name, number, optional};
use fairlab_sched::ids::CpuId;
use fairlab_sched::units::Nanos;
use toml::Spanned;

/// What chooses the state that an idle CPU enters, and whether its tick goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdleGovernorKind {
    /// Expects what the next timer and the last idle times say: the one that kernels with several prefer.
    Menu,
    /// Trusts timers unless something else mostly comes before.
    Teo,
}

/// A state of an idle CPU. States of one CPU are listed from the shallowest to the deepest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdleStateKeys {
    pub(super) name: String,
    pub(super) cpus: CpuList,
    pub(super) exit_latency: Nanos,
    pub(super) exit_typical: Option<Nanos>,
    pub(super) entry_latency: Nanos,
    pub(super) target_residency: Nanos,
    pub(super) polls: bool,
    pub(super) power_uw: Option<u64>,
}

impl IdleStateKeys {
    /// The name, such as `C6`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The CPUs that have the state.
    pub const fn cpus(&self) -> &CpuList {
        &self.cpus
    }

    /// The longest time from an interrupt until the CPU executes, also of one that comes while the CPU is still entering: what the
    /// governor goes by.
    pub const fn exit_latency(&self) -> Nanos {
        self.exit_latency
    }

    /// From the interrupt until the CPU executes, for half of the exits; none: each takes the longest time.
    pub const fn exit_typical(&self) -> Option<Nanos> {
        self.exit_typical
    }

    /// How long the CPU takes to enter, during which nothing wakes it; a part of the exit latency.
    pub const fn entry_latency(&self) -> Nanos {
        self.entry_latency
    }

    /// How long the CPU must stay for the state to pay off.
    pub const fn target_residency(&self) -> Nanos {
        self.target_residency
    }

    /// Whether the CPU looks for work all the time instead of waiting for it.
    pub const fn polls(&self) -> bool {
        self.polls
    }

    /// What a CPU draws in it, in microwatts.
    pub const fn power_uw(&self) -> Option<u64> {
        self.power_uw
    }
}

pub(super) fn understand(raw: &[Spanned<RawIdleState>], count: u32) -> Result<Vec<IdleStateKeys>, DescriptionFault> {
    let mut states: Vec<IdleStateKeys> = Vec::with_capacity(raw.len());
    let mut deepest: Vec<Option<usize>> = vec![None; count as usize];
    for (index, raw) in raw.iter().map(Spanned::get_ref).enumerate() {
        let state = IdleStateKeys {
            name: name(&raw.name)?,
            cpus: raw.cpus.as_ref().map_or_else(|| Ok(CpuList::all(count)), |cpus| cpu_list(cpus, count))?,
            exit_latency: Nanos(number(&raw.exit_latency_ns, 0..=MAX_SPAN_NS, "ns")?),
            exit_typical: raw
                .exit_typical_ns
                .as_ref()
                .map(|typical| number(typical, 0..=MAX_SPAN_NS, "ns").map(Nanos))
                .transpose()?,
            entry_latency: Nanos(optional(&raw.entry_latency_ns, 0..=MAX_SPAN_NS, "ns", 0)?),
            target_residency: Nanos(number(&raw.target_residency_ns, 0..=MAX_SPAN_NS, "ns")?),
            polls: raw.polls.as_ref().is_some_and(|polls| *polls.get_ref()),
            power_uw: raw.power_uw.as_ref().map(|power| number(power, 0..=MAX_POWER_UW, "uW")).transpose()?,
        };
        fits_the_worst_case(&state, raw)?;
        for cpu in state.cpus.iter() {
            if let Some(above) = deepest[cpu.index()].replace(index) {
                lies_below(&state, &states[above], cpu, raw)?;
            }
            if states.iter().any(|other| other.name == state.name && other.cpus.contains(cpu)) {
                let message = format!("cpu {} already has a state `{}`", cpu.0, state.name);
                return Err(DescriptionFault::of(&raw.name, message, "give the states of a CPU different names"));
            }
        }
        states.push(state);
    }
    Ok(states)
}

/// Entering and a typical exit together take no longer than the longest time.
fn fits_the_worst_case(state: &IdleStateKeys, raw: &RawIdleState) -> Result<(), DescriptionFault> {
    let longest = state.exit_latency;
    let help = "`exit_latency_ns` is the worst case: an interrupt that comes when the CPU has just begun to enter";
    if let Some(at) = raw.entry_latency_ns.as_ref().filter(|_| state.entry_latency > longest) {
        let message =
            format!("`{}` takes {} to enter and at most {longest} to come back", state.name, state.entry_latency);
        return Err(DescriptionFault::of(at, message, help));
    }
    let exit = longest - state.entry_latency;
    if let (Some(at), Some(typical)) = (&raw.exit_typical_ns, state.exit_typical)
        && typical > exit
    {
        let message = format!("`{}` takes {typical} typically and at most {exit} to exit", state.name);
        return Err(DescriptionFault::of(at, message, help));
    }
    Ok(())
}

fn lies_below(
    state: &IdleStateKeys,
    above: &IdleStateKeys,
    cpu: CpuId,
    raw: &RawIdleState,
) -> Result<(), DescriptionFault> {
    let pairs = [
        (&raw.exit_latency_ns, state.exit_latency, above.exit_latency, "exits faster"),
        (&raw.target_residency_ns, state.target_residency, above.target_residency, "pays off sooner"),
    ];
    for (at, own, before, what) in pairs {
        if own < before {
            let message = format!("`{}` {what} than `{}` before it on cpu {}", state.name, above.name, cpu.0);
            return Err(DescriptionFault::of(
                at,
                message,
                "list the states of a CPU from the shallowest to the deepest",
            ));
        }
    }
    Ok(())
}
