// SPDX-License-Identifier: GPL-2.0-or-later
//! The engine under test.

use fairlab_kernel::error::KernelError;
use fairlab_kernel::store::Store;
use std::io::Write as _;
use std::path::PathBuf;

/// Returns the object, which is built once and kept with other products.
pub(crate) fn object() -> Option<PathBuf> {
    let source = std::env::var("FAIRLAB_KERNEL_TREE").unwrap_or_else(|_| "debian:6.1".to_owned());
    let store = Store::with_root(PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("kernels"));
    match store.add("under-test", &source, &[], &[], &mut |_| {}) {
        Ok(added) => Some(added.object),
        Err(error @ KernelError::Missing { .. }) => report_skipped(&error.to_string()),
        Err(error) if error.to_string().contains("is not there") => report_skipped(&error.to_string()),
        Err(error) => panic!("{error}"),
    }
}

/// Reports a skipped test to standard error, past the capture of output: it must not look like a test that
/// passed.
pub(crate) fn report_skipped(why: &str) -> Option<PathBuf> {
    writeln!(std::io::stderr(), "SKIPPED: no engine could be built: {why}").expect("standard error can be written");
    None
}
