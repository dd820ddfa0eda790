// SPDX-License-Identifier: GPL-2.0-or-later
//! Policies of an embedding program, registered under a unique name while they are in use, as texts are.
//!
//! A policy is code, so the command line has none: `--policy` and an arm's `policy=` name a policy of the
//! embedding program.

use fairlab_sched::interface::policy::PolicyHook;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// Creates a policy for each run, so that runs share no state, or returns the reason why it cannot.
pub type PolicyFactory = Arc<dyn Fn() -> Result<Box<dyn PolicyHook>, String> + Send + Sync>;
static POLICIES: Mutex<BTreeMap<String, PolicyFactory>> = Mutex::new(BTreeMap::new());

/// Policy of a run or an arm.
#[derive(Clone)]
pub(crate) struct NamedPolicy {
    pub(crate) name: String,
    make: PolicyFactory,
}

impl NamedPolicy {
    /// Creates the policy for one run.
    pub(crate) fn make(&self) -> Result<Box<dyn PolicyHook>, String> {
        (self.make)().map_err(|why| format!("the policy {}: {why}", self.name))
    }
}

impl fmt::Debug for NamedPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Policy").field(&self.name).finish()
    }
}

/// Returns the policy with a registered name.
pub(crate) fn policy_from_name(name: &str) -> Result<NamedPolicy, String> {
    let shelf = POLICIES.lock().unwrap_or_else(PoisonError::into_inner);
    let make = shelf.get(name).cloned().ok_or(
        "policies are objects of a program that embeds fairlab, such as `fairlab.run(work, policy=...)` in Python",
    )?;
    Ok(NamedPolicy { name: name.to_owned(), make })
}

/// Registers a policy under its name, or under the name with a number if that is taken.
pub(super) fn add_policy(name: &str, make: PolicyFactory) -> String {
    let mut shelf = POLICIES.lock().unwrap_or_else(PoisonError::into_inner);
    let names = std::iter::once(format!("<{name}>")).chain((2_u64..).map(|number| format!("<{name} {number}>")));
    let free = names.into_iter().find(|name| !shelf.contains_key(name)).expect("there are more numbers than policies");
    shelf.insert(free.clone(), make);
    free
}
pub(super) fn remove_policy(name: &str) {
    POLICIES.lock().unwrap_or_else(PoisonError::into_inner).remove(name);
}
