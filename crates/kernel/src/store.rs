// SPDX-License-Identifier: GPL-2.0-or-later
//! Keeps engines. A name stands for what an engine was made of; objects are found by a hash of all that, so that the same tree, patches,
//! configuration and compiler give one object, whatever its names are.
//!
//! ```text
//! names/NAME.json     what was asked for, and the key
//! objects/KEY/        engine.so, engine.functions, and what patches made of the tree's files
//! work/NAME/          overlay and products: the next build under this name compiles only what has changed
//! work/NAME.lock      held by who builds there
//! trees/              unpacked tarballs and commits
//! in-use              held, with others, by who builds or runs engines; alone by who clears up
//! ```
//!
//! [`clear`] removes what nobody needs.

pub mod clear;

use crate::compile::{self, BuildDir, Recipe};
use crate::coverage::CoveredLines;
use crate::error::{KernelError, at};
use crate::regressions::edit::Script;
use crate::tree::{self, Source};
use crate::{operations, overlay};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fs;
use std::path::PathBuf;
use std::time::Instant;

/// What is known of an engine.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, schemars::JsonSchema)]
pub struct StoreEntry {
    /// Its name.
    pub name: String,
    /// Its tree, as it was given.
    pub source: String,
    /// The version that the tree names.
    pub version: String,
    /// Patches, in their order.
    pub patches: Vec<String>,
    /// What the tree is to people, if its folder does not say it: where it was taken from, the commit and its subject.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Bugs of the regression corpus that were put back.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bugs: Vec<String>,
    /// Lines of the configuration beyond the default.
    pub config: Vec<String>,
    /// The compiler.
    pub compiler: String,
    /// Hash of all that it was made of.
    pub key: String,
    /// Hash of fairlab's own part of it: another fairlab may speak another way with its engines.
    #[serde(default)]
    pub own: String,
}

impl StoreEntry {
    /// Its tree, as people know it.
    pub fn origin(&self) -> &str {
        self.title.as_deref().unwrap_or(&self.source)
    }
}

/// The hash of fairlab's own part of an engine.
pub fn own() -> String {
    hash(crate::EMBEDDED.iter().flat_map(|(name, text)| [name.as_bytes(), text.as_bytes()]))[..16].to_owned()
}

/// A request for an engine.
#[derive(Clone, Copy, Debug)]
pub struct BuildRequest<'a> {
    /// Its name.
    pub name: &'a str,
    /// The name of the folder in which it is built: engines that are built in the same one, one after the other, compile only what differs.
    pub workshop: &'a str,
    /// The tree, as a person writes it.
    pub source: &'a str,
    /// What it is to people, if that does not say it.
    pub title: Option<&'a str>,
    /// Patches, in their order.
    pub patches: &'a [PathBuf],
    /// Edits, after them.
    pub scripts: &'a [Script],
    /// Lines for the configuration.
    pub config: &'a [String],
    /// Its objects count how often each line runs.
    pub is_covered: bool,
}

/// What became of a request for an engine.
#[derive(Clone, Debug, Serialize)]
pub struct AddedKernel {
    /// The engine.
    #[serde(flatten)]
    pub entry: StoreEntry,
    /// Where its object is.
    pub object: PathBuf,
    /// Whether it was built just now, instead of found.
    pub is_new: bool,
    /// How long that took, in milliseconds.
    pub took_ms: u64,
}

/// A folder with engines.
#[derive(Clone, Debug)]
pub struct Store {
    root: PathBuf,
}

