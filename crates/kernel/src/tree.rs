// SPDX-License-Identifier: GPL-2.0-or-later
//! Sources of kernel trees: a folder, a tarball, or Debian's package of a version; and the files of a tree
//! that an engine needs.

use crate::error::{KernelError, io_error_at};
use crate::process;
use fairlab_workload::message::Message;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Source of a kernel tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TreeSource {
    /// Folder with a tree. It is only read.
    Folder(PathBuf),
    /// Tarball, compressed or not, with the tree in one folder.
    Tarball(PathBuf),
}

/// Folders of a tree that an engine needs.
pub const TREE_PARTS: [&str; 7] = ["include", "scripts", "kernel", "lib", "init", "io_uring", "tools/include"];
/// Number of the first [`TREE_PARTS`] that each tree has; only newer trees have the others.
const MIN_TREE_PARTS: usize = 5;
/// Single files that an engine needs. It also needs all files whose name begins with `Kconfig`, which the
/// first `Kconfig` names.
pub const TREE_FILES: [&str; 4] = ["Makefile", "Kbuild", "Kconfig", "arch/x86/entry/syscalls/syscall_32.tbl"];
/// Number of the first [`TREE_FILES`] that each tree has.
const MIN_TREE_FILES: usize = 3;

/// Releases whose engines were tested.
pub const TESTED_RELEASES: [&str; 5] = ["5.10", "6.1", "6.12", "7.2", "7.3"];

impl TreeSource {
    /// Parses a source as a user writes it: `DIR`, `TARBALL` or `debian:VERSION`.
    ///
    /// # Errors
    /// If the path does not exist or is not a kernel tree.
    pub fn parse(text: &str) -> Result<Self, KernelError> {
        if let Some(version) = text.strip_prefix("debian:") {
            let path = PathBuf::from(format!("/usr/src/linux-source-{version}.tar.xz"));
            if !path.is_file() {
                return Err(KernelError::Input(Message::new(format!("{text}: {} is not there", path.display())).with_help(format!("apt-get install linux-source-{version}; apt-cache search --names-only '^linux-source-' lists the available versions"))));
            }
            return Ok(Self::Tarball(path));
        }
        let path = fs::canonicalize(text).map_err(io_error_at(Path::new(text)))?;
        if path.is_file() {
            return Ok(Self::Tarball(path));
        }
        check_is_tree(&path)?;
        Ok(Self::Folder(path))
    }

    /// Returns the folder of the tree, which for a tarball need not exist yet.
    ///
    /// # Errors
    /// If the tarball's metadata cannot be read.
    pub fn place(&self, cache: &Path) -> Result<PathBuf, KernelError> {
        let tarball = match self {
            Self::Folder(path) => return Ok(path.clone()),
            Self::Tarball(path) => path,
        };
        let meta = fs::metadata(tarball).map_err(io_error_at(tarball))?;
        let modified = meta.modified().ok().and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
        let words = format!("{} {} {modified:?} {TREE_PARTS:?} {TREE_FILES:?}", tarball.display(), meta.len());
        Ok(cache.join("trees").join(&crate::store::hash([words.as_bytes()])[..16]))
    }

    /// Returns the tree as a folder. The needed part of a tarball is unpacked into the cache once.
    ///
    /// # Errors
    /// If the tarball cannot be unpacked, or contains no kernel.
    pub fn folder(&self, cache: &Path) -> Result<PathBuf, KernelError> {
        let folder = self.place(cache)?;
        let tarball = match self {
            Self::Folder(_) => return Ok(folder),
            Self::Tarball(path) => path,
        };
        if folder.is_dir() {
            return Ok(folder);
        }
        let parent = cache.join("trees");
        fs::create_dir_all(&parent).map_err(io_error_at(&parent))?;
        let fresh = tempfile::tempdir_in(&parent).map_err(io_error_at(&parent))?;
        let wanted =
            TREE_PARTS.iter().map(|part| format!("*/{part}")).chain(TREE_FILES.iter().map(|file| format!("*/{file}")));
        let mut tar = process::tool("tar");
        tar.arg("xf")
            .arg(tarball)
            .arg("-C")
            .arg(fresh.path())
            .args(["--strip-components=1", "--wildcards", "--no-wildcards-match-slash"])
            .args(wanted)
            .args(["--wildcards-match-slash", "*/Kconfig*"]);
        let run = process::output(&mut tar)?;
        // tar reports names that a tree does not have; only whether a tree is there now matters.
        check_is_tree(fresh.path()).map_err(|_| {
            KernelError::Input(Message::new(format!(
                "{}: no kernel tree in this tarball\n{}",
                tarball.display(),
                String::from_utf8_lossy(&run.stderr).lines().take(3).collect::<Vec<_>>().join("\n")
            )))
        })?;
        let kept = fresh.keep();
        match fs::rename(&kept, &folder) {
            // Another process has unpacked the tarball meanwhile.
            Err(_) if folder.is_dir() => fs::remove_dir_all(&kept).map_err(io_error_at(&kept))?,
            other => other.map_err(io_error_at(&folder))?,
        }
        Ok(folder)
    }
}

fn check_is_tree(path: &Path) -> Result<(), KernelError> {
    if path.join("kernel/sched/fair.c").is_file() {
        return Ok(());
    }
    let message = format!("{}: no kernel tree: it has no kernel/sched/fair.c", path.display());
    Err(KernelError::Input(Message::new(message).with_help("give the folder that contains the tree's Makefile")))
}

