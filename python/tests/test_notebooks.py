# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests of the notebooks: they run and print the expected texts. In the repository they have no outputs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

NOTEBOOKS = Path(__file__).resolve().parents[1] / "notebooks"
#: Texts in the output of each notebook, and the modules that it needs besides fairlab.
EXPECTED_OUTPUT = {
    "which_cpus": (["NO_SIS_UTIL", "nr_scanned", "p99"], ["polars"]),
    "published_patch": (["published", "Amean", "CPUs scanned"], []),
    "own_trace": (["recorded", "sc7180: ", "ui"], []),
    "own_policy": (["first idle", "stay", "'Policy'"], []),
    "tune": (["p99", " J ", "schedutil"], ["optuna"]),
}


def read(name: str) -> Any:
    return json.loads((NOTEBOOKS / f"{name}.ipynb").read_text(encoding="utf-8"))


def output_text(cell: Any) -> str:
    """All text that a cell has printed or displayed."""
    return "".join(output.get("text") or output.get("data", {}).get("text/plain", "") for output in cell.get("outputs", []))


@pytest.mark.parametrize("name", EXPECTED_OUTPUT)
def test_a_notebook_runs(name: str) -> None:
    expected, modules = EXPECTED_OUTPUT[name]
    for module in ("nbformat", "nbclient", "ipykernel", *modules):
        pytest.importorskip(module)
    import nbclient
    import nbformat

    notebook = nbformat.read(NOTEBOOKS / f"{name}.ipynb", as_version=4)
    nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
    text = "".join(output_text(cell) for cell in notebook.cells)
    for word in expected:
        assert word in text, f"{word!r} is not in:\n{text}"


def test_notebooks_in_the_repository_have_a_licence_and_no_outputs() -> None:
    for name in EXPECTED_OUTPUT:
        notebook = read(name)
        assert notebook["metadata"]["license"] == "SPDX-License-Identifier: GPL-2.0-or-later"
        code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
        assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code), name


def test_a_policy_of_my_own_takes_less_than_40_lines() -> None:
    cells = [cell["source"] for cell in read("own_policy")["cells"] if cell["cell_type"] == "code"]
    assert len("\n".join("".join(source) for source in cells).splitlines()) < 40


def test_no_notebook_is_without_a_test() -> None:
    assert {path.stem for path in NOTEBOOKS.glob("*.ipynb")} == set(EXPECTED_OUTPUT)
