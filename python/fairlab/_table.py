# SPDX-License-Identifier: GPL-2.0-or-later
"""Tables: columns of Arrow, which others take without a copy."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from html import escape
from typing import Any

from fairlab import _native

#: So many rows are shown.
SHOWN = 10


class Table:
    """A table of a run, a comparison or a sweep.

    It has Arrow's interface, so that whoever reads that takes it as it is: ``polars.DataFrame(table)``, ``pyarrow.table(table)``,
    ``pandas.DataFrame.from_arrow(table)``, ``duckdb.sql("select * from table")``. They are handed over where they lie; what the reader
    makes of them is his affair (pandas copies).

    Examples
    --------
    >>> table = fairlab.machines()
    >>> table.column_names[:2], len(table) > 5
    (['name', 'description'], True)
    """

    def __init__(self, native: _native.Table) -> None:
        self._native = native

    @property
    def name(self) -> str:
        """What it is a table of."""
        return self._native.name

    @property
    def column_names(self) -> list[str]:
        """The names of its columns."""
        return self._native.column_names

    def __len__(self) -> int:
        return len(self._native)

    def column(self, name: str) -> list[Any]:
        """Give a column as a list, with None for what is not known."""
        return self._native.column(name)

    def rows(self, start: int = 0, stop: int | None = None) -> list[dict[str, Any]]:
        """Give rows as dictionaries."""
        names = self.column_names
        return [dict(zip(names, row)) for row in self._native.rows(start, len(self) if stop is None else stop)]

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._native.__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> object:
        return self._native.__arrow_c_schema__()

    def __repr__(self) -> str:
        return f"<Table {self.name}: {len(self)} rows of {', '.join(self.column_names)}>"

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{escape(name)}</th>" for name in self.column_names)
        body = "".join(
            "<tr>" + "".join(f"<td>{'' if cell is None else escape(str(cell))}</td>" for cell in row) + "</tr>"
            for row in self._native.rows(0, SHOWN)
        )
        more = f"<p>{len(self) - SHOWN} more rows</p>" if len(self) > SHOWN else ""
        return f"<table><caption>{escape(self.name)}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


def table_of_rows(name: str, rows: Iterable[Mapping[str, Any]]) -> Table:
    """Make a table of rows. An inner dictionary becomes columns of its own, with a dot in their names; an inner list is left as JSON."""
    flat = [dict(_flat("", row)) for row in rows]
    names = list(dict.fromkeys(column for row in flat for column in row))
    columns = [(column, json.dumps([row.get(column) for row in flat])) for column in names]
    return Table(_native.table_of_columns(name, columns))


def _flat(before: str, row: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for key, value in row.items():
        if isinstance(value, Mapping):
            yield from _flat(f"{before}{key}.", value)
        else:
            yield f"{before}{key}", json.dumps(value) if isinstance(value, list) else value
