// SPDX-License-Identifier: GPL-2.0-or-later
//! Calibration: how much work a `run` is.
//!
//! rt-app measures before it starts how long its loop takes on one CPU, and makes of `run` N as many loops as last N microseconds
//! there: on CPU 0, or on the CPU that the file names. A number instead says how long the loop takes, and nobody knows where: it is
//! taken for one of the biggest CPU, as tools have it that calibrate all CPUs and write the least number.

use super::fields::Fields;
use super::json::{Node, TEMPLATE, Value};
use crate::error::{ParseError, Source};
use fairlab_sched::units::{Capacity, Nanos, SCHED_CAPACITY_SCALE};

/// A `run` that never ends.
pub(super) const ENDLESS: Nanos = Nanos(Nanos::NEVER.0 / 4);

/// What a file says about it, and where.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum CalibrationSpec {
    /// Nothing: CPU 0.
    #[default]
    Nothing,
    /// A CPU.
    Cpu(u32, usize),
    /// How long the loop takes.
    NsPerLoop(usize),
}

/// What the CPU of the calibration can do.
#[derive(Clone, Debug)]
pub(super) struct Calibration {
    capacity: Capacity,
    /// What was assumed, if it makes a difference on the machine.
    pub(super) assumption: Option<String>,
}

/// Reads the key.
pub(super) fn read(fields: Fields<'_>) -> Result<CalibrationSpec, ParseError> {
    let Some(node) = fields.get("calibration") else { return Ok(CalibrationSpec::Nothing) };
    match &node.value {
        Value::Int(ns) if *ns > 0 => Ok(CalibrationSpec::NsPerLoop(node.at)),
        Value::Text(text) => {
            let digits = text.strip_prefix("CPU").map(leading_digits).and_then(|digits| digits.parse().ok());
            digits.map(|cpu| CalibrationSpec::Cpu(cpu, node.at)).ok_or_else(|| bad(fields, node))
        }
        _ => Err(bad(fields, node)),
    }
}

fn leading_digits(text: &str) -> &str {
    &text[..text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len())]
}

fn bad(fields: Fields<'_>, node: &Node) -> ParseError {
    let error = fields.error(node.at, "\"calibration\" must be \"CPUn\" or a number of nanoseconds per loop");
    match &node.value {
        Value::Text(text) if text.starts_with('_') => error.with_help(TEMPLATE),
        _ => error.with_help("write \"CPU0\", the CPU on which `run` lasts as long as it says"),
    }
}

impl Calibration {
    /// On a machine whose CPUs have these capacities.
    pub(super) fn new(
        source: Source<'_>,
        said: CalibrationSpec,
        capacities: &[u64],
        warnings: &mut Vec<String>,
    ) -> Self {
        let biggest = capacities.iter().copied().max().unwrap_or(SCHED_CAPACITY_SCALE);
        let of = |cpu: u32| capacities.get(cpu as usize).copied();
        let (capacity, where_) = match said {
            CalibrationSpec::Nothing => {
                (of(0).unwrap_or(biggest), "on CPU 0, as rt-app does without `calibration`".to_owned())
            }
            CalibrationSpec::Cpu(cpu, at) => {
                if !capacities.is_empty() && of(cpu).is_none() {
                    let place = source.place(at);
                    warnings.push(format!(
                        "{place}: the machine has no CPU {cpu} to calibrate on, where rt-app would stop; the biggest CPU is taken"
                    ));
                }
                (of(cpu).unwrap_or(biggest), format!("on CPU {cpu}, as the file says"))
            }
            CalibrationSpec::NsPerLoop(_) => {
                (biggest, "on the biggest CPU, since the file has a number and no CPU".to_owned())
            }
        };
        let differ = capacities.iter().any(|&capacity| capacity != biggest);
        let assumption = differ.then(|| {
            format!("run lengths are calibrated {where_}; its capacity is {capacity} of {SCHED_CAPACITY_SCALE}")
        });
        Self { capacity, assumption }
    }

    /// The work of a run of so many microseconds, as time at full capacity; to the nearest nanosecond, but not nothing.
    pub(super) fn work(&self, us: u64) -> Nanos {
        let work = (us * 1000 * self.capacity + SCHED_CAPACITY_SCALE / 2) / SCHED_CAPACITY_SCALE;
        Nanos(if us > 0 { work.max(1) } else { 0 })
    }
}
