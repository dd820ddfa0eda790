// SPDX-License-Identifier: GPL-2.0-or-later
//! Prints each kind of claim, with each of its alternatives.

use super::*;

const MS: u64 = 1_000_000;
const RULE: Reason = Reason { name: "Rule", meaning: "First: it holds." };

fn task(name: &str) -> TaskRef {
    TaskRef::Workload { name: name.to_owned(), pid: 1000 }
}

fn idle_task() -> TaskRef {
    TaskRef::Idle { idle_task_of_cpu: 1 }
}

/// Returns the sentences of a claim, with its kind.
fn print(statement: impl Into<Statement>) -> (&'static str, String) {
    let statement = statement.into();
    (statement.claim.kind(), statement.text.join("\n"))
}

fn text(statement: impl Into<Statement>) -> String {
    print(statement).1
}

#[test]
fn a_task_has_one_of_seven_states() {
    let state = |state| {
        let (cpu, since_ns) = (Some(2), Some(3 * MS));
        text(TaskStateClaim { task: task("a"), at_ns: 5 * MS, state, cpu, since_ns, runnable_since_ns: None })
    };
    let cases = [
        (RunState::NotForked, "By 5ms task a (pid 1000) has not been forked yet."),
        (RunState::New, "At 5ms task a (pid 1000) has been forked and is not runnable yet."),
        (RunState::Sleeps, "At 5ms task a (pid 1000) sleeps: it blocked at 3ms on CPU 2."),
        (RunState::Ended, "At 5ms task a (pid 1000) has ended: it ended at 3ms on CPU 2."),
        (RunState::Runs, "At 5ms task a (pid 1000) runs on CPU 2, since 3ms."),
        (RunState::Waits, "At 5ms task a (pid 1000) waits on CPU 2, since 3ms (2ms so far)."),
        (
            RunState::Throttled,
            "At 5ms task a (pid 1000) is throttled on CPU 2, since 3ms (2ms so far): it waits for runtime, not for a CPU.",
        ),
    ];
    for (given, expected) in cases {
        assert_eq!(state(given), expected);
    }
}

#[test]
fn a_family_lists_its_members_with_their_states() {
    let member = |state| FamilyMember { name: "a".to_owned(), state, cpu: Some(2), since_ns: Some(3 * MS) };
    let states = [
        RunState::NotForked,
        RunState::New,
        RunState::Sleeps,
        RunState::Ended,
        RunState::Runs,
        RunState::Waits,
        RunState::Throttled,
    ];
    let claim =
        FamilyClaim { family: "f".to_owned(), at_ns: 5 * MS, nr_tasks: 9, members: states.map(member).to_vec() };
    let expected = "f is a family of 9 tasks.\n  a: has not been forked yet\n  a: is being forked\n  a: sleeps since 3ms\n  \
                    a: ended since 3ms\n  a: runs on CPU 2 since 3ms\n  a: waits on CPU 2 since 3ms, for 2ms\n  a: is throttled on \
                    CPU 2 since 3ms, for 2ms\n  and 2 more";
    assert_eq!(print(claim.clone()), ("family", expected.to_owned()));
    assert!(!text(FamilyClaim { nr_tasks: 7, ..claim }).contains("more"));
}

