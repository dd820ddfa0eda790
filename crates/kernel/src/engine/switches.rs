// SPDX-License-Identifier: GPL-2.0-or-later
//! Features, tunables, slices and fair servers of the tree.
//!
//! A tunable of the built-in scheduler that the tree does not have may be set to its default: such an entry
//! describes what the tree does anyway. One tunable is fairlab's own, see [`SCAN_COST`].

use super::KernelEngine;
use crate::object::ENOENT;
use fairlab_machine::engine::{TunableState, unknown_switch};
use fairlab_sched::ctx::Ctx;
use fairlab_sched::ids::{CpuId, TaskId};
use fairlab_sched::series::KernelSeries;
use fairlab_sched::tunables::{TunableInfo, Tunables};
use fairlab_sched::units::Nanos;
use fairlab_sched::work::KernelOp;
use fairlab_workload::message::Message;

/// Tunable for the cost that the search before 5.19 measures for each scanned CPU, in ns. It exists in trees with
/// the feature [`MEASURED_SEARCH`].
const SCAN_COST: &str = "scan_cost";
const MEASURED_SEARCH: &str = "SIS_PROP";

/// CPU whose idle task writes features and tunables.
const WRITER: u32 = 0;

impl KernelEngine {
    /// Returns the tunables of the tree.
    pub(super) fn tunables_of_tree(&self) -> Vec<TunableState> {
        let mut tunables = self.object.tunables();
        if let Some(info) = TunableInfo::from_name(SCAN_COST).filter(|_| self.measures_searches()) {
            tunables.push(TunableState {
                name: SCAN_COST.to_owned(),
                value: i64::from(self.scan_cost_ns),
                min: *info.range.start(),
                max: *info.range.end(),
            });
        }
        tunables
    }

    fn measures_searches(&self) -> bool {
        self.search.is_some() && self.object.features().iter().any(|feature| feature.name == MEASURED_SEARCH)
    }

    pub(super) fn switch_feature(&self, name: &str, on: bool) -> Result<(), Message> {
        self.object.set_feature(name, on).map_err(|_| {
            let features = self.object.features();
            unknown_switch("feature", name, features.iter().map(|feature| feature.name.as_str()))
        })
    }

    pub(super) fn write_tunable(&mut self, name: &str, value: i64) -> Result<(), Message> {
        // Before the boot a tree has no files. Machines write each tunable again after it.
        if !self.object.is_booted() {
            return Ok(());
        }
        if name == SCAN_COST && self.measures_searches() {
            self.scan_cost_ns = u32::try_from(value).unwrap_or(u32::MAX);
            let search = self.search.expect("searches are measured");
            self.object.measure(search, KernelOp::ScanCpu as usize, self.scan_cost_ns);
            return Ok(());
        }
        let is_default = || {
            // A tree without a published change's tunable behaves as 6.1 does by default.
            let defaults = Tunables::of_machine(KernelSeries::V6_1, self.topology.cpus.len());
            TunableInfo::from_name(name).is_some_and(|info| info.get(&defaults) == value)
        };
        match self.object.set_tunable(WRITER, name, value) {
            Err(ENOENT) if is_default() => Ok(()),
            set => set.map_err(|errno| self.tunable_error(name, value, errno)),
        }
    }

    fn tunable_error(&self, name: &str, value: i64, errno: i32) -> Message {
        let tunables = self.tunables_of_tree();
        let Some(tunable) = tunables.iter().find(|tunable| tunable.name == name) else {
            return unknown_switch("tunable", name, tunables.iter().map(|tunable| tunable.name.as_str()));
        };
        let (min, max) = (tunable.min, tunable.max);
        if (min..=max).contains(&value) {
            return Message::new(format!("tunable {name}: the kernel rejects {value} (error {})", -errno));
        }
        Message::new(format!("tunable {name}: {value} is not in {min}..{max}"))
    }

    pub(super) fn change_slice(&mut self, ctx: &mut Ctx<'_>, task: TaskId, slice: Nanos) -> Result<(), i32> {
        if !self.object.has_slices() {
            return Ok(());
        }
        self.enter(ctx, c"sched_setattr", |object, cpu| object.set_slice(cpu, task.0, slice.0))
    }

    pub(super) fn change_fair_server(
        &mut self,
        ctx: &mut Ctx<'_>,
        cpu: CpuId,
        runtime: Nanos,
        period: Nanos,
    ) -> Result<(), i32> {
        if !self.object.has_fair_servers() {
            return Ok(());
        }
        self.enter(ctx, c"fair_server", |object, on| object.set_fair_server(on, cpu.0, runtime.0, period.0))
    }
}
