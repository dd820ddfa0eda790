// SPDX-License-Identifier: GPL-2.0-or-later
mod eevdf;
mod groups;
mod never_woken;
mod stretched;

use super::kicks::WastedKicks;
use super::moves::Moves;
use super::rule::Rule;
use super::*;
use fairlab_board::preset;
use fairlab_machine::hardware::Hardware;
use fairlab_machine::observer::Observers;
use fairlab_machine::sim::{START, Setup};
use fairlab_measure::summary::{RunSubject, RunSummary};
use fairlab_measure::summary_observer::SummaryObserver;
use fairlab_traces::import::event::{Recording, TraceEvent};
use fairlab_workload::{rtapp, scenario};

/// Returns a recording of two CPUs.
fn recording(events: Vec<TraceEvent>) -> Recording {
    let mut recording = Recording::default();
    (recording.events, recording.nr_cpus) = (events, 2);
    recording
}

/// Runs a machine and returns its findings, the worst first, and its summary.
fn find(machine: &mut Machine, limits: Limits) -> (Vec<Finding>, RunSummary) {
    let (mut summary, mut findings) = (SummaryObserver::new(machine), Findings::new(machine, limits));
    let step = Nanos((machine.duration().0 / 1000).clamp(1, 10_000_000));
    machine.start(&mut Observers(vec![&mut summary, &mut findings])).expect("the tasks make progress");
    for nr in 1.. {
        let until = START + Nanos(step.0 * nr);
        let observers = &mut Observers(vec![&mut summary, &mut findings]);
        let has_more = machine.advance(observers, until).expect("the tasks make progress");
        findings.sample(machine, machine.now());
        if !has_more {
            break;
        }
    }
    machine.finish(&mut Observers(vec![&mut summary, &mut findings]));
    let summary = RunSummary::new(RunSubject::default(), machine, &summary);
    (findings.finish(machine, &summary.families), summary)
}

/// Returns the sentence of a finding with 2 occurrences, 3 ms in total and 2 ms at most.
pub(super) fn sentence(evidence: impl Into<Evidence>) -> String {
    printed(evidence).to_string()
}

/// Returns the finding that [`sentence`] prints.
pub(super) fn printed(evidence: impl Into<Evidence>) -> Finding {
    let finding = RULES[0].finding(evidence, Question::Cpu(0));
    Finding { count: 2, total_ns: 3_000_000, worst_ns: 2_000_000, ..finding }
}

/// Returns names of a family and of a task in it, for evidence.
pub(super) fn family_and_task() -> (String, String) {
    ("f".to_owned(), "f0".to_owned())
}

fn machine(scenario: &str) -> Machine {
    let scenario = scenario::parse("test.scn", scenario).unwrap_or_else(|error| panic!("{error}"));
    Machine::new(Setup::from_scenario(scenario)).expect("a possible machine")
}

/// Returns the findings of a scenario, with limits of a millisecond.
fn found(scenario: &str) -> Vec<Finding> {
    let mut machine = machine(scenario);
    let ms = Nanos::from_millis;
    let limits = Limits { idle: ms(1), latency: ms(1), starvation: ms(50), ..Limits::of(&machine) };
    find(&mut machine, limits).0
}

fn of<'a>(findings: &'a [Finding], rule: &str) -> Option<&'a Finding> {
    findings.iter().find(|finding| finding.rule == rule)
}

/// Returns the context of a trace without families.
fn context<'a>(now: Nanos) -> FindingContext<'a> {
    FindingContext {
        name: &|_| String::new(),
        families: &[],
        groups: &[],
        summaries: &[],
        machine: None,
        since: START,
        now,
    }
}

#[test]
fn a_task_that_waits_while_a_cpu_idles_is_found_once_it_may_run_there() {
    let pinned = "cpus 2\nend 300ms\ntask a mask=0-0 cpu=0 run 10s\ntask b mask=0-0 cpu=0 run 10s\n";
    let findings = found(pinned);
    assert!(of(&findings, "idle-while-waiting").is_none(), "it may not run there: {findings:?}");
    let findings = found(&format!("{pinned}affinity 101ms b 0-1\n"));
    let finding = of(&findings, "idle-while-waiting").unwrap_or_else(|| panic!("{findings:?}"));
    assert!((100_000_000..120_000_000).contains(&finding.at_ns), "{finding:?}");
    assert_eq!(finding.question, Question::Cpu(1));
    assert!(finding.sentence.contains("CPU 1 idled"), "{}", finding.sentence);
}

