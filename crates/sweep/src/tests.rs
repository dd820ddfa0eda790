// SPDX-License-Identifier: GPL-2.0-or-later
//! Tests of plans, stores and execution of sweeps, with points that need no simulation.

use super::export::SweepTable;
use super::plan::{SettingType, SweepPlan, SweepPoint};
use super::run::{Shard, identified, pending, run};
use super::store::{PointStore, StoreError, StoredResult};
use super::{PointResult, PointRunner};
use fairlab_workload::message::Message;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

const PLAN: &str = "workload = 'a.json'\nseeds = 2\n[grid]\nkernel = ['5.4', '6.1']\nSIS_UTIL = [true, false]\n";

/// Records the points that are run.
#[derive(Default)]
struct TestPoints {
    run: Mutex<Vec<SweepPoint>>,
}

impl PointRunner for TestPoints {
    fn inputs(&self, _point: &SweepPoint) -> Result<String, Message> {
        Ok("a.json".to_owned())
    }

    fn run(&self, point: &SweepPoint) -> Option<Result<PointResult, Message>> {
        self.run.lock().expect("nothing panics").push(point.clone());
        if point.settings.get("kernel").is_some_and(|kernel| kernel == "none") {
            return Some(Err(Message::new("there is no such kernel")));
        }
        let value = point.seed as f64 / 3.0;
        Some(Ok(PointResult {
            digest: format!("{point:?}").len().to_string(),
            metrics: vec![("time".to_owned(), value)],
        }))
    }
}

fn plan(text: &str) -> SweepPlan {
    SweepPlan::parse("plan.toml", text).unwrap_or_else(|error| panic!("{error}"))
}

fn place() -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().expect("there is a place for temporary files");
    let path = directory.path().join("s.sweep");
    (directory, path)
}

/// Runs a plan until `has_more` returns false. Returns the number of results.
fn sweep(path: &std::path::Path, text: &str, runs: &TestPoints, has_more: &(dyn Fn() -> bool + Sync)) -> usize {
    let mut store = PointStore::open(path).expect("it can be opened");
    let points = identified(plan(text).points(), runs).expect("all points can be run");
    store.set_plan(&points).expect("it can be written");
    let todo = pending(&store, Shard::default()).expect("it can be read");
    let mut done = 0;
    run(&mut store, todo, runs, has_more, &mut |_| done += 1).expect("it can be written");
    done
}

fn table_of(path: &std::path::Path) -> String {
    let points = PointStore::open_existing(path, false).and_then(|store| store.points()).expect("it can be read");
    let mut text = Vec::new();
    let points: Vec<_> = points.into_iter().filter(|kept| kept.in_plan).collect();
    SweepTable::of(&points).csv(&mut text).expect("memory can be written");
    String::from_utf8(text).expect("it is text")
}

#[test]
fn a_plan_spans_its_grid_its_list_its_sample_and_its_seeds() {
    let points = plan(PLAN).points();
    assert_eq!(points.len(), 8);
    assert_eq!((points[0].settings["SIS_UTIL"].as_str(), points[0].settings["kernel"].as_str()), ("true", "5.4"));
    assert_eq!((points[0].seed, points[1].seed), (1, 2));
    let listed = "bench = 'hackbench -g {groups}'\nfirst_seed = 7\n[[list]]\nmachine = 'hikey'\ngroups = 1\n\
        [[list]]\nmachine = 'sc7180'\ngroups = 4\n[sample]\ndraws = 50\nlatency_ns = { from = 10, to = 19 }\n\
        migration_cost_ns = { from = 1, to = 1000, log = true }\n";
    let points = plan(listed).points();
    assert_eq!((points.len(), points[0].seed), (100, 7));
    let number = |point: &SweepPoint, key: &str| point.settings[key].parse::<i64>().expect("it is a number");
    let drawn: BTreeSet<i64> = points.iter().map(|point| number(point, "latency_ns")).collect();
    assert!(drawn.len() == 10 && drawn.iter().all(|value| (10..=19).contains(value)), "{drawn:?}");
    let small = points.iter().filter(|point| number(point, "migration_cost_ns") <= 31).count();
    assert!((30..=70).contains(&small), "half of the draws are below the root of 1000: {small}");
    // Removing another key changes no draw.
    let alone = plan(&listed.replace("migration_cost_ns = { from = 1, to = 1000, log = true }\n", "")).points();
    let of = |points: &[SweepPoint]| points.iter().map(|point| number(point, "latency_ns")).collect::<Vec<_>>();
    assert_eq!(of(&alone), of(&points));
}

