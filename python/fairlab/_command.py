# SPDX-License-Identifier: GPL-2.0-or-later
"""Conversion of Python arguments to command-line arguments, and a function that runs any command."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Iterable, Mapping, Sequence
from operator import index
from typing import TYPE_CHECKING, Any, Callable, Union

from fairlab import _native
from fairlab._policy import PolicyFactory, PolicyLike
from fairlab._settings import SETTINGS

if TYPE_CHECKING:
    from fairlab._machine import Machine
    from fairlab._workload import Workload

#: A duration: ``"500ms"``, or a number of seconds.
Time = Union[str, float]
#: A machine: its name, the path of its file, or a :class:`fairlab.Machine`.
MachineLike = Union[str, "os.PathLike[str]", "Machine"]
#: A workload: the path of its file, a dictionary in the format of rt-app files, or a :class:`fairlab.Workload`.
WorkloadLike = Union[str, "os.PathLike[str]", Mapping[str, Any], "Workload"]
#: Features: ``"A,NO_B"``, a list of such names, or names with their new values.
Features = Union[str, Iterable[str], Mapping[str, bool]]
#: Tunables with their new values: ``{"migration_cost_ns": 0}``.
Tunables = Mapping[str, int]
#: Facts of the processor: ``{"line_ns.llc": 40}``; ``"least"`` or ``"greatest"`` of the range.
Facts = Mapping[str, Union[int, str]]
#: Cost model: ``"machine"``, ``"zero"``, or the machine whose costs apply.
CostModel = MachineLike
#: Settings: features, tunables and all other changes of an arm.
Settings = Mapping[str, Any]


class FairlabWarning(UserWarning):
    """Warning that the command would have printed."""


class MemoryFiles:
    """MemoryFiles that stand for files in the arguments of one call, and policies."""

    def __init__(self) -> None:
        self.files: list[tuple[str, str]] = []
        self.policies: list[tuple[str, PolicyFactory]] = []

    def add(self, name: str, text: str) -> str:
        """Register a text and return the argument that stands for it."""
        if (name, text) not in self.files:
            self.files.append((name, text))
        return f"\0{self.files.index((name, text))}\0"

    def policy(self, policy: PolicyLike) -> str:
        """Register a policy and return the argument that stands for it."""
        factory = PolicyFactory(policy)
        self.policies.append((factory.name, factory))
        return f"\0p{len(self.policies) - 1}\0"

    def workload(self, workload: WorkloadLike) -> str:
        """Return the argument for a workload."""
        from fairlab._workload import Workload

        if isinstance(workload, Mapping):
            workload = Workload.from_rtapp(workload)
        if isinstance(workload, Workload):
            if workload.path is None:
                return self.add(workload.name, workload.text)
            workload = workload.path
        return os.fspath(workload)

    def machine(self, machine: MachineLike) -> str:
        """Return the argument for a machine."""
        from fairlab._machine import Machine

        if isinstance(machine, Machine):
            if machine.text is not None:
                return self.add(machine.name, machine.text)
            machine = machine.name
        return os.fspath(machine)


def warn(messages: Iterable[str]) -> None:
    """Issue the warnings that the command would have printed."""
    for message in messages:
        # Messages are wrapped for a terminal; the line breaks are removed here.
        warnings.warn(message.replace("\n  ", " "), FairlabWarning, stacklevel=3)


def time_word(time: Time) -> str:
    """Return a duration as a command-line argument."""
    return time if isinstance(time, str) else f"{round(time * 1e9)}ns"


def feature_values(features: Features) -> dict[str, bool]:
    """Return features by name."""
    if isinstance(features, Mapping):
        given: Mapping[str, object] = features
        for name, is_on in given.items():
            # A text such as "no" is true in Python. Truth values of other libraries are neither texts nor containers.
            if is_on is None or isinstance(is_on, (str, bytes, Sequence, Mapping)):
                raise _native.input_error(f"feature {name}: {is_on!r} is neither True nor False")
        return {name: bool(is_on) for name, is_on in features.items()}
    values: dict[str, bool] = {}
    for word in features.split(",") if isinstance(features, str) else features:
        is_on = not word.startswith("NO_")
        name = word if is_on else word[len("NO_") :]
        if values.setdefault(name, is_on) != is_on:
            raise _native.input_error(f"{name} is switched on and off", f"keep {name} or NO_{name}")
    return values


def setting_word(key: str, value: object, texts: MemoryFiles) -> str:
    """Return the value of a setting as arms and plans contain it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if key in ("workload",) and not isinstance(value, str):
        return texts.workload(value)  # type: ignore[arg-type]
    if key in ("machine", "prices") and not isinstance(value, str):
        return texts.machine(value)  # type: ignore[arg-type]
    if key == "policy":
        return texts.policy(value)  # type: ignore[arg-type]
    return str(value)


def arm_word(settings: Settings, texts: MemoryFiles) -> str:
    """Return settings in the format of ``--arm``."""
    words = []
    for key, value in settings.items():
        word = setting_word(key, value, texts)
        words.append({"true": key, "false": f"NO_{key}"}.get(word, f"{key}={word}"))
    return ",".join(words) or "unchanged"


def settings_of(texts: MemoryFiles, keywords: Mapping[str, Any], allowed: type, of: str) -> dict[str, Any]:
    """Return keywords as settings of a specification; ``of`` is the name of the function that takes those of ``allowed``."""
    convert: dict[str, Callable[[Any], Any]] = {
        "machine": texts.machine,
        "costs": lambda model: [texts.machine(model)],
        "features": feature_values,
        "tunables": lambda tunables: {name: index(value) for name, value in tunables.items()},
        "facts": lambda facts: {name: value if isinstance(value, str) else index(value) for name, value in facts.items()},
        "policy": texts.policy,
        "time": time_word,
        "integer": index,
        "switch": lambda value: value if isinstance(value, str) else bool(value),
        "text": lambda value: value,
    }
    settings: dict[str, Any] = {}
    for keyword, value in keywords.items():
        if keyword not in allowed.__annotations__:
            raise TypeError(f"{of}() got an unexpected keyword argument '{keyword}'")
        name, form, if_true = SETTINGS[keyword]
        if value is None or (form == "flag" and value is False):
            continue
        settings[name] = (if_true if value is True else value) if form == "flag" else convert[form](value)
    return settings


def option(words: list[str], name: str, value: object | None) -> None:
    """Add an option if it is given; ``True`` adds it without a value."""
    if value is True:
        words.append(name)
    elif value is not None and value is not False:
        words.append(f"{name}={value}")


def command(*words: str | os.PathLike[str]) -> Any:
    """Run any command of ``fairlab`` in this process.

    Parameters
    ----------
    *words
        Arguments after ``fairlab``.

    Returns
    -------
    str or object
        Standard output of the command; with ``"--json"`` among the arguments, the parsed value.

    Raises
    ------
    InputError
        If the input is wrong, with the command's message.
    RunError
        If a run could not continue.

    Examples
    --------
    >>> [row["name"] for row in fairlab.command("kernels", "--json")][-1]
    '6.12'
    """
    given = [os.fspath(word) for word in words]
    results, warned = _native.command(given, [])
    warn(warned)
    text = "".join(results)
    return json.loads(text) if "--json" in given else text
