// SPDX-License-Identifier: GPL-2.0-or-later
//! Model of a build of small files with `make -jN`: [`MakeLine`] describes it.

use super::random::ModelRandom;
use super::{BenchModel, Benchmark, CommandLine, RunContext, created_task};
use crate::message::Message;
use crate::step::{Behaviour, Step};
use crate::workload::{Objects, Workload};
use clap::Args;
use fairlab_sched::units::Nanos;
use serde::{Deserialize, Serialize};

/// Mark of a compiler at its end.
pub const COMPILED: u32 = 1;
/// Mark of `make` when all objects are built.
pub const BUILT: u32 = 2;

/// Mean work of `make` for a rule.
const RULE: Nanos = Nanos::from_micros(300);
/// Mean work of a shell.
const SHELL: Nanos = Nanos::from_micros(800);
/// Mean work of a compilation.
const COMPILE: Nanos = Nanos::from_millis(120);
/// Mean time of reading, and of writing.
const DISK: Nanos = Nanos::from_micros(400);
/// Semaphores. `SLOTS` counts the compilations that may be started, `ENDED` the shells that have ended; from
/// `FIRST_JOB` on, one for each object is posted when its compiler has ended.
const SLOTS: usize = 0;
const ENDED: usize = 1;
const FIRST_JOB: usize = 2;

/// Options of the build.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KernelBuild {
    /// Number of compilations at a time (`-j`).
    pub jobs: u32,
    /// Number of objects to build.
    pub objects: u32,
    /// Seed of all random times.
    #[serde(skip)]
    pub seed: u64,
}

impl KernelBuild {
    /// Returns the workload: `make`, then for each object its shell and its compiler.
    pub fn workload(self) -> Workload {
        let mut make = created_task("make".to_owned(), "make", move |_| MakeProgram {
            bench: self,
            random: ModelRandom::new(self.seed, "make", 0),
            pending: vec![Step::SemPost(SLOTS); self.jobs as usize],
            started: 0,
            is_done: false,
        });
        make.start_at = Some(Nanos::ZERO);
        let mut tasks = vec![make];
        for object in 0..self.objects as usize {
            let (place, done) = (1 + 2 * object, FIRST_JOB + object);
            let random = move || ModelRandom::new(self.seed, "compile", object as u64);
            tasks.push(created_task(format!("sh{object}"), "sh", move |_| {
                let work = Step::Run(random().around(SHELL));
                let wait = [Step::Fork(place + 1), Step::SemWait(done)];
                let end = [Step::SemPost(SLOTS), Step::SemPost(ENDED)];
                super::RepeatedSteps::once([&[Step::Exec, work], &wait[..], &end].concat())
            }));
            tasks.push(created_task(format!("cc1-{object}"), "cc1", move |_| {
                let mut random = random();
                let [read, write] = [0, 1].map(|_| Step::WaitIo(random.around(DISK)));
                let work = Step::Run(random.around(COMPILE));
                super::RepeatedSteps::once(vec![
                    Step::Exec,
                    read,
                    work,
                    write,
                    Step::Mark(COMPILED),
                    Step::SemPost(done),
                ])
            }));
        }
        Workload {
            tasks,
            objects: Objects {
                semaphores: (0..FIRST_JOB + self.objects as usize).map(|place| format!("sem{place}")).collect(),
                ..Objects::default()
            },
            ..Workload::default()
        }
    }
}

struct MakeProgram {
    bench: KernelBuild,
    random: ModelRandom,
    /// Next steps, in reverse order.
    pending: Vec<Step>,
    started: u32,
    is_done: bool,
}

impl Behaviour for MakeProgram {
    fn next(&mut self) -> Step {
        if let Some(step) = self.pending.pop() {
            return step;
        }
        if self.started < self.bench.objects {
            self.pending.push(Step::Fork(1 + 2 * self.started as usize));
            self.pending.push(Step::Run(self.random.around(RULE)));
            self.started += 1;
            return Step::SemWait(SLOTS);
        }
        if self.is_done {
            return Step::Exit;
        }
        self.is_done = true;
        self.pending.push(Step::Mark(BUILT));
        self.pending.extend(vec![Step::SemWait(ENDED); self.bench.objects as usize]);
        self.pending.pop().expect("there is at least the mark")
    }
}

impl BenchModel for KernelBuild {
    const NAME: &'static str = "make";
    const RUNS_TO_END: bool = true;

    fn for_run(self, run: &RunContext) -> Self {
        Self { seed: run.seed, ..self }
    }

    fn make_workload(&self, _nr_cpus: u32) -> Workload {
        Self::workload(*self)
    }
}

/// Build of many small files with make -jN
///
/// For each object, `make` computes (0.3 ms) and forks a shell, at most N at once. The shell computes (0.8 ms), forks a compiler and waits for
/// it. The compiler waits for I/O (0.4 ms), computes (120 ms), and waits for I/O again. Shells and compilers start with exec. Times are drawn
/// from half to one and a half of these means, which are assumptions: a small C file on a current core. Result: total time, CPU time.
///
/// Not modelled: work between fork and exec, linking, memory, and the pipes of the job server.
#[derive(Debug, Args)]
#[command(after_help = examples!(
    "make -j3 --objects 5 --machine hikey960",
))]
pub struct MakeLine {
    /// Number of compilations at the same time
    #[arg(short, long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=4096))]
    jobs: u32,
    /// Number of files to compile (an option of fairlab)
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    objects: u32,
}

impl CommandLine for MakeLine {
    fn benchmark(&self) -> Result<Benchmark, Message> {
        Ok(Benchmark::KernelBuild(KernelBuild { jobs: self.jobs, objects: self.objects, seed: 0 }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn make_starts_every_object_once_and_waits_for_all() {
        let workload = KernelBuild { jobs: 2, objects: 3, seed: 0 }.workload();
        assert_eq!(workload.tasks.len(), 7);
        let mut make = (workload.tasks[0].behaviour)(0);
        let steps: Vec<Step> = core::iter::from_fn(|| Some(make.next()).filter(|step| *step != Step::Exit)).collect();
        let forks: Vec<Step> = steps.iter().filter(|step| matches!(step, Step::Fork(_))).copied().collect();
        assert_eq!(forks, [Step::Fork(1), Step::Fork(3), Step::Fork(5)]);
        let count = |wanted: Step| steps.iter().filter(|step| **step == wanted).count();
        assert_eq!((count(Step::SemWait(SLOTS)), count(Step::SemPost(SLOTS))), (3, 2));
        assert_eq!(count(Step::SemWait(ENDED)), 3);
        assert_eq!(steps.last(), Some(&Step::Mark(BUILT)));
    }

    #[test]
    fn what_is_forked_begins_with_exec() {
        let workload = KernelBuild { jobs: 1, objects: 2, seed: 0 }.workload();
        let first_steps = workload.tasks[1..].iter().map(|task| (task.behaviour)(0).next());
        assert_eq!(first_steps.collect::<Vec<_>>(), [Step::Exec; 4]);
    }
}
