// SPDX-License-Identifier: GPL-2.0-or-later
//! Programs of tasks: their steps, one file for each kind.
//!
//! `steps` executes the step that a task has reached. The other files use `progress`, and `packets` delivers
//! messages through `channels`.

mod attributes;
mod calls;
mod channels;
mod futexes;
mod inherit;
mod packets;
mod progress;
mod steps;
mod sync;
mod timed;
mod transitions;