#[test]
fn a_task_that_gets_no_cpu_starves_and_one_that_gets_it_late_is_late() {
    let findings =
        found("cpus 1\nend 300ms\ntask hog fifo=10 cpu=0 run 10s\ntask poor cpu=0 loop run 100us sleep 1ms\n");
    let finding = of(&findings, "starvation").unwrap_or_else(|| panic!("{findings:?}"));
    assert_eq!((finding.severity, finding.question.clone()), (Severity::High, Question::Task("poor".to_owned())));
    assert!(finding.worst_ns > 250_000_000, "{finding:?}");
    let findings = found("cpus 1\nend 300ms\ntask hog cpu=0 run 10s\ntask late batch cpu=0 loop run 100us sleep 5ms\n");
    let finding = of(&findings, "late-wakeup").unwrap_or_else(|| panic!("{findings:?}"));
    assert!(finding.count > 5 && finding.worst_ns > 1_000_000, "{finding:?}");
}

#[test]
fn a_task_waits_behind_the_class_that_the_running_task_has_then() {
    let behind = |policy: &str| {
        let text = format!("cpus 1\nend 300ms\ntask spin cpu=0 run 10s\ntask nap cpu=0 run 100us sleep 5ms\n{policy}");
        let findings = found(&text);
        of(&findings, "late-wakeup").map(|finding| finding.sentence.ends_with(", behind real-time tasks"))
    };
    assert_eq!(behind("policy 8ms spin fifo=5\n"), Some(true), "it became a real-time task while it ran");
    assert_eq!(behind("policy 8ms spin fifo=5\npolicy 60ms spin fair\n"), Some(true));
}

#[test]
fn who_waits_for_the_quota_of_his_group_does_not_wait_for_a_cpu() {
    let scenario = |quota: &str| format!("cpus 2\nend 500ms\ngroup g {quota}\ntask a group=g n=2 cpu=0 run 10s\n");
    let findings = found(&scenario("quota=20ms period=100ms"));
    assert!(of(&findings, "starvation").is_none(), "{findings:?}");
    let idle = of(&findings, "idle-while-waiting").map_or(0, |finding| finding.worst_ns);
    assert!(idle < 20_000_000, "until load balancing separates the two: {findings:?}");
    assert!(of(&found(&scenario("quota=20ms period=100ms").replace("group=g", "")), "starvation").is_none());
    let hogged = scenario("quota=20ms period=100ms") + "task rt fifo=10 cpu=0 n=2 start=150ms run 10s\n";
    assert!(of(&found(&hogged), "starvation").is_some(), "the group has quota, so the tasks wait for a CPU");
}

#[test]
fn a_task_that_goes_to_and_fro_is_found_if_it_does_so_often() {
    let mut machine = machine("cpus 2\nend 100ms\ntask a cpu=0 run 1ms\n");
    let limits = Limits::of(&machine);
    machine.run(&mut fairlab_machine::observer::NoObserver).expect("the tasks make progress");
    let moved = |every_us: u64| {
        let mut moves = Moves::new(2, limits);
        for step in 0..100_u64 {
            let (from, to) = (CpuId((step % 2) as u32), CpuId((step % 2) as u32 ^ 1));
            let migration = FindingMigration { task: 0, family: 0, from, to };
            moves.on_migrate(START + Nanos(every_us * 1000 * step), migration);
        }
        let name = |_: usize| "a".to_owned();
        let about = FindingContext { name: &name, families: &["a".to_owned()], ..context(machine.now()) };
        moves.findings(&about)
    };
    assert_eq!(moved(500).first().map(|finding| finding.count), Some(99));
    assert!(moved(2_000).is_empty(), "it stays for longer than the limit");
}

