// SPDX-License-Identifier: GPL-2.0-or-later
//! Kernel, its configuration and the processor, as far as results depend on them.

use flate2::read::GzDecoder;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::Read;

/// Maximum size of a kernel configuration that is read.
const MAX_CONFIG_BYTES: u64 = 4 << 20;

/// Description of a kernel and its processor. A field is absent if it cannot be read without root.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct KernelInfo {
    /// Release, such as `6.12.48+deb13-amd64`.
    pub release: String,
    /// Architecture, such as `x86_64`.
    pub arch: String,
    /// Model of the processor.
    pub processor: Option<String>,
    /// Whether the machine is a guest of a hypervisor.
    pub is_virtual: bool,
    /// Preemption model: `none`, `voluntary`, `full`, `lazy` or `rt`.
    pub preemption: Option<String>,
    /// Ticks per second (`CONFIG_HZ`).
    pub hz: Option<u32>,
    /// Whether pressure stall information is accounted.
    pub psi: bool,
    /// Whether AppArmor is active.
    pub apparmor: bool,
    /// Whether tasks of a session form a task group.
    pub autogroup: bool,
    /// Task groups around the process, without the root group.
    pub group_levels: u32,
    /// Driver of idle states; absent if idle CPUs only halt or poll.
    pub idle_driver: Option<String>,
    /// Vulnerabilities of the processor that the kernel mitigates, with the method: `spectre_v2: Retpolines`. Some make
    /// every function return or indirect call slower.
    pub mitigations: Vec<String>,
}

impl KernelInfo {
    /// Describes the kernel that runs now.
    pub fn current() -> Self {
        let config = config();
        let has = |option: &str| config.lines().any(|line| line.strip_prefix(option) == Some("=y"));
        let version = read_line("/proc/sys/kernel/version").unwrap_or_default();
        Self {
            release: read_line("/proc/sys/kernel/osrelease").unwrap_or_default(),
            arch: std::env::consts::ARCH.to_owned(),
            processor: cpuinfo("model name").or_else(|| cpuinfo("Hardware")),
            is_virtual: cpuinfo("flags").is_some_and(|flags| flags.split(' ').any(|flag| flag == "hypervisor")),
            preemption: preemption(&version, &has),
            hz: config.lines().find_map(|line| line.strip_prefix("CONFIG_HZ=")?.parse().ok()),
            psi: fs::read("/proc/pressure/cpu").is_ok(),
            apparmor: read_line("/sys/module/apparmor/parameters/enabled").is_some_and(|text| text == "Y"),
            autogroup: read_line("/proc/sys/kernel/sched_autogroup_enabled").is_some_and(|text| text == "1"),
            group_levels: group_levels(&fs::read_to_string("/proc/self/cgroup").unwrap_or_default()),
            idle_driver: read_line("/sys/devices/system/cpu/cpuidle/current_driver").filter(|name| name != "none"),
            mitigations: mitigations(),
        }
    }

    /// Returns the description in one line for people.
    pub fn text(&self) -> String {
        let on_off = |name: &str, is_on: bool| format!("{name} {}", if is_on { "on" } else { "off" });
        let known = |value: Option<String>| value.unwrap_or_else(|| "unknown".to_owned());
        [
            format!("Linux {} ({})", self.release, self.arch),
            known(self.processor.clone()) + if self.is_virtual { ", virtual machine" } else { "" },
            format!("preemption {}", known(self.preemption.clone())),
            format!("HZ {}", known(self.hz.map(|hz| hz.to_string()))),
            on_off("PSI", self.psi),
            on_off("AppArmor", self.apparmor),
            on_off("autogroup", self.autogroup),
            format!("task groups: {}", self.group_levels),
            format!("idle driver: {}", self.idle_driver.as_deref().unwrap_or("none")),
        ]
        .join("; ")
    }
}

/// Returns the first line of a file, if it can be read and is not empty.
pub(crate) fn read_line(path: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    text.lines().next().map(|line| line.trim().to_owned()).filter(|line| !line.is_empty())
}

/// Returns the value of the first line of `/proc/cpuinfo` with this key.
fn cpuinfo(key: &str) -> Option<String> {
    let text = fs::read_to_string("/proc/cpuinfo").ok()?;
    text.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        (name.trim() == key).then(|| value.trim().to_owned())
    })
}