/// The hash of pieces, as text.
pub(crate) fn hash<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> String {
    let mut hash = Sha256::new();
    for piece in pieces {
        // The length first, so that no two lists of pieces are the same bytes.
        hash.update((piece.len() as u64).to_le_bytes());
        hash.update(piece);
    }
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The key of a recipe: over the content of every file that may matter.
///
/// # Errors
/// If a file cannot be read.
pub fn key(recipe: &Recipe, compiler: &str) -> Result<String, KernelError> {
    let mut pieces: Vec<Vec<u8>> = vec![compiler.into(), recipe.config.join("\n").into()];
    if recipe.is_covered {
        pieces.push(b"covered".to_vec());
    }
    for (name, text) in crate::EMBEDDED {
        pieces.extend([name.as_bytes().to_vec(), text.as_bytes().to_vec()]);
    }
    for patch in &recipe.patches {
        pieces.push(fs::read(patch).map_err(at(patch))?);
    }
    for script in &recipe.scripts {
        pieces.push(serde_json::to_vec(script).expect("a script is JSON"));
    }
    for name in tree::files(&recipe.tree)? {
        let path = recipe.tree.join(&name);
        let content = match fs::read(&path) {
            // A link that leads nowhere, or to a folder, is no file.
            Err(error) if matches!(error.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::IsADirectory) => {
                continue;
            }
            other => other.map_err(at(&path))?,
        };
        pieces.push(hash([name.as_bytes(), &content[..]]).into());
    }
    Ok(hash(pieces.iter().map(Vec::as_slice))[..32].to_owned())
}

impl Store {
    /// The user's own: `$FAIRLAB_KERNELS`, or `fairlab/kernels` in his cache.
    ///
    /// # Errors
    /// If there is no such place.
    pub fn of_user() -> Result<Self, KernelError> {
        let var = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let cache = || var("XDG_CACHE_HOME").or_else(|| Some(var("HOME")?.join(".cache")));
        let root = var("FAIRLAB_KERNELS").or_else(|| Some(cache()?.join("fairlab/kernels")));
        let message = "no place for engines: neither FAIRLAB_KERNELS nor XDG_CACHE_HOME nor HOME is set";
        root.map(Self::at).ok_or_else(|| KernelError::Input(message.to_owned()))
    }

    /// In a folder.
    pub fn at(root: PathBuf) -> Self {
        Self { root }
    }

    /// Keeps others from building in a folder until the file is closed.
    fn lock(&self, workshop: &str, say: &mut dyn FnMut(&str)) -> Result<fs::File, KernelError> {
        let folder = self.root.join("work");
        fs::create_dir_all(&folder).map_err(at(&folder))?;
        let path = folder.join(format!("{workshop}.lock"));
        let file = fs::File::create(&path).map_err(at(&path))?;
        if file.try_lock().is_err() {
            say(&format!("waiting for another build in the folder of {workshop}"));
            file.lock().map_err(at(&path))?;
        }
        Ok(file)
    }

    /// Keeps others from clearing up until the file is closed. Who runs engines that are not the user's own, or builds, holds it.
    ///
    /// # Errors
    /// If the file cannot be made.
    pub fn hold(&self) -> Result<fs::File, KernelError> {
        fs::create_dir_all(&self.root).map_err(at(&self.root))?;
        let path = self.root.join("in-use");
        let file = fs::File::create(&path).map_err(at(&path))?;
        file.lock_shared().map_err(at(&path))?;
        Ok(file)
    }

    /// A file of the laboratory's own that commands may be given: it is written if it is not there.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn file(&self, name: &str, text: &str) -> Result<PathBuf, KernelError> {
        let path = self.root.join(name);
        if fs::read_to_string(&path).is_ok_and(|old| old == text) {
            return Ok(path);
        }
        fs::create_dir_all(&self.root).map_err(at(&self.root))?;
        let fresh = self.root.join(format!("{name}.new-{}", std::process::id()));
        fs::write(&fresh, text).map_err(at(&fresh))?;
        fs::rename(&fresh, &path).map_err(at(&path))?;
        Ok(path)
    }

    /// Builds an engine under a name, if it is not there already. A name that was taken stands for the new one then.
    ///
    /// # Errors
    /// If the name or anything else that was asked for is wrong, or the build fails.
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
            workshop: name,
            source,
            title: None,
            patches,
            scripts: &[],
            config,
            is_covered: false,
        };
        self.make(&wish, say)
    }

    /// The same engine once more, with objects that count how often each of their lines runs; `against` is the engine whose tree
    /// has the lines that are not asked about. `None`: another process counts lines now.
    ///
    /// # Errors
    /// As of [`Self::add`], and if gcov is missing.
    pub fn add_covered(
        &self,
        name: &str,
        like: &StoreEntry,
        against: &StoreEntry,
        say: &mut dyn FnMut(&str),
    ) -> Result<Option<(StoreEntry, CoveredLines)>, KernelError> {
        compile::check_coverage()?;
        let _held = self.hold()?;
        let path = self.root.join("covered.lock");
        let alone = fs::File::create(&path).map_err(at(&path))?;
        if alone.try_lock().is_err() {
            return Ok(None);
        }
        let patches: Vec<PathBuf> = like.patches.iter().map(PathBuf::from).collect();
        let (source, config) = (&like.source, &like.config);
        let title = like.title.as_deref();
        let patches = &patches;
        let wish =
            BuildRequest { name, workshop: name, source, title, patches, scripts: &[], config, is_covered: true };
        let added = self.make(&wish, say)?;
        let base = Source::parse(&against.source)?.folder(&self.root)?;
        let workshop = BuildDir::new(&self.root.join("work").join(name));
        let (overlay, build) = workshop.folders();
        let covered = CoveredLines::begin(build, &base, overlay, alone)?;
        Ok(Some((added.entry, covered)))
    }

    /// The same, with all that can be asked for.
    ///
    /// # Errors
    /// If the name or anything else that was asked for is wrong, or the build fails.
    pub fn make(&self, wish: &BuildRequest<'_>, say: &mut dyn FnMut(&str)) -> Result<AddedKernel, KernelError> {
        let BuildRequest { name, workshop, source, title, patches, scripts, config, is_covered } = *wish;
        let began = Instant::now();
        check_name(name)?;
        compile::check_config(config)?;
        let tree = Source::parse(source)?;
        compile::check_programs()?;
        let _held = self.hold()?;
        say("reading the tree");
        let tree = tree.folder(&self.root)?;
        tree::check(&tree)?;
        let patches: Vec<PathBuf> =
            patches.iter().map(|patch| fs::canonicalize(patch).map_err(at(patch))).collect::<Result<_, _>>()?;
        let recipe = Recipe { tree, patches, scripts: scripts.to_vec(), config: config.to_vec(), is_covered };
        let compiler = compile::compiler();
        let key = key(&recipe, &compiler)?;
        let object = self.object(&key);
        // Counters lie where the object was built, beside the overlay of which it is.
        let is_wanted = || is_covered || !object.exists();
        let alone = if is_wanted() { Some(self.lock(workshop, say)?) } else { None };
        // Somebody else may have built it meanwhile.
        let is_new = alone.is_some() && is_wanted();
        if is_new {
            let folder = object.parent().expect("objects are in folders");
            fs::create_dir_all(folder).map_err(at(folder))?;
            let fresh = folder.join(format!("new-{}.so", std::process::id()));
            let workshop = BuildDir::new(&self.root.join("work").join(workshop));
            workshop.build(&recipe, &fresh, say)?;
            keep_patched(&recipe, workshop.folders().0, &patched(&object))?;
            for (from, to) in [(operations::beside(&fresh), operations::beside(&object)), (fresh, object.clone())] {
                fs::rename(&from, &to).map_err(at(&to))?;
            }
        }
        let entry = StoreEntry {
            name: name.to_owned(),
            source: source.to_owned(),
            title: title.map(str::to_owned),
            version: tree::version(&recipe.tree),
            patches: recipe.patches.iter().map(|patch| patch.display().to_string()).collect(),
            bugs: scripts.iter().map(|script| script.bug.clone()).collect(),
            config: config.to_vec(),
            compiler,
            key,
            own: own(),
        };
        self.write(&entry)?;
        let took_ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
        Ok(AddedKernel { entry, object, is_new, took_ms })
    }

    /// The same engine under a name that no other build takes: its own and its key's beginning.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn pin(&self, entry: &StoreEntry) -> Result<StoreEntry, KernelError> {
        let pinned = StoreEntry { name: format!("{}-{}", entry.name, &entry.key[..12]), ..entry.clone() };
        self.write(&pinned)?;
        Ok(pinned)
    }

    fn write(&self, entry: &StoreEntry) -> Result<(), KernelError> {
        let path = self.name(&entry.name);
        let folder = path.parent().expect("names are in a folder");
        fs::create_dir_all(folder).map_err(at(folder))?;
        let text = serde_json::to_string_pretty(entry).expect("an entry is JSON");
        // Processes that write one name at a time have files of their own.
        let fresh = path.with_extension(format!("new-{}", std::process::id()));
        fs::write(&fresh, text).map_err(at(&fresh))?;
        fs::rename(&fresh, &path).map_err(at(&path))
    }

    /// All engines, by name.
    ///
    /// # Errors
    /// If they cannot be read.
    pub fn list(&self) -> Result<Vec<StoreEntry>, KernelError> {
        let folder = self.root.join("names");
        if !folder.is_dir() {
            return Ok(Vec::new());
        }
        let mut names = Vec::new();
        for file in fs::read_dir(&folder).map_err(at(&folder))? {
            let file = file.map_err(at(&folder))?.path();
            if let Some(name) = file.file_name().and_then(|name| name.to_str()?.strip_suffix(".json")) {
                names.push(name.to_owned());
            }
        }
        names.sort();
        names.iter().map(|name| self.get(name)).collect()
    }

    /// An engine that can be used.
    ///
    /// # Errors
    /// If there is none of that name, or another version of fairlab has built it.
    pub fn usable(&self, name: &str) -> Result<StoreEntry, KernelError> {
        let entry = self.get(name)?;
        if entry.own == own() {
            return Ok(entry);
        }
        let patches: String = entry.patches.iter().map(|patch| format!(" --patch {patch}")).collect();
        let message = format!(
            "the engine {name} was built by another version of fairlab\nhelp: fairlab kernel add {name} --source {}{patches}",
            entry.source
        );
        Err(KernelError::Input(message))
    }

    /// What is known of an engine.
    ///
    /// # Errors
    /// If there is none of that name.
    pub fn get(&self, name: &str) -> Result<StoreEntry, KernelError> {
        check_name(name)?;
        let path = self.name(name);
        if !path.is_file() {
            let message =
                format!("there is no engine {name}\nhelp: fairlab kernel list; fairlab kernel add {name} --source DIR");
            return Err(KernelError::Input(message));
        }
        let text = fs::read_to_string(&path).map_err(at(&path))?;
        serde_json::from_str(&text).map_err(|error| {
            KernelError::Input(format!("{}: {error}\nhelp: fairlab kernel add {name} makes it anew", path.display()))
        })
    }

    /// Where the files of a commit are, or would be.
    pub fn folder_of_commit(&self, commit: &str) -> PathBuf {
        self.root.join("trees").join(format!("commit-{commit}"))
    }

    /// Where the object of a key is.
    pub fn object(&self, key: &str) -> PathBuf {
        self.root.join("objects").join(key).join("engine.so")
    }

    fn name(&self, name: &str) -> PathBuf {
        self.root.join("names").join(format!("{name}.json"))
    }
}

/// Where files are, beside an object, that are not as in the tree.
pub fn patched(object: &std::path::Path) -> PathBuf {
    object.with_file_name("patched")
}

/// Keeps what patches made of files: reports name their lines.
fn keep_patched(recipe: &Recipe, overlay: &std::path::Path, to: &std::path::Path) -> Result<(), KernelError> {
    for name in overlay::changed(&recipe.patches, &recipe.scripts)? {
        let (from, to) = (overlay::place(overlay, &name), to.join(&name));
        let folder = to.parent().expect("files of a tree are in folders");
        fs::create_dir_all(folder).map_err(at(folder))?;
        // A patch may remove a file.
        if from.is_file() {
            fs::copy(&from, &to).map_err(at(&to))?;
        }
    }
    Ok(())
}

/// Names are names of files.
fn check_name(name: &str) -> Result<(), KernelError> {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "._-+".contains(letter);
    if name.starts_with(|first: char| first.is_ascii_alphanumeric()) && name.chars().all(is_plain) && name.len() <= 64 {
        return Ok(());
    }
    let message = format!(
        "{name}: not a name\nhelp: letters, digits, `.`, `_`, `+` and `-`, the first of them a letter or a digit"
    );
    Err(KernelError::Input(message))
}
