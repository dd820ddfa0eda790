// SPDX-License-Identifier: GPL-2.0-or-later
// The page: a workload, two arms that differ by a knob, and why they part.
import { ArmRun } from "./arm.mjs";
import { Client, Dropped, Panic, readModule } from "./client.mjs";
import { duration, moment } from "./format.mjs";
import { Knobs } from "./knobs.mjs";
import { LagChart } from "./lags.mjs";
import { decodeState, encodeState } from "./share.mjs";
import { firstEndingAfter } from "./timeline-data.mjs";
import { COLOURS, KERNEL_COLOUR, Timeline } from "./timeline.mjs";

/** Part of the run that is shown at first, in ns. */
const FIRST_VIEW = 1e8;
/** Most time that is shown around the first difference, in ns. */
const DIFFERENCE_VIEW = 2e7;
/** Colours of the lags of arm A and arm B. */
const LAG_COLOURS = [COLOURS[0], COLOURS[5]];
/** Most segments of an arm that are listed as text. */
const MAX_LISTED = 200;
/** Largest file that is opened, in bytes. */
const MAX_FILE = 64e6;
/** Time without a keystroke after which an edited text is run, in milliseconds. */
const EDIT_PAUSE = 300;
/** CPUs that are busy for a smaller part of the time in both arms have no row. */
const FOLDED_BELOW = 0.002;

/**
 * @typedef {{ given: string, text?: string }} InputFile
 * @typedef {{ machine?: InputFile | string, kernel?: string, features?: Record<string, boolean>, tunables?: Record<string, number> }} Settings
 * @typedef {{ workload: { file?: InputFile }, settings: Settings }} Spec
 */

/** @param {string} id @returns {any} */
const byId = (id) => document.getElementById(id);
/** @param {string} tag @param {string} text */
const element = (tag, text) => Object.assign(document.createElement(tag), { textContent: text });

const HINT = Object.assign(element("p", "Click a bar, or a gap: the reason appears here."), { className: "quiet" });
/** Run of arm A. @type {Spec} */
let spec = JSON.parse(byId("input").textContent);
/** Texts of the examples, by name. @type {Record<string, string>} */
const examples = JSON.parse(byId("examples").textContent);
const knobs = new Knobs(byId("knobs"), byId("find"), byId("found"), () => update());

/** @type {ArmRun[]} */
let arms = [];
let generation = 0;
/** Times of the last change in milliseconds: first bars, both arms complete, explanation; and of the start, since navigation. */
const times = { bars: 0, complete: 0, explain: 0, start: 0 };
/** File that was saved last. @type {{ name: string, content: Blob } | null} */
let saved = null;
/** Address that the page itself has written. */
let remembered = "";
/** View that the reader has not chosen: it may move to the first difference. @type {import("./timeline.mjs").View | null} */
let firstView = null;
/** @type {Client[]} */
let clients = [];
const [ARM_A, ARM_B, BACKGROUND] = [0, 1, 2];

const timeline = new Timeline(byId("timeline"), explain, () => {
  showSegments();
  drawLags();
});
const lagChart = new LagChart(byId("lag"));
/** For tests, and for readers with a console. */
Object.assign(globalThis, { fairlab: { timeline, specOf, encodeState, times, arms: () => arms, saved: () => saved, memory: () => clients.map((client) => client.memory) } });

/** @param {number} arm */
function specOf(arm) {
  if (arm === 0 || knobs.text() === "") return spec;
  const { features, tunables } = knobs.changes();
  const settings = { ...spec.settings };
  if (Object.keys(features).length > 0) settings.features = { ...settings.features, ...features };
  if (Object.keys(tunables).length > 0) settings.tunables = { ...settings.tunables, ...tunables };
  return { ...spec, settings };
}

/** Writes the state into the address. A text that is an example is not repeated. */
async function remember() {
  const { file } = spec.workload;
  const isExample = file && examples[file.given] === file.text;
  const workload = isExample ? { file: { given: file.given } } : spec.workload;
  remembered = await encodeState({ spec: { ...spec, workload }, change: knobs.changes() });
  history.replaceState(null, "", remembered);
}

