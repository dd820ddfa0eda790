// SPDX-License-Identifier: GPL-2.0-or-later
//! Tests of the rule `never-woken`.

use super::*;

#[test]
fn tasks_that_no_task_can_wake_are_found_with_what_they_wait_for() {
    let pair = "cpus 2\nend 100ms\ntask tick loop every 1ms run 20us\n";
    let findings = found(&format!("{pair}task a run 1ms wait run 1ms\ntask b run 1ms wait wake a\n"));
    let waiting: Vec<&Finding> = findings.iter().filter(|finding| finding.rule == "never-woken").collect();
    assert_eq!(waiting.len(), 2, "{findings:?}");
    let finding = waiting[0];
    assert_eq!(
        (finding.severity, finding.count, finding.question.clone()),
        (Severity::High, 1, Question::Task("a".into()))
    );
    assert!(finding.sentence.contains("a: 1 task waits for ever") && finding.sentence.contains("a task to wake it"));
    assert!((98_000_000..=99_000_000).contains(&finding.worst_ns), "{finding:?}");
    let findings = found(&format!("{pair}task a loop run 1ms wait\ntask b sleep 10s wake a\n"));
    assert!(of(&findings, "never-woken").is_none(), "b will wake it: {findings:?}");
}
