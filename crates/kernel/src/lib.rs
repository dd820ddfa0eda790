// SPDX-License-Identifier: GPL-2.0-or-later
//! The scheduler of any kernel tree as the engine of a machine.
//!
//! - [`store`] keeps built engines.
//! - [`tree`] finds a tree, and [`snapshot`] reads its contents. [`overlay`] makes a folder of links to it, in
//!   which this crate's own files stand for the rest of a kernel.
//! - [`compile`] has the tree's own Makefiles compile `kernel/sched` there. [`symbols`] provides stubs for
//!   the remaining symbols, or rejects the tree.
//! - [`regressions`] holds the regression corpus: fixed bugs, which it can reintroduce.
//! - [`functions`] lists the functions of an object, [`operations`] maps them to the operations that are
//!   counted, and [`costs`] makes kernels that are compared count alike.
//! - [`coverage`] reports the lines of a patch that were reached.
//! - [`meanings`] collects what a tree's source says of its features and tunables.
//! - [`object`] loads the result, and [`engine`] implements the machine's engine interface on top of it.
//! - [`process`] runs tools and workers, which end when the command is stopped.
//! - [`worker`] runs all that in a separate process, and reads the report if that process ends early.
//!
//! # Rules for unsafe code
//!
//! This is the only crate of the project with `unsafe`, and it is all in [`object`]:
//!
//! 1. Kernel code runs in a worker process, one run each. A wrong memory access can only damage that process.
//! 2. A process loads one object, boots it once, never unloads it, and calls it from one thread.
//! 3. An object is loaded only if its sizes of all structures that pass the interface are those of this
//!    crate.
//! 4. Pointers that are passed in live as long as the call. Pointers that are returned are read before the
//!    next call, and only those to constant text are kept. A call that yields in the middle of kernel code
//!    gets numbers only.
//! 5. Each `unsafe` block has a comment with the reason why it is sound.

mod c;
pub mod compile;
pub mod costs;
pub mod coverage;
pub mod engine;
pub mod error;
pub mod functions;
pub mod meanings;
pub mod object;
pub mod operations;
pub mod overlay;
pub mod process;
pub mod regressions;
pub mod snapshot;
pub mod store;
pub mod symbols;
pub mod trace_line;
pub mod tree;
pub mod worker;

use error::{KernelError, io_error_at};
use std::fs;
use std::path::Path;

/// Files of an engine that do not come from a tree: name and text.
pub const EMBEDDED_FILES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/embedded.rs"));

/// Returns the text of an embedded file.
///
/// # Panics
/// If there is no such file.
pub fn embedded_text(name: &str) -> &'static str {
    EMBEDDED_FILES.iter().find(|(file, _)| *file == name).map(|(_, text)| *text).expect("the file is in engine/")
}

/// Returns the lines of a table that are neither comments nor empty.
pub(crate) fn table_lines(text: &'static str) -> impl Iterator<Item = &'static str> {
    text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'))
}

/// Removes a file or a folder, if it exists.
pub(crate) fn remove(path: &Path) -> Result<(), KernelError> {
    let removed = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
    match removed {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error).map_err(io_error_at(path)),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;
