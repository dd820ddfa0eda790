// SPDX-License-Identifier: GPL-2.0-or-later
//! Reader of machine files: TOML, then keys and types, then the values.

use super::base::BaseResolver;
use super::error::{DescriptionFault, Source};
use super::keys::{PlainKeys, RawMachine};
use super::machine::{DEFAULT_KERNEL_PROFILE, Identity, KERNEL_PROFILES, MachineDescription};
use super::raw::OptionalKey;
use super::values::name;
use super::{base, cpu_types, cpus, frequency, idle, interrupts, limits, processor, smt, turbo};
use fairlab_workload::message::Message;
use fairlab_workload::suggest::{self, reworded_toml_error};
use serde::Deserialize;
use toml::de::{DeTable, Deserializer};

/// Reads a machine file's text; `file` is its name in messages. Also returns whether the file inherits from a
/// base.
///
/// # Errors
/// The first error, with its line.
pub(super) fn read(file: &str, text: &str, resolve: BaseResolver<'_>) -> Result<(MachineDescription, bool), Message> {
    let mut inherited = Vec::new();
    let read = parse_raw(text)
        .and_then(|own| base::with_bases(own, text.len(), &mut inherited, resolve))
        .and_then(|raw| from_raw(&raw));
    match read {
        Ok(machine) => Ok((machine, !inherited.is_empty())),
        Err(fault) => Err(Source { file, text }.error(fault.with_unit(text), &inherited)),
    }
}

/// Parses a text to raw tables.
pub(super) fn parse_raw(text: &str) -> Result<RawMachine, DescriptionFault> {
    let table = DeTable::parse(text).map_err(|error| toml_error(&error))?;
    RawMachine::deserialize(Deserializer::from(table)).map_err(|error| key_error(&error))
}

fn from_raw(raw: &RawMachine) -> Result<MachineDescription, DescriptionFault> {
    reject_single_costs(raw)?;
    let shape = cpus::from_raw(base::required(&raw.cpus, "cpus")?)?;
    let count = shape.nr_cpus();
    let cpu_types = cpu_types::from_raw(&raw.cpu_type, &shape)?;
    let processor = processor::from_raw(&raw.processor, &shape)?;
    Ok(MachineDescription {
        identity: identity(raw)?,
        keys: keys(raw, count)?,
        smt: smt::from_raw(&raw.smt, &shape)?,
        turbo: turbo::from_raw(&raw.turbo, &raw.frequency_domain)?,
        frequency_domains: frequency::from_raw(&raw.frequency_domain, count, &cpu_types)?,
        idle_states: idle::from_raw(&raw.idle_state, count)?,
        interrupt_loads: interrupts::from_raw(&raw.interrupt_load, count)?,
        steals: interrupts::from_raw(&raw.steal, count)?,
        frequency_limits: limits::from_raw(&raw.frequency_limit, count)?,
        processor,
        shape,
        cpu_types,
    })
}

/// Rejects the tables that set costs of single operations in files of fairlab 0.2 and earlier.
fn reject_single_costs(raw: &RawMachine) -> Result<(), DescriptionFault> {
    let Some(table) = raw.prices.as_ref().or(raw.channel_lines.as_ref()) else { return Ok(()) };
    let help = "remove the table and add `[processor]`: its facts are `sheet`, `instructions_per_us`, `line_share_percent` \
                and `[processor.line_ns]`";
    Err(DescriptionFault::from_value(table, "costs of single operations are not part of a machine file", help))
}

fn identity(raw: &RawMachine) -> Result<Identity, DescriptionFault> {
    let kernel = match &raw.kernel {
        None => DEFAULT_KERNEL_PROFILE,
        Some(name) => *KERNEL_PROFILES.iter().find(|&known| known == name.get_ref()).ok_or_else(|| {
            let message = format!("there is no kernel profile `{}`", name.get_ref());
            DescriptionFault::from_value(name, message, suggest::help(name.get_ref(), "kernels", &KERNEL_PROFILES))
        })?,
    };
    let text = |value: &OptionalKey<String>| value.as_ref().map_or_else(String::new, |value| value.get_ref().clone());
    Ok(Identity {
        name: name(&raw.name)?,
        description: text(&raw.description),
        source: text(&raw.source),
        kernel: kernel.to_owned(),
    })
}

/// Reads the plain keys, and checks that all CPUs tick within one period.
fn keys(raw: &RawMachine, count: u32) -> Result<PlainKeys, DescriptionFault> {
    let keys = PlainKeys::read(raw)?;
    if let Some(skew) = &raw.tick_skew_ns
        && keys.tick_skew.0 * u64::from(count - 1) >= keys.hz.tick().0
    {
        let message = format!("the last CPU would tick a whole period ({}) late", keys.hz.tick());
        let help = format!(
            "write {} at most, so that all CPUs tick within one period",
            (keys.hz.tick().0 - 1) / u64::from(count - 1)
        );
        return Err(DescriptionFault::from_value(skew, message, help));
    }
    Ok(keys)
}

fn toml_error(error: &toml::de::Error) -> DescriptionFault {
    let message = error.message().lines().next().unwrap_or("unreadable");
    let help = "a machine file is TOML 1.0: `key = value` lines, `[table]`, `[[one of several tables]]`";
    DescriptionFault::new(error.span().unwrap_or(0..0), format!("not TOML: {message}"), help)
}

/// Converts serde's error for a wrong key or type.
fn key_error(error: &toml::de::Error) -> DescriptionFault {
    let message = error.message().lines().next().unwrap_or("unreadable");
    let (text, help) = reworded_toml_error(message).unwrap_or_else(|| {
        let help = if message.contains("floating point") {
            "write a whole number of the unit in which the key ends (1.5 us is 1500 ns)"
        } else {
            "the chapter on machine files lists each key with its type, unit and range"
        };
        (message.to_owned(), help.to_owned())
    });
    DescriptionFault::new(error.span().unwrap_or(0..0), text, help)
}
