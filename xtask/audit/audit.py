# SPDX-License-Identifier: GPL-2.0-or-later
"""Audit of reported numbers: recomputes every metric of the catalogue from event logs, and compares.

Shares no code with fairlab. Results are lines of JSON in a file; a run that is in the file is not repeated, so an
interrupted audit continues. Prints runs, compared numbers, differences and ingredients, and fails at a difference.
"""

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import bench
import cases
import chains
import claims
import compare
import comparisons
import evidence
import exports
import first_difference
import headlines
import judgements
import log as event_log
import metrics
import page
import registry
import responses
import tables
import witnesses

# Random runs of a big audit, which must have each kind of claim, and the fewest of each ingredient and rule in it.
BIG, FEWEST_ANSWERS, FEWEST_FINDINGS = 2000, 200, 20

# Number of random chains of tasks for each one of which a path is explained.
PER_PATH = 4
# Number of random runs for each pair of runs whose first difference is recomputed.
PER_PAIR = 4

PROGRAM, ROOT, CATALOGUE = None, None, None


def start(program, root):
    global PROGRAM, ROOT, CATALOGUE
    PROGRAM, ROOT = program, Path(root)
    CATALOGUE = compare.read_catalogue(ROOT / "docs/book/src/reference/metric-catalogue.md")


def fairlab(arguments, directory, cut_after=None):
    """Runs fairlab and returns its output as JSON, and the reason if there is none."""
    process = subprocess.Popen(
        [PROGRAM, *arguments], cwd=directory, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    if cut_after is not None:
        time.sleep(cut_after)
        process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=600)
    try:
        return json.loads(out), err
    except ValueError:
        return None, err


def audit_run(name, arguments, directory, cut_after=None, with_exports=True, with_text=True, with_claims=True):
    """Runs a workload with an event log, recomputes its metrics and compares them. Claims are of repeated runs, and so are
    pages, which `with_text` adds to them.
    """
    workload = arguments
    files = ("events.jsonl", "tables", "trace.txt", "run", "page.html")
    log_file, table_directory, trace, run_directory, page_file = (Path(directory) / file for file in files)
    arguments = ["run", *arguments, "--json", "--findings", "--event-log", str(log_file)]
    installed, formats = witnesses.tools() if with_exports else ([], [])
    if with_exports:
        arguments += ["--export", f"csv={table_directory}", "--export", f"ftrace={trace}", *formats]
    reported, error = fairlab(arguments, directory, cut_after)
    if reported is None:
        return {"name": name, "error": error.strip().splitlines()[:4]}
    log = event_log.Log(log_file)
    comparison = compare.Comparison(CATALOGUE)
    recomputed = metrics.of_run(log)
    comparison.unclear = log.unclear_findings
    if "settling" in reported:
        recomputed["settling"] = metrics.of_settling(log)
    checked = headlines.audit(comparison, reported)
    del reported["headlines"]
    comparison.walk("", "", reported, recomputed)
    built_in = log.machine["built_in"]
    if built_in:
        checked += evidence.audit(comparison, log, reported["findings"])
    nr_answers = 0
    if with_claims:
        state_file = Path(directory) / "state.jsonl"
        fairlab(["run", *workload, "-o", str(run_directory), "--trace-jsonl", str(state_file)], directory)
        explain = lambda options: fairlab(["explain", str(run_directory), *options, "--json"], directory)[0]
        if built_in:
            counts, nr_answers = claims.audit(comparison, log, claims.read_state(state_file), name, explain)
            checked += counts
    if with_text:
        text = subprocess.run(
            [PROGRAM, "run", *workload, "--tables", "all", "--measure", "all"],
            cwd=directory, capture_output=True, text=True, timeout=600,
        )
        tables.compare(comparison, text.stdout, recomputed)
        fairlab(["report", str(run_directory), "-o", str(page_file)], directory)
        run, rules = page.read(page_file)
        page.compare(comparison, run, rules, log)
        comparison.walk("", "", run["summary"], {**recomputed, "findings": {}, "settling": {}})
    if with_exports:
        exports.compare(comparison, log, exports.read_csv(table_directory), "csv")
        exports.compare(comparison, log, exports.read_ftrace(trace), "ftrace")
        witnesses.compare(comparison, log, Path(directory), installed)
    found = [what for what, took_effect in cases.ingredients(log).items() if took_effect]
    if reported.get("cut_short_of_ns"):
        found.append("cut runs")
    if built_in and reported["run"].get("kernel") not in ("6.1", "6.12"):
        found.append("kernels before 6.1")
    row = result(name, comparison, found, len(log.events))
    rules = Counter(finding["rule"] for finding in reported["findings"]) if built_in else Counter()
    return {**row, "witnesses": installed, "claims": checked, "answers": nr_answers, "rules": rules}


