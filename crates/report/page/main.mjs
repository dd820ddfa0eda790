// SPDX-License-Identifier: GPL-2.0-or-later
// Starts the page: runs of its own, recorded runs, or recorded runs that the page can repeat with a change.
import { readModule } from "./client.mjs";
import { showComparison } from "./comparison.mjs";
import { DIFFERENCE_VIEW, showDifference } from "./difference.mjs";
import { button, byId, element, fillSelect } from "./dom.mjs";
import { explainOptions, findingsVerdict } from "./findings.mjs";
import { duration, moment, plural, shellWord } from "./format.mjs";
import { Lessons } from "./lessons.mjs";
import { LiveArms } from "./live.mjs";
import { showOverview } from "./metrics.mjs";
import { recordedArm } from "./recorded.mjs";
import { encodeState } from "./share.mjs";
import { View } from "./view.mjs";
import { WorkloadText } from "./workload-text.mjs";

/** @typedef {import("./arm.mjs").Arm} Arm */

/** @param {string} id */
const dataOf = (id) => JSON.parse(byId(id).textContent);

/** Elements that a page without a simulator does not have. */
const OF_SIMULATOR = ["share", "save-trace", "save-spec", "what", "edit", "change", "repetition", "terminal"];

/**
 * Comparison of repetitions, whose first ones are the recorded runs.
 * @typedef {import("./comparison.mjs").ComparedArms & { differences: (import("./client.mjs").Difference | null)[] }} RecordedComparison
 */

/** Shows two of the recorded runs, or the only one. @param {View} view @param {Arm[]} runs @param {RecordedComparison | null} compared */
function showRecorded(view, runs, compared) {
  const numbers = ["run-a", "run-b"].slice(0, runs.length).map((id) => Number(byId(id).value)), chosen = numbers.map((number) => runs[number]);
  const [first] = chosen, titles = chosen.length > 1 ? chosen.map(({ name }, index) => `${"AB"[index]} ${name}`) : [first.name];
  view.clear();
  view.showProgress(chosen, titles);
  view.timeline.show(0, view.timeline.length);
  view.showEnded();
  const subject = `${first.workload.split("/").at(-1)} on ${first.machine}, ${plural(first.rows.length, "CPU")}, ${first.scheduler}, ${duration(first.length)}`;
  byId("subject").textContent = compared ? comparisonSubject(compared) : subject;
  view.verdict([...compared ? verdictsOf(compared) : findingsOf(chosen, titles), ...partingOf(view, chosen, numbers, compared)]);
}

/** What the findings of runs say. @param {Arm[]} chosen @param {string[]} titles */
function findingsOf(chosen, titles) {
  const findings = chosen.map(({ ended }, index) => `${chosen.length > 1 ? `${titles[index]}: ` : ""}${findingsVerdict(ended?.findings ?? null, chosen.length > 1)} `);
  if (areEqual(chosen)) findings.unshift("Both runs are the same, event by event. ");
  return findings;
}

/** Whether two runs are the same. @param {Arm[]} chosen */
const areEqual = ([first, second]) => second !== undefined && first.ended?.digest === second.ended?.digest;

/** Where two runs begin to differ: known with its reasons, or as the timeline shows it. @param {View} view @param {Arm[]} chosen @param {number[]} numbers @param {RecordedComparison | null} compared */
function partingOf(view, chosen, numbers, compared) {
  const known = compared && numbers[0] === 0 ? compared.differences[numbers[1]] : null;
  if (known) {
    const [, ...difference] = showDifference(view, known);
    return ["In the first repetition, the runs part at ", ...difference];
  }
  if (compared && areEqual(chosen)) return ["The first repetitions are the same, event by event."];
  const at = view.firstDifference;
  if (at === undefined) return [];
  view.timeline.difference = at;
  view.timeline.draw();
  return ["The runs part at ", button("show-difference", moment(at), () => view.timeline.showMoment(at, DIFFERENCE_VIEW)), "."];
}

