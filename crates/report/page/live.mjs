// SPDX-License-Identifier: GPL-2.0-or-later
// Arms that run in the page: a workload, a change of arm B, and why the arms part.
import { ArmRun } from "./arm.mjs";
import { Choices } from "./choices.mjs";
import { Client, Dropped, Panic } from "./client.mjs";
import { showDifference } from "./difference.mjs";
import { button, byId, textElement } from "./dom.mjs";
import { readFile } from "./files.mjs";
import { duration, shellWord } from "./format.mjs";
import { Knobs } from "./knobs.mjs";
import { NR_SEEDS, RepeatPanel } from "./repeat.mjs";
import { decodeState, encodeState } from "./share.mjs";
import { MAX_TEXT } from "./workload-text.mjs";

/** Part of the run that is shown at first, in ns. */
const FIRST_VIEW = 1e8;
/** Workers, and the numbers of the arms. */
const [ARM_A, ARM_B, BACKGROUND] = [0, 1, 2];

/**
 * @typedef {{ given: string, text?: string }} InputFile
 * @typedef {{ machine?: InputFile | string, kernel?: string, features?: Record<string, boolean>, tunables?: Record<string, number> }} Settings
 * @typedef {{ workload: { file?: InputFile }, settings: Settings }} Spec
 * @typedef {import("./client.mjs").Opened} Opened
 */

export class LiveArms {
  /** @type {ArmRun[]} */
  arms = [];
  /** Times of the last change in milliseconds: first bars, both arms complete, explanation; and of the start, since navigation. */
  times = { bars: 0, complete: 0, explain: 0, start: 0 };
  /** Whether only arm A runs. */
  hidesArmB = false;
  /** Name of the open lesson, which is part of a link. @type {string | null} */
  lesson = null;
  /** Called before each run with the spec of arm A. @type {(spec: Spec) => void} */
  onUpdate = () => {};
  /** Called when an address opens a lesson. */
  onLesson = () => {};
  #choices = new Choices();
  /** Lessons, once they are wanted. @type {Promise<import("./lessons.mjs").Lesson[]> | null} */
  #lessons = null;
  #generation = 0;
  /** Address that the page itself has written. */
  #remembered = "";
  /** View that the reader has not chosen: it may move to the first difference. @type {import("./timeline.mjs").View | null} */
  #firstView = null;

  /**
   * @param {import("./view.mjs").View} view @param {import("./workload-text.mjs").WorkloadText} text
   * @param {Spec} spec Run of arm A.
   * @param {Record<string, string>} examples Texts of the examples, by name.
   * @param {WebAssembly.Module} engine @param {import("./repeat.mjs").StartWorker} startWorker
   */
  constructor(view, text, spec, examples, engine, startWorker) {
    this.view = view;
    this.text = text;
    this.spec = spec;
    this.examples = examples;
    /** Examples of the page, without opened files. */
    this.builtIn = new Set(Object.keys(examples));
    this.clients = [ARM_A, ARM_B, BACKGROUND].map(() => new Client(() => startWorker(engine)));
    this.repeatPanel = new RepeatPanel(engine, startWorker, (error) => this.showFailure(error), (error) => this.showError(error));
    this.knobs = new Knobs(byId("knobs"), byId("find"), byId("found"), () => this.update());
    this.#listen();
  }

  /** Starts the arms, or shows recorded ones until something changes. @param {boolean} isRecorded */
  async start(isRecorded) {
    const isUsable = await this.#recall(), first = isUsable && !(isRecorded && location.hash === "") ? this.update() : null;
    const { answer } = await this.clients[ARM_B].ask({ catalogue: {} });
    this.knobs.catalogue = answer.catalogue ?? null;
    this.#showChoices();
    await first;
    if (this.arms.length === 0) {
      const { answer: { opened } } = await this.clients[ARM_A].ask({ open: { run: 0, spec: this.spec } });
      if (opened) this.#showDefaults(opened);
    } else if (this.arms[0].opened) {
      this.#showDefaults(this.arms[0].opened);
    }
  }