/** Takes the state of the address. Returns whether it can be used; otherwise the page reports the reason. */
async function recall() {
  if (location.hash === "" || location.hash === remembered) return true;
  try {
    const state = await decodeState(location.hash), { file } = state.spec.workload;
    const text = file?.text ?? examples[file?.given ?? ""];
    if (typeof text !== "string") throw new Error(`the page has no example \`${file?.given.slice(0, 40)}\``);
    spec = { ...state.spec, workload: { file: { given: file?.given ?? "", text } } };
    knobs.take(state.change);
    return true;
  } catch (error) {
    showError({ text: `this link cannot be used: ${error instanceof Error ? error.message : error}`, help: "the page has its own example until you change something", place: null });
    return false;
  }
}

/** Runs both arms. Arm A is kept while only arm B changes. */
async function update() {
  remember();
  const began = performance.now(), mine = ++generation, isWanted = () => mine === generation;
  const keep = arms[0]?.ended && JSON.stringify(arms[0].spec) === JSON.stringify(specOf(0));
  const next = [keep ? arms[0] : new ArmRun(specOf(0)), new ArmRun(specOf(1))];
  if (clients[BACKGROUND].isBusy) clients[BACKGROUND].restart();
  timeline.chosen = timeline.difference = null;
  timeline.findings = [];
  byId("findings").replaceChildren();
  showReasons([HINT]);
  verdict(["Running\u2026"]);
  byId("numbers").setAttribute("aria-busy", "true");
  times.bars = 0;
  const onStep = () => {
    if (!isWanted()) return;
    showProgress(next);
    // After the frame that draws the bars.
    if (times.bars === 0 && arms === next) requestAnimationFrame(() => { times.bars ||= performance.now() - began; times.start ||= performance.now(); });
  };
  try {
    await Promise.all(next.map((arm, number) => arm.ended ? onStep() : arm.run(clients[number], mine, isWanted, onStep)));
  } catch (error) {
    if (isWanted()) showFailure(error);
    return;
  }
  if (!isWanted()) return;
  const failed = next.find((arm) => arm.error);
  if (failed) return showError(failed.error);
  showProgress(next);
  times.complete = performance.now() - began;
  showNumbers();
  showFindings();
  showLags();
  showVerdict();
}

/** Draws what the runs have so far. @param {ArmRun[]} next */
function showProgress(next) {
  if (!next.every((arm) => arm.opened)) return;
  if (arms !== next) {
    const isOtherRun = arms[0]?.length !== next[0].length;
    arms = timeline.arms = next;
    if (isOtherRun) {
      timeline.show(0, Math.min(FIRST_VIEW, timeline.length));
      firstView = timeline.view;
    }
    showDefaults();
    showSubject();
  }
  timeline.titles = ["A", `B ${knobs.text()}`];
  timeline.families = familiesOf(next);
  timeline.cpus = busyCpus(next);
  byId("folded").textContent = foldedText(next[0].rows.length - timeline.cpus.length);
  showLegend();
  timeline.draw();
}

/** Gives the state of arm A to the knobs. */
function showDefaults() {
  const { features, tunables, kernel } = /** @type {import("./client.mjs").Opened} */ (arms[0].opened);
  if (knobs.catalogue) knobs.setDefaults({ features, tunables }, kernel);
}

/** Shows what is run, and the command with the same arms. */
function showSubject() {
  const { workload, machine, kernel, options } = /** @type {import("./client.mjs").Opened} */ (arms[0].opened);
  byId("subject").textContent = `${workload} on ${machine}, kernel ${kernel}, ${duration(arms[0].length)}`;
  const change = knobs.text();
  const words = change ? ["fairlab", "compare", workload, ...options, "--arm", change] : ["fairlab", "run", workload, ...options];
  byId("command").textContent = words.map(quoted).join(" ");
}

