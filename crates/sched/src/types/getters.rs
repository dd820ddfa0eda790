// SPDX-License-Identifier: GPL-2.0-or-later
//! Getters of fields that only the module of their type changes.

/// Generates a getter for each private field that is copied. The comment of the field documents the getter.
macro_rules! getters {
    ($($name:ident: $type:ty),* $(,)?) => {
        $(#[inline]
        pub(crate) const fn $name(&self) -> $type {
            self.$name
        })*
    };
}

pub(crate) use getters;
