// SPDX-License-Identifier: GPL-2.0-or-later
//! Calibration: the amount of work in a `run`.
//!
//! Before it starts, rt-app measures how long its loop takes on one CPU: CPU 0, or the CPU that the file
//! names. `run` N is as many loops as last N microseconds there.
//!
//! A number in the file instead gives the length of the loop, without the CPU that it holds for. It is taken
//! for one of the biggest CPU, because tools that calibrate all CPUs write the least number.

use super::fields::Fields;
use super::json::{JsonNode, JsonValue, TEMPLATE_HELP};
use crate::message::Message;
use crate::source_text::SourceText;
use fairlab_sched::units::{Capacity, Nanos, SCHED_CAPACITY_SCALE};

/// Work of a `run` that never ends.
pub(super) const ENDLESS_WORK: Nanos = Nanos(Nanos::NEVER.0 / 4);

/// Calibration that a file asks for, and its byte offset.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum CalibrationSpec {
    /// No calibration: rt-app measures on CPU 0.
    #[default]
    Nothing,
    /// Calibration on a CPU.
    Cpu(u32, usize),
    /// Length of the loop, in nanoseconds.
    NsPerLoop(usize),
}

/// Capacity of the calibration's CPU.
#[derive(Clone, Debug)]
pub(super) struct Calibration {
    capacity: Capacity,
    /// Assumption about the CPU, if it makes a difference on the machine.
    pub(super) assumption: Option<String>,
}

/// Reads the key `calibration`.
pub(super) fn read(fields: Fields<'_>) -> Result<CalibrationSpec, Message> {
    let Some(node) = fields.get("calibration") else { return Ok(CalibrationSpec::Nothing) };
    match &node.value {
        JsonValue::Int(ns) if *ns > 0 => Ok(CalibrationSpec::NsPerLoop(node.at)),
        JsonValue::Text(text) => {
            let digits = text.strip_prefix("CPU").map(leading_digits).and_then(|digits| digits.parse().ok());
            digits.map(|cpu| CalibrationSpec::Cpu(cpu, node.at)).ok_or_else(|| calibration_error(fields, node))
        }
        _ => Err(calibration_error(fields, node)),
    }
}

fn leading_digits(text: &str) -> &str {
    &text[..text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len())]
}

fn calibration_error(fields: Fields<'_>, node: &JsonNode) -> Message {
    let error = fields.error(node.at, "\"calibration\" must be \"CPUn\" or a number of nanoseconds per loop");
    match &node.value {
        JsonValue::Text(text) if text.starts_with('_') => error.with_help(TEMPLATE_HELP),
        _ => error.with_help("write \"CPU0\": `run` N is then the work that CPU 0 does in N microseconds"),
    }
}

impl Calibration {
    /// Returns the calibration on a machine whose CPUs have these capacities.
    pub(super) fn new(
        source: SourceText<'_>,
        message_text: CalibrationSpec,
        capacities: &[u64],
        warnings: &mut Vec<String>,
    ) -> Self {
        let biggest = capacities.iter().copied().max().unwrap_or(SCHED_CAPACITY_SCALE);
        let of = |cpu: u32| capacities.get(cpu as usize).copied();
        let (capacity, where_) = match message_text {
            CalibrationSpec::Nothing => {
                (of(0).unwrap_or(biggest), "on CPU 0, as rt-app does without `calibration`".to_owned())
            }
            CalibrationSpec::Cpu(cpu, at) => {
                if !capacities.is_empty() && of(cpu).is_none() {
                    let place = source.location(at);
                    warnings.push(format!(
                        "{place}: the machine has no CPU {cpu} to calibrate on; rt-app would stop, fairlab uses the biggest CPU"
                    ));
                }
                (of(cpu).unwrap_or(biggest), format!("on CPU {cpu}, as the file says"))
            }
            CalibrationSpec::NsPerLoop(_) => {
                (biggest, "on the biggest CPU, since the file has a number instead of a CPU".to_owned())
            }
        };
        let differ = capacities.iter().any(|&capacity| capacity != biggest);
        let assumption = differ.then(|| {
            format!("run lengths are calibrated {where_}; its capacity is {capacity} of {SCHED_CAPACITY_SCALE}")
        });
        Self { capacity, assumption }
    }

    /// Returns the work of a run of `us` microseconds, as time at full capacity. It is rounded to the nearest
    /// nanosecond, but a run longer than 0 never becomes 0.
    pub(super) fn work(&self, us: u64) -> Nanos {
        let work = (us * 1000 * self.capacity + SCHED_CAPACITY_SCALE / 2) / SCHED_CAPACITY_SCALE;
        Nanos(if us > 0 { work.max(1) } else { 0 })
    }
}
