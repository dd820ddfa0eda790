// SPDX-License-Identifier: GPL-2.0-or-later
//! Tests that need no kernel tree.

use crate::compile::{self, BuildRecipe, has_config_line};
use crate::error::KernelError;
use crate::regressions::edit::EditScript;
use crate::snapshot::Snapshot;
use crate::store::{self, Store};
use crate::symbols::{self, Stub};
use crate::worker::CrashCause;
use crate::{overlay, tree, worker};
use std::fs;
use std::path::{Path, PathBuf};

/// Makes a folder that passes for a kernel tree.
fn scratch_tree(folder: &Path) -> PathBuf {
    let tree = folder.join("tree");
    for (name, text) in [
        ("Makefile", "VERSION = 9\nPATCHLEVEL = 8\nSUBLEVEL = 7\nEXTRAVERSION = -rc6\n"),
        ("Kconfig", ""),
        ("drivers/x/Kconfig", ""),
        ("drivers/x/driver.c", "not needed"),
        ("include/linux/sched.h", "void sched_tick(void);\n"),
        ("include/generated/old.h", "a product"),
        ("kernel/sched/fair.c", "int fair;\n"),
        ("kernel/sched/stats.h", "tree's own\n"),
        ("kernel/sched/fair.o", "a product"),
        ("kernel/made.c", "a product"),
        ("kernel/.made.c.cmd", ""),
    ] {
        let path = tree.join(name);
        fs::create_dir_all(path.parent().expect("in a folder")).expect("made");
        fs::write(path, text).expect("written");
    }
    tree
}

fn snapshot(tree: &Path, patches: &[PathBuf], scripts: &[EditScript]) -> Snapshot {
    Snapshot::take(tree, patches, scripts).expect("patches and edits fit")
}

fn recipe(snapshot: Snapshot) -> BuildRecipe {
    let tools = vec!["cc 1".to_owned(), "ld 1".to_owned()];
    BuildRecipe { snapshot, changed_by: Vec::new(), config: Vec::new(), tools, is_covered: false }
}

/// Returns the key of the engine of an unchanged tree.
fn key(tree: &Path) -> String {
    recipe(snapshot(tree, &[], &[])).key()
}

/// Writes a patch of `kernel/sched/fair.c` in the scratch tree.
fn patch_file(folder: &Path, from: &str, to: &str) -> PathBuf {
    let patch = folder.join("x.diff");
    let text = format!("--- a/kernel/sched/fair.c\n+++ b/kernel/sched/fair.c\n@@ -1 +1 @@\n-{from}\n+{to}\n");
    fs::write(&patch, text).expect("written");
    patch
}

fn text_of(error: impl std::fmt::Display) -> String {
    error.to_string()
}

#[test]
fn the_table_of_symbols_can_be_read_and_has_reasons_of_each_kind() {
    let table = symbols::table();
    let has = |wanted: fn(&Stub) -> bool| table.values().any(wanted);
    assert!(has(|standin| *standin == Stub::Library));
    assert!(has(|standin| matches!(standin, Stub::Zeros(bytes) if *bytes > 0)));
    assert!(has(|standin| *standin == Stub::Forbidden));
    assert_eq!(table["capable"], Stub::Answers(1));
}

#[test]
fn an_unknown_symbol_is_an_error_that_names_it_and_who_uses_it() {
    let nm = "fair.o: new_thing U\nfair.o: capable U\ncore.o: new_thing U\ncore.o: own_thing U\nfair.o: own_thing T 0 8\n\
              core.o: may_be_missing w\nfair.o: local_thing t 0 4\n";
    let undefined = symbols::undefined(nm);
    assert_eq!(undefined.keys().collect::<Vec<_>>(), ["capable", "new_thing"]);
    let error = text_of(symbols::stub_source(&undefined, Path::new("/src/linux")).expect_err("new_thing is unknown"));
    assert!(error.contains("/src/linux") && error.contains("new_thing, used by core.o, fair.o"), "{error}");
    assert!(!error.contains("capable"), "{error}");
}

#[test]
fn known_symbols_get_what_the_table_says_and_nothing_else() {
    let nm = "a.o: capable U\na.o: kstrtoint U\na.o: init_cred U\na.o: strlen U\n";
    let source = symbols::stub_source(&symbols::undefined(nm), Path::new("t")).expect("all are known");
    assert!(source.contains("long capable(void) { return 1; }"), "{source}");
    assert!(source.contains("fl_forbidden(\"kstrtoint\")"), "{source}");
    assert!(source.contains("char init_cred[4096]"), "{source}");
    assert!(!source.contains("strlen"), "{source}");
}

