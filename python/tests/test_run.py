# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs: options, results and errors."""

from __future__ import annotations

import inspect
import json
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import fairlab
import pytest
from fairlab import phase

ROOT = Path(__file__).resolve().parents[2]
SCENARIO = "cpus 2\ntask a loop run 1ms sleep 1ms\nend 50ms\n"


def test_every_option_of_the_command_reaches_the_run(work: fairlab.Workload, tmp_path: Path) -> None:
    run = fairlab.run(
        work,
        machine="hikey960",
        kernel="5.10",
        features=["NO_TTWU_QUEUE", "NO_WA_BIAS"],
        set={"migration_cost_ns": 1000},
        governor="performance",
        cpu_dma_latency="20us",
        prices="machine",
        fact={"line_ns.llc": "greatest"},
        engine="built-in",
        plain=False,
        for_=0.1,
        seed=7,
        vary=True,
        perturb=3,
        keep_duplicate_keys=True,
        output=tmp_path / "run",
        trace_jsonl="trace.jsonl",
        event_log="events.jsonl",
        export={"ftrace": "run.txt"},
        events="sched",
    )
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    settings, result = manifest["spec"]["settings"], manifest["result"]
    assert result["digest"] == run.digest
    assert (settings["kernel"], settings["seed"], settings["starts"], settings["perturb"]) == ("5.10", 7, "jittered", 3)
    assert (settings["governor"], settings["cpu_dma_latency"], settings["duration"]) == ("performance", "20us", "100ms")
    assert settings["facts"] == {"line_ns.llc": "greatest"}
    assert result["features"]["TTWU_QUEUE"] is False and result["features"]["WA_BIAS"] is False
    assert result["tunables"]["migration_cost_ns"] == 1000
    assert result["duration_ns"] == 100_000_000
    assert manifest["command"][:2] == ["fairlab", "run"]
    assert {"trace.jsonl", "events.jsonl", "run.txt"} <= {file.name for file in (tmp_path / "run").iterdir()}


def options_of(command: str) -> set[str]:
    """Options in the help text of a command."""
    with pytest.raises(fairlab.InputError) as error:
        fairlab.command(command, "--help")
    return {name.replace("-", "_") for name in re.findall(r"^ +(?:-\w, )?--([a-z-]+)", str(error.value), re.MULTILINE)}


def test_options_of_the_command_and_keywords_are_the_same() -> None:
    # Options for a terminal, and options that have a different form in Python.
    beside = {"help", "json", "color", "per_cpu", "measure", "tables", "findings", "watch", "trace_work"}
    keywords = set(inspect.signature(fairlab.run).parameters) | set(fairlab.RunOptions.__annotations__)
    assert options_of("run") - beside == {name.rstrip("_") for name in keywords} - {"workload", "settings", "price", "policy"}
    assert set(fairlab.Variant.__annotations__) - {"policy"} <= options_of("compare")


def test_a_switch_that_is_false_is_off(work: fairlab.Workload) -> None:
    machine = fairlab.Machine("busy", 'base = "hikey960"\nname = "busy"\nbackground = true\n')
    default, on, off = (fairlab.run(work, for_="2s", machine=machine, background=value).digest for value in (None, True, False))
    assert default == on != off


def test_a_keyword_that_there_is_not_is_an_error_of_the_program(work: fairlab.Workload) -> None:
    calls: list[Any] = [fairlab.run, fairlab.compare]
    for call in calls:
        with pytest.raises(TypeError, match=r"\(\) got an unexpected keyword argument 'machin'"):
            call(work, machin="hikey960", **({"arms": []} if call is fairlab.compare else {}))


def test_a_machine_may_be_taken_as_its_shape_alone(work: fairlab.Workload) -> None:
    whole, plain = (fairlab.run(work, machine="hikey960", for_="50ms", plain=plain) for plain in (False, True))
    assert "energy" in whole.summary and "energy" not in plain.summary
    assert fairlab.compare(work, arms={"a": {}, "b": "NO_TTWU_QUEUE"}, for_="50ms", plain=True).arms == ["a", "b"]


def test_a_kernel_engine_is_a_matter_of_the_command(work: fairlab.Workload) -> None:
    with pytest.raises(fairlab.InputError, match="does not support compiled-kernel engines"):
        fairlab.run(work, engine="kernel:mine")
    with pytest.raises(fairlab.InputError, match="an engine is built-in or kernel:NAME"):
        fairlab.run(work, engine="mine")


