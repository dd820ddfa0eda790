// SPDX-License-Identifier: GPL-2.0-or-later
//! CPU residency of task families: a table by CPU type, and one by operating point for `--measure residency`.

use super::figures::{cpus_named, format_cpu_list, percent};
use super::measure::joules;
use super::table::{Cell, Table};
use super::{Styles, wrap};
use fairlab_measure::families::FamilySummary;
use fairlab_measure::residency::{FamilyResidency, ResidencyPoint};
use fairlab_measure::summary::RunSummary;
use fairlab_sched::units::SCHED_CAPACITY_SCALE;

const MAX_KINDS: usize = 4;

/// Returns the CPU types, each as its CPUs and their capacity.
pub(crate) fn kinds(residency: &FamilyResidency) -> Vec<(&[u32], u64)> {
    let mut kinds: Vec<(&[u32], u64)> = Vec::new();
    for ResidencyPoint { cpus, capacity, .. } in &residency.points {
        if !kinds.iter().any(|(known, _)| known == cpus) {
            kinds.push((cpus, *capacity));
        }
    }
    kinds
}

/// Returns the table by CPU type, if there are several types or if energy is known.
pub(super) fn table(summary: &RunSummary, rows: &[FamilySummary]) -> Option<Table> {
    let first = summary.families.iter().find_map(|family| family.residency.as_ref())?;
    let kinds = kinds(first);
    let differ = kinds.iter().any(|(_, capacity)| *capacity != kinds[0].1);
    let has_energy = first.energy_uj.is_some();
    if !differ && !has_energy {
        return None;
    }
    let shown = if differ { &kinds[..kinds.len().min(MAX_KINDS)] } else { &[] };
    let names: Vec<String> = shown.iter().map(|(cpus, _)| format!("%{}", format_cpu_list(cpus))).collect();
    let mut table = Table::default().left(["on CPUs"]).right(&names);
    // A compiled-kernel engine does not report which CPUs fit a task.
    let says_what_suits = differ && summary.engine.is_none();
    if says_what_suits {
        table = table.right(["%too small", "%too large"]);
    }
    if has_energy {
        table = table.right(["energy"]);
    }
    for family in rows {
        let Some(residency) = &family.residency else { continue };
        let whole: u64 = residency.points.iter().map(|point| point.ns).sum();
        let mut cells: Vec<Cell> = vec![family.name.as_str().into()];
        cells.extend(shown.iter().map(|(cpus, _)| Cell::from(percent(residency.on(cpus), whole))));
        if says_what_suits {
            let parts = [residency.too_small_ns, residency.too_large_ns].map(Option::unwrap_or_default);
            cells.extend(parts.map(|part| Cell::from(percent(part, whole))));
        }
        if has_energy {
            cells.push(residency.energy_uj.map_or_else(|| "-".to_owned(), joules).into());
        }
        table.row(cells);
    }
    Some(table)
}

pub(super) fn by_operating_point(summary: &RunSummary, _: Styles) -> String {
    let mut text = String::new();
    for family in &summary.families {
        let Some(residency) = &family.residency else { continue };
        let whole: u64 = residency.points.iter().map(|point| point.ns).sum();
        for (cpus, _) in kinds(residency) {
            let used = residency.points.iter().filter(|point| point.cpus == cpus && point.ns > 0);
            let at = used.map(|point| {
                let name = match point.khz {
                    Some(khz) => format!("{} MHz", khz / 1000),
                    None if point.part == SCHED_CAPACITY_SCALE => "full speed".to_owned(),
                    None => format!("{}/{SCHED_CAPACITY_SCALE} of full speed", point.part),
                };
                format!("{name} {}%", percent(point.ns, whole))
            });
            let at: Vec<String> = at.collect();
            let at = if at.is_empty() { "never".to_owned() } else { at.join(", ") };
            text.push_str(&wrap(&format!("{} on {}: {at}", family.name, cpus_named(cpus)), 2));
        }
    }
    if text.is_empty() {
        text.push_str("  not applicable: all CPUs have equal capacity and one frequency\n");
    }
    text
}
