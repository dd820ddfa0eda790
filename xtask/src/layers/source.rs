// SPDX-License-Identifier: GPL-2.0-or-later
//! Definitions, calls and paths in a source file, without tests.

use super::tokens;
use anyhow::Result;
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Attribute, Expr, ImplItem, Item, Meta, Signature, Stmt, Token, TraitItem, Type, UseTree};

/// Contents of a source file.
#[derive(Default)]
pub(super) struct Source {
    /// Name below the crate's root.
    pub(super) file: String,
    /// Path of the module.
    pub(super) module: Vec<String>,
    pub(super) functions: Vec<Function>,
    /// Types that the file defines.
    pub(super) types: Vec<String>,
    pub(super) traits: Vec<String>,
    pub(super) calls: Vec<Call>,
    /// Constants, statics and macros that the file defines.
    pub(super) values: Vec<String>,
    /// Paths through the crate's modules, including imports.
    pub(super) names: Vec<NamedPath>,
    /// All paths and imports as they are written, unless they are single names.
    pub(super) paths: Vec<PathUse>,
    pub(super) imports: Vec<Import>,
    /// Modules that the file declares for tests.
    pub(super) test_modules: Vec<Vec<String>>,
}
pub(super) struct Function {
    pub(super) name: String,
    /// Type or trait that has the function.
    pub(super) owner: Option<String>,
    /// Trait that the function implements.
    pub(super) of_trait: Option<String>,
    pub(super) has_receiver: bool,
}

/// Call in a source file.
pub(super) struct Call {
    pub(super) name: String,
    pub(super) callee: Callee,
    pub(super) line: usize,
}

/// Form in which a call names its function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Callee {
    /// Method call on a value: `x.name()`.
    Method,
    /// Associated function of a named type: `Type::name()`.
    Of(String),
    /// Function with a module path: `module::name()`.
    InModule,
    /// Function without a path: `name()`.
    Plain,
}

/// Path from the crate's root.
pub(super) struct NamedPath {
    pub(super) segments: Vec<String>,
    pub(super) line: usize,
}

/// Path as it is written, and the module in which it is written.
pub(super) struct PathUse {
    pub(super) module: Vec<String>,
    /// Segments; the last one of a glob import is `*`.
    pub(super) segments: Vec<String>,
}

/// Name that a `use` gives to a path.
pub(super) struct Import {
    pub(super) name: String,
    pub(super) segments: Vec<String>,
    /// Module that contains the `use`.
    pub(super) module: Vec<String>,
}

impl Source {
    pub(super) fn read(file: &str, text: &str) -> Result<Self> {
        let module = module_of(file);
        let source = Self { file: file.to_owned(), module: module.clone(), ..Self::default() };
        let mut reader = SourceReader { source, module, owner: None, of_trait: None };
        reader.visit_file(&syn::parse_file(text)?);
        Ok(reader.source)
    }

    /// Whether the file defines an item of this name outside of types and traits.
    pub(super) fn defines(&self, name: &str) -> bool {
        let mut functions = self.functions.iter();
        functions.any(|function| function.owner.is_none() && function.name == name)
            || [&self.types, &self.traits, &self.values].into_iter().flatten().any(|defined| defined == name)
    }

    /// Whether a function may be called by its plain name: the file defines or imports it.
    pub(super) fn has_in_scope(&self, name: &str) -> bool {
        self.functions.iter().any(|function| function.owner.is_none() && function.name == name)
            || self.imports.iter().any(|import| import.name == name || import.name == "*")
    }
}

/// Returns the module of a file, from the crate's root.
fn module_of(file: &str) -> Vec<String> {
    if file == "lib.rs" || file == "main.rs" {
        return Vec::new();
    }
    let mut module: Vec<String> = file.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
    if module.last().is_some_and(|last| last == "mod") {
        module.pop();
    }
    module
}

struct SourceReader {
    source: Source,
    /// Current module: the file's module, or a module inside it.
    module: Vec<String>,
    /// Type or trait whose items are read, and the trait that they implement.
    owner: Option<String>,
    of_trait: Option<String>,
}

