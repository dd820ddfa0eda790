// SPDX-License-Identifier: GPL-2.0-or-later
//! Texts that a program holds and that stand for files: they lie on a shelf under a name of their own for as long as somebody needs them. So do its
//! policies ([`super::policies`]).

use super::policies::{self, MakePolicy};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Texts by name. Names are told in errors and results, so that a text keeps the one that was given to it where no other has it.
static SHELF: Mutex<BTreeMap<String, MemoryFile>> = Mutex::new(BTreeMap::new());

struct MemoryFile {
    text: Arc<str>,
    /// How many need it.
    users: usize,
}

/// Texts on the shelf. In words the first of them is written `\0 0 \0` without the spaces, the second `\0 1 \0`, and so on. Policies are numbered
/// by themselves, with a `p` before the number.
#[derive(Debug, Default)]
pub struct MemoryTexts {
    texts: Vec<String>,
    policies: Vec<String>,
}

impl MemoryTexts {
    /// Puts texts, each with a name, on the shelf.
    pub fn new(texts: Vec<(String, String)>) -> Self {
        let mut shelf = SHELF.lock().unwrap_or_else(PoisonError::into_inner);
        let texts = texts.into_iter().map(|(name, text)| put(&mut shelf, &name, &text)).collect();
        Self { texts, policies: Vec::new() }
    }

    /// Puts policies, each with a name, beside them.
    #[must_use]
    pub fn and_policies(mut self, policies: Vec<(String, MakePolicy)>) -> Self {
        self.policies.extend(policies.into_iter().map(|(name, make)| policies::put(&name, make)));
        self
    }

    /// A word with the names of texts and policies in the place of their places.
    pub(super) fn named(&self, word: &str) -> String {
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
        let mut shelf = SHELF.lock().unwrap_or_else(PoisonError::into_inner);
        for name in &self.texts {
            if let Some(shelved) = shelf.get_mut(name) {
                shelved.users -= 1;
                if shelved.users == 0 {
                    shelf.remove(name);
                }
            }
        }
        self.policies.iter().for_each(|name| policies::remove(name));
    }
}

/// Puts a text there, under its name or, if another text has that, the name with a number.
fn put(shelf: &mut BTreeMap<String, MemoryFile>, name: &str, text: &str) -> String {
    for number in 1_u64.. {
        let name = if number == 1 { format!("<{name}>") } else { format!("<{name} {number}>") };
        match shelf.get_mut(&name) {
            None => {
                shelf.insert(name.clone(), MemoryFile { text: Arc::from(text), users: 1 });
                return name;
            }
            Some(shelved) if *shelved.text == *text => {
                shelved.users += 1;
                return name;
            }
            Some(_) => {}
        }
    }
    unreachable!("there are more numbers than texts")
}

/// The text of that name.
pub(crate) fn text(name: &str) -> Option<Arc<str>> {
    if !name.starts_with('<') {
        return None;
    }
    let shelf = SHELF.lock().unwrap_or_else(PoisonError::into_inner);
    shelf.get(name).map(|shelved| Arc::clone(&shelved.text))
}
