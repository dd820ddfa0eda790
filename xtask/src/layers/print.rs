// SPDX-License-Identifier: GPL-2.0-or-later
//! Report on the structure of a crate, in numbers.

use super::calls::Definers;
use super::{ModuleGraph, cycles};
use std::collections::BTreeSet;

/// Returns the report: calls and references between files, and their cycles, on request with their edges.
pub(super) fn text(graph: &ModuleGraph, with_edges: bool) -> String {
    let calls = graph.resolved();
    let between: Vec<(usize, usize)> =
        calls.iter().map(|call| (call.caller, call.definer)).filter(|(caller, definer)| caller != definer).collect();
    let pairs: BTreeSet<(usize, usize)> = between.iter().copied().collect();
    let references = graph.references();
    let definers = Definers::of(&graph.sources, &graph.foreign_methods);
    let all_calls = graph.sources.iter().flat_map(|source| &source.calls);
    let nr_left_alone = all_calls.filter(|call| definers.is_ambiguous(call)).count();
    let mut lines = vec![
        format!("{}, without tests", graph.directory),
        format!("files                   {}", graph.sources.len()),
        format!("calls between files     {} ({} pairs of files)", between.len(), pairs.len()),
        format!("unresolved calls        {nr_left_alone} (several files define the name)"),
        format!("references              {} pairs of files", references.len()),
    ];
    if !graph.rules.layers.is_empty() {
        lines.push(format!("upward calls            {}", graph.upward_calls().len()));
        lines.push(format!("upward imports, paths   {}", graph.upward_names().len()));
    }
    for owner in graph.rules.counted_types {
        lines.push(format!("{:<24}{}", format!("methods on {owner}"), nr_methods(graph, owner)));
    }
    lines.extend(cycle_lines(graph, "cycles of calls", &pairs, with_edges));
    lines.extend(cycle_lines(graph, "cycles of references", &references, with_edges));
    if !graph.rules.layers.is_empty() {
        lines.push(String::new());
        lines.push("Calls between files, from the layer of the row to the layer of the column:".to_owned());
        lines.extend(table(graph, &between));
    }
    lines.join("\n") + "\n"
}

/// Returns the cycles of a graph of files, largest first: a line of their sizes, then the files of each.
fn cycle_lines(graph: &ModuleGraph, title: &str, edges: &BTreeSet<(usize, usize)>, with_edges: bool) -> Vec<String> {
    let cycles = cycles::cycles(graph.sources.len(), edges);
    let sizes: Vec<String> = cycles.iter().map(|cycle| cycle.len().to_string()).collect();
    let sizes = if sizes.is_empty() { "none".to_owned() } else { format!("{} files", sizes.join(", ")) };
    let mut lines = vec![format!("{title:<24}{sizes}")];
    for (index, cycle) in cycles.iter().enumerate() {
        for (place, &file) in cycle.iter().enumerate() {
            let number = if place == 0 { format!("{}.", index + 1) } else { String::new() };
            let inside = edges.iter().filter(|&&(from, to)| with_edges && from == file && cycle.contains(&to));
            let used: Vec<&str> = inside.map(|&(_, to)| graph.sources[to].file.as_str()).collect();
            let arrow = if used.is_empty() { "" } else { " -> " };
            lines.push(format!("{number:>5} {}{arrow}{}", graph.sources[file].file, used.join(", ")));
        }
    }
    lines
}

/// Returns the number of methods in a type's own `impl` blocks.
fn nr_methods(graph: &ModuleGraph, owner: &str) -> usize {
    let functions = graph.sources.iter().flat_map(|source| &source.functions);
    let own = functions.filter(|function| function.owner.as_deref() == Some(owner) && function.of_trait.is_none());
    own.filter(|function| function.has_receiver).count()
}

/// Returns the table of calls between layers.
fn table(graph: &ModuleGraph, between: &[(usize, usize)]) -> Vec<String> {
    let layers = graph.rules.layers;
    let width = layers.iter().map(|layer| layer.len() + 1).max().unwrap_or_default().max(9);
    let mut nr_calls = vec![vec![0; layers.len()]; layers.len()];
    for &(caller, definer) in between {
        let layer = |file: usize| graph.rules.layer_of(&graph.sources[file].file);
        if let (Some(from), Some(to)) = (layer(caller), layer(definer)) {
            nr_calls[from][to] += 1;
        }
    }
    let heads: String = layers.iter().map(|layer| format!("{layer:>width$}")).collect();
    let mut lines = vec![format!("{:<width$}{heads}", "")];
    for (layer, row) in layers.iter().zip(nr_calls) {
        let row: String = row.iter().map(|nr| format!("{nr:>width$}")).collect();
        lines.push(format!("{layer:<width$}{row}"));
    }
    lines
}
