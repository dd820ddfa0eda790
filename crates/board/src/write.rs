// SPDX-License-Identifier: GPL-2.0-or-later
//! Writer of machine files: the shortest form that describes the same machine.

use super::cpus::{LOCAL_DISTANCE, REMOTE_DISTANCE, core_numbers};
use super::frequency::FrequencyGovernor;
use super::interrupts::InterruptLoadDescription;
use super::machine::MachineDescription;
use super::processor::{Fact, FactKey, LINE_NS, Processor};
use super::raw::RawNumbering;
use fairlab_sched::topology::{CpuPlace, TopologyLevel};
use std::fmt::{Display, Write as _};

/// Reason of an `expect()`: writing to a `String` cannot fail.
const TO_STRING: &str = "a string takes all that is written to it";

impl MachineDescription {
    /// Returns a machine file that describes this machine. Comments of the original file are lost
    /// ([`preset_text`](super::preset_text) has those of the presets).
    pub fn to_toml(&self) -> String {
        write(self)
    }
}

fn write(machine: &MachineDescription) -> String {
    let mut out = TomlWriter(String::new());
    write_head(&mut out, machine);
    cpus(&mut out, machine);
    cpu_types(&mut out, machine);
    smt(&mut out, machine);
    turbo(&mut out, machine);
    frequency_domains(&mut out, machine);
    idle_states(&mut out, machine);
    interrupt_loads(&mut out, "interrupt_load", machine.interrupt_loads());
    interrupt_loads(&mut out, "steal", machine.steals());
    frequency_limits(&mut out, machine);
    if let Some(facts) = machine.processor() {
        processor(&mut out, facts);
    }
    out.0
}

/// Name of a level in files and in descriptions.
pub(super) const fn level_name(level: TopologyLevel) -> &'static str {
    match level {
        TopologyLevel::Smt => "smt",
        TopologyLevel::Cluster => "cluster",
        TopologyLevel::Mc => "mc",
        TopologyLevel::Package => "package",
        TopologyLevel::All => "all",
    }
}

struct TomlWriter(String);

impl TomlWriter {
    fn line(&mut self, text: impl Display) {
        writeln!(self.0, "{text}").expect(TO_STRING);
    }

    fn pair(&mut self, key: &str, value: impl Display) {
        self.line(format_args!("{key} = {value}"));
    }

    fn text(&mut self, key: &str, value: &str) {
        self.pair(key, toml::Value::String(value.to_owned()));
    }

    fn array<T: Display>(&mut self, key: &str, values: impl IntoIterator<Item = T>) {
        self.pair(key, list(values));
    }
}

fn list<T: Display>(values: impl IntoIterator<Item = T>) -> String {
    let values: Vec<String> = values.into_iter().map(|value| value.to_string()).collect();
    format!("[{}]", values.join(", "))
}

fn write_head(out: &mut TomlWriter, machine: &MachineDescription) {
    out.line("# A machine for fairlab. The book's chapter on machine files explains each key.");
    out.text("name", machine.name());
    out.text("description", machine.description());
    out.text("source", machine.source());
    out.text("kernel", machine.kernel());
    for (key, value) in machine.keys.written() {
        out.pair(key, value);
    }
}

fn cpus(out: &mut TomlWriter, machine: &MachineDescription) {
    let shape = &machine.shape;
    let count = shape.nr_cpus();
    out.line("\n[cpus]");
    out.pair("count", count);
    let core: Vec<u32> = shape.places.iter().map(|place| place.core).collect();
    let nr_cores = shape.nr_units(|place| place.core);
    let threads = count / nr_cores;
    let by_rule = |numbering| count.is_multiple_of(nr_cores) && core_numbers(count, threads, numbering) == core;
    if by_rule(RawNumbering::CoreMajor) {
        out.pair("threads_per_core", threads);
    } else if by_rule(RawNumbering::ThreadsLast) {
        out.pair("threads_per_core", threads);
        out.text("numbering", "threads-last");
    } else {
        out.array("core", &core);
    }
    units(out, "cluster", &shape.places, |place| place.cluster);
    units(out, "llc", &shape.places, |place| place.llc);
    units(out, "package", &shape.places, |place| place.package);
    units(out, "node", &shape.places, |place| place.node);
    out.array("levels", shape.levels.iter().map(|&level| format!("\"{}\"", level_name(level))));
    let default_enabled =
        |(i, j): (usize, usize)| shape.distances[i][j] == if i == j { LOCAL_DISTANCE } else { REMOTE_DISTANCE };
    let nr_nodes = shape.distances.len();
    if !(0..nr_nodes).flat_map(|i| (0..nr_nodes).map(move |j| (i, j))).all(default_enabled) {
        let rows: Vec<String> = shape.distances.iter().map(|row| format!("    {},\n", list(row))).collect();
        out.pair("distances", format_args!("[\n{}]", rows.concat()));
    }
}

/// Writes a kind of unit as a rule if one describes it, else as an array.
fn units(out: &mut TomlWriter, kind: &str, places: &[CpuPlace], unit: fn(&CpuPlace) -> u32) {
    let nr = |unit: fn(&CpuPlace) -> u32| places.iter().map(unit).max().map_or(1, |highest| highest + 1);
    let (nr_cores, nr_units) = (nr(|place| place.core), nr(unit));
    let cores = nr_cores / nr_units;
    if nr_cores.is_multiple_of(nr_units) && places.iter().all(|place| unit(place) == place.core / cores) {
        out.pair(&format!("cores_per_{kind}"), cores);
    } else {
        out.array(kind, places.iter().map(unit));
    }
}

