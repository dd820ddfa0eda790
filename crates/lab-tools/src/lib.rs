// SPDX-License-Identifier: GPL-2.0-or-later
//! Second WebAssembly module of the page of `fairlab lab`: statistics of repeated runs, and import of traces and machines.
//!
//! The first module, `fairlab-lab`, has the simulator and is loaded with the page. This one is loaded when the reader asks
//! for what it does, and runs nothing. A page sends a [`ToolRequest`] as JSON to [`LabTools::ask`], with the bytes that it is
//! about, and gets a [`ToolAnswer`] as JSON. Records and sentences are those of the `fairlab` command.

mod answer;
#[cfg(target_arch = "wasm32")]
pub mod browser;
mod files;
mod repetitions;
mod request;
mod service;

pub use answer::ToolAnswer;
pub use files::OpenedFile;
pub use request::ToolRequest;
pub use service::LabTools;

#[cfg(test)]
mod tests;