#[test]
fn the_key_follows_contents_configuration_and_tools_and_not_folders_dates_or_origins() {
    let folder = tempfile::tempdir().expect("a folder");
    let tree = scratch_tree(folder.path());
    let plain = key(&tree);
    assert_eq!(plain, key(&tree));
    let with = |change: fn(&mut BuildRecipe)| {
        let mut recipe = recipe(snapshot(&tree, &[], &[]));
        change(&mut recipe);
        recipe.key()
    };
    assert_ne!(plain, with(|recipe| recipe.tools[0] = "cc 2".to_owned()));
    assert_ne!(plain, with(|recipe| recipe.tools[1] = "ld 2".to_owned()));
    assert_ne!(plain, with(|recipe| recipe.config.push("CONFIG_A=y".to_owned())));
    assert_ne!(plain, with(|recipe| recipe.is_covered = true));
    let patch = patch_file(folder.path(), "int fair;", "int unfair;");
    let patched = recipe(snapshot(&tree, &[patch], &[])).key();
    assert_ne!(plain, patched);
    let moved = folder.path().join("elsewhere");
    fs::rename(&tree, &moved).expect("moved");
    assert_eq!(plain, key(&moved));
    fs::write(moved.join("drivers/x/driver.c"), "changed").expect("written");
    assert_eq!(plain, key(&moved));
    let source = moved.join("kernel/sched/fair.c");
    fs::write(&source, "int unfair;\n").expect("written");
    fs::File::open(&source).and_then(|file| file.set_modified(std::time::UNIX_EPOCH)).expect("an old date");
    assert_eq!(patched, key(&moved), "a commit and a patch with equal contents are one engine");
}

#[test]
fn an_overlay_has_links_fairlabs_files_and_patched_copies_and_the_tree_does_not_change() {
    let folder = tempfile::tempdir().expect("a folder");
    let (tree, place) = (scratch_tree(folder.path()), folder.path().join("overlay"));
    let read = |name: &str| fs::read_to_string(place.join(name)).expect("it is there");
    let is_there = |name: &str| place.join(name).exists();
    let plain = snapshot(&tree, &[], &[]);
    overlay::make(&plain, &place).expect("made");
    overlay::check(&plain, &place).expect("it has the contents of the snapshot");
    assert_eq!(fs::read_link(place.join("kernel/sched/fair.c")).expect("a link"), tree.join("kernel/sched/fair.c"));
    for product in ["kernel/sched/fair.o", "kernel/made.c", "include/generated/old.h", "drivers/x/driver.c"] {
        assert!(!is_there(product), "{product}");
    }
    assert!(is_there("drivers/x/Kconfig"));
    assert_eq!(read("kernel/sched/tree_stats.h"), "tree's own\n");
    assert!(read("kernel/sched/stats.h").contains("tree_stats.h"));
    assert!(read("arch/fairlab/include/asm/fairlab_facts.h").contains("FL_SCHED_TICK"));
    assert!(!read("arch/fairlab/include/asm/fairlab_facts.h").contains("FL_BASE_SLICE"));

    let patched = snapshot(&tree, &[patch_file(folder.path(), "int fair;", "int patched;")], &[]);
    overlay::make(&patched, &place).expect("made");
    assert_eq!(read("kernel/sched/fair.c"), "int patched;\n");
    assert_eq!(fs::read_to_string(tree.join("kernel/sched/fair.c")).expect("read"), "int fair;\n");
    overlay::make(&plain, &place).expect("made");
    assert!(place.join("kernel/sched/fair.c").is_symlink());
    fs::write(tree.join("kernel/sched/fair.c"), "int edited;\n").expect("written");
    let error = text_of(overlay::check(&plain, &place).expect_err("the tree was edited meanwhile"));
    assert!(error.contains("kernel/sched/fair.c: the file has changed while the engine was built"), "{error}");
}

