# SPDX-License-Identifier: GPL-2.0-or-later
"""Workloads: files, texts, rt-app's dictionaries, recorded traces, and tasks that are composed here."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from fairlab import _native, phase
from fairlab._command import MachineLike, Texts, warn
from fairlab.phase import Phases


@dataclass(frozen=True)
class Task:
    """A task of a workload, or several that are alike.

    Parameters
    ----------
    name
        Its name.
    phases
        What it does.
    instance
        How many there are of it.
    loop
        How often it does that; -1 is without end.
    delay_us
        How much later it starts.
    policy, priority, cpus
        As in rt-app: ``"SCHED_FIFO"``, a priority or a nice value, and the CPUs that it may use.
    more
        Any other keys that rt-app has for a task.

    Examples
    --------
    >>> fairlab.Task("ui", phase.run(ms=2) + phase.sleep(ms=8), priority=-5).to_rtapp()
    {'loop': -1, 'priority': -5, 'run': 2000, 'sleep': 8000}
    """

    name: str
    phases: Phases
    instance: int = 1
    loop: int = -1
    delay_us: float = 0
    policy: str | None = None
    priority: int | None = None
    cpus: list[int] | None = None
    more: Mapping[str, Any] = field(default_factory=dict)

    def to_rtapp(self) -> dict[str, Any]:
        """Give what rt-app's file has for it."""
        keys: dict[str, Any] = {"instance": self.instance} if self.instance != 1 else {}
        keys["loop"] = self.loop
        if self.delay_us:
            keys["delay"] = round(self.delay_us)
        for key, value in (("policy", self.policy), ("priority", self.priority), ("cpus", self.cpus)):
            if value is not None:
                keys[key] = value
        return keys | dict(self.more) | self.phases.to_rtapp()


def hog(name: str = "hog", *, instance: int = 1, **more: Any) -> Task:
    """Give a task that computes without end.

    Examples
    --------
    >>> fairlab.hog(instance=3).to_rtapp()
    {'instance': 3, 'loop': -1, 'run': 10000}
    """
    return Task(name, phase.run(ms=10), instance=instance, **more)


def periodic(
    name: str, *, period_ms: float, run_ms: float | None = None, percent: float | None = None, **more: Any
) -> Task:
    """Give a task that a timer wakes, and that then computes for some time or for a part of the period.

    Examples
    --------
    >>> fairlab.periodic("audio", period_ms=5, percent=10).to_rtapp()
    {'loop': -1, 'run': 500, 'timer': {'ref': 'unique', 'period': 5000}}
    """
    if (run_ms is None) == (percent is None):
        raise _native.InputError("a periodic task computes for run_ms, or for percent of its period\nhelp: give one of them")
    run_ms = period_ms * (percent or 0) / 100 if run_ms is None else run_ms
    return Task(name, phase.run(ms=run_ms) + phase.timer(ms=period_ms), **more)


