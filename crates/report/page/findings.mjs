// SPDX-License-Identifier: GPL-2.0-or-later
// Lists of findings and long waits, and what they are in words.
import { button, element, textElement } from "./dom.mjs";
import { duration, moment, plural } from "./format.mjs";

/**
 * @typedef {import("./arm.mjs").Arm} Arm
 * @typedef {import("./client.mjs").Finding} Finding
 * @typedef {import("./client.mjs").Wait} Wait
 */

/** Severities, the worst first. */
const SEVERITIES = ["high", "medium", "low"];

/** The result of a run in a sentence or two. @param {Finding[] | null} findings @param {boolean} isShort Whether the worst finding is left out. */
export function findingsVerdict(findings, isShort) {
  if (!findings) return "Findings need the built-in scheduler.";
  if (findings.length === 0) return "No findings.";
  const [worst] = findings, at = worst.at_ns > 0 ? `, at ${moment(worst.at_ns)}` : "";
  if (findings.length === 1 && !isShort) return `1 finding, ${worst.severity}: ${worst.headline}${at}.`;
  const parts = SEVERITIES.map((name) => ({ name, nr: findings.filter(({ severity }) => severity === name).length }));
  const counts = `${plural(findings.length, "finding")}: ${parts.filter(({ nr }) => nr > 0).map(({ name, nr }) => `${nr} ${name}`).join(", ")}.`;
  return isShort ? counts : `${counts} Worst: ${worst.headline}${at}.`;
}

/** The length of a wait; a lower bound if it has not ended. @param {Wait} wait */
const lasted = ({ length_ns, is_open }) => `${is_open ? "\u2265 " : ""}${duration(length_ns)}`;

/** A wait in a sentence. @param {Arm} arm @param {Wait} wait */
export function waitSentence({ threads }, wait) {
  const { thread, cpu, length_ns, since_ns, is_open, awaited } = wait, until = moment(since_ns + length_ns);
  const end = is_open ? `; it has not ended at ${until}, on CPU ${cpu}` : `, until ${until} on CPU ${cpu}`;
  return `${threads[thread].name} waited ${lasted(wait)} for ${awaited} from ${moment(since_ns)} on${end}.`;
}

/** Options of `fairlab explain` for a question. @param {import("./client.mjs").Question} question @param {number} at */
export function explainOptions(question, at) {
  const [[kind, value]] = Object.entries(question);
  return `--${kind} ${value} --at ${at}ns`;
}

/**
 * A list of findings and one of long waits, each with a button that shows its moment.
 * @param {Arm} arm @param {string} letter @param {string} title
 * @param {(finding: Finding) => void} onFinding @param {(wait: Wait) => void} onWait
 */
export function findingLists(arm, letter, title, onFinding, onWait) {
  const { findings = null, details } = arm.ended ?? {}, waits = details?.waits ?? [];
  const ofFindings = (findings ?? []).map((finding, index) => {
    const item = element("li", { className: finding.severity }, textElement("b", `${finding.severity}: `), `${finding.sentence}. `);
    if (finding.at_ns > 0) item.append(button(`finding-${letter}-${index}`, moment(finding.at_ns), () => onFinding(finding)));
    return item;
  });
  const ofWaits = waits.map((wait, index) => element("li", {},
    `${lasted(wait)}: ${arm.threads[wait.thread].name} on CPU ${wait.cpu}, for ${wait.awaited} from `,
    button(`wait-${letter}-${index}`, moment(wait.since_ns), () => onWait(wait))));
  const nr = findings ? findings.length > 0 ? plural(findings.length, "finding") : "no findings" : "findings need the built-in scheduler";
  return {
    findings: element("section", {}, textElement("h2", `${title}: ${nr}`), element("ul", { className: "list" }, ...ofFindings)),
    waits: element("section", {}, textElement("h2", `${title}: longest waits`), element("ul", { className: "list" }, ...ofWaits)),
  };
}
