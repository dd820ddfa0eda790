// SPDX-License-Identifier: GPL-2.0-or-later
// Timeline of a run as typed arrays, built from the parts that the WebAssembly module sends.

/**
 * Segments of a CPU in order: times in which one thread ran, in ns from the start of the run. A merged segment has the thread
 * that ran longest.
 * @typedef {object} Row
 * @property {number} length Number of segments.
 * @property {Float64Array} start
 * @property {Float64Array} end
 * @property {Uint32Array} thread
 * @property {Uint32Array} nr Number of merged segments.
 * @property {Float64Array} busy Time in which any thread ran, in ns.
 * @property {Float64Array} waited Wait for a CPU before the segment, in ns.
 * @property {Float64Array} throttled Throttled time before the segment, in ns.
 * @property {Uint8Array} rule Rule that selected the CPU, counted from 1; 0 if none is known.
 * @property {{ thread: number, since: number } | null} running Thread that the CPU runs at the end of the last part.
 */

const INITIAL_CAPACITY = 64;
/** Length in ns of a difference that is worth a look. */
const MIN_DIFFERENCE = 2e4;

/** Reads numbers in LEB128. */
export class ByteReader {
  /** @param {Uint8Array} bytes */
  constructor(bytes) {
    this.bytes = bytes;
    this.position = 0;
  }

  number() {
    let value = 0, factor = 1;
    for (;;) {
      const byte = this.bytes[this.position++];
      value += (byte & 127) * factor;
      if (byte < 128) return value;
      factor *= 128;
    }
  }

  /** A number whose lowest bit is its sign. */
  signed() {
    const value = this.number();
    return value % 2 === 1 ? -(value + 1) / 2 : value / 2;
  }

  isAtEnd() {
    return this.position >= this.bytes.length;
  }
}

/** Fields of a row that have a number for each segment. @type {["start", "end", "thread", "nr", "busy", "waited", "throttled", "rule"]} */
const FIELDS = ["start", "end", "thread", "nr", "busy", "waited", "throttled", "rule"];

/** @param {number} [capacity] @returns {Row} */
export function emptyRow(capacity = INITIAL_CAPACITY) {
  return {
    length: 0,
    start: new Float64Array(capacity),
    end: new Float64Array(capacity),
    thread: new Uint32Array(capacity),
    nr: new Uint32Array(capacity),
    busy: new Float64Array(capacity),
    waited: new Float64Array(capacity),
    throttled: new Float64Array(capacity),
    rule: new Uint8Array(capacity),
    running: null,
  };
}

/** @param {Row} row @param {number} capacity */
function reserve(row, capacity) {
  if (row.start.length >= capacity) return;
  const grown = emptyRow(Math.max(capacity, 2 * row.start.length));
  for (const field of FIELDS) {
    grown[field].set(row[field].subarray(0, row.length));
    Object.assign(row, { [field]: grown[field] });
  }
}

/**
 * Appends the segments of a CPU. The first one has its time from the start of the run, so a part can be read without those
 * before it.
 * @param {Row} row @param {ByteReader} reader
 */
function appendSegments(row, reader) {
  const count = reader.number();
  reserve(row, row.length + count);
  const { start, end, thread, nr, busy, waited, throttled, rule } = row;
  let last = 0;
  for (let index = row.length; index < row.length + count; index++) {
    start[index] = last + reader.number();
    last = end[index] = start[index] + reader.number();
    thread[index] = reader.number();
    nr[index] = reader.number();
    busy[index] = nr[index] > 1 ? reader.number() : last - start[index];
    waited[index] = reader.number();
    throttled[index] = reader.number();
    rule[index] = reader.number();
  }
  row.length += count;
}

/**
 * Appends a part of a run in progress to the rows, one row per CPU.
 * @param {Row[]} rows @param {Uint8Array} bytes @param {boolean} isRestart Whether the part replaces all earlier ones.
 */
export function appendPart(rows, bytes, isRestart) {
  const reader = new ByteReader(bytes);
  for (const row of rows) {
    if (isRestart) row.length = 0;
    appendSegments(row, reader);
    const running = reader.number();
    row.running = running > 0 ? { thread: running - 1, since: reader.number() } : null;
  }
  if (!reader.isAtEnd()) throw new Error("the timeline has more bytes than rows");
}

/** Reads the rows of a recorded run. @param {Uint8Array} bytes @param {number} nrCpus @returns {Row[]} */
export function readRows(bytes, nrCpus) {
  const reader = new ByteReader(bytes);
  const rows = Array.from({ length: nrCpus }, () => emptyRow(0));
  for (const row of rows) appendSegments(row, reader);
  if (!reader.isAtEnd()) throw new Error("the timeline has more bytes than rows");
  return rows;
}

/** Averages of a CPU over equal parts of a run; runnable tasks and idle state in hundredths. @typedef {Record<"util" | "khz" | "nr_running" | "idle", Uint32Array>} CpuSeries */