#[test]
fn of_tasks_that_go_to_and_fro_the_one_that_did_so_last_is_named() {
    let names = ["a0".to_owned(), "a1".to_owned(), "a2".to_owned()];
    let of = |starts_ms: [u64; 3]| {
        let mut moves = Moves::new(2, Limits::of_tick(Nanos::from_millis(4)));
        for (task, start) in starts_ms.into_iter().enumerate() {
            for step in 0..100_u64 {
                let (from, to) = (CpuId((step % 2) as u32), CpuId((step % 2) as u32 ^ 1));
                let migration = FindingMigration { task, family: 0, from, to };
                moves.on_migrate(START + Nanos::from_millis(start) + Nanos::from_micros(500 * step), migration);
            }
        }
        let name = |task: usize| names[task].clone();
        let end = START + Nanos::from_millis(500);
        let about = FindingContext { name: &name, families: &["a".to_owned()], ..context(end) };
        let finding = moves.findings(&about).pop().expect("it is found");
        let Evidence::PingPong(PingPongEvidence { task, .. }) = &finding.evidence else { panic!("{finding:?}") };
        assert_eq!((finding.count, finding.at_ns), (3 * 99, finding.last_ns));
        (task.clone(), finding.at_ns / 1_000_000)
    };
    assert_eq!(of([100, 200, 0]), ("a1".to_owned(), 249));
    assert_eq!(of([200, 100, 0]), ("a0".to_owned(), 249));
    assert_eq!(of([0, 100, 200]), ("a2".to_owned(), 249));
}

#[test]
fn kicks_after_which_nothing_moves_are_found_if_they_are_many() {
    use fairlab_sched::probe::{KickDecision, KickReason};
    let mut kicks = WastedKicks::new(2, Limits::of_tick(Nanos::from_millis(4)));
    let kick = KickDecision {
        cpu: CpuId(0),
        reason: KickReason::ManyTasks,
        flags: fairlab_sched::interface::balance::NOHZ_BALANCE_KICK,
        target: Some(CpuId(1)),
        kicked: true,
    };
    for at in 0..99 {
        kicks.on_kick(START + Nanos(at), &kick);
    }
    assert!(kicks.findings(&context(START)).is_empty());
    kicks.on_kick(START + Nanos(99), &kick);
    assert_eq!(kicks.findings(&context(START)).first().map(|finding| (finding.count, finding.at_ns)), Some((100, 99)));
}

#[test]
fn tasks_that_get_less_than_half_of_their_share_are_found() {
    // Nine tasks begin on one CPU, and one task on each of the others. All may use all CPUs, but load
    // balancing moves none.
    let mut crowd = "cpus 4\nend 900ms\ntask crowd n=9 cpu=0 mask=0-0 run 10s\n".to_owned();
    for (cpu, name) in [(1, "alone"), (2, "alike"), (3, "other")] {
        crowd.push_str(&format!("task {name} cpu={cpu} mask={cpu}-{cpu} run 10s\naffinity 1ms {name} 0-3\n"));
    }
    (0..9).for_each(|task| crowd.push_str(&format!("affinity 1ms crowd{task} 0-3\n")));
    let findings = found(&format!("{crowd}tune nr_migrate 0\n"));
    let finding = of(&findings, "unfair-share").unwrap_or_else(|| panic!("{findings:?}"));
    assert!(finding.sentence.starts_with("crowd got less than half"), "{}", finding.sentence);
    assert!(of(&found(&crowd), "unfair-share").is_none(), "balancing makes it fair");
}

#[test]
fn a_frequency_that_is_held_down_is_found() {
    let board = "cpus 2\nfdom 0-1 500000 1000000\nend 400ms\ntask hog cpu=0 run 10s\n";
    let findings = found(&format!("{board}maxfreq 0 0-1 512\n"));
    let finding = of(&findings, "frequency-low").unwrap_or_else(|| panic!("{findings:?}"));
    assert!(finding.worst_ns > 200_000_000, "{finding:?}");
    assert!(of(&found(board), "frequency-low").is_none(), "schedutil follows");
}

#[test]
fn a_task_that_stays_on_a_small_cpu_is_found() {
    let big_little = "cpus 8\ntopo llc=4 pkg=8\nlevels MP\ncaps 446 446 446 446 1024 1024 1024 1024\nscale 1\nend 1s\n";
    let tasks = "task big cpu=0 mask=0-0 run 10s\naffinity 300ms big 0-7\n";
    let with = |tunables: &[&str]| found_in("misfit.scn", |_| format!("{big_little}{tasks}"), tunables);
    let findings = with(&["no_misfit"]);
    let finding = of(&findings, "misfit-left").unwrap_or_else(|| panic!("{findings:?}"));
    assert!(finding.worst_ns > 600_000_000 && finding.question == Question::Cpu(0), "{finding:?}");
    assert!(of(&with(&[]), "misfit-left").is_none(), "the kernel moves it");
    let busy = format!("{tasks}task hog n=4 cpu=4 mask=4-7 run 10s\n");
    let findings = found_in("misfit.scn", |_| format!("{big_little}{busy}"), &["no_misfit"]);
    assert!(of(&findings, "misfit-left").is_none(), "only small CPUs are idle: {findings:?}");
}