#[test]
fn a_selection_names_waker_rule_and_scan() {
    let claim = SelectionClaim {
        task: task("a"),
        at_ns: MS,
        is_fork: false,
        waker_cpu: 1,
        waker: task("w"),
        sync: true,
        cpu: 2,
        rule: RULE,
        prev: 3,
        target: 4,
        affine: Some(RULE),
        scanned: 1,
        scanned_cpus: vec![5],
        cores_scanned: 2,
        scan_limit: Some(4),
    };
    assert_eq!(
        text(claim.clone()),
        "It was woken at 1ms on CPU 1, where w (pid 1000) was current (and about to sleep: a synchronous wake-up), and placed on \
         CPU 2 by rule Rule: First: it holds.\nIts previous CPU was 3; the target of the selection was CPU 4 (Rule: First: it \
         holds).\nThe scan checked 1 CPU of 2 cores (5); the limit was 4."
    );
    let fork = SelectionClaim { is_fork: true, waker: idle_task(), sync: false, affine: None, ..claim };
    let without_scan = SelectionClaim { scanned: 0, scan_limit: None, ..fork.clone() };
    assert_eq!(
        text(without_scan),
        "It was forked at 1ms on CPU 1, which was idle, and placed on CPU 2 by rule Rule: First: it holds.\nIts previous CPU was 3; \
         the target of the selection was CPU 4."
    );
    let last = |claim| text(claim).lines().last().expect("there are sentences").to_owned();
    let none_found =
        SelectionClaim { scanned: 0, scanned_cpus: Vec::new(), cores_scanned: 0, scan_limit: Some(0), ..fork.clone() };
    assert_eq!(last(none_found), "The scan checked 0 CPUs; the limit was 0.");
    let scanned = |scanned_cpus: Vec<u32>| {
        last(SelectionClaim { scanned: 20, cores_scanned: 0, scan_limit: None, scanned_cpus, ..fork.clone() })
    };
    assert_eq!(scanned(Vec::new()), "The scan checked 20 CPUs.");
    let listed = "2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13";
    assert_eq!(scanned((2..22).collect()), format!("The scan checked 20 CPUs ({listed} and 8 more)."));
}

#[test]
fn after_a_selection_follow_class_enqueue_and_migrations() {
    assert_eq!(
        print(FormerClassClaim { task: task("a"), class: "deadline" }),
        ("former-class", "That was before it became a deadline task.".to_owned())
    );
    let enqueue = EnqueueClaim { task: task("a"), cpu: 2, selected_at_ns: MS, at_ns: Some(3 * MS) };
    assert_eq!(text(enqueue.clone()), "CPU 2 enqueued it at 3ms, 2ms later: from then on it was runnable.");
    assert_eq!(text(EnqueueClaim { at_ns: None, ..enqueue }), "CPU 2 has not enqueued it yet.");
    let migrations = |by| MigrationsClaim { task: task("a"), count: 1, last_at_ns: MS, from: 1, to: 2, by };
    assert_eq!(
        text(migrations(MigrationBy::Balance { balanced_cpu: 2 })),
        "Since then it has migrated 1 time, last at 1ms from CPU 1 to CPU 2, by the load balancing of CPU 2."
    );
    assert_eq!(
        text(migrations(MigrationBy::Other { executing_cpu: 3, current: TaskRef::Stopper { stopper_of_cpu: 3 } })),
        "Since then it has migrated 1 time, last at 1ms from CPU 1 to CPU 2, by CPU 3, where the stopper of CPU 3 was current."
    );
}

#[test]
fn a_wake_up_without_selection_has_a_cause_only_with_evidence() {
    let of = |cause| UnplacedClaim { task: task("a"), at_ns: MS, cpu: 2, is_fork: false, cause };
    assert_eq!(
        text(of(NoSelectionCause::OnQueue)),
        "It was woken at 1ms on CPU 2; no CPU was selected, because it was still on the queue there: its dequeue was delayed."
    );
    assert_eq!(
        text(of(NoSelectionCause::OtherClass { prio: 49 })),
        "It was woken at 1ms on CPU 2; the reason for this CPU is not recorded, because it was not a fair task (priority 49)."
    );
    let unknown = UnplacedClaim { is_fork: true, ..of(NoSelectionCause::Unknown) };
    assert_eq!(text(unknown), "It was forked at 1ms on CPU 2; the reason for this CPU is not recorded.");
}