def test_numbers_of_other_libraries_are_numbers(work: fairlab.Workload) -> None:
    class Number:
        """Integer or truth value as other libraries have it."""

        def __init__(self, value: int) -> None:
            self.value = value

        def __index__(self) -> int:
            return self.value

        def __bool__(self) -> bool:
            return self.value != 0

    def digest(number: Any) -> str:
        settings = {"seed": number(3), "perturb": number(2), "idle_states": number(1), "set": {"migration_cost_ns": number(0)}}
        return fairlab.run(work, for_="50ms", features={"SIS_UTIL": number(0)}, **settings).digest

    assert digest(Number) == digest(int)
    with pytest.raises(TypeError):
        fairlab.run(work, set={"migration_cost_ns": 0.5})  # type: ignore[dict-item]


def test_a_run_is_the_run_of_the_command(work: fairlab.Workload, tmp_path: Path) -> None:
    work.write(tmp_path / "work.json")
    result = fairlab.command("run", tmp_path / "work.json", "--for", "100ms", "--json")
    assert result["digest"] == fairlab.run(work, for_="100ms").digest
    assert result["digest"] == fairlab.run(work.to_rtapp(), for_="100ms").digest
    assert result["digest"] == fairlab.run(tmp_path / "work.json", for_="100ms").digest
    assert result["digest"] != fairlab.run(work, for_="100ms", machine="hikey").digest


def test_prices_of_other_machines_and_of_single_operations_change_a_run(work: fairlab.Workload) -> None:
    plain = fairlab.run(work, for_="100ms").digest
    assert fairlab.run(work, for_="100ms", price={"ContextSwitch": 1e5}).digest != plain
    zero = fairlab.run(work, for_="100ms", prices="zero").digest
    assert zero != plain and fairlab.run(work, for_="100ms", costs="zero").digest == zero
    assert fairlab.run(work, for_="100ms", prices="xeon-2s-224").digest != plain
    assert fairlab.run(work, for_="100ms", fact={"instructions_per_us": 200}).digest != plain
    assert fairlab.run(work, for_="100ms", prices=fairlab.Machine("hikey960")).digest == plain


def test_errors_have_the_message_of_the_command(tmp_path: Path) -> None:
    cases = [
        (lambda: fairlab.run(tmp_path / "none.json"), "none.json: cannot be read"),
        (lambda: fairlab.run({"tasks": {"a": {"run": "x"}}}), "<workload>:"),
        (lambda: fairlab.run(fairlab.Workload.of(fairlab.hog()), features="NO_SIS_UTL"), "did you mean NO_SIS_UTIL?"),
        (
            lambda: fairlab.run(fairlab.Workload.of(fairlab.hog()), features={"SIS_UTIL": "no"}),
            "feature SIS_UTIL: 'no' is neither True nor False",
        ),
        (lambda: fairlab.run(fairlab.Workload.of(fairlab.hog()), machine="hikey961"), "hikey961"),
        (lambda: fairlab.run(fairlab.Workload.of(fairlab.hog()), price={"ScanCup": 1}), "did you mean ScanCpu?"),
        (lambda: fairlab.bench("hackbnch -g 1"), "unrecognized subcommand"),
        (lambda: fairlab.Machine("mine", "hz = 'x'").info, "<mine>"),
        (lambda: fairlab.Workload.from_text(SCENARIO).to_rtapp(), "is not plain JSON"),
    ]
    for work, expected in cases:
        with pytest.raises(fairlab.InputError) as error:
            work()
        assert expected in str(error.value), str(error.value)
        assert not str(error.value).startswith("error:")


def test_a_scenario_is_run_on_its_own_machine_or_another() -> None:
    scenario = fairlab.Workload.from_text(SCENARIO, "two")
    assert scenario.kind == "scenario"
    assert fairlab.run(scenario).summary["run"]["machine"] == "scenario"
    assert fairlab.run(scenario, machine="hikey960").summary["run"]["machine"] == "hikey960"


