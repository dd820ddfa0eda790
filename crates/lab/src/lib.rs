// SPDX-License-Identifier: GPL-2.0-or-later
//! `fairlab lab`: runs, explanations and first differences as requests and answers of a page.
//!
//! A page sends a [`Request`] as JSON to [`LabService::ask`] and gets an [`Answer`]: JSON, and the timeline as bytes. A run
//! is opened, advanced step by step and ends with its result; the digest of its events equals that of the `fairlab` command.
//! All other requests are complete in themselves and carry the spec of their run, so that several workers can share them.
//!
//! In WebAssembly, [`browser`] exports the same two types. Compiled-kernel engines, threads and files do not exist there.

mod answer;
#[cfg(target_arch = "wasm32")]
pub mod browser;
pub mod catalogue;
pub mod lessons;
mod live;
mod repetition;
mod request;
mod saved_trace;
mod service;

pub use answer::{Answer, AnswerJson, Content, Ended, Opened, Part};
pub use repetition::run_repetition;
pub use request::Request;
pub use service::LabService;

#[cfg(test)]
mod tests;
