// SPDX-License-Identifier: GPL-2.0-or-later
//! Features and tunables of the tree, under its own names.

use super::{Object, raw, to_result};
use fairlab_machine::engine::{FeatureState, TunableState};
use std::ffi::{CStr, CString, c_char, c_int};

/// Error number of the kernel for a name that does not exist (`-ENOENT`).
pub(crate) const ENOENT: i32 = -2;

/// Returns a name of the object.
///
/// # Safety
/// `text` must be a string that the object never changes or frees.
unsafe fn name(text: *const c_char) -> String {
    // SAFETY: guaranteed by the caller.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

impl Object {
    /// Returns the features of the tree with their states, in the order of the tree.
    pub fn features(&self) -> Vec<FeatureState> {
        let mut nr = 0;
        let features: *const raw::RawFeature = call!(self, fl_features(&raw mut nr));
        // SAFETY: there are `nr` of them in an array of the object, which this borrow of the object keeps.
        let features = unsafe { std::slice::from_raw_parts(features, nr as usize) };
        let state = |feature: &raw::RawFeature| {
            // SAFETY: the names are constants of the object.
            let name = unsafe { name(feature.name) };
            FeatureState { name, is_on: feature.on != 0 }
        };
        features.iter().map(state).collect()
    }

    /// Switches a feature on or off.
    ///
    /// # Errors
    /// [`ENOENT`] if the tree does not have it.
    pub fn set_feature(&self, name: &str, on: bool) -> Result<(), i32> {
        let name = CString::new(name).map_err(|_| ENOENT)?;
        to_result(call!(self, fl_set_feature(name.as_ptr(), c_int::from(on))))
    }

    /// Returns the tunables of the tree with their values, in the order in which it declares them. There are
    /// none before the boot.
    pub fn tunables(&self) -> Vec<TunableState> {
        if self.nr_cpus == 0 {
            return Vec::new();
        }
        let mut nr = 0;
        let tunables: *const raw::RawTunable = call!(self, fl_tunables(&raw mut nr));
        // SAFETY: there are `nr` of them in an array of the object, which this borrow of the object keeps.
        let tunables = unsafe { std::slice::from_raw_parts(tunables, nr as usize) };
        let state = |tunable: &raw::RawTunable| {
            // SAFETY: the names are constants of the object.
            let name = unsafe { name(tunable.name) };
            TunableState { name, value: tunable.value, min: tunable.min, max: tunable.max }
        };
        tunables.iter().map(state).collect()
    }

    /// Writes a tunable as a user does.
    ///
    /// # Errors
    /// The error number of the kernel: [`ENOENT`] if the tree does not have it.
    pub fn set_tunable(&self, cpu: u32, name: &str, value: i64) -> Result<(), i32> {
        let name = CString::new(name).map_err(|_| ENOENT)?;
        to_result(call!(self, fl_set_tunable(self.cpu(cpu), name.as_ptr(), value)))
    }

    /// Whether tasks may have slices of their own.
    pub fn has_slices(&self) -> bool {
        call!(self, fl_has_slices()) != 0
    }

    /// Whether CPUs have fair servers.
    pub fn has_fair_servers(&self) -> bool {
        call!(self, fl_has_fair_servers()) != 0
    }
}
