// SPDX-License-Identifier: GPL-2.0-or-later
//! Resolution of paths and imports to the file that defines the named item.

use super::source::{PathUse, Source, absolute};
use std::collections::BTreeMap;

/// Maximum number of re-exports between a path and the definition that it names.
const MAX_REEXPORTS: usize = 8;

/// Modules of a crate that are files, by their path from the crate's root.
pub(super) struct Modules<'a> {
    sources: &'a [Source],
    files: BTreeMap<&'a [String], usize>,
}

impl<'a> Modules<'a> {
    pub(super) fn of(sources: &'a [Source]) -> Self {
        let mut files = BTreeMap::new();
        for (file, source) in sources.iter().enumerate() {
            // `main.rs` and `lib.rs` of one crate are both its root; files sort `lib.rs` first.
            files.entry(source.module.as_slice()).or_insert(file);
        }
        Self { sources, files }
    }

    /// Returns the file that defines what a path names; `None` for a path into another crate, for the name of a
    /// module, and for a local name.
    ///
    /// Re-exports are followed, so the result for `crate::sim::Machine` is the file of `Machine`. If no file is
    /// known to define the item, as for a macro's output, the result is the file of the module.
    pub(super) fn definer(&self, file: usize, path: &PathUse) -> Option<usize> {
        self.resolve(file, &path.module, &path.segments, MAX_REEXPORTS)
    }

    fn resolve(&self, file: usize, module: &[String], segments: &[String], steps: usize) -> Option<usize> {
        let path = self.rooted(file, module, segments, steps)?;
        self.definer_of(&path, steps)
    }

    /// Returns a path from the crate's root. A path may begin with a child module or an imported name.
    fn rooted(&self, file: usize, module: &[String], segments: &[String], steps: usize) -> Option<Vec<String>> {
        let (first, rest) = segments.split_first()?;
        if let Some(path) = absolute(module, segments) {
            return Some(path);
        }
        let child = [module, std::slice::from_ref(first)].concat();
        if self.files.contains_key(child.as_slice()) {
            return Some([module, segments].concat());
        }
        let imports = &self.sources[file].imports;
        let import = imports.iter().find(|import| import.name == *first && import.segments != segments)?;
        let base = self.rooted(file, &import.module, &import.segments, steps.checked_sub(1)?)?;
        Some([&base, rest].concat())
    }

    fn definer_of(&self, path: &[String], steps: usize) -> Option<usize> {
        let nr_modules = (0..=path.len()).rev().find(|&nr| self.files.contains_key(&path[..nr]))?;
        let file = self.files[&path[..nr_modules]];
        let source = &self.sources[file];
        let item = path.get(nr_modules)?;
        if source.defines(item) || item == "*" {
            return Some(file);
        }
        let steps = steps.checked_sub(1)?;
        for import in &source.imports {
            let reexported = if import.name == *item {
                import.segments.clone()
            } else if import.name == "*" {
                [&import.segments, std::slice::from_ref(item)].concat()
            } else {
                continue;
            };
            // The name of a module, or of an item in another crate, has no definer.
            if import.name == *item {
                return self.resolve(file, &import.module, &reexported, steps);
            }
            if let Some(definer) = self.resolve(file, &import.module, &reexported, steps)
                && self.sources[definer].defines(item)
            {
                return Some(definer);
            }
        }
        Some(file)
    }
}