#[test]
fn a_wait_names_its_begin_its_length_and_the_tasks_that_ran() {
    let ran = |task, ms| CpuTime { task, ns: ms * MS };
    let claim = WaitClaim {
        task: task("a"),
        start: WaitStart::Woken,
        since_ns: MS,
        until_ns: 4 * MS,
        is_open: true,
        cpus: vec![1],
        ran: vec![ran(task("b"), 2), ran(idle_task(), 1)],
        unrecorded_ns: 0,
    };
    assert_eq!(
        text(claim.clone()),
        "It has waited 3ms since it was woken at 1ms; meanwhile CPU 1 ran b (pid 1000) for 2ms, the idle task of CPU 1 for 1ms \
         (nothing ran)."
    );
    let ended = WaitClaim { start: WaitStart::Forked, is_open: false, cpus: vec![1, 2], ..claim };
    let many = WaitClaim { ran: vec![ran(task("b"), 1); 8], unrecorded_ns: MS, ..ended.clone() };
    let six = ["b (pid 1000) for 1ms"; 6].join(", ");
    assert_eq!(
        text(many),
        format!(
            "After it was forked at 1ms it waited 3ms, until 4ms; meanwhile its CPUs ran {six}, 2 more; the tasks of the first 1ms \
             are not recorded."
        )
    );
    let six = WaitClaim { ran: vec![ran(task("b"), 1); 6], ..ended.clone() };
    assert!(!text(six).contains("more"));
    let no_wait = |start| WaitClaim { start, since_ns: 4 * MS, ran: Vec::new(), ..ended.clone() };
    assert_eq!(
        text(no_wait(WaitStart::SwitchedOut { switched_out_on: 3 })),
        "When it was switched out on CPU 3 without blocking, at 4ms, it did not have to wait."
    );
    assert_eq!(
        text(no_wait(WaitStart::ThrottlingEnded)),
        "When its throttling ended, at 4ms, it did not have to wait."
    );
}

#[test]
fn a_waiting_task_has_a_current_task_and_allowed_cpus() {
    let claim = CurrentTaskClaim {
        task: task("a"),
        cpu: 1,
        current: task("b"),
        running_for_ns: MS,
        is_of_higher_class: true,
        vruntime: None,
        nr_runnable: 1,
    };
    let start = "CPU 1 has run b (pid 1000) continuously for 1ms";
    assert_eq!(text(claim.clone()), format!("{start}, which is of a higher class; 1 runnable task on the runqueue."));
    let fair = |gap| CurrentTaskClaim { is_of_higher_class: false, vruntime: gap, nr_runnable: 2, ..claim.clone() };
    assert_eq!(text(fair(None)), format!("{start}; 2 runnable tasks on the runqueue."));
    for (ahead_ns, word) in [(2_000_000, "2ms ahead of"), (-2_000_000, "2ms behind")] {
        let gap = VruntimeGap { ahead_ns, running_weight: 1024, waiting_weight: 15 };
        assert_eq!(
            text(fair(Some(gap))),
            format!(
                "{start}, whose vruntime is {word} that of the waiting task as of the last update (weights 1024 and 15); 2 runnable \
                 tasks on the runqueue."
            )
        );
    }
    let allowed = |allowed: &[u32], idle: &[u32]| {
        text(AllowedCpusClaim { task: task("a"), allowed: allowed.to_vec(), idle: idle.to_vec() })
    };
    assert_eq!(allowed(&[3], &[]), "It may run on CPU 3 only.");
    assert_eq!(allowed(&[1, 2, 3], &[]), "None of the other CPUs that it may use (1-3) is idle.");
    let end = "idle and allowed for it; use --cpu to see why such a CPU did not take the task.";
    assert_eq!(allowed(&[1, 2, 3], &[2]), format!("CPU 2 is {end}"));
    assert_eq!(allowed(&[1, 2, 3], &[2, 3]), format!("CPUs 2-3 are {end}"));
}

#[test]
fn throttling_has_one_of_five_limits() {
    let of = |throttling| text(ThrottlingClaim { task: task("a"), cpu: 1, throttling });
    assert_eq!(
        of(Throttling::RealTime),
        "The real-time tasks of CPU 1 have used up their runtime, and continue when a later period refills it."
    );
    assert_eq!(
        of(Throttling::DeadlineYield),
        "It has yielded the rest of its runtime, and continues with its next replenishment."
    );
    assert_eq!(
        of(Throttling::DeadlineWakeup { remaining_ns: 1 }),
        "It was woken after its deadline and before its next period, in which it gets new runtime and continues."
    );
    assert_eq!(
        of(Throttling::DeadlineRuntime { remaining_ns: 0 }),
        "It has used up its runtime, and continues with its next replenishment."
    );
    let quota = |own: &str, idle: &[u32]| {
        of(Throttling::Quota { group: "/g".to_owned(), own_group: own.to_owned(), idle: idle.to_vec() })
    };
    assert_eq!(
        quota("/g", &[]),
        "Its group /g has used up its quota on CPU 1, and is throttled there. No other CPU pulls the task meanwhile: it continues \
         when a later period refills the quota."
    );
    assert_eq!(
        quota("/g/c", &[2]),
        "Its group /g/c is below group /g, which has used up its quota on CPU 1, and is throttled there. No other CPU pulls the \
         task meanwhile, although CPU 2 is idle: it continues when a later period refills the quota."
    );
}

