// SPDX-License-Identifier: GPL-2.0-or-later
// First difference of two arms, and the decisions behind it.
import { button, section } from "./dom.mjs";
import { moment } from "./format.mjs";

/** Most time that is shown around the first difference, in ns. */
export const DIFFERENCE_VIEW = 2e7;

/** Marks the first difference in the timeline, shows the decisions, and returns a sentence. @param {import("./view.mjs").View} view @param {import("./client.mjs").Difference} difference */
export function showDifference(view, { at_ns, task, runs, decisions }) {
  const { timeline } = view;
  const clauses = runs.map(({ cpu, instead }, run) =>
    `${"AB"[run]} ${cpu !== null ? `runs it on CPU ${cpu}` : instead !== null ? `runs ${instead} instead` : "does not run it"}`);
  const reasons = decisions.map((sentences, run) => section(`Arm ${"AB"[run]}: ${task}`, sentences));
  const show = button("show-difference", moment(at_ns), () => {
    timeline.showMoment(at_ns, DIFFERENCE_VIEW);
    timeline.chosen = null;
    view.showReasons(reasons);
  });
  if (!timeline.chosen) view.showReasons(reasons);
  view.chooseLag(task);
  timeline.difference = at_ns;
  timeline.draw();
  return ["The runs part at ", show, `: ${task}: ${clauses.join(", ")}.`];
}
