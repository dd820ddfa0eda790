// SPDX-License-Identifier: GPL-2.0-or-later
// Starts the page: runs of its own, recorded runs, or recorded runs that the page can repeat with a change.
import { readModule } from "./client.mjs";
import { button, byId, fillSelect } from "./dom.mjs";
import { explainOptions, findingsVerdict } from "./findings.mjs";
import { duration, moment, plural } from "./format.mjs";
import { Lessons } from "./lessons.mjs";
import { LiveArms } from "./live.mjs";
import { showOverview } from "./metrics.mjs";
import { recordedArm } from "./recorded.mjs";
import { encodeState } from "./share.mjs";
import { View } from "./view.mjs";
import { WorkloadText } from "./workload-text.mjs";

/** @param {string} id */
const dataOf = (id) => JSON.parse(byId(id).textContent);

/** Elements that a page without a simulator does not have. */
const OF_SIMULATOR = ["share", "save-trace", "save-spec", "what", "edit", "change", "repetition", "terminal"];

/** Shows two of the recorded runs, or the only one. @param {View} view @param {import("./arm.mjs").Arm[]} runs */
function showRecorded(view, runs) {
  const chosen = ["run-a", "run-b"].slice(0, runs.length).map((id) => runs[Number(byId(id).value)]);
  const [first] = chosen, titles = chosen.length > 1 ? chosen.map(({ name }, index) => `${"AB"[index]} ${name}`) : [first.name];
  view.clear();
  view.showProgress(chosen, titles);
  view.timeline.show(0, view.timeline.length);
  view.showEnded();
  const at = view.firstDifference, { nr } = { nr: first.rows.length };
  byId("subject").textContent = `${first.workload.split("/").at(-1)} on ${first.machine}, ${plural(nr, "CPU")}, ${first.scheduler}, ${duration(first.length)}`;
  const findings = chosen.map(({ ended }, index) => `${chosen.length > 1 ? `${titles[index]}: ` : ""}${findingsVerdict(ended?.findings ?? null, chosen.length > 1)} `);
  if (chosen.length > 1 && first.ended?.digest === chosen[1].ended?.digest) findings.unshift("Both runs are the same, event by event. ");
  if (at === undefined) return view.verdict(findings);
  view.timeline.difference = at;
  view.verdict(["The runs part at ", button("show-difference", moment(at), () => view.timeline.showMoment(at, 2e7)), ". ", ...findings]);
}

/** Prepares the choice of recorded runs. @param {View} view @param {import("./arm.mjs").Arm[]} runs */
function listenToRuns(view, runs) {
  byId("runs").hidden = runs.length < 2;
  byId("overview").hidden = runs.length < 3;
  ["run-a", "run-b"].forEach((id, index) => {
    fillSelect(byId(id), runs.map(({ name }, number) => [name, `${number}`]));
    byId(id).value = `${Math.min(index, runs.length - 1)}`;
    byId(id).onchange = () => showRecorded(view, runs);
  });
  if (runs.length > 2) showOverview("overview-table", runs);
  // The findings of a recorded run are its verdict.
  byId("timeline-part").before(byId("findings"));
}

/**
 * Starts the page.
 * @param {import("./repeat.mjs").StartWorker} startWorker Starts a worker with a compiled module.
 * @param {import("./workload-text.mjs").ImportEditor} importEditor
 */
export async function start(startWorker, importEditor) {
  const { spec, runs } = dataOf("input"), recorded = runs.map(recordedArm), packed = byId("wasm").textContent.trim();
  /** @type {LiveArms | null} */
  let live = null;
  const view = new View(dataOf("constants"), async (arm, question, at) => {
    if (live && view.arms === live.arms) return live.explain(arm, question, at);
    return [{ kind: "none", text: [`The page has no explanation of this moment. On a terminal: fairlab explain DIR ${explainOptions(question, at)}`] }];
  }, (error) => live?.showFailure(error));
  if (recorded.length > 0) {
    listenToRuns(view, recorded);
    showRecorded(view, recorded);
  }
  for (const id of OF_SIMULATOR) byId(id).hidden = packed === "";
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
