# SPDX-License-Identifier: GPL-2.0-or-later
"""Machines: those that come with fairlab, files, and texts."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import Any

from fairlab import _native
from fairlab._command import Texts
from fairlab._table import Table, table_of_rows


@dataclass(frozen=True)
class Machine:
    """A machine that is simulated.

    Parameters
    ----------
    name
        The name of one that comes with fairlab (see :func:`machines`), or the path of a machine file.
    text
        The text of a machine file, if it is none of these; the name is then for messages.

    Examples
    --------
    >>> board = fairlab.Machine("hikey960")
    >>> board.info["cpus"]
    8
    >>> mine = board.edited("hz = 250", "hz = 1000")
    >>> mine.info["hz"]
    1000
    """

    name: str
    text: str | None = None

    @classmethod
    def from_file(cls, path: str | os.PathLike[str]) -> Machine:
        """Read a machine file now, so that what happens to the file later makes no difference."""
        path = os.fspath(path)
        with open(path, encoding="utf-8") as file:
            return cls(path, file.read())

    def _command(self, *words: str) -> str:
        texts = Texts()
        results, _ = _native.command(["machine", "show", *words, texts.machine(self)], texts.named)
        return "".join(results)

    @property
    def toml(self) -> str:
        """Its file, to start your own from."""
        return self._command("--toml")

    @property
    def info(self) -> dict[str, Any]:
        """Its figures, as ``fairlab machine show --json`` tells them."""
        info: dict[str, Any] = json.loads(self._command("--json"))
        return info

    def edited(self, old: str, new: str) -> Machine:
        """Give the machine whose file has other words in one place.

        Raises
        ------
        InputError
            If the file does not have these words.
        """
        text = self.toml
        if old not in text:
            raise _native.InputError(f"{self.name}: its file has no `{old}`\nhelp: look at Machine({self.name!r}).toml")
        return Machine(f"{self.name}, edited", text.replace(old, new, 1))

    def __str__(self) -> str:
        return self._command()


def machines() -> Table:
    """Tell of the machines that come with fairlab.

    Examples
    --------
    >>> "hikey960" in fairlab.machines().column("name")
    True
    """
    results, _ = _native.command(["machine", "list", "--json"], [])
    return table_of_rows("machines", json.loads("".join(results)))