  /** Lessons, from the worker of arm B. */
  lessons() {
    return this.#lessons ??= this.clients[ARM_B].ask({ lessons: {} }).then(({ answer }) => answer.lessons ?? []);
  }

  /** @param {number} arm */
  specOf(arm) {
    if (arm === ARM_A || this.knobs.text() === "") return this.spec;
    const { features, tunables } = this.knobs.changes();
    const settings = { ...this.spec.settings };
    if (Object.keys(features).length > 0) settings.features = { ...settings.features, ...features };
    if (Object.keys(tunables).length > 0) settings.tunables = { ...settings.tunables, ...tunables };
    return { ...this.spec, settings };
  }

  /** Explains a moment of an arm. @param {number} arm @param {import("./client.mjs").Question} question @param {number} at */
  async explain(arm, question, at) {
    const began = performance.now();
    const { answer } = await this.clients[arm].ask({ explain: { run: this.#generation, spec: this.arms[arm].spec, question, at_ns: at } });
    this.times.explain = performance.now() - began;
    return answer.explained?.claims ?? [{ kind: "error", text: [answer.error?.text ?? ""] }];
  }

  /** Runs a spec and a change of arm B; only arm A if there is none. @param {Spec} spec @param {import("./knobs.mjs").Change | null} change */
  runSpec(spec, change) {
    this.spec = spec;
    this.hidesArmB = change === null;
    this.knobs.take(change ?? { features: {}, tunables: {} });
    this.#showChoices();
    return this.update();
  }

  /** Runs both arms. Arm A is kept while only arm B changes. @returns {Promise<void>} */
  async update() {
    this.onUpdate(this.spec);
    this.#remember();
    const { view, clients, times } = this, began = performance.now(), mine = ++this.#generation, isWanted = () => mine === this.#generation;
    const keep = this.arms[0]?.ended && JSON.stringify(this.arms[0].spec) === JSON.stringify(this.specOf(ARM_A));
    const next = [keep ? this.arms[0] : new ArmRun(this.specOf(ARM_A)), ...this.hidesArmB ? [] : [new ArmRun(this.specOf(ARM_B))]];
    if (clients[BACKGROUND].isBusy) clients[BACKGROUND].restart();
    this.repeatPanel.offer(null);
    view.clear();
    view.verdict(["Running\u2026"]);
    times.bars = 0;
    const onStep = () => {
      if (!isWanted()) return;
      this.#showProgress(next);
      // After the frame that draws the bars.
      if (times.bars === 0 && this.arms === next) requestAnimationFrame(() => { times.bars ||= performance.now() - began; times.start ||= performance.now(); });
    };
    try {
      await Promise.all(next.map((arm, number) => arm.ended ? onStep() : arm.run(clients[number], mine, isWanted, onStep)));
    } catch (error) {
      if (isWanted()) this.showFailure(error);
      return;
    }
    if (!isWanted()) return;
    const failed = next.find((arm) => arm.error);
    if (failed && next[0].opened && this.#isOutdated(next)) return this.update();
    if (failed) return this.showError(failed.error);
    this.#showProgress(next);
    times.complete = performance.now() - began;
    view.showEnded();
    byId("metrics-note").append(` These are values of one run: repeat it with ${NR_SEEDS} seeds to see how much they vary.`);
    this.#showVerdict();
    const change = this.knobs.text(), command = [...this.#commandWords(), "--runs", `${NR_SEEDS}`];
    if (change) this.repeatPanel.offer({ specs: next.map((arm) => arm.spec), names: ["unchanged", change], command });
  }

  /** Draws what the runs have so far. @param {ArmRun[]} next */
  #showProgress(next) {
    const { view, knobs } = this, [opened] = next.flatMap((arm) => arm.opened ?? []);
    if (!next.every((arm) => arm.opened) || !opened) return;
    if (this.arms !== next && this.#isOutdated(next)) {
      this.update();
      return;
    }
    const isFirst = this.arms !== next, isOtherRun = isFirst && this.arms[0]?.length !== next[0].length;
    this.arms = next;
    if (isFirst) {
      this.text.showError(null);
      this.#showSubject(opened);
    }
    view.showProgress(next, ["A", `B ${knobs.text()}`.trim()]);
    if (isOtherRun) {
      view.timeline.show(0, Math.min(FIRST_VIEW, view.timeline.length));
      this.#firstView = view.timeline.view;
    }
  }

  /**
   * Takes the state of arm A. Returns whether arm B has another change with it: only what differs from arm A is a change, and
   * what the kernel of arm A does not have is none.
   * @param {ArmRun[]} next
   */
  #isOutdated([{ opened }, armB]) {
    if (opened) this.#showDefaults(opened);
    return armB !== undefined && JSON.stringify(armB.spec) !== JSON.stringify(this.specOf(ARM_B));
  }

  /** Gives the state of arm A to the knobs. @param {Opened} opened */
  #showDefaults({ features, tunables, kernel }) {
    if (this.knobs.catalogue) this.knobs.setDefaults({ features, tunables }, kernel);
  }

  /** Shows what is run, and the command with the same arms. @param {Opened} opened */
  #showSubject({ workload, machine, kernel, assumptions, warnings }) {
    byId("subject").textContent = `${workload} on ${machine}, kernel ${kernel}, ${duration(this.arms[0].length)}`;
    byId("command").textContent = this.#commandWords().map(shellWord).join(" ");
    byId("assumptions").replaceChildren(...[...warnings, ...assumptions].map((sentence) => textElement("li", sentence)));
  }

  /** Words of the command with the same arms. */
  #commandWords() {
    const { workload, options } = /** @type {Opened} */ (this.arms[0].opened), change = this.knobs.text();
    return change ? ["fairlab", "compare", workload, ...options, "--arm", change] : ["fairlab", "run", workload, ...options];
  }

