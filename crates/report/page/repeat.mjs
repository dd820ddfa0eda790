// SPDX-License-Identifier: GPL-2.0-or-later
// Repetitions of both arms with several seeds, and their comparison.
import { Client, Dropped, readModule } from "./client.mjs";
import { showComparison } from "./comparison.mjs";
import { byId } from "./dom.mjs";

/** Number of seeds; the first one is 1, as for `fairlab compare`. */
export const NR_SEEDS = 20;
/** Most runs at the same time. */
const MAX_WORKERS = 4;

/**
 * @typedef {import("./client.mjs").Message} Message
 * @typedef {{ compared?: import("./comparison.mjs").ComparedArms, error?: Message }} ToolAnswer
 * @typedef {(wasm: WebAssembly.Module, entry?: string) => Worker} StartWorker
 * @typedef {{ specs: object[], names: string[], command: string[] }} Arms
 */

/** The button, its progress, and the comparison below. */
export class RepeatPanel {
  /** What the button repeats. @type {Arms | null} */
  #arms = null;
  /** Workers of the repetition in progress. @type {Client[]} */
  #clients = [];
  /** Second WebAssembly module, once it was needed. @type {Promise<WebAssembly.Module> | null} */
  #tools = null;

  /**
   * @param {WebAssembly.Module} engine @param {StartWorker} startWorker
   * @param {(error: unknown) => void} showFailure @param {(error: Message) => void} showError
   */
  constructor(engine, startWorker, showFailure, showError) {
    this.engine = engine;
    this.startWorker = startWorker;
    this.showFailure = showFailure;
    this.showError = showError;
    byId("repeat").onclick = () => this.#repeat();
  }

  /** Starts a worker with the second module. */
  async startTools() {
    this.#tools ??= readModule(byId("tools").textContent);
    const tools = await this.#tools;
    return new Client(() => this.startWorker(tools, "tools-worker.mjs"));
  }

  /** Ends the repetition in progress, and removes its result. Without arms there is nothing to repeat. @param {Arms | null} arms */
  offer(arms) {
    for (const client of this.#clients.splice(0)) client.end();
    this.#arms = arms;
    byId("repeat").disabled = arms === null;
    byId("repeat").hidden = false;
    byId("repeated").hidden = true;
    byId("repeat-progress").textContent = "";
  }

  async #repeat() {
    const arms = this.#arms;
    if (!arms) return;
    this.offer(arms);
    byId("repeat").disabled = true;
    byId("repeat-progress").textContent = `0 of ${NR_SEEDS} seeds\u2026`;
    try {
      const answer = await this.#run(arms);
      if (this.#arms !== arms) return;
      for (const client of this.#clients.splice(0)) client.end();
      byId("repeat-progress").textContent = "";
      if (answer.error) this.showError(answer.error);
      if (answer.compared) this.#show(answer.compared);
    } catch (error) {
      if (error instanceof Dropped || this.#arms !== arms) return;
      this.offer(arms);
      this.showFailure(error);
    }
  }

  /** Runs each arm with each seed, as many at a time as there are workers. @param {Arms} arms @returns {Promise<ToolAnswer>} */
  async #run(arms) {
    const tools = await this.startTools();
    if (this.#arms !== arms) {
      tools.end();
      throw new Dropped("another run");
    }
    const nrWorkers = Math.min(MAX_WORKERS, Math.max(1, (navigator.hardwareConcurrency ?? 2) - 1));
    const engines = Array.from({ length: nrWorkers }, () => new Client(() => this.startWorker(this.engine)));
    this.#clients.push(tools, ...engines);
    const nrArms = arms.specs.length, left = new Array(NR_SEEDS).fill(nrArms), encoder = new TextEncoder();
    let next = 0, nrDone = 0;
    /** @type {Message | undefined} */
    let failed;
    const runNext = async (/** @type {Client} */ engine) => {
      while (next < NR_SEEDS * nrArms && !failed) {
        const arm = next % nrArms, repetition = Math.floor(next++ / nrArms);
        // The answer stays text: numbers of JavaScript do not have 64 bits.
        const { text } = await engine.askText({ measure: { run: 0, spec: arms.specs[arm], seed: repetition + 1 } });
        const { answer } = await tools.ask({ "add-run": { arm, repetition } }, encoder.encode(text));
        failed ??= answer.error;
        if (--left[repetition] === 0) nrDone++;
        byId("repeat-progress").textContent = `${nrDone} of ${NR_SEEDS} seeds\u2026`;
      }
    };
    await Promise.all(engines.map(runNext));
    if (failed) return { error: failed };
    const { answer } = await tools.ask({ compare: { arms: arms.names, first_seed: 1, command: arms.command } });
    return /** @type {any} */ (answer);
  }

  /** @param {import("./comparison.mjs").ComparedArms} compared */
  #show(compared) {
    byId("repeat").hidden = true;
    byId("repeat-verdict").textContent = compared.verdicts.map(({ text }) => text).join("; ");
    showComparison(compared, ["A", "B"]);
  }
}
