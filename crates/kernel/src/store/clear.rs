// SPDX-License-Identifier: GPL-2.0-or-later
//! Size of the store, and removal of files that no engine of a user needs.
//!
//! 1. Names that a user gave are needed, with their objects, their build folders and their trees. An object
//!    that another version of fairlab has built is not: it is rejected, and the name says how to build it again.
//! 2. Names that commands gave to their own engines are needed as long as a command runs that holds the lock
//!    of the store.
//! 3. Everything else can be built again.

use super::{Store, StoreEntry, own_hash};
use crate::error::{KernelError, io_error_at};
use crate::remove;
use crate::tree::TreeSource;
use fairlab_workload::message::Message;
use serde::Serialize;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Prefixes of names that commands give to engines of their own.
const OWN_PREFIXES: [&str; 4] = ["patch.", "regressions.", "museum.", "bisect"];

/// Engine with its size on disk.
#[derive(Clone, Debug, Serialize)]
pub struct ListedKernel {
    /// Description of the engine.
    #[serde(flatten)]
    pub entry: StoreEntry,
    /// Whether a command has built the engine for itself.
    pub is_own: bool,
    /// Size of its object, in bytes.
    pub object_bytes: u64,
    /// Size of the folder in which it was built, in bytes.
    pub work_bytes: u64,
}

/// File or folder that was removed, or would be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[expect(missing_docs, reason = "the field names describe their content")]
pub struct RemovedKernel {
    /// Description for the user.
    pub what: String,
    pub path: PathBuf,
    /// Size on disk, in bytes.
    pub bytes: u64,
}

/// Whether a name is one that commands give to engines of their own.
pub fn is_own(name: &str) -> bool {
    OWN_PREFIXES.iter().any(|own| name.starts_with(own))
}

/// Returns the size of a file, or of a folder with its contents, in bytes. Links count nothing.
pub fn bytes(path: &Path) -> u64 {
    let Ok(meta) = fs::symlink_metadata(path) else { return 0 };
    if !meta.is_dir() {
        return if meta.is_symlink() { 0 } else { meta.len() };
    }
    fs::read_dir(path).into_iter().flatten().flatten().map(|entry| bytes(&entry.path())).sum()
}

/// Returns the names of the entries of a folder, in order.
fn names_in(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

impl Store {
    /// Returns the size of the whole store, in bytes.
    pub fn bytes(&self) -> u64 {
        bytes(&self.root)
    }

    /// Returns the folder of the store.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns all engines with their sizes on disk, by name.
    ///
    /// # Errors
    /// If an entry cannot be read.
    pub fn list_with_sizes(&self) -> Result<Vec<ListedKernel>, KernelError> {
        let listed = |entry: StoreEntry| ListedKernel {
            is_own: is_own(&entry.name),
            object_bytes: bytes(&self.object_folder(&entry.key)),
            work_bytes: bytes(&self.root.join("work").join(&entry.name)),
            entry,
        };
        Ok(self.list()?.into_iter().map(listed).collect())
    }

    /// Removes an engine, and everything that only this engine used. Returns what was removed.
    ///
    /// # Errors
    /// If there is no engine of that name, or something cannot be removed.
    pub fn remove(&self, name: &str) -> Result<Vec<RemovedKernel>, KernelError> {
        let entry = self.get(name)?;
        let others: Vec<StoreEntry> = self.list()?.into_iter().filter(|other| other.name != name).collect();
        let mut gone = vec![self.removed_kernel(format!("the name {name}"), self.entry_path(name))];
        gone.push(self.removed_kernel(format!("its folder {name}"), self.root.join("work").join(name)));
        gone.push(self.removed_kernel("its lock".to_owned(), self.root.join("work").join(format!("{name}.lock"))));
        if !others.iter().any(|other| other.key == entry.key) {
            gone.push(self.removed_kernel("its object".to_owned(), self.object_folder(&entry.key)));
        }
        let trees = self.trees_of(&others);
        let own_trees = self.trees_of(std::slice::from_ref(&entry));
        gone.extend(
            own_trees
                .difference(&trees)
                .map(|tree| self.removed_kernel(format!("its tree {}", entry.source), tree.clone())),
        );
        gone.retain(|one| one.path.exists());
        gone.iter().try_for_each(|one| remove(&one.path))?;
        Ok(gone)
    }

    /// Removes the files that no engine of a user needs, and returns them. With `is_dry` nothing is removed.
    ///
    /// # Errors
    /// If a command builds or runs engines, or something cannot be removed.
    pub fn prune(&self, is_dry: bool) -> Result<Vec<RemovedKernel>, KernelError> {
        if !self.root.is_dir() {
            return Ok(Vec::new());
        }
        let path = self.root.join("in-use");
        let alone = fs::File::create(&path).map_err(io_error_at(&path))?;
        if !is_dry && alone.try_lock().is_err() {
            let help = "wait until it has ended; --dry-run lists what would be removed";
            let message = Message::in_file(&self.root, "another command builds or runs engines here").with_help(help);
            return Err(KernelError::Input(message));
        }
        let gone = self.unneeded()?;
        if !is_dry {
            gone.iter().try_for_each(|one| remove(&one.path))?;
        }
        Ok(gone)
    }

    fn unneeded(&self) -> Result<Vec<RemovedKernel>, KernelError> {
        let (own, kept): (Vec<StoreEntry>, Vec<StoreEntry>) =
            self.list()?.into_iter().partition(|entry| is_own(&entry.name));
        let mut gone: Vec<RemovedKernel> = own
            .iter()
            .map(|entry| self.removed_kernel(format!("the name {}", entry.name), self.entry_path(&entry.name)))
            .collect();
        let usable = kept.iter().filter(|entry| entry.own == own_hash());
        let keys: BTreeSet<&str> = usable.map(|entry| entry.key.as_str()).collect();
        let objects = names_in(&self.root.join("objects")).into_iter().filter(|key| !keys.contains(key.as_str()));
        gone.extend(objects.map(|key| {
            let own_trees =
                own.iter().chain(&kept).find(|entry| entry.key == key).map_or("no name", |entry| &entry.name);
            self.removed_kernel(format!("an object of {own_trees}"), self.object_folder(&key))
        }));
        let works: BTreeSet<&str> = kept.iter().map(|entry| entry.name.as_str()).collect();
        let is_needed = |name: &String| works.contains(name.strip_suffix(".lock").unwrap_or(name));
        let folders = names_in(&self.root.join("work")).into_iter().filter(|name| !is_needed(name));
        gone.extend(folders.map(|name| {
            let path = self.root.join("work").join(&name);
            self.removed_kernel(format!("the folder of {name}"), path)
        }));
        let needed = self.trees_of(&kept);
        let trees = names_in(&self.root.join("trees")).into_iter().map(|name| self.root.join("trees").join(name));
        gone.extend(
            trees.filter(|tree| !needed.contains(tree)).map(|tree| self.removed_kernel("a tree".to_owned(), tree)),
        );
        Ok(gone)
    }

    /// Returns the folders of the store that hold the trees of engines.
    fn trees_of(&self, entries: &[StoreEntry]) -> BTreeSet<PathBuf> {
        let place = |entry: &StoreEntry| TreeSource::parse(&entry.source).ok()?.place(&self.root).ok();
        entries.iter().filter_map(place).filter(|tree| tree.starts_with(self.root.join("trees"))).collect()
    }

    fn object_folder(&self, key: &str) -> PathBuf {
        self.root.join("objects").join(key)
    }

    fn removed_kernel(&self, what: String, path: PathBuf) -> RemovedKernel {
        RemovedKernel { what, bytes: bytes(&path), path }
    }
}
