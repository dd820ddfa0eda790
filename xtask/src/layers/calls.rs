// SPDX-License-Identifier: GPL-2.0-or-later
//! Resolution of calls to the file that defines the function, by name.

use super::source::{Call, Callee, Function, Source};
use std::collections::{BTreeMap, BTreeSet};

/// Methods of the language's own types and iterators: for `x.max()` the definer is unknown.
const COMMON: &str = "\
    abs abs_diff all any append as_deref as_mut as_ref as_slice as_str binary_search bytes chain chars checked_add \
    checked_mul checked_sub chunks clear cloned cmp collect contains copied count count_ones dedup drain entry \
    enumerate expect extend filter filter_map find find_map first first_mut flat_map flatten flip fold for_each \
    get get_mut get_or_insert insert inspect into_iter is_empty is_none is_some iter iter_mut join key keys last \
    last_mut leading_zeros len map map_or max max_by_key min min_by_key next_back nth ok or_else parse peek pop \
    pop_first pop_front position pow product push push_back push_front push_str range remove replace reserve \
    resize retain rev rotate_left rotate_right saturating_add saturating_mul saturating_sub set signum skip \
    skip_while sort sort_by_key sort_unstable splice split split_at split_first split_last start starts_with step_by \
    strip_prefix sum swap swap_remove take take_while then then_some to_owned to_vec trailing_zeros trim truncate \
    unwrap_or values values_mut windows with_capacity wrapping_add wrapping_sub zip";

/// Definers of functions and types, as indices of files.
pub(super) struct Definers<'a> {
    methods: BTreeMap<&'a str, BTreeSet<usize>>,
    free: BTreeMap<&'a str, BTreeSet<usize>>,
    /// Functions and methods of types and traits.
    owned: BTreeMap<(&'a str, &'a str), BTreeSet<usize>>,
    /// Types and traits that the crate defines.
    types: BTreeSet<&'a str>,
    /// Names of methods that other crates also define: implementations of their traits, or methods in
    /// [`COMMON`].
    foreign: BTreeSet<&'a str>,
}

impl<'a> Definers<'a> {
    pub(super) fn of(sources: &'a [Source], foreign_methods: &'a BTreeSet<String>) -> Self {
        let traits: BTreeSet<&str> = sources.iter().flat_map(|source| &source.traits).map(String::as_str).collect();
        let types = sources.iter().flat_map(|source| &source.types).map(String::as_str);
        let types = types.chain(traits.iter().copied()).collect();
        let (methods, free, owned) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        let foreign = COMMON.split(' ').chain(foreign_methods.iter().map(String::as_str)).collect();
        let mut definers = Self { methods, free, owned, types, foreign };
        for (file, source) in sources.iter().enumerate() {
            for function in &source.functions {
                definers.add(file, function, &traits);
            }
        }
        definers
    }

    fn add(&mut self, file: usize, function: &'a Function, traits: &BTreeSet<&str>) {
        let name = function.name.as_str();
        if function.of_trait.as_ref().is_some_and(|of_trait| !traits.contains(of_trait.as_str())) {
            self.foreign.insert(name);
            return;
        }
        if let Some(owner) = &function.owner {
            self.owned.entry((owner, name)).or_default().insert(file);
        }
        if function.has_receiver {
            self.methods.entry(name).or_default().insert(file);
        } else if function.owner.is_none() {
            self.free.entry(name).or_default().insert(file);
        }
    }

    /// Returns the file that defines the called function, if it is unambiguous.
    ///
    /// Rules, in order:
    /// 1. `Type::name` is defined by that type. If the type has no such function, as for a trait's default,
    ///    the only definer of the name counts. A type of another crate has no definer.
    /// 2. `x.name()` is defined by the only file with such a method, unless other crates have one too: `next`
    ///    may belong to any iterator.
    /// 3. `module::name()` is defined by the only file with such a function. `name()` also is, if the calling
    ///    file defines or imports it; without that it is a variable.
    pub(super) fn definer(&self, source: &Source, call: &Call) -> Option<usize> {
        let name = call.name.as_str();
        match &call.callee {
            Callee::Of(owner) => match self.owned.get(&(owner.as_str(), name)) {
                Some(files) => single_file(files),
                None if self.types.contains(owner.as_str()) => self.method(name),
                None => None,
            },
            Callee::Method => self.method(name),
            Callee::Plain if !source.has_in_scope(name) => None,
            Callee::Plain | Callee::InModule => self.free.get(name).and_then(single_file),
        }
    }

    fn method(&self, name: &str) -> Option<usize> {
        if self.foreign.contains(name) { None } else { self.methods.get(name).and_then(single_file) }
    }

    /// Whether a call is ignored because several files define such a method or function.
    pub(super) fn is_ambiguous(&self, call: &Call) -> bool {
        let name = call.name.as_str();
        let files = match &call.callee {
            Callee::Of(owner) => self.owned.get(&(owner.as_str(), name)),
            Callee::Method if self.foreign.contains(name) => None,
            Callee::Method => self.methods.get(name),
            Callee::InModule | Callee::Plain => self.free.get(name),
        };
        files.is_some_and(|files| files.len() > 1)
    }

    /// Whether the crate has a function, given as `function` or `Type::function`.
    pub(super) fn has_function(&self, function: &str) -> bool {
        match function.rsplit_once("::") {
            Some((owner, name)) => self.owned.contains_key(&(owner, name)),
            None => {
                let mut owned = self.owned.keys();
                self.free.contains_key(function) || owned.any(|&(_, name)| name == function)
            }
        }
    }

    /// Whether a call may be one of `function` or `Type::function`. A method call matches by name if no other
    /// type has a method of that name.
    pub(super) fn may_call(&self, call: &Call, function: &str) -> bool {
        let Some((owner, name)) = function.rsplit_once("::") else { return call.name == function };
        if call.name != name {
            return false;
        }
        match &call.callee {
            Callee::Of(called) => called == owner,
            Callee::Method => self.owned.keys().filter(|&&(_, other)| other == name).eq([&(owner, name)]),
            Callee::InModule | Callee::Plain => false,
        }
    }
}

fn single_file(files: &BTreeSet<usize>) -> Option<usize> {
    let mut files = files.iter();
    files.next().copied().filter(|_| files.next().is_none())
}