#[test]
fn a_setting_has_the_type_that_all_its_values_have_in_common() {
    let text = "bench = 'b {f} {i} {t}'\n[grid]\nSIS_UTIL = [true, false]\nf = [1, 2.5]\ni = [1, 2]\nkernel = ['6.1', '6.12']\n\
                t = [1, 'all']\n[[list]]\ng = 0.5\n[sample]\ndraws = 2\ns = { from = 1, to = 5 }\n";
    let expected = [
        ("SIS_UTIL", SettingType::Switch),
        ("f", SettingType::Number),
        ("g", SettingType::Number),
        ("i", SettingType::Integer),
        ("kernel", SettingType::Text),
        ("s", SettingType::Integer),
        ("t", SettingType::Text),
    ];
    assert_eq!(plan(text).setting_types().into_iter().collect::<Vec<_>>(), expected);
}

#[test]
fn an_invalid_plan_is_rejected_with_a_hint() {
    for (text, expected) in [
        ("", "nothing is run"),
        ("workload = 'a'\nbench = 'b'", "both a workload and a bench"),
        ("workload = 'a'\n[grid]\nx = []", "x has no value"),
        ("workload = 'a'\n[grid]\nx = [1]\n[[list]]\nx = 2", "x is set twice"),
        ("workload = 'a'\n[[list]]\nx = 2\n[[list]]\ny = 2", "a row sets y"),
        ("workload = 'a'\nseeds = 0", "`seeds` is 0"),
        ("workload = 'a'\n[sample]\ndraws = 3\nx = { from = 5, to = 1 }", "the range of x"),
        ("workload = 'a'\n[sample]\ndraws = 0", "nothing is drawn"),
        ("workload = 'a'\nseeds = 100000000000", "more than 10000000 points"),
        ("workload = 'a'\nsead = 1", "unknown key `sead`"),
    ] {
        let error = SweepPlan::parse("p.toml", text).expect_err(text);
        assert!(
            error.to_string().starts_with("p.toml:") && error.text.contains(expected) && error.help.is_some(),
            "{text}: {error}"
        );
    }
}

#[test]
fn a_sweep_that_is_stopped_again_and_again_runs_each_point_once_and_ends_with_the_same_table() {
    let (_directory, whole) = place();
    let runs = TestPoints::default();
    assert_eq!(sweep(&whole, PLAN, &runs, &|| true), 8);
    let (_other, path) = place();
    let runs = TestPoints::default();
    let mut rounds = 0;
    loop {
        let left = AtomicUsize::new(3);
        let has_more = || left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok();
        rounds += 1;
        if sweep(&path, PLAN, &runs, &has_more) == 0 {
            break;
        }
    }
    assert_eq!(rounds, 4);
    let mut run = runs.run.into_inner().expect("nothing panics");
    run.sort();
    let mut all = plan(PLAN).points();
    all.sort();
    assert_eq!(run, all);
    assert_eq!(table_of(&path), table_of(&whole));
    assert!(table_of(&path).starts_with("SIS_UTIL,kernel,seed,time,digest\ntrue,5.4,1,0.3333333333333333,"));
}

