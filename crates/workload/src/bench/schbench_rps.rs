// SPDX-License-Identifier: GPL-2.0-or-later
//! Model of schbench in its current release: [`super::schbench_line::SchbenchLine`] describes it.
//!
//! With `-M auto`, message thread N runs on CPU N once it has created its workers. Workers may use all CPUs: the program's set of the
//! remaining CPUs contains every CPU (release of 2025). A worker takes requests one by one, not all that are there at once.

use super::{BenchModel, CREATOR, RepeatedSteps, RunContext, created_task, creator};
use crate::serde_time::nanos;
use crate::step::{Behaviour, Step, TimerMode, TimerRef};
use crate::workload::{Affinity, Attributes, Channel, ChannelKind, Objects, TaskSpec, Workload};
use fairlab_sched::units::Nanos;
use serde::{Deserialize, Serialize};

/// Mark at which a worker records a wake-up latency, if it has waited.
pub const WAKEUP: u32 = 1;
/// Mark at which a request begins.
pub const REQUEST_START: u32 = 2;
/// Mark at which a request is done.
pub const REQUEST_END: u32 = 3;

/// Requests that fit into the queue of a worker before its message thread backs off.
const MAX_PENDING: u32 = 129;
/// Sleep of a message thread whose worker has too many unfinished requests.
const BACK_OFF: Nanos = Nanos::from_micros(100);
/// Time of a multiplication and an addition at full speed.
const PRODUCT: Nanos = Nanos(1);

/// Options of schbench, and the builder of its workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SchbenchRps {
    /// Number of message threads (`-m`).
    pub message_threads: u32,
    /// Number of workers of each message thread (`-t`); 0 means the number of CPUs divided by that of message
    /// threads.
    pub threads: u32,
    /// Length of the test (`-r`).
    #[serde(rename = "runtime_ns", with = "nanos")]
    pub runtime: Nanos,
    /// Requests per second of all message threads together (`-R`); 0: hand-shakes.
    pub rps: u64,
    /// Sleep of a request (`-s`).
    #[serde(rename = "sleep_ns", with = "nanos")]
    pub sleep: Nanos,
    /// Matrix products of a request (`-n`).
    pub operations: u64,
    /// Cache footprint of a worker in kilobytes (`-F`).
    pub footprint_kb: u64,
    /// Whether workers take no CPU locks (`-L`).
    pub no_locking: bool,
    /// Whether each message thread has a CPU (`-M auto`).
    #[serde(default)]
    pub auto_pinning: bool,
}

impl SchbenchRps {
    /// Returns the defaults on a machine with `nr_cpus` CPUs.
    pub const fn for_cpus(nr_cpus: u32) -> Self {
        Self {
            message_threads: 1,
            threads: nr_cpus,
            runtime: Nanos::from_secs(30),
            rps: 0,
            sleep: Nanos::from_micros(100),
            operations: 5,
            footprint_kb: 256,
            no_locking: false,
            auto_pinning: false,
        }
    }

    /// Returns the number of rows of a matrix: three matrices of 8-byte elements fill the footprint.
    pub const fn matrix_size(&self) -> u64 {
        (self.footprint_kb * 1024 / 3 / 8).isqrt()
    }

    /// Returns the work of a request, as time at full capacity.
    pub const fn work(&self) -> Nanos {
        Nanos(self.operations * self.matrix_size().pow(3) * PRODUCT.0)
    }

    /// Returns the workload: the program itself, which creates the message threads, and each of them with its
    /// workers.
    pub fn workload(self) -> Workload {
        let family = self.threads as usize + 1;
        let nr_threads = self.message_threads as usize;
        let message = |thread: usize| CREATOR + 1 + thread * family;
        let mut tasks = vec![creator("schbench", (0..nr_threads).map(message).collect())];
        for thread in 0..nr_threads {
            tasks.push(self.message_thread(thread, message(thread)));
            for worker in 1..family {
                tasks.push(self.worker(thread, worker));
            }
        }
        let queue = Channel { wake_senders_at: 0, ..Channel::new(ChannelKind::Queue, MAX_PENDING) };
        Workload {
            tasks,
            objects: Objects {
                channels: vec![queue; if self.rps > 0 { nr_threads * family } else { 0 }],
                futexes: nr_threads * family,
                lists: nr_threads,
                ..Objects::default()
            },
            duration: Some(self.runtime),
            ..Workload::default()
        }
    }

    fn message_thread(self, thread: usize, place: usize) -> TaskSpec {
        let family = self.threads as usize + 1;
        let mut first: Vec<Step> = (1..family).map(|worker| Step::Fork(place + worker)).collect();
        if self.auto_pinning {
            first.push(Step::SetAttributes(0));
        }
        let per_second = self.rps / u64::from(self.message_threads.max(1));
        let mut spec = created_task(format!("message{thread}"), "message", move |_| RpsMessageThread {
            first: first.clone(),
            done: 0,
            per_second,
            asked: 0,
            turn: 0,
            thread,
            family,
        });
        spec.own_timers = vec!["second".to_owned()];
        if self.auto_pinning {
            let affinity = Some(Affinity::Cpus(vec![thread as u32]));
            spec.attributes = vec![Attributes { affinity, ..Attributes::default() }];
        }
        spec
    }