#[test]
fn a_cpu_is_offline_busy_or_idle() {
    let claim = CpuStateClaim {
        cpu: 1,
        at_ns: 5 * MS,
        is_offline: false,
        is_idle: true,
        current: idle_task(),
        since_ns: 3 * MS,
        previous: None,
        nr_runnable: 0,
    };
    assert_eq!(text(claim.clone()), "At 5ms CPU 1 is idle, since 3ms (it has not run a task yet).");
    for (state, words) in [("blocked", "blocked"), ("ended", "ended"), ("runnable", "was switched out while runnable")]
    {
        let previous = Some(PreviousTask { task: task("a"), state });
        let idle = CpuStateClaim { previous, ..claim.clone() };
        assert_eq!(text(idle), format!("At 5ms CPU 1 is idle, since 3ms, when a (pid 1000) {words}."));
    }
    let busy = CpuStateClaim { is_idle: false, current: TaskRef::Other { pid: 7 }, ..claim.clone() };
    assert_eq!(text(busy), "At 5ms CPU 1 runs pid 7, since 3ms.");
    assert_eq!(text(CpuStateClaim { is_offline: true, ..claim }), "At 5ms CPU 1 is offline, since 3ms.");
}

#[test]
fn tasks_wait_here_or_elsewhere() {
    let wait = |allowed: &[u32]| WaitingTask { task: task("a"), cpu: 2, since_ns: 3 * MS, allowed: allowed.to_vec() };
    let of = |place, tasks: Vec<WaitingTask>| text(WaitingTasksClaim { cpu: 1, at_ns: 5 * MS, place, tasks });
    assert_eq!(of(WaitPlace::BusyRunqueue, Vec::new()), "No task waits on its runqueue.");
    assert_eq!(of(WaitPlace::Elsewhere, Vec::new()), "No task waits on another CPU.");
    let row = "Task a (pid 1000) waits on CPU 2 since 3ms (2ms)";
    assert_eq!(of(WaitPlace::IdleRunqueue, vec![wait(&[1])]), format!("{row}."));
    assert_eq!(of(WaitPlace::BusyRunqueue, vec![wait(&[1])]), format!("1 task waits on its runqueue.\n{row}."));
    let nine: Vec<WaitingTask> = (0..10).map(|_| wait(&[2, 3])).collect();
    let barred = format!("{row} and may not run on CPU 1 (allowed: 2-3).\n");
    assert_eq!(
        of(WaitPlace::Elsewhere, nine),
        format!(
            "Meanwhile 10 tasks wait on other CPUs.\n{}And 2 more, of which 2 may not run on CPU 1.",
            barred.repeat(8)
        )
    );
    assert!(!of(WaitPlace::Elsewhere, (0..8).map(|_| wait(&[1])).collect()).contains("more"));
    assert_eq!(
        print(ThrottledTasksClaim { at_ns: MS, tasks: vec![task("a")] }),
        ("throttled-tasks", "1 task is throttled and waits for runtime, which no idle CPU can give.".to_owned())
    );
}

fn pass() -> PassRecordClaim {
    PassRecordClaim {
        at_ns: MS,
        on: 1,
        cpu: 1,
        level: 0,
        domain: Some(DomainName { name: "MC".to_owned(), cpus: vec![0, 1] }),
        idle: "idle",
        verdict: RULE,
        balanced: None,
        local: None,
        busiest: None,
        busiest_group: None,
        busiest_queue: None,
        migration: None,
        imbalance: 3,
        scanned: 1,
        moved: 0,
        redos: 0,
        raced: 0,
        emptied: 0,
    }
}

