// SPDX-License-Identifier: GPL-2.0-or-later
//! Store of built engines.
//!
//! A name stands for the inputs of an engine. Objects are found by a hash of the contents of these inputs: equal
//! files, configuration and compiler give one object, byte for byte, whatever the names, folders and dates are.
//!
//! ```text
//! names/NAME.json     the request, and the key
//! objects/KEY/        engine.so, engine.functions, engine.sources, engine.meanings, engine-traced.so,
//!                     engine-traced.functions, and files that patches changed
//! work/NAME/          overlay, products and their record: the next build under this name compiles what differs
//! work/NAME.lock      held by the processes that build there
//! trees/              unpacked tarballs and commits
//! in-use              lock: shared by processes that build or run engines; exclusive for a process that prunes
//! ```
//!
//! [`clear`] removes the files that no engine of a user needs.

pub mod clear;
mod entry;
mod key;

pub use entry::{AddedKernel, BuildRequest, StoreEntry};
pub(crate) use key::hash;
pub use key::{BUILD_FORMAT, own_hash};

use crate::compile::{self, BuildDir, BuildRecipe};
use crate::coverage::CoverageRun;
use crate::error::{KernelError, io_error_at};
use crate::snapshot::{Snapshot, create_parent};
use crate::tree::{self, TreeSource};
use crate::{functions, meanings, process};
use fairlab_workload::message::Message;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Folder with built engines.
#[derive(Clone, Debug)]
pub struct Store {
    root: PathBuf,
}

impl Store {
    /// Returns the user's own store: `$FAIRLAB_KERNELS`, or `fairlab/kernels` in the user's cache.
    ///
    /// # Errors
    /// If none of the variables for its location is set.
    pub fn for_user() -> Result<Self, KernelError> {
        let var = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let cache = || var("XDG_CACHE_HOME").or_else(|| Some(var("HOME")?.join(".cache")));
        let root = var("FAIRLAB_KERNELS").or_else(|| Some(cache()?.join("fairlab/kernels")));
        root.map(Self::with_root).ok_or_else(|| {
            let text = "there is no folder for engines: neither FAIRLAB_KERNELS nor XDG_CACHE_HOME nor HOME is set";
            KernelError::Input(Message::new(text).with_help("set FAIRLAB_KERNELS"))
        })
    }

    /// Returns the store in a folder.
    pub fn with_root(root: PathBuf) -> Self {
        Self { root }
    }

    /// Takes the exclusive lock of a build folder, which lasts until the file is closed. Waits while another
    /// process builds there.
    fn lock_build_dir(&self, workshop: &str, say: &mut dyn FnMut(&str)) -> Result<fs::File, KernelError> {
        let folder = self.root.join("work");
        fs::create_dir_all(&folder).map_err(io_error_at(&folder))?;
        let path = folder.join(format!("{workshop}.lock"));
        let file = fs::File::create(&path).map_err(io_error_at(&path))?;
        if file.try_lock().is_err() {
            say(&format!("waiting for another build in the folder of {workshop}"));
            process::lock(&file, &path)?;
        }
        Ok(file)
    }

    /// Takes a shared lock that keeps other processes from pruning until the file is closed. A process that
    /// builds, or runs engines other than the user's own, holds it.
    ///
    /// # Errors
    /// If the lock file cannot be created.
    pub fn lock_against_prune(&self) -> Result<fs::File, KernelError> {
        fs::create_dir_all(&self.root).map_err(io_error_at(&self.root))?;
        let path = self.root.join("in-use");
        let file = fs::File::create(&path).map_err(io_error_at(&path))?;
        file.lock_shared().map_err(io_error_at(&path))?;
        Ok(file)
    }

