# SPDX-License-Identifier: GPL-2.0-or-later
"""Arguments as words of the command, and any command of all."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Optional, TypedDict, Union

from fairlab import _native
from fairlab._policy import Maker, PolicyLike

if TYPE_CHECKING:
    from fairlab._machine import Machine
    from fairlab._workload import Workload

#: A length of time: ``"500ms"``, or a number of seconds.
Time = Union[str, float]
#: A machine: its name, the path of its file, or a :class:`fairlab.Machine`.
MachineLike = Union[str, "os.PathLike[str]", "Machine"]
#: A workload: the path of its file, a dictionary in rt-app's form, or a :class:`fairlab.Workload`.
WorkloadLike = Union[str, "os.PathLike[str]", Mapping[str, Any], "Workload"]
#: Features: ``"A,NO_B"``, a list of such words, or names with what they are to be.
Features = Union[str, Iterable[str], Mapping[str, bool]]
#: Settings: features, tunables and whatever else an arm changes.
Settings = Mapping[str, Any]


class Variant(TypedDict, total=False):
    """On what something runs: options that :func:`fairlab.run`, :func:`fairlab.bench` and :func:`fairlab.compare` share."""

    machine: Optional[MachineLike]
    """A machine's name or file, or a :class:`fairlab.Machine`; ``hikey960`` without it, or the scenario's own."""
    kernel: Optional[str]
    """A release from ``4.19`` to ``6.1``; the machine's without it."""
    engine: Optional[str]
    """``built-in``, or ``kernel:NAME``: the scheduler of a kernel tree, in a process of the command. Who runs in another program is told so."""
    features: Optional[Features]
    """``"NO_SIS_UTIL"``, a list of such words, or ``{"SIS_UTIL": False}``."""
    set: Optional[Mapping[str, int]]
    """Tunables: ``{"migration_cost_ns": 0}``."""
    governor: Optional[str]
    """``performance``, ``powersave`` or ``schedutil``."""
    cpu_dma_latency: Optional[Time]
    """The longest exit from an idle state that somebody allows."""
    prices: Optional[MachineLike]
    """What kernel code costs: ``machine`` or ``zero``; in :func:`fairlab.run` also the machine whose prices count."""
    plain: Union[bool, str]
    """Take a machine's shape alone (CPUs, caches, nodes, capacities): no prices, idle states, frequencies, turbo; ``"priced"``: with prices and idle states."""
    policy: Optional[PolicyLike]
    """Who selects CPUs at wake-ups in the place of the kernel's rules: a :class:`fairlab.WakePolicy`."""


class FairlabWarning(UserWarning):
    """What the command would have warned of."""


class Texts:
    """Texts that stand for files in the words of one call, and policies."""

    def __init__(self) -> None:
        self.named: list[tuple[str, str]] = []
        self.policies: list[tuple[str, Maker]] = []

    def put(self, name: str, text: str) -> str:
        """Give the word that stands for a text."""
        if (name, text) not in self.named:
            self.named.append((name, text))
        return f"\0{self.named.index((name, text))}\0"

    def policy(self, policy: PolicyLike) -> str:
        """Give the word for a policy."""
        maker = Maker(policy)
        self.policies.append((maker.name, maker))
        return f"\0p{len(self.policies) - 1}\0"

    def workload(self, workload: WorkloadLike) -> str:
        """Give the word for a workload."""
        from fairlab._workload import Workload

        if isinstance(workload, Mapping):
            workload = Workload.from_rtapp(workload)
        if isinstance(workload, Workload):
            if workload.path is None:
                return self.put(workload.name, workload.text)
            workload = workload.path
        return os.fspath(workload)

    def machine(self, machine: MachineLike) -> str:
        """Give the word for a machine."""
        from fairlab._machine import Machine

        if isinstance(machine, Machine):
            if machine.text is not None:
                return self.put(machine.name, machine.text)
            machine = machine.name
        return os.fspath(machine)


def warn(messages: Iterable[str]) -> None:
    """Warn of what the command would have warned of."""
    for message in messages:
        # Notes are broken for a terminal; here they are not.
        warnings.warn(message.replace("\n  ", " "), FairlabWarning, stacklevel=3)


def time_word(time: Time) -> str:
    """Give a length of time in the words of the command."""
    return time if isinstance(time, str) else f"{round(time * 1e9)}ns"


def feature_words(features: Features) -> list[str]:
    """Give features in the words of the command."""
    if isinstance(features, str):
        return [features]
    if isinstance(features, Mapping):
        return [name if is_on else f"NO_{name}" for name, is_on in features.items()]
    return list(features)


def setting_word(key: str, value: object, texts: Texts) -> str:
    """Give the value of a setting as an arm or a plan has it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if key in ("workload",) and not isinstance(value, str):
        return texts.workload(value)  # type: ignore[arg-type]
    if key in ("machine", "prices") and not isinstance(value, str):
        return texts.machine(value)  # type: ignore[arg-type]
    if key == "policy":
        return texts.policy(value)  # type: ignore[arg-type]
    return str(value)


def arm_word(settings: Settings, texts: Texts) -> str:
    """Give settings as ``--arm`` has them."""
    words = []
    for key, value in settings.items():
        word = setting_word(key, value, texts)
        words.append({"true": key, "false": f"NO_{key}"}.get(word, f"{key}={word}"))
    return ",".join(words) or "unchanged"


def variant_words(texts: Texts, variant: Variant, of: str) -> list[str]:
    """Give the options that say on what something runs; ``of`` is the function that has them."""
    unknown = [name for name in variant if name not in Variant.__annotations__]
    if unknown:
        raise TypeError(f"{of}() got an unexpected keyword argument '{unknown[0]}'")
    words: list[str] = []
    for name, make in (("machine", texts.machine), ("prices", texts.machine), ("policy", texts.policy)):
        value: Any = variant.get(name)
        if value is not None:
            words += [f"--{name}", make(value)]
    for name in ("kernel", "engine", "governor", "plain"):
        option(words, f"--{name}", variant.get(name))
    features = variant.get("features")
    if features is not None:
        words += [f"--features={word}" for word in feature_words(features)]
    words += [f"--set={name}={value}" for name, value in (variant.get("set") or {}).items()]
    latency = variant.get("cpu_dma_latency")
    if latency is not None:
        words += ["--cpu-dma-latency", time_word(latency)]
    return words


def option(words: list[str], name: str, value: object | None) -> None:
    """Add an option if it is given; a switch if it is one."""
    if value is True:
        words.append(name)
    elif value is not None and value is not False:
        words.append(f"{name}={value}")


def command(*words: str | os.PathLike[str]) -> Any:
    """Do any command of ``fairlab``, in this process.

    Parameters
    ----------
    *words
        The words behind ``fairlab``.

    Returns
    -------
    str or object
        What it would have written to standard output. With ``"--json"`` among the words, the value that this is.

    Raises
    ------
    InputError
        If something that was given is wrong, with the command's message.
    RunError
        If a run could not go on.

    Examples
    --------
    >>> [row["name"] for row in fairlab.command("kernels", "--json")][-1]
    '6.1'
    """
    given = [os.fspath(word) for word in words]
    results, warned = _native.command(given, [])
    warn(warned)
    text = "".join(results)
    return json.loads(text) if "--json" in given else text