impl SourceReader {
    fn define(&mut self, signature: &Signature, owner: Option<String>, of_trait: Option<String>) {
        let has_receiver = signature.receiver().is_some();
        self.source.functions.push(Function { name: signature.ident.to_string(), owner, of_trait, has_receiver });
    }

    fn name(&mut self, segments: &[String], line: usize) {
        if let Some(segments) = absolute(&self.module, segments) {
            self.source.names.push(NamedPath { segments, line });
        }
        if segments.len() > 1 {
            self.source.paths.push(PathUse { module: self.module.clone(), segments: segments.to_vec() });
        }
    }

    /// Reads all imports of a `use`; `prefix` is the path before the tree.
    fn import(&mut self, tree: &UseTree, prefix: &[String]) {
        let with = |last: &syn::Ident| [prefix, &[last.to_string()]].concat();
        let (name, segments, line) = match tree {
            UseTree::Path(path) => return self.import(&path.tree, &with(&path.ident)),
            UseTree::Group(group) => return group.items.iter().for_each(|item| self.import(item, prefix)),
            UseTree::Name(name) if name.ident == "self" => {
                let Some(module) = prefix.last() else { return };
                (module.clone(), prefix.to_vec(), name.span().start().line)
            }
            UseTree::Name(name) => (name.ident.to_string(), with(&name.ident), name.span().start().line),
            UseTree::Rename(name) => (name.rename.to_string(), with(&name.ident), name.span().start().line),
            UseTree::Glob(glob) => ("*".to_owned(), prefix.to_vec(), glob.span().start().line),
        };
        self.name(&segments, line);
        if name == "*" {
            let segments = [&segments, std::slice::from_ref(&name)].concat();
            self.source.paths.push(PathUse { module: self.module.clone(), segments });
        }
        self.source.imports.push(Import { name, segments, module: self.module.clone() });
    }

    /// Reads the items of a type or trait.
    fn within(&mut self, owner: Option<String>, of_trait: Option<String>, read: impl FnOnce(&mut Self)) {
        let outer = (self.owner.take(), self.of_trait.take());
        (self.owner, self.of_trait) = (owner, of_trait);
        read(self);
        (self.owner, self.of_trait) = outer;
    }
}

