// SPDX-License-Identifier: GPL-2.0-or-later
//! Type names that are defined more than once in a crate, and predicates that change something.

use super::{ProseFile, area};
use anyhow::{Context, Result};
use std::collections::BTreeMap;
use syn::visit::{self, Visit};
use syn::{FnArg, Ident, Item, ReceiverKind, Signature, Type};

/// Prefixes of functions that answer a question and change nothing.
const PREDICATES: [&str; 4] = ["is_", "has_", "may_", "can_"];
/// Methods that change a value behind a shared reference.
const INTERIOR: [&str; 7] = ["set", "borrow_mut", "lock", "replace", "take", "fetch_add", "store"];

/// Prints both lists, by crate.
pub(super) fn print(files: &[ProseFile]) -> Result<()> {
    let mut by_area: BTreeMap<&str, Definitions> = BTreeMap::new();
    for file in files.iter().filter(|file| file.path.ends_with(".rs")) {
        let syntax = syn::parse_file(&file.text).with_context(|| file.path.clone())?;
        let found = by_area.entry(area(&file.path)).or_default();
        found.path.clone_from(&file.path);
        found.visit_file(&syntax);
    }
    let (mut nr_repeated, mut nr_predicates) = (0, 0);
    for (area, found) in &by_area {
        for (name, paths) in found.types.iter().filter(|(_, paths)| paths.len() > 1) {
            nr_repeated += 1;
            println!("{area}: type {name} is defined {} times: {}", paths.len(), paths.join(", "));
        }
        for predicate in &found.predicates {
            nr_predicates += 1;
            println!("{area}: {predicate}");
        }
    }
    println!(
        "{nr_repeated} type names are defined more than once in a crate; {nr_predicates} predicates may change something"
    );
    Ok(())
}

/// Definitions of a crate.
#[derive(Default)]
struct Definitions {
    path: String,
    /// Names of types and traits, with the files that define them.
    types: BTreeMap<String, Vec<String>>,
    predicates: Vec<String>,
}

impl Definitions {
    fn signature(&mut self, signature: &Signature, changes_inside: bool) {
        let name = signature.ident.to_string();
        if !PREDICATES.iter().any(|prefix| name.starts_with(prefix)) {
            return;
        }
        let is_mutable = |input: &FnArg| match input {
            FnArg::Receiver(receiver) => matches!(receiver.kind, ReceiverKind::Reference(_, _, Some(_))),
            FnArg::Typed(typed) => matches!(&*typed.ty, Type::Reference(reference) if reference.mutability.is_some()),
        };
        if changes_inside || signature.inputs.iter().any(is_mutable) {
            self.predicates.push(format!("{name}() in {}", self.path));
        }
    }
}

impl<'ast> Visit<'ast> for Definitions {
    fn visit_item(&mut self, item: &'ast Item) {
        let name: Option<&Ident> = match item {
            Item::Struct(item) => Some(&item.ident),
            Item::Enum(item) => Some(&item.ident),
            Item::Trait(item) => Some(&item.ident),
            Item::Type(item) => Some(&item.ident),
            Item::Union(item) => Some(&item.ident),
            _ => None,
        };
        if let Some(name) = name {
            self.types.entry(name.to_string()).or_default().push(self.path.clone());
        }
        visit::visit_item(self, item);
    }

    fn visit_item_fn(&mut self, function: &'ast syn::ItemFn) {
        self.signature(&function.sig, changes_inside(|visitor| visitor.visit_block(&function.block)));
        visit::visit_item_fn(self, function);
    }

    fn visit_impl_item_fn(&mut self, function: &'ast syn::ImplItemFn) {
        self.signature(&function.sig, changes_inside(|visitor| visitor.visit_block(&function.block)));
        visit::visit_impl_item_fn(self, function);
    }

    fn visit_trait_item_fn(&mut self, function: &'ast syn::TraitItemFn) {
        self.signature(&function.sig, false);
        visit::visit_trait_item_fn(self, function);
    }
}

/// Whether a body calls a method of `self` that changes a value behind a shared reference.
fn changes_inside(visit: impl FnOnce(&mut InteriorMutation)) -> bool {
    let mut interior = InteriorMutation(false);
    visit(&mut interior);
    interior.0
}

struct InteriorMutation(bool);

impl<'ast> Visit<'ast> for InteriorMutation {
    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        self.0 |= INTERIOR.iter().any(|name| call.method == name) && is_of_self(&call.receiver);
        visit::visit_expr_method_call(self, call);
    }
}

fn is_of_self(receiver: &syn::Expr) -> bool {
    match receiver {
        syn::Expr::Field(field) => is_of_self(&field.base),
        syn::Expr::Path(path) => path.path.is_ident("self"),
        _ => false,
    }
}
