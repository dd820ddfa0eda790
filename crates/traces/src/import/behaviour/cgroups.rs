// SPDX-License-Identifier: GPL-2.0-or-later
//! Task groups of a workload, from the cgroup events of a trace.
//!
//! A machine can have several hierarchies, and a trace does not contain which of them has the cpu controller.
//! The import uses the hierarchy of cgroup v2 (0), or the only one. With several cgroup v1 hierarchies it
//! uses none.

use super::names;
use crate::import::event::{Recording, TraceEventKind};
use std::collections::BTreeSet;

/// Cgroups to which threads moved, and their parents.
#[derive(Debug)]
pub(super) struct Cgroups {
    root: Option<i32>,
    /// Paths, parents before children.
    paths: Vec<String>,
}

impl Cgroups {
    pub(super) fn from_recording(recording: &Recording) -> Self {
        let of_event = |kind| if let TraceEventKind::Attach { root, .. } = kind { Some(root) } else { None };
        let roots: BTreeSet<i32> = recording.events.iter().filter_map(|event| of_event(event.kind)).collect();
        let root = roots.first().copied().filter(|&root| root == 0 || roots.len() == 1);
        Self { root, paths: Vec::new() }
    }

    pub(super) fn uses_hierarchy(&self, root: i32) -> bool {
        self.root == Some(root)
    }

    /// Returns the index of the group with this path, adding a new one; `None` is the root group.
    pub(super) fn group(&mut self, path: &str) -> Option<usize> {
        let mut own = None;
        let mut whole = String::new();
        for part in path.split('/').filter(|part| !part.is_empty()) {
            whole.push('/');
            whole.push_str(&names::clean(part));
            own = Some(self.paths.iter().position(|known| *known == whole).unwrap_or_else(|| {
                self.paths.push(whole.clone());
                self.paths.len() - 1
            }));
        }
        own
    }

    pub(super) fn into_paths(self) -> Vec<String> {
        self.paths
    }
}