#[test]
fn timers_that_are_missed_are_found() {
    let periodic = |tasks: u32| {
        let text = format!(
            r#"{{"tasks":{{"x":{{"instance":{tasks},"cpus":[0],"run":4000,"timer":{{"ref":"unique","period":10000}}}}}},
                "global":{{"duration":1,"calibration":"CPU0"}}}}"#
        );
        let hardware = Hardware::from_description(&preset("laptop-8").expect("a preset"));
        let workload = rtapp::parse("x.json", &text, rtapp::RtAppOptions::for_cpus(8)).expect("an rt-app file");
        let idle = scenario::parse("idle.scn", "cpus 8\nend 1s\n").expect("a scenario");
        let mut machine =
            Machine::new(Setup { workload, ..Setup::with_hardware(hardware, idle) }).expect("a possible machine");
        let limits = Limits::of(&machine);
        find(&mut machine, limits).0
    };
    let findings = periodic(3);
    assert!(of(&findings, "timer-missed").is_some_and(|finding| finding.count > 10), "{findings:?}");
    assert!(of(&periodic(2), "timer-missed").is_none(), "there is time for two");
}

/// Returns the findings of a file in `scenarios/`, after a change to its text, with tunables set to 1.
fn found_in(file: &str, change: impl Fn(String) -> String, tunables: &[&str]) -> Vec<Finding> {
    let path = format!("{}/../../scenarios/{file}", env!("CARGO_MANIFEST_DIR"));
    let text = change(std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}")));
    let mut setup = Setup::from_scenario(scenario::parse(file, &text).unwrap_or_else(|error| panic!("{error}")));
    setup.tunables.extend(tunables.iter().map(|name| ((*name).into(), 1)));
    let mut machine = Machine::new(setup).expect("a possible machine");
    let limits = Limits { idle: Nanos::from_millis(1), ..Limits::of(&machine) };
    find(&mut machine, limits).0
}

/// Returns how long tasks of a family waited while a CPU that they may use idled, in ms, and the finding's
/// sentence.
fn idled(findings: &[Finding], family: &str) -> (u64, String) {
    let is_meant = |finding: &&Finding| finding.rule == "idle-while-waiting" && finding.sentence.starts_with(family);
    let finding = findings.iter().find(is_meant);
    finding.map_or((0, String::new()), |finding| (finding.total_ns / 1_000_000, finding.sentence.clone()))
}

// The four bugs of "The Linux scheduler: a decade of wasted cores" (EuroSys 2016), or their effects: three
// exist in 6.1, one only with a switch.

#[test]
fn an_average_of_heavy_tasks_that_hides_an_idle_cpu_is_found_and_named() {
    let (ms, sentence) = idled(&found_in("wasted-group-imbalance.scn", |text| text, &[]), "crowd");
    assert!(ms > 3000 && sentence.contains("CPU 7 idled"), "{ms} {sentence}");
    assert!(sentence.contains("Both groups are overloaded, and the local one has at least as much load"), "{sentence}");
    let (ms, sentence) =
        idled(&found_in("wasted-group-imbalance.scn", |text| text.replace("nice=-15 ", ""), &[]), "crowd");
    assert!(ms < 1000, "light tasks hide nothing: {ms} {sentence}");
}

#[test]
fn an_overloaded_node_that_its_group_hides_from_an_idle_one_is_found_and_named() {
    let (ms, sentence) = idled(&found_in("wasted-groups.scn", |text| text, &[]), "hog");
    assert!(
        ms > 600 && sentence.contains("common domain is NUMA") && sentence.contains("The computed imbalance is 0"),
        "{ms} {sentence}"
    );
    let (ms, sentence) = idled(&found_in("wasted-groups.scn", |text| text.replace("22", "16"), &[]), "hog");
    assert!(ms < 100, "one hop: {ms} {sentence}");
}