#[test]
fn a_script_of_edits_changes_a_copy_and_its_error_names_bug_and_location() {
    let folder = tempfile::tempdir().expect("a folder");
    let tree = scratch_tree(folder.path());
    fs::write(tree.join("kernel/sched/fair.c"), "int share(int n)\n{\n\treturn n / 2;\n}\n").expect("written");
    let script = |function: &str| {
        let text = format!("file = \"fair.c\"\nfunction = \"{function}\"\nreplace = \"n / 2\"\nwith = \"n\"");
        EditScript { bug: "greed".to_owned(), edits: vec![toml::from_str(&text).expect("an edit")] }
    };
    let edited = snapshot(&tree, &[], &[script("share")]);
    let read = |path: PathBuf| fs::read_to_string(path).expect("it is there");
    assert!(read(edited.path("kernel/sched/fair.c")).contains("return n;"));
    assert!(read(tree.join("kernel/sched/fair.c")).contains("return n / 2;"));
    let error = text_of(Snapshot::take(&tree, &[], &[script("divide")]).expect_err("there is no such function"));
    assert!(error.contains("greed: kernel/sched/fair.c: there is no function divide"), "{error}");
    assert_ne!(key(&tree), recipe(edited).key());
}

#[test]
fn a_patch_that_does_not_apply_or_changes_unneeded_files_is_rejected_with_its_name() {
    let folder = tempfile::tempdir().expect("a folder");
    let (tree, patch) = (scratch_tree(folder.path()), folder.path().join("bad.diff"));
    let refused = |text: &str| {
        fs::write(&patch, text).expect("written");
        text_of(Snapshot::take(&tree, std::slice::from_ref(&patch), &[]).expect_err("it is refused"))
    };
    let error =
        refused("--- a/kernel/sched/fair.c\n+++ b/kernel/sched/fair.c\n@@ -1 +1 @@\n-int other;\n+int patched;\n");
    assert!(error.contains("bad.diff") && error.contains("FAILED"), "{error}");
    let error = refused("--- a/drivers/x/driver.c\n+++ b/drivers/x/driver.c\n@@ -1 +1 @@\n-a\n+b\n");
    assert!(error.contains("drivers/x/driver.c is not a part of an engine"), "{error}");
    assert!(refused("hello").contains("not a patch"));
}

#[test]
fn a_patch_adds_and_removes_files_of_a_snapshot() {
    let folder = tempfile::tempdir().expect("a folder");
    let (tree, patch) = (scratch_tree(folder.path()), folder.path().join("x.diff"));
    let text = "--- /dev/null\n+++ b/kernel/sched/new.c\n@@ -0,0 +1 @@\n+int added;\n\
                --- a/kernel/sched/fair.c\n+++ /dev/null\n@@ -1 +0,0 @@\n-int fair;\n";
    fs::write(&patch, text).expect("written");
    let patched = snapshot(&tree, &[patch], &[]);
    assert!(patched.files().contains_key("kernel/sched/new.c") && !patched.files().contains_key("kernel/sched/fair.c"));
    assert!(patched.changed().contains("kernel/sched/fair.c"));
    assert!(tree.join("kernel/sched/fair.c").is_file());
}

#[test]
fn what_is_missing_to_build_is_named_all_at_once_with_its_packages() {
    compile::check_missing(|_| true).expect("nothing is missing");
    let error =
        text_of(compile::check_missing(|program| !["nm", "ld", "flex"].contains(&program)).expect_err("three are"));
    assert!(error.contains("ld, nm, flex") && error.contains("apt-get install binutils flex"), "{error}");
}

#[test]
fn lines_of_a_configuration_are_checked_before_and_after() {
    let check = |line: &str| compile::check_config(&[line.to_owned()]);
    check("CONFIG_HZ_1000=y").expect("a line");
    for wrong in ["HZ_1000=y", "CONFIG_=y", "CONFIG_HZ", "CONFIG_HZ=", "CONFIG_A B=y"] {
        assert!(matches!(check(wrong), Err(KernelError::Input(_))), "{wrong}");
    }
    let config = "CONFIG_A=y\n# CONFIG_B is not set\n";
    assert!(
        has_config_line(config, "CONFIG_A=y")
            && has_config_line(config, "CONFIG_B=n")
            && has_config_line(config, "CONFIG_C=n")
    );
    assert!(
        !has_config_line(config, "CONFIG_B=y")
            && !has_config_line(config, "CONFIG_A=n")
            && !has_config_line(config, "CONFIG_A=m")
    );
}

