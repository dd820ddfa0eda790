# SPDX-License-Identifier: GPL-2.0-or-later
"""Balance interval and failure count of sched domains, recomputed from load-balance passes.

The interval begins at the number of CPUs, in ms. A pass that finds the groups balanced doubles it up to twice that number,
one that finds an imbalance resets it. Newly-idle passes do not double it. A count of failures grows with passes that found
an imbalance and moved nothing.
"""

BALANCED = {"NotOurs", "NoBusiestGroup", "NoBusiestQueue", "AllPinned"}
MAX_PINNED_MS = 512


class DomainBalance:
    """State of a CPU's domain. The interval is a set of possible values, because passes do not report all they know."""

    def __init__(self, nr_cpus, is_eevdf):
        self.least, self.is_eevdf = nr_cpus, is_eevdf
        self.intervals, self.nr_failed = {nr_cpus}, 0

    def passed(self, event):
        verdict, is_newly_idle = event["verdict"], event["idle"] == "NewlyIdle"
        is_spared = self.is_eevdf and event["migration"] == "Misfit"
        if verdict in BALANCED:
            self.nr_failed = 0
        elif verdict == "Moved":
            self.nr_failed = 0
        elif not is_newly_idle and not is_spared:
            self.nr_failed += 1
        if verdict in BALANCED or verdict == "RunningTaskPinned":
            if not is_newly_idle and not is_spared:
                self.double(verdict, event["redos"])
        elif verdict == "ActiveBalance":
            # The interval is reset if, after the push was requested, one would still be needed.
            self.intervals = self.intervals | {self.least}
        else:
            self.intervals = {self.least}

    def double(self, verdict, nr_redos):
        doubled = lambda limit: {2 * ms if ms < limit else ms for ms in self.intervals}
        unpinned, pinned = doubled(2 * self.least), doubled(max(MAX_PINNED_MS, 2 * self.least))
        if verdict == "AllPinned":
            self.intervals = pinned
        elif nr_redos or verdict == "RunningTaskPinned":
            # Whether the tasks of an earlier attempt were pinned is not in the log.
            self.intervals = unpinned | pinned
        else:
            self.intervals = unpinned

    def pushed(self):
        """Handles a running task that a stopper has moved here."""
        self.nr_failed = 0
