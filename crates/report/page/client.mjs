// SPDX-License-Identifier: GPL-2.0-or-later
// Requests to a worker. The types are those of `crates/lab/src/answer.rs`.

/**
 * @typedef {{ file: string, line: number | null, column: number | null, source_line: string | null }} Place
 * @typedef {{ text: string, help: string | null, place: Place | null }} Message
 * @typedef {{ index: number, name: string, pid: number, family: string | null, is_kernel: boolean }} Thread
 * @typedef {{ count: number, p50_ns: number, p99_ns: number, max_ns: number }} Latency
 * @typedef {{ name: string, tasks: number, run_ns: number, wait_ns: number, wakeups: number, migrations: number,
 *   voluntary_switches: number, involuntary_switches: number, wake_to_run: Latency | null, wakeup_latency: Latency | null,
 *   timers?: { missed: number } | null, residency?: { energy_uj?: number } | null }} Family
 * @typedef {{ cpu: number } | { task: string } | { balance: number }} Question
 * @typedef {{ severity: string, rule: string, sentence: string, headline: string, at_ns: number, worst_ns: number,
 *   question: Question, explanation: string[] }} Finding
 * @typedef {{ thread: number, cpu: number, since_ns: number, length_ns: number, is_open: boolean, awaited: string,
 *   question: Question, explanation: string[] }} Wait
 * @typedef {{ run: { workload: string, kind: string, machine: string, kernel: string }, families: Family[],
 *   totals: Record<string, number>, energy?: { busy_uj: number } | null, engine?: { name: string, version: string } | null,
 *   selection: { by_rule: [string, number][] }, balance: Record<string, number>,
 *   digest: string, warnings?: string[], assumptions?: string[] }} Summary
 * @typedef {{ capacity: number, core: number, llc: number, node: number, highest_khz: number }} CpuDetails
 * @typedef {{ cpus: CpuDetails[], series_ns: number, latencies: Record<string, Record<string, number>>, scanned: Record<string, number>,
 *   cpus_per_cell: number, migrations: [number, number, number][], waits: Wait[] }} Details
 * @typedef {{ digest: string, duration_ns: number, findings: Finding[] | null, summary: Summary, details: Details }} Ended
 * @typedef {{ at_ns: number, is_restart: boolean, resolution_ns: number, threads: Thread[], ended: Ended | null }} Part
 * @typedef {object} Opened
 * @property {string} workload
 * @property {string} machine
 * @property {string} kernel
 * @property {number} length_ns
 * @property {number} nr_cpus
 * @property {Record<string, boolean>} features
 * @property {Record<string, number>} tunables
 * @property {string[]} options Options of `fairlab run` that repeat the settings.
 * @property {string[]} assumptions
 * @property {string[]} warnings
 * @typedef {{ cpu: number | null, instead: string | null }} TaskInRun
 * @typedef {{ at_ns: number, task: string, runs: [TaskInRun, TaskInRun], decisions: [string[], string[]] }} Difference
 * @typedef {{ kind: string, text: string[], cpu?: number, at_ns?: number, waker_cpu?: number, scanned_cpus?: number[],
 *   last_at_ns?: number, from?: number, to?: number }} Claim
 * @typedef {{ at_ns: number, claims: Claim[] }} Explanation
 * @typedef {object} Answer
 * @property {number | null} run
 * @property {Message} [error]
 * @property {Opened} [opened]
 * @property {Part} [part]
 * @property {import("./knobs.mjs").Catalogue} [catalogue]
 * @property {Explanation} [explained]
 * @property {Difference | null} [difference]
 * @property {import("./lessons.mjs").Lesson[]} [lessons]
 * @property {import("./lessons.mjs").DerivedAnswer} [derived]
 * @typedef {{ answer: Answer, segments: Uint8Array, lags: Uint8Array, series: Uint8Array, trace: Uint8Array<ArrayBuffer> }} Reply
 */

/** The worker was ended before it answered. */
export class Dropped extends Error {}

/** The WebAssembly module has panicked. */
export class Panic extends Error {}

/** A worker with the WebAssembly module. */
export class Client {
  /** @type {Worker} */
  #worker;
  /** @type {Map<number, { resolve: (reply: any) => void, reject: (error: Error) => void }>} */
  #waiting = new Map();
  #last = 0;
  /** Memory of the module after its last answer, in bytes. */
  memory = 0;

  /** @param {() => Worker} startWorker Starts a worker with the module. */
  constructor(startWorker) {
    this.startWorker = startWorker;
    this.#worker = this.#start();
  }

  #start() {
    const worker = this.startWorker();
    worker.onmessage = ({ data }) => {
      const waiting = this.#waiting.get(data.id);
      this.#waiting.delete(data.id);
      if (data.panic === undefined) return waiting?.resolve(data);
      this.restart();
      waiting?.reject(new Panic(data.panic));
    };
    worker.onerror = (event) => { throw new Error(`worker: ${event.message}`); };
    return worker;
  }

  /** Whether a request has no answer yet. */
  get isBusy() {
    return this.#waiting.size > 0;
  }

  /** Ends the worker and starts a new one. Open requests are dropped. */
  restart() {
    this.end();
    this.#worker = this.#start();
  }

  /** Ends the worker. Open requests are dropped. */
  end() {
    this.#worker.terminate();
    for (const { reject } of this.#waiting.values()) reject(new Dropped("the worker was ended"));
    this.#waiting.clear();
  }

  /** @param {object} request @param {Uint8Array} [content] Bytes that the request is about. @returns {Promise<Reply>} */
  async ask(request, content) {
    const { text, ...bytes } = await this.askText(request, content);
    return { answer: JSON.parse(text), ...bytes };
  }

  /** Returns the answer as JSON text. @param {object} request @param {Uint8Array} [content] */
  async askText(request, content) {
    const id = ++this.#last;
    /** @type {{ json: string, segments: Uint8Array, lags: Uint8Array, series: Uint8Array, trace: Uint8Array<ArrayBuffer>, memory: number }} */
    const { json, segments, lags, series, trace, memory } = await new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.#worker.postMessage({ id, request: JSON.stringify(request), content }, content ? [content.buffer] : []);
    });
    this.memory = memory;
    return { text: json, segments, lags, series, trace };
  }
}

/** Reads the module that the page contains as gzip in base64. @param {string} text */
export async function readModule(text) {
  const packed = Uint8Array.from(atob(text.trim()), (letter) => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return WebAssembly.compileStreaming(new Response(stream, { headers: { "content-type": "application/wasm" } }));
}
