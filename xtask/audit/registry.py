# SPDX-License-Identifier: GPL-2.0-or-later
"""Registry of the rules of findings: what the audit knows about each rule. The modules in `rules` fill it."""

from dataclasses import dataclass, field

# Number of jobs and periods per miss that is bad.
PER_MISS = 20


def about_task(_checker, evidence):
    return {"task": evidence["task"]}


def about_cpu(_checker, evidence):
    return {"cpu": evidence["cpu"]}


def about_first_of_family(checker, evidence):
    log = checker.log
    members = [fork["index"] for number, fork in log.forks.items() if log.family_of(number) == evidence["family"]]
    return {"task": log.names[min(members)]}


def by_misses(key):
    """Returns a severity that depends on the number of occurrences, and on a number of the evidence."""
    return lambda finding: "medium" if finding["count"] * PER_MISS > finding["evidence"][key] else "low"


@dataclass
class Rule:
    """Rule of findings with a kind of evidence. A rule with several kinds is registered for each of them."""

    name: str
    kind: str
    # Checks a finding at its worst moment, given an `EvidenceChecker`, the finding, its evidence, and the numbers of its task.
    check: object = None
    # Severity, or a function of the finding; None if another check has it.
    severity: object = None
    # Returns the question about a finding, given an `EvidenceChecker` and the evidence; None if another check has it.
    question: object = about_task
    # Whether the task of the evidence must exist at the worst moment.
    checks_task: bool = True
    # Checks all findings of the rule in a run, given an `EvidenceChecker` and the findings.
    check_all: object = None
    # Returns counts and durations by family, given the event log and the rows of the families.
    rows: object = None
    # Class that recomputes the findings from samples (`sampled.py`).
    sampled: object = None
    # Random scenarios that produce findings of the rule, each with the number of its entries in the list from which runs are drawn.
    recipes: dict = field(default_factory=dict)
    # Whether only faults of the scheduler produce the kind: no run has it.
    is_fault: bool = False


RULES = []


def rule(name, kind, **properties):
    """Registers the decorated function: the check of the findings of a rule with a kind of evidence."""
    def register(check):
        RULES.append(Rule(name, kind, check, **properties))
        return check

    return register


def sampled_rule(name, kind, **properties):
    """Registers the decorated class: it recomputes the findings of a rule from samples."""
    def register(sampled):
        sampled.rule = name
        RULES.append(Rule(name, kind, sampled=sampled, **properties))
        return sampled

    return register


def of_finding(finding):
    """Returns the rule of a finding with its kind of evidence; None if there is none."""
    key = finding["rule"], finding["evidence"]["kind"]
    return next((rule for rule in RULES if (rule.name, rule.kind) == key), None)


def with_rows():
    """Returns the names of the rules whose findings follow from events alone."""
    return {rule.name for rule in RULES if rule.rows}
