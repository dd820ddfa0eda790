# SPDX-License-Identifier: GPL-2.0-or-later
"""Rule `deadline-missed`: deadline tasks that block later after a wake-up than their deadline."""

from findings import rows_of_waits
from registry import by_misses, rule


@rule("deadline-missed", "missed-deadline", severity=by_misses("nr_wakeups"), rows=rows_of_waits("deadline-missed"))
def check(checker, finding, evidence, numbers):
    known = {checker.deadline_of[number] for number in numbers if number in checker.deadline_of}
    if known:
        checker.expect_true(finding, "deadline", evidence["deadline_ns"] in known)
    checker.expect_true(finding, "nr_wakeups", finding["count"] <= evidence["nr_wakeups"])
    members = {number for number in checker.log.forks if checker.log.family_of(number) == evidence["family"]}
    if members <= checker.deadline_of.keys():
        checker.expect(finding, "wake-ups", evidence["nr_wakeups"], nr_jobs(checker.log, members))
    found = checker.log.found_waits.get(("deadline-missed", evidence["family"]))
    if not known and not found:
        evidence.ignore("deadline_ns")
    if found:
        of_worst = {checker.deadline_of[number] for number in found.worst_tasks()}
        checker.expect_true(finding, "deadline of the worst", evidence["deadline_ns"] in of_worst)


def nr_jobs(log, members):
    """Returns the number of times that tasks blocked after a wake-up, other than their fork."""
    woken, nr = set(), 0
    runnable = set()
    for index, event in enumerate(log.events):
        if event["e"] == "wakeup" and event["task"] in members and event["task"] not in runnable:
            runnable.add(event["task"])
            woken.discard(event["task"])
            woken |= set() if event["new"] else {event["task"]}
        elif event["e"] == "switch" and event["prev"] in members and event["state"] != "R":
            nr += event["prev"] in woken and index >= log.reset_index
            woken.discard(event["prev"])
            runnable.discard(event["prev"])
    return nr