/// Checks that a tree has all that an engine needs: folders, single files, and all files that its
/// configuration includes.
///
/// # Errors
/// If something is missing; the error names all of it.
pub fn check(tree: &Path) -> Result<(), KernelError> {
    let mut lacking: Vec<String> = TREE_PARTS[..MIN_TREE_PARTS]
        .iter()
        .filter(|part| !tree.join(part).is_dir())
        .map(|part| format!("{part}/"))
        .collect();
    lacking.extend(
        TREE_FILES[..MIN_TREE_FILES].iter().filter(|file| !tree.join(file).is_file()).map(|file| (*file).to_owned()),
    );
    let own = crate::embedded_text("arch/Kconfig");
    let (mut known, mut texts) = (BTreeSet::from(["Kconfig".to_owned()]), vec![own.to_owned()]);
    texts.extend(fs::read_to_string(tree.join("Kconfig")));
    while let Some(text) = texts.pop() {
        // Help texts can have lines that begin with `source` too, but no file name in quotes.
        let named = |line: &'_ str| Some(line.trim().strip_prefix("source \"")?.split_once('"')?.0.to_owned());
        let names: Vec<String> = text.lines().filter_map(named).filter(|name| !name.contains('$')).collect();
        for name in names.into_iter().filter(|name| known.insert(name.clone())) {
            match fs::read_to_string(tree.join(&name)) {
                Ok(text) => texts.push(text),
                Err(_) => lacking.push(name),
            }
        }
    }
    if lacking.is_empty() {
        return Ok(());
    }
    lacking.sort();
    let message = format!("{}: files that an engine needs are missing: {}", tree.display(), lacking.join(", "));
    let help = format!(
        "engines need {}, {} and all files whose name begins with Kconfig",
        TREE_PARTS.map(|part| format!("{part}/")).join(", "),
        TREE_FILES[..MIN_TREE_FILES].join(", ")
    );
    Err(KernelError::Input(Message::new(message).with_help(help)))
}

/// Returns the version in the Makefile of a tree.
pub fn version(tree: &Path) -> String {
    let text = fs::read_to_string(tree.join("Makefile")).unwrap_or_default();
    let value = |key: &str| {
        let line = text.lines().find(|line| line.split('=').next().is_some_and(|name| name.trim() == key))?;
        Some(line.split_once('=')?.1.trim().to_owned()).filter(|value| !value.is_empty())
    };
    let numbers = ["VERSION", "PATCHLEVEL", "SUBLEVEL"].into_iter().filter_map(value).collect::<Vec<_>>().join(".");
    numbers + &value("EXTRAVERSION").unwrap_or_default()
}

/// Returns a hint for a tree that does not compile and whose release was never tested.
pub fn untested_hint(tree: &Path) -> Option<String> {
    let version = version(tree);
    let release = version.splitn(3, '.').take(2).collect::<Vec<_>>().join(".");
    (!TESTED_RELEASES.contains(&release.as_str())).then(|| {
        format!("help: engines of Linux {version} were not tested; tested releases are {}", TESTED_RELEASES.join(", "))
    })
}

/// Returns all files of a tree that an engine needs, by their paths in it, in order. Products of a build in
/// the tree are left out.
///
/// # Errors
/// If a folder cannot be read.
pub fn files(tree: &Path) -> Result<Vec<String>, KernelError> {
    let mut found = Vec::new();
    let mut folders = vec![String::new()];
    while let Some(folder) = folders.pop() {
        let path = tree.join(&folder);
        let mut names = Vec::new();
        for entry in fs::read_dir(&path).map_err(io_error_at(&path))? {
            let entry = entry.map_err(io_error_at(&path))?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let is_folder = entry.file_type().map_err(io_error_at(&entry.path()))?.is_dir();
            names.push((name, is_folder));
        }
        let is_product = |name: &str| {
            names.iter().any(|(other, _)| other.strip_prefix('.').and_then(|n| n.strip_suffix(".cmd")) == Some(name))
        };
        for (name, is_folder) in &names {
            let full = if folder.is_empty() { name.clone() } else { format!("{folder}/{name}") };
            if *is_folder {
                if ![".git", "include/config", "include/generated", "arch/fairlab"].contains(&full.as_str()) {
                    folders.push(full);
                }
            } else if is_needed(&full) && !is_product(name) && !name.ends_with(".o") && !name.ends_with(".cmd") {
                found.push(full);
            }
        }
    }
    found.sort();
    Ok(found)
}

/// Returns the files with an extension in a folder and its subfolders, in order. A folder that does not exist has none.
pub(crate) fn files_with_extension(folder: &Path, extension: &str) -> Result<Vec<PathBuf>, KernelError> {
    let (mut found, mut folders) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(folder) = folders.pop().filter(|folder| folder.is_dir()) {
        for entry in fs::read_dir(&folder).map_err(io_error_at(&folder))? {
            let entry = entry.map_err(io_error_at(&folder))?;
            let path = entry.path();
            if entry.file_type().map_err(io_error_at(&path))?.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|own| own == extension) {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

/// Whether an engine needs a file of a tree.
pub fn is_needed(name: &str) -> bool {
    let is_in_part = TREE_PARTS.iter().any(|part| name.strip_prefix(part).is_some_and(|rest| rest.starts_with('/')));
    let last = name.rsplit('/').next().unwrap_or_default();
    TREE_FILES.contains(&name) || is_in_part || last.starts_with("Kconfig")
}