#[test]
fn a_pass_prints_what_it_has_found() {
    assert_eq!(pass().to_string(), "idle pass at level MC (CPUs 0-1): Rule: First: it holds");
    let other = PassRecordClaim { on: 2, domain: None, level: 1, balanced: Some(RULE), ..pass() };
    assert_eq!(other.to_string(), "idle pass at level number 1, done by CPU 2: balanced, Rule: First: it holds");
    let found = |migration| PassRecordClaim {
        local: Some("HasSpare"),
        busiest: Some("Overloaded"),
        busiest_group: Some(0),
        busiest_queue: Some(0),
        migration: Some(migration),
        ..pass()
    };
    for (migration, unit) in [("Load", "load"), ("Util", "utilisation"), ("Task", "tasks"), ("Misfit", "misfit tasks")]
    {
        assert_eq!(
            found(migration).to_string(),
            format!(
                "idle pass at level MC (CPUs 0-1): Rule: First: it holds [local group HasSpare; busiest group Overloaded (the one of \
                 CPU 0); busiest runqueue that of CPU 0; imbalance 3 in {unit}; 1 task scanned, 0 moved]"
            )
        );
    }
    let end = |redos, raced, emptied| {
        let text = PassRecordClaim { redos, raced, emptied, ..pass() }.to_string();
        text.split_once(" [").map_or_else(String::new, |(_, end)| end.to_owned())
    };
    let earlier = "the runqueue named here may be that of an earlier attempt]";
    let lost = "the busiest runqueue had lost its tasks before its lock was taken";
    assert_eq!(
        end(1, 0, 0),
        format!("retried 1 time, because all tasks of the busiest runqueue were pinned; {earlier}")
    );
    assert_eq!(end(2, 2, 0), format!("retried 2 times, because {lost}; {earlier}"));
    assert_eq!(
        end(2, 1, 1),
        format!("retried 2 times, because tasks of the busiest runqueues were pinned or gone; {earlier}")
    );
    assert_eq!(end(0, 0, 1), format!("{lost}]"));
    assert_eq!(end(0, 0, 0), "");
}

#[test]
fn passes_of_a_cpu_are_listed() {
    let clause = "idle pass at level MC (CPUs 0-1): Rule: First: it holds";
    let of = |nr_passes, passes| text(PassesClaim { cpu: 1, at_ns: 5 * MS, nr_passes, passes });
    assert_eq!(of(0, Vec::new()), "Up to 5ms no balance pass was made for CPU 1.");
    assert_eq!(
        of(1, vec![pass()]),
        format!("Up to 5ms 1 balance pass was made for CPU 1, oldest first:\nAt 1ms, {clause}.")
    );
    assert!(
        of(30, vec![pass()]).starts_with("Up to 5ms 30 balance passes were made for CPU 1; the last 1, oldest first:")
    );
    let idle = |passes| text(IdlePassesClaim { cpu: 1, idle_since_ns: 0, passes });
    assert_eq!(idle(Vec::new()), "Since then no idle pass was made for it.");
    assert_eq!(idle(vec![pass()]), format!("Since then, last at 1ms: {clause}."));
    let newly_idle = NewlyIdleClaim {
        cpu: 1,
        idle_since_ns: MS,
        passes: vec![pass()],
        earlier: None,
        is_overloaded: true,
        avg_idle_ns: MS,
        max_cost_ns: 2 * MS,
    };
    assert_eq!(text(newly_idle.clone()), format!("When it went idle: {clause}."));
    let none = NewlyIdleClaim { passes: Vec::new(), earlier: Some(pass()), ..newly_idle };
    let reasons = |overloaded: &str| {
        format!(
            "No newly-idle pass was made when it went idle; the reason is not recorded. Possible reasons: no CPU of the root domain \
             was overloaded (now {overloaded}), or the CPU's average idle time was below the cost of a pass at the first level (now \
             1ms and 2ms)."
        )
    };
    let last = format!("Its last newly-idle pass was at 1ms: {clause}.");
    assert_eq!(text(none.clone()), format!("{}\n{last}", reasons("at least one is")));
    assert_eq!(text(NewlyIdleClaim { is_overloaded: false, earlier: None, ..none }), reasons("none is"));
    let domain = DomainName { name: "MC".to_owned(), cpus: vec![0, 1] };
    assert_eq!(
        print(DomainLevelClaim { cpu: 1, level: 0, domain, balance_interval_ms: 8, nr_balance_failed: 1 }),
        ("domain-level", "Level MC (CPUs 0-1) now: 8ms between passes, 1 failed pass in a row.".to_owned())
    );
}

