// SPDX-License-Identifier: GPL-2.0-or-later
//! Finds a kernel tree: a folder, a tarball, or Debian's package of a version.

use crate::error::{KernelError, at};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where a tree comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// A folder. It is only read.
    Folder(PathBuf),
    /// A tarball, compressed or not, with the tree in one folder.
    Tarball(PathBuf),
}

/// What of a tree an engine needs.
pub const PARTS: [&str; 7] = ["include", "scripts", "kernel", "lib", "init", "io_uring", "tools/include"];
/// So many of them each tree has; the others only newer ones.
const NEEDED_PARTS: usize = 5;
/// Single files that it needs besides, and all whose name begins with Kconfig: the first one names them all.
pub const FILES: [&str; 4] = ["Makefile", "Kbuild", "Kconfig", "arch/x86/entry/syscalls/syscall_32.tbl"];
/// So many of them each tree has.
const NEEDED_FILES: usize = 3;

/// Releases of which the engines were run.
pub const TRIED: [&str; 4] = ["5.10", "6.1", "6.12", "7.3"];

impl Source {
    /// From what a person writes: `DIR`, `TARBALL` or `debian:VERSION`.
    ///
    /// # Errors
    /// If there is no such thing, or it is no kernel tree.
    pub fn parse(text: &str) -> Result<Self, KernelError> {
        if let Some(version) = text.strip_prefix("debian:") {
            let path = PathBuf::from(format!("/usr/src/linux-source-{version}.tar.xz"));
            if !path.is_file() {
                return Err(KernelError::Input(format!(
                    "{text}: {} is not there\nhelp: apt-get install linux-source-{version}; apt-cache search --names-only \
                     '^linux-source-' lists what there is",
                    path.display()
                )));
            }
            return Ok(Self::Tarball(path));
        }
        let path = fs::canonicalize(text).map_err(at(Path::new(text)))?;
        if path.is_file() {
            return Ok(Self::Tarball(path));
        }
        is_tree(&path)?;
        Ok(Self::Folder(path))
    }

    /// Where the tree is as a folder, or would be.
    ///
    /// # Errors
    /// If the tarball cannot be looked at.
    pub fn place(&self, cache: &Path) -> Result<PathBuf, KernelError> {
        let tarball = match self {
            Self::Folder(path) => return Ok(path.clone()),
            Self::Tarball(path) => path,
        };
        let meta = fs::metadata(tarball).map_err(at(tarball))?;
        let modified = meta.modified().ok().and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
        let words = format!("{} {} {modified:?} {PARTS:?} {FILES:?}", tarball.display(), meta.len());
        Ok(cache.join("trees").join(&crate::store::hash([words.as_bytes()])[..16]))
    }

    /// The tree as a folder: a tarball's needed part is unpacked into the cache once.
    ///
    /// # Errors
    /// If the tarball cannot be unpacked, or holds no kernel.
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
        fs::create_dir_all(&parent).map_err(at(&parent))?;
        let fresh = tempfile::tempdir_in(&parent).map_err(at(&parent))?;
        let wanted = PARTS.iter().map(|part| format!("*/{part}")).chain(FILES.iter().map(|file| format!("*/{file}")));
        let run = Command::new("tar")
            .arg("xf")
            .arg(tarball)
            .arg("-C")
            .arg(fresh.path())
            .args(["--strip-components=1", "--wildcards", "--no-wildcards-match-slash"])
            .args(wanted)
            .args(["--wildcards-match-slash", "*/Kconfig*"])
            .output()
            .map_err(at(Path::new("tar")))?;
        // tar complains of names that a tree does not have; what counts is whether a tree is there now.
        is_tree(fresh.path()).map_err(|_| {
            KernelError::Input(format!(
                "{}: no kernel tree in this tarball\n{}",
                tarball.display(),
                String::from_utf8_lossy(&run.stderr).lines().take(3).collect::<Vec<_>>().join("\n")
            ))
        })?;
        let kept = fresh.keep();
        match fs::rename(&kept, &folder) {
            // Another process has been faster.
            Err(_) if folder.is_dir() => fs::remove_dir_all(&kept).map_err(at(&kept))?,
            other => other.map_err(at(&folder))?,
        }
        Ok(folder)
    }
}

