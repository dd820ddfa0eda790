// SPDX-License-Identifier: GPL-2.0-or-later
//! The section `global`: defaults of all tasks, and the length of the run.

use super::attributes::policy_by_name;
use super::calibration::{self, CalibrationSpec};
use super::fields::Fields;
use super::json::{JsonNode, JsonValue};
use crate::message::Message;
use crate::policy::PolicyKind;
use fairlab_sched::units::Nanos;

/// Keys about rt-app's output and its own memory, none of which is simulated.
const OUTPUT_KEYS: &[&str] =
    &["logdir", "log_basename", "log_size", "ftrace", "gnuplot", "lock_pages", "cumulative_slack"];

const KEYS: &[&str] = &["duration", "calibration", "default_policy", "pi_enabled", "io_device", "mem_buffer_size"];

/// Settings of the section, or their defaults.
#[derive(Clone, Debug)]
pub(super) struct GlobalSection {
    /// Length of the run, unless it is endless.
    pub(super) duration: Option<Nanos>,
    /// Value of `duration` in the file, in seconds.
    pub(super) given_duration: Option<i64>,
    pub(super) default_policy: PolicyKind,
    pub(super) calibration: CalibrationSpec,
    pub(super) priority_inheritance: bool,
    /// Size of a thread's buffer, in bytes; not 0.
    pub(super) mem_buffer_size: u64,
    /// Whether `iorun` writes to the null device.
    pub(super) to_null_device: bool,
}

impl Default for GlobalSection {
    fn default() -> Self {
        Self {
            duration: None,
            given_duration: None,
            default_policy: PolicyKind::Normal,
            calibration: CalibrationSpec::Nothing,
            priority_inheritance: false,
            mem_buffer_size: 4 << 20,
            to_null_device: true,
        }
    }
}

impl GlobalSection {
    /// Reads the section, and appends warnings to the list.
    pub(super) fn read(fields: Fields<'_>, warnings: &mut Vec<String>) -> Result<Self, Message> {
        let mut global = Self { given_duration: duration(fields)?, ..Self::default() };
        // A duration of 0 or less means no end, as in rt-app.
        let seconds = global.given_duration.and_then(|seconds| u64::try_from(seconds).ok());
        global.duration = seconds.filter(|seconds| *seconds > 0).map(Nanos::from_secs);
        if let Some(name) = fields.text("default_policy")? {
            let at = fields.get("default_policy").map_or(fields.at, |node| node.at);
            global.default_policy = policy_by_name(fields.source, at, name)?;
        }
        global.priority_inheritance = fields.flag("pi_enabled")?.unwrap_or(false);
        if let Some(size) = fields.bytes("mem_buffer_size")? {
            if size == 0 {
                let at = fields.get("mem_buffer_size").map_or(fields.at, |node| node.at);
                return Err(fields.error(at, "\"mem_buffer_size\" must not be 0"));
            }
            global.mem_buffer_size = size;
        }
        if let Some(device) = fields.text("io_device")? {
            global.to_null_device = device == "/dev/null";
        }
        global.calibration = calibration::read(fields)?;
        warnings.extend(output(fields)?);
        let known = [KEYS, OUTPUT_KEYS].concat();
        warnings.extend(fields.unknown("\"global\"", &known, &[]));
        Ok(global)
    }
}

/// Reads the key `duration`.
fn duration(fields: Fields<'_>) -> Result<Option<i64>, Message> {
    fields.int("duration").map_err(|error| match fields.get("duration") {
        Some(JsonNode { value: JsonValue::Fraction, .. }) => {
            error.with_help("rt-app takes whole seconds; for less, write 1 and run with `--for 50ms`")
        }
        _ => error,
    })
}

/// Returns one warning about the keys that have no effect, after the type checks of rt-app.
fn output(fields: Fields<'_>) -> Result<Option<String>, Message> {
    for key in ["logdir", "log_basename"] {
        fields.text(key)?;
    }
    for key in ["gnuplot", "lock_pages", "cumulative_slack"] {
        fields.flag(key)?;
    }
    for (key, wanted) in [("log_size", "a whole number or a string"), ("ftrace", "a string, or true or false")] {
        let Some(node) = fields.get(key) else { continue };
        let fits = match &node.value {
            JsonValue::Text(_) => true,
            JsonValue::Int(_) => key == "log_size",
            JsonValue::Bool(_) => key == "ftrace",
            _ => false,
        };
        if !fits {
            return Err(fields.error(node.at, format!("\"{key}\" must be {wanted}, not {}", node.value.kind())));
        }
    }
    let given: Vec<&str> = OUTPUT_KEYS.iter().copied().filter(|key| fields.get(key).is_some()).collect();
    if given.is_empty() {
        return Ok(None);
    }
    let (place, list) = (fields.source.location(fields.at), given.join(", "));
    Ok(Some(format!("{place}: these keys concern rt-app's own output and memory and are ignored: {list}")))
}