def audit_random(name, case, directory):
    """Writes the files of a random case and audits its run."""
    for file, text in case.files.items():
        (Path(directory) / file).write_text(text, encoding="utf-8")
    arguments, cut_after = [case.workload(), *case.options], 0.25 if case.is_cut else None
    # A run that is cut has no second one with the same end.
    part = case.seed % 4
    with_text, with_claims = part == 1 and not case.is_cut, part in (1, 3) and not case.is_cut
    return audit_run(name, arguments, directory, cut_after, with_exports=part == 0, with_text=with_text, with_claims=with_claims)


def audit_chain(name, chain, directory):
    """Writes the files of a random chain of tasks, and recomputes its responses."""
    for file, text in chain.files.items():
        (Path(directory) / file).write_text(text, encoding="utf-8")
    log_file = Path(directory) / "events.jsonl"
    reported, error = fairlab(["run", chain.workload(), *chain.options, "--json", "--event-log", str(log_file)], directory)
    if reported is None:
        return {"name": name, "error": error.strip().splitlines()[:4]}
    log = event_log.Log(log_file)
    comparison = compare.Comparison(CATALOGUE)
    checked = headlines.audit(comparison, reported)
    definitions = responses.definitions(log)
    recomputed = {definition.spec["name"]: definition.row() for definition in definitions}
    comparison.walk("responses", "", reported.get("responses", []), recomputed)
    counts = Counter()
    if chain.seed % PER_PATH == 0:
        run_directory = str(Path(directory) / "run")
        fairlab(["run", chain.workload(), *chain.options, "-o", run_directory], directory)
        for definition in (definition for definition in definitions if definition.all):
            number = 1 + chain.seed // PER_PATH % len(definition.all)
            question = ["--response", definition.spec["name"], "--number", str(number)]
            answer, error = fairlab(["explain", run_directory, *question, "--json"], directory)
            if answer is None:
                return {"name": name, "error": error.strip().splitlines()[:4]}
            responses.check_path(comparison, definition, answer["claims"][0])
            counts["response-path"] += 1
    for row in recomputed.values():
        counts["responses"] += row["count"]
        counts.update({f"{kind} responses": row[kind] for kind in ("open", "lost", "dropped")})
    return {**result(name, comparison, [], len(log.events)), "claims": checked + counts}


def audit_bench(name, command, options, directory):
    """Runs a benchmark with an event log, recomputes its results and compares them."""
    log_file = Path(directory) / "events.jsonl"
    arguments = ["bench", *command.split(), *options.split(), "--json", "--event-log", str(log_file)]
    reported, error = fairlab(arguments, directory)
    if reported is None:
        return {"name": name, "error": error.strip().splitlines()[:4]}
    log = event_log.Log(log_file)
    comparison = compare.Comparison(CATALOGUE)
    recomputed = bench.of_run(log, command, reported["result"])
    comparison.walk("bench", "", reported["result"], recomputed["bench"])
    return result(name, comparison, [], len(log.events))


def logged_run(arguments, directory):
    """Runs a workload and returns its event log; None if the run is rejected."""
    log_file = Path(directory) / "events.jsonl"
    reported, _ = fairlab(["run", *arguments, "--event-log", str(log_file), "--json"], directory)
    return None if reported is None else event_log.Log(log_file)


def audit_comparison(name, file, length, options, arm, directory):
    """Compares two arms, repeats each of their runs with an event log, and compares the values."""
    common = [str(ROOT / file), "--for", length]
    arguments = ["compare", *common, "--arm", arm, "--runs", str(comparisons.REPETITIONS), "--json"]
    reported, error = fairlab(arguments, directory)
    if reported is None:
        return {"name": name, "error": error.strip().splitlines()[:4]}
    by_arm, nr_events, first_logs = [], 0, []
    for own_options in ([], options):
        runs = []
        for seed in range(1, comparisons.REPETITIONS + 1):
            log = logged_run([*common, *own_options, "--seed", str(seed), "--vary"], directory)
            nr_events += len(log.events)
            runs.append(metrics.of_run(log))
            if seed == 1:
                first_logs.append(log)
        by_arm.append(runs)
    comparison = compare.Comparison(CATALOGUE)
    names = comparisons.read_names(ROOT / "docs/book/src/reference/metric-catalogue.md")
    comparisons.check(comparison, reported, by_arm, names)
    first_difference.check(comparison, reported, first_logs)
    return result(name, comparison, [], nr_events)


