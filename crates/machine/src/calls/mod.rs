// SPDX-License-Identifier: GPL-2.0-or-later
//! Calls of the scheduler: their cost, their effects, and the calls of which wake-ups, forks and softirqs
//! consist.
//!
//! The files use each other in this order: `effects`, `charge`, `enter`, `fork`, `softirq`, `resume`, `wake`.

mod background;
mod charge;
mod effects;
mod enter;
mod fork;
mod resume;
mod softirq;
mod wake;
