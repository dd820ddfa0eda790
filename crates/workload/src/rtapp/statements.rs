// SPDX-License-Identifier: GPL-2.0-or-later
//! The section `changes`: changes while tasks run, as statements of scenarios. An extension: in rt-app itself
//! only phases change attributes.
//!
//! Tasks are named as threads (`ui-0`), or by their key, which stands for all their threads; groups and
//! cpusets by their paths.

use super::fields::Fields;
use super::json::JsonValue;
use crate::message::Message;
use crate::scenario::{self, SwitchNames};
use crate::workload::Workload;

const EXAMPLE: &str = "write \"changes\" : [\"offline 500ms 4-7\", \"quota 1s /bg 10ms 100ms\"]";

/// Reads the section into a workload that is otherwise complete.
pub(super) fn read(
    root: Fields<'_>,
    nr_cpus: u32,
    switch_names: SwitchNames,
    workload: &mut Workload,
) -> Result<(), Message> {
    let Some(node) = root.get("changes") else { return Ok(()) };
    let JsonValue::Array(nodes) = &node.value else {
        let message = format!("\"changes\" must be a list of strings, not {}", node.value.kind());
        return Err(root.error(node.at, message).with_help(EXAMPLE));
    };
    let statements = nodes.iter().map(|node| match &node.value {
        // The text begins behind the quotation mark.
        JsonValue::Text(text) => Ok((node.at + 1, text.as_str())),
        other => {
            let message = format!("a change must be a string, not {}", other.kind());
            Err(root.error(node.at, message).with_help(EXAMPLE))
        }
    });
    let statements = statements.collect::<Result<Vec<_>, Message>>()?;
    scenario::parse_changes(root.source, &statements, nr_cpus, switch_names, workload).map_err(adapt_error)
}

/// Replaces hints about scenario statements that create groups and cpusets by those about the section
/// `cgroups`.
fn adapt_error(mut error: Message) -> Message {
    error.text = error.text.replace(" above this line", " in this file");
    let makes = |help: &String| help.starts_with("`group NAME` makes one") || help.starts_with("`cpuset NAME");
    if error.help.as_ref().is_some_and(makes) {
        error.help = Some(
            "\"cgroups\" : { \"/fg\" : { \"cpuset.cpus\" : \"0-3\" } } makes one, or a task's \"cgroup\" : \"/fg\""
                .to_owned(),
        );
    }
    error
}

#[cfg(test)]
mod tests {
    use crate::rtapp::{RtAppOptions, parse};
    use crate::workload::{Affinity, Attributes, Change, IrqLoad, Workload};
    use fairlab_sched::series::KernelSeries;
    use fairlab_sched::units::Nanos;

    fn with(changes: &str) -> Result<Workload, crate::message::Message> {
        let text = format!(
            r#"{{ "tasks" : {{ "pool" : {{ "instance" : 2, "run" : 1000, "sleep" : 1000 }},
                "ui" : {{ "cgroup" : "/fg", "run" : 1000, "sleep" : 1000 }} }},
              "cgroups" : {{ "/fg" : {{ "cpuset.cpus" : "0-3" }} }},
              "changes" : {changes} }}"#
        );
        parse("app.json", &text, RtAppOptions::for_cpus(KernelSeries::V6_1, 8))
    }

    #[test]
    fn statements_of_scenarios_change_threads_groups_cpus_and_the_scheduler() {
        let workload = with(
            r#"["affinity 1ms ui-2 1-2", "quota 2ms /fg 10ms 100ms", "setcpus 3ms /fg 4-5", "offline 4ms 7",
                "feature 5ms SIS_UTIL 0", "tune 6ms migration_cost_ns 0", "steal 0-1 10ms 2ms"]"#,
        );
        let workload = workload.expect("all of them are statements");
        let ms = Nanos::from_millis;
        let affinity = Attributes { affinity: Some(Affinity::Cpus(vec![1, 2])), ..Attributes::default() };
        let expected = [
            (ms(1), Change::Task { task: 2, attributes: affinity }),
            (ms(2), Change::Quota { group: 0, quota_us: Some(10_000), period_us: 100_000, burst_us: None }),
            (ms(3), Change::CpusetCpus { cpuset: 0, cpus: vec![4, 5] }),
            (ms(4), Change::Hotplug { cpus: vec![7], online: false }),
            (ms(5), Change::Feature { name: "SIS_UTIL".to_owned(), on: false }),
            (ms(6), Change::Tunable { name: "migration_cost_ns".into(), value: 0 }),
        ];
        assert_eq!(workload.changes, expected);
        let steal = |cpu| IrqLoad { cpu, every: ms(10), duration: ms(2), is_stolen: true };
        assert_eq!(workload.irqs, [steal(0), steal(1)]);
        assert!(workload.warnings.iter().all(|warning| !warning.contains("changes")), "{:?}", workload.warnings);
    }

    #[test]
    fn the_key_of_a_task_stands_for_all_its_threads() {
        let workload = with(r#"["nice 1ms pool 5"]"#).expect("a statement");
        let of_task = |(_, change): &(Nanos, Change)| match change {
            Change::Task { task, attributes } => (*task, attributes.nice),
            _ => panic!("a change of a task"),
        };
        assert_eq!(workload.changes.iter().map(of_task).collect::<Vec<_>>(), [(0, Some(5)), (1, Some(5))]);
    }

    #[test]
    fn what_is_no_change_is_refused_at_its_place_with_the_way_out() {
        let refused = |changes: &str| with(changes).expect_err(changes).to_string();
        let end = refused(r#"["end 1s"]"#);
        assert!(end.contains("app.json:4:29: `end` is a statement of scenarios only"), "{end}");
        assert!(end.contains("affinity, nice") && end.contains("steal"), "{end}");
        let unknown = refused(r#"["ofline 1s 3"]"#);
        assert!(unknown.contains("did you mean `offline`?") && !unknown.contains("machine,"), "{unknown}");
        assert!(refused(r#"["feature SIS_UTIL 0"]"#).contains("without a time"));
        assert!(refused(r#"["nice 1ms poll 5"]"#).contains("did you mean `pool`?"));
        let group = refused(r#"["quota 1ms /background 1ms 2ms"]"#);
        assert!(
            group.contains("no group `/background` in this file") && group.contains("help: \"cgroups\""),
            "{group}"
        );
        assert!(refused(r#"["offline 1ms 8"]"#).contains("8 CPUs"));
        assert!(refused(r#"["offline 1ms 7 8"]"#).contains("one statement in each string"));
        assert!(refused(r#"{"offline" : "1ms 7"}"#).contains("must be a list of strings"));
        assert!(refused("[1]").contains("a change must be a string"));
    }
}
