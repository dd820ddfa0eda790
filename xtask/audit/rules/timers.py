# SPDX-License-Identifier: GPL-2.0-or-later
"""Rule `timer-missed`: tasks that arrive at their periodic timers after the expiry."""

from registry import about_first_of_family, by_misses, rule


def rows(_log, families):
    """Returns the number of missed periods by family."""
    timers = {family: row["timers"] for family, row in families.items() if row["timers"]}
    return {family: {"count": row["missed"], "total_ns": 0, "worst_ns": 0} for family, row in timers.items() if row["missed"] > 0}


@rule("timer-missed", "missed-timers", severity=by_misses("nr_arrivals"), question=about_first_of_family, rows=rows)
def check(checker, finding, evidence, _numbers):
    checker.expect_true(finding, "missed", finding["count"] <= evidence["nr_arrivals"])
