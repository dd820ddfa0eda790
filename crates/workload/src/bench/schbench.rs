// SPDX-License-Identifier: GPL-2.0-or-later
//! Model of schbench in its releases of 2016 to 2021: [`super::schbench_line::SchbenchLine`] describes it.
//!
//! Work is for wall time: the program reads the clock continuously. A latency begins when the message thread has taken its list, so
//! it contains the time for which the posts before it keep the thread busy.

use super::random::ModelRandom;
use super::{BenchModel, CREATOR, RunContext, created_task, creator};
use crate::serde_time::nanos;
use crate::step::{Behaviour, Step};
use crate::workload::{Objects, TaskSpec, Workload};
use fairlab_sched::units::Nanos;
use serde::{Deserialize, Serialize};

/// Mark at which a worker records a latency.
pub const SAMPLE: u32 = 1;

/// Time for a check of the list by a message thread that neither sleeps nor works.
const POLL: Nanos = Nanos::from_micros(1);

/// Release of schbench, by its year.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SchbenchRelease {
    /// Releases of 2016 to 2019.
    Y2016,
    /// Releases of 2020 and early 2021.
    Y2020,
    /// Releases from later in 2021.
    Y2021,
}

/// Options of schbench, and the builder of its workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "the field names describe their content")]
pub struct Schbench {
    pub form: SchbenchRelease,
    /// Number of message threads (`-m`).
    pub message_threads: u32,
    /// Number of workers of each message thread (`-t`).
    pub threads: u32,
    /// Length of the test (`-r`).
    #[serde(rename = "runtime_ns", with = "nanos")]
    pub runtime: Nanos,
    /// Minimum sleep of a message thread (`-s`). If it is zero, the thread does not wait for its workers
    /// either.
    #[serde(rename = "sleeptime_ns", with = "nanos")]
    pub sleeptime: Nanos,
    /// Wall time for which a worker works (`-c`).
    #[serde(rename = "cputime_ns", with = "nanos")]
    pub cputime: Nanos,
    /// Wall time for which a message thread works (`-C`); the release of 2016 has no such work.
    #[serde(rename = "message_cputime_ns", with = "nanos")]
    pub message_cputime: Nanos,
    /// Seed of the message threads' sleeps.
    #[serde(skip)]
    pub seed: u64,
}

impl Default for Schbench {
    fn default() -> Self {
        Self {
            form: SchbenchRelease::Y2020,
            message_threads: 2,
            threads: 16,
            runtime: Nanos::from_secs(30),
            sleeptime: Nanos::from_micros(30_000),
            cputime: Nanos::from_micros(30_000),
            message_cputime: Nanos::from_micros(30_000),
            seed: 0,
        }
    }
}

impl Schbench {
    /// Returns the workload: the program itself, which creates the message threads, and each of them with its
    /// workers.
    pub fn workload(self) -> Workload {
        let family = self.threads as usize + 1;
        let message = |thread: usize| CREATOR + 1 + thread * family;
        let mut tasks = vec![creator("schbench", (0..self.message_threads as usize).map(message).collect())];
        for thread in 0..self.message_threads as usize {
            tasks.push(self.message_thread(thread, message(thread)));
            for worker in 1..family {
                tasks.push(self.worker(thread, worker));
            }
        }
        let nr_threads = self.message_threads as usize;
        Workload {
            tasks,
            objects: Objects { futexes: nr_threads * family, lists: nr_threads, ..Objects::default() },
            duration: Some(self.runtime),
            ..Workload::default()
        }
    }

    fn message_thread(self, thread: usize, place: usize) -> TaskSpec {
        let family = self.threads as usize + 1;
        let workers: Vec<Step> = (1..family).map(|worker| Step::Fork(place + worker)).collect();
        created_task(format!("message{thread}"), "message", move |_| MessageThread {
            bench: self,
            thread,
            futex: thread * family,
            random: ModelRandom::new(self.seed, "schbench", thread as u64),
            pending: workers.clone().into_iter().rev().collect(),
        })
    }

    fn worker(self, thread: usize, worker: usize) -> TaskSpec {
        let family = self.threads as usize + 1;
        let (message, futex) = (thread * family, thread * family + worker);
        let ask = [
            Step::FutexArm(futex),
            Step::Enlist { list: thread, futex },
            Step::FutexPost(message),
            Step::FutexWait(futex),
        ];
        let work = [Step::Spin(self.cputime)];
        let sample = [Step::Mark(SAMPLE)];
        let order: [&[Step]; 3] = match self.form {
            SchbenchRelease::Y2016 | SchbenchRelease::Y2020 => [&work, &ask, &sample],
            SchbenchRelease::Y2021 => [&ask, &work, &sample],
        };
        let steps = order.concat();
        created_task(format!("worker{thread}.{worker}"), "worker", move |_| {
            super::RepeatedSteps::endless(steps.clone())
        })
    }
}

