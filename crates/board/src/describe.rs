// SPDX-License-Identifier: GPL-2.0-or-later
//! Text description of a machine for terminals.

use super::draw::draw;
use super::frequency::FrequencyDomainDescription;
use super::interrupts::InterruptLoadDescription;
use super::machine::MachineDescription;
use super::smt::Smt;
use super::turbo::Turbo;
use super::write::{governor_name, level_name};
use fairlab_sched::units::cap_scale;

/// Width of the text in characters.
const WIDTH: usize = 100;

/// Returns a text description of a machine: a drawing of its CPUs, distances, frequencies, idle states,
/// interrupts, and costs with their sources. Plain text with lines of about 100 characters that ends with a
/// newline.
pub fn describe(machine: &MachineDescription) -> String {
    let mut page = summary(machine);
    let levels: Vec<&str> = machine.shape.levels.iter().map(|&level| level_name(level)).collect();
    section(&mut page, &format!("Topology (levels of domains: {})", levels.join(", ")), draw(machine, WIDTH - 2));
    if machine.shape.distances.len() > 1 {
        section(&mut page, "Distances between nodes", distances(machine));
    }
    for domain in machine.frequency_domains() {
        let (title, lines) = frequencies(machine, domain);
        section(&mut page, &title, lines);
    }
    if let Some(turbo) = machine.turbo() {
        section(&mut page, "Frequencies chosen by the hardware", turbo_frequencies(turbo));
    } else if machine.frequency_domains().is_empty() {
        section(&mut page, "Frequencies", vec!["none: CPUs always run at full speed".to_owned()]);
    }
    if let Some(smt) = machine.smt() {
        section(&mut page, "Threads of a core", smt_throughput(smt));
    }
    section(&mut page, "Idle states", idle_states(machine));
    if !machine.interrupt_loads().is_empty() {
        section(&mut page, "Interrupt load", interrupt_loads(machine.interrupt_loads()));
    }
    if !machine.steals().is_empty() {
        section(&mut page, "Steal time", interrupt_loads(machine.steals()));
    }
    if !machine.frequency_limits().is_empty() {
        section(&mut page, "Frequency limits, of 1024", frequency_limits(machine));
    }
    section(&mut page, "Processor, from whose facts costs of kernel code follow", processor(machine));
    let lines: Vec<&str> = page.iter().map(|line| line.trim_end()).collect();
    lines.join("\n") + "\n"
}

fn section(page: &mut Vec<String>, title: &str, lines: Vec<String>) {
    page.push(String::new());
    page.push(title.to_owned());
    page.extend(lines.into_iter().map(|line| format!("  {line}")));
}

fn summary(machine: &MachineDescription) -> Vec<String> {
    let count = |number: u32, one: &str| format!("{number} {one}{}", if number == 1 { "" } else { "s" });
    let shape = &machine.shape;
    let units = [
        count(shape.nr_cpus(), "CPU"),
        count(shape.nr_units(|place| place.core), "core"),
        count(shape.nr_units(|place| place.llc), "last-level cache"),
        count(shape.nr_units(|place| place.package), "package"),
        count(shape.nr_units(|place| place.node), "node"),
    ];
    let title = match machine.description() {
        "" => machine.name().to_owned(),
        description => format!("{}: {description}", machine.name()),
    };
    let mut page = wrap(&title, WIDTH);
    if !machine.source().is_empty() {
        page.extend(wrap(&format!("Source: {}", machine.source()), WIDTH));
    }
    page.push(String::new());
    page.push(units.join(", "));
    page.push(format!("kernel {}, HZ {} (a tick every {})", machine.kernel(), machine.hz().get(), machine.hz().tick()));
    page.push(format!("tick skew {} per CPU, IPI latency {}", machine.tick_skew(), machine.ipi_latency()));
    if machine.polling_idle() {
        page.push("idle CPUs poll: a write wakes them, without an interrupt".to_owned());
    }
    let work =
        if machine.scale_work() { "takes longer on smaller or slower CPUs" } else { "takes the same time on all CPUs" };
    page.push(format!("work {work}"));
    page
}

