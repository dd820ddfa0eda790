// SPDX-License-Identifier: GPL-2.0-or-later
//! Interface of the scheduler to its user: the context of a call with its effects, events for observers,
//! records of decisions, and custom policies ([`policy`]).

pub mod balance;
pub mod blocked;
pub mod ctx;
pub mod eevdf;
pub mod lag;
pub mod policy;
pub mod probe;
pub mod wakeup;
pub mod warning;