#[test]
fn a_kick_names_its_tick_its_purpose_and_its_target() {
    let kick = KickRecord {
        at_ns: MS,
        cpu: 2,
        reason: RULE,
        flags: 3,
        purpose: Some("balance"),
        target: Some(1),
        kicked: true,
    };
    let of = |last_chosen, last_decision, is_about_passes| {
        text(KickClaim { cpu: 1, is_about_passes, last_decision, last_chosen })
    };
    let tick = "the tick of CPU 2 at 1ms (Rule: First: it holds)";
    let balance = "to balance for all tickless CPUs";
    assert_eq!(
        of(Some(kick.clone()), None, true),
        format!("The last kick that chose it came from {tick}, which kicked CPU 1 {balance}.")
    );
    let pending = KickRecord { kicked: false, purpose: Some("blocked-load"), ..kick };
    assert_eq!(
        of(Some(pending), None, false),
        format!(
            "It was last chosen by {tick}, which chose CPU 1 to update blocked load, without balancing; that CPU had a pending kick."
        )
    );
    let in_vain = KickRecord { target: None, purpose: Some("next-balance"), ..kick };
    assert_eq!(
        of(None, Some(in_vain), false),
        format!(
            "The last kick decision of a busy CPU was made by {tick}, which searched for an idle CPU to update the next balance time, \
             without balancing, and found none.\nNo kick has chosen it so far."
        )
    );
    let none = KickRecord { flags: 0, purpose: None, target: None, ..kick };
    assert!(
        of(None, Some(none), false)
            .starts_with(&format!("The last kick decision of a busy CPU was made by {tick}, which kicked no CPU."))
    );
}

#[test]
fn an_idle_cpu_has_a_tick_and_may_have_no_domain() {
    let of = |is_stopped, is_tickless| text(TickClaim { cpu: 1, is_stopped, is_tickless });
    assert!(of(true, true).starts_with("Its tick is stopped: idle passes are made for it only after a kick"));
    assert!(of(false, true).starts_with("Its tick runs again: it balances at its own ticks. Until the first"));
    assert_eq!(of(false, false), "Its tick is not stopped: it balances at its own ticks.");
    assert_eq!(
        print(NoDomainClaim { cpu: 1 }),
        ("no-domain", "It has no sched domain, so it never balances.".to_owned())
    );
}

fn entity(task: Option<TaskRef>, group: Option<&str>) -> EntityRecord {
    EntityRecord {
        task,
        group: group.map(str::to_owned),
        eligible: true,
        running: false,
        delayed: false,
        lag_ns: 1_000_000,
        vruntime: 0,
        deadline: 0,
        deadline_from_now_ns: -2_000_000,
        slice_ns: 3 * MS,
        weight: 1024,
    }
}

#[test]
fn a_pick_lists_the_entities_of_the_queue() {
    let of_task = || entity(Some(task("a")), None);
    let claim = PickClaim {
        cpu: 1,
        at_ns: MS,
        group: "/".to_owned(),
        is_root: true,
        rule: RULE,
        is_only_entity: false,
        virtual_time: 7,
        nr_eligible: 1,
        nr_entities: 3,
        picked: entity(None, Some("/g")),
        entities: vec![
            EntityRecord { running: true, ..of_task() },
            EntityRecord { eligible: false, delayed: true, lag_ns: -1_000_000, deadline_from_now_ns: 5, ..of_task() },
            entity(None, None),
        ],
    };
    let start = "The last pick of a fair task on CPU 1 was at 1ms: group /g";
    assert_eq!(
        text(claim.clone()),
        format!(
            "{start}, by rule Rule: First: it holds. 3 entities were on the queue, 1 eligible, at virtual time V = 7:\n  a (pid 1000): \
             eligible, lag +1ms, deadline V-2ms, slice 3ms, weight 1024; it was running\n  a (pid 1000): not eligible, lag -1ms, \
             deadline V+5ns, slice 3ms, weight 1024; it sleeps, and its dequeue is delayed\n  an entity: eligible, lag +1ms, deadline \
             V-2ms, slice 3ms, weight 1024"
        )
    );
    let many = PickClaim { nr_entities: 5, ..claim.clone() };
    assert!(text(many).ends_with("\n  and 2 more with later deadlines"));
    let only = PickClaim { is_only_entity: true, ..claim };
    assert_eq!(text(only.clone()), format!("{start}, the only entity of the queue."));
    let inner = PickClaim { is_root: false, group: "/g".to_owned(), picked: of_task(), ..only };
    assert_eq!(text(inner), "In group /g: a (pid 1000), the only entity of the queue.");
}

