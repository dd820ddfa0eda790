# SPDX-License-Identifier: GPL-2.0-or-later
"""Policies of one's own, in the place of decisions of the kernel: where a task wakes up, what a pass of balancing pulls, how deep a CPU sleeps."""

from __future__ import annotations

import copy
from collections.abc import Generator
from typing import Any, Callable, Literal, Optional, Protocol, Union

from fairlab import _native
from fairlab._native import BalanceRequest, CpuLook, IdleRequest, WakeRequest

#: What a policy gives where a task wakes up: a CPU; ``None``, which leaves the choice to the kernel's rules; or a search, which yields the CPUs that it
#: wants to look at.
WakeAnswer = Union[int, None, Generator[int, CpuLook, Optional[int]]]

#: What a pass is to pull: so many tasks from a CPU, or nothing.
Pull = Union[tuple[int, int], Literal[False], None]

#: What a policy gives for a pass: that, ``None``, which leaves it to the kernel's rules, or a search.
BalanceAnswer = Union[Pull, Generator[int, CpuLook, Pull]]


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


class BalancePolicy(Protocol):
    """What is asked when a pass of balancing has its statistics, and it is its CPU's turn.

    Examples
    --------
    Nothing is pulled but by CPUs that have nothing to do, and then one task:

    >>> class OneByOne:
    ...     def balance(self, request):
    ...         if request.idle == "busy":
    ...             return False
    ...         for cpu in request.busiest:
    ...             look = yield cpu
    ...             if look.nr_running > 1:
    ...                 return cpu, 1
    ...         return False
    >>> work = fairlab.Workload.of(fairlab.periodic("ui", period_ms=5, run_ms=3, instance=12))
    >>> run = fairlab.run(work, policy=OneByOne(), for_="100ms")
    >>> "Policy" in run.table("passes").column("balanced")
    True
    """

    def balance(self, request: BalanceRequest) -> BalanceAnswer:
        """Say what is pulled: a CPU with a number of tasks, or ``False``; or look at CPUs first."""


class IdlePolicy(Protocol):
    """What is asked when a CPU begins to idle, or goes on to after an interrupt that has brought no work.

    Examples
    --------
    The deepest state that pays if nothing but the next timer wakes the CPU:

    >>> class UntilTimer:
    ...     def idle_state(self, request):
    ...         sleep_ns = request.to_timer_ns or 10**9
    ...         fit = [state for state, ns in enumerate(request.target_residency_ns) if ns <= sleep_ns]
    ...         return fit[-1] if request.latency_limit_ns is None else None
    >>> work = fairlab.Workload.of(fairlab.periodic("ui", period_ms=5, run_ms=1))
    >>> run = fairlab.run(work, machine="hikey960", policy=UntilTimer(), for_="100ms")
    """

    def idle_state(self, request: IdleRequest) -> Optional[int]:
        """Choose one of the CPU's states by its place; ``None`` leaves it to the kernel's governor."""


#: A policy: an object with one or more of these methods, of which each run gets a copy; a class, of which each run gets an object; or a function,
#: which is asked about wake-ups.
PolicyLike = Union[
    WakePolicy,
    BalancePolicy,
    IdlePolicy,
    "type[WakePolicy]",
    "type[BalancePolicy]",
    "type[IdlePolicy]",
    Callable[[WakeRequest], WakeAnswer],
]

#: The methods by which a policy decides.
_METHODS = ("select", "balance", "idle_state")


class Maker:
    """Makes the functions that a run asks. Runs share nothing, so what a policy remembers of one does not get into another."""

    def __init__(self, policy: PolicyLike) -> None:
        self.made: Any = None
        self.name: str
        self._new: Callable[[], Any]
        decides = any(hasattr(policy, name) for name in _METHODS)
        if isinstance(policy, type) and decides:
            self.name, self._new = policy.__name__, policy
        elif decides:
            kept = copy.deepcopy(policy)
            self.name, self._new = type(policy).__name__, lambda: copy.deepcopy(kept)
        elif callable(policy) and not isinstance(policy, type):
            self.name, self._new = getattr(policy, "__name__", "policy"), lambda: policy
        else:
            help = "give an object that has one, its class, or a function"
            raise _native.InputError(f"{policy!r} is no policy: it has no method select, balance or idle_state\nhelp: {help}")

    def __call__(self) -> dict[str, Callable[[Any], Any]]:
        """Make them, for one run."""
        self.made = self._new()
        functions = {name: getattr(self.made, name) for name in _METHODS if hasattr(self.made, name)}
        return functions or {"select": self.made}