fn cpu_types(out: &mut TomlWriter, machine: &MachineDescription) {
    for one in machine.cpu_types() {
        out.line("\n[[cpu_type]]");
        out.text("name", &one.name);
        out.text("cpus", &one.cpus.to_string());
        out.pair("capacity", one.capacity);
    }
}

fn smt(out: &mut TomlWriter, machine: &MachineDescription) {
    if let Some(smt) = machine.smt() {
        out.line("\n[smt]");
        out.array("throughput_percent", &smt.throughput_percent);
        out.text("source", &smt.source);
    }
}

fn turbo(out: &mut TomlWriter, machine: &MachineDescription) {
    if let Some(turbo) = machine.turbo() {
        out.line("\n[turbo]");
        out.pair("base_khz", turbo.base_khz());
        out.array("busy_cores", turbo.busy_cores());
        out.array("khz", turbo.khz());
        out.pair("enabled", turbo.is_enabled());
        out.pair("scale_invariant", turbo.is_scale_invariant());
        out.pair("reference_khz", turbo.reference_khz);
        out.pair("evaluation_ns", turbo.evaluation().0);
        out.text("source", turbo.source());
    }
}

fn frequency_domains(out: &mut TomlWriter, machine: &MachineDescription) {
    for domain in machine.frequency_domains() {
        out.line("\n[[frequency_domain]]");
        out.text("cpus", &domain.cpus.to_string());
        out.array("khz", &domain.khz);
        if let Some(powers) = &domain.power_uw {
            out.array("power_uw", powers);
        }
        let (name, khz) = governor_name(domain.governor);
        out.text("governor", name);
        if let Some(khz) = khz {
            out.pair("fixed_khz", khz);
        }
        if let Some(limit) = domain.rate_limit_us {
            out.pair("rate_limit_us", limit);
        }
        out.pair("transition_latency_ns", domain.transition_latency.0);
        out.pair("fast_switch", domain.fast_switch);
    }
}

/// Name of a governor in files and in descriptions, and its frequency if it has one.
pub(super) const fn governor_name(governor: FrequencyGovernor) -> (&'static str, Option<u64>) {
    match governor {
        FrequencyGovernor::Performance => ("performance", None),
        FrequencyGovernor::Powersave => ("powersave", None),
        FrequencyGovernor::Schedutil => ("schedutil", None),
        FrequencyGovernor::Fixed { khz } => ("fixed", Some(khz)),
    }
}

fn idle_states(out: &mut TomlWriter, machine: &MachineDescription) {
    for state in machine.idle_states() {
        out.line("\n[[idle_state]]");
        out.text("name", &state.name);
        out.text("cpus", &state.cpus.to_string());
        out.pair("exit_latency_ns", state.exit_latency.0);
        if let Some(typical) = state.exit_typical {
            out.pair("exit_typical_ns", typical.0);
        }
        if state.entry_latency.0 > 0 {
            out.pair("entry_latency_ns", state.entry_latency.0);
        }
        out.pair("target_residency_ns", state.target_residency.0);
        if state.polls {
            out.pair("polls", true);
        }
        if let Some(power) = state.power_uw {
            out.pair("power_uw", power);
        }
    }
}

fn interrupt_loads(out: &mut TomlWriter, key: &str, loads: &[InterruptLoadDescription]) {
    for load in loads {
        out.line(format!("\n[[{key}]]"));
        out.text("name", &load.name);
        out.text("cpus", &load.cpus.to_string());
        out.pair("period_ns", load.period.0);
        out.pair("duration_ns", load.duration.0);
    }
}

fn frequency_limits(out: &mut TomlWriter, machine: &MachineDescription) {
    for limit in machine.frequency_limits() {
        out.line("\n[[frequency_limit]]");
        out.pair("at_ns", limit.at.0);
        out.text("cpus", &limit.cpus.to_string());
        out.text("reason", if limit.is_thermal { "thermal" } else { "user" });
        out.pair("part", limit.part);
    }
}

fn processor(out: &mut TomlWriter, processor: &Processor) {
    out.line("\n[processor]");
    out.text("sheet", processor.sheet());
    let (lines, own): (Vec<_>, Vec<_>) = processor.facts().partition(|(key, _)| matches!(key, FactKey::LineNs(_)));
    own.into_iter().for_each(|(key, own)| fact(out, key.name(), own));
    out.line(format!("\n[processor.{LINE_NS}]"));
    for (key, line) in lines {
        if let FactKey::LineNs(distance) = key {
            fact(out, distance.name(), line);
        }
    }
}

fn fact(out: &mut TomlWriter, key: &str, fact: &Fact) {
    let (least, greatest) = fact.range;
    let range = if least == greatest { String::new() } else { format!("min = {least}, max = {greatest}, ") };
    let source = toml::Value::String(fact.source.clone());
    out.pair(key, format_args!("{{ value = {}, {range}source = {source} }}", fact.value));
}
