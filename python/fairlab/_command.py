# SPDX-License-Identifier: GPL-2.0-or-later
"""Arguments as words of the command, and any command of all."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Union

from fairlab import _native

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


class FairlabWarning(UserWarning):
    """What the command would have warned of."""


class Texts:
    """Texts that stand for files in the words of one call."""

    def __init__(self) -> None:
        self.named: list[tuple[str, str]] = []

    def put(self, name: str, text: str) -> str:
        """Give the word that stands for a text."""
        if (name, text) not in self.named:
            self.named.append((name, text))
        return f"\0{self.named.index((name, text))}\0"

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
    return str(value)


def arm_word(settings: Settings, texts: Texts) -> str:
    """Give settings as ``--arm`` has them."""
    words = []
    for key, value in settings.items():
        word = setting_word(key, value, texts)
        words.append({"true": key, "false": f"NO_{key}"}.get(word, f"{key}={word}"))
    return ",".join(words) or "unchanged"


def variant_words(
    texts: Texts,
    *,
    machine: MachineLike | None,
    kernel: str | None,
    features: Features | None,
    set: Mapping[str, int] | None,
    governor: str | None,
    cpu_dma_latency: Time | None,
    prices: str | None,
) -> list[str]:
    """Give the options that say on what something runs."""
    words: list[str] = []
    if machine is not None:
        words += ["--machine", texts.machine(machine)]
    if kernel is not None:
        words += ["--kernel", kernel]
    if features is not None:
        words += [f"--features={word}" for word in feature_words(features)]
    words += [f"--set={name}={value}" for name, value in (set or {}).items()]
    if governor is not None:
        words += ["--governor", governor]
    if cpu_dma_latency is not None:
        words += ["--cpu-dma-latency", time_word(cpu_dma_latency)]
    if prices is not None:
        words += ["--prices", prices]
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
