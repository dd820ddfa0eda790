// SPDX-License-Identifier: GPL-2.0-or-later
//! Builds the plugin and the guest program, and boots kernels with them.

use super::Arch;
use super::idle_states;
use super::kernel::output;
use anyhow::{Context, Result};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Guest program in an initial RAM disk, and the plugin.
#[derive(Clone)]
pub(super) struct Guest {
    /// First program of the guest.
    pub(super) program: PathBuf,
    plugin: PathBuf,
    ram_disk: PathBuf,
    /// Directory of tables that are made for a boot.
    work: PathBuf,
    pub(super) arch: Arch,
    nr_cpus: u32,
}

impl Guest {
    /// Builds the plugin and the guest program below `work`.
    pub(super) fn build(sources: &Path, work: &Path, arch: Arch, nr_cpus: u32) -> Result<Self> {
        let root = work.join("root");
        fs::create_dir_all(&root)?;
        let guest = Self {
            program: root.join("init"),
            plugin: work.join("plugin.so"),
            ram_disk: work.join("ram-disk"),
            work: work.to_owned(),
            arch,
            nr_cpus,
        };
        output(
            Command::new("gcc")
                .args(["-O2", "-Wall", "-shared", "-fPIC", "-o"])
                .arg(&guest.plugin)
                .arg(sources.join("plugin.c")),
        )?;
        let compiler = if arch == Arch::X86_64 { "gcc" } else { "aarch64-linux-gnu-gcc" };
        let mut compile = Command::new(compiler);
        compile.args(["-O2", "-Wall", "-static", "-pthread", "-o"]).arg(&guest.program);
        let mut files: Vec<_> =
            fs::read_dir(sources.join("guest"))?.filter_map(Result::ok).map(|entry| entry.path()).collect();
        files.retain(|path| path.extension().is_some_and(|extension| extension == "c"));
        files.sort();
        output(compile.args(&files))
            .context("Debian's packages are gcc, gcc-aarch64-linux-gnu and libc6-dev-arm64-cross")?;
        let archive = "find . | cpio --quiet -o -H newc >\"$0\"";
        output(Command::new("sh").args(["-c", archive]).arg(&guest.ram_disk).current_dir(&root))?;
        Ok(guest)
    }

    /// Returns the guest with this number of CPUs.
    pub(super) fn with_cpus(&self, nr_cpus: u32) -> Self {
        Self { nr_cpus, ..self.clone() }
    }

    /// Words of the kernel's command line that every boot has.
    pub(super) fn words(&self) -> &'static str {
        // Guest time follows instructions, so clocks need no check, and slab caches keep names of their own.
        match self.arch {
            Arch::X86_64 => {
                "nokaslr quiet panic=-1 tsc=reliable no_timer_check nowatchdog slab_nomerge no_hash_pointers"
            }
            Arch::Arm64 => "nokaslr quiet panic=-1 nowatchdog slab_nomerge no_hash_pointers",
        }
    }

    /// Boots a kernel, and returns what it prints. With a directory, the plugin counts and leaves its files there.
    ///
    /// Without `rep movsb`, whose bytes QEMU would execute one by one, copies move eight bytes at a time.
    ///
    /// An instruction takes 2 to the power of `shift` ns of guest time. 6.1 on x86-64 with two CPUs is the exception: its second CPU only starts on the
    /// host's clock (QEMU 7.2).
    pub(super) fn boot(&self, image: &Path, append: &str, shift: u32, counted: Option<&Path>) -> Result<String> {
        let (program, machine, console) = match self.arch {
            Arch::X86_64 => {
                ("qemu-system-x86_64", "-M q35,hpet=on -cpu max,+invtsc,migratable=off,erms=off,fsrm=off", "ttyS0")
            }
            Arch::Arm64 => ("qemu-system-aarch64", "-M virt -cpu max,pauth-impdef=on", "ttyAMA0"),
        };
        let has_host_clock = self.arch == Arch::X86_64
            && self.nr_cpus > 1
            && image.file_name().is_some_and(|name| name.to_string_lossy().contains("-6.1."));
        // GICv2, the default, has eight CPUs at most.
        let machine = if self.arch == Arch::Arm64 && self.nr_cpus > 8 {
            machine.replace("-M virt", "-M virt,gic-version=3")
        } else {
            machine.to_owned()
        };
        let mut words: Vec<String> = [program].into_iter().chain(machine.split(' ')).map(str::to_owned).collect();
        words.extend(["-accel", "tcg,thread=single", "-m", "512", "-nographic", "-no-reboot"].map(str::to_owned));
        words.extend(["-smp".to_owned(), self.nr_cpus.to_string()]);
        let idle_states = idle_states::options(&self.work, self.arch, self.nr_cpus, &words)?;
        let mut qemu = Command::new(program);
        qemu.args(&words[1..]).args(idle_states);
        if !has_host_clock {
            qemu.args(["-icount", &format!("shift={shift},sleep=off")]);
        }
        qemu.arg("-kernel").arg(image).arg("-initrd").arg(&self.ram_disk);
        qemu.args(["-append", &format!("console={console} {} {append}", self.words())]);
        if let Some(directory) = counted {
            qemu.arg("-plugin").arg(&self.plugin).current_dir(directory);
        }
        let output = qemu.stdin(Stdio::null()).output().with_context(|| {
            format!("cannot run {program}; Debian's packages are qemu-system-x86 and qemu-system-arm")
        })?;
        Ok(String::from_utf8_lossy(&output.stdout).replace('\r', "") + &String::from_utf8_lossy(&output.stderr))
    }
}
