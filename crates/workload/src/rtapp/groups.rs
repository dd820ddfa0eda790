// SPDX-License-Identifier: GPL-2.0-or-later
//! Task groups: paths that begin with `/`. Every component of a path is a group.

use crate::message::Message;
use crate::source_text::SourceText;
use crate::workload::{CpusetSpec, GroupSpec};
use std::collections::BTreeMap;

/// Number of different paths that rt-app can store.
const MAX_PATHS: usize = 32;
/// Longest path that the kernel accepts, in bytes (`PATH_MAX` without its zero).
const MAX_PATH: usize = 4095;

/// Groups that the file names, and the parents that their paths imply.
#[derive(Debug, Default)]
pub(super) struct Groups {
    pub(super) specs: Vec<GroupSpec>,
    /// Group of each path as it is written in the file; `None` is the root group.
    paths: BTreeMap<String, Option<usize>>,
    /// Index of the group of each normalised path.
    by_name: BTreeMap<String, usize>,
    /// Cpusets of the groups that have `cpuset.cpus`.
    pub(super) cpusets: Vec<CpusetSpec>,
    pub(super) cpuset_of: BTreeMap<usize, usize>,
    /// Byte offset at which each group is named first.
    pub(super) named: BTreeMap<usize, usize>,
    /// Groups that the section `cgroups` names, with the byte offsets of their keys.
    pub(super) entries: Vec<(usize, usize)>,
}

impl Groups {
    /// Returns the group of the path in the value of a key. `Some(None)` is the root group; an empty path is
    /// `None`.
    pub(super) fn intern_path(
        &mut self,
        source: SourceText<'_>,
        at: usize,
        key: &str,
        path: &str,
    ) -> Result<Option<Option<usize>>, Message> {
        if path.is_empty() {
            return Ok(None);
        }
        if !path.starts_with('/') {
            let error = source.error(at, format!("the {key} \"{path}\" does not begin with /"));
            return Err(error.with_help(format!("write \"/{path}\"; \"/\" is the root group")));
        }
        if path.len() > MAX_PATH {
            let message = format!("the {key} has {} bytes; a path has at most {MAX_PATH}", path.len());
            return Err(source.error(at, message).with_help("nest groups less deeply, or give them shorter names"));
        }
        if let Some(group) = self.paths.get(path) {
            return Ok(Some(*group));
        }
        if self.paths.len() == MAX_PATHS {
            return Err(source.error(at, format!("more than {MAX_PATHS} taskgroups, the most that rt-app can store")));
        }
        let mut group = None;
        let mut name = String::new();
        for part in path.split('/').filter(|part| !part.is_empty()) {
            name.push('/');
            name.push_str(part);
            group = Some(self.child(&name, group));
        }
        if let Some(group) = group {
            self.named.entry(group).or_insert(at);
        }
        self.paths.insert(path.to_owned(), group);
        Ok(Some(group))
    }

    /// Returns the cpuset of a group's tasks: that of the group, or else of the nearest ancestor that has
    /// one.
    pub(super) fn cpuset(&self, group: Option<usize>) -> Option<usize> {
        let above = |&group: &usize| self.specs[group].parent;
        core::iter::successors(group, above).find_map(|group| self.cpuset_of.get(&group).copied())
    }

    fn child(&mut self, name: &str, parent: Option<usize>) -> usize {
        if let Some(&index) = self.by_name.get(name) {
            return index;
        }
        self.by_name.insert(name.to_owned(), self.specs.len());
        self.specs.push(GroupSpec::new(name.to_owned(), parent));
        self.specs.len() - 1
    }
}
