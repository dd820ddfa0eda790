// SPDX-License-Identifier: GPL-2.0-or-later
//! Parts of the fair class of 6.1 (CFS) that EEVDF replaces ([`eevdf`](super::eevdf)).

pub(crate) mod enqueue;