  async #showVerdict() {
    const { view, knobs } = this, mine = this.#generation, [a, b] = this.arms;
    if (this.hidesArmB) return view.verdict(["Arm A has run. Answer the question to see arm B."]);
    if (knobs.text() === "") return view.verdict(["Both arms are the same run. Turn a knob, or type the name of one."]);
    if (a.ended?.digest === b.ended?.digest) {
      return view.verdict([textElement("b", "Not one event changes"), ` with ${knobs.text()} in this workload.`, ...this.#demoButtons()]);
    }
    view.verdict(["The runs differ. Searching the first difference\u2026"]);
    try {
      const { answer } = await this.clients[BACKGROUND].ask({ difference: { run: mine, specs: this.arms.map((arm) => arm.spec) } });
      if (mine === this.#generation) this.#showDifference(answer);
    } catch (error) {
      if (mine === this.#generation) this.showFailure(error);
    }
  }

  /** Buttons for the scenarios in which the change makes a difference. */
  #demoButtons() {
    return this.knobs.demos().flatMap(({ name, scenario, effect }) =>
      [` ${name} matters in `, button(`demo-${name}`, scenario, () => this.#chooseWorkload(`scenarios/${scenario}`)), ` (${effect}).`]);
  }

  /** @param {import("./client.mjs").Answer} answer */
  #showDifference({ difference, error }) {
    const { view } = this, { timeline } = view;
    if (error) return this.showError(error);
    if (!difference) return view.verdict(["The runs differ, but every CPU runs the same tasks of the workload at all times."]);
    const { from, to } = timeline.view, isInView = difference.at_ns >= from && difference.at_ns <= to;
    if (!isInView && timeline.view === this.#firstView) {
      timeline.showMoment(difference.at_ns);
      this.#firstView = timeline.view;
    }
    view.verdict(showDifference(view, difference));
  }

  /** @param {import("./client.mjs").Message | null} error */
  showError(error) {
    this.text.showError(error);
    const { text = "", help, place } = error ?? {};
    const at = place ? `${[place.file, place.line, place.column].filter((part) => part !== null).join(":")}: ` : "";
    const lines = [`${at}${text}`, place?.source_line && `  ${place.source_line}`, help && `help: ${help}`];
    this.view.verdict([lines.filter(Boolean).join("\n")], true);
  }

  /** @param {unknown} error */
  async showFailure(error) {
    if (error instanceof Dropped) return;
    const mine = this.#generation;
    await this.#remember();
    if (mine !== this.#generation) return;
    const text = error instanceof Panic ? `fairlab has a bug: ${error.message}` : String(error);
    this.view.verdict([`${text}\nThis link repeats it: ${location.href}\nA fresh instance runs from the next change on.`], true);
  }

  // State of the page ---------------------------------------------------------------------------------------------------

  /** Writes the state into the address. A text that is an example is not repeated. */
  async #remember() {
    const { spec, examples } = this, { file } = spec.workload, address = () => location.hash || "#", before = address();
    const isExample = file && this.builtIn.has(file.given) && examples[file.given] === file.text;
    const workload = isExample ? { file: { given: file.given } } : spec.workload;
    const lesson = this.lesson === null ? {} : { lesson: this.lesson };
    const state = await encodeState({ spec: { ...spec, workload }, change: this.knobs.changes(), ...lesson });
    // A link that was opened meanwhile stays.
    if (address() !== before && address() !== this.#remembered) return;
    this.#remembered = state.length > MAX_TEXT ? "#" : state;
    history.replaceState(null, "", this.#remembered);
  }

  /** Takes the state of the address. Returns whether it can be used; otherwise the page reports the reason. */
  async #recall() {
    if (location.hash === "" || location.hash === this.#remembered) return true;
    const { hash } = location;
    try {
      const state = await decodeState(hash), { file } = state.spec.workload;
      const text = file?.text ?? this.examples[file?.given ?? ""];
      if (typeof text !== "string") throw new Error(`the page has no example \`${file?.given.slice(0, 40)}\``);
      const lesson = state.lesson === undefined ? null : await this.#lessonOf(state.lesson);
      if (location.hash !== hash) return false;
      this.lesson = lesson?.name ?? null;
      // The question comes before the change.
      this.hidesArmB = lesson !== null;
      this.spec = lesson?.specs[0] ?? { ...state.spec, workload: { file: { given: file?.given ?? "", text } } };
      this.knobs.take(lesson ? { features: {}, tunables: {} } : state.change);
      return true;
    } catch (error) {
      this.showError({ text: `this link cannot be used: ${error instanceof Error ? error.message : error}`, help: "the page has its own example until you change something", place: null });
      return false;
    }
  }

  /** @param {string} wanted */
  async #lessonOf(wanted) {
    const lesson = (await this.lessons()).find(({ name }) => name === wanted);
    if (!lesson) throw new Error(`the page has no lesson \`${wanted.slice(0, 40)}\``);
    return lesson;
  }

  // What is run ---------------------------------------------------------------------------------------------------------

  /** Runs another workload, with the machine and kernel that it names. @param {string} name @param {string} [text] */
  #chooseWorkload(name, text = this.examples[name]) {
    const { machine, kernel, ...settings } = this.spec.settings, isOfLesson = this.spec.workload.file?.given.startsWith("lessons/");
    // Settings of a lesson belong to its workload.
    this.spec = { workload: { file: { given: name, text } }, settings: isOfLesson ? {} : settings };
    this.#showChoices();
    this.update();
  }

  /** Runs an edited text. @param {string} text */
  #editWorkload(text) {
    const { given = "" } = this.spec.workload.file ?? {};
    this.spec = { ...this.spec, workload: { file: { given, text } } };
    this.update();
  }

  /** Saves the trace of arm B. */
  async #saveTrace() {
    const mine = this.#generation;
    byId("save-trace").disabled = true;
    try {
      const { answer, trace } = await this.clients[BACKGROUND].ask({ "save-trace": { run: mine, spec: this.specOf(ARM_B) } });
      if (mine !== this.#generation) return;
      if (answer.error) this.showError(answer.error); else this.view.save("fairlab.pftrace", "application/octet-stream", trace);
    } catch (error) {
      if (mine === this.#generation) this.showFailure(error);
    } finally {
      byId("save-trace").disabled = false;
    }
  }

  /** Runs a workload or a recorded trace of the reader, or takes a machine. @param {File | undefined} file */
  async #openFile(file) {
    if (!file) return;
    this.text.forget();
    const mine = ++this.#generation;
    this.view.verdict([`Reading ${file.name}\u2026`]);
    try {
      const { opened = {}, error } = await readFile(file, () => this.repeatPanel.startTools()), { workload, trace, machine } = opened;
      if (mine !== this.#generation) return;
      if (error) return this.showError(error);
      if (machine) return this.#chooseMachine(machine);
      const { name, text } = /** @type {import("./files.mjs").NamedText} */ (workload ?? trace);
      this.#chooseWorkload(name, text);
    } catch (error) {
      if (mine === this.#generation) this.showFailure(error);
    }
  }

  /** Runs both arms on a machine of the reader. @param {import("./files.mjs").NamedText} machine */
  #chooseMachine({ name, text }) {
    this.spec = { ...this.spec, settings: { ...this.spec.settings, machine: { given: name, text } } };
    this.#showChoices();
    this.update();
  }

  /** Changes a setting of both arms; without a value it is that of the workload. @param {"machine" | "kernel"} name @param {any} value */
  #chooseSetting(name, value) {
    const settings = { ...this.spec.settings };
    if (value) settings[name] = value; else delete settings[name];
    this.spec = { ...this.spec, settings };
    this.update();
  }

  #showChoices() {
    const { catalogue } = this.knobs, { examples, spec } = this, { given = "", text = "" } = spec.workload.file ?? {};
    if (!catalogue) return;
    this.text.show(given, text);
    if (given && examples[given] === undefined) examples[given] = text;
    this.#choices.show(catalogue, spec, Object.keys(examples));
  }

  #listen() {
    byId("workload").onchange = () => this.#chooseWorkload(byId("workload").value);
    byId("machine").onchange = () => this.#chooseSetting("machine", this.#choices.machine(byId("machine").value));
    byId("kernel").onchange = () => this.#chooseSetting("kernel", byId("kernel").value);
    byId("open").onchange = async () => {
      await this.#openFile(byId("open").files[0]);
      // The name of the file is that of the workload or the machine.
      byId("open").value = "";
    };
    this.text.onEdit = (text) => this.#editWorkload(text);
    byId("share").onclick = async () => {
      await this.#remember();
      const copied = navigator.clipboard?.writeText(location.href) ?? Promise.reject();
      byId("share").textContent = await copied.then(() => "Copied", () => "The address bar has the link");
      setTimeout(() => { byId("share").textContent = "Copy link"; }, 3000);
    };
    byId("save-trace").onclick = () => this.#saveTrace();
    byId("save-spec").onclick = () => this.view.save("fairlab-spec.json", "application/json", `${JSON.stringify({ schema: "spec/1", ...this.specOf(ARM_B) }, null, 2)}\n`);
    document.addEventListener("dragover", (event) => event.preventDefault());
    document.addEventListener("drop", (event) => {
      event.preventDefault();
      this.#openFile(event.dataTransfer?.files[0]);
    });
    addEventListener("hashchange", async () => {
      if (location.hash === this.#remembered || !await this.#recall()) return;
      if (this.lesson !== null) return this.onLesson();
      this.#showChoices();
      this.update();
    });
  }
}
