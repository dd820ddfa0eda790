// SPDX-License-Identifier: GPL-2.0-or-later
//! Passes linker arguments for an extension module: the interpreter's symbols are resolved when it loads the
//! module.

fn main() {
    pyo3_build_config::add_extension_module_link_args();
}
