// SPDX-License-Identifier: GPL-2.0-or-later
//! Task groups: paths that begin with `/`, of which every part is a group.

use crate::error::{ParseError, Source};
use crate::workload::{CpusetSpec, GroupSpec};
use std::collections::BTreeMap;

/// As many different paths as rt-app has room for.
const MAX_PATHS: usize = 32;
/// The longest path that the kernel takes (`PATH_MAX` with its zero).
const MAX_PATH: usize = 4095;

/// The groups that the file names, and the parents that their paths imply.
#[derive(Debug, Default)]
pub(super) struct Groups {
    pub(super) specs: Vec<GroupSpec>,
    /// The group of each path as it is written in the file; the root group has none.
    paths: BTreeMap<String, Option<usize>>,
    /// The group of each name.
    by_name: BTreeMap<String, usize>,
    /// What groups with `cpuset.cpus` allow, and which of them each such group has.
    pub(super) cpusets: Vec<CpusetSpec>,
    pub(super) cpuset_of: BTreeMap<usize, usize>,
    /// Where each group of a path is named first.
    pub(super) named: BTreeMap<usize, usize>,
    /// Groups that the section `cgroups` names, with the places where it does.
    pub(super) entries: Vec<(usize, usize)>,
}

impl Groups {
    /// The group of the path that a key has; `Some(None)` is the root group, and an empty path is none at all.
    pub(super) fn of_path(
        &mut self,
        source: Source<'_>,
        at: usize,
        key: &str,
        path: &str,
    ) -> Result<Option<Option<usize>>, ParseError> {
        if path.is_empty() {
            return Ok(None);
        }
        if !path.starts_with('/') {
            let error = source.error(at, format!("the {key} \"{path}\" does not begin with /"));
            return Err(error.with_help(format!("write \"/{path}\"; \"/\" is the root group")));
        }
        if path.len() > MAX_PATH {
            let message = format!("the {key} has {} bytes; a path has {MAX_PATH} at the most", path.len());
            return Err(source.error(at, message).with_help("nest groups less deeply, or give them shorter names"));
        }
        if let Some(group) = self.paths.get(path) {
            return Ok(Some(*group));
        }
        if self.paths.len() == MAX_PATHS {
            return Err(source.error(at, format!("more than {MAX_PATHS} taskgroups, for which rt-app has no room")));
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

    /// The cpuset of a group's tasks: that of the group, or else of the nearest above it that has one.
    pub(super) fn cpuset(&self, group: Option<usize>) -> Option<usize> {
        let above = |&group: &usize| self.specs[group].parent;
        core::iter::successors(group, above).find_map(|group| self.cpuset_of.get(&group).copied())
    }

    fn child(&mut self, name: &str, parent: Option<usize>) -> usize {
        if let Some(&index) = self.by_name.get(name) {
            return index;
        }
        self.by_name.insert(name.to_owned(), self.specs.len());
        self.specs.push(GroupSpec {
            name: name.to_owned(),
            parent,
            shares: 1024,
            quota: None,
            idle: false,
            uclamp: None,
        });
        self.specs.len() - 1
    }
}
