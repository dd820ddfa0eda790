// SPDX-License-Identifier: GPL-2.0-or-later
//! Code that the fuzz targets share.

use fairlab_workload::workload::Workload;

/// Takes the first steps of the first tasks of a workload.
pub fn ask(workload: &Workload) {
    for task in workload.tasks.iter().take(20) {
        let mut behaviour = (task.behaviour)(0);
        for _ in 0..200 {
            behaviour.next();
        }
    }
}