/** A line for the verdict on each arm. @param {RecordedComparison} compared */
const verdictsOf = ({ verdicts }) => verdicts.map(({ text }) => element("b", { className: "line", textContent: `${text[0].toUpperCase()}${text.slice(1)}. ` }));

/** @param {RecordedComparison} compared */
const comparisonSubject = ({ title, comparison: { repetitions } }) =>
  `${title}; ${plural(repetitions, "run")} of each arm${repetitions > 1 ? ", of which the first is drawn" : ""}`;

/** The first run that is not the same as run 0, or the second one. @param {Arm[]} runs */
function firstDifferent(runs) {
  const index = runs.findIndex((run) => !areEqual([runs[0], run]));
  return index > 0 ? index : Math.min(1, runs.length - 1);
}

/** Prepares the choice of recorded runs. @param {View} view @param {Arm[]} runs @param {RecordedComparison | null} compared */
function listenToRuns(view, runs, compared) {
  byId("runs").hidden = runs.length < 2;
  byId("overview").hidden = runs.length < 3 || compared !== null;
  ["run-a", "run-b"].forEach((id, index) => {
    fillSelect(byId(id), runs.map(({ name }, number) => [name, `${number}`]));
    byId(id).value = `${index === 0 ? 0 : firstDifferent(runs)}`;
    byId(id).onchange = () => showRecorded(view, runs, compared);
  });
  if (runs.length > 2 && !compared) showOverview("overview-table", runs);
  // The findings of a recorded run are its verdict.
  if (!compared) byId("timeline-part").before(byId("findings"));
}

/** Shows a comparison without its runs. @param {View} view @param {RecordedComparison} compared */
function showComparisonAlone(view, compared) {
  for (const id of ["timeline-part", "results", "save-png", "save-svg"]) byId(id).hidden = true;
  byId("subject").textContent = comparisonSubject(compared);
  view.verdict(verdictsOf(compared));
}

/**
 * Starts the page.
 * @param {import("./repeat.mjs").StartWorker} startWorker Starts a worker with a compiled module.
 * @param {import("./workload-text.mjs").ImportEditor} importEditor
 */
export async function start(startWorker, importEditor) {
  const { spec, runs, compared = null } = dataOf("input"), recorded = runs.map(recordedArm), packed = byId("wasm").textContent.trim();
  /** @type {LiveArms | null} */
  let live = null;
  const view = new View(dataOf("constants"), async (arm, question, at) => {
    if (live && view.arms === live.arms) return live.explain(arm, question, at);
    const record = compared ? "record the arm with `fairlab run ... -o DIR`, then " : "";
    return [{ kind: "none", text: [`The page has no explanation of this moment. On a terminal: ${record}fairlab explain DIR ${explainOptions(question, at)}`] }];
  }, (error) => live?.showFailure(error));
  for (const id of OF_SIMULATOR) byId(id).hidden = packed === "";
  if (compared) {
    showComparison(compared);
    byId("terminal").hidden = false;
    byId("command").textContent = compared.command.map(shellWord).join(" ");
  }
  if (recorded.length > 0) {
    listenToRuns(view, recorded, compared);
    showRecorded(view, recorded, compared);
  } else if (compared) {
    showComparisonAlone(view, compared);
  }
  if (packed !== "") {
    const wasm = await readModule(packed);
    live = new LiveArms(view, new WorkloadText(importEditor, dataOf("constants").scenario), spec, dataOf("examples"), wasm, startWorker);
  }
  const { timeline } = view;
  /** For tests, and for readers with a console. */
  Object.assign(globalThis, { fairlab: {
    view, timeline, encodeState, times: live?.times, saved: () => view.saved, arms: () => view.arms,
    specOf: (/** @type {number} */ arm) => live?.specOf(arm), clients: () => live?.clients, memory: () => live?.clients.map(({ memory }) => memory),
  } });
  await live?.start(recorded.length > 0);
  if (live) await new Lessons(view, live, dataOf("constants").fairlab).load();
}