def audit_pair(name, case, directory):
    """Compares a random case with an arm, and the reported first difference with that of the event logs of both."""
    for file, text in case.files.items():
        (Path(directory) / file).write_text(text, encoding="utf-8")
    options = cases.without(cases.without(case.options, "--perturb"), "--kernel")
    arm, own_options = first_difference.ARMS[case.seed % len(first_difference.ARMS)]
    reported, error = fairlab(["compare", case.workload(), *options, "--arm", arm, "--json"], directory)
    comparison = compare.Comparison(CATALOGUE)
    if reported is None and '"status":2' in error:
        # The kernel of an arm does not have what the case uses.
        return result(name, comparison, ["pairs that are rejected"], 0)
    if reported is None:
        return {"name": name, "error": error.strip().splitlines()[:4]}
    logs = []
    for added in ([], own_options):
        log = logged_run([case.workload(), *options, *added], directory)
        if log is None:
            # `compare` removes what a kernel does not have, `run` rejects it.
            return result(name, comparison, ["pairs that are rejected"], 0)
        logs.append(log)
    first_difference.check(comparison, reported, logs)
    parted = ["pairs that part"] if reported["first_differences"][1] else ["pairs that do not part"]
    return result(name, comparison, parted, sum(len(log.events) for log in logs))


def audit_judgements(name, arguments):
    """Compares two arms and recomputes what is concluded from the values."""
    comparison = compare.Comparison(CATALOGUE)
    checked = judgements.audit(comparison, arguments, lambda words, cut_after: fairlab(words, ROOT, cut_after))
    return {**result(name, comparison, [], 0), "claims": checked}


def result(name, comparison, ingredients, nr_events):
    return {
        "name": name,
        "events": nr_events,
        "compared": comparison.nr_compared,
        "differences": comparison.differences,
        "paths": sorted(comparison.paths),
        "ingredients": sorted(set(ingredients)),
    }


def audit_engine(name, scenario, directory):
    """Checks that explanations and findings of an engine's run are rejected: its scheduler records no reasons."""
    engines, _ = fairlab(["kernel", "list", "--json"], directory)
    comparison = compare.Comparison(CATALOGUE)
    row = result(name, comparison, [], 0)
    of = lambda engine: ["run", scenario, "--for", "20ms", "--engine", f"kernel:{engine['name']}", "--json"]
    # An engine of another version of fairlab does not run.
    engine = next((engine for engine in engines or [] if fairlab([*of(engine), "-o", "run"], directory)[0]), None)
    if engine is None:
        return {**row, "engine": "not checked, because no engine is installed that runs"}
    for arguments in (["explain", "run", "--cpu", "0", "--at", "5ms", "--json"], [*of(engine), "--findings"]):
        answer, error = fairlab(arguments, directory)
        if answer is not None or "engine" not in error:
            comparison.add_claim("engine", " ".join(arguments), answer or error, "an error that names engines")
    engine_result = f"explanations and findings of kernel:{engine['name']} are rejected"
    return {**row, "compared": 2, "engine": engine_result}


def audit_case(job):
    """Audits one job in a directory of its own. If the program records the mutants that it reaches, the result has them."""
    directory = tempfile.mkdtemp(prefix="audit-")
    reached = Path(directory) / "reached"
    records_reached = "FAIRLAB_REACHED" in os.environ
    if records_reached:
        os.environ["FAIRLAB_REACHED"] = str(reached)
    try:
        row = audit_job(job, directory)
        if records_reached:
            row["reached"] = [int(line) for line in reached.read_text().split()] if reached.exists() else []
        return row
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def audit_job(job, directory):
    kind, name, arguments = job
    try:
        if kind == "random":
            row = audit_random(name, cases.Case(arguments), directory)
            if "not enough deadline bandwidth" in " ".join(row.get("error", [])):
                # Admission rejects some draws, and a rejected task ends the run: the case without deadline tasks.
                row = audit_random(name, cases.Case(arguments, has_deadlines=False), directory)
            return row
        if kind == "chain":
            return audit_chain(name, chains.Chain(arguments), directory)
        if kind == "pair":
            return audit_pair(name, cases.Case(arguments, has_deadlines=False), directory)
        if kind == "bench":
            return audit_bench(name, *arguments, directory)
        if kind == "engine":
            return audit_engine(name, arguments, directory)
        if kind == "compare":
            return audit_comparison(name, *arguments, directory)
        if kind == "judgements":
            return audit_judgements(name, arguments)
        return audit_run(name, arguments, directory)
    except Exception as error:  # A defect of the audit must not end it.
        place = traceback.extract_tb(error.__traceback__)[-1]
        return {"name": name, "error": [f"{type(error).__name__}: {error}", f"{place.name}, line {place.lineno}"]}