/// Wraps a text at word boundaries.
fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let last = lines.len() - 1;
        if lines[last].is_empty() {
            lines[last].push_str(word);
        } else if lines[last].len() + 1 + word.len() <= width {
            lines[last].push(' ');
            lines[last].push_str(word);
        } else {
            lines.push(word.to_owned());
        }
    }
    lines
}

/// Formats rows as columns. A column is as wide as its widest cell; columns of numbers are right-aligned.
fn columns(rows: Vec<Vec<String>>, is_right: &[bool]) -> Vec<String> {
    let width = |column: usize| rows.iter().map(|row| row[column].len()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..is_right.len()).map(width).collect();
    let cell = |(column, text): (usize, &String)| {
        let width = widths[column];
        if is_right[column] { format!("{text:>width$}") } else { format!("{text:<width$}") }
    };
    rows.iter().map(|row| row.iter().enumerate().map(cell).collect::<Vec<_>>().join("  ")).collect()
}

fn owned_cells(row: &[&str]) -> Vec<String> {
    row.iter().map(|&word| word.to_owned()).collect()
}

fn distances(machine: &MachineDescription) -> Vec<String> {
    let rows = &machine.shape.distances;
    let mut table =
        vec![std::iter::once("node".to_owned()).chain((0..rows.len()).map(|node| node.to_string())).collect()];
    for (node, row) in rows.iter().enumerate() {
        table.push(std::iter::once(node.to_string()).chain(row.iter().map(u32::to_string)).collect());
    }
    columns(table, &vec![true; rows.len() + 1])
}

fn frequencies(machine: &MachineDescription, domain: &FrequencyDomainDescription) -> (String, Vec<String>) {
    let how = match governor_name(domain.governor) {
        (name, Some(khz)) => format!("{name} at {khz} kHz"),
        (name, None) => name.to_owned(),
    };
    let switch = if domain.fast_switch { "by the scheduler" } else { "by a kernel thread" };
    let title = format!(
        "Frequencies of CPU{} {}: {how}, rate limit {} us, transition {} {switch}",
        if domain.cpus.nr_cpus() == 1 { "" } else { "s" },
        domain.cpus,
        domain.rate_limit_us(),
        domain.transition_latency,
    );
    let capacity = machine.capacity(domain.cpus.first());
    let mut table = vec![owned_cells(&["kHz", "capacity", "power uW"])];
    for (index, &khz) in domain.khz.iter().enumerate() {
        let power = domain.power_uw.as_ref().map_or_else(|| "-".to_owned(), |powers| powers[index].to_string());
        table.push(vec![khz.to_string(), cap_scale(capacity, domain.freq_scale(khz)).to_string(), power]);
    }
    (title, columns(table, &[true; 3]))
}

fn turbo_frequencies(turbo: &Turbo) -> Vec<String> {
    let mut table = vec![owned_cells(&["busy cores up to", "kHz", "of base"])];
    for (&cores, &khz) in turbo.busy_cores().iter().zip(turbo.khz()) {
        table.push(vec![cores.to_string(), khz.to_string(), format!("{}%", khz * 100 / turbo.base_khz())]);
    }
    let mut lines = columns(table, &[true; 3]);
    let evaluation = turbo.evaluation();
    lines.push(format!("base frequency {} kHz; evaluated every {evaluation}", turbo.base_khz()));
    if !turbo.is_enabled() {
        lines.push("turbo is off: CPUs run at the base frequency".to_owned());
    }
    lines.push(match turbo.is_scale_invariant() {
        true => format!("the kernel reads APERF and MPERF at ticks; {} kHz count as full", turbo.reference_khz()),
        false => "the kernel does not read APERF and MPERF".to_owned(),
    });
    lines.extend(wrap(&format!("source: {}", turbo.source()), WIDTH - 2));
    lines
}

