// SPDX-License-Identifier: GPL-2.0-or-later
//! Report on the structure of the scheduler's crate, in numbers.

use super::calls::Definers;
use super::{CRATE_DIR, LAYERS, ModuleGraph, cycles, layer_of};
use anyhow::Result;
use std::collections::BTreeSet;
use std::path::Path;

/// Prints the calls between the crate's files.
pub(crate) fn print(root: &Path) -> Result<()> {
    print!("{}", text(&ModuleGraph::read(root)?));
    Ok(())
}

pub(super) fn text(house: &ModuleGraph) -> String {
    let calls = house.resolved();
    let between: Vec<(usize, usize)> =
        calls.iter().map(|call| (call.caller, call.definer)).filter(|(caller, definer)| caller != definer).collect();
    let edges: BTreeSet<(usize, usize)> = between.iter().copied().collect();
    let cycles = cycles::largest_cycle(house.sources.len(), &edges);
    let definers = Definers::of(&house.sources);
    let all_calls = house.sources.iter().flat_map(|source| &source.calls);
    let nr_left_alone = all_calls.filter(|call| definers.is_ambiguous(call)).count();
    let mut lines = vec![
        format!("{CRATE_DIR}, without tests"),
        format!("files                   {}", house.sources.len()),
        format!("calls between files     {} ({} pairs of files)", between.len(), edges.len()),
        format!("unresolved calls        {nr_left_alone} (several files define the name)"),
        format!("upward calls            {}", house.upward_calls().len()),
        format!("upward imports, paths   {}", house.upward_names().len()),
        format!("methods on Sched        {}", nr_methods(house, "Sched")),
        format!("methods on State        {}", nr_methods(house, "State")),
        format!("largest cycle of files   {}", cycles.len()),
    ];
    lines.extend(cycles.iter().map(|&file| format!("  {}", house.sources[file].file)));
    lines.push(String::new());
    lines.push("Calls between files, from the layer of the row to the layer of the column:".to_owned());
    lines.extend(table(house, &between));
    lines.join("\n") + "\n"
}

/// Returns the number of methods in a type's own `impl` blocks.
fn nr_methods(house: &ModuleGraph, owner: &str) -> usize {
    let functions = house.sources.iter().flat_map(|source| &source.functions);
    let own = functions.filter(|function| function.owner.as_deref() == Some(owner) && function.of_trait.is_none());
    own.filter(|function| function.has_receiver).count()
}

fn table(house: &ModuleGraph, between: &[(usize, usize)]) -> Vec<String> {
    let mut nr_calls = [[0; LAYERS.len()]; LAYERS.len()];
    for &(caller, definer) in between {
        let layer = |file: usize| layer_of(&house.sources[file].file);
        if let (Some(from), Some(to)) = (layer(caller), layer(definer)) {
            nr_calls[from][to] += 1;
        }
    }
    let heads: String = LAYERS.iter().map(|layer| format!("{layer:>9}")).collect();
    let mut lines = vec![format!("{:<9}{heads}", "")];
    for (layer, row) in LAYERS.iter().zip(nr_calls) {
        let row: String = row.iter().map(|nr| format!("{nr:>9}")).collect();
        lines.push(format!("{layer:<9}{row}"));
    }
    lines
}