@dataclass(frozen=True)
class Workload:
    """What is run. Make one with :meth:`from_file`, :meth:`from_text`, :meth:`from_rtapp`, :meth:`from_trace` or :meth:`of`.

    Examples
    --------
    >>> one = fairlab.Workload.of(fairlab.hog())
    >>> two = one + fairlab.Workload.of(fairlab.periodic("ui", period_ms=16, run_ms=4))
    >>> sorted(two.to_rtapp()["tasks"])
    ['hog', 'ui']
    """

    name: str
    _text: str | None = None
    path: str | None = None

    @classmethod
    def from_file(cls, path: str | os.PathLike[str]) -> Workload:
        """Take a file: a scenario, an rt-app file, or what ``fairlab import`` has written."""
        return cls(os.fspath(path), None, os.fspath(path))

    @classmethod
    def from_text(cls, text: str, name: str = "workload") -> Workload:
        """Take the text of such a file; the name is for messages.

        Examples
        --------
        >>> scenario = fairlab.Workload.from_text("cpus 2\\ntask a loop run 1ms sleep 1ms\\nend 50ms\\n", "two CPUs")
        >>> scenario.kind
        'scenario'
        """
        return cls(name, text)

    @classmethod
    def from_rtapp(cls, rtapp: Mapping[str, Any], name: str = "workload") -> Workload:
        """Take a dictionary in the form of rt-app's files."""
        return cls(name, json.dumps(rtapp, indent=4) + "\n")

    @classmethod
    def from_trace(cls, path: str | os.PathLike[str], *, machine: MachineLike | None = None) -> Workload:
        """Take what tasks did in a recorded trace: trace.dat, perf.data, ftrace text, systrace, Perfetto.

        Parameters
        ----------
        path
            The trace.
        machine
            The machine on which it was recorded, for capacities, frequencies and idle states.
        """
        texts = Texts()
        words = ["import", os.fspath(path), "--output", "-"]
        if machine is not None:
            words += ["--machine", texts.machine(machine)]
        results, notes = _native.command(words, texts.named)
        warn(notes)
        return cls(os.fspath(path), "".join(results))

    @classmethod
    def of(cls, *tasks: Task, name: str = "workload", duration: float = 5, **settings: Any) -> Workload:
        """Compose it of tasks. It lasts ``duration`` seconds, unless a run says otherwise; settings are others of rt-app's ``global``."""
        names = [task.name for task in tasks]
        if len(set(names)) < len(names):
            raise _native.InputError(f"two tasks have one name: {', '.join(names)}\nhelp: give each its own, or use instance=")
        rtapp: dict[str, Any] = {"tasks": {task.name: task.to_rtapp() for task in tasks}}
        rtapp["global"] = {"duration": duration, **settings}
        return cls.from_rtapp(rtapp, name)

    @property
    def text(self) -> str:
        """The text of its file."""
        if self._text is not None:
            return self._text
        assert self.path is not None, "a workload has a text or a file"
        with open(self.path, encoding="utf-8") as file:
            return file.read()

    @property
    def kind(self) -> str:
        """``scenario``, ``rt-app`` or ``recorded``."""
        kind: str = self._check()["kind"]
        return kind

    def check(self, machine: MachineLike | None = None) -> dict[str, Any]:
        """Look whether it is a workload, fits the machine and runs, as ``fairlab check --json`` does."""
        return self._check(machine)

    def _check(self, machine: MachineLike | None = None) -> dict[str, Any]:
        texts = Texts()
        words = ["check", texts.workload(self), "--json"]
        if machine is not None:
            words += ["--machine", texts.machine(machine)]
        results, _ = _native.command(words, texts.named)
        told: dict[str, Any] = json.loads("".join(results))
        return told

    def to_rtapp(self) -> dict[str, Any]:
        """Give it in the form of rt-app's files.

        Raises
        ------
        InputError
            If it is none of rt-app's, or its text has what only rt-app's own reader takes, such as comments.
        """
        try:
            rtapp = json.loads(self.text)
        except json.JSONDecodeError as error:
            help = "comments and trailing commas are for rt-app's reader; scenarios are no JSON at all"
            raise _native.InputError(f"{self.name}: is not plain JSON: {error}\nhelp: {help}") from error
        if not isinstance(rtapp, dict):
            raise _native.InputError(f"{self.name}: is no object, as rt-app's files are")
        return rtapp

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write its file, for the command, for rt-app, for others."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.text)

    def __add__(self, other: Workload) -> Workload:
        if not isinstance(other, Workload):
            return NotImplemented
        mine, others = self.to_rtapp(), other.to_rtapp()
        twice = sorted(set(mine.get("tasks", {})) & set(others.get("tasks", {})))
        if twice:
            raise _native.InputError(f"both workloads have a task {twice[0]}\nhelp: give one of them another name")
        merged = {key: {**others.get(key, {}), **mine.get(key, {})} for key in {**mine, **others}}
        merged["tasks"] = {**mine.get("tasks", {}), **others.get("tasks", {})}
        return Workload.from_rtapp(merged, f"{self.name} and {other.name}")
