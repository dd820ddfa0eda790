# SPDX-License-Identifier: GPL-2.0-or-later
"""Machines: included ones, files, and texts."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import Any

from fairlab import _native
from fairlab._command import MemoryFiles
from fairlab._table import Table, table_of_rows


@dataclass(frozen=True)
class Machine:
    """Description of a machine to simulate.

    Parameters
    ----------
    name
        Name of a machine that comes with fairlab (see :func:`machines`), or path of a machine file.
    text
        Text of a machine file; the name is then only used in messages.

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
        """Read a machine file now. Later changes to the file have no effect."""
        path = os.fspath(path)
        with open(path, encoding="utf-8") as file:
            return cls(path, file.read())

    def _command(self, *words: str) -> str:
        texts = MemoryFiles()
        results, _ = _native.command(["machine", "show", *words, texts.machine(self)], texts.files)
        return "".join(results)

    @property
    def toml(self) -> str:
        """Text of the machine file, as a template for your own."""
        return self._command("--toml")

    @property
    def info(self) -> dict[str, Any]:
        """Properties of the machine, as ``fairlab machine show --json`` prints them."""
        info: dict[str, Any] = json.loads(self._command("--json"))
        return info

    def edited(self, old: str, new: str) -> Machine:
        """Return the machine with one occurrence of a text in its file replaced.

        Raises
        ------
        InputError
            If the file does not contain the text.
        """
        text = self.toml
        if old not in text:
            raise _native.input_error(f"{self.name}: its file does not contain `{old}`", f"see Machine({self.name!r}).toml")
        return Machine(f"{self.name}, edited", text.replace(old, new, 1))

    def __str__(self) -> str:
        return self._command()


def machines() -> Table:
    """Return a table of the machines that come with fairlab.

    Examples
    --------
    >>> "hikey960" in fairlab.machines().column("name")
    True
    """
    results, _ = _native.command(["machine", "list", "--json"], [])
    return table_of_rows("machines", json.loads("".join(results)))
