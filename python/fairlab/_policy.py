# SPDX-License-Identifier: GPL-2.0-or-later
"""Policies that replace decisions of the kernel: CPU selection at wake-ups, tasks to pull in a balance pass, idle states."""

from __future__ import annotations

import copy
from collections.abc import Generator
from typing import Any, Callable, Literal, Optional, Protocol, Union

from fairlab import _native
from fairlab._native import BalanceRequest, CpuSample, IdleRequest, WakeRequest

#: Result of a policy for a wake-up: a CPU; ``None``, which leaves the selection to the kernel's rules; or a scan, which yields the CPUs to
#: sample.
WakeAnswer = Union[int, None, Generator[int, CpuSample, Optional[int]]]

#: Tasks to pull in a balance pass: a CPU and a number of tasks, or ``False`` for none.
Pull = Union[tuple[int, int], Literal[False], None]

#: Result of a policy for a balance pass: the tasks to pull; ``None``, which leaves the decision to the kernel's rules; or a scan.
BalanceAnswer = Union[Pull, Generator[int, CpuSample, Pull]]


class WakePolicy(Protocol):
    """Policy for CPU selection when a fair task wakes up that may use more than one CPU. The kernel's rules place new tasks and exec.

    Examples
    --------
    A method that returns a CPU decides at once. A method that yields CPUs samples them: each ``yield`` has the cost of one CPU in the kernel's
    own scan, takes that time, and returns the state of the CPU afterwards.

    >>> class FirstIdle:
    ...     def select(self, request):
    ...         for cpu in request.cache:
    ...             sample = yield cpu
    ...             if sample.is_idle:
    ...                 return cpu
    >>> work = fairlab.Workload.of(fairlab.periodic("ui", period_ms=5, run_ms=1), fairlab.hog(instance=8))
    >>> run = fairlab.run(work, policy=FirstIdle(), for_="100ms")
    >>> "Policy" in run.table("selections").column("rule")
    True
    """

    def select(self, request: WakeRequest) -> WakeAnswer:
        """Select a CPU for a task, at once or by a scan."""


class BalancePolicy(Protocol):
    """Policy for a balance pass that has its statistics and whose CPU should balance.

    Examples
    --------
    Only idle CPUs pull, one task at a time:

    >>> class OneByOne:
    ...     def balance(self, request):
    ...         if request.idle == "busy":
    ...             return False
    ...         for cpu in request.busiest:
    ...             sample = yield cpu
    ...             if sample.nr_running > 1:
    ...                 return cpu, 1
    ...         return False
    >>> work = fairlab.Workload.of(fairlab.periodic("ui", period_ms=5, run_ms=3, instance=12))
    >>> run = fairlab.run(work, policy=OneByOne(), for_="100ms")
    >>> "Policy" in run.table("passes").column("balanced")
    True
    """

    def balance(self, request: BalanceRequest) -> BalanceAnswer:
        """Return the tasks to pull, a CPU with a number of tasks or ``False``, at once or after a scan."""


class IdlePolicy(Protocol):
    """Policy for the idle state when a CPU becomes idle, or stays idle after an interrupt without work.

    Examples
    --------
    The deepest state whose target residency fits before the next timer:

    >>> class UntilTimer:
    ...     def idle_state(self, request):
    ...         sleep_ns = request.to_timer_ns or 10**9
    ...         fit = [state for state, ns in enumerate(request.target_residency_ns) if ns <= sleep_ns]
    ...         return fit[-1] if request.latency_limit_ns is None else None
    >>> work = fairlab.Workload.of(fairlab.periodic("ui", period_ms=5, run_ms=1))
    >>> run = fairlab.run(work, machine="hikey960", policy=UntilTimer(), for_="100ms")
    """

    def idle_state(self, request: IdleRequest) -> Optional[int]:
        """Return the index of one of the CPU's idle states; ``None`` leaves the selection to the kernel's governor."""


#: A policy: an object with one or more of these methods, which is copied for each run; a class, which is instantiated for each run; or a
#: function, which decides wake-ups.
PolicyLike = Union[
    WakePolicy,
    BalancePolicy,
    IdlePolicy,
    "type[WakePolicy]",
    "type[BalancePolicy]",
    "type[IdlePolicy]",
    Callable[[WakeRequest], WakeAnswer],
]

#: Names of the methods of policies.
_METHODS = ("select", "balance", "idle_state")


class PolicyFactory:
    """Creates the functions of a policy for each run, so that runs share no state."""

    def __init__(self, policy: PolicyLike) -> None:
        self.instance: Any = None
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
            help = "give an object with one of these methods, its class, or a function"
            raise _native.input_error(f"{policy!r} is not a policy: it has no method select, balance or idle_state", help)

    def __call__(self) -> dict[str, Callable[[Any], Any]]:
        """Create the functions for one run."""
        self.instance = self._new()
        functions = {name: getattr(self.instance, name) for name in _METHODS if hasattr(self.instance, name)}
        return functions or {"select": self.instance}