fn is_tree(path: &Path) -> Result<(), KernelError> {
    if path.join("kernel/sched/fair.c").is_file() {
        return Ok(());
    }
    let message = format!("{}: no kernel tree: kernel/sched/fair.c is not there", path.display());
    Err(KernelError::Input(format!("{message}\nhelp: give the folder in which the tree's Makefile is")))
}

/// Looks whether all is there that an engine needs: parts, single files, and whatever files of its configuration name one another.
///
/// # Errors
/// If something is not, with all of it.
pub fn check(tree: &Path) -> Result<(), KernelError> {
    let mut lacking: Vec<String> =
        PARTS[..NEEDED_PARTS].iter().filter(|part| !tree.join(part).is_dir()).map(|part| format!("{part}/")).collect();
    lacking
        .extend(FILES[..NEEDED_FILES].iter().filter(|file| !tree.join(file).is_file()).map(|file| (*file).to_owned()));
    let own = crate::embedded("arch/Kconfig");
    let (mut known, mut texts) = (BTreeSet::from(["Kconfig".to_owned()]), vec![own.to_owned()]);
    texts.extend(fs::read_to_string(tree.join("Kconfig")));
    while let Some(text) = texts.pop() {
        // Texts of help have lines that begin so too, but no file in quotes.
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
    let message = format!("{}: an engine needs what is not there: {}", tree.display(), lacking.join(", "));
    let help = format!(
        "engines need {}, {} and all files whose name begins with Kconfig",
        PARTS.map(|part| format!("{part}/")).join(", "),
        FILES[..NEEDED_FILES].join(", ")
    );
    Err(KernelError::Input(format!("{message}\nhelp: {help}")))
}

/// The version that a tree's Makefile names.
pub fn version(tree: &Path) -> String {
    let text = fs::read_to_string(tree.join("Makefile")).unwrap_or_default();
    let value = |key: &str| {
        let line = text.lines().find(|line| line.split('=').next().is_some_and(|name| name.trim() == key))?;
        Some(line.split_once('=')?.1.trim().to_owned()).filter(|value| !value.is_empty())
    };
    let numbers = ["VERSION", "PATCHLEVEL", "SUBLEVEL"].into_iter().filter_map(value).collect::<Vec<_>>().join(".");
    numbers + &value("EXTRAVERSION").unwrap_or_default()
}

/// What to say of a tree that does not compile: whether that was to be expected.
pub fn untried(tree: &Path) -> Option<String> {
    let version = version(tree);
    let release = version.splitn(3, '.').take(2).collect::<Vec<_>>().join(".");
    (!TRIED.contains(&release.as_str()))
        .then(|| format!("help: engines of Linux {version} were never tried; known to work are {}", TRIED.join(", ")))
}

/// All files of a tree that an engine needs, by their names in it, in order. Products of a build inside the tree are left out.
///
/// # Errors
/// If a folder cannot be read.
pub fn files(tree: &Path) -> Result<Vec<String>, KernelError> {
    let mut found = Vec::new();
    let mut folders = vec![String::new()];
    while let Some(folder) = folders.pop() {
        let path = tree.join(&folder);
        let mut names = Vec::new();
        for entry in fs::read_dir(&path).map_err(at(&path))? {
            let entry = entry.map_err(at(&path))?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let is_folder = entry.file_type().map_err(at(&entry.path()))?.is_dir();
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

/// Whether an engine needs a file of a tree.
pub fn is_needed(name: &str) -> bool {
    let is_in_part = PARTS.iter().any(|part| name.strip_prefix(part).is_some_and(|rest| rest.starts_with('/')));
    let last = name.rsplit('/').next().unwrap_or_default();
    FILES.contains(&name) || is_in_part || last.starts_with("Kconfig")
}
