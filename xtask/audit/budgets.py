# SPDX-License-Identifier: GPL-2.0-or-later
"""Runtime that is left at a moment, recomputed from charged times: of fair servers, and of deadline tasks.

A runtime is `None` while the log does not decide it.
"""

import re

FAIR, DEADLINE = 1, 3


class ServerBudget:
    """Runtime of a CPU's fair server. Each step reports it; between steps fair tasks and idle time consume it."""

    def __init__(self, log, cpu):
        self.is_exact, self.runtime, self.is_active, self.has_started = not log.machine["has_costs"], None, False, False
        # The first idle time of a CPU has begun before the log.
        self.idle_since, self.charged_until = log.cpus[cpu]["idle_since"], None
        # Idle time whose end is one of several: its begin, and the possible ends.
        self.idle, self.refill = None, 0

    def step(self, t, event, by_unthrottling):
        self.runtime, self.is_active, self.idle = event["runtime"], event["step"] != "Stopped", None
        # A server whose next period has begun already is replenished at once, without a step.
        self.refill = event["max_runtime"] if event["step"] == "Exhausted" else 0
        # The first fair task of an idle CPU has charged the server for the idle time up to now, if there was a server. A
        # group whose throttling ends charges nothing.
        if event["step"] == "Started" and self.has_started and not by_unthrottling:
            self.charged_until = t
        self.has_started = True

    def ran(self, ns, starts, is_fair):
        """Charges a task that has run from one of `starts` on the CPU's clock. Several, because the kernel saves an update of
        the clock at a switch, so that the charge ends with the arrival of the next task.
        """
        if self.idle:
            start = next((start for start in starts if start in self.idle[1:]), starts[0])
            self.end_idle(min(max(start, self.idle[0]), self.idle[1]))
        if is_fair and self.is_active and self.runtime is not None:
            self.runtime -= ns

    def idled(self, start, arrival, end):
        """Begins the charge of idle time, in which fair tasks could have run. The CPU's clock at its end is that of the
        switch, or that of the arrival of the next task, after which the kernel saves an update of the clock.
        """
        self.switched()
        if self.runtime is None or self.runtime < 0:
            return
        since = start if self.charged_until is None else max(start, self.charged_until)
        if self.is_exact:
            self.idle = since, end, max(since, min(arrival or end, end))
        elif since < end:
            self.runtime = None

    def switched(self):
        """Ends idle time after which no task was charged."""
        if self.idle:
            self.end_idle(self.idle[1])

    def end_idle(self, end):
        self.runtime, self.idle = self.after_idle(self.idle[0], end), None

    def after_idle(self, start, end):
        """Returns the runtime after idle time. A budget ends at 0, one below 0 stays."""
        return self.runtime if self.runtime < 0 else max(self.runtime - max(end - start, 0), 0)

    def possible(self, idle_since, arrival):
        """Returns the possible runtimes; `None` if the log does not decide. On an idle CPU, a task may have arrived that charged
        the idle time up to its arrival.
        """
        if self.runtime is None or (self.refill and (self.idle or idle_since is not None)):
            return None
        if self.refill:
            return {self.runtime, self.runtime + self.refill}
        if self.idle:
            return {self.after_idle(self.idle[0], end) for end in self.idle[1:]}
        if idle_since is None or arrival is None or arrival < idle_since:
            return {self.runtime}
        since = idle_since if self.charged_until is None else max(idle_since, self.charged_until)
        return {self.runtime, self.after_idle(since, arrival)} if self.is_exact else None

    def forget(self):
        self.runtime = self.idle = None


class DeadlineBudget:
    """Runtime and deadline of a deadline task, by the rules of the constant-bandwidth server."""

    def __init__(self, log, spec):
        form = r"Deadline .*runtime: Nanos\((\d+)\), deadline: Nanos\((\d+)\), period: Nanos\((\d+)\)"
        found = re.match(form, spec["policy"] or "")
        kinds = log.by_kind.keys()
        # Time on a slower CPU counts less. The clock of a CPU is that of the events without costs and lost time.
        is_plain = not log.machine["has_costs"] and not {"speed", "frequency", "lost", "hotplug"} & kinds
        is_plain = is_plain and not log.machine["has_turbo"] and all(cpu["capacity"] == 1024 for cpu in log.cpus)
        is_changed = any(isinstance(later, dict) for later in spec["later"])
        self.is_known = bool(found) and is_plain and not is_changed and not spec["reclaims"]
        if self.is_known:
            self.full, self.relative, self.period = (int(part) for part in found.groups())
            self.runtime, self.deadline, self.is_throttled = 0, 0, False

    def renew(self, now):
        self.runtime, self.deadline = self.full, now + self.relative

    def entered(self, now):
        """Handles a task that enters the class."""
        if self.is_known:
            self.renew(now)

    def next_period(self):
        return self.deadline - self.relative + self.period

    def woken(self, now):
        """A deadline that can be met is kept; one that cannot is renewed, or its runtime is cut to what can be used."""
        if not self.is_known or self.is_throttled:
            return
        if self.relative < self.period and self.deadline < now < self.next_period():
            self.runtime, self.is_throttled = min(self.runtime, 0), True
            return
        is_late = self.deadline < now
        # The kernel compares in units of 1024 ns.
        too_much = (self.relative >> 10) * (self.runtime >> 10) > ((self.deadline - now) >> 10) * (self.full >> 10)
        if is_late or too_much:
            if self.relative < self.period and not is_late:
                self.runtime = ((self.full << 20) // self.relative) * (self.deadline - now) >> 20
            else:
                self.renew(now)

    def ran(self, ns, now):
        if not self.is_known:
            return
        self.runtime -= ns
        # A task whose next period began more than 1 us ago is not throttled.
        if self.runtime <= 0 and self.next_period() - now <= -1000:
            self.replenish(now)

    def throttling(self, now, is_on):
        if not self.is_known:
            return
        if self.is_throttled and not is_on:
            self.replenish(now)
        self.is_throttled = is_on

    def replenish(self, now):
        # A task that has yielded loses the rest.
        self.runtime = min(self.runtime, 0)
        while self.runtime <= 0:
            self.deadline, self.runtime = self.deadline + self.period, self.runtime + self.full
        if self.deadline < now:
            self.renew(now)

    def forget(self):
        self.is_known = False