#[test]
fn a_wake_up_on_a_busy_cache_while_another_one_idles_is_found_and_named() {
    let findings = found_in("wasted-wakeup.scn", |text| text, &[]);
    let (ms, sentence) = idled(&findings, "late");
    assert!(ms > 0 && sentence.contains("common domain is"), "{findings:?}");
    let findings = found_in("wasted-wakeup.scn", |text| text.replace("llc=2", "llc=4"), &[]);
    assert_eq!(idled(&findings, "late").0, 0, "one cache: {findings:?}");
}

#[test]
fn domains_that_are_missing_are_found_and_named() {
    let (ms, sentence) = idled(&found_in("switches/wasted-domains.scn", |text| text, &["numa_domains_lost"]), "hog");
    assert!(ms > 900 && sentence.contains("they have no common domain"), "{ms} {sentence}");
    let (ms, sentence) = idled(&found_in("switches/wasted-domains.scn", |text| text, &[]), "hog");
    assert!(ms < 300, "domains of all nodes: {ms} {sentence}");
}

#[test]
fn the_same_is_found_in_a_trace_as_far_as_its_events_tell() {
    use fairlab_sched::ctx::PrevState;
    use fairlab_traces::import::event::{Context, ThreadRef, TraceEventKind};
    let thread_ref = |pid| ThreadRef { pid, comm: Default::default(), prio: Some(120) };
    let event =
        |ms: u64, cpu, what| TraceEvent { at: ms * 1_000_000, cpu, pid: 0, context: Context::Thread, kind: what };
    let switch = |prev, state, next| TraceEventKind::Switch { prev: thread_ref(prev), state, next: thread_ref(next) };
    let wakeup = |pid| TraceEventKind::Wakeup { thread_ref: thread_ref(pid), cpu: 0, is_new: false };
    let events = vec![
        event(0, 0, switch(0, PrevState::Runnable, 7)),
        event(0, 1, switch(5, PrevState::Blocked, 0)),
        event(10, 0, wakeup(8)),
        event(50, 0, switch(7, PrevState::Blocked, 8)),
        event(900, 0, wakeup(7)),
        event(1500, 0, switch(8, PrevState::Blocked, 7)),
        event(1501, 1, switch(0, PrevState::Runnable, 5)),
    ];
    let findings = find_in_trace(&recording(events), Limits::of_tick(Nanos::from_millis(4)));
    let rules: Vec<(&str, u64)> = findings.iter().map(|finding| (finding.rule, finding.worst_ns / 1_000_000)).collect();
    assert_eq!(rules, [("idle-while-waiting", 600), ("starvation", 600), ("late-wakeup", 600)], "{findings:?}");
    assert!(findings[0].sentence.contains("not in the trace"), "{}", findings[0].sentence);
}

#[test]
fn a_thread_that_changes_its_cpu_and_returns_is_found_in_a_trace_of_switches_alone() {
    use fairlab_sched::ctx::PrevState;
    use fairlab_traces::import::event::{Context, ThreadRef, TraceEventKind};
    let thread_ref = |pid| ThreadRef { pid, comm: Default::default(), prio: Some(120) };
    let found = |cpu_of: fn(u64) -> u32| {
        let switch = |turn: u64| {
            let what = |prev, next| TraceEventKind::Switch {
                prev: thread_ref(prev),
                state: PrevState::Blocked,
                next: thread_ref(next),
            };
            let event = |us: u64, kind| TraceEvent {
                at: (turn * 400 + us) * 1000,
                cpu: cpu_of(turn),
                pid: 0,
                context: Context::Thread,
                kind,
            };
            [event(0, what(0, 9)), event(300, what(9, 0))]
        };
        let events = (0..60).flat_map(switch).collect();
        let recording = recording(events);
        let findings = find_in_trace(&recording, Limits::of_tick(Nanos::from_millis(4)));
        of(&findings, "ping-pong").map(|finding| finding.count)
    };
    // The first migration is no return.
    assert_eq!(found(|turn| (turn % 2) as u32), Some(58));
    assert_eq!(found(|_| 0), None, "it stays");
}

