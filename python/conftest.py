# SPDX-License-Identifier: GPL-2.0-or-later
"""Fixtures of tests and of the examples in docstrings."""

from __future__ import annotations

from typing import Any

import fairlab
import pytest
from fairlab import phase


@pytest.fixture(autouse=True)
def _names(doctest_namespace: dict[str, Any]) -> None:
    doctest_namespace.update(fairlab=fairlab, phase=phase)


@pytest.fixture
def work() -> fairlab.Workload:
    """A small workload: a periodic task and two CPU-bound tasks."""
    return fairlab.Workload.of(fairlab.periodic("ui", period_ms=5, run_ms=1), fairlab.hog(instance=2), name="small")