#[test]
fn a_changed_plan_adds_points_and_keeps_the_others() {
    let (_directory, path) = place();
    let runs = TestPoints::default();
    sweep(&path, PLAN, &runs, &|| true);
    let more = PLAN.replace("['5.4', '6.1']", "['6.1', '5.11']");
    assert_eq!(sweep(&path, &more, &runs, &|| true), 4, "only those of 5.11 are new");
    assert_eq!(table_of(&path).lines().count(), 9);
    // Points that the plan no longer has stay in the store, and count again when the plan has them again.
    assert_eq!(
        PointStore::open_existing(&path, false).and_then(|store| store.points()).expect("it can be read").len(),
        12
    );
    assert_eq!(sweep(&path, PLAN, &runs, &|| true), 0);
}

#[test]
fn shards_share_the_points_and_merge_to_the_whole() {
    let (_directory, whole) = place();
    sweep(&whole, PLAN, &TestPoints::default(), &|| true);
    let (directory, merged) = place();
    let mut sizes = Vec::new();
    for which in 1..=3 {
        let path = directory.path().join(format!("{which}.sweep"));
        let runs = TestPoints::default();
        let mut store = PointStore::open(&path).expect("it can be opened");
        store.set_plan(&identified(plan(PLAN).points(), &runs).expect("they can be run")).expect("it can be written");
        let shard = Shard::parse(&format!("{which}/3")).expect("it is a shard");
        let todo = pending(&store, shard).expect("it can be read");
        sizes.push(todo.len());
        run(&mut store, todo, &runs, &|| true, &mut |_| ()).expect("it can be written");
        let points = store.points().expect("it can be read");
        let mut all = PointStore::open(&merged).expect("it can be opened");
        all.merge("shard", &points).expect("they agree");
        assert_eq!(all.merge("shard", &points).expect("they agree"), 0, "twice is once");
    }
    assert_eq!(sizes.iter().sum::<usize>(), 8);
    assert_eq!(table_of(&merged), table_of(&whole));
    for text in ["0/3", "4/3", "1", "a/b", "1/0"] {
        assert!(Shard::parse(text).is_err(), "{text}");
    }
}

#[test]
fn stores_that_disagree_are_not_merged() {
    let (directory, path) = place();
    sweep(&path, PLAN, &TestPoints::default(), &|| true);
    let mut points = PointStore::open_existing(&path, false).and_then(|store| store.points()).expect("it can be read");
    let Some(StoredResult { outcome: Ok(result), .. }) = &mut points[0].result else { panic!("it is done") };
    result.digest = "another".to_owned();
    let error =
        PointStore::open(&path).expect("it can be opened").merge("other.sweep", &points).expect_err("they differ");
    assert!(matches!(&error, StoreError::Conflict(other, ..) if other == "other.sweep"), "{error}");
    drop(directory);
}

#[test]
fn a_point_that_fails_is_kept_with_the_reason_and_others_go_on() {
    let (_directory, path) = place();
    let runs = TestPoints::default();
    let text = PLAN.replace("'5.4'", "'none'");
    assert_eq!(sweep(&path, &text, &runs, &|| true), 8);
    let failed = PointStore::open_existing(&path, false).and_then(|store| store.points()).expect("it can be read");
    let why = |done: &StoredResult| done.outcome.as_ref().err().cloned();
    let why: Vec<Message> = failed.iter().filter_map(|kept| kept.result.as_ref().and_then(why)).collect();
    assert_eq!(why, vec![Message::new("there is no such kernel"); 4]);
    assert_eq!(sweep(&path, &text, &runs, &|| true), 0, "they are not run again");
    assert_eq!(PointStore::open(&path).and_then(|mut store| store.delete_failures()).expect("it can be written"), 4);
    assert_eq!(sweep(&path, &text, &runs, &|| true), 4, "unless their failures are deleted");
}

#[test]
fn a_store_has_one_process_at_a_time() {
    let (_directory, path) = place();
    let first = PointStore::open(&path).expect("it can be opened");
    let second = PointStore::open(&path).expect_err("it is in use");
    assert!(matches!(second, StoreError::InUse(_)), "{second}");
    drop(first);
    assert!(PointStore::open(&path).is_ok());
}

