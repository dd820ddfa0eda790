# SPDX-License-Identifier: GPL-2.0-or-later
"""Checks the evidence of findings against the event log.

Counts and durations are compared elsewhere (`findings.py`). Here each finding is checked at its worst moment: what its
sentence states about a task, a CPU and what ran meanwhile. The checks are those of the modules in `rules`. A kind of evidence
without a check is a difference, and so is a value of evidence that no check reads.
"""

from collections import Counter

import registry
import rules  # fills the registry
import sampled
from findings import deadlines
from moment import Moment

# Part of the measured time at whose start findings are marked.
START_PART = 10


class Values(dict):
    """Evidence of a finding that records which of its values checks have read."""

    def __init__(self, evidence):
        super().__init__(evidence)
        self.read = {"kind"}

    def __getitem__(self, key):
        self.read.add(key)
        return super().__getitem__(key)

    def get(self, key, default=None):
        self.read.add(key)
        return super().get(key, default)

    def ignore(self, *keys):
        """Marks values that a check cannot recompute in this run."""
        self.read.update(keys)

    def unread(self):
        return sorted(key for key in self if key not in self.read)


class EvidenceChecker:
    """Checks the findings of one run; `fail` is called with a place, what was reported, and what was expected."""

    def __init__(self, log, fail):
        self.log, self.fail, self.at = log, fail, Moment(log)
        self.deadline_of, _ = deadlines(log)

    def expect(self, finding, name, reported, expected):
        if reported != expected:
            self.fail(f"{finding['evidence']['kind']}.{name}", finding["sentence"], reported, expected)

    def expect_true(self, finding, name, holds):
        self.expect(finding, name, holds, True)

    def check(self, finding):
        evidence, rule = finding["evidence"], registry.of_finding(finding)
        if rule is None:
            self.fail(evidence["kind"], finding["sentence"], f"{evidence['kind']} of {finding['rule']}", "a registered rule")
            return
        self.at.advance(max(self.at.now, self.log.machine["t"] + finding["at_ns"]))
        self.check_common(rule, finding)
        self.check_worst(finding)
        numbers = self.tasks(evidence)
        if "task" in evidence and rule.checks_task:
            self.expect_true(finding, "task of the family", bool(numbers))
        if rule.question:
            self.expect(finding, "question", finding["question"], rule.question(self, evidence))
        if rule.check:
            rule.check(self, finding, evidence, numbers)

    def check_common(self, rule, finding):
        """Checks the severity, and whether the finding is one of the start only."""
        last, severity = finding["last_ns"], rule.severity
        if severity:
            expected = severity(finding) if callable(severity) else severity
            self.expect(finding, "severity", finding["severity"], expected)
        since = max(last - (self.log.from_t - self.at.start), 0)
        is_at_start = last > 0 and since < (self.log.end - self.log.from_t) // START_PART
        expected = -(-since // 1_000_000) * 1_000_000 if is_at_start else None
        self.expect(finding, "only_in_first_ns", finding.get("only_in_first_ns"), expected)

    def check_worst(self, finding):
        """Checks times and task of the worst occurrence, and the time of the last one, of a finding about waits or deadlines."""
        found = self.log.found_waits.get((finding["rule"], finding["evidence"].get("family")))
        if found is None:
            return
        row = found.row(self.log.machine["t"])
        times = finding["at_ns"], finding["last_ns"]
        self.expect(finding, "time of the worst, and of the last", times, (row["at_ns"], row["last_ns"]))
        names = {self.log.name_of(self.log.forks[number]["index"]) for number in found.worst_tasks()}
        self.expect_true(finding, "task of the worst", finding["evidence"]["task"] in names)

    def tasks(self, evidence):
        """Returns the numbers of the tasks with the name and the family of the evidence."""
        name, family = evidence.get("task"), evidence.get("family")
        return [number for number, fork in self.at.forks.items()
                if self.log.names[fork["index"]] == name and self.log.family_of(number) == family]


def audit(comparison, log, findings):
    """Checks the findings of a run, and returns the number of checked ones by kind."""
    findings = [{**finding, "evidence": Values(finding["evidence"])} for finding in findings]
    checker = EvidenceChecker(log, comparison.add_claim)
    for finding in sorted(findings, key=lambda finding: finding["at_ns"]):
        checker.check(finding)
    sampled.audit(log, findings, comparison.add_claim)
    for rule in registry.RULES:
        if rule.check_all:
            rule.check_all(checker, [finding for finding in findings if finding["rule"] == rule.name])
    for finding in findings:
        for key in finding["evidence"].unread():
            comparison.add_claim(f"{finding['evidence']['kind']}.{key}", finding["sentence"], "a value that no check reads", "a check")
    comparison.nr_compared += sum(len(finding["evidence"]) for finding in findings)
    return Counter("finding " + finding["evidence"]["kind"] for finding in findings)