#[test]
fn a_wake_up_preempts_or_loses() {
    let claim = PreemptionClaim {
        task: task("a"),
        at_ns: MS,
        current: task("b"),
        preempts: true,
        rule: RULE,
        is_not_picked: false,
        virtual_time: 7,
        woken: entity(Some(task("a")), None),
        running: EntityRecord { running: true, ..entity(Some(task("b")), None) },
    };
    let entity = "eligible, lag +1ms, deadline V-2ms, slice 3ms, weight 1024";
    let end = format!(". At virtual time V = 7 it was {entity}; the running entity was {entity}.");
    assert_eq!(text(claim.clone()), format!("Its wake-up preempted b (pid 1000), by rule Rule: it holds{end}"));
    let lost = PreemptionClaim { preempts: false, is_not_picked: true, ..claim };
    assert_eq!(
        text(lost.clone()),
        format!("Its wake-up did not preempt b (pid 1000), by rule Rule: it holds, because its deadline is later{end}")
    );
    let woken = EntityRecord { eligible: false, ..lost.woken.clone() };
    assert!(text(PreemptionClaim { woken, ..lost }).contains("it holds, because it was not eligible. At"));
}

#[test]
fn a_delayed_dequeue_ends_or_is_open() {
    let claim = DelayedDequeueClaim { task: task("a"), at_ns: 5 * MS, cpu: 1, since_ns: 2 * MS, lag_ns: -1, end: None };
    let start = "When it blocked at 2ms it was not eligible (lag -1ns): its dequeue was delayed, so it stayed on the queue of CPU 1 \
                 and counted for the virtual time, but was not runnable. ";
    assert_eq!(text(claim.clone()), format!("{start}It is still queued, 3ms later."));
    let ended = |woken, is_zeroed| {
        let end = Some(DelayEnd { at_ns: 4 * MS, woken, lag_ns: 9, is_zeroed });
        text(DelayedDequeueClaim { end, ..claim.clone() })
    };
    assert_eq!(
        ended(true, true),
        format!(
            "{start}At 4ms, 2ms later, it was woken and stayed, with a lag of +9ns, of which it keeps nothing (DELAY_ZERO)."
        )
    );
    assert_eq!(ended(false, false), format!("{start}At 4ms, 2ms later, it left the queue, with a lag of +9ns."));
}

#[test]
fn a_fair_server_prints_its_budget_and_its_steps() {
    let claim = FairServerClaim {
        cpu: 1,
        max_runtime_ns: 50 * MS,
        period_ns: 1000 * MS,
        active: true,
        runtime_ns: 20_000_000,
        last_step: None,
        last_step_at_ns: None,
        runs_from_ns: None,
        last_ran_ns: None,
        last_starved_ns: None,
    };
    let start = "The fair server of CPU 1 has 50ms in each 1s for fair tasks that starve, and at the last update ";
    assert_eq!(text(claim.clone()), format!("{start}20ms left (30ms used)."));
    let overdrawn = FairServerClaim { runtime_ns: -5_000_000, ..claim };
    assert_eq!(text(overdrawn), format!("{start}0ns left (55ms used)."));
    let full = FairServerClaim {
        active: false,
        last_step: Some(RULE),
        last_step_at_ns: Some(MS),
        runs_from_ns: Some(2 * MS),
        last_ran_ns: Some(3 * MS),
        last_starved_ns: Some(4 * MS),
        ..claim
    };
    assert_eq!(
        text(full.clone()),
        format!(
            "{start}no fair task to serve.\nIts last step was at 1ms: First: it holds.\nIt runs a fair task at 2ms at the earliest, \
             unless one runs before.\nIt last ran a fair task at 3ms, after it was queued at 4ms because they starved."
        )
    );
    assert!(text(FairServerClaim { last_starved_ns: None, ..full }).ends_with("\nIt last ran a fair task at 3ms."));
}

#[test]
fn kinds_have_distinct_names() {
    let mut kinds = Claim::KINDS.to_vec();
    kinds.sort_unstable();
    kinds.dedup();
    assert_eq!(kinds.len(), Claim::KINDS.len());
}
