// SPDX-License-Identifier: GPL-2.0-or-later
//! The engine under test.

use fairlab_kernel::error::KernelError;
use fairlab_kernel::store::Store;
use std::io::Write as _;
use std::path::PathBuf;

/// The object, built once and kept beside other products.
pub(crate) fn object() -> Option<PathBuf> {
    let source = std::env::var("FAIRLAB_KERNEL_TREE").unwrap_or_else(|_| "debian:6.1".to_owned());
    let store = Store::at(PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("kernels"));
    match store.add("under-test", &source, &[], &[], &mut |_| {}) {
        Ok(added) => Some(added.object),
        Err(error @ KernelError::Missing { .. }) => skipped(&error.to_string()),
        Err(error) if error.to_string().contains("is not there") => skipped(&error.to_string()),
        Err(error) => panic!("{error}"),
    }
}

/// A test that did nothing must not look like one that did: this goes past the capture of output.
pub(crate) fn skipped(why: &str) -> Option<PathBuf> {
    writeln!(std::io::stderr(), "SKIPPED: no engine could be built: {why}").expect("standard error can be written");
    None
}
