# SPDX-License-Identifier: GPL-2.0-or-later
"""The examples run, and say what they are there to say."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"


def told_by(name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *words: str) -> str:
    monkeypatch.setattr(sys, "argv", [name, *words])
    runpy.run_path(str(EXAMPLES / name), run_name="__main__")
    return capsys.readouterr().out


def test_which_cpus_says_that_the_limit_shortens_the_search(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("polars")
    told = told_by("which_cpus.py", capsys, monkeypatch)
    assert "NO_SIS_UTIL" in told and "nr_scanned" in told and "p99" in told


def test_a_trace_becomes_a_workload_that_runs_on_other_machines(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    told = told_by("own_trace.py", capsys, monkeypatch)
    assert told.startswith("recorded") and "sc7180: " in told and "ui" in told


def test_an_optimiser_finds_a_front(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("optuna")
    told = told_by("tune.py", capsys, monkeypatch, "8")
    assert all(" us " in line and " J " in line for line in told.splitlines()) and told


def test_a_question_has_an_answer(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    told = told_by("own_question.py", capsys, monkeypatch)
    assert "Amean" in told and "CPUs scanned" in told


def test_no_example_is_without_a_test() -> None:
    named = {"which_cpus.py", "own_trace.py", "tune.py", "own_question.py"}
    assert {path.name for path in EXAMPLES.glob("*.py")} == named
