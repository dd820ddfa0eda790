// SPDX-License-Identifier: GPL-2.0-or-later
// Lag of one task over time in both arms, below the timeline and with its range of time (kernels with EEVDF).
import { duration } from "./format.mjs";
import { ByteReader } from "./timeline-data.mjs";

const HEIGHT = 120, MARGIN = 8;
/** State of a task after a sample. */
const RUNS = 1, SLEEPS = 2;
/** Added to the state of a sample of another CPU than that of the task's previous sample. */
const MOVED = 4;
/** Least range of the vertical axis, in ns. */
const MIN_RANGE = 1e3;

/**
 * Samples of a task: at each of its wake-ups and switches. Times are in ns from the start of the run, lags in ns of virtual time.
 * @typedef {{ length: number, at: Float64Array, phase: Uint8Array, hasMoved: Uint8Array, lag: Float64Array }} LagSamples
 */

/**
 * Reads the samples of a run, by thread.
 * @param {Uint8Array} bytes @returns {Map<number, LagSamples>}
 */
export function readLags(bytes) {
  const reader = new ByteReader(bytes), tasks = new Map();
  while (!reader.isAtEnd()) {
    const thread = reader.number(), length = reader.number();
    const samples = { length, at: new Float64Array(length), phase: new Uint8Array(length), hasMoved: new Uint8Array(length), lag: new Float64Array(length) };
    let last = 0;
    for (let index = 0; index < length; index++) {
      last = samples.at[index] = last + reader.number();
      const phase = reader.number();
      samples.phase[index] = phase % MOVED;
      samples.hasMoved[index] = phase >= MOVED ? 1 : 0;
      samples.lag[index] = reader.signed();
      reader.signed();
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

  /** Tasks of the workload that have lags, by name, the one with the largest lag first. @param {import("./arm.mjs").ArmRun[]} arms */
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

  /** @param {import("./arm.mjs").ArmRun[]} arms @param {string} name */
  choose(arms, name) {
    this.arms = arms.map((arm) => arm.lags.get(arm.threads.findIndex((thread) => thread?.name === name && !thread.is_kernel)));
  }

  /** @param {{ from: number, to: number }} view @param {number} gutter Width before the range of time. @param {string[]} colours */
  draw(view, gutter, colours) {
    const { canvas } = this, width = canvas.clientWidth, scale = devicePixelRatio, style = getComputedStyle(canvas);
    canvas.style.height = `${HEIGHT}px`;
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(HEIGHT * scale);
    const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
    context.scale(scale, scale);
    context.font = `11px ${style.fontFamily}`;
    const parts = this.arms.map((samples) => samples && { samples, first: sampleBefore(samples, view.from), last: Math.min(samples.length - 1, sampleBefore(samples, view.to) + 1) });
    let range = MIN_RANGE;
    for (const part of parts) {
      for (let index = part?.first ?? 0; part && index <= part.last; index++) range = Math.max(range, Math.abs(part.samples.lag[index]));
    }
    const x = (/** @type {number} */ at) => gutter + (at - view.from) / (view.to - view.from) * (width - gutter);
    const y = (/** @type {number} */ lag) => HEIGHT / 2 - lag / range * (HEIGHT / 2 - MARGIN);
    context.fillStyle = style.getPropertyValue("--quiet");
    context.textAlign = "right";
    context.textBaseline = "middle";
    for (const value of [range, 0, -range]) context.fillText(value === 0 ? "0" : duration(value), gutter - 6, y(value));
    context.strokeStyle = context.fillStyle;
    context.globalAlpha = 0.4;
    context.strokeRect(gutter, y(0), width - gutter, 0);
    context.globalAlpha = 1;
    context.beginPath();
    context.rect(gutter, 0, width - gutter, HEIGHT);
    context.clip();
    parts.forEach((part, arm) => {
      if (!part) return;
      const { samples: { at, phase, hasMoved, lag }, first, last } = part;
      context.strokeStyle = colours[arm];
      context.lineWidth = 1.5;
      context.setLineDash(arm === 0 ? [] : [5, 3]);
      context.beginPath();
      let isOpen = false;
      for (let index = first; index <= last; index++) {
        // Lags of different queues are not connected.
        if (isOpen && !hasMoved[index]) context.lineTo(x(at[index]), y(lag[index]));
        else context.moveTo(x(at[index]), y(lag[index]));
        isOpen = phase[index] !== SLEEPS;
      }
      context.stroke();
    });
  }
}
