// SPDX-License-Identifier: GPL-2.0-or-later
// Numbers and times as text.

/** @type {[string, number][]} */
const UNITS = [["s", 1e9], ["ms", 1e6], ["\u00b5s", 1e3]];

/**
 * A duration with three digits, in its largest unit.
 * @param {number} ns
 */
export function duration(ns) {
  const [unit, size] = UNITS.find(([, size]) => Math.abs(ns) >= size) ?? ["ns", 1];
  const value = ns / size, digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  return unit === "ns" ? `${Math.round(ns)} ns` : `${value.toFixed(digits)} ${unit}`;
}

/**
 * A moment of a run, exact, as the command prints it.
 * @param {number} ns
 */
export function moment(ns) {
  return ns >= 1e6 ? `${trimmed(ns / 1e6, 6)} ms` : ns >= 1e3 ? `${trimmed(ns / 1e3, 3)} \u00b5s` : `${ns} ns`;
}

/**
 * A moment on an axis whose marks are `stepNs` apart.
 * @param {number} ns @param {number} stepNs
 */
export function axisMoment(ns, stepNs) {
  const digits = Math.max(0, Math.ceil(-Math.log10(stepNs / 1e6) - 1e-9));
  return `${(ns / 1e6).toFixed(Math.min(6, digits))} ms`;
}

/** @param {number} number */
export const count = (number) => number.toLocaleString("en");

/** A number with its noun. @param {number} number @param {string} noun */
export const plural = (number, noun) => `${count(number)} ${noun}${number === 1 ? "" : "s"}`;

/** @param {number} share */
export const percent = (share) => `${(100 * share).toFixed(1)} %`;

/** An energy with three digits. @param {number} uj */
export function energy(uj) {
  if (uj < 1e3) return `${uj} \u00b5J`;
  return uj < 1e6 ? `${(uj / 1e3).toPrecision(3)} mJ` : `${(uj / 1e6).toPrecision(3)} J`;
}

/** A word of a shell's command line. @param {string} word */
export const shellWord = (word) => /^[\w./:=,+-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;

/** @param {number} value @param {number} digits */
function trimmed(value, digits) {
  return value.toFixed(digits).replace(/\.?0+$/, "");
}
