// SPDX-License-Identifier: GPL-2.0-or-later
//! Firmware tables that give the guest an idle driver.
//!
//! QEMU's machines declare no idle states, so a kernel halts without a driver and its governor never runs. With these
//! tables the kernel loads the driver that a real machine of the architecture has (`acpi_idle`, `psci_idle`), and `menu`
//! chooses between two states. Both states halt the virtual CPU.

use super::Arch;
use super::kernel::output;
use anyhow::{Context, Result};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Phandle of the idle state in a device tree; QEMU's own are below.
const STATE_PHANDLE: &str = "<0xf000>";

/// Writes the tables of a guest to `work`, and returns QEMU's options for them.
pub(super) fn options(work: &Path, arch: Arch, nr_cpus: u32, qemu: &[String]) -> Result<[String; 2]> {
    match arch {
        Arch::X86_64 => {
            let table = acpi_table(work, nr_cpus).context("Debian's package of iasl is acpica-tools")?;
            Ok(["-acpitable".to_owned(), format!("file={}", table.display())])
        }
        Arch::Arm64 => {
            let tree = device_tree(work, nr_cpus, qemu).context("Debian's package of dtc is device-tree-compiler")?;
            Ok(["-dtb".to_owned(), tree.display().to_string()])
        }
    }
}

/// Compiles an ACPI table with `_CST` of each CPU: two states of type C1 with latencies of 1 and 2 us, whose method is the
/// HLT instruction. The menu governor does not read their power.
fn acpi_table(work: &Path, nr_cpus: u32) -> Result<PathBuf> {
    let halt = |number: u32| {
        format!("Package () {{ ResourceTemplate () {{ Register (FFixedHW, 0, 0, 0) }}, 1, {number}, 1000 }}")
    };
    let (first, second) = (halt(1), halt(2));
    let mut source = "DefinitionBlock (\"\", \"SSDT\", 2, \"FAIRLB\", \"IDLE\", 1)\n{\n".to_owned();
    for cpu in 0..nr_cpus {
        writeln!(source, "    External (\\_SB.CPUS.C{cpu:03X}, DeviceObj)")?;
        writeln!(source, "    Scope (\\_SB.CPUS.C{cpu:03X}) {{ Name (_CST, Package () {{ 2, {first}, {second} }}) }}")?;
    }
    source.push_str("}\n");
    let path = work.join(format!("idle-{nr_cpus}cpus.asl"));
    fs::write(&path, source)?;
    output(Command::new("iasl").arg("-p").arg(path.with_extension("")).arg(&path))?;
    Ok(path.with_extension("aml"))
}

/// Adds a standby state of PSCI to QEMU's device tree, for each CPU. Its latencies are those of `CPU_SLEEP` of the
/// HiKey 960, so that a short sleep waits for interrupts without it, as on that board.
fn device_tree(work: &Path, nr_cpus: u32, qemu: &[String]) -> Result<PathBuf> {
    let [own, source, changed] = ["own.dtb", "dts", "dtb"].map(|end| work.join(format!("idle-{nr_cpus}cpus.{end}")));
    let mut dump: Vec<String> = qemu.to_vec();
    let machine = dump.iter().position(|word| word == "-M").context("QEMU's options name a machine")? + 1;
    write!(dump[machine], ",dumpdtb={}", own.display())?;
    output(Command::new(&dump[0]).args(&dump[1..]))?;
    output(Command::new("dtc").args(["-q", "-I", "dtb", "-O", "dts", "-o"]).arg(&source).arg(&own))?;
    let mut text = String::new();
    let mut has_state = false;
    for line in fs::read_to_string(&source)?.lines() {
        let node = line.trim();
        let is_cpu = node.starts_with("cpu@") && node.ends_with('{');
        if !has_state && (is_cpu || node == "cpu-map {") {
            has_state = true;
            writeln!(
                text,
                "idle-states {{ entry-method = \"psci\"; standby {{ compatible = \"arm,idle-state\"; phandle = {STATE_PHANDLE}; \
                 arm,psci-suspend-param = <0>; entry-latency-us = <400>; exit-latency-us = <650>; min-residency-us = <1500>; }}; }};"
            )?;
        }
        writeln!(text, "{line}")?;
        if is_cpu {
            writeln!(text, "cpu-idle-states = {STATE_PHANDLE};")?;
        }
    }
    fs::write(&source, text)?;
    output(Command::new("dtc").args(["-q", "-I", "dts", "-O", "dtb", "-o"]).arg(&changed).arg(&source))?;
    Ok(changed)
}