#[test]
fn what_is_no_store_is_left_alone() {
    let (_directory, path) = place();
    std::fs::write(&path, "task t run 5ms\n".repeat(200)).expect("there is room");
    let error = PointStore::open(&path).expect_err("it is text");
    assert!(matches!(error, StoreError::Foreign(..)), "{error}");
    let other = path.with_extension("db");
    rusqlite::Connection::open(&other).and_then(|one| one.execute_batch("CREATE TABLE t (a)")).expect("there is room");
    assert!(matches!(PointStore::open(&other), Err(StoreError::Foreign(..))));
    let nowhere = path.join("x").join("s.sweep");
    assert!(matches!(PointStore::open(&nowhere), Err(StoreError::Unopened(..))));
    assert!(matches!(PointStore::open_existing(&path.with_extension("none"), false), Err(StoreError::Unopened(..))));
}

#[test]
fn a_store_without_a_first_page_cannot_be_salvaged_and_its_error_does_not_suggest_it() {
    let (_directory, path) = place();
    sweep(&path, PLAN, &TestPoints::default(), &|| true);
    let mut bad = std::fs::read(&path).expect("it can be read");
    bad[100..4096].fill(0xa5);
    std::fs::write(&path, &bad).expect("there is room");
    let error =
        PointStore::open_existing(&path, true).and_then(|store| store.salvage()).expect_err("nothing can be read");
    assert!(matches!(&error, StoreError::Lost(..)) && !error.to_string().contains("salvage"), "{error}");
}

#[test]
fn a_damaged_store_says_so_and_what_can_be_read_is_saved() {
    let (_directory, path) = place();
    let text = PLAN.replace("seeds = 2", "seeds = 200");
    sweep(&path, &text, &TestPoints::default(), &|| true);
    let good = std::fs::read(&path).expect("it can be read");
    // A changed letter in a result is found by the checksum, but not by SQLite.
    let change = "UPDATE results SET told = replace(told, 'time', 'tame') WHERE id = (SELECT min(id) FROM results)";
    rusqlite::Connection::open(&path).and_then(|one| one.execute_batch(change)).expect("it can be written");
    let error = PointStore::open(&path).expect_err("it is damaged");
    assert!(matches!(&error, StoreError::Damaged(..)) && error.to_string().contains("--salvage"), "{error}");
    let saved = PointStore::open_existing(&path, true).and_then(|store| store.salvage()).expect("most can be read");
    assert_eq!(saved.iter().filter(|kept| kept.result.is_some()).count(), 799);
    // Change the seed of a completed point.
    std::fs::write(&path, &good).expect("there is room");
    let change = "UPDATE points SET seed = seed + 1 WHERE id = (SELECT min(id) FROM results)";
    rusqlite::Connection::open(&path).and_then(|one| one.execute_batch(change)).expect("it can be written");
    assert!(matches!(PointStore::open(&path), Err(StoreError::Damaged(..))), "the result is that of another seed");
    // Damage a page of results: results on other pages are saved, and the missing points are run again.
    let mut bad = good;
    let page = bad.len() / 4096 - 5;
    bad[page * 4096..(page + 1) * 4096].fill(0xa5);
    std::fs::write(&path, &bad).expect("there is room");
    let error = PointStore::open(&path).expect_err("it is damaged");
    assert!(matches!(&error, StoreError::Damaged(..)), "{error}");
    let saved =
        PointStore::open_existing(&path, true).and_then(|store| store.salvage()).expect("something can be read");
    let results = saved.iter().filter(|kept| kept.result.is_some()).count();
    assert!(results < 800, "{results}");
    let new = path.with_extension("new");
    PointStore::open(&new).and_then(|mut store| store.merge("bad", &saved)).expect("it can be written");
    assert_eq!(sweep(&new, &text, &TestPoints::default(), &|| true), 800 - results);
    assert_eq!(table_of(&new).lines().count(), 801);
}
