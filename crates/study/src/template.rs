// SPDX-License-Identifier: GPL-2.0-or-later
//! Template of a new study's file: a study that runs unchanged and explains every key.

/// Returns the text of a new study with this name. The licence line is omitted: it applies to the template,
/// not to the new study.
pub fn of(name: &str) -> String {
    let (_, text) = TEXT.split_once('\n').unwrap_or(("", TEXT));
    text.replace("NAME", name)
}

const TEXT: &str = include_str!("template.toml");

#[cfg(test)]
mod tests {
    use super::*;
    use crate::definition::StudyDefinition;
    use crate::table_schema;

    #[test]
    fn a_new_study_is_one_and_mentions_every_key() {
        let text = of("mine");
        let study = StudyDefinition::parse("mine.toml", &text).expect("it is a study");
        table_schema::check("mine.toml", &study, &[]).expect("each of its tables is filled");
        assert_eq!(study.name, "mine");
        assert!(text.starts_with("# A study: ") && !text.contains("NAME"), "{text}");
        for key in [
            "notes",
            "machine",
            "seeds",
            "kernel",
            "features",
            "tunables",
            "prices",
            "governor",
            "idle_states",
            "file",
            "rtapp",
            "scenario",
            "bench",
            "tasks",
            "with",
            "groups",
            "start",
            "span",
            "warm_up",
            "first_seed",
            "dice",
            "permute",
            "count",
            "quick",
            "path",
            "per",
            "scale",
            "each",
            "missing",
            "runs",
            "verdict",
            "within",
            "within_percent",
            "factor",
            "at_least",
            "at_most",
            "sign",
            "change",
            "change_as",
            "from",
            "why",
            "published",
            "spread",
            "evidence",
            "remark",
            "picture",
            "kind",
            "split",
            "headline",
            "facts",
            "robustness",
            "other_seeds",
            "spans",
            "perturb",
        ] {
            assert!(text.contains(key), "{key} is not mentioned");
        }
    }
}
