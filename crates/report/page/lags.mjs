// SPDX-License-Identifier: GPL-2.0-or-later
// Lag and virtual deadline of one task over time in both arms, below the timeline and with its range of time (kernels with EEVDF).
import { surface } from "./dom.mjs";
import { duration, moment } from "./format.mjs";
import { ByteReader } from "./timeline-data.mjs";

const HEIGHT = 120, MARGIN = 8;
/** State of a task after a sample. */
const RUNS = 1, SLEEPS = 2, STATES = ["waits", "runs", "sleeps", "sleeps, still queued"];
/** Added to the state of a sample of another CPU than that of the task's previous sample. */
const MOVED = 4;
/** Least range of the vertical axis, in ns. */
const MIN_RANGE = 1e3;

/**
 * Samples of a task: at each of its wake-ups and switches. Times are in ns from the start of the run, lags and times until
 * the deadline in ns of virtual time.
 * @typedef {{ length: number, at: Float64Array, phase: Uint8Array, hasMoved: Uint8Array, lag: Float64Array, until: Float64Array }} LagSamples
 */

/**
 * Reads the samples of a run, by thread.
 * @param {Uint8Array} bytes @returns {Map<number, LagSamples>}
 */
export function readLags(bytes) {
  const reader = new ByteReader(bytes), tasks = new Map();
  while (!reader.isAtEnd()) {
    const thread = reader.number(), length = reader.number();
    const samples = { length, at: new Float64Array(length), phase: new Uint8Array(length), hasMoved: new Uint8Array(length), lag: new Float64Array(length), until: new Float64Array(length) };
    let last = 0;
    for (let index = 0; index < length; index++) {
      last = samples.at[index] = last + reader.number();
      const phase = reader.number();
      samples.phase[index] = phase % MOVED;
      samples.hasMoved[index] = phase >= MOVED ? 1 : 0;
      samples.lag[index] = reader.signed();
      samples.until[index] = reader.signed();
    }
    tasks.set(thread, samples);
  }
  return tasks;
}

/** Index of the last sample at or before a time, or 0. @param {LagSamples} samples @param {number} time */
function sampleBefore({ at, length }, time) {
  let low = 0, high = length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (at[middle] <= time) low = middle + 1; else high = middle;
  }
  return Math.max(0, low - 1);
}

/** Chart of the lag of a task. */
export class LagChart {
  /** Samples of the task in each arm. @type {(LagSamples | undefined)[]} */
  arms = [];

  /** @param {HTMLCanvasElement} canvas */
  constructor(canvas) {
    this.canvas = canvas;
  }

  /** Tasks of the workload that have lags, by name, the one with the largest lag first. @param {import("./arm.mjs").Arm[]} arms */
  static tasks(arms) {
    /** @type {Map<string, number>} */
    const largest = new Map();
    for (const arm of arms) {
      for (const [thread, { phase, lag }] of arm.lags) {
        const { name = "", is_kernel = true } = arm.threads[thread] ?? {};
        if (is_kernel || !phase.includes(RUNS)) continue;
        largest.set(name, lag.reduce((most, value) => Math.max(most, Math.abs(value)), largest.get(name) ?? 0));
      }
    }
    return [...largest.keys()].sort((one, other) => (largest.get(other) ?? 0) - (largest.get(one) ?? 0));
  }

  /** @param {import("./arm.mjs").Arm[]} arms @param {string} name */
  choose(arms, name) {
    this.arms = arms.map((arm) => arm.lags.get(arm.threads.findIndex((thread) => thread?.name === name && !thread.is_kernel)));
  }

  /** Range of time and width before it, as they were drawn last. */
  #drawn = { view: { from: 0, to: 1 }, gutter: 0 };

  /** @param {{ from: number, to: number }} view @param {number} gutter Width before the range of time. @param {string[]} colours */
  draw(view, gutter, colours) {
    this.#drawn = { view, gutter };
    const { context, width, style } = surface(this.canvas, HEIGHT);
    const parts = this.arms.map((samples) => samples && { samples, first: sampleBefore(samples, view.from), last: Math.min(samples.length - 1, sampleBefore(samples, view.to) + 1) });
    let range = MIN_RANGE;
    for (const part of parts) {
      for (let index = part?.first ?? 0; part && index <= part.last; index++) {
        range = Math.max(range, Math.abs(part.samples.lag[index]), Math.abs(part.samples.until[index]));
      }
    }
    const x = (/** @type {number} */ at) => gutter + (at - view.from) / (view.to - view.from) * (width - gutter);
    const y = (/** @type {number} */ value) => HEIGHT / 2 - value / range * (HEIGHT / 2 - MARGIN);
    context.fillStyle = context.strokeStyle = style.getPropertyValue("--quiet");
    context.textAlign = "right";
    for (const value of [range, 0, -range]) context.fillText(value === 0 ? "0" : duration(value), gutter - 6, y(value));
    context.globalAlpha = 0.4;
    context.strokeRect(gutter, y(0), width - gutter, 0);
    context.beginPath();
    context.rect(gutter, 0, width - gutter, HEIGHT);
    context.clip();
    parts.forEach((part, arm) => {
      if (!part) return;
      context.strokeStyle = colours[arm];
      const { lag, until } = part.samples;
      for (const { values, alpha, dash } of [{ values: until, alpha: 0.5, dash: arm === 0 ? [1, 3] : [5, 3, 1, 3] }, { values: lag, alpha: 1, dash: arm === 0 ? [] : [5, 3] }]) {
        context.globalAlpha = alpha;
        context.lineWidth = 1.5;
        context.setLineDash(dash);
        context.beginPath();
        LagChart.#line(context, part, values, x, y);
        context.stroke();
      }
    });
  }

  /**
   * Adds a line through the samples of a task while it is queued on one CPU. The lag of a task that leaves is its last one; a
   * deadline has a meaning only while the task is queued.
   * @param {CanvasRenderingContext2D} context @param {{ samples: LagSamples, first: number, last: number }} part
   * @param {Float64Array} values @param {(at: number) => number} x @param {(value: number) => number} y
   */
  static #line(context, { samples: { at, phase, hasMoved, lag }, first, last }, values, x, y) {
    let isOpen = false;
    for (let index = first; index <= last; index++) {
      const isQueued = phase[index] !== SLEEPS;
      if (hasMoved[index]) isOpen = false;
      if (isOpen && (isQueued || values === lag)) context.lineTo(x(at[index]), y(values[index]));
      if (!isOpen && isQueued) context.moveTo(x(at[index]), y(values[index]));
      isOpen = isQueued;
    }
  }

  /** The samples at a position of the canvas as text. @param {number} position */
  textAt(position) {
    const { view, gutter } = this.#drawn, width = this.canvas.clientWidth;
    const at = view.from + (position - gutter) / (width - gutter) * (view.to - view.from);
    return this.arms.flatMap((samples, arm) => {
      if (!samples || position < gutter) return [];
      const index = sampleBefore(samples, at), isQueued = samples.phase[index] !== SLEEPS;
      const deadline = isQueued ? `, deadline in ${duration(samples.until[index])}` : "";
      return [`${"AB"[arm]}, ${moment(samples.at[index])}: ${STATES[samples.phase[index]]}, lag ${duration(samples.lag[index])}${deadline}`];
    }).join("; ");
  }
}