def jobs(arguments):
    """Returns the jobs: kind, name, arguments."""
    if arguments.fixed:
        for path in sorted((ROOT / "scenarios").rglob("*")):
            if path.suffix in (".scn", ".json"):
                yield "file", f"scenario {path.relative_to(ROOT / 'scenarios')}", [str(path), "--for", "200ms"]
        # Stoppers, interrupts, frequencies and idle states before and after the end of a warm-up.
        hello = str(ROOT / "scenarios/hello.json")
        yield "file", "hello.json after a warm-up", [hello, "--warmup", "100ms", "--for", "100ms"]
        yield "file", "hello.json when it has settled", [hello, "--warmup", "settled", "--for", "100ms"]
        switches = ROOT / "scenarios/switches"
        warnings = ["--features", "LATENCY_WARN", "--set", "latency_warn_once=0"]
        run = [str(switches / "latency-warn.json"), "--machine", str(switches / "slow-wakeups.toml"), "--prices", "Wakeup=1000000", *warnings]
        yield "file", "warnings of the scheduler", run
        # Specs are benchmarks of studies, for shorter times.
        for path in sorted((ROOT / "xtask/audit/runs").iterdir()):
            if path.suffix in (".scn", ".json"):
                yield "file", f"run {path.name}", [str(path), *options_in(path)]
        yield "engine", "explanations of engines", str(ROOT / "scenarios/hello.json")
        for command, options in bench.RUNS:
            yield "bench", f"bench {command} {options}", (command, options)
        for run in comparisons.RUNS:
            yield "compare", f"compare {run[0]} {run[3]}", run
        for run in [*judgements.RUNS, judgements.CUT_RUN]:
            yield "judgements", f"conclusions of compare {' '.join(run)}", run
    first = arguments.first
    for seed in range(first, first + arguments.chains):
        yield "chain", f"chain {seed}", seed
    for seed in range(first, first + arguments.random):
        yield "random", f"random {seed}", seed
        if seed % PER_PAIR == 0:
            yield "pair", f"pair {seed}", seed


def options_in(path):
    """Returns the options in the line `# options: ...` of a scenario."""
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            if line.startswith("# options:"):
                return [word.replace("MACHINES", str(path.parent)) for word in line.split()[2:]]
    return []


def read_results(path):
    done = {}
    if path and os.path.exists(path):
        with open(path, encoding="utf-8") as lines:
            for line in lines:
                row = json.loads(line)
                done[row["name"]] = row
    return done


def kinds_of(schema):
    """Returns the kinds of claims or evidence that a format has."""
    def found(part):
        if isinstance(part, dict):
            kind = part.get("properties", {}).get("kind", {})
            if isinstance(kind, dict) and "const" in kind:
                yield kind["const"]
        for inner in part.values() if isinstance(part, dict) else part if isinstance(part, list) else []:
            yield from found(inner)

    return sorted(set(found(fairlab(["schema", schema], ROOT)[0])))


def print_claims(audited, random_runs):
    """Prints what was checked of explanations and findings, and returns what a big audit has too rarely."""
    sums = lambda key: sum((Counter(row.get(key, {})) for row in audited), Counter())
    by_kind, by_rule, by_ingredient = sums("claims"), sums("rules"), Counter()
    for row in audited:
        for what in row["ingredients"]:
            by_ingredient[what] += row.get("answers", 0)
    text = lambda counts: ", ".join(f"{what} {count}" for what, count in counts.most_common()) or "none"
    print(f"{by_kind.total()} claims of explanations, findings and comparisons checked:", text(by_kind))
    print(f"{sum(row.get('answers', 0) for row in audited)} explanations checked, by ingredient of their runs:", text(by_ingredient))
    for row in audited:
        if "engine" in row:
            print(f"engines: {row['engine']}")
    print(f"{by_rule.total()} findings checked, by rule:", text(by_rule))
    if random_runs < BIG:
        return []
    never = [kind for kind in kinds_of("explain") if not by_kind[kind]]
    faults = {rule.kind for rule in registry.RULES if rule.is_fault}
    never += [kind for kind in kinds_of("findings") if not by_kind["finding " + kind] and kind not in faults]
    few_rules = sorted({rule.name for rule in registry.RULES if by_rule[rule.name] < FEWEST_FINDINGS})
    few = sorted(what for what in cases.EXPLAINED if by_ingredient[what] < FEWEST_ANSWERS)
    for what, names in [("never checked", never), (f"fewer than {FEWEST_FINDINGS} findings", few_rules),
                        (f"fewer than {FEWEST_ANSWERS} explanations", few)]:
        if names:
            print(f"{what}:", ", ".join(names))
    return never + few_rules + few


