# SPDX-License-Identifier: GPL-2.0-or-later
"""Behaviour of tasks: events of rt-app, concatenated with ``+`` and repeated with ``*``.

Examples
--------
>>> from fairlab import phase
>>> burst = (phase.run(us=500) + phase.sleep(us=500)) * 10
>>> frame = phase.run(ms=5) + phase.timer(ms=16.667)
>>> (burst + frame).to_rtapp()["phases"]["p2"]
{'run': 5000, 'timer': {'ref': 'unique', 'period': 16667}}
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = ["Phases", "event", "point", "run", "runtime", "sleep", "timer"]

_Event = tuple[str, Any]


@dataclass(frozen=True)
class Phases:
    """Sequence of phases, each with its number of repetitions and its events."""

    parts: tuple[tuple[int, tuple[_Event, ...]], ...]

    def __add__(self, other: Phases) -> Phases:
        if not isinstance(other, Phases):
            return NotImplemented
        *before, (loops, events) = self.parts
        (next_loops, next_events), *behind = other.parts
        if loops == next_loops == 1:
            return Phases((*before, (1, events + next_events), *behind))
        return Phases(self.parts + other.parts)

    def __mul__(self, times: int) -> Phases:
        if times < 1:
            raise ValueError(f"phases cannot be repeated {times} times; the minimum is 1")
        if len(self.parts) == 1:
            loops, events = self.parts[0]
            return Phases(((loops * times, events),))
        return Phases(self.parts * times)

    def to_rtapp(self) -> dict[str, Any]:
        """Return the keys of these phases in a task of an rt-app file."""
        if len(self.parts) == 1 and self.parts[0][0] == 1:
            return _keys(self.parts[0][1])
        phases = {
            f"p{place}": ({"loop": loops} if loops != 1 else {}) | _keys(events)
            for place, (loops, events) in enumerate(self.parts, 1)
        }
        return {"phases": phases}


def _keys(events: tuple[_Event, ...]) -> dict[str, Any]:
    """Return events as keys. JSON objects have unique keys, so repeated kinds get a number; rt-app matches the beginning of keys."""
    keys: dict[str, Any] = {}
    for kind, value in events:
        number = sum(1 for key in keys if key.rstrip("0123456789") == kind)
        keys[kind if number == 0 else f"{kind}{number + 1}"] = value
    return keys


def _micros(s: float, ms: float, us: float) -> int:
    return round(s * 1e6 + ms * 1e3 + us)


def event(kind: str, value: Any) -> Phases:
    """Return any event of rt-app by its key and value: ``event("barrier", "all")``."""
    return Phases(((1, ((kind, value),)),))


def point(name: str) -> Phases:
    """Mark a place at which a response can begin or end. It takes no time, and rt-app ignores it."""
    return event("point", name)


def run(*, s: float = 0, ms: float = 0, us: float = 0) -> Phases:
    """Compute for this time on the CPU on which the workload is calibrated; longer on a smaller CPU."""
    return event("run", _micros(s, ms, us))


def runtime(*, s: float = 0, ms: float = 0, us: float = 0) -> Phases:
    """Compute for this time on any CPU, whatever work that completes."""
    return event("runtime", _micros(s, ms, us))


def sleep(*, s: float = 0, ms: float = 0, us: float = 0) -> Phases:
    """Sleep for this time."""
    return event("sleep", _micros(s, ms, us))


def timer(*, s: float = 0, ms: float = 0, us: float = 0, ref: str = "unique") -> Phases:
    """Wait for the next expiry of a timer with this period."""
    return event("timer", {"ref": ref, "period": _micros(s, ms, us)})