#[test]
fn nothing_is_found_on_a_machine_that_is_well() {
    let mut machine =
        machine("cpus 4\nend 500ms\ntask a cpu=0 loop run 1ms sleep 3ms\ntask b cpu=1 loop run 2ms sleep 9ms\n");
    let limits = Limits::of(&machine);
    let (findings, _) = find(&mut machine, limits);
    assert!(findings.is_empty(), "{findings:?}");
}

#[test]
fn rules_have_names_of_their_own_and_a_severity_as_text() {
    let mut names: Vec<&str> = RULES.iter().map(|rule| rule.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), RULES.len());
    let timers = RuleInfo::from_name("timer-missed").expect("there is such a rule");
    assert_eq!(timers.severity.to_string(), "medium above 5 % of periods, else low");
    assert_eq!((timers.severity.of(false), timers.severity.max()), (Severity::Low, Severity::Medium));
}

/// Returns the names of the rules with findings, and the summaries of the families.
fn rules_and_families(scenario: &str) -> (Vec<&'static str>, Vec<FamilySummary>) {
    let mut machine = machine(scenario);
    let limits = Limits::of(&machine);
    let (findings, summary) = find(&mut machine, limits);
    (findings.iter().map(|finding| finding.rule).collect(), summary.families)
}

#[test]
fn a_deadline_task_beyond_its_runtime_is_throttled_and_waits_for_no_cpu() {
    let (rules, families) = rules_and_families("cpus 4\nend 2s\ntask dl dl=10ms/600ms/600ms cpu=0 run 10s\n");
    assert_eq!(rules, ["throttled"]);
    assert_eq!(families[0].wait_ns, 0);
    assert!(families[0].throttled_ns > 1_900_000_000, "{families:?}");
}

#[test]
fn real_time_tasks_beyond_their_runtime_are_throttled() {
    // By default the class may use 950 ms of each second.
    let scenario = "cpus 4\nend 4s\nfeature RT_RUNTIME_SHARE 0\ntask rt fifo=5 cpu=0 mask=0-0 run 10s\n";
    let (rules, families) = rules_and_families(scenario);
    assert_eq!(rules, ["throttled"]);
    assert_eq!(families[0].wait_ns, 0);
    assert!((150_000_000..250_000_000).contains(&families[0].throttled_ns), "{families:?}");
}

#[test]
fn a_container_that_waits_for_its_quota_is_found_and_one_that_does_not_wait_is_not() {
    let container = |quota: &str| {
        format!("cpus 4\nend 2s\ngroup box quota={quota} period=200ms\ntask web group=box cpu=0 run 40ms sleep 60ms\n")
    };
    let (rules, families) = rules_and_families(&container("30ms"));
    assert_eq!(rules, ["throttled"]);
    assert!(families[0].throttled_ns > 1_000_000_000 && families[0].wait_ns == 0, "{families:?}");
    let (rules, families) = rules_and_families(&container("200ms"));
    assert_eq!((rules.len(), families[0].throttled_ns), (0, 0), "{families:?}");
}

#[test]
fn a_wake_up_of_a_running_task_is_no_wake_up_and_leaves_no_mark() {
    // The process that changes an affinity is woken by the stopper that moves the task. Here that process is `other`, which runs.
    let scenario = "cpus 2\nend 480ms\ntask mover cpu=0 run 10s\ntask other cpu=1 run 300ms sleep 100ms\n\
                    affinity 200ms mover 1-1\naffinity 201ms mover 0-0\n";
    let (rules, families) = rules_and_families(scenario);
    assert_eq!(rules, [""; 0]);
    let other = &families[1];
    assert_eq!((other.wakeups, other.wakeup_latency.map(|latency| latency.max_ns)), (1, Some(0)), "{other:?}");
}

#[test]
fn an_offline_cpu_is_neither_idle_nor_a_place_for_a_waiting_task() {
    let scenario = "cpus 2\ncaps 512 1024\nscale 1\nend 1s\ntask hog n=2 cpu=0 run 10s\noffline 10ms 1\n";
    let mut machine = machine(scenario);
    let limits = Limits::of(&machine);
    let (findings, summary) = find(&mut machine, limits);
    assert!(of(&findings, "idle-while-waiting").is_none() && of(&findings, "misfit-left").is_none(), "{findings:?}");
    let cpus = &summary.cpus;
    assert_eq!((cpus[1].offline_ns, cpus[1].idle_ns), (990_000_000, 0), "{:?}", cpus[1]);
}
