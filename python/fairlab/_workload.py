# SPDX-License-Identifier: GPL-2.0-or-later
"""Workloads from files, texts, rt-app dictionaries, recorded traces, and tasks composed in Python."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from fairlab import _native, phase
from fairlab._command import MachineLike, MemoryFiles, warn
from fairlab.phase import Phases


@dataclass(frozen=True)
class Task:
    """A task of a workload, or several equal tasks.

    Parameters
    ----------
    name
        Name of the task.
    phases
        Behaviour of the task.
    instance
        Number of tasks.
    loop
        Number of repetitions of the phases; -1 repeats them without end.
    delay_us
        Delay of the start, in microseconds.
    policy, priority, cpus
        As in rt-app: ``"SCHED_FIFO"``, a priority or a nice value, and the CPUs that it may use.
    slice_ms
        Slice of a fair task, in milliseconds, on kernels since 6.12. Others ignore it with a warning.
    more
        Further keys of a task in an rt-app file.

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
    slice_ms: float | None = None
    more: Mapping[str, Any] = field(default_factory=dict)

    def to_rtapp(self) -> dict[str, Any]:
        """Return the task as a dictionary of an rt-app file."""
        keys: dict[str, Any] = {"instance": self.instance} if self.instance != 1 else {}
        keys["loop"] = self.loop
        if self.delay_us:
            keys["delay"] = round(self.delay_us)
        slice_us = None if self.slice_ms is None else round(self.slice_ms * 1000)
        keys_and_values = (
            ("policy", self.policy),
            ("priority", self.priority),
            ("cpus", self.cpus),
            ("dl-runtime", slice_us),
        )
        for key, value in keys_and_values:
            if value is not None:
                keys[key] = value
        return keys | dict(self.more) | self.phases.to_rtapp()


@dataclass(frozen=True)
class Response:
    """A response: what people wait for, from an event of one task to an event of another one.

    Parameters
    ----------
    start
        Event at which a response begins, as ``"TASK.KEY"`` of an rt-app file, such as ``"ui.timer"``.
    end
        Event behind which a response ends: ``"TASK.KEY"``, or ``"TASK.NAME"`` for :func:`phase.point`. By default a response ends with
        the last thing that is done for it.
    deadline_ms
        Time after which a response is late, in milliseconds.

    Examples
    --------
    >>> fairlab.Response("ui.timer", "gpu.done", deadline_ms=8.333).to_rtapp()
    {'from': 'ui.timer', 'to': 'gpu.done', 'deadline': 8333}
    """

    start: str
    end: str | None = None
    deadline_ms: float | None = None

    def to_rtapp(self) -> dict[str, Any]:
        """Return the definition as a dictionary of an rt-app file."""
        keys: dict[str, Any] = {"from": self.start}
        if self.end is not None:
            keys["to"] = self.end
        if self.deadline_ms is not None:
            keys["deadline"] = round(self.deadline_ms * 1000)
        return keys


def hog(name: str = "hog", *, instance: int = 1, **more: Any) -> Task:
    """Return a task that computes without end.

    Examples
    --------
    >>> fairlab.hog(instance=3).to_rtapp()
    {'instance': 3, 'loop': -1, 'run': 10000}
    """
    return Task(name, phase.run(ms=10), instance=instance, **more)


def periodic(
    name: str, *, period_ms: float, run_ms: float | None = None, percent: float | None = None, **more: Any
) -> Task:
    """Return a task that a timer wakes and that then computes for some time or for a share of the period.

    Examples
    --------
    >>> fairlab.periodic("audio", period_ms=5, percent=10).to_rtapp()
    {'loop': -1, 'run': 500, 'timer': {'ref': 'unique', 'period': 5000}}
    """
    if (run_ms is None) == (percent is None):
        raise _native.input_error("a periodic task needs either run_ms or percent of its period", "give one of them")
    run_ms = period_ms * (percent or 0) / 100 if run_ms is None else run_ms
    return Task(name, phase.run(ms=run_ms) + phase.timer(ms=period_ms), **more)


