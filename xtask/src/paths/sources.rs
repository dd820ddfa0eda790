// SPDX-License-Identifier: GPL-2.0-or-later
//! Functions of the project's crates by file and line.

use std::collections::HashMap;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use syn::spanned::Spanned;
use syn::visit::{self, Visit};

/// Functions with their lines; an inner function follows the one around it.
type Functions = Vec<(RangeInclusive<usize>, String)>;

/// Source files of the project, read when they are first needed.
pub(super) struct Sources {
    crates: PathBuf,
    files: HashMap<String, Option<(String, Functions)>>,
}

impl Sources {
    pub(super) fn new(root: &Path) -> Self {
        Self { crates: root.join("crates"), files: HashMap::new() }
    }

    /// Returns the module and function that contain a line, such as `sched::paths::wake::try_to_wake_up`, if the
    /// file belongs to the project.
    pub(super) fn name_at(&mut self, file: &str, line: u32) -> Option<String> {
        if !self.files.contains_key(file) {
            let read = self.read(file);
            self.files.insert(file.to_owned(), read);
        }
        let (module, functions) = self.files[file].as_ref()?;
        let function = functions.iter().rev().find(|(lines, _)| lines.contains(&(line as usize)));
        Some(function.map_or_else(|| module.clone(), |(_, name)| format!("{module}::{name}")))
    }

    fn read(&self, file: &str) -> Option<(String, Functions)> {
        let module = module_of(Path::new(file).strip_prefix(&self.crates).ok()?)?;
        let parsed = syn::parse_file(&std::fs::read_to_string(file).ok()?).ok()?;
        let mut found = Finder::default();
        found.visit_file(&parsed);
        Some((module, found.0))
    }
}

/// Returns the module of a file below `crates`: `sched/src/paths/wake.rs` is `sched::paths::wake`.
fn module_of(path: &Path) -> Option<String> {
    let mut names: Vec<_> = path.with_extension("").iter().map(|name| name.to_string_lossy().into_owned()).collect();
    if names.len() < 3 || names.remove(1) != "src" {
        return None;
    }
    names.pop_if(|last| ["mod", "lib", "main"].contains(&last.as_str()));
    Some(names.join("::"))
}

#[derive(Default)]
struct Finder(Functions);

impl Finder {
    fn add(&mut self, name: &syn::Ident, whole: proc_macro2::Span) {
        self.0.push((whole.start().line..=whole.end().line, name.to_string()));
    }
}

impl<'ast> Visit<'ast> for Finder {
    fn visit_item_fn(&mut self, function: &'ast syn::ItemFn) {
        self.add(&function.sig.ident, function.span());
        visit::visit_item_fn(self, function);
    }

    fn visit_impl_item_fn(&mut self, function: &'ast syn::ImplItemFn) {
        self.add(&function.sig.ident, function.span());
        visit::visit_impl_item_fn(self, function);
    }

    fn visit_trait_item_fn(&mut self, function: &'ast syn::TraitItemFn) {
        self.add(&function.sig.ident, function.span());
        visit::visit_trait_item_fn(self, function);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_its_module_and_innermost_function() {
        let file = crate::root().join("crates/sched/src/paths/wake.rs");
        let text = std::fs::read_to_string(&file).expect("the file exists");
        let line = text.lines().position(|line| line.contains("fn try_to_wake_up(")).expect("it has the function") + 1;
        let mut sources = Sources::new(&crate::root());
        let name = sources.name_at(&file.display().to_string(), line as u32);
        assert_eq!(name.as_deref(), Some("sched::paths::wake::try_to_wake_up"));
        assert_eq!(sources.name_at("/rustc/library/core/src/cmp.rs", 1), None);
        assert_eq!(module_of(Path::new("machine/src/sim/mod.rs")).as_deref(), Some("machine::sim"));
        assert_eq!(module_of(Path::new("machine/tests/it/main.rs")), None);
    }
}
