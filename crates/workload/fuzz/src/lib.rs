// SPDX-License-Identifier: GPL-2.0-or-later
//! What the fuzz targets have in common.

use fairlab_workload::workload::Workload;

/// Asks the first tasks of a workload for their first steps.
pub fn ask(workload: &Workload) {
    for task in workload.tasks.iter().take(20) {
        let mut behaviour = (task.behaviour)(0);
        for _ in 0..200 {
            behaviour.next();
        }
    }
}
