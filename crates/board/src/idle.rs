// SPDX-License-Identifier: GPL-2.0-or-later
//! `[[idle_state]]`: idle states of CPUs. A CPU without states leaves idle without a delay.

use super::cpu_list::CpuList;
use super::cpu_types::parse_cpu_list;
use super::error::DescriptionFault;
use super::frequency::MAX_POWER_UW;
use super::raw::RawIdleState;
use super::values::{MAX_SPAN_NS, name, number, optional_number};
use fairlab_sched::ids::CpuId;
use fairlab_sched::units::Nanos;
use toml::Spanned;

/// Governor that chooses idle states and decides about the tick.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdleGovernorKind {
    /// Predicts the idle time from the next timer and the last idle times. Kernels with several governors
    /// prefer this one.
    Menu,
    /// Relies on timers unless other events mostly come earlier.
    Teo,
}

/// An idle state. States of one CPU are listed from the shallowest to the deepest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdleStateDescription {
    /// Name, such as `C6`.
    pub name: String,
    /// CPUs that have the state.
    pub cpus: CpuList,
    /// Maximum time from an interrupt until the CPU executes instructions, including interrupts that arrive
    /// during the entry. The governor uses this value.
    pub exit_latency: Nanos,
    /// Median time from an interrupt until the CPU executes instructions; `None` if each exit takes the
    /// maximum.
    pub exit_typical: Option<Nanos>,
    /// Duration of the entry, during which no interrupt wakes the CPU; included in the exit latency.
    pub entry_latency: Nanos,
    /// Minimum residency for which the state saves energy.
    pub target_residency: Nanos,
    /// Whether the CPU polls for work instead of waiting for an interrupt.
    pub polls: bool,
    /// Power in the state, in microwatts.
    pub power_uw: Option<u64>,
}

pub(super) fn from_raw(
    raw: &[Spanned<RawIdleState>],
    count: u32,
) -> Result<Vec<IdleStateDescription>, DescriptionFault> {
    let mut states: Vec<IdleStateDescription> = Vec::with_capacity(raw.len());
    let mut deepest: Vec<Option<usize>> = vec![None; count as usize];
    for (index, raw) in raw.iter().map(Spanned::get_ref).enumerate() {
        let state = IdleStateDescription {
            name: name(&raw.name)?,
            cpus: raw.cpus.as_ref().map_or_else(|| Ok(CpuList::all(count)), |cpus| parse_cpu_list(cpus, count))?,
            exit_latency: Nanos(number(&raw.exit_latency_ns, 0..=MAX_SPAN_NS, "ns")?),
            exit_typical: raw
                .exit_typical_ns
                .as_ref()
                .map(|typical| number(typical, 0..=MAX_SPAN_NS, "ns").map(Nanos))
                .transpose()?,
            entry_latency: Nanos(optional_number(&raw.entry_latency_ns, 0..=MAX_SPAN_NS, "ns", 0)?),
            target_residency: Nanos(number(&raw.target_residency_ns, 0..=MAX_SPAN_NS, "ns")?),
            polls: raw.polls.as_ref().is_some_and(|polls| *polls.get_ref()),
            power_uw: raw.power_uw.as_ref().map(|power| number(power, 0..=MAX_POWER_UW, "uW")).transpose()?,
        };
        check_exit_latency(&state, raw)?;
        for cpu in state.cpus.iter() {
            if let Some(above) = deepest[cpu.index()].replace(index) {
                check_deeper_than(&state, &states[above], cpu, raw)?;
            }
            if states.iter().any(|other| other.name == state.name && other.cpus.contains(cpu)) {
                let message = format!("cpu {} already has a state `{}`", cpu.0, state.name);
                return Err(DescriptionFault::from_value(
                    &raw.name,
                    message,
                    "give the states of a CPU different names",
                ));
            }
        }
        states.push(state);
    }
    Ok(states)
}

/// Checks that the entry and a typical exit together take at most the exit latency.
fn check_exit_latency(state: &IdleStateDescription, raw: &RawIdleState) -> Result<(), DescriptionFault> {
    let longest = state.exit_latency;
    let help = "`exit_latency_ns` is the worst case: an interrupt that comes when the CPU has just begun to enter";
    if let Some(at) = raw.entry_latency_ns.as_ref().filter(|_| state.entry_latency > longest) {
        let message =
            format!("`{}` takes {} to enter and at most {longest} to come back", state.name, state.entry_latency);
        return Err(DescriptionFault::from_value(at, message, help));
    }
    let exit = longest - state.entry_latency;
    if let (Some(at), Some(typical)) = (&raw.exit_typical_ns, state.exit_typical)
        && typical > exit
    {
        let message = format!("`{}` takes {typical} typically and at most {exit} to exit", state.name);
        return Err(DescriptionFault::from_value(at, message, help));
    }
    Ok(())
}

fn check_deeper_than(
    state: &IdleStateDescription,
    above: &IdleStateDescription,
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
            return Err(DescriptionFault::from_value(
                at,
                message,
                "list the states of a CPU from the shallowest to the deepest",
            ));
        }
    }
    Ok(())
}
