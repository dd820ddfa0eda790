// SPDX-License-Identifier: GPL-2.0-or-later
//! Cgroups of a trace as task groups.
//!
//! A machine can have several hierarchies, and a trace does not tell which of them has the cpu controller. That of cgroup v2 (0) counts, or
//! the only one; if there are several of cgroup v1, none does.

use super::names;
use crate::import::event::{Recording, TraceEventKind};
use std::collections::BTreeSet;

/// The cgroups that threads went to, and those above them.
#[derive(Debug)]
pub(super) struct Cgroups {
    /// The hierarchy that counts.
    root: Option<i32>,
    /// Paths, parents before children.
    paths: Vec<String>,
}

impl Cgroups {
    pub(super) fn from_recording(recording: &Recording) -> Self {
        let of_event =
            |what: &TraceEventKind| if let TraceEventKind::Attach { root, .. } = what { Some(*root) } else { None };
        let roots: BTreeSet<i32> = recording.events.iter().filter_map(|event| of_event(&event.kind)).collect();
        let root = roots.first().copied().filter(|&root| root == 0 || roots.len() == 1);
        Self { root, paths: Vec::new() }
    }

    /// Whether what happens in a hierarchy counts.
    pub(super) fn uses_hierarchy(&self, root: i32) -> bool {
        self.root == Some(root)
    }

    /// The group of a path, which may be new; `None` is the root group.
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