impl<'ast> Visit<'ast> for SourceReader {
    fn visit_item(&mut self, item: &'ast Item) {
        if attributes(item).iter().any(is_test) {
            if let Item::Mod(module) = item {
                self.source.test_modules.push([self.module.as_slice(), &[module.ident.to_string()]].concat());
            }
            return;
        }
        match item {
            Item::Fn(function) => self.define(&function.sig, None, None),
            Item::Struct(item) => self.source.types.push(item.ident.to_string()),
            Item::Enum(item) => self.source.types.push(item.ident.to_string()),
            Item::Type(item) => self.source.types.push(item.ident.to_string()),
            Item::Trait(item) => self.source.traits.push(item.ident.to_string()),
            Item::Const(item) => self.source.values.push(item.ident.to_string()),
            Item::Static(item) => self.source.values.push(item.ident.to_string()),
            Item::Macro(item) => self.source.values.extend(item.ident.iter().map(ToString::to_string)),
            _ => {}
        }
        visit::visit_item(self, item);
    }

    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        self.module.push(module.ident.to_string());
        visit::visit_item_mod(self, module);
        self.module.pop();
    }

    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        let owner = match &*item.self_ty {
            Type::Path(path) => path.path.segments.last().map(|last| last.ident.to_string()),
            _ => None,
        };
        let of_trait = item.trait_.as_ref().and_then(|(path, _)| path.segments.last());
        let of_trait = of_trait.map(|last| last.ident.to_string());
        self.within(owner, of_trait, |reader| visit::visit_item_impl(reader, item));
    }

    fn visit_item_trait(&mut self, item: &'ast syn::ItemTrait) {
        self.within(Some(item.ident.to_string()), None, |reader| visit::visit_item_trait(reader, item));
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        self.import(&item.tree, &[]);
    }

    fn visit_impl_item(&mut self, item: &'ast ImplItem) {
        if let ImplItem::Fn(function) = item {
            if function.attrs.iter().any(is_test) {
                return;
            }
            self.define(&function.sig, self.owner.clone(), self.of_trait.clone());
        }
        visit::visit_impl_item(self, item);
    }

    fn visit_trait_item(&mut self, item: &'ast TraitItem) {
        if let TraitItem::Fn(function) = item {
            if function.attrs.iter().any(is_test) {
                return;
            }
            self.define(&function.sig, self.owner.clone(), None);
        }
        visit::visit_trait_item(self, item);
    }

    fn visit_stmt(&mut self, statement: &'ast Stmt) {
        let attributes: &[Attribute] = match statement {
            Stmt::Local(local) => &local.attrs,
            Stmt::Macro(call) => &call.attrs,
            Stmt::Expr(Expr::Block(block), _) => &block.attrs,
            Stmt::Expr(Expr::Call(call), _) => &call.attrs,
            Stmt::Expr(Expr::MethodCall(call), _) => &call.attrs,
            _ => &[],
        };
        if !attributes.iter().any(is_test) {
            visit::visit_stmt(self, statement);
        }
    }

    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        let line = call.method.span().start().line;
        self.source.calls.push(Call { name: call.method.to_string(), callee: Callee::Method, line });
        visit::visit_expr_method_call(self, call);
    }

    fn visit_expr_call(&mut self, call: &'ast syn::ExprCall) {
        if let Expr::Path(function) = &*call.func
            && let Some(name) = function.path.get_ident()
        {
            let line = name.span().start().line;
            self.source.calls.push(Call { name: name.to_string(), callee: Callee::Plain, line });
        }
        visit::visit_expr_call(self, call);
    }

    /// Records a path of several segments that names a function as a call, for instance `map(Self::name)`.
    fn visit_expr_path(&mut self, path: &'ast syn::ExprPath) {
        let segments = Vec::from_iter(&path.path.segments);
        if let [.., before, last] = segments[..] {
            let callee = callee_after(&before.ident.to_string(), self.owner.as_deref());
            let line = last.ident.span().start().line;
            self.source.calls.push(Call { name: last.ident.to_string(), callee, line });
        }
        visit::visit_expr_path(self, path);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let segments: Vec<String> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        self.name(&segments, path.span().start().line);
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        let found = tokens::search(call.tokens.clone(), self.owner.as_deref());
        self.source.functions.extend(found.functions);
        self.source.calls.extend(found.calls);
        for named in found.names {
            self.name(&named.segments, named.line);
        }
        visit::visit_macro(self, call);
    }
}

/// Returns the form of a call whose name follows `before::`, in the items of `owner`.
pub(super) fn callee_after(before: &str, owner: Option<&str>) -> Callee {
    match (before, owner) {
        ("Self", Some(owner)) => Callee::Of(owner.to_owned()),
        _ if before.starts_with(|letter: char| letter.is_ascii_uppercase()) => Callee::Of(before.to_owned()),
        _ => Callee::InModule,
    }
}

/// Resolves a path that begins with `crate`, `self` or `super` to one from the crate's root.
pub(super) fn absolute(module: &[String], segments: &[String]) -> Option<Vec<String>> {
    let (first, mut rest) = segments.split_first()?;
    if rest.is_empty() {
        return None;
    }
    let mut base = match first.as_str() {
        "crate" => &[],
        "self" => module,
        "super" => module.split_last()?.1,
        _ => return None,
    };
    while let Some((first, after)) = rest.split_first()
        && first == "super"
    {
        (base, rest) = (base.split_last()?.1, after);
    }
    Some([base, rest].concat())
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

/// Whether an attribute restricts its item to tests: `cfg(test)`, or `cfg(all(test, ...))`.
fn is_test(attribute: &Attribute) -> bool {
    attribute.path().is_ident("cfg") && attribute.parse_args::<Meta>().is_ok_and(|condition| requires_test(&condition))
}

fn requires_test(condition: &Meta) -> bool {
    match condition {
        Meta::Path(path) => path.is_ident("test"),
        Meta::List(list) if list.path.is_ident("all") => list
            .parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated)
            .is_ok_and(|all| all.iter().any(requires_test)),
        _ => false,
    }
}
