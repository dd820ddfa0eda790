// SPDX-License-Identifier: GPL-2.0-or-later
//! Second compilation of the scheduler, for the object that reports all functions that are entered
//! ([`functions::traced_object`](crate::functions::traced_object)).
//!
//! Hooks in all functions cost a third of a run's time, and only the comparison of two kernels' calls needs them. So
//! the objects of `kernel/sched` exist twice. The second ones are made by the recorded commands of the first, without
//! the list of functions that have no hooks. Each build makes them again: no record decides whether they are reused.

use super::{HOST_FLAGS, RunningBuild, process, record, uncounted_flag};
use crate::error::KernelError;
use std::fmt::Write as _;

/// Folder of the objects that are compiled a second time.
const TRACED_FOLDER: &str = "kernel/sched/";
/// The host's file with the hooks, and the flag for those of the object for traces.
const HOST: &str = "fl-host";
pub(super) const HOST_FLAG: &str = "-DFL_TRACED";
/// Commands in the form of make, which quotes `#` so.
const MAKEFILE: &str = "traced.mk";
const MAKEFILE_HEAD: &str = "pound := \\#\n";

impl RunningBuild<'_> {
    /// Compiles the objects of the scheduler and the hooks for traces. Returns all objects to link.
    pub(super) fn compile_traced(&self, objects: &[String]) -> Result<Vec<String>, KernelError> {
        let (host, host_source) = (format!("{HOST}.o"), format!("{HOST}.c"));
        let (mut rules, mut again, mut all) = (String::new(), Vec::new(), Vec::new());
        for object in objects {
            if *object == host {
                all.push(format!("{HOST}-traced.o"));
            } else if object.starts_with(TRACED_FOLDER) {
                let (name, result) = traced_names(object);
                let command = record::command_of(&self.dir.build, object)?;
                let command = command.replace(&uncounted_flag(), "").replace(name, &result);
                let target = object.replace(name, &result);
                writeln!(rules, "{target}:\n\t{command}").expect("a string takes text");
                again.push(target.clone());
                all.push(target);
            } else {
                all.push(object.clone());
            }
        }
        let targets = again.join(" ");
        self.write(MAKEFILE, &format!("{MAKEFILE_HEAD}all: {targets}\n.PHONY: all {targets}\n{rules}"))?;
        let jobs = std::thread::available_parallelism().map_or(1, usize::from);
        let mut make = process::tool("make");
        make.args(["-s", "--no-print-directory", "-f", MAKEFILE, &format!("-j{jobs}"), "all"]);
        let run = self.output(make.current_dir(&self.dir.build))?;
        self.check_status("the second compilation", &run)?;
        let path_flags = self.path_flags();
        let path_flags = path_flags.each_ref().map(String::as_str);
        let traced_host = format!("{HOST}-traced.o");
        let output = [HOST_FLAG, "-o", &traced_host, &host_source];
        self.run("gcc", &[&path_flags, &HOST_FLAGS[..], &output].concat())?;
        Ok(all)
    }
}

/// Returns the file name of an object, and that of its second compilation.
fn traced_names(object: &str) -> (&str, String) {
    let name = object.rsplit('/').next().unwrap_or(object);
    (name, name.replace(".o", ".traced.o"))
}
