// SPDX-License-Identifier: GPL-2.0-or-later
//! Names of objects that tasks share, such as mutexes.

use crate::step::ObjectId;
use std::collections::BTreeMap;

/// Names in the order of their first mention.
#[derive(Clone, Debug, Default)]
pub(crate) struct ObjectNames {
    list: Vec<String>,
    ids: BTreeMap<String, ObjectId>,
}

impl ObjectNames {
    /// Returns the index of a name, which is added if it is new.
    pub(crate) fn id(&mut self, name: &str) -> ObjectId {
        if let Some(id) = self.ids.get(name) {
            return *id;
        }
        let id = self.list.len();
        self.list.push(name.to_owned());
        self.ids.insert(name.to_owned(), id);
        id
    }

    pub(crate) fn list(&self) -> &[String] {
        &self.list
    }

    pub(crate) fn contains(&self, name: &str) -> bool {
        self.ids.contains_key(name)
    }

    pub(crate) fn into_list(self) -> Vec<String> {
        self.list
    }
}
