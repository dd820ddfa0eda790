// SPDX-License-Identifier: GPL-2.0-or-later
//! Files in memory: texts of an embedding program that stand for workload and machine files. Each is
//! registered under a unique name while it is in use, as policies are ([`crate::policies`]).

use crate::policies::{self, PolicyFactory};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Texts by name. Errors and results contain the names, so a text keeps its given name unless it is taken.
static MEMORY_FILES: Mutex<BTreeMap<String, MemoryFile>> = Mutex::new(BTreeMap::new());

struct MemoryFile {
    text: Arc<str>,
    users: usize,
}

/// Registered texts and policies. In command-line arguments the first text is written `\0 0 \0` without the
/// spaces, the second `\0 1 \0`, and so on. Policies have their own numbers, preceded by `p`.
#[derive(Debug, Default)]
pub struct MemoryTexts {
    texts: Vec<String>,
    policies: Vec<String>,
}

impl MemoryTexts {
    /// Registers texts, each with a name.
    pub fn new(texts: Vec<(String, String)>) -> Self {
        let mut shelf = MEMORY_FILES.lock().unwrap_or_else(PoisonError::into_inner);
        let texts = texts.into_iter().map(|(name, text)| add_file(&mut shelf, &name, &text)).collect();
        Self { texts, policies: Vec::new() }
    }

    /// Registers policies, each with a name.
    #[must_use]
    pub fn with_policies(mut self, policies: Vec<(String, PolicyFactory)>) -> Self {
        self.policies.extend(policies.into_iter().map(|(name, make)| policies::add_policy(&name, make)));
        self
    }

    /// Replaces the placeholders in an argument by the registered names.
    pub fn resolve_names(&self, word: &str) -> String {
        let mut word = word.to_owned();
        for (place, name) in self.texts.iter().enumerate() {
            word = word.replace(&format!("\0{place}\0"), name);
        }
        for (place, name) in self.policies.iter().enumerate() {
            word = word.replace(&format!("\0p{place}\0"), name);
        }
        word
    }
}

impl Drop for MemoryTexts {
    fn drop(&mut self) {
        let mut shelf = MEMORY_FILES.lock().unwrap_or_else(PoisonError::into_inner);
        for name in &self.texts {
            if let Some(shelved) = shelf.get_mut(name) {
                shelved.users -= 1;
                if shelved.users == 0 {
                    shelf.remove(name);
                }
            }
        }
        self.policies.iter().for_each(|name| policies::remove_policy(name));
    }
}

/// Registers a text under its name, or under the name with a number if another text has it.
fn add_file(shelf: &mut BTreeMap<String, MemoryFile>, name: &str, text: &str) -> String {
    let may_have_text = |name: &String| shelf.get(name).is_none_or(|shelved| *shelved.text == *text);
    let name = policies::numbered_names(name).find(may_have_text).expect("there are more numbers than texts");
    shelf.entry(name.clone()).or_insert_with(|| MemoryFile { text: Arc::from(text), users: 0 }).users += 1;
    name
}

/// Returns the text with a registered name.
pub fn read_text(name: &str) -> Option<Arc<str>> {
    if !name.starts_with('<') {
        return None;
    }
    let shelf = MEMORY_FILES.lock().unwrap_or_else(PoisonError::into_inner);
    shelf.get(name).map(|shelved| Arc::clone(&shelved.text))
}