    fn worker(self, thread: usize, worker: usize) -> TaskSpec {
        let family = self.threads as usize + 1;
        let (message, futex) = (thread * family, thread * family + worker);
        let mut steps = if self.rps > 0 {
            vec![Step::Receive(futex)]
        } else {
            let enter = Step::Enlist { list: thread, futex };
            vec![Step::FutexArm(futex), enter, Step::FutexPost(message), Step::FutexWait(futex)]
        };
        steps.extend([Step::Mark(WAKEUP), Step::Mark(REQUEST_START)]);
        if self.sleep > Nanos::ZERO {
            steps.push(Step::Sleep(self.sleep));
        }
        let work = [Step::LockCpu, Step::Run(self.work()), Step::UnlockCpu];
        let is_left_out = |step: &Step| match step {
            Step::Run(work) => *work == Nanos::ZERO,
            _ => self.no_locking,
        };
        steps.extend(work.into_iter().filter(|step| !is_left_out(step)));
        steps.push(Step::Mark(REQUEST_END));
        created_task(format!("worker{thread}.{worker}"), "worker", move |_| RepeatedSteps::endless(steps.clone()))
    }
}

/// Behaviour of a message thread.
struct RpsMessageThread {
    /// Steps that create its workers.
    first: Vec<Step>,
    done: usize,
    /// Requests per second; 0 for hand-shakes.
    per_second: u64,
    /// Requests of the current second so far.
    asked: u64,
    /// Number of turns so far, which selects the next worker.
    turn: usize,
    thread: usize,
    family: usize,
}

impl Behaviour for RpsMessageThread {
    fn next(&mut self) -> Step {
        if let Some(&step) = self.first.get(self.done) {
            self.done += 1;
            return step;
        }
        if self.per_second == 0 {
            let futex = self.thread * self.family;
            let round = [Step::FutexArm(futex), Step::PostAll(self.thread), Step::FutexWait(futex)];
            self.turn += 1;
            return round[(self.turn - 1) % round.len()];
        }
        if self.asked == self.per_second {
            self.asked = 0;
            let period = Nanos::from_secs(1);
            return Step::Timer { timer: TimerRef::Own(0), period, mode: TimerMode::Relative };
        }
        self.asked += 1;
        let worker = 1 + self.turn % (self.family - 1);
        self.turn += 1;
        Step::Offer { channel: self.thread * self.family + worker, or_sleep: BACK_OFF }
    }
}

impl BenchModel for SchbenchRps {
    const NAME: &'static str = "schbench";

    fn for_run(self, run: &RunContext) -> Self {
        let threads = match self.threads {
            0 => run.nr_cpus.div_ceil(self.message_threads),
            threads => threads,
        };
        Self { threads, ..self }
    }

    fn make_workload(&self, _nr_cpus: u32) -> Workload {
        Self::workload(*self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first_steps(bench: SchbenchRps, task: usize, number: usize) -> Vec<Step> {
        let mut behaviour = (bench.workload().tasks[task].behaviour)(0);
        (0..number).map(|_| behaviour.next()).collect()
    }

    #[test]
    fn the_default_request_is_five_products_of_matrices_of_104() {
        let bench = SchbenchRps::for_cpus(8);
        assert_eq!((bench.matrix_size(), bench.work()), (104, Nanos(5 * 104 * 104 * 104)));
    }

    #[test]
    fn with_a_rate_workers_get_requests_in_turn_at_the_beginning_of_a_second() {
        let bench = SchbenchRps { threads: 2, rps: 3, ..SchbenchRps::for_cpus(8) };
        let offer = |channel| Step::Offer { channel, or_sleep: BACK_OFF };
        let steps = first_steps(bench, 1, 8);
        assert_eq!(steps[..5], [Step::Fork(2), Step::Fork(3), offer(1), offer(2), offer(1)]);
        assert!(matches!(steps[5], Step::Timer { .. }));
        assert_eq!(steps[6..], [offer(2), offer(1)], "the turn goes on");
        assert_eq!(first_steps(bench, 2, 1), [Step::Receive(1)]);
    }

    #[test]
    fn without_locking_there_is_only_the_work() {
        let bench = SchbenchRps { threads: 1, no_locking: true, sleep: Nanos::ZERO, ..SchbenchRps::for_cpus(8) };
        let steps = first_steps(bench, 2, 8);
        let work = Step::Run(bench.work());
        assert_eq!(steps[4..], [Step::Mark(WAKEUP), Step::Mark(REQUEST_START), work, Step::Mark(REQUEST_END)]);
        let bench = SchbenchRps { operations: 0, ..bench };
        let marks = [WAKEUP, REQUEST_START, REQUEST_END].map(Step::Mark);
        assert_eq!(first_steps(bench, 2, 7)[4..], marks, "-n 0 does no work");
    }

    #[test]
    fn with_auto_pinning_each_message_thread_has_a_cpu_of_its_own() {
        let bench = SchbenchRps { threads: 2, message_threads: 2, auto_pinning: true, ..SchbenchRps::for_cpus(8) };
        // Task 0 is the program, 1 the first message thread, 2 and 3 its workers, 4 the second message thread.
        assert_eq!(first_steps(bench, 4, 4)[..3], [Step::Fork(5), Step::Fork(6), Step::SetAttributes(0)]);
        let tasks = bench.workload().tasks;
        assert_eq!(tasks[4].attributes[0].affinity, Some(Affinity::Cpus(vec![1])));
        assert!(tasks[5].attributes.is_empty() && tasks[4].start.affinity.is_none(), "workers may use all CPUs");
    }
}
