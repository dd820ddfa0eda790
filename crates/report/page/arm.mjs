// SPDX-License-Identifier: GPL-2.0-or-later
// The run of an arm, as far as it has come.
import { readLags } from "./lags.mjs";
import { appendPart, emptyRow, readSeries } from "./timeline-data.mjs";

/** Time that a step of a run may take, in milliseconds: a newer run begins after it at the latest. */
const STEP_MS = 10;
/** Simulated time of the first step, in ns. */
const FIRST_STEP = 2e6;

/**
 * @typedef {import("./client.mjs").Client} Client
 * @typedef {import("./client.mjs").Message} Message
 */

/**
 * Run that the page shows, recorded or in progress.
 * @typedef {object} Arm
 * @property {string} name Name of a recorded run.
 * @property {string} workload
 * @property {string} machine
 * @property {string} scheduler
 * @property {import("./timeline-data.mjs").Row[]} rows
 * @property {import("./client.mjs").Thread[]} threads
 * @property {number} at Simulated time that the rows contain, in ns.
 * @property {number} length Length of the run, in ns.
 * @property {number} resolution Segments that together are no longer than this, in ns, are merged; 0 if none is.
 * @property {import("./client.mjs").Ended | null} ended
 * @property {Map<number, import("./lags.mjs").LagSamples>} lags Lags of tasks by thread, once the run has ended.
 * @property {import("./timeline-data.mjs").CpuSeries[]} series Averages of CPUs over time, once the run has ended.
 */

/** Run of an arm. */
export class ArmRun {
  name = "";
  /** @param {object} spec */
  constructor(spec) {
    this.spec = spec;
    /** @type {import("./client.mjs").Opened | null} */
    this.opened = null;
    /** @type {import("./timeline-data.mjs").Row[]} */
    this.rows = [];
    /** @type {import("./client.mjs").Thread[]} */
    this.threads = [];
    /** Simulated time that the rows contain, in ns. */
    this.at = 0;
    this.resolution = 0;
    /** @type {import("./client.mjs").Ended | null} */
    this.ended = null;
    /** Lags of tasks by thread, once the run has ended. @type {Map<number, import("./lags.mjs").LagSamples>} */
    this.lags = new Map();
    /** @type {import("./timeline-data.mjs").CpuSeries[]} */
    this.series = [];
    /** @type {Message | null} */
    this.error = null;
  }

  get workload() {
    return this.opened?.workload ?? "";
  }

  get machine() {
    return this.opened?.machine ?? "";
  }

  get scheduler() {
    return `Linux ${this.opened?.kernel}`;
  }

  get length() {
    return this.ended?.duration_ns ?? this.opened?.length_ns ?? 0;
  }

  /**
   * Runs the spec to its end in steps.
   * @param {Client} client @param {number} number Number of the run.
   * @param {() => boolean} isWanted Whether the run is still wanted; asked before each step.
   * @param {() => void} onStep
   */
  async run(client, number, isWanted, onStep) {
    const { answer } = await client.ask({ open: { run: number, spec: this.spec } });
    if (!answer.opened) return this.#fail(answer.error);
    this.opened = answer.opened;
    this.rows = Array.from({ length: this.opened.nr_cpus }, () => emptyRow());
    for (let step = FIRST_STEP; isWanted();) {
      const began = performance.now(), before = this.at;
      const { answer, segments, lags, series } = await client.ask({ step: { run: number, until_ns: Math.round(this.at + step) } });
      const took = performance.now() - began;
      if (!answer.part) return this.#fail(answer.error);
      this.#append(answer.part, segments);
      if (answer.part.ended) {
        this.lags = readLags(lags);
        this.series = readSeries(series);
      }
      onStep();
      if (answer.part.ended) return;
      step = Math.min(1e8, Math.max(1e6, (this.at - before) * STEP_MS / Math.max(0.5, took)));
    }
    await client.ask({ close: { run: number } });
  }

  /** @param {import("./client.mjs").Part} part @param {Uint8Array} segments */
  #append(part, segments) {
    appendPart(this.rows, segments, part.is_restart);
    for (const thread of part.threads) this.threads[thread.index] = thread;
    this.at = part.at_ns;
    this.resolution = part.resolution_ns;
    this.ended = part.ended;
  }

  /** @param {Message | undefined} error */
  #fail(error) {
    this.error = error ?? { text: "no answer", help: null, place: null };
  }
}
