// SPDX-License-Identifier: GPL-2.0-or-later
//! Counts what running kernels execute, and writes count sheets.
//!
//! A count boots a kernel of Debian under QEMU with a plugin (`xtask/count/plugin.c`) and a program of its own as the first
//! process (`xtask/count/guest`). The plugin counts instructions and transfers of cache lines by side (system call, interrupt,
//! idle loop), part of the kernel, and function. A sheet is the mean of several counts. See the book's page "Counted costs".

mod boot;
mod counts;
mod idle_states;
mod kernel;
mod owners;
mod parts;
mod sheet;

use anyhow::{Context, Result, bail};
use boot::Guest;
use clap::ValueEnum;
pub(crate) use kernel::{Kernel, output};
use owners::Owners;
use parts::Parts;
use std::fs;
use std::path::{Path, PathBuf};

/// Counts kernels, and writes sheets.
#[derive(clap::Args)]
pub(crate) struct CountArgs {
    /// Kernel series of Debian's cloud kernels, for example 6.12.
    series: String,
    /// Architecture.
    #[arg(value_enum)]
    arch: Arch,
    /// Number of counts.
    #[arg(long, default_value_t = 5)]
    counts: u32,
    /// Number of CPUs. With one, operations that need two are left out.
    #[arg(long, default_value_t = 2)]
    cpus: u32,
    /// Name of the variant in the name of the sheet, for example `psi0`. `balance` counts passes of load balancing
    /// instead of the other operations.
    #[arg(long)]
    variant: Option<String>,
    /// Words to append to the kernel's command line, for example `psi=0`.
    #[arg(long, default_value = "")]
    append: String,
    /// Directory of the sheets.
    #[arg(long, short, default_value = "sheets")]
    output: PathBuf,
}

/// Architecture of a counted kernel.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Arch {
    #[value(name = "x86_64")]
    X86_64,
    #[value(name = "arm64")]
    Arm64,
}

impl Arch {
    fn name(self) -> &'static str {
        match self {
            Self::X86_64 => "x86_64",
            Self::Arm64 => "arm64",
        }
    }

    /// Name of the driver that the kernel takes with the guest's firmware tables.
    fn idle_driver(self) -> &'static str {
        match self {
            Self::X86_64 => "acpi_idle",
            Self::Arm64 => "psci_idle",
        }
    }
}

/// A boot of a count.
#[derive(Clone, Copy)]
struct Boot {
    /// Name of the measurement, which the guest knows.
    measured: &'static str,
    /// Duration of an instruction in nanoseconds, as a power of two. A slow processor has few instructions between
    /// two ticks.
    shift: u32,
    /// Number of CPUs, if it is not that of the command line.
    nr_cpus: Option<u32>,
}

const BOOTS: [Boot; 3] = [
    Boot { measured: "operations", shift: 1, nr_cpus: None },
    Boot { measured: "messaging", shift: 1, nr_cpus: None },
    Boot { measured: "ticks", shift: 5, nr_cpus: None },
];

/// Boots of the variant `balance`: passes over different numbers of CPUs, whose difference is the cost of a CPU.
const BALANCE_BOOTS: [Boot; 2] = [
    Boot { measured: "balance", shift: 1, nr_cpus: Some(4) },
    Boot { measured: "balance", shift: 1, nr_cpus: Some(12) },
];
const BALANCE: &str = "balance";

pub(crate) fn run(root: &Path, args: &CountArgs) -> Result<()> {
    if args.counts == 0 || args.cpus == 0 {
        bail!("a sheet needs at least one count and one CPU");
    }
    let kernel = Kernel::find(&args.series, args.arch)?;
    let mut name = format!("{}-{}", args.series, args.arch.name());
    if let Some(variant) = &args.variant {
        name = format!("{name}-{variant}");
    }
    let work = root.join("target/count").join(&name);
    let guest = Guest::build(&root.join("xtask/count"), &work, args.arch, args.cpus)?;
    let symbols = kernel.symbols(|| guest.boot(&kernel.image, "print-symbols", 1, None))?;
    let parts = Parts::read(&root.join("xtask/count/parts.toml"))?;
    let functions = parts.functions(&symbols);

    let boots = if args.variant.as_deref() == Some(BALANCE) { BALANCE_BOOTS.as_slice() } else { &BOOTS };
    let mut counts = Vec::new();
    for number in 1..=args.counts {
        let mut operations = Vec::new();
        for &boot in boots {
            let mut measured = boot.measured.to_owned();
            if let Some(nr_cpus) = boot.nr_cpus {
                measured = format!("{measured}-{nr_cpus}cpus");
            }
            let directory = work.join(number.to_string()).join(&measured);
            if !is_complete(&directory, &functions, &guest) {
                println!("{name}: count {number} of {}, {measured}", args.counts);
                let guest = guest.with_cpus(boot.nr_cpus.unwrap_or(args.cpus));
                let append = format!("measure={} {}", boot.measured, args.append);
                count(&kernel, &guest, &directory, &functions, &symbols, &append, boot.shift)?;
            }
            operations.extend(counts::read(&directory, Owners::new(&symbols))?);
        }
        counts.push(operations);
    }
    let directory = root.join(&args.output).join(&name);
    let command_line = [guest.words(), &args.append].join(" ");
    let mut cpus: Vec<String> = boots.iter().map(|boot| boot.nr_cpus.unwrap_or(args.cpus).to_string()).collect();
    cpus.dedup();
    let machine = format!("{} CPUs, idle driver {}", cpus.join(" and "), args.arch.idle_driver());
    sheet::write(&directory, &symbols.release, args.arch.name(), &machine, command_line.trim(), &counts)?;
    println!("{}", directory.display());
    Ok(())
}

/// Boots the kernel once with the plugin. Results are complete once `console` and `functions` exist.
fn count(
    kernel: &Kernel,
    guest: &Guest,
    directory: &Path,
    functions: &str,
    symbols: &kernel::Symbols,
    append: &str,
    shift: u32,
) -> Result<()> {
    if directory.exists() {
        fs::remove_dir_all(directory)?;
    }
    fs::create_dir_all(directory)?;
    fs::write(directory.join("functions"), functions)?;
    let offsets = symbols.address("__per_cpu_offset").unwrap_or_default();
    let console = guest.boot(&kernel.image, &format!("per_cpu_offset={offsets:x} {append}"), shift, Some(directory))?;
    let path = directory.join("console");
    fs::write(&path, &console)?;
    if !console.contains("DONE") {
        let last = console.lines().last().unwrap_or_default();
        bail!("{}: the guest did not finish its measurements: {last}", path.display());
    }
    if !console.contains(&format!("IDLE DRIVER {}", guest.arch.idle_driver())) {
        bail!("{}: the kernel has no idle driver {}", path.display(), guest.arch.idle_driver());
    }
    fs::copy(&guest.program, directory.join("guest")).context("cannot keep the guest program")?;
    Ok(())
}

/// Whether a directory has a finished count of these functions and this guest.
fn is_complete(directory: &Path, functions: &str, guest: &Guest) -> bool {
    let equals = |file: &str, content: &[u8]| fs::read(directory.join(file)).is_ok_and(|found| found == content);
    equals("functions", functions.as_bytes()) && fs::read(&guest.program).is_ok_and(|program| equals("guest", &program))
}