def test_phases_are_what_rt_app_has_for_them() -> None:
    twice = phase.run(us=100) + phase.sleep(us=200) + phase.run(us=300)
    assert list(twice.to_rtapp()) == ["run", "sleep", "run2"]
    looped = (phase.run(us=100) * 3 + phase.sleep(ms=1)) + phase.event("barrier", "all")
    assert looped.to_rtapp() == {"phases": {"p1": {"loop": 3, "run": 100}, "p2": {"sleep": 1000, "barrier": "all"}}}
    with pytest.raises(ValueError, match="0 times"):
        phase.run(us=1) * 0
    task = fairlab.Task("t", twice, loop=10, cpus=[0, 1], more={"util_max": 200})
    more = fairlab.Task("t", twice, loop=25, cpus=[0, 1])
    few, many = (fairlab.run(fairlab.Workload.of(one, duration=1)).summary["families"][0] for one in (task, more))
    assert many["wakeups"] - few["wakeups"] == 15


def test_two_workloads_become_one(work: fairlab.Workload) -> None:
    both = work + fairlab.Workload.of(fairlab.hog("other"))
    assert set(both.to_rtapp()["tasks"]) == {"ui", "hog", "other"}
    with pytest.raises(fairlab.InputError, match="both workloads have a task"):
        work + work


def test_a_machine_of_ones_own_is_a_text() -> None:
    fast = fairlab.Machine("hikey960").edited("hz = 250", "hz = 1000")
    ticks = [fairlab.run(fairlab.Workload.of(fairlab.hog(instance=8)), machine=machine, for_="200ms") for machine in ("hikey960", fast)]
    slow, many = (run.summary["totals"]["ticks"] for run in ticks)
    assert many > 3 * slow


def test_a_run_shows_itself(work: fairlab.Workload) -> None:
    run = fairlab.run(work, for_="50ms")
    assert str(run).startswith("<small>: rt-app on hikey960")
    assert repr(run) == f"<Run <small> on hikey960, kernel 6.12, 0.05 s, digest {run.digest}>"
    html = run._repr_html_()
    assert html.startswith("<iframe srcdoc=") and "&lt;script" in html
    assert run.page().lstrip().lower().startswith("<!doctype html")


def test_ctrl_c_ends_a_run_soon_and_the_next_one_is_whole() -> None:
    program = (
        "import fairlab, os, signal, threading, time\n"
        "work = fairlab.Workload.of(fairlab.hog(instance=64), fairlab.periodic('p', period_ms=1, run_ms=0.1, instance=64))\n"
        "def press():\n"
        "    time.sleep(1); press.at = time.monotonic(); os.kill(os.getpid(), signal.SIGINT)\n"
        "threading.Thread(target=press).start()\n"
        "for what in (lambda: fairlab.run(work, for_=100000), lambda: fairlab.bench('schbench -r 100000')):\n"
        "    try:\n"
        "        what()\n"
        "    except KeyboardInterrupt:\n"
        "        print('ended', time.monotonic() - press.at < 5)\n"
        "        threading.Thread(target=press).start()\n"
        "time.sleep(0)\n"
        "signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
        "print(fairlab.run(work, for_='10ms').summary['duration_ns'])\n"
    )
    process = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert process.stdout.split() == ["ended", "True", "ended", "True", "10000000"], process.stdout + process.stderr


def test_other_threads_go_on_during_a_run() -> None:
    work = fairlab.Workload.of(fairlab.hog(instance=16))
    worker = threading.Thread(target=lambda: fairlab.run(work, for_=3))
    turns = 0
    worker.start()
    while worker.is_alive():
        turns += 1
        time.sleep(0.001)
    # A thread that waited for the interpreter's lock would only run before and after the simulation.
    assert turns > 3
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler, "signal handlers are not changed"


def test_scenarios_of_the_repository_run_from_python() -> None:
    limited = fairlab.run(ROOT / "scenarios" / "scan-limit.scn")
    free = fairlab.run(ROOT / "scenarios" / "scan-limit.scn", features={"SIS_UTIL": False})
    scanned = [run.summary["selection"]["cpus_scanned"] for run in (limited, free)]
    assert scanned[0] * 5 < scanned[1]


def test_errors_have_their_parts() -> None:
    with pytest.raises(fairlab.InputError) as error:
        fairlab.run(fairlab.Workload.from_text("cpus 1\ntask x rum 1ms\n", "two"))
    assert "two" in str(error.value.file)
    assert (error.value.line, error.value.column) == (2, 8)
    assert error.value.help is not None and error.value.help in str(error.value)
    with pytest.raises(fairlab.InputError) as error:
        fairlab.run(fairlab.Workload.of(fairlab.hog()), features={"SIS_UTIL": "no"})
    assert (error.value.help, error.value.file) == (None, None)