/// Returns the configuration of the running kernel; empty if there is none to read.
fn config() -> String {
    if let Ok(file) = fs::File::open("/proc/config.gz") {
        let mut text = String::new();
        if GzDecoder::new(file).take(MAX_CONFIG_BYTES).read_to_string(&mut text).is_ok() {
            return text;
        }
    }
    let release = read_line("/proc/sys/kernel/osrelease").unwrap_or_default();
    fs::read_to_string(format!("/boot/config-{release}")).unwrap_or_default()
}

/// Returns the preemption model: what was chosen at boot, or what the kernel was built with.
fn preemption(version: &str, has: &impl Fn(&str) -> bool) -> Option<String> {
    // debugfs marks the active model with brackets, as in "none voluntary (full)". Only root reads it.
    let active = read_line("/sys/kernel/debug/sched/preempt").and_then(|models| {
        let (_, rest) = models.split_once('(')?;
        Some(rest.split_once(')')?.0.to_owned())
    });
    let at_boot = || {
        let line = fs::read_to_string("/proc/cmdline").ok()?;
        line.split_whitespace().find_map(|word| Some(word.strip_prefix("preempt=")?.to_owned()))
    };
    let built = || {
        let models = [
            ("CONFIG_PREEMPT_RT", "rt"),
            ("CONFIG_PREEMPT_LAZY", "lazy"),
            ("CONFIG_PREEMPT", "full"),
            ("CONFIG_PREEMPT_VOLUNTARY", "voluntary"),
            ("CONFIG_PREEMPT_NONE", "none"),
        ];
        models.iter().find(|(option, _)| has(option)).map(|(_, model)| (*model).to_owned())
    };
    let by_version = || {
        let is_full = version.contains(" PREEMPT ");
        is_full.then(|| "full".to_owned())
    };
    active.or_else(at_boot).or_else(built).or_else(by_version)
}

/// Returns the number of task groups around a process, from `/proc/PID/cgroup`.
fn group_levels(text: &str) -> u32 {
    // The unified hierarchy has the number 0. In the older layout the cpu controller has a line of its own.
    let path = |is_wanted: &dyn Fn(&str) -> bool| {
        text.lines().find_map(|line| {
            let mut parts = line.splitn(3, ':').skip(1);
            let (controllers, path) = (parts.next()?, parts.next()?);
            is_wanted(controllers).then_some(path)
        })
    };
    let path =
        path(&|names| names.split(',').any(|name| name == "cpu")).or_else(|| path(&str::is_empty)).unwrap_or("/");
    path.split('/').filter(|part| !part.is_empty()).count() as u32
}

/// Returns the vulnerabilities of the processor for which the kernel has a method, each with its methods.
fn mitigations() -> Vec<String> {
    let Ok(entries) = fs::read_dir("/sys/devices/system/cpu/vulnerabilities") else { return Vec::new() };
    let mut found: Vec<String> = entries
        .flatten()
        .filter_map(|entry| {
            let text = fs::read_to_string(entry.path()).ok()?;
            Some(format!("{}: {}", entry.file_name().to_string_lossy(), methods(&text)?))
        })
        .collect();
    found.sort_unstable();
    found
}

/// Returns the methods in the state of a vulnerability, such as `Retpolines; STIBP: disabled` or `Safe RET, no microcode`. A
/// state of `Vulnerable` has them too, if they are not sufficient.
fn methods(state: &str) -> Option<&str> {
    let methods = state.strip_prefix("Mitigation: ").or_else(|| state.strip_prefix("Vulnerable: "))?.trim();
    (!methods.is_empty()).then_some(methods)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn task_groups_are_those_of_the_cpu_controller() {
        assert_eq!(group_levels("0::/user.slice/user-0.slice/session-1.scope\n"), 3);
        assert_eq!(group_levels("4:memory:/a/b\n2:cpu,cpuacct:/a\n0::/x/y/z\n"), 1);
        assert_eq!(group_levels("1:cpu:/\n0::/x\n"), 0);
        assert_eq!(group_levels(""), 0);
    }

    #[test]
    fn methods_of_a_vulnerability_are_read_even_if_they_are_not_sufficient() {
        assert_eq!(methods("Mitigation: Retpolines; STIBP: disabled\n"), Some("Retpolines; STIBP: disabled"));
        assert_eq!(methods("Vulnerable: Safe RET, no microcode\n"), Some("Safe RET, no microcode"));
        assert_eq!([methods("Not affected\n"), methods("Vulnerable\n")], [None, None]);
    }

    #[test]
    fn the_present_kernel_has_a_release_and_a_text() {
        let info = KernelInfo::current();
        assert!(info.text().contains("HZ ") && info.text().contains(&info.release), "{}", info.text());
    }
}
