// SPDX-License-Identifier: GPL-2.0-or-later
//! Occupants of CPUs over time, from the events of a native run, without the page's collector.

use fairlab_machine::observer::{Interest, Observer};
use fairlab_machine::sim::START;
use fairlab_run::drive::drive_through;
use fairlab_run::error::RequestError;
use fairlab_run::prepare::prepare;
use fairlab_run::spec::RunSpec;
use fairlab_sched::ids::{CpuId, TaskId};
use fairlab_sched::probe::{Event, SchedObserver};
use fairlab_sched::units::Nanos;

/// Time in which a CPU ran one thread: begin and end in ns from the start of the run, and the page's number of the thread.
pub(crate) type Segment = (u64, u64, u32);

/// Observer of what CPUs run.
struct Occupants {
    nr_cpus: u32,
    /// Task of each CPU and since when it runs.
    running: Vec<(TaskId, Nanos)>,
    segments: Vec<Vec<Segment>>,
}

impl Occupants {
    fn end_segment(&mut self, cpu: CpuId, at: Nanos) {
        let (task, since) = self.running[cpu.index()];
        // The first tasks are the idle ones. The page numbers threads from the process that starts the workload.
        if task.0 >= self.nr_cpus && at > since {
            let [start, end] = [since, at].map(|time| (time - START).0);
            self.segments[cpu.index()].push((start, end, task.0 + 1));
        }
    }
}

impl SchedObserver for Occupants {
    fn event(&mut self, now: Nanos, event: &Event<'_>) {
        if let Event::Switch { cpu, next, .. } = *event {
            self.end_segment(cpu, now);
            self.running[cpu.index()] = (next, now);
        }
    }
}

impl Observer for Occupants {
    fn wants(&self) -> Interest {
        Interest { events: true, ..Interest::NONE }
    }
}

/// Runs a spec. Returns its digest, and the segments of each CPU in order.
pub(crate) fn occupants(spec: &RunSpec) -> Result<(String, Vec<Vec<Segment>>), RequestError> {
    let mut machine = prepare(spec)?.with_whole_workload()?.boot()?.machine;
    let nr_cpus = machine.hardware().nr_cpus();
    let idle = (0..nr_cpus).map(|cpu| (TaskId(cpu as u32), START)).collect();
    let mut occupants = Occupants { nr_cpus: nr_cpus as u32, running: idle, segments: vec![Vec::new(); nr_cpus] };
    drive_through(&mut machine, &mut occupants).map_err(|error| RequestError::Run(error.into()))?;
    let end = START + machine.duration();
    (0..nr_cpus).for_each(|cpu| occupants.end_segment(CpuId::from_index(cpu), end));
    Ok((machine.digest().to_string(), occupants.segments))
}
