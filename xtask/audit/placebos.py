# SPDX-License-Identifier: GPL-2.0-or-later
"""Counts how often commands report a difference where there is none.

    python3 xtask/audit/placebos.py PROGRAM [--comparisons 500] [--bisections 60]

A placebo is a cost of kernel code that is 1 ns higher: it shifts events, so runs diverge, and changes no metric on
average. The script prints the commands whose verdict is a difference, and the number of comparisons whose runs were
identical, which test nothing.
"""

import argparse
import json
import os
import subprocess
from concurrent.futures import ThreadPoolExecutor

# Workload, simulated time. Benchmarks that run to their end have no time.
WORK = [
    (["scenarios/hello.json"], "300ms"),
    (["scenarios/hello.json", "--governor", "performance"], "300ms"),
    (["scenarios/energy-aware.json"], "300ms"),
    (["--bench", "schbench --release 2020 -m 2 -t 2 -r 1 -s 10000 -c 10000"], "500ms"),
    (["--bench", "hackbench -g 2 -f 4 -l 60"], None),
    (["--bench", "netperf -t TCP_RR -l 1 --instances 6"], "60ms"),
    (["--bench", "perf sched messaging -g 1 -l 20"], None),
    (["--bench", "tbench -t 1 4"], "100ms"),
    (["--bench", "cyclictest -t 4 --hogs 4"], "300ms"),
    (["--bench", "oltp --threads 6 --time 1"], "200ms"),
]
RUNS = 16
# The machine is the default one, hikey960, whose ticks cost 796 ns.
SWITCHES = {"price.Tick": 796, "price.Wakeup": 115, "price.ContextSwitch": 635, "price.Enqueue": 218}


def fairlab(program, words):
    done = subprocess.run([program, *words], capture_output=True, text=True)
    if done.returncode not in (0, 3):
        raise SystemExit(f"{' '.join(words)}: status {done.returncode}\n{done.stderr}")
    return done


def common(case):
    work, time = WORK[case % len(WORK)]
    seed = 1 + 1000 * (case // len(WORK))
    return [*work, *(["--for", time] if time else []), "--runs", str(RUNS), "--seed", str(seed)]


def comparison(program, case):
    """Returns whether a comparison of placebo arms reports a difference, and whether its runs differ at all."""
    arms = ["--arm", "a: price.Tick=796", "--arm", "b: price.Tick=797"]
    words = ["compare", *common(case), *arms, "--fail-on", "difference", "--json"]
    done = fairlab(program, words)
    return done.returncode == 3, not all(json.loads(done.stdout)["comparison"]["identical"]), words


def bisection(program, case):
    """Returns whether a bisection between placebo ends names a switch."""
    ends = [",".join(f"{name}={value + plus}" for name, value in SWITCHES.items()) for plus in (0, 1)]
    words = ["bisect", *common(case), "--from", ends[0], "--to", ends[1]]
    done = fairlab(program, words)
    return done.stdout, words


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--comparisons", type=int, default=500)
    parser.add_argument("--bisections", type=int, default=60)
    options = parser.parse_args()
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(lambda case: comparison(options.program, case), range(options.comparisons)))
        differences = [words for is_different, _, words in results if is_different]
        alike = sum(not differs for _, differs, _ in results)
        print(f"{len(results)} placebo comparisons: {len(differences)} report a difference; {alike} had identical runs")
        for words in differences:
            print("  fairlab", " ".join(words))
        texts = list(pool.map(lambda case: bisection(options.program, case), range(options.bisections)))
    named = [(text, words) for text, words in texts if "no difference" not in text]
    print(f"{len(texts)} placebo bisections: {len(named)} name a switch")
    for text, words in named:
        print("  fairlab", " ".join(words), "\n", text)


if __name__ == "__main__":
    main()
