# SPDX-License-Identifier: GPL-2.0-or-later
"""Policies of one's own, in the place of the kernel's selection of a CPU at a wake-up."""

from __future__ import annotations

import copy
from collections.abc import Generator
from typing import Any, Callable, Optional, Protocol, Union

from fairlab import _native
from fairlab._native import CpuLook, WakeRequest

#: What a policy gives: a CPU; ``None``, which leaves the choice to the kernel's rules; or a search, which yields the CPUs that it wants to look at.
WakeAnswer = Union[int, None, Generator[int, CpuLook, Optional[int]]]


class WakePolicy(Protocol):
    """What is asked where a fair task wakes up that may use more than one CPU. New tasks and exec are the kernel's affair.

    Examples
    --------
    A method that returns a CPU answers at once. One that yields CPUs looks at them: each ``yield`` costs and takes what a look costs in the kernel's own
    search, and gives what is there at that time.

    >>> class FirstIdle:
    ...     def select(self, request):
    ...         for cpu in request.cache:
    ...             look = yield cpu
    ...             if look.is_idle:
    ...                 return cpu
    >>> work = fairlab.Workload.of(fairlab.periodic("ui", period_ms=5, run_ms=1), fairlab.hog(instance=8))
    >>> run = fairlab.run(work, policy=FirstIdle(), for_="100ms")
    >>> "Policy" in run.table("selections").column("rule")
    True
    """

    def select(self, request: WakeRequest) -> WakeAnswer:
        """Choose a CPU for a task, or look for one."""


#: A policy: an object with ``select``, of which each run gets a copy; a class, of which each run gets an object; or a function.
PolicyLike = Union[WakePolicy, "type[WakePolicy]", Callable[[WakeRequest], WakeAnswer]]


class Maker:
    """Makes the function that a run asks. Runs share nothing, so what a policy remembers of one does not get into another."""

    def __init__(self, policy: PolicyLike) -> None:
        self.made: Any = None
        self.name: str
        self._new: Callable[[], Any]
        if isinstance(policy, type):
            self.name, self._new = policy.__name__, policy
        elif hasattr(policy, "select"):
            kept = copy.deepcopy(policy)
            self.name, self._new = type(policy).__name__, lambda: copy.deepcopy(kept)
        elif callable(policy):
            self.name, self._new = getattr(policy, "__name__", "policy"), lambda: policy
        else:
            help = "give an object that has it, its class, or a function"
            raise _native.InputError(f"{policy!r} is no policy: it has no method select\nhelp: {help}")

    def __call__(self) -> Callable[[WakeRequest], WakeAnswer]:
        """Make it, for one run."""
        self.made = self._new()
        select: Callable[[WakeRequest], WakeAnswer] = getattr(self.made, "select", self.made)
        return select
