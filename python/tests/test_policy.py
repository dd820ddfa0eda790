# SPDX-License-Identifier: GPL-2.0-or-later
"""Policies in Python: requests and decisions, the cost of samples, and invalid results."""

from __future__ import annotations

from collections import Counter
from typing import Any, Callable, Generator, Optional

import fairlab
import pytest

Search = Generator[int, fairlab.CpuSample, Optional[int]]


class FirstIdle:
    """Select the first idle CPU of the cache, beginning with the previous CPU."""

    def __init__(self) -> None:
        self.asked = 0

    def select(self, request: fairlab.WakeRequest) -> Search:
        self.asked += 1
        for cpu in request.cache:
            sample = yield cpu
            if sample.is_idle:
                return cpu
        return None


def kernel(request: fairlab.WakeRequest) -> None:
    return None


@pytest.fixture
def busy() -> fairlab.Workload:
    """A workload that keeps most of eight CPUs busy."""
    return fairlab.Workload.of(fairlab.periodic("ui", period_ms=4, run_ms=1, instance=6), fairlab.hog(instance=3), name="busy")


def rules(run: fairlab.Run) -> Counter[str]:
    table = run.table("selections")
    return Counter(rule for rule, kind in zip(table.column("rule"), table.column("kind")) if kind == "wakeup")


def test_a_policy_that_leaves_everything_to_the_kernel_changes_nothing(busy: fairlab.Workload) -> None:
    with_policy = fairlab.run(busy, for_="200ms", policy=kernel)
    assert with_policy.digest == fairlab.run(busy, for_="200ms").digest
    assert any("<kernel>" in text for text in with_policy.summary["assumptions"]), "the summary names the policy"


def test_a_policy_decides_and_its_samples_take_time(busy: fairlab.Workload) -> None:
    run = fairlab.run(busy, for_="200ms", policy=FirstIdle())
    assert rules(run)["Policy"] > 100
    samples = run.table("selections").column("nr_scanned")
    assert sum(samples) > rules(run)["Policy"], "each scan samples at least one CPU"
    kinds = run.table("selections").column("kind")
    of_wakeups = [scanned for scanned, kind in zip(samples, kinds) if str(kind).lower().startswith("wake")]
    assert run.summary["selection"]["cpus_scanned"] == sum(of_wakeups), "the summary counts wake-ups, without forks"
    quiet = fairlab.Workload.of(fairlab.periodic("ui", period_ms=4, run_ms=1, instance=2), name="quiet")
    cheap, expensive = (fairlab.run(quiet, for_="200ms", policy=FirstIdle(), price={"ScanCpu": ns}) for ns in (0, 20_000))
    waits = [run.summary["families"][0]["wake_to_run"]["mean_ns"] for run in (cheap, expensive)]
    assert waits[0] < waits[1], "samples take time"


def test_each_run_has_a_copy_of_its_own(busy: fairlab.Workload) -> None:
    policy = FirstIdle()
    runs = [fairlab.run(busy, for_="100ms", policy=policy) for _ in range(2)]
    assert runs[0].digest == runs[1].digest and policy.asked == 0
    assert runs[0].policy.asked == runs[1].policy.asked > 0
    assert rules(runs[0])["Policy"] > 0, "the repeated run, which produces the tables, also has a copy"
    assert fairlab.run(busy, for_="100ms", policy=FirstIdle).digest == runs[0].digest, "a class is instantiated for each run"


def test_a_policy_sees_the_wake_up(busy: fairlab.Workload) -> None:
    seen: list[fairlab.WakeRequest] = []
    samples: list[fairlab.CpuSample] = []

    def watch(request: fairlab.WakeRequest) -> Search:
        seen.append(request)
        samples.append((yield request.prev))
        return request.prev

    fairlab.run(busy, machine="hikey960", for_="50ms", policy=watch)
    assert {request.task for request in seen} >= {"ui-0", "ui-5"}
    first = next(request for request in seen if request.task == "ui-0")
    assert any(request.in_interrupt for request in seen) and first.allowed == list(range(8)) and first.may_use(7) and not first.may_use(8)
    assert first.prev in first.cache and 0 < max(request.util for request in seen) <= 1024
    assert {sample.capacity_orig for sample in samples} <= {462, 1024} and all(sample.cpu < 8 for sample in samples)
    assert "ui-0" in repr(first) and "CpuSample" in repr(samples[0]) and fairlab.CpuLook is fairlab.CpuSample