    /// Writes one of fairlab's own files that commands take as an argument, unless it is there already, and
    /// returns its path.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write_file(&self, name: &str, text: &str) -> Result<PathBuf, KernelError> {
        let path = self.root.join(name);
        if fs::read_to_string(&path).is_ok_and(|old| old == text) {
            return Ok(path);
        }
        fs::create_dir_all(&self.root).map_err(io_error_at(&self.root))?;
        let fresh = self.root.join(format!("{name}.new-{}", std::process::id()));
        fs::write(&fresh, text).map_err(io_error_at(&fresh))?;
        fs::rename(&fresh, &path).map_err(io_error_at(&path))?;
        Ok(path)
    }

    /// Builds an engine under a name, unless the store has it already. A name that was in use then stands for
    /// the new engine.
    ///
    /// # Errors
    /// If the name or another input is invalid, or the build fails.
    pub fn add(
        &self,
        name: &str,
        source: &str,
        patches: &[PathBuf],
        config: &[String],
        say: &mut dyn FnMut(&str),
    ) -> Result<AddedKernel, KernelError> {
        let wish = BuildRequest {
            name,
            build_dir: name,
            source,
            title: None,
            patches,
            scripts: &[],
            config,
            is_covered: false,
        };
        self.build(&wish, say)
    }

    /// Builds an engine once more with objects that count how often each of their lines runs.
    ///
    /// Lines that the tree of `against` also has are not evaluated. Returns `None` if another process counts
    /// lines now.
    ///
    /// # Errors
    /// Those of [`Self::add`], and if gcov is missing.
    pub fn add_covered(
        &self,
        name: &str,
        like: &StoreEntry,
        against: &StoreEntry,
        say: &mut dyn FnMut(&str),
    ) -> Result<Option<(StoreEntry, CoverageRun)>, KernelError> {
        compile::check_coverage()?;
        let _held = self.lock_against_prune()?;
        let path = self.root.join("covered.lock");
        let alone = fs::File::create(&path).map_err(io_error_at(&path))?;
        if alone.try_lock().is_err() {
            return Ok(None);
        }
        let patches: Vec<PathBuf> = like.patches.iter().map(PathBuf::from).collect();
        let (source, config) = (&like.source, &like.config);
        let title = like.title.as_deref();
        let patches = &patches;
        let wish =
            BuildRequest { name, build_dir: name, source, title, patches, scripts: &[], config, is_covered: true };
        let added = self.build(&wish, say)?;
        let base = TreeSource::parse(&against.source)?.folder(&self.root)?;
        let workshop = BuildDir::new(&self.root.join("work").join(name));
        let (overlay, build) = workshop.folders();
        let covered = CoverageRun::begin(build, &base, overlay, alone)?;
        Ok(Some((added.entry, covered)))
    }

    /// Builds an engine as requested, unless the store has it already.
    ///
    /// # Errors
    /// If the name or another input is invalid, or the build fails.
    pub fn build(&self, wish: &BuildRequest<'_>, say: &mut dyn FnMut(&str)) -> Result<AddedKernel, KernelError> {
        let BuildRequest { name, build_dir: workshop, source, title, patches, scripts, config, is_covered } = *wish;
        let began = Instant::now();
        check_name(name)?;
        compile::check_config(config)?;
        let tree = TreeSource::parse(source)?;
        compile::check_programs()?;
        let _held = self.lock_against_prune()?;
        say("reading the tree");
        let tree = tree.folder(&self.root)?;
        tree::check(&tree)?;
        let patches: Vec<PathBuf> = patches
            .iter()
            .map(|patch| fs::canonicalize(patch).map_err(io_error_at(patch)))
            .collect::<Result<_, _>>()?;
        let entry = StoreEntry {
            name: name.to_owned(),
            source: source.to_owned(),
            title: title.map(str::to_owned),
            version: tree::version(&tree),
            patches: patches.iter().map(|patch| patch.display().to_string()).collect(),
            bugs: scripts.iter().map(|script| script.bug.clone()).collect(),
            config: config.to_vec(),
            compiler: String::new(),
            key: String::new(),
            own: own_hash(),
            format: BUILD_FORMAT,
        };
        let recipe = BuildRecipe {
            snapshot: Snapshot::take(&tree, &patches, scripts)?,
            changed_by: entry.patches.iter().chain(&entry.bugs).cloned().collect(),
            config: config.to_vec(),
            tools: compile::tools()?,
            is_covered,
        };
        let entry = StoreEntry { compiler: recipe.tools[0].clone(), key: recipe.key(), ..entry };
        let object = self.object_path(&entry.key);
        // Counters lie in the folder of the build, beside the overlay from which it was made.
        let is_wanted = || is_covered || !object.exists();
        let lock = if is_wanted() { Some(self.lock_build_dir(workshop, say)?) } else { None };
        // Another process may have built it meanwhile.
        let lock = lock.filter(|_| is_wanted());
        if let Some(lock) = &lock {
            create_parent(&object)?;
            let fresh = object.with_file_name(format!("new-{}.so", std::process::id()));
            // make writes paths without links, which must be recognised.
            let work = self.root.join("work");
            let work = fs::canonicalize(&work).map_err(io_error_at(&work))?;
            BuildDir::new(&work.join(workshop)).build(&recipe, &fresh, lock, say)?;
            let traced = |object: &Path| functions::symbol_file(&functions::traced_object(object));
            let beside: [&dyn Fn(&Path) -> PathBuf; 5] = [
                &functions::symbol_file,
                &functions::source_file,
                &meanings::file_of,
                &functions::traced_object,
                &traced,
            ];
            let beside = beside.map(|path| (path(&fresh), path(&object)));
            // Objects that count lines exist once.
            let beside = beside.into_iter().filter(|(from, _)| from.exists());
            for (from, to) in beside.chain([(fresh.clone(), object.clone())]) {
                fs::rename(&from, &to).map_err(io_error_at(&to))?;
            }
        }
        copy_changed(&recipe.snapshot, &changed_folder(&object))?;
        self.write(&entry)?;
        let took_ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
        Ok(AddedKernel { entry, object, is_new: lock.is_some(), took_ms })
    }

    /// Stores an engine under a name that no other build takes: its own name and the beginning of its key.
    ///
    /// # Errors
    /// If the entry cannot be written.
    pub fn pin(&self, entry: &StoreEntry) -> Result<StoreEntry, KernelError> {
        let pinned = StoreEntry { name: format!("{}-{}", entry.name, &entry.key[..12]), ..entry.clone() };
        self.write(&pinned)?;
        Ok(pinned)
    }

    fn write(&self, entry: &StoreEntry) -> Result<(), KernelError> {
        let path = self.entry_path(&entry.name);
        let folder = path.parent().expect("names are in a folder");
        fs::create_dir_all(folder).map_err(io_error_at(folder))?;
        let text = serde_json::to_string_pretty(entry).expect("an entry is JSON");
        // Concurrent processes that write one name have temporary files of their own.
        let fresh = path.with_extension(format!("new-{}", std::process::id()));
        fs::write(&fresh, text).map_err(io_error_at(&fresh))?;
        fs::rename(&fresh, &path).map_err(io_error_at(&path))
    }

    /// Returns all engines, by name.
    ///
    /// # Errors
    /// If an entry cannot be read.
    pub fn list(&self) -> Result<Vec<StoreEntry>, KernelError> {
        let folder = self.root.join("names");
        if !folder.is_dir() {
            return Ok(Vec::new());
        }
        let mut names = Vec::new();
        for file in fs::read_dir(&folder).map_err(io_error_at(&folder))? {
            let file = file.map_err(io_error_at(&folder))?.path();
            if let Some(name) = file.file_name().and_then(|name| name.to_str()?.strip_suffix(".json")) {
                names.push(name.to_owned());
            }
        }
        names.sort();
        names.iter().map(|name| self.get(name)).collect()
    }

    /// Returns an engine that this version of fairlab can use.
    ///
    /// # Errors
    /// If there is no engine of that name, or another version of fairlab has built it.
    pub fn get_usable(&self, name: &str) -> Result<StoreEntry, KernelError> {
        let entry = self.get(name)?;
        if entry.own == own_hash() {
            return Ok(entry);
        }
        let reason = if entry.format < BUILD_FORMAT {
            "was built by an earlier version of fairlab, whose objects can be those of the build before"
        } else {
            "was built by another version of fairlab"
        };
        let patches: String = entry.patches.iter().map(|patch| format!(" --patch {patch}")).collect();
        let again = format!("fairlab kernel add {name} --source {}{patches}", entry.source);
        let message = Message::new(format!("the engine {name} {reason}"))
            .with_help(format!("{again} builds it again; fairlab kernel prune removes the old object"));
        Err(KernelError::Input(message))
    }

    /// Returns the description of an engine.
    ///
    /// # Errors
    /// If there is no engine of that name.
    pub fn get(&self, name: &str) -> Result<StoreEntry, KernelError> {
        check_name(name)?;
        let path = self.entry_path(name);
        if !path.is_file() {
            let message = Message::new(format!("there is no engine {name}"))
                .with_help(format!("fairlab kernel list; fairlab kernel add {name} --source DIR"));
            return Err(KernelError::Input(message));
        }
        let text = fs::read_to_string(&path).map_err(io_error_at(&path))?;
        serde_json::from_str(&text).map_err(|error| {
            KernelError::Input(
                Message::in_file(&path, error.to_string())
                    .with_help(format!("fairlab kernel add {name} builds it again")),
            )
        })
    }

    /// Returns the folder for the files of a commit, which need not exist.
    pub fn commit_folder(&self, commit: &str) -> PathBuf {
        self.root.join("trees").join(format!("commit-{commit}"))
    }

    /// Returns the path of the object of a key.
    pub fn object_path(&self, key: &str) -> PathBuf {
        self.root.join("objects").join(key).join("engine.so")
    }

    fn entry_path(&self, name: &str) -> PathBuf {
        self.root.join("names").join(format!("{name}.json"))
    }
}

/// Returns the folder beside an object that holds the files that patches and edits changed.
pub fn changed_folder(object: &Path) -> PathBuf {
    object.with_file_name("patched")
}

/// Copies the files that patches and edits changed beside the object: reports refer to their lines.
fn copy_changed(snapshot: &Snapshot, to: &Path) -> Result<(), KernelError> {
    for name in snapshot.changed().iter().filter(|name| snapshot.files().contains_key(*name)) {
        let (from, to) = (snapshot.path(name), to.join(name));
        create_parent(&to)?;
        fs::copy(&from, &to).map_err(io_error_at(&to))?;
    }
    Ok(())
}

/// Checks a name, which becomes a file name.
fn check_name(name: &str) -> Result<(), KernelError> {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "._-+".contains(letter);
    if name.starts_with(|first: char| first.is_ascii_alphanumeric()) && name.chars().all(is_plain) && name.len() <= 64 {
        return Ok(());
    }
    let message = Message::new(format!("{name}: not a name"))
        .with_help("letters, digits, `.`, `_`, `+` and `-`, the first of them a letter or a digit");
    Err(KernelError::Input(message))
}
