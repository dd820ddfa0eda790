// SPDX-License-Identifier: GPL-2.0-or-later
//! Initial RAM disk with programs and their libraries, and its boot.

use crate::count::{Arch, Kernel, output};
use anyhow::{Context, Result, bail};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Seconds after which a boot is given up.
const LIMIT_S: &str = "900";

/// Memory of the guest in MiB.
pub(super) const MEMORY_MIB: u32 = 1024;

/// Guest that runs one script.
pub(super) struct Guest {
    /// Directory of the guest's files, and of what it prints.
    work: PathBuf,
    nr_cpus: u32,
}

impl Guest {
    /// Returns the guest with this name, which has no files yet.
    pub(super) fn new(root: &Path, name: &str, nr_cpus: u32) -> Self {
        let work = root.join("target/real-programs").join(format!("{name}-{nr_cpus}"));
        Self { work, nr_cpus }
    }

    /// Returns the file with what the guest prints on a kernel.
    pub(super) fn console(&self, series: &str) -> PathBuf {
        self.work.join(format!("console-{series}"))
    }

    /// Collects a script and the files that it needs in a RAM disk.
    pub(super) fn build(&self, root: &Path, script: &str, files: &[String], directory: Option<&Path>) -> Result<()> {
        let sources = root.join("xtask/real-programs");
        let disk = self.work.join("root");
        if disk.exists() {
            fs::remove_dir_all(&disk)?;
        }
        for place in ["bin", "usr/bin", "data"] {
            fs::create_dir_all(disk.join(place))?;
        }
        fs::copy(sources.join("init.sh"), disk.join("init"))?;
        output(Command::new("chmod").arg("+x").arg(disk.join("init")))?;
        fs::write(disk.join("script"), script)?;
        let calibrate = disk.join("usr/bin/calibrate");
        output(Command::new("gcc").args(["-O2", "-static", "-o"]).arg(calibrate).arg(sources.join("calibrate.c")))?;
        copy_program(&find("busybox", directory)?, &disk.join("bin"), &disk)?;
        for file in files {
            if file.contains('/') {
                let file = root.join(file);
                let name = file.file_name().context("a file has a name")?;
                fs::copy(&file, disk.join("data").join(name)).with_context(|| file.display().to_string())?;
            } else {
                copy_program(&find(file, directory)?, &disk.join("usr/bin"), &disk)?;
            }
        }
        let archive = "find . | cpio --quiet -o -H newc >../ram-disk";
        output(Command::new("sh").args(["-c", archive]).current_dir(&disk))?;
        Ok(())
    }

    /// Boots a kernel with further options of QEMU. An instruction takes 1 ns.
    pub(super) fn boot(&self, series: &str, options: &[&str]) -> Result<()> {
        let kernel = Kernel::find(series, Arch::X86_64)?;
        let path = self.console(series);
        let mut qemu = Command::new("timeout");
        qemu.args([LIMIT_S, "qemu-system-x86_64"]);
        // As in `cargo xtask count`. Without random addresses, boots are equal; self-tests of ciphers would run beside the
        // program.
        qemu.args(["-M", "q35,hpet=on", "-cpu", "max,+invtsc,migratable=off,erms=off,fsrm=off"]);
        qemu.args(["-accel", "tcg,thread=single", "-icount", "shift=0,sleep=off", "-m", &MEMORY_MIB.to_string()]);
        qemu.args(["-nographic", "-no-reboot", "-smp", &self.nr_cpus.to_string()]).args(options);
        qemu.arg("-kernel").arg(&kernel.image).arg("-initrd").arg(self.work.join("ram-disk"));
        let words = "console=ttyS0 nokaslr quiet panic=-1 tsc=reliable no_timer_check nowatchdog slab_nomerge";
        qemu.args(["-append", &format!("{words} no_hash_pointers norandmaps cryptomgr.notests")]);
        let printed = fs::File::create(&path)?;
        qemu.stdin(Stdio::null()).stdout(printed).stderr(Stdio::null()).status()?;
        if !is_complete(&path) {
            bail!("{}: the guest did not finish\nhelp: Debian's package is qemu-system-x86", path.display());
        }
        Ok(())
    }
}

/// Whether a guest has printed everything to this file.
pub(super) fn is_complete(console: &Path) -> bool {
    fs::read_to_string(console).is_ok_and(|text| text.contains("\nDONE"))
}

/// Returns the path of a program, from the directory or the PATH.
fn find(name: &str, directory: Option<&Path>) -> Result<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut places = directory.map(Path::to_owned).into_iter().chain(std::env::split_paths(&path));
    places.find_map(|place| Some(place.join(name)).filter(|file| file.is_file())).with_context(|| {
        format!(
            "there is no {name}\nhelp: Debian's packages are busybox-static, rt-tests, linux-perf, stress-ng, sysbench, rt-app \
             and dbench; --directory has programs that are built from source"
        )
    })
}

/// Copies a program to a directory of the RAM disk, with the libraries that it needs.
fn copy_program(file: &Path, to: &Path, disk: &Path) -> Result<()> {
    fs::copy(file, to.join(file.file_name().context("a program has a name")?))?;
    // A static program has no libraries, and `ldd` fails.
    let libraries = Command::new("ldd").arg(file).output().context("cannot run ldd")?;
    for word in String::from_utf8_lossy(&libraries.stdout).split_whitespace().filter(|word| word.starts_with('/')) {
        let place = disk.join(word.trim_start_matches('/'));
        if let Some(parent) = place.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::copy(word, place).with_context(|| word.to_owned())?;
    }
    Ok(())
}