#[test]
fn names_and_sources_that_are_none_are_refused_with_the_way_out() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = Store::with_root(folder.path().join("store"));
    let refused =
        |name: &str, source: &str| text_of(store.add(name, source, &[], &[], &mut |_| {}).expect_err("it is refused"));
    assert!(refused("../x", "/").contains("not a name"));
    assert!(refused("x", "debian:0.1").contains("apt-get install linux-source-0.1"));
    assert!(refused("x", &folder.path().display().to_string()).contains("no kernel tree"));
    assert!(text_of(store.get("x").expect_err("there is none")).contains("fairlab kernel list"));
    assert!(text_of(store.remove("x").expect_err("there is none")).contains("there is no engine x"));
    assert_eq!(store.list().expect("an empty list"), []);
}

#[test]
fn the_version_of_a_tree_is_what_its_makefile_says() {
    let folder = tempfile::tempdir().expect("a folder");
    assert_eq!(tree::version(&scratch_tree(folder.path())), "9.8.7-rc6");
}

fn words(text: &str) -> Vec<String> {
    text.split(' ').map(str::to_owned).collect()
}

#[test]
fn a_report_has_the_lines_the_end_and_the_frames() {
    let text = "log 4 0 hello\nlog 5 1 WARNING: at x.c:1\ntrace 50\ntrace 60\nstop crash Segmentation fault at address (nil)\nduring 7 2 schedule, of a task\n\
                frame 10\nframe 20\ntaken 30\nsection 40\n";
    let (report, places) = worker::parse(text);
    let lines: Vec<_> = report.log.iter().map(|line| (line.at_ns, line.cpu, line.text.as_str())).collect();
    assert_eq!(lines, [(4, 0, "hello"), (5, 1, "WARNING: at x.c:1")]);
    assert_eq!((report.log[0].trace.len(), &report.log[1].trace), (0, &words("50 60")));
    let end = report.end.expect("it ended");
    assert_eq!((end.why, end.at_ns, end.cpu, end.during.as_str()), (CrashCause::Crash, 7, 2, "schedule, of a task"));
    assert_eq!(end.text, "Segmentation fault at address (nil)");
    assert_eq!((places.stack, places.taken, places.sections), (words("10 20"), words("30"), words("40")));
}

#[test]
fn cpus_that_wait_for_each_other_have_a_stack_each() {
    let text = "waits 6 6 5\ntaken 10\nframe 11\nwaits 5 5 6\ntaken 20\nframe 21\nstop deadlock all wait\n\
                during 7 2 schedule, of a task\nframe 30\n";
    let (report, places) = worker::parse(text);
    assert_eq!(report.end.map(|end| end.why), Some(CrashCause::Deadlock));
    let of =
        |cpu, wants, taken, stack| worker::Waiter { cpu, has: cpu, wants, taken: words(taken), stack: words(stack) };
    assert_eq!(places.circle, [of(6, 5, "10", "11"), of(5, 6, "20", "21")]);
    assert_eq!((places.stack, places.taken), (words("30"), Vec::new()));
}

#[test]
fn all_that_a_tree_lacks_is_said_at_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let tree = scratch_tree(folder.path());
    for part in ["scripts", "lib", "init"] {
        fs::create_dir_all(tree.join(part)).expect("made");
    }
    let write = |name: &str, text: &str| {
        fs::create_dir_all(tree.join(name).parent().expect("in a folder")).expect("made");
        fs::write(tree.join(name), text).expect("written");
    };
    write("Kconfig", "source \"init/Kconfig\"\nsource \"arch/$(SRCARCH)/Kconfig\"\nsource \"mm/Kconfig\"\n");
    write("init/Kconfig", "config A\n\thelp\n\t  source code of it\n\nsource \"usr/Kconfig\"\n");
    let error = text_of(tree::check(&tree).expect_err("something lacks"));
    for name in ["Kbuild", "mm/Kconfig", "usr/Kconfig", "kernel/Kconfig.hz"] {
        assert!(error.contains(name), "{name}: {error}");
    }
    assert!(
        !error.contains("code of it") && !error.contains("SRCARCH") && error.contains("engines need include/"),
        "{error}"
    );
    for name in
        ["Kbuild", "mm/Kconfig", "usr/Kconfig", "kernel/Kconfig.hz", "drivers/cpufreq/Kconfig", "kernel/power/Kconfig"]
    {
        write(name, "");
    }
    tree::check(&tree).expect("all is there");
}

