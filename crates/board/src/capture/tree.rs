// SPDX-License-Identifier: GPL-2.0-or-later
//! Files of a machine by their paths below its root, in a directory or in an archive.

use super::source_error;
use fairlab_workload::message::Message;
use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Maximum length of a file that is read. Files in `/sys` have at most one page; some of `/proc` are longer.
const MAX_FILE_BYTES: u64 = 1 << 20;
/// Maximum amount of data that is unpacked from an archive.
const MAX_ARCHIVE_BYTES: u64 = 256 << 20;
/// Possible positions of the system's devices below the input.
const DEVICE_ROOTS: [&str; 3] = ["sys/devices/system", "devices/system", ""];

/// Position and text of the mark of tar archives.
const TAR_MARK: (usize, &[u8]) = (257, b"ustar");

/// Whether a file is a tar, optionally compressed with gzip or bzip2.
pub(super) fn is_archive(bytes: &[u8]) -> bool {
    let mut head = Vec::new();
    let is_read = uncompressed(bytes).take(512).read_to_end(&mut head).is_ok();
    is_read && head.get(TAR_MARK.0..).is_some_and(|rest| rest.starts_with(TAR_MARK.1))
}

/// Returns a reader of the content of a file that may be compressed with gzip or bzip2.
fn uncompressed(bytes: &[u8]) -> Box<dyn Read + '_> {
    match bytes {
        [0x1f, 0x8b, ..] => Box::new(flate2::read::MultiGzDecoder::new(bytes)),
        [b'B', b'Z', b'h', ..] => Box::new(bzip2::read::MultiBzDecoder::new(bytes)),
        _ => Box::new(bytes),
    }
}

pub(super) enum Tree {
    Directory { root: PathBuf, devices: String },
    Archive { files: BTreeMap<String, String>, devices: String },
}

impl Tree {
    pub(super) fn from_directory(root: &Path) -> Self {
        let devices = DEVICE_ROOTS.into_iter().find(|devices| root.join(devices).join("cpu/cpu0").is_dir());
        Self::Directory { root: root.to_owned(), devices: devices.unwrap_or(DEVICE_ROOTS[0]).to_owned() }
    }

    /// Reads a tar, optionally compressed with gzip or bzip2.
    pub(super) fn from_archive(bytes: &[u8], source: &str) -> Result<Self, Message> {
        let help = "give a tar of /sys/devices/system, such as hwloc-gather-topology makes (.tar, .tar.gz, .tar.bz2)";
        let damaged =
            |error: std::io::Error| source_error(source, format!("cannot be read as an archive: {error}"), help);
        let mut archive = tar::Archive::new(uncompressed(bytes).take(MAX_ARCHIVE_BYTES));
        let mut files = BTreeMap::new();
        for entry in archive.entries().map_err(damaged)? {
            let entry = entry.map_err(damaged)?;
            if !entry.header().entry_type().is_file() {
                continue;
            }
            let path = entry.path().map_err(damaged)?.to_string_lossy().trim_start_matches("./").to_owned();
            let mut content = Vec::new();
            entry.take(MAX_FILE_BYTES).read_to_end(&mut content).map_err(damaged)?;
            // sysfs reports a size of one page for its shorter files, and tar fills the rest with zeros.
            let text = String::from_utf8_lossy(&content);
            files.insert(path, text.trim_end_matches('\0').to_owned());
        }
        let prefix = files
            .keys()
            .find_map(|path| path.split_once("cpu/cpu0/").map(|(prefix, _)| prefix.trim_end_matches('/').to_owned()));
        let devices = prefix.ok_or_else(|| source_error(source, "contains no sys/devices/system/cpu/cpu0", help))?;
        Ok(Self::Archive { files, devices })
    }

    /// Returns the trimmed text of a file, if it exists and is readable.
    pub(super) fn text(&self, path: &str) -> Option<String> {
        let text = match self {
            Self::Directory { root, .. } => {
                let mut text = Vec::new();
                std::fs::File::open(root.join(path)).ok()?.take(MAX_FILE_BYTES).read_to_end(&mut text).ok()?;
                String::from_utf8_lossy(&text).into_owned()
            }
            Self::Archive { files, .. } => files.get(path)?.clone(),
        };
        Some(text.trim().to_owned())
    }

    /// Returns the text of a file that is compressed with gzip.
    pub(super) fn gzip_text(&self, path: &str) -> Option<String> {
        let Self::Directory { root, .. } = self else { return None };
        let packed = std::fs::File::open(root.join(path)).ok()?;
        let mut text = String::new();
        flate2::read::GzDecoder::new(packed).take(MAX_FILE_BYTES).read_to_string(&mut text).ok()?;
        Some(text)
    }

    /// Returns the path of a file below the system's devices, such as `cpu/online`.
    pub(super) fn device_path(&self, path: &str) -> String {
        let (Self::Directory { devices, .. } | Self::Archive { devices, .. }) = self;
        if devices.is_empty() { path.to_owned() } else { format!("{devices}/{path}") }
    }

    /// Returns the path of a file below the machine's root, such as `proc/cpuinfo`.
    pub(super) fn root_path(&self, path: &str) -> String {
        let (Self::Directory { devices, .. } | Self::Archive { devices, .. }) = self;
        match devices.strip_suffix("sys/devices/system") {
            Some(root) => format!("{root}{path}"),
            None => path.to_owned(),
        }
    }

    /// Returns the text of a device's file.
    pub(super) fn device_text(&self, path: &str) -> Option<String> {
        self.text(&self.device_path(path))
    }

    /// Returns the number in a device's file.
    pub(super) fn number(&self, path: &str) -> Option<u64> {
        self.device_text(path)?.parse().ok()
    }

    /// Returns the names in a directory, sorted.
    pub(super) fn entry_names(&self, path: &str) -> Vec<String> {
        match self {
            Self::Directory { root, .. } => {
                let entries = std::fs::read_dir(root.join(path)).into_iter().flatten().flatten();
                let mut names: Vec<String> =
                    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
                names.sort();
                names
            }
            Self::Archive { files, .. } => {
                let prefix = format!("{}/", path.trim_end_matches('/'));
                let inside = files.range(prefix.clone()..).take_while(|(path, _)| path.starts_with(&prefix));
                let mut names: Vec<String> =
                    inside.filter_map(|(path, _)| path[prefix.len()..].split('/').next().map(str::to_owned)).collect();
                names.dedup();
                names
            }
        }
    }

    /// Returns the numbers N of the entries `nameN` in a device directory, ascending.
    pub(super) fn numbered_entries(&self, path: &str, name: &str) -> Vec<u32> {
        let names = self.entry_names(&self.device_path(path));
        let mut numbers: Vec<u32> = names.iter().filter_map(|entry| entry.strip_prefix(name)?.parse().ok()).collect();
        numbers.sort_unstable();
        numbers
    }
}
