// SPDX-License-Identifier: GPL-2.0-or-later
//! Features and tunables of an engine's kernel: their names, current values and ranges.

use crate::interface::snapshot::BuiltInScheduler;
use fairlab_sched::features::Feature;
use fairlab_sched::sched::Sched;
use fairlab_sched::tunables::TunableInfo;
use fairlab_workload::message::Message;
use fairlab_workload::suggest;
use fairlab_workload::tunable_name::TunableName;
use serde::{Deserialize, Serialize};

/// Feature of a kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FeatureState {
    /// Name in debugfs `sched/features`.
    pub name: String,
    /// Whether it is enabled.
    pub is_on: bool,
}

/// Tunable of a kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TunableState {
    /// Name in debugfs `sched/` or in `/proc/sys/kernel`, without `sched_`.
    pub name: String,
    /// Current value, in the unit that the name ends in.
    pub value: i64,
    /// Smallest permitted value.
    pub min: i64,
    /// Largest permitted value.
    pub max: i64,
}

/// Returns the message for a feature or tunable (`kind`) that a kernel does not have, with the nearest name.
pub fn unknown_switch<'a>(kind: &str, name: &str, known: impl Iterator<Item = &'a str>) -> Message {
    let known: Vec<&str> = known.collect();
    let message = Message::new(format!("this kernel has no {kind} {name}"));
    let help = suggest::nearest(name, &known).map(|near| format!("did you mean {near}?"));
    Message { help, ..message }
}

impl BuiltInScheduler {
    pub(crate) fn feature_states(sched: &Sched) -> Vec<FeatureState> {
        let state =
            |feature: Feature| FeatureState { name: feature.name().to_owned(), is_on: sched.features().has(feature) };
        Feature::of_series(sched.series()).map(state).collect()
    }

    pub(crate) fn tunable_states(sched: &Sched) -> Vec<TunableState> {
        let states = TunableInfo::of_series(sched.series()).map(|info| TunableState {
            name: info.name.to_owned(),
            value: info.get(sched.tunables()),
            min: *info.range.start(),
            max: *info.range.end(),
        });
        states.collect()
    }

    pub(crate) fn set_feature(sched: &mut Sched, name: &str, on: bool) -> Result<(), Message> {
        let series = sched.series();
        let names = || Feature::of_series(series).map(Feature::name);
        let feature = Feature::from_name_in(series, name);
        let feature = feature.ok_or_else(|| unknown_switch("feature", name, names()))?;
        sched.features_mut().set(feature, on);
        Ok(())
    }

    pub(crate) fn set_tunable(sched: &mut Sched, name: &TunableName, value: i64) -> Result<(), Message> {
        let series = sched.series();
        match name {
            TunableName::BuiltIn(info) if info.exists_in(series) => {
                info.set(sched.tunables_mut(), value).map_err(|error| Message::new(error.to_string()))
            }
            _ => {
                let names = TunableInfo::of_series(series).map(|info| info.name);
                Err(unknown_switch("tunable", name.as_str(), names))
            }
        }
    }
}
