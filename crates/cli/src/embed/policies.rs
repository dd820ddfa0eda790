// SPDX-License-Identifier: GPL-2.0-or-later
//! Policies that a program holds: they lie on a shelf under a name of their own for as long as somebody needs them, as texts do.
//!
//! The command line has none, since a policy is code: `--policy` and an arm's `policy=` name one of a program that embeds fairlab.

use fairlab_sched::interface::policy::PolicyHook;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// Makes a policy for each run, so that no run finds what another one has left behind; or says why it cannot.
pub type MakePolicy = Arc<dyn Fn() -> Result<Box<dyn PolicyHook>, String> + Send + Sync>;

/// Policies by name.
static SHELF: Mutex<BTreeMap<String, MakePolicy>> = Mutex::new(BTreeMap::new());

/// A policy of a run or an arm.
#[derive(Clone)]
pub(crate) struct Policy {
    pub(crate) name: String,
    make: MakePolicy,
}

impl Policy {
    /// A new one, for one run.
    pub(crate) fn make(&self) -> Result<Box<dyn PolicyHook>, String> {
        (self.make)().map_err(|why| format!("the policy {}: {why}", self.name))
    }
}

impl fmt::Debug for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Policy").field(&self.name).finish()
    }
}

/// The policy of that name.
pub(crate) fn policy_of(name: &str) -> Result<Policy, String> {
    let shelf = SHELF.lock().unwrap_or_else(PoisonError::into_inner);
    let make = shelf.get(name).cloned().ok_or(
        "policies are objects of a program that embeds fairlab, such as `fairlab.run(work, policy=...)` in Python",
    )?;
    Ok(Policy { name: name.to_owned(), make })
}

/// Puts a policy there, under its name or, if that is taken, the name with a number.
pub(super) fn put(name: &str, make: MakePolicy) -> String {
    let mut shelf = SHELF.lock().unwrap_or_else(PoisonError::into_inner);
    let names = std::iter::once(format!("<{name}>")).chain((2_u64..).map(|number| format!("<{name} {number}>")));
    let free = names.into_iter().find(|name| !shelf.contains_key(name)).expect("there are more numbers than policies");
    shelf.insert(free.clone(), make);
    free
}

/// Takes one away.
pub(super) fn remove(name: &str) {
    SHELF.lock().unwrap_or_else(PoisonError::into_inner).remove(name);
}
