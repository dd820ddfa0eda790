// SPDX-License-Identifier: GPL-2.0-or-later
//! Facts about the runs of arms that are not metrics, and their notes.

use super::notes::Note;
use serde_json::Value;
use std::collections::BTreeSet;

/// Facts about the runs of an arm.
#[derive(Clone, Debug, Default)]
pub struct RunFacts {
    assumptions: BTreeSet<String>,
    has_zero_costs: bool,
    has_no_idle_energy: bool,
}

impl RunFacts {
    /// Adds the facts of a run from its JSON result. Kernel code can have zero cost on the machine.
    pub fn add(&mut self, result: &Value, has_zero_costs: bool) {
        let assumptions = result["assumptions"].as_array().into_iter().flatten();
        self.assumptions.extend(assumptions.filter_map(|assumption| assumption.as_str().map(str::to_owned)));
        self.has_zero_costs |= has_zero_costs;
        self.has_no_idle_energy |= result["energy"].is_object() && result["energy"]["idle_uj"].is_null();
    }

    /// Returns the notes on the facts of arms, each with the arm's name.
    pub fn notes(arms: &[(&str, &Self)]) -> Vec<Note> {
        let assumptions: BTreeSet<&String> = arms.iter().flat_map(|(_, facts)| &facts.assumptions).collect();
        let mut notes: Vec<Note> =
            assumptions.into_iter().map(|assumption| Note::Assumption { assumption: assumption.clone() }).collect();
        let free = arms.iter().filter(|(_, facts)| facts.has_zero_costs);
        let free: Vec<String> = free.map(|(name, _)| (*name).to_owned()).collect();
        if !free.is_empty() {
            let is_everywhere = free.len() == arms.len();
            notes.push(Note::ZeroCosts { arms: free, is_everywhere });
        }
        if arms.iter().any(|(_, facts)| facts.has_no_idle_energy) {
            notes.push(Note::NoIdleEnergy);
        }
        notes
    }
}