/** A word of a shell's command line. @param {string} word */
function quoted(word) {
  return /^[\w./:=,+-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

/** @param {number} nr */
function foldedText(nr) {
  return nr === 0 ? "" : `${nr} ${nr === 1 ? "CPU is" : "CPUs are"} idle in both arms and not shown.`;
}

/** @param {ArmRun[]} runs */
function familiesOf(runs) {
  const names = runs.flatMap((run) => run.threads.map((thread) => thread.is_kernel ? null : thread.family));
  return [...new Set(names.filter((name) => name !== null))];
}

/** CPUs that are busy in one of the arms. @param {ArmRun[]} runs */
function busyCpus(runs) {
  const isBusy = (/** @type {number} */ cpu) => runs.some((run) => {
    const row = run.rows[cpu];
    let busy = row?.running ? run.at - row.running.since : 0;
    for (let index = 0; row && index < row.length && busy <= FOLDED_BELOW * run.at; index++) busy += row.end[index] - row.start[index];
    return busy > FOLDED_BELOW * run.at;
  });
  return [...runs[0].rows.keys()].filter(isBusy);
}

function showLegend() {
  const colour = (/** @type {number} */ index) => COLOURS[index % COLOURS.length];
  const entries = [...timeline.families.map((name, index) => [name, colour(index)]), ["kernel", KERNEL_COLOUR]];
  byId("legend").replaceChildren(...entries.map(([name, colour]) => {
    const item = element("li", name), swatch = document.createElement("i");
    swatch.style.background = colour;
    item.prepend(swatch);
    return item;
  }));
}

/** @param {(string | Node)[]} content */
function verdict(content, isError = false) {
  byId("verdict").classList.toggle("error", isError);
  // The timeline is that of an earlier run.
  byId("timeline").classList.toggle("stale", isError);
  byId("verdict").replaceChildren(...content);
}

async function showVerdict() {
  const mine = generation, [a, b] = arms;
  if (knobs.text() === "") return verdict(["Both arms are the same run. Turn a knob, or type the name of one."]);
  if (a.ended?.digest === b.ended?.digest) {
    return verdict([element("b", "Not one event changes"), ` with ${knobs.text()} in this workload.`, ...demoButtons()]);
  }
  verdict(["The runs differ. Searching the first difference\u2026"]);
  try {
    const { answer } = await clients[BACKGROUND].ask({ difference: { run: mine, specs: arms.map((arm) => arm.spec) } });
    if (mine === generation) showDifference(answer);
  } catch (error) {
    if (mine === generation) showFailure(error);
  }
}

/** Buttons for the scenarios in which the change makes a difference. */
function demoButtons() {
  return knobs.demos().flatMap(({ name, scenario, effect }) => {
    const button = Object.assign(document.createElement("button"), { type: "button", id: `demo-${name}`, textContent: scenario });
    button.onclick = () => chooseWorkload(`scenarios/${scenario}`);
    return [` ${name} matters in `, button, ` (${effect}).`];
  });
}

/** @param {import("./client.mjs").Answer} answer */
function showDifference({ difference, error }) {
  if (error) return showError(error);
  if (!difference) return verdict(["The runs differ, but every CPU runs the same tasks of the workload at all times."]);
  const clauses = difference.runs.map(({ cpu, instead }, run) =>
    `${"AB"[run]} ${cpu !== null ? `runs it on CPU ${cpu}` : instead !== null ? `runs ${instead} instead` : "does not run it"}`);
  const show = Object.assign(document.createElement("button"), { type: "button", id: "show-difference", textContent: moment(difference.at_ns) });
  const reasons = difference.decisions.map((sentences, run) => section(`Arm ${"AB"[run]}: ${difference.task}`, sentences));
  const showMoment = (/** @type {number} */ span) => timeline.show(difference.at_ns - span / 2, difference.at_ns + span / 2);
  show.onclick = () => {
    showMoment(Math.min(timeline.view.to - timeline.view.from, DIFFERENCE_VIEW));
    timeline.chosen = null;
    showReasons(reasons);
  };
  const { from, to } = timeline.view, isInView = difference.at_ns >= from && difference.at_ns <= to;
  if (!isInView && timeline.view === firstView) {
    showMoment(to - from);
    firstView = timeline.view;
  }
  verdict(["The runs part at ", show, `: ${difference.task}: ${clauses.join(", ")}.`]);
  if (!timeline.chosen) showReasons(reasons);
  if ([...byId("lag-task").options].some((option) => option.value === difference.task)) chooseLag(difference.task);
  timeline.difference = difference.at_ns;
  timeline.draw();
}

/** @param {Node[]} content */
function showReasons(content) {
  byId("why").replaceChildren(...content);
}

/** A heading with sentences. @param {string} title @param {string[]} sentences */
function section(title, sentences) {
  const whole = document.createElement("div"), list = document.createElement("ul");
  list.append(...sentences.map((sentence) => {
    const item = element("li", sentence.trim());
    if (sentence.startsWith(" ")) item.className = "detail";
    return item;
  }));
  whole.append(element("h2", title), list);
  return whole;
}

/** @param {import("./client.mjs").Message | null} error */
function showError(error) {
  const { text = "", help, place } = error ?? {};
  const at = place ? `${[place.file, place.line, place.column].filter((part) => part !== null).join(":")}: ` : "";
  const lines = [`${at}${text}`, place?.source_line && `  ${place.source_line}`, help && `help: ${help}`];
  verdict([lines.filter(Boolean).join("\n")], true);
}

/** @param {unknown} error */
function showFailure(error) {
  if (error instanceof Dropped) return;
  const text = error instanceof Panic ? `fairlab has a bug: ${error.message}` : String(error);
  verdict([`${text}\nA fresh instance runs from the next change on.`], true);
}

function showNumbers() {
  const rows = (arms[0].ended?.summary.families ?? []).map((family) => {
    const other = arms[1].ended?.summary.families.find(({ name }) => name === family.name);
    const of = (/** @type {(family: import("./client.mjs").Family) => number | undefined} */ value) =>
      [family, other].map((one) => element("td", one && value(one) !== undefined ? duration(value(one) ?? 0) : "\u2013"));
    const row = document.createElement("tr");
    row.append(element("td", family.name), ...of((one) => one.wake_to_run?.p99_ns), ...of((one) => one.run_ns));
    return row;
  });
  byId("numbers").tBodies[0].replaceChildren(...rows);
  byId("numbers").removeAttribute("aria-busy");
}

/** Fills the list of tasks with lags. The chosen task stays. */
function showLags() {
  const names = LagChart.tasks(arms), select = byId("lag-task"), chosen = names.includes(select.value) ? select.value : names[0];
  byId("lags").hidden = names.length === 0;
  select.replaceChildren(...names.map((name) => new Option(name, name)));
  select.value = chosen ?? "";
  chooseLag(select.value);
}

/** @param {string} name */
function chooseLag(name) {
  byId("lag-task").value = name;
  lagChart.choose(arms, name);
  drawLags();
}

function drawLags() {
  if (!byId("lags").hidden) lagChart.draw(timeline.view, timeline.geometry().gutter, LAG_COLOURS);
}

/** Lists the segments of the chosen CPU that are in view, for readers who do not see the timeline. */
function showSegments() {
  if (!byId("as-table").open) return;
  const cpu = timeline.chosen?.cpu ?? timeline.cpus[0], { from, to } = timeline.view;
  const rows = arms.flatMap((arm, number) => {
    const row = arm.rows[cpu], cells = [];
    for (let index = row ? firstEndingAfter(row, from) : 0; row && index < row.length && row.start[index] < to && cells.length < MAX_LISTED; index++) {
      const { name = "" } = arm.threads[row.thread[index]] ?? {};
      cells.push(["AB"[number], name, moment(row.start[index]), duration(row.end[index] - row.start[index]), duration(row.waited[index])]);
    }
    return cells;
  });
  byId("segments-title").textContent = `CPU ${cpu}, ${moment(Math.round(from))} to ${moment(Math.round(to))}`;
  byId("segments").tBodies[0].replaceChildren(...rows.map((texts) => {
    const row = document.createElement("tr");
    row.append(...texts.map((text) => element("td", text)));
    return row;
  }));
}

/** Lists the findings of both arms, the worst first. */
function showFindings() {
  const isOneRun = arms[0].ended?.digest === arms[1].ended?.digest;
  byId("findings").replaceChildren(...(isOneRun ? arms.slice(0, 1) : arms).map((arm, number) => {
    const findings = arm.ended?.findings ?? [], name = "AB"[number], list = document.createElement("ul");
    list.append(...findings.map((finding, index) => {
      const item = element("li", `${finding.severity}: ${finding.sentence} `);
      if (finding.at_ns === 0) return item;
      const show = Object.assign(document.createElement("button"), { type: "button", id: `finding-${name}-${index}`, textContent: moment(finding.at_ns) });
      show.onclick = () => {
        const span = Math.min(timeline.view.to - timeline.view.from, FIRST_VIEW);
        timeline.chosen = null;
        timeline.show(finding.at_ns - span / 2, finding.at_ns + span / 2);
        ask(number, finding.question, finding.at_ns, `Arm ${name}, ${finding.rule}, ${moment(finding.at_ns)}`, () => timeline.chosen === null);
        byId("timeline").scrollIntoView({ block: "nearest" });
      };
      item.append(show);
      return item;
    }));
    const whole = document.createElement("section");
    whole.append(element("h2", `Findings of ${isOneRun ? "both arms" : `arm ${name}`}${findings.length === 0 ? ": none" : ""}`), list);
    return whole;
  }));
  timeline.findings = arms.map((arm) => (arm.ended?.findings ?? []).filter(({ at_ns }) => at_ns > 0).map(({ at_ns }) => at_ns));
}

/** Asks for the reason of a point, which the timeline marks. @param {import("./timeline.mjs").Point} point */
function explain(point) {
  const { arm, cpu, at } = point, name = timeline.threadAt(point)?.name ?? "idle";
  if ([...byId("lag-task").options].some((option) => option.value === name)) chooseLag(name);
  return ask(arm, { cpu }, at, `Arm ${"AB"[arm]}, CPU ${cpu}, ${moment(at)}: ${name}`, () => timeline.chosen === point);
}

/**
 * Asks for a reason and shows the answer, if it is still wanted.
 * @param {number} arm @param {import("./client.mjs").Question} question @param {number} at @param {string} title
 * @param {() => boolean} isWanted
 */
async function ask(arm, question, at, title, isWanted) {
  const began = performance.now(), mine = generation;
  try {
    const { answer } = await clients[arm].ask({ explain: { run: mine, spec: arms[arm].spec, question, at_ns: at } });
    if (mine !== generation || !isWanted()) return;
    times.explain = performance.now() - began;
    const sentences = answer.explained?.claims.flatMap((claim) => claim.text) ?? [answer.error?.text ?? ""];
    showReasons([section(title, sentences)]);
  } catch (error) {
    if (mine === generation) showFailure(error);
  }
}

// What is run ---------------------------------------------------------------------------------------------------------

/** Runs another workload, with the machine and kernel that it names. @param {string} name @param {string} [text] */
function chooseWorkload(name, text = examples[name]) {
  const { machine, kernel, ...settings } = spec.settings;
  spec = { workload: { file: { given: name, text } }, settings };
  showChoices();
  update();
}

/** Runs the edited text. */
function editWorkload() {
  const { given = "" } = spec.workload.file ?? {};
  spec = { ...spec, workload: { file: { given, text: byId("text").value } } };
  update();
}

/** Saves a file. @param {string} name @param {Blob} content */
function save(name, content) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
  saved = { name, content };
}

/** Runs a file of the reader. @param {File | undefined} file */
async function openFile(file) {
  if (!file) return;
  if (file.size > MAX_FILE) return showError({ text: "the file is larger than 64 MB", help: "use `fairlab run` for large files", place: { file: file.name, line: null, column: null, source_line: null } });
  chooseWorkload(file.name, await file.text());
}

/** Changes a setting of both arms; without a value it is that of the workload. @param {"machine" | "kernel"} name @param {string} value */
function chooseSetting(name, value) {
  const settings = { ...spec.settings };
  if (value) settings[name] = value; else delete settings[name];
  spec = { ...spec, settings };
  update();
}

function showChoices() {
  const { catalogue } = knobs, { given = "", text = "" } = spec.workload.file ?? {};
  if (!catalogue) return;
  byId("text").value = text;
  const machine = spec.settings.machine, kernel = spec.settings.kernel ?? "";
  const own = typeof machine === "object" ? machine.given : machine ?? "";
  if (given && examples[given] === undefined) examples[given] = text;
  const names = [...new Set([given, ...Object.keys(examples)])].filter(Boolean);
  byId("workload").replaceChildren(...names.map((name) => new Option(name.replace(/^scenarios\//, ""), name)));
  byId("workload").value = given;
  const machines = catalogue.machines.map(({ name, nr_cpus }) => new Option(`${name} (${nr_cpus} CPUs)`, name));
  if (own && !catalogue.machines.some(({ name }) => name === own)) machines.unshift(new Option(own, own));
  byId("machine").replaceChildren(new Option("of the workload", ""), ...machines);
  byId("machine").value = own;
  byId("kernel").replaceChildren(new Option("of the workload", ""), ...catalogue.kernels.map(({ name }) => new Option(name, name)).reverse());
  byId("kernel").value = kernel;
}

function listen() {
  byId("workload").onchange = () => chooseWorkload(byId("workload").value);
  byId("machine").onchange = () => chooseSetting("machine", byId("machine").value);
  byId("kernel").onchange = () => chooseSetting("kernel", byId("kernel").value);
  byId("as-table").ontoggle = showSegments;
  byId("lag-task").onchange = () => chooseLag(byId("lag-task").value);
  byId("open").onchange = () => openFile(byId("open").files[0]);
  let edited = 0;
  byId("text").oninput = () => {
    clearTimeout(edited);
    edited = setTimeout(editWorkload, EDIT_PAUSE);
  };
  byId("share").onclick = async () => {
    await remember();
    const copied = navigator.clipboard?.writeText(location.href) ?? Promise.reject();
    byId("share").textContent = await copied.then(() => "Copied", () => "The address bar has the link");
    setTimeout(() => { byId("share").textContent = "Copy link"; }, 3000);
  };
  byId("save-png").onclick = () => byId("timeline").toBlob((/** @type {Blob} */ image) => save("fairlab.png", image));
  byId("save-svg").onclick = () => save("fairlab.svg", new Blob([timeline.svg()], { type: "image/svg+xml" }));
  byId("save-spec").onclick = () => save("fairlab-spec.json", new Blob([`${JSON.stringify({ schema: "spec/1", ...specOf(1) }, null, 2)}\n`], { type: "application/json" }));
  document.addEventListener("dragover", (event) => event.preventDefault());
  document.addEventListener("drop", (event) => {
    event.preventDefault();
    openFile(event.dataTransfer?.files[0]);
  });
  addEventListener("hashchange", async () => {
    if (location.hash === remembered || !await recall()) return;
    showChoices();
    update();
  });
}

/**
 * Starts the page.
 * @param {(wasm: WebAssembly.Module) => Worker} startWorker Starts a worker with the compiled module.
 */
export async function start(startWorker) {
  const wasm = await readModule(byId("wasm").textContent);
  clients = [ARM_A, ARM_B, BACKGROUND].map(() => new Client(() => startWorker(wasm)));
  listen();
  const isUsable = await recall(), first = isUsable ? update() : null;
  const { answer } = await clients[ARM_B].ask({ catalogue: {} });
  knobs.catalogue = answer.catalogue ?? null;
  showChoices();
  await first;
  if (arms.length > 0) showDefaults();
}
