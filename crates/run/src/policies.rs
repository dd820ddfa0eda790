// SPDX-License-Identifier: GPL-2.0-or-later
//! Policies of an embedding program, registered under a unique name while they are in use, as texts are.
//!
//! A policy is code, so no command has an option for it: specs and arms name a policy of the embedding
//! program.

use fairlab_sched::interface::policy::PolicyHook;
use fairlab_workload::message::Message;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// Creates a policy for each run, so that runs share no state, or returns the reason why it cannot.
pub type PolicyFactory = Arc<dyn Fn() -> Result<Box<dyn PolicyHook>, Message> + Send + Sync>;

static POLICIES: Mutex<BTreeMap<String, PolicyFactory>> = Mutex::new(BTreeMap::new());

/// Policy of a run or an arm. In JSON it is its name, which must be registered when the run is read.
#[derive(Clone, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct NamedPolicy {
    /// Name under which the policy is registered.
    pub name: String,
    make: PolicyFactory,
}

impl PartialEq for NamedPolicy {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl From<NamedPolicy> for String {
    fn from(policy: NamedPolicy) -> Self {
        policy.name
    }
}

impl TryFrom<String> for NamedPolicy {
    type Error = Message;

    fn try_from(name: String) -> Result<Self, Message> {
        policy_from_name(&name)
    }
}

impl NamedPolicy {
    /// Creates the policy for one run.
    ///
    /// # Errors
    /// The reason why it cannot be created.
    pub fn make(&self) -> Result<Box<dyn PolicyHook>, Message> {
        (self.make)().map_err(|why| why.about(format_args!("the policy {}", self.name)))
    }
}

impl fmt::Debug for NamedPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Policy").field(&self.name).finish()
    }
}

/// Returns the policy with a registered name; fails if no policy has it.
pub(crate) fn policy_from_name(name: &str) -> Result<NamedPolicy, Message> {
    let shelf = POLICIES.lock().unwrap_or_else(PoisonError::into_inner);
    let make = shelf.get(name).cloned().ok_or_else(|| {
        let help =
            "policies are objects of a program that embeds fairlab, such as `fairlab.run(work, policy=...)` in Python";
        Message::new(format!("no policy {name} is registered")).with_help(help)
    })?;
    Ok(NamedPolicy { name: name.to_owned(), make })
}

/// Registers a policy under its name, or under the name with a number if that is taken.
pub(crate) fn add_policy(name: &str, make: PolicyFactory) -> String {
    let mut shelf = POLICIES.lock().unwrap_or_else(PoisonError::into_inner);
    let free =
        numbered_names(name).find(|name| !shelf.contains_key(name)).expect("there are more numbers than policies");
    shelf.insert(free.clone(), make);
    free
}

/// Returns the name in angle brackets, then with the numbers from 2.
pub(crate) fn numbered_names(name: &str) -> impl Iterator<Item = String> {
    std::iter::once(format!("<{name}>")).chain((2_u64..).map(move |number| format!("<{name} {number}>")))
}

pub(crate) fn remove_policy(name: &str) {
    POLICIES.lock().unwrap_or_else(PoisonError::into_inner).remove(name);
}
