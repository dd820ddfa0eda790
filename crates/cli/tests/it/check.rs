// SPDX-License-Identifier: GPL-2.0-or-later
//! Tests of the counts in `fairlab check`.

use crate::common::{items, json_of, number, stdout_of};

#[test]
fn threads_of_the_kernel_are_no_tasks_of_the_file() {
    let verdict = json_of(&["check", "scenarios/hello.json", "--json"]);
    let run = json_of(&["run", "scenarios/hello.json", "--for", "1s", "--json"]);
    let of_kernel = |name: &str| name.starts_with("ksoftirqd") || name.starts_with("sugov");
    let families = items(&run["families"]).iter();
    let own = families.filter(|family| !of_kernel(family["name"].as_str().expect("families have names")));
    assert_eq!(number(&verdict["tasks"]), own.map(|family| number(&family["tasks"])).sum::<u64>());
}

#[test]
fn packets_are_counted_where_they_come() {
    let checked = ["check", "scenarios/ksoftirqd.scn", "--machine", "hikey960"];
    let of_check = &json_of(&[&checked[..], &["--json"]].concat())["softirqs"];
    assert_eq!(number(&of_check["packets"]), 7200, "{of_check}");
    assert!(stdout_of(&checked).contains(", 2 tasks;"));
    let run = json_of(&["run", "scenarios/ksoftirqd.scn", "--machine", "hikey960", "--json"]);
    assert_eq!(&run["totals"]["softirqs"], of_check);
    let with: Vec<u64> = items(&run["cpus"]).iter().filter_map(|cpu| cpu["softirqs"]["packets"].as_u64()).collect();
    assert_eq!(with, [7200], "they come to CPU 0 alone");
}