/** Reads the averages of all CPUs. @param {Uint8Array} bytes @returns {CpuSeries[]} */
export function readSeries(bytes) {
  const reader = new ByteReader(bytes), parts = reader.number(), cpus = [];
  const values = () => {
    const list = new Uint32Array(parts);
    for (let at = 0; at < parts;) {
      const value = reader.number(), next = at + reader.number();
      list.fill(value, at, next);
      at = next;
    }
    return list;
  };
  while (!reader.isAtEnd()) cpus.push({ util: values(), khz: values(), nr_running: values(), idle: values() });
  return cpus;
}

/**
 * Index of the first segment that ends after a time.
 * @param {Row} row @param {number} time
 */
export function firstEndingAfter(row, time) {
  let low = 0, high = row.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (row.end[middle] <= time) low = middle + 1; else high = middle;
  }
  return low;
}

/**
 * Times of a task: those in which it ran, and the same with those in which it waited.
 * @typedef {object} TaskRow
 * @property {Row} runs
 * @property {Row} all Segments in which the task waited have the thread's index plus the number of threads; those in which it
 *   was throttled, plus twice the number.
 * @property {number[]} cpu CPU of each segment of [runs].
 */

/** Rows of the tasks of the workload, by name. @param {{ rows: Row[], threads: import("./client.mjs").Thread[] }} arm */
export function taskRows({ rows, threads }) {
  /** @type {Map<string, { cpu: number, index: number, start: number }[]>} */
  const lists = new Map();
  for (const { name, is_kernel } of threads) if (!is_kernel) lists.set(name, []);
  rows.forEach((row, cpu) => {
    for (let index = 0; index < row.length; index++) lists.get(threads[row.thread[index]].name)?.push({ cpu, index, start: row.start[index] });
  });
  /** @type {Map<string, TaskRow>} */
  const tasks = new Map();
  for (const [name, list] of lists) {
    list.sort((left, right) => left.start - right.start);
    const runs = emptyRow(list.length), all = emptyRow(3 * list.length);
    let last = 0;
    const add = (/** @type {number} */ thread, /** @type {number} */ start, /** @type {number} */ end) => {
      if (end <= start) return;
      Object.entries({ thread, start, end, nr: 1, busy: end - start }).forEach(([field, value]) => { all[/** @type {"start"} */ (field)][all.length] = value; });
      all.length++;
    };
    for (const { cpu, index } of list) {
      const row = rows[cpu], thread = row.thread[index], start = row.start[index], waits = Math.max(last, start - row.waited[index]);
      for (const field of FIELDS) runs[field][runs.length] = row[field][index];
      runs.length++;
      add(thread + 2 * threads.length, Math.max(last, waits - row.throttled[index]), waits);
      add(thread + threads.length, waits, start);
      add(thread, start, row.end[index]);
      last = row.end[index];
    }
    tasks.set(name, { runs, all, cpu: list.map(({ cpu }) => cpu) });
  }
  return tasks;
}

/**
 * Times in ns at which a CPU begins to run different tasks of the workload in two arms, in order. Later differences that are
 * shorter than [MIN_DIFFERENCE] are left out.
 * @param {{ rows: Row[], threads: import("./client.mjs").Thread[] }[]} arms @returns {{ at: number, cpu: number }[]}
 */
export function differences(arms) {
  /** @type {{ cpu: number, from: number, to: number }[]} */
  const found = [], nrCpus = Math.max(...arms.map(({ rows }) => rows.length));
  for (let cpu = 0; cpu < nrCpus; cpu++) {
    const lists = arms.map((arm) => occupancies(arm, cpu)), next = [0, 0];
    for (let at = 0, since = -1; at < Infinity;) {
      const now = lists.map((list, arm) => list[next[arm]]);
      const names = now.map((segment) => segment && segment.start <= at ? segment.name : "");
      if (names[0] === names[1] && since >= 0) found.push({ cpu, from: since, to: at });
      since = names[0] === names[1] ? -1 : since >= 0 ? since : at;
      const ends = now.map((segment) => !segment ? Infinity : segment.start <= at ? segment.end : segment.start);
      at = Math.min(...ends);
      now.forEach((segment, arm) => { if (segment && segment.end <= at) next[arm]++; });
      if (at === Infinity && since >= 0) found.push({ cpu, from: since, to: Infinity });
    }
  }
  const first = Math.min(...found.map(({ from }) => from));
  const kept = found.filter(({ from, to }) => from === first || to - from >= MIN_DIFFERENCE);
  return kept.map(({ cpu, from }) => ({ at: from, cpu })).sort((left, right) => left.at - right.at || left.cpu - right.cpu);
}

/** Times in which a CPU runs one task of the workload. @param {{ rows: Row[], threads: import("./client.mjs").Thread[] }} arm @param {number} cpu */
function occupancies({ rows, threads }, cpu) {
  /** @type {{ start: number, end: number, name: string }[]} */
  const list = [], row = rows[cpu];
  for (let index = 0; index < (row?.length ?? 0); index++) {
    const thread = threads[row.thread[index]], last = list.at(-1);
    if (thread.is_kernel) continue;
    if (last && last.end === row.start[index] && last.name === thread.name) last.end = row.end[index];
    else list.push({ start: row.start[index], end: row.end[index], name: thread.name });
  }
  return list;
}