def print_report(rows, random_runs):
    """Prints the result, and returns whether everything agrees."""
    audited = [row for row in rows if "error" not in row]
    errors = [row for row in rows if "error" in row]
    differences = [(row["name"], difference) for row in audited for difference in row["differences"]]
    compared = sum(row["compared"] for row in audited)
    paths = {path for row in audited for path in row["paths"]}
    events = sum(row["events"] for row in audited)
    print(f"{len(audited)} runs, {events} events, {compared} numbers of {len(paths)} metrics compared, "
          f"{len(differences)} differences, {len(errors)} errors")
    witnesses = Counter(tool for row in audited for tool in row.get("witnesses", []))
    print("exports read by other tools:", ", ".join(f"{tool} {nr} runs" for tool, nr in witnesses.items()) or "none")
    unseen = judgements.KINDS | {f"headline {kind}" for kind in headlines.KINDS}
    unseen -= {kind for row in rows for kind in row.get("claims", {})}
    unseen = unseen if any("conclusions of" in row["name"] for row in rows) else set()
    if unseen:
        print("headlines and conclusions of comparisons that no run had:", ", ".join(sorted(unseen)))
    rare = print_claims(audited, random_runs)
    missing = sorted(
        path for path in CATALOGUE[0]
        if path not in paths and not any(other.startswith(path + ".") for other in paths)
        and path not in compare.NOT_IN_LOG
    )
    if missing:
        print("metrics that no run had:", ", ".join(missing))
    for path, reason in compare.NOT_IN_LOG.items():
        print(f"not recomputed: {path}: {reason}")
    by_metric = Counter(difference["metric"] for _, difference in differences)
    for metric, count in by_metric.most_common():
        name, first = next(pair for pair in differences if pair[1]["metric"] == metric)
        print(f"difference: {metric}: {count} times, first in {name} at {first['at']}: "
              f"reported {first['reported']}, recomputed {first['recomputed']}")
    for row in errors[:10]:
        print(f"error: {row['name']}: {' / '.join(row['error'])}")
    if random_runs:
        counts = Counter(what for row in audited for what in row["ingredients"])
        print("ingredients:", ", ".join(f"{what} {count}" for what, count in counts.most_common()))
        if random_runs >= BIG:
            few = [what for what, count in counts.items() if count < cases.QUOTA]
            if few:
                print(f"in fewer than {cases.QUOTA} runs:", ", ".join(few))
            rare += few
    return not differences and not errors and not rare and not unseen


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True)
    parser.add_argument("--root", required=True)
    parser.add_argument("--results")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--fixed", action="store_true")
    parser.add_argument("--random", type=int, default=0)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--chains", type=int, default=0)
    parser.add_argument("--print-case", type=int)
    parser.add_argument("--print-chain", type=int)
    parser.add_argument("--fail-fast", action="store_true")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="names of jobs, in their order")
    arguments = parser.parse_args()
    start(arguments.program, arguments.root)
    if arguments.print_case is not None:
        case = cases.Case(arguments.print_case)
        for file, text in case.files.items():
            print(f"# {file}\n{text}")
        print("fairlab run", case.workload(), *case.options, "(cut)" if case.is_cut else "")
        return
    if arguments.print_chain is not None:
        chain = chains.Chain(arguments.print_chain)
        for file, text in chain.files.items():
            print(f"# {file}\n{text}")
        print("fairlab run", chain.workload(), *chain.options)
        return
    done = read_results(arguments.results)
    todo = list(jobs(arguments))
    if arguments.only:
        todo = sorted((job for job in todo if job[1] in set(arguments.only)), key=lambda job: arguments.only.index(job[1]))
    rows = [done[name] for _, name, _ in todo if name in done]
    todo = [job for job in todo if job[1] not in done]
    out = open(arguments.results, "a", encoding="utf-8") if arguments.results else None
    with ProcessPoolExecutor(arguments.jobs, initializer=start, initargs=(arguments.program, arguments.root)) as pool:
        for nr, row in enumerate(pool.map(audit_case, todo), 1):
            rows.append(row)
            if out:
                out.write(json.dumps(row) + "\n")
                out.flush()
            if arguments.fail_fast and ("error" in row or row["differences"]):
                pool.shutdown(wait=False, cancel_futures=True)
                sys.exit(1)
            if nr % 100 == 0:
                print(f"{nr} of {len(todo)} runs", file=sys.stderr)
    if not print_report(rows, arguments.random):
        sys.exit(1)


if __name__ == "__main__":
    main()
