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
 * @property {Float64Array} waited Wait for a CPU before the segment, in ns.
 * @property {{ thread: number, since: number } | null} running Thread that the CPU runs at the end of the last part.
 */

const INITIAL_CAPACITY = 64;

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

/** @returns {Row} */
export function emptyRow() {
  return {
    length: 0,
    start: new Float64Array(INITIAL_CAPACITY),
    end: new Float64Array(INITIAL_CAPACITY),
    thread: new Uint32Array(INITIAL_CAPACITY),
    waited: new Float64Array(INITIAL_CAPACITY),
    running: null,
  };
}

/** @param {Row} row @param {number} capacity */
function reserve(row, capacity) {
  if (row.start.length >= capacity) return;
  const size = Math.max(capacity, 2 * row.start.length);
  /** @template {Float64Array | Uint32Array} T @param {T} old @param {T} grown @returns {T} */
  const grow = (old, grown) => { grown.set(old); return grown; };
  row.start = grow(row.start, new Float64Array(size));
  row.end = grow(row.end, new Float64Array(size));
  row.thread = grow(row.thread, new Uint32Array(size));
  row.waited = grow(row.waited, new Float64Array(size));
}

/**
 * Appends the segments of a part to the rows, one row per CPU. The first segment of each CPU has its time from the start of the
 * run, so a part can be read without those before it.
 * @param {Row[]} rows @param {Uint8Array} bytes @param {boolean} isRestart Whether the part replaces all earlier ones.
 */
export function appendPart(rows, bytes, isRestart) {
  const reader = new ByteReader(bytes);
  for (const row of rows) {
    const count = reader.number();
    if (isRestart) row.length = 0;
    reserve(row, row.length + count);
    let last = 0;
    for (let index = row.length; index < row.length + count; index++) {
      row.start[index] = last + reader.number();
      last = row.end[index] = row.start[index] + reader.number();
      row.thread[index] = reader.number();
      const isMerged = reader.number() > 1;
      if (isMerged) reader.number();
      row.waited[index] = reader.number();
      reader.number();
      reader.number();
    }
    row.length += count;
    const running = reader.number();
    row.running = running > 0 ? { thread: running - 1, since: reader.number() } : null;
  }
  if (!reader.isAtEnd()) throw new Error("the timeline has more bytes than rows");
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
