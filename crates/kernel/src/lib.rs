// SPDX-License-Identifier: GPL-2.0-or-later
//! The scheduler of any kernel tree as the engine of a machine.
//!
//! [`store`] keeps engines; [`tree`] finds a tree, [`overlay`] makes a copy of links of it in which this crate's own files stand for the
//! rest of a kernel, [`compile`] has the tree's own Makefiles compile `kernel/sched` there, and [`symbols`] gives the object what else it
//! needs, or refuses. [`regressions`] holds the regression corpus: bugs that are fixed, which it puts back. [`operations`] says which functions are counted as what, and
//! [`coverage`] which lines of a patch were reached. [`object`] loads the result, [`engine`] is the seam of the machine on top of it, and [`worker`] keeps all that in a process
//! of its own and reads the report if that ends.
//!
//! # Rules for unsafe code
//!
//! This is the only crate of the project with `unsafe`, and it is all in [`object`]:
//!
//! 1. Kernel code runs in a worker process, one run each. Whatever it does to memory, it does to that process alone.
//! 2. A process loads one object, boots it once, never unloads it, and calls it from one thread.
//! 3. An object is loaded only if its sizes of all structures that pass the seam are those of this crate.
//! 4. Pointers that are passed in live as long as the call; pointers that come out are read before the next call, and only those of
//!    constant text are kept. A call that leaves kernel code in the middle gets numbers only.
//! 5. Each `unsafe` block says why it is sound.

pub mod compile;
pub mod coverage;
pub mod engine;
pub mod error;
pub mod object;
pub mod operations;
pub mod overlay;
pub mod regressions;
pub mod store;
pub mod symbols;
pub mod tree;
pub mod worker;

/// The files of an engine that do not come from a tree: name and text.
pub const EMBEDDED: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/embedded.rs"));

/// The text of one of them.
///
/// # Panics
/// If there is no such file.
pub fn embedded(name: &str) -> &'static str {
    EMBEDDED.iter().find(|(file, _)| *file == name).map(|(_, text)| *text).expect("the file is in engine/")
}

/// Lines that are no comments and not empty.
pub(crate) fn entries(text: &'static str) -> impl Iterator<Item = &'static str> {
    text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'))
}

#[cfg(test)]
mod tests;