def fails_with(policy: Any, work: fairlab.Workload) -> fairlab.RunError:
    with pytest.raises(fairlab.RunError) as error:
        fairlab.run(work, for_="100ms", policy=policy)
    assert "task ui" in str(error.value)
    return error.value


def test_a_wrong_answer_ends_the_run_and_is_named(busy: fairlab.Workload) -> None:
    def raises(request: fairlab.WakeRequest) -> int:
        raise KeyError("lost")

    def raises_later(request: fairlab.WakeRequest) -> Search:
        yield 0
        raise KeyError("lost")

    def samples_missing_cpu(request: fairlab.WakeRequest) -> Search:
        yield 99
        return 0

    def samples_forever(request: fairlab.WakeRequest) -> Search:
        while True:
            yield 0

    def yields_text(request: fairlab.WakeRequest) -> Any:
        yield "all"

    cases: list[tuple[Callable[..., Any], str]] = [
        (lambda request: 8, "chose CPU 8, but there are only CPUs 0 to 7"),
        (lambda request: -1, "returned -1, which is not a CPU"),
        (lambda request: "big", "returned 'big', which is not a CPU"),
        (lambda request: 1.5, "returned 1.5, which is not a CPU"),
        (yields_text, "yielded 'all', which is not a CPU"),
        (samples_missing_cpu, "chose CPU 99"),
        (samples_forever, "sampled CPUs 128 times without making a choice"),
    ]
    for policy, expected in cases:
        assert expected in str(fails_with(policy, busy))
    for broken in (raises, raises_later):
        error = fails_with(broken, busy)
        assert "raised KeyError: 'lost'" in str(error) and isinstance(error.__cause__, KeyError)


def test_a_cpu_that_a_task_may_not_use_is_a_wrong_answer() -> None:
    pinned = fairlab.Workload.of(fairlab.periodic("ui", period_ms=4, run_ms=1, cpus=[0, 1]))
    assert "chose CPU 5, which the task is not allowed to use" in str(fails_with(lambda request: 5, pinned))


class LeaveAlone:
    """Pull nothing."""

    def balance(self, request: fairlab.BalanceRequest) -> bool:
        return False


class PullOne:
    """Pull one task from the first CPU of the kernel's busiest group that has two."""

    def __init__(self) -> None:
        self.seen: list[fairlab.BalanceRequest] = []

    def balance(self, request: fairlab.BalanceRequest) -> Generator[int, fairlab.CpuSample, Any]:
        self.seen.append(request)
        for cpu in request.busiest:
            sample = yield cpu
            if sample.nr_running > 1:
                return cpu, 1
        return False


class Shallow:
    """Always select the shallowest idle state."""

    def __init__(self) -> None:
        self.seen: list[fairlab.IdleRequest] = []

    def idle_state(self, request: fairlab.IdleRequest) -> int:
        self.seen.append(request)
        return 0


class Everything(FirstIdle, PullOne, Shallow):
    """Decide wake-ups, balancing and idle states."""

    def __init__(self) -> None:
        FirstIdle.__init__(self)
        self.seen = []


def moved(run: fairlab.Run) -> int:
    return sum(run.table("passes").column("nr_moved"))


def test_balancing_by_a_policy() -> None:
    crowded = fairlab.Workload.of(fairlab.periodic("ui", period_ms=4, run_ms=1, instance=6), fairlab.hog(instance=12), name="crowded")
    kernel_run = fairlab.run(crowded, machine="hikey960", for_="200ms")
    assert moved(kernel_run) > 0, "the kernel pulls here"
    alone = fairlab.run(crowded, machine="hikey960", for_="200ms", policy=LeaveAlone)
    assert moved(alone) == 0 and "Policy" in alone.table("passes").column("balanced")
    one = fairlab.run(crowded, machine="hikey960", for_="200ms", policy=PullOne())
    assert set(one.table("passes").column("nr_moved")) <= {0, 1}
    assert rules(one) and "Policy" not in rules(one), "the kernel's rules decide wake-ups"
    first = one.policy.seen[0]
    assert first.idle in ("idle", "busy", "newly idle") and first.cpu in first.cpus and first.level >= 0
    assert {request.reason for request in one.policy.seen} & {"Task", "Load", "Misfit", "NoCandidate", "EnergyAware"}
    assert f"CPU {first.cpu}" in repr(first)