@dataclass(frozen=True)
class Workload:
    """A workload. Create it with :meth:`from_file`, :meth:`from_text`, :meth:`from_rtapp`, :meth:`from_trace` or :meth:`of`.

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
        """Use a file: a scenario, an rt-app file, or a workload written by ``fairlab import``."""
        return cls(os.fspath(path), None, os.fspath(path))

    @classmethod
    def from_text(cls, text: str, name: str = "workload") -> Workload:
        """Use the text of a workload file; the name is used in messages.

        Examples
        --------
        >>> scenario = fairlab.Workload.from_text("cpus 2\\ntask a loop run 1ms sleep 1ms\\nend 50ms\\n", "two CPUs")
        >>> scenario.kind
        'scenario'
        """
        return cls(name, text)

    @classmethod
    def from_rtapp(cls, rtapp: Mapping[str, Any], name: str = "workload") -> Workload:
        """Use a dictionary in the format of rt-app files."""
        return cls(name, json.dumps(rtapp, indent=4) + "\n")

    @classmethod
    def from_trace(
        cls,
        path: str | os.PathLike[str],
        *,
        machine: MachineLike | None = None,
        leaps: Literal["reject", "drop", "keep"] = "reject",
    ) -> Workload:
        """Convert a recorded trace: trace.dat, perf.data, ftrace text, systrace, Perfetto.

        Parameters
        ----------
        path
            Path of the trace.
        machine
            Machine on which it was recorded, for capacities, frequencies and idle states.
        leaps
            Treatment of events whose time stamps leap: ``reject`` the trace, ``drop`` the events, or ``keep`` them.
        """
        texts = MemoryFiles()
        words = ["import", os.fspath(path), "--output", "-", "--leaps", leaps]
        if machine is not None:
            words += ["--machine", texts.machine(machine)]
        results, notes = _native.command(words, texts.files)
        warn(notes)
        return cls(os.fspath(path), "".join(results))

    @classmethod
    def of(
        cls,
        *tasks: Task,
        name: str = "workload",
        duration: float = 5,
        responses: Mapping[str, Response] | None = None,
        **settings: Any,
    ) -> Workload:
        """Compose a workload of tasks. It lasts ``duration`` seconds unless ``for_`` is given; settings are further keys of rt-app's ``global``.

        Examples
        --------
        >>> ui = fairlab.Task("ui", phase.run(ms=2) + phase.timer(ms=16))
        >>> frames = fairlab.Workload.of(ui, responses={"frame": fairlab.Response("ui.timer", deadline_ms=16)})
        >>> fairlab.run(frames, for_="200ms").summary["responses"][0]["late"]
        0
        """
        names = [task.name for task in tasks]
        if len(set(names)) < len(names):
            raise _native.input_error(f"two tasks have the same name: {', '.join(names)}", "use different names, or instance=")
        rtapp: dict[str, Any] = {"tasks": {task.name: task.to_rtapp() for task in tasks}}
        if responses:
            rtapp["responses"] = {name: response.to_rtapp() for name, response in responses.items()}
        rtapp["global"] = {"duration": duration, **settings}
        return cls.from_rtapp(rtapp, name)

    @property
    def text(self) -> str:
        """Text of the workload file."""
        if self._text is not None:
            return self._text
        assert self.path is not None, "a workload has a text or a file"
        with open(self.path, encoding="utf-8") as file:
            return file.read()

    @property
    def kind(self) -> str:
        """Kind of the workload: ``scenario``, ``rt-app`` or ``recorded``."""
        kind: str = self._check()["kind"]
        return kind

    def check(self, machine: MachineLike | None = None) -> dict[str, Any]:
        """Read the workload, place it on the machine and run it with checks, as ``fairlab check --json`` does."""
        return self._check(machine)

    def _check(self, machine: MachineLike | None = None) -> dict[str, Any]:
        texts = MemoryFiles()
        words = ["check", texts.workload(self), "--json"]
        if machine is not None:
            words += ["--machine", texts.machine(machine)]
        results, _ = _native.command(words, texts.files)
        result: dict[str, Any] = json.loads("".join(results))
        return result

    def to_rtapp(self) -> dict[str, Any]:
        """Return the workload as a dictionary in the format of rt-app files.

        Raises
        ------
        InputError
            If it is not an rt-app workload, or its text is not plain JSON: rt-app's own parser also accepts comments.
        """
        try:
            rtapp = json.loads(self.text)
        except json.JSONDecodeError as error:
            help = "remove comments and trailing commas, which only rt-app accepts; scenarios are not JSON"
            raise _native.input_error(f"{self.name}: is not plain JSON: {error}", help) from error
        if not isinstance(rtapp, dict):
            raise _native.input_error(f"{self.name}: is not a JSON object, as rt-app files are")
        return rtapp

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the workload file, for the command line, rt-app or other tools."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.text)

    def __add__(self, other: Workload) -> Workload:
        if not isinstance(other, Workload):
            return NotImplemented
        mine, others = self.to_rtapp(), other.to_rtapp()
        twice = sorted(set(mine.get("tasks", {})) & set(others.get("tasks", {})))
        if twice:
            raise _native.input_error(f"both workloads have a task {twice[0]}", "rename one of them")
        merged = {key: {**others.get(key, {}), **mine.get(key, {})} for key in {**mine, **others}}
        merged["tasks"] = {**mine.get("tasks", {}), **others.get("tasks", {})}
        return Workload.from_rtapp(merged, f"{self.name} and {other.name}")
