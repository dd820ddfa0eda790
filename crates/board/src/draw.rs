// SPDX-License-Identifier: GPL-2.0-or-later
//! Text drawing of a machine's topology: frames for shared units, and `[0 4]` for a core with its threads.
//!
//! Units that contain the same CPUs share a frame. Kinds with a single unit are left out, except for the
//! last-level cache.

use super::machine::MachineDescription;
use fairlab_sched::ids::CpuId;

/// Maximum number of cores in a line of the innermost frame.
const CORES_PER_LINE: usize = 8;

/// A kind of unit: returns the name of a CPU's unit.
type UnitName<'a> = Box<dyn Fn(u32) -> String + 'a>;

/// Draws the machine in lines of at most `width` characters, or the width of one core if that is larger.
pub(super) fn draw(machine: &MachineDescription, width: usize) -> Vec<String> {
    let cpus: Vec<u32> = (0..machine.shape.nr_cpus()).collect();
    let mut levels = levels(machine);
    levels.retain(|(is_shown, _)| *is_shown);
    let levels: Vec<UnitName<'_>> = levels.into_iter().map(|(_, level)| level).collect();
    let mut drawing = Drawing { machine, levels, cell_width: 0 };
    drawing.cell_width = drawing.cells(&cpus).iter().map(String::len).max().unwrap_or(0);
    drawing.units(&cpus, 0, width)
}

/// Returns the kinds of units from the outermost to the innermost, each with whether it is drawn.
fn levels(machine: &MachineDescription) -> Vec<(bool, UnitName<'_>)> {
    let shape = &machine.shape;
    let place = move |cpu: u32| &shape.places[cpu as usize];
    let nr_nodes = shape.nr_units(|place| place.node);
    let nr_packages = shape.nr_units(|place| place.package);
    let nr_clusters = shape.nr_units(|place| place.cluster);
    let node: (bool, UnitName<'_>) = (nr_nodes > 1, Box::new(move |cpu| format!("node {}", place(cpu).node)));
    let package: (bool, UnitName<'_>) =
        (nr_packages > 1, Box::new(move |cpu| format!("package {}", place(cpu).package)));
    let mut levels = if nr_nodes > nr_packages { vec![package, node] } else { vec![node, package] };
    levels.push((true, Box::new(move |cpu| format!("LLC {}", place(cpu).llc))));
    levels.push((
        machine.cpu_types.len() > 1,
        Box::new(move |cpu| {
            let one = machine.cpu_type(CpuId(cpu));
            format!("{} (capacity {})", one.name, one.capacity)
        }),
    ));
    let has_clusters = nr_clusters > 1 && nr_clusters < shape.nr_units(|place| place.core);
    levels.push((has_clusters, Box::new(move |cpu| format!("cluster {}", place(cpu).cluster))));
    levels
}

struct Drawing<'a> {
    machine: &'a MachineDescription,
    levels: Vec<UnitName<'a>>,
    /// Width of the widest core of the machine.
    cell_width: usize,
}

impl Drawing<'_> {
    /// Draws the units of one level that contain these CPUs, side by side if they fit.
    fn units(&self, cpus: &[u32], level: usize, width: usize) -> Vec<String> {
        let Some(kind) = self.levels.get(level) else {
            return self.cores(cpus, width);
        };
        let frames = split(cpus, kind).into_iter().map(|(title, members)| {
            let mut title = title;
            let mut inner = level + 1;
            while let Some([(name, _)]) = self.levels.get(inner).map(|kind| split(&members, kind)).as_deref() {
                title = format!("{title}, {name}");
                inner += 1;
            }
            frame(&title, &self.units(&members, inner, width.saturating_sub(4)))
        });
        side_by_side(frames.collect(), width)
    }

    fn cores(&self, cpus: &[u32], width: usize) -> Vec<String> {
        let widest = self.cell_width;
        let per_line = (width / (widest + 1)).clamp(1, CORES_PER_LINE);
        let line = |cells: &[String]| cells.iter().map(|cell| format!("{cell:<widest$}")).collect::<Vec<_>>().join(" ");
        self.cells(cpus).chunks(per_line).map(line).collect()
    }

    /// Returns each core with its threads.
    fn cells(&self, cpus: &[u32]) -> Vec<String> {
        let core = |cpu: u32| self.machine.shape.places[cpu as usize].core.to_string();
        let cell = |threads: &[u32]| threads.iter().map(u32::to_string).collect::<Vec<_>>().join(" ");
        split(cpus, &core).iter().map(|(_, threads)| format!("[{}]", cell(threads))).collect()
    }
}

/// Groups CPUs by the names of their units, in the order of the first CPUs.
fn split(cpus: &[u32], name: &dyn Fn(u32) -> String) -> Vec<(String, Vec<u32>)> {
    let mut groups: Vec<(String, Vec<u32>)> = Vec::new();
    for &cpu in cpus {
        let name = name(cpu);
        match groups.iter_mut().find(|(known, _)| *known == name) {
            Some((_, members)) => members.push(cpu),
            None => groups.push((name, vec![cpu])),
        }
    }
    groups
}

fn frame(title: &str, content: &[String]) -> Vec<String> {
    let inner = content.iter().map(String::len).max().unwrap_or(0).max(title.len() + 2);
    let mut lines = vec![format!("+- {title} {}+", "-".repeat(inner - title.len() - 1))];
    lines.extend(content.iter().map(|line| format!("| {line:<inner$} |")));
    lines.push(format!("+{}+", "-".repeat(inner + 2)));
    lines
}

fn side_by_side(blocks: Vec<Vec<String>>, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut row_start = 0;
    for block in blocks {
        let block_width = block.first().map_or(0, String::len);
        let row_width = lines.get(row_start).map_or(0, String::len);
        if row_width == 0 || row_width + 1 + block_width > width {
            row_start = lines.len();
            lines.extend(block);
            continue;
        }
        let height = (lines.len() - row_start).max(block.len());
        lines.resize(row_start + height, String::new());
        for (line, right) in
            lines[row_start..].iter_mut().zip(block.into_iter().chain(std::iter::repeat(String::new())))
        {
            *line = format!("{line:<row_width$} {right:<block_width$}");
        }
    }
    lines
}
