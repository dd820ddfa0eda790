// SPDX-License-Identifier: GPL-2.0-or-later
//! Files of a machine by their paths below its root, whether they lie in a directory or in an archive.

use super::{CaptureError, wrong};
use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Files in `/sys` have a page at the most; some of `/proc` are longer.
const MAX_FILE: u64 = 1 << 20;
/// So much is unpacked of an archive at the most.
const MAX_ARCHIVE: u64 = 256 << 20;
/// Where a system's devices can lie below what is given.
const DEVICES: [&str; 3] = ["sys/devices/system", "devices/system", ""];

/// Files of a machine.
pub(super) enum Tree {
    Directory { root: PathBuf, devices: String },
    Archive { files: BTreeMap<String, String>, devices: String },
}

impl Tree {
    pub(super) fn of_directory(root: &Path) -> Self {
        let devices = DEVICES.into_iter().find(|devices| root.join(devices).join("cpu/cpu0").is_dir());
        Self::Directory { root: root.to_owned(), devices: devices.unwrap_or(DEVICES[0]).to_owned() }
    }

    /// A tar, perhaps packed by gzip or bzip2.
    pub(super) fn of_archive(bytes: &[u8], source: &str) -> Result<Self, CaptureError> {
        let help = "give a tar of /sys/devices/system, such as hwloc-gather-topology makes (.tar, .tar.gz, .tar.bz2)";
        let damaged = |error: std::io::Error| wrong(source, format!("is no archive that can be read: {error}"), help);
        let reader: Box<dyn Read + '_> = match bytes {
            [0x1f, 0x8b, ..] => Box::new(flate2::read::MultiGzDecoder::new(bytes)),
            [b'B', b'Z', b'h', ..] => Box::new(bzip2::read::MultiBzDecoder::new(bytes)),
            _ => Box::new(bytes),
        };
        let mut archive = tar::Archive::new(reader.take(MAX_ARCHIVE));
        let mut files = BTreeMap::new();
        for entry in archive.entries().map_err(damaged)? {
            let entry = entry.map_err(damaged)?;
            if !entry.header().entry_type().is_file() {
                continue;
            }
            let path = entry.path().map_err(damaged)?.to_string_lossy().trim_start_matches("./").to_owned();
            let mut content = Vec::new();
            entry.take(MAX_FILE).read_to_end(&mut content).map_err(damaged)?;
            // Files of sysfs are shorter than they say, and tar fills up the rest.
            let text = String::from_utf8_lossy(&content);
            files.insert(path, text.trim_end_matches('\0').to_owned());
        }
        let prefix = files
            .keys()
            .find_map(|path| path.split_once("cpu/cpu0/").map(|(prefix, _)| prefix.trim_end_matches('/').to_owned()));
        let devices = prefix.ok_or_else(|| wrong(source, "has no cpu/cpu0 of a /sys/devices/system in it", help))?;
        Ok(Self::Archive { files, devices })
    }

    /// The text of a file, without blanks around it, if it is there and can be read.
    pub(super) fn text(&self, path: &str) -> Option<String> {
        let text = match self {
            Self::Directory { root, .. } => {
                let mut text = Vec::new();
                std::fs::File::open(root.join(path)).ok()?.take(MAX_FILE).read_to_end(&mut text).ok()?;
                String::from_utf8_lossy(&text).into_owned()
            }
            Self::Archive { files, .. } => files.get(path)?.clone(),
        };
        Some(text.trim().to_owned())
    }

    /// The text of a file that is packed by gzip.
    pub(super) fn unpacked(&self, path: &str) -> Option<String> {
        let Self::Directory { root, .. } = self else { return None };
        let packed = std::fs::File::open(root.join(path)).ok()?;
        let mut text = String::new();
        flate2::read::GzDecoder::new(packed).take(MAX_FILE).read_to_string(&mut text).ok()?;
        Some(text)
    }

    /// The path of something below the system's devices, such as `cpu/online`.
    pub(super) fn device(&self, path: &str) -> String {
        let (Self::Directory { devices, .. } | Self::Archive { devices, .. }) = self;
        if devices.is_empty() { path.to_owned() } else { format!("{devices}/{path}") }
    }

    /// The path of something below the machine's root, such as `proc/cpuinfo`.
    pub(super) fn below_root(&self, path: &str) -> String {
        let (Self::Directory { devices, .. } | Self::Archive { devices, .. }) = self;
        match devices.strip_suffix("sys/devices/system") {
            Some(root) => format!("{root}{path}"),
            None => path.to_owned(),
        }
    }

    /// The text of a device's file.
    pub(super) fn of_device(&self, path: &str) -> Option<String> {
        self.text(&self.device(path))
    }

    /// A number in such a file.
    pub(super) fn number(&self, path: &str) -> Option<u64> {
        self.of_device(path)?.parse().ok()
    }

    /// Names in a directory, ordered.
    pub(super) fn names(&self, path: &str) -> Vec<String> {
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

    /// Numbers of entries `nameN` in a directory of devices, ascending.
    pub(super) fn numbered(&self, path: &str, name: &str) -> Vec<u32> {
        let names = self.names(&self.device(path));
        let mut numbers: Vec<u32> = names.iter().filter_map(|entry| entry.strip_prefix(name)?.parse().ok()).collect();
        numbers.sort_unstable();
        numbers
    }
}
