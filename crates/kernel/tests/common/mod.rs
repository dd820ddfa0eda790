// SPDX-License-Identifier: GPL-2.0-or-later
//! The engine under test.
#![allow(dead_code, reason = "each test program uses a part of it")]

pub(crate) mod requirement;

use fairlab_kernel::error::KernelError;
use fairlab_kernel::store::Store;
use fairlab_kernel::tree::TreeSource;
use fairlab_workload::message::Message;
use requirement::Requirement;
use std::path::PathBuf;
use std::sync::LazyLock;

/// Debian's package with the tree that most tests use.
const TREE: &str = "linux-source-6.1";

/// An engine that can be built.
pub(crate) const ENGINE: Requirement =
    Requirement { name: TREE, missing: || ENGINE_FILE.as_ref().err().map(|error| error.text.clone()) };

/// A tree, without the tools that build it.
pub(crate) const SOURCE: Requirement =
    Requirement { name: TREE, missing: || TreeSource::parse(&tree()).err().map(|error| first_line(&error)) };

/// Debian's package of 6.12, as a source.
pub(crate) const NEWER_TREE: &str = "debian:6.12";

/// The tree of 6.12, without the tools that build it.
pub(crate) const NEWER_SOURCE: Requirement = Requirement {
    name: "linux-source-6.12",
    missing: || TreeSource::parse(NEWER_TREE).err().map(|error| first_line(&error)),
};

/// The object, which is built once and kept with other products, or the reason why it cannot be built here.
static ENGINE_FILE: LazyLock<Result<PathBuf, Message>> = LazyLock::new(|| {
    let store = Store::with_root(kept());
    match store.add("under-test", &tree(), &[], &[], &mut |_| {}) {
        Ok(added) => Ok(added.object),
        Err(error @ KernelError::Missing { .. }) => Err(Message::new(first_line(&error))),
        Err(error) if error.to_string().contains("is not there") => Err(Message::new(first_line(&error))),
        Err(error) => panic!("{error}"),
    }
});

/// Returns the object. [`ENGINE`] is there.
pub(crate) fn object() -> PathBuf {
    ENGINE_FILE.clone().expect("the test runs only with an engine")
}

/// Returns the source of the tree; `FAIRLAB_KERNEL_TREE` names another one.
pub(crate) fn tree() -> String {
    std::env::var("FAIRLAB_KERNEL_TREE").unwrap_or_else(|_| "debian:6.1".to_owned())
}

/// Returns the directory of what is built.
pub(crate) fn kept() -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("kernels")
}

fn first_line(error: &KernelError) -> String {
    error.to_string().lines().next().unwrap_or_default().to_owned()
}
