// SPDX-License-Identifier: GPL-2.0-or-later
//! Lines of a trace (`--trace-jsonl`), as they are read back.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Kind of a line: its field `e`. The names are those of the reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the schema of the format describes each kind")]
pub enum TraceKind {
    Wakeup,
    Switch,
    Migrate,
    Freq,
    Ipi,
    Lb,
    Pse,
    Pcfs,
    Lag,
    Lagq,
    Hotplug,
    Cpuset,
    Affinity,
    Change,
    Nohz,
    Llc,
    Rq,
    Se,
    Schedstat,
    Task,
}

/// Line of a trace.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(try_from = "Value")]
pub struct TraceLine {
    kind: TraceKind,
    fields: Value,
}

impl TryFrom<Value> for TraceLine {
    type Error = serde_json::Error;

    fn try_from(fields: Value) -> Result<Self, serde_json::Error> {
        Ok(Self { kind: TraceKind::deserialize(&fields["e"])?, fields })
    }
}

impl TraceKind {
    /// Whether the line has state at a time instead of an event.
    pub const fn is_snapshot(self) -> bool {
        matches!(self, Self::Nohz | Self::Llc | Self::Rq | Self::Se)
    }
}

impl TraceLine {
    /// Parses a line; `None` for a line of another format.
    pub fn parse(line: &str) -> Option<Self> {
        serde_json::from_str(line).ok()
    }

    /// Kind of the line.
    pub const fn kind(&self) -> TraceKind {
        self.kind
    }

    /// All fields.
    pub const fn fields(&self) -> &Value {
        &self.fields
    }

    /// Time of the machine's clock, in nanoseconds; `None` for a total at the end of a run.
    pub fn time_ns(&self) -> Option<u64> {
        self.number("t")
    }

    /// Returns a field that is a number of at least 0.
    pub fn number(&self, field: &str) -> Option<u64> {
        self.fields[field].as_u64()
    }

    /// Returns a field that is a PID.
    pub fn pid(&self, field: &str) -> Option<i64> {
        self.fields[field].as_i64()
    }

    /// Returns a field that is a text.
    pub fn text(&self, field: &str) -> Option<&str> {
        self.fields[field].as_str()
    }

    /// Whether a field is true, or 1.
    pub fn is_set(&self, field: &str) -> bool {
        self.fields[field].as_bool() == Some(true) || self.number(field) == Some(1)
    }

    /// Returns the CPUs of the event.
    pub fn cpus(&self) -> impl Iterator<Item = u64> {
        ["cpu", "on", "from", "to"].into_iter().filter_map(|field| self.number(field))
    }

    /// Returns the PIDs of the event's tasks, without those of idle tasks.
    pub fn pids(&self) -> impl Iterator<Item = i64> {
        ["pid", "prev", "next"].into_iter().filter_map(|field| self.pid(field)).filter(|pid| *pid != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_its_kind_and_fields() {
        let line = TraceLine::parse(r#"{"t":5,"e":"switch","cpu":1,"prev":0,"next":1000,"st":0}"#).expect("a line");
        assert_eq!((line.kind(), line.time_ns()), (TraceKind::Switch, Some(5)));
        assert_eq!((line.cpus().collect::<Vec<_>>(), line.pids().collect::<Vec<_>>()), (vec![1], vec![1000]));
        assert_eq!(TraceLine::parse(r#"{"t":5,"e":"swatch"}"#), None);
        assert_eq!(TraceLine::parse("{"), None);
    }
}