fn smt_throughput(smt: &Smt) -> Vec<String> {
    let threads = |nr: usize| if nr == 1 { "1 thread".to_owned() } else { format!("{nr} threads") };
    let figure = |(index, percent): (usize, &u64)| format!("{}: {percent}%", threads(index + 1));
    let figures: Vec<String> = smt.throughput_percent.iter().enumerate().map(figure).collect();
    let mut lines = vec![format!("combined throughput: {}", figures.join(", "))];
    lines.extend(wrap(&format!("source: {}", smt.source), WIDTH - 2));
    lines
}

fn idle_states(machine: &MachineDescription) -> Vec<String> {
    if machine.idle_states().is_empty() {
        return vec!["none: an idle CPU wakes up without a delay".to_owned()];
    }
    let mut table = vec![owned_cells(&["name", "CPUs", "exit", "typically", "entry", "target residency", "power uW"])];
    for state in machine.idle_states() {
        table.push(vec![
            state.name.to_owned(),
            state.cpus.to_string(),
            state.exit_latency.to_string(),
            state.exit_typical.map_or_else(|| "-".to_owned(), |typical| typical.to_string()),
            state.entry_latency.to_string(),
            state.target_residency.to_string(),
            state.power_uw.map_or_else(|| "-".to_owned(), |power| power.to_string()),
        ]);
    }
    columns(table, &[false, false, true, true, true, true, true])
}

fn interrupt_loads(loads: &[InterruptLoadDescription]) -> Vec<String> {
    let mut table = vec![owned_cells(&["name", "CPUs", "every", "for"])];
    for load in loads {
        let (period, duration) = (load.period.to_string(), load.duration.to_string());
        table.push(vec![load.name.to_owned(), load.cpus.to_string(), period, duration]);
    }
    columns(table, &[false, false, true, true])
}

fn frequency_limits(machine: &MachineDescription) -> Vec<String> {
    let mut table = vec![owned_cells(&["from", "CPUs", "reason", "up to"])];
    for limit in machine.frequency_limits() {
        let reason = if limit.is_thermal { "thermal" } else { "user" };
        table.push(vec![limit.at.to_string(), limit.cpus.to_string(), reason.to_owned(), limit.part.to_string()]);
    }
    columns(table, &[true, false, false, true])
}

fn processor(machine: &MachineDescription) -> Vec<String> {
    let Some(processor) = machine.processor() else { return vec!["none: kernel code takes no time".to_owned()] };
    let mut table = vec![owned_cells(&["fact", "value", "source"])];
    for (key, fact) in processor.facts() {
        let (least, greatest) = fact.range;
        let range = if least == greatest { String::new() } else { format!(" ({least} to {greatest})") };
        table.push(vec![key.name().to_owned(), format!("{}{range}", fact.value), fact.source.clone()]);
    }
    let mut lines = vec![format!(
        "count sheet: {}; `fairlab machine costs {}` lists what follows",
        processor.sheet(),
        machine.name()
    )];
    lines.extend(with_sources(table));
    lines
}

/// Formats columns of name, number and source. Long sources wrap with an indent.
fn with_sources(mut table: Vec<Vec<String>>) -> Vec<String> {
    let sources: Vec<String> = table.iter_mut().map(|row| row.pop().expect("a row has a source")).collect();
    let rows = columns(table, &[false, true]);
    let indent = rows.iter().map(String::len).max().unwrap_or(0) + 2;
    let mut lines = Vec::new();
    for (row, source) in rows.iter().zip(sources) {
        let mut source = wrap(&source, WIDTH.saturating_sub(indent + 2)).into_iter();
        lines.push(format!("{row:indent$}{}", source.next().unwrap_or_default()).trim_end().to_owned());
        lines.extend(source.map(|rest| format!("{:indent$}{rest}", "")));
    }
    lines
}