/// Returns a store as commands leave it, without a build.
fn store_with(folder: &Path, names: &[(&str, &str)]) -> Store {
    let root = folder.join("store");
    let write = |path: PathBuf, text: &str| {
        fs::create_dir_all(path.parent().expect("in a folder")).expect("made");
        fs::write(path, text).expect("written");
    };
    let tree = scratch_tree(folder);
    for (name, key) in names {
        let entry = store::StoreEntry {
            name: (*name).to_owned(),
            source: tree.display().to_string(),
            version: "9.8.7".to_owned(),
            patches: Vec::new(),
            title: None,
            bugs: Vec::new(),
            config: Vec::new(),
            compiler: "cc".to_owned(),
            key: (*key).to_owned(),
            own: store::own_hash(),
            format: store::BUILD_FORMAT,
        };
        write(root.join("names").join(format!("{name}.json")), &serde_json::to_string(&entry).expect("JSON"));
        write(root.join("objects").join(key).join("engine.so"), "an object");
        write(root.join("work").join(name).join("build/x.o"), "a product");
    }
    write(root.join("objects/nobodys/engine.so"), "an object");
    write(root.join("trees/commit-1/Makefile"), "a tree");
    Store::with_root(root)
}

#[test]
fn what_no_engine_of_a_person_needs_is_removed_and_nothing_else() {
    let folder = tempfile::tempdir().expect("a folder");
    let store =
        store_with(folder.path(), &[("mine", "1"), ("patch.base", "2"), ("patch.base-1", "1"), ("bisect", "3")]);
    let is_own: Vec<bool> = store.list_with_sizes().expect("a list").iter().map(|listed| listed.is_own).collect();
    assert_eq!(is_own, [true, false, true, true]);
    let would = store.prune(true).expect("nothing is removed");
    assert_eq!(store.list().expect("a list").len(), 4);
    let held = store.lock_against_prune().expect("held");
    assert!(text_of(store.prune(false).expect_err("a command runs engines")).contains("another command"));
    drop(held);
    assert_eq!(store.prune(false).expect("removed"), would);
    assert!(would.iter().any(|gone| gone.what == "an object of no name" && gone.bytes == 9), "{would:?}");
    let left: Vec<String> = store.list().expect("a list").into_iter().map(|entry| entry.name).collect();
    assert_eq!(left, ["mine"]);
    assert!(
        store.object_path("1").is_file() && !store.object_path("2").exists() && !store.object_path("nobodys").exists()
    );
    assert!(store.root().join("work/mine/build/x.o").is_file() && !store.root().join("work/bisect").exists());
    assert!(!store.root().join("trees/commit-1").exists());
    assert!(store.prune(false).expect("nothing is left to remove").is_empty());
}

#[test]
fn an_engine_is_removed_with_what_was_only_there_for_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = store_with(folder.path(), &[("one", "1"), ("same", "1"), ("other", "2")]);
    let gone = store.remove("one").expect("removed");
    assert!(store.object_path("1").is_file() && gone.iter().all(|gone| gone.what != "its object"), "{gone:?}");
    let gone = store.remove("same").expect("removed");
    assert!(!store.object_path("1").exists() && gone.iter().any(|gone| gone.what == "its object" && gone.bytes == 9));
    assert!(store.object_path("2").is_file());
}

#[test]
fn an_engine_of_an_earlier_version_is_rejected_with_the_reason_and_prune_removes_its_object() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = store_with(folder.path(), &[("mine", "1"), ("old", "2")]);
    let path = store.root().join("names/old.json");
    let mut entry: serde_json::Value = serde_json::from_slice(&fs::read(&path).expect("read")).expect("JSON");
    entry["own"] = "0123".into();
    entry.as_object_mut().expect("an object").remove("format");
    fs::write(&path, entry.to_string()).expect("written");
    store.get_usable("mine").expect("it is of this version");
    let error = text_of(store.get_usable("old").expect_err("it is rejected"));
    assert!(
        error.contains("objects can be those of the build before") && error.contains("fairlab kernel prune"),
        "{error}"
    );
    store.prune(false).expect("pruned");
    assert!(store.object_path("1").is_file() && !store.object_path("2").exists());
    store.get("old").expect("the name remains, with what it was built from");
}