/// Behaviour of a message thread.
struct MessageThread {
    bench: Schbench,
    thread: usize,
    futex: usize,
    random: ModelRandom,
    /// Next steps, in reverse order.
    pending: Vec<Step>,
}

impl Behaviour for MessageThread {
    fn next(&mut self) -> Step {
        if let Some(step) = self.pending.pop() {
            return step;
        }
        let Schbench { sleeptime, message_cputime, form, .. } = self.bench;
        let sleeps = sleeptime > Nanos::ZERO;
        if sleeps {
            self.pending.push(Step::Sleep(sleeptime + self.random.below(Nanos(sleeptime.0 / 4))));
        }
        if form != SchbenchRelease::Y2016 {
            self.pending.push(Step::Spin(message_cputime));
        }
        if !sleeps && message_cputime == Nanos::ZERO {
            self.pending.push(Step::Run(POLL));
        }
        // The release of 2016 always waits.
        if sleeps || form == SchbenchRelease::Y2016 {
            self.pending.push(Step::FutexWait(self.futex));
        }
        self.pending.push(Step::PostAll(self.thread));
        Step::FutexArm(self.futex)
    }
}

impl BenchModel for Schbench {
    const NAME: &'static str = "schbench";

    fn for_run(self, run: &RunContext) -> Self {
        Self { seed: run.seed, ..self }
    }

    fn make_workload(&self, _nr_cpus: u32) -> Workload {
        Self::workload(*self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first_steps(bench: Schbench, task: usize, number: usize) -> Vec<Step> {
        let workload = bench.workload();
        let mut behaviour = (workload.tasks[task].behaviour)(0);
        (0..number).map(|_| behaviour.next()).collect()
    }

    #[test]
    fn a_message_thread_creates_its_workers_and_then_works_only_since_2020() {
        let bench = Schbench { message_threads: 2, threads: 2, ..Schbench::default() };
        // Tasks: 0 the program, 1 a message thread, 2 and 3 its workers, 4 the other message thread.
        let steps = first_steps(bench, 4, 7);
        assert_eq!(
            steps[..6],
            [
                Step::Fork(5),
                Step::Fork(6),
                Step::FutexArm(3),
                Step::PostAll(1),
                Step::FutexWait(3),
                Step::Spin(Nanos::from_micros(30_000)),
            ]
        );
        let Step::Sleep(time) = steps[6] else { panic!("it sleeps: {steps:?}") };
        assert!((30_000_000..37_500_000).contains(&time.0));
        let steps = first_steps(Schbench { form: SchbenchRelease::Y2016, ..bench }, 4, 6);
        assert!(matches!(steps[4..], [Step::FutexWait(3), Step::Sleep(_)]));
    }

    #[test]
    fn latencies_are_taken_before_the_work_until_2020_and_after_it_in_2021() {
        let bench = Schbench { message_threads: 1, threads: 1, ..Schbench::default() };
        let place_of = |form, wanted: fn(&Step) -> bool| {
            first_steps(Schbench { form, ..bench }, 2, 6).iter().position(wanted).expect("it is there")
        };
        for (form, work) in [(SchbenchRelease::Y2016, 0), (SchbenchRelease::Y2020, 0), (SchbenchRelease::Y2021, 4)] {
            assert_eq!(place_of(form, |step| matches!(step, Step::Spin(_))), work);
            assert_eq!(place_of(form, |step| *step == Step::Mark(SAMPLE)), 5);
        }
    }

    #[test]
    fn sleeps_differ_and_repeat() {
        let bench = |seed| Schbench { threads: 1, message_cputime: Nanos(1), seed, ..Schbench::default() };
        let sleeps = |seed| -> Vec<Step> {
            let steps = first_steps(bench(seed), 1, 40);
            steps.into_iter().filter(|step| matches!(step, Step::Sleep(_))).collect()
        };
        assert_eq!(sleeps(1), sleeps(1));
        assert_ne!(sleeps(1), sleeps(2));
        assert_ne!(sleeps(1)[0], sleeps(1)[1]);
    }
}
