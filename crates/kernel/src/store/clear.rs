// SPDX-License-Identifier: GPL-2.0-or-later
//! How large the cache is, and what of it nobody needs.
//!
//! 1. Names that a person gave are needed, with their objects, the folders in which they were built, and the trees of which they were.
//! 2. Names that commands have given to engines of their own are needed as long as a command runs that holds the store.
//! 3. Everything else can be made again.

use super::{Store, StoreEntry};
use crate::error::{KernelError, at};
use crate::tree::Source;
use serde::Serialize;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Beginnings of names that commands give to engines of their own.
const OWN: [&str; 4] = ["patch.", "regressions.", "museum.", "bisect"];

/// An engine with what it takes.
#[derive(Clone, Debug, Serialize)]
pub struct ListedKernel {
    /// The engine.
    #[serde(flatten)]
    pub entry: StoreEntry,
    /// Whether a command has built it for itself.
    pub is_own: bool,
    /// Of its object, in bytes.
    pub object_bytes: u64,
    /// Of the folder in which it was built.
    pub work_bytes: u64,
}

/// Something that was removed, or would be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RemovedKernel {
    /// What it is to people.
    pub what: String,
    /// Where it is.
    pub path: PathBuf,
    /// How large.
    pub bytes: u64,
}

/// Whether a name is one that commands give.
pub fn is_own(name: &str) -> bool {
    OWN.iter().any(|own| name.starts_with(own))
}

/// What files take, folders with all that is in them. Links take nothing.
pub fn bytes(path: &Path) -> u64 {
    let Ok(meta) = fs::symlink_metadata(path) else { return 0 };
    if !meta.is_dir() {
        return if meta.is_symlink() { 0 } else { meta.len() };
    }
    fs::read_dir(path).into_iter().flatten().flatten().map(|entry| bytes(&entry.path())).sum()
}

fn remove(path: &Path) -> Result<(), KernelError> {
    let removed = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
    match removed {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error).map_err(at(path)),
        _ => Ok(()),
    }
}

/// What is in a folder, by name.
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
    /// What all of it takes.
    pub fn bytes(&self) -> u64 {
        bytes(&self.root)
    }

    /// Where it is.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// All engines with what they take, by name.
    ///
    /// # Errors
    /// If they cannot be read.
    pub fn list_with_sizes(&self) -> Result<Vec<ListedKernel>, KernelError> {
        let listed = |entry: StoreEntry| ListedKernel {
            is_own: is_own(&entry.name),
            object_bytes: bytes(&self.folder_of_object(&entry.key)),
            work_bytes: bytes(&self.root.join("work").join(&entry.name)),
            entry,
        };
        Ok(self.list()?.into_iter().map(listed).collect())
    }

    /// Forgets an engine, and removes what was only there for it.
    ///
    /// # Errors
    /// If there is none of that name, or something cannot be removed.
    pub fn remove(&self, name: &str) -> Result<Vec<RemovedKernel>, KernelError> {
        let entry = self.get(name)?;
        let others: Vec<StoreEntry> = self.list()?.into_iter().filter(|other| other.name != name).collect();
        let mut gone = vec![self.gone(format!("the name {name}"), self.name(name))];
        gone.push(self.gone(format!("its folder {name}"), self.root.join("work").join(name)));
        gone.push(self.gone("its lock".to_owned(), self.root.join("work").join(format!("{name}.lock"))));
        if !others.iter().any(|other| other.key == entry.key) {
            gone.push(self.gone("its object".to_owned(), self.folder_of_object(&entry.key)));
        }
        let trees = self.trees_of(&others);
        let its = self.trees_of(std::slice::from_ref(&entry));
        gone.extend(its.difference(&trees).map(|tree| self.gone(format!("its tree {}", entry.source), tree.clone())));
        gone.retain(|one| one.path.exists());
        gone.iter().try_for_each(|one| remove(&one.path))?;
        Ok(gone)
    }

    /// Removes what no engine of a person needs, or says what that would be.
    ///
    /// # Errors
    /// If a command builds or runs engines, or something cannot be removed.
    pub fn prune(&self, is_dry: bool) -> Result<Vec<RemovedKernel>, KernelError> {
        if !self.root.is_dir() {
            return Ok(Vec::new());
        }
        let path = self.root.join("in-use");
        let alone = fs::File::create(&path).map_err(at(&path))?;
        if !is_dry && alone.try_lock().is_err() {
            let help = "wait until it has ended; --dry-run shows what would go";
            let message = format!("{}: another command builds or runs engines here\nhelp: {help}", self.root.display());
            return Err(KernelError::Input(message));
        }
        let gone = self.needless()?;
        if !is_dry {
            gone.iter().try_for_each(|one| remove(&one.path))?;
        }
        Ok(gone)
    }

    fn needless(&self) -> Result<Vec<RemovedKernel>, KernelError> {
        let (own, kept): (Vec<StoreEntry>, Vec<StoreEntry>) =
            self.list()?.into_iter().partition(|entry| is_own(&entry.name));
        let mut gone: Vec<RemovedKernel> =
            own.iter().map(|entry| self.gone(format!("the name {}", entry.name), self.name(&entry.name))).collect();
        let keys: BTreeSet<&str> = kept.iter().map(|entry| entry.key.as_str()).collect();
        let objects = names_in(&self.root.join("objects")).into_iter().filter(|key| !keys.contains(key.as_str()));
        gone.extend(objects.map(|key| {
            let its = own.iter().find(|entry| entry.key == key).map_or("no name", |entry| &entry.name);
            self.gone(format!("an object of {its}"), self.folder_of_object(&key))
        }));
        let works: BTreeSet<&str> = kept.iter().map(|entry| entry.name.as_str()).collect();
        let is_needed = |name: &String| works.contains(name.strip_suffix(".lock").unwrap_or(name));
        let folders = names_in(&self.root.join("work")).into_iter().filter(|name| !is_needed(name));
        gone.extend(folders.map(|name| {
            let path = self.root.join("work").join(&name);
            self.gone(format!("the folder of {name}"), path)
        }));
        let needed = self.trees_of(&kept);
        let trees = names_in(&self.root.join("trees")).into_iter().map(|name| self.root.join("trees").join(name));
        gone.extend(trees.filter(|tree| !needed.contains(tree)).map(|tree| self.gone("a tree".to_owned(), tree)));
        Ok(gone)
    }

    /// Folders of the cache in which the trees of engines are.
    fn trees_of(&self, entries: &[StoreEntry]) -> BTreeSet<PathBuf> {
        let place = |entry: &StoreEntry| Source::parse(&entry.source).ok()?.place(&self.root).ok();
        entries.iter().filter_map(place).filter(|tree| tree.starts_with(self.root.join("trees"))).collect()
    }

    fn folder_of_object(&self, key: &str) -> PathBuf {
        self.root.join("objects").join(key)
    }

    fn gone(&self, what: String, path: PathBuf) -> RemovedKernel {
        RemovedKernel { what, bytes: bytes(&path), path }
    }
}
