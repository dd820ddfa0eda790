# SPDX-License-Identifier: GPL-2.0-or-later
"""Conversion of Python arguments to command-line arguments, and a function that runs any command."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Iterable, Mapping, Sequence
from operator import index
from typing import TYPE_CHECKING, Any, Optional, TypedDict, Union

from fairlab import _native
from fairlab._policy import PolicyFactory, PolicyLike

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
#: Settings: features, tunables and all other changes of an arm.
Settings = Mapping[str, Any]


class Variant(TypedDict, total=False):
    """Machine and scheduler options that :func:`fairlab.run`, :func:`fairlab.bench` and :func:`fairlab.compare` share."""

    machine: Optional[MachineLike]
    """Name or file of a machine, or a :class:`fairlab.Machine`. Default: the scenario's machine, or ``hikey960``."""
    kernel: Optional[str]
    """Kernel release from ``4.19`` to ``6.1``, or ``6.12``. Default: that of the scenario or the machine, or ``6.12``."""
    engine: Optional[str]
    """``built-in``. ``kernel:NAME``, the scheduler of a kernel tree, needs a process of the command and is rejected in Python."""
    features: Optional[Features]
    """``"NO_SIS_UTIL"``, a list of such names, or ``{"SIS_UTIL": False}``."""
    set: Optional[Mapping[str, int]]
    """Tunables: ``{"migration_cost_ns": 0}``."""
    governor: Optional[str]
    """``performance``, ``powersave`` or ``schedutil``."""
    cpu_dma_latency: Optional[Time]
    """Longest exit latency of an idle state that may be entered, as held in ``/dev/cpu_dma_latency``."""
    idle_states: Optional[int]
    """Number of idle states that each CPU may use, counted from the shallowest."""
    autogroup: Optional[bool]
    """Whether tasks of the root group run in a group of their own, as those of a session do with ``sched_autogroup_enabled``."""
    background: Optional[bool]
    """Whether kernel threads that timers of a booted kernel wake run beside the workload."""
    prices: Optional[MachineLike]
    """Cost model of kernel code: ``machine`` or ``zero``; in :func:`fairlab.run` also the machine whose costs apply."""
    costs: Optional[str]
    """Calls of a compiled kernel that cost time: ``common``, ``counted``, or ``zero``, which removes all costs."""
    fact: Optional[Mapping[str, Union[int, str]]]
    """Facts of the processor, from which all costs follow: ``{"line_ns.llc": 40}``; ``"least"`` or ``"greatest"`` of the range."""
    plain: Union[bool, str]
    """Use only the topology of a machine: no costs, idle states, frequencies or turbo. ``"priced"`` keeps costs and idle states."""
    policy: Optional[PolicyLike]
    """Policy that replaces decisions of the kernel, such as a :class:`fairlab.WakePolicy`."""


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


def variant_settings(texts: MemoryFiles, variant: Variant, of: str) -> dict[str, Any]:
    """Return a variant as settings of a spec; ``of`` is the name of the function that takes it."""
    unknown = [name for name in variant if name not in Variant.__annotations__]
    if unknown:
        raise TypeError(f"{of}() got an unexpected keyword argument '{unknown[0]}'")
    settings: dict[str, Any] = {name: value for name, value in variant.items() if value is not None and value is not False}
    for name, convert in (
        ("machine", texts.machine),
        ("features", feature_values),
        ("cpu_dma_latency", time_word),
        ("idle_states", index),
        ("prices", lambda model: [texts.machine(model)]),
        ("plain", lambda plain: "shape" if plain is True else plain),
        ("policy", texts.policy),
    ):
        if name in settings:
            settings[name] = convert(settings[name])
    if "fact" in settings:
        settings["facts"] = {name: value if isinstance(value, str) else index(value) for name, value in settings.pop("fact").items()}
    if "set" in settings:
        settings["tunables"] = {name: index(value) for name, value in settings.pop("set").items()}
    return settings


def run_settings(
    settings: dict[str, Any], for_: Time | None, warmup: Time | None, seed: int | None, perturb: int | None
) -> dict[str, Any]:
    """Return settings with those of a single run."""
    times = {"duration": for_, "warmup": warmup}
    numbers = {"seed": seed, "perturb": perturb}
    return {
        **settings,
        **{name: time_word(time) for name, time in times.items() if time is not None},
        **{name: index(number) for name, number in numbers.items() if number is not None},
    }


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
