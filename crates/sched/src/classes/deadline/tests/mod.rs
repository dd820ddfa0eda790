// SPDX-License-Identifier: GPL-2.0-or-later

pub(crate) mod admission;
pub(crate) mod budget;
pub(crate) mod edf;
pub(crate) mod machine;
pub(crate) mod moves;
