# SPDX-License-Identifier: GPL-2.0-or-later
"""Arrow tables, which other libraries read without a copy."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from html import escape
from typing import Any

from fairlab import _native

#: Number of rows in a table's HTML representation.
NR_SHOWN_ROWS = 10


class Table:
    """A table of a run, a comparison or a sweep.

    It has the Arrow interface for readers: ``polars.DataFrame(table)``, ``pyarrow.table(table)``, ``pandas.DataFrame.from_arrow(table)``,
    ``duckdb.sql("select * from table")``. Columns are passed without a copy, though a reader may copy them (pandas does).

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
        """Name of the table."""
        return self._native.name

    @property
    def column_names(self) -> list[str]:
        """Names of the columns."""
        return self._native.column_names

    def __len__(self) -> int:
        return len(self._native)

    def column(self, name: str) -> list[Any]:
        """Return a column as a list, with ``None`` for unknown values."""
        return self._native.column(name)

    def rows(self, start: int = 0, stop: int | None = None) -> list[dict[str, Any]]:
        """Return rows as dictionaries."""
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
            for row in self._native.rows(0, NR_SHOWN_ROWS)
        )
        more = f"<p>{len(self) - NR_SHOWN_ROWS} more rows</p>" if len(self) > NR_SHOWN_ROWS else ""
        return f"<table><caption>{escape(self.name)}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


def table_of_rows(name: str, rows: Iterable[Mapping[str, Any]]) -> Table:
    """Build a table from rows. An inner dictionary becomes columns with a dot in their names; an inner list stays JSON."""
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