def test_idle_states_by_a_policy(busy: fairlab.Workload) -> None:
    run = fairlab.run(busy, machine="hikey960", for_="200ms", policy=Shallow)
    assert {state for state in run.table("idle").column("state") if state is not None and 0 <= state < 100} == {0}
    seen = run.policy.seen[0]
    assert len(seen.exit_latency_ns) == len(seen.target_residency_ns) > 1
    assert seen.latency_limit_ns is None and 0 <= seen.kernel < len(seen.exit_latency_ns) and f"CPU {seen.cpu}" in repr(seen)
    assert any(request.to_timer_ns is not None for request in run.policy.seen)


def test_one_policy_may_decide_on_everything(busy: fairlab.Workload) -> None:
    run = fairlab.run(busy, machine="hikey960", for_="200ms", policy=Everything)
    assert run.digest == fairlab.run(busy, machine="hikey960", for_="200ms", policy=Everything()).digest
    assert rules(run)["Policy"] > 0 and moved(run) >= 0 and run.policy.asked > 0


def test_wrong_answers_of_the_others_end_the_run(busy: fairlab.Workload) -> None:
    def policy(name: str, function: Callable[..., Any]) -> Any:
        return type("Wrong", (), {name: lambda self, request: function(request)})()

    def raises(request: Any) -> Any:
        raise KeyError("lost")

    cases: list[tuple[str, Callable[..., Any], str]] = [
        ("balance", lambda request: True, "returned True, which is neither False nor a CPU with a number of tasks"),
        ("balance", lambda request: (99, 1), "chose CPU 99"),
        ("balance", lambda request: (request.cpu, 1), "which takes no part in the pass"),
        ("balance", raises, "raised KeyError: 'lost'"),
        ("idle_state", lambda request: 9, "chose idle state 9, but there are only states 0 to"),
        ("idle_state", lambda request: "deep", "returned 'deep', which is not a state"),
        ("idle_state", raises, "raised KeyError: 'lost'"),
    ]
    for name, function, expected in cases:
        with pytest.raises(fairlab.RunError) as error:
            fairlab.run(busy, machine="hikey960", for_="100ms", policy=policy(name, function))
        assert expected in str(error.value)
        assert ("what CPU" if name == "balance" else "how deep CPU") in str(error.value)


def test_what_is_no_policy_is_refused(busy: fairlab.Workload) -> None:
    with pytest.raises(fairlab.InputError, match="no method select, balance or idle_state"):
        fairlab.run(busy, policy=7)  # type: ignore[arg-type]
    with pytest.raises(fairlab.InputError, match="could not be created"):
        fairlab.run(busy, policy=type("Wants", (), {"__init__": lambda self, a: None, "select": kernel}))
    with pytest.raises(fairlab.InputError, match="run directory"):
        fairlab.run(busy, policy=kernel, output="nowhere")
    with pytest.raises(fairlab.InputError, match="policies are objects"):
        fairlab.command("compare", "x.json", "--arm", "policy=mine")
    with pytest.raises(fairlab.InputError, match="a store cannot distinguish"):
        fairlab.sweep({"workload": busy, "base": {"policy": kernel}})


def test_a_policy_is_an_arm_of_a_comparison(busy: fairlab.Workload) -> None:
    arms = {"kernel": {}, "mine": {"policy": FirstIdle()}, "none": {"policy": kernel}}
    found = fairlab.compare(busy, arms=arms, runs=3, for_="100ms", metric=["migrations", "CPUs scanned"])
    assert found.arms == ["kernel", "mine", "none"]
    assert found.verdict("CPUs scanned", "none") == "identical" != found.verdict("CPUs scanned", "mine")


def test_a_policy_is_a_parameter_of_an_optimiser(busy: fairlab.Workload) -> None:
    values = [
        fairlab.evaluate(params, workload=busy, for_="100ms", metrics=["migrations"])
        for params in ({}, {"policy": kernel}, {"policy": lambda request: request.prev})
    ]
    assert values[0] == values[1] != values[2]


def test_a_benchmark_has_policies_too() -> None:
    digests = [fairlab.bench("hackbench -g 1 -f 2 -l 20", policy=policy)["digest"] for policy in (None, kernel, FirstIdle())]
    assert digests[0] == digests[1] != digests[2]
