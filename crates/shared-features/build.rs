// SPDX-License-Identifier: GPL-2.0-or-later
//! Does nothing. Cargo resolves dependencies of build scripts only for packages with one.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
}
