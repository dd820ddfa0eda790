// SPDX-License-Identifier: GPL-2.0-or-later
//! Debian's cloud kernels: download, and the symbols of a kernel.

use super::Arch;
use anyhow::{Context, Result, bail};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A kernel that is not installed, in the cache directory.
pub(crate) struct Kernel {
    /// Bootable image.
    pub(crate) image: PathBuf,
}

/// A symbol of a kernel.
pub(super) struct Symbol {
    pub(super) address: u64,
    /// Letter of /proc/kallsyms.
    pub(super) kind: char,
    pub(super) name: String,
}

/// Symbols of a kernel, sorted by address.
pub(super) struct Symbols {
    /// Release and version.
    pub(super) release: String,
    pub(super) list: Vec<Symbol>,
}

impl Kernel {
    /// Returns the newest cloud kernel of a series, and downloads it if the cache has none.
    pub(crate) fn find(series: &str, arch: Arch) -> Result<Self> {
        let cache = match std::env::var_os("FAIRLAB_KERNELS") {
            Some(directory) => PathBuf::from(directory),
            None => PathBuf::from(std::env::var_os("HOME").context("HOME is not set")?).join(".cache/fairlab-kernels"),
        };
        let directory = cache.join(format!("{series}-{}", arch.name()));
        if image_in(&directory).is_none() {
            download(series, arch, &directory)?;
        }
        let image = image_in(&directory).with_context(|| format!("{}: no vmlinuz", directory.display()))?;
        Ok(Self { image })
    }

    /// Returns the symbols. `boot` boots the kernel and returns what its guest prints; the result is kept beside the
    /// image.
    pub(super) fn symbols(&self, boot: impl FnOnce() -> Result<String>) -> Result<Symbols> {
        let file = self.image.with_file_name("symbols");
        if !file.exists() {
            println!("reading the symbols of {}", self.image.display());
            let console = boot()?;
            let wanted = console.lines().filter_map(|line| {
                let place = line.find("SYM ").or_else(|| line.find("KERNEL "))?;
                is_useful(&line[place..]).then(|| format!("{}\n", &line[place..]))
            });
            fs::write(&file, wanted.collect::<String>())?;
        }
        let symbols = Symbols::parse(&fs::read_to_string(&file)?);
        if symbols.list.len() < 10_000 {
            fs::remove_file(&file)?;
            bail!("{}: the kernel did not print its symbols", self.image.display());
        }
        Ok(symbols)
    }
}

/// Records of the build system are no objects.
fn is_useful(line: &str) -> bool {
    let name = line.split_whitespace().nth(3).unwrap_or_default();
    !["__ksymtab", "__kstrtab", "__pfx_", "__crc_", "$", ".L", "__UNIQUE_ID", "__initcall__"]
        .iter()
        .any(|word| name.starts_with(word))
}

impl Symbols {
    fn parse(text: &str) -> Self {
        let mut symbols = Self { release: String::new(), list: Vec::new() };
        for line in text.lines() {
            if let Some(release) = line.strip_prefix("KERNEL ") {
                release.clone_into(&mut symbols.release);
            }
            let mut words = line.split_whitespace().skip(1);
            if let (Some(address), Some(kind), Some(name)) = (words.next(), words.next(), words.next())
                && let Ok(address) = u64::from_str_radix(address, 16)
                && kind.len() == 1
            {
                let kind = kind.chars().next().expect("the kind has one letter");
                symbols.list.push(Symbol { address, kind, name: name.to_owned() });
            }
        }
        symbols.list.sort_by(|a, b| (a.address, &a.name).cmp(&(b.address, &b.name)));
        symbols
    }

    /// Returns the address of a symbol.
    pub(super) fn address(&self, name: &str) -> Option<u64> {
        self.list.iter().find(|symbol| symbol.name == name).map(|symbol| symbol.address)
    }
}

fn image_in(directory: &Path) -> Option<PathBuf> {
    let entries = fs::read_dir(directory.join("boot")).ok()?.filter_map(Result::ok);
    entries
        .map(|entry| entry.path())
        .find(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("vmlinuz-")))
}

/// Downloads the newest package and unpacks it.
fn download(series: &str, arch: Arch, directory: &Path) -> Result<()> {
    let debian = if arch == Arch::X86_64 { "amd64" } else { "arm64" };
    let names =
        output(Command::new("apt-cache").args(["search", &format!("^linux-image-{series}[.].*cloud-{debian}")]))?;
    let newest = names
        .lines()
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| {
            name.ends_with(&format!("cloud-{debian}-unsigned")) || name.ends_with(&format!("cloud-{debian}"))
        })
        .max_by_key(|name| (name.ends_with("-unsigned"), version_key(name)))
        .with_context(|| {
            format!(
                "no package linux-image-{series}*-cloud-{debian}\nhelp: of a foreign architecture, run \
                 `dpkg --add-architecture {debian}` and `apt-get update`"
            )
        })?;
    println!("downloading {newest}");
    fs::create_dir_all(directory)?;
    let package = format!("{newest}:{debian}");
    output(
        Command::new("apt-get")
            .args(["-qq", "-o", "APT::Sandbox::User=root", "download", &package])
            .current_dir(directory),
    )?;
    let file = fs::read_dir(directory)?
        .filter_map(Result::ok)
        .map(|entry| entry.path())
        .find(|path| path.extension().is_some_and(|extension| extension == "deb"))
        .context("the download left no package")?;
    output(Command::new("dpkg-deb").arg("-x").arg(&file).arg(directory))?;
    fs::remove_file(file)?;
    Ok(())
}

/// Numbers in a package's name, for the order of versions.
fn version_key(name: &str) -> Vec<u64> {
    name.split(|letter: char| !letter.is_ascii_digit()).filter_map(|number| number.parse().ok()).collect()
}

/// Runs a command and returns its output.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.output().with_context(|| format!("cannot run {program}"))?;
    if !output.status.success() {
        bail!("{program} failed\n{}", String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symbols_are_sorted_by_address_and_know_their_release() {
        let symbols = Symbols::parse("KERNEL 6.12.117 #1 SMP\nSYM ffff20 T later\nSYM ffff10 t first\nSYM zz T none\n");
        assert_eq!(symbols.release, "6.12.117 #1 SMP");
        assert_eq!(symbols.list.iter().map(|symbol| symbol.name.as_str()).collect::<Vec<_>>(), ["first", "later"]);
        assert_eq!(symbols.address("later"), Some(0xff_ff20));
    }

    #[test]
    fn versions_are_compared_by_number() {
        assert!(version_key("linux-image-6.1.0-9-cloud-amd64") < version_key("linux-image-6.1.0-56-cloud-amd64"));
    }
}
