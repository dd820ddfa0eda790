// SPDX-License-Identifier: GPL-2.0-or-later
//! Symbols of the interpreter are found when it loads the module: linkers that insist on seeing them are told so.

fn main() {
    pyo3_build_config::add_extension_module_link_args();
}
