// SPDX-License-Identifier: GPL-2.0-or-later
// Colours of families, tasks and values.

/**
 * Colours that colour-blind people tell apart: M. Okabe and K. Ito, "Color Universal Design" (2008), without black and with a
 * darker yellow, which are both visible on light and dark pages.
 */
export const COLOURS = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#b8a800"];
/** Colour of kernel threads, and of tasks that a search does not find. */
export const KERNEL_COLOUR = "#8a939c", FADED_COLOUR = "#8a939c55";

/** Colours of times in which a task waits for a CPU, and in which it is throttled. */
export const WAITS_COLOUR = "#c1121f", THROTTLED_COLOUR = "#6a4c93";

/** The colour of a category; the colours repeat. @param {number} index */
export const category = (index) => COLOURS[index % COLOURS.length];

// The map cividis: J. Nunez, C. Anderson, R. Renslow, "Optimizing colormaps with consideration for color vision deficiency to
// enable accurate interpretation of scientific data", PLoS ONE 13(7), 2018.
const CIVIDIS = ["#00224e", "#1a386f", "#434e6c", "#61656f", "#7d7c78", "#9b9476", "#bcae6c", "#dec958", "#fee838"].map(rgb);

/** Number of colours of values. */
export const NR_SHADES = 64;

/** The colour of a value from 0 to 1. @param {number} value @returns {[number, number, number]} */
export function shade(value) {
  const at = Math.max(0, Math.min(1, value)) * (CIVIDIS.length - 1), low = Math.min(Math.floor(at), CIVIDIS.length - 2);
  const parts = CIVIDIS[low].map((part, index) => Math.round(part + (CIVIDIS[low + 1][index] - part) * (at - low)));
  return /** @type {[number, number, number]} */ (parts);
}

/** @param {[number, number, number]} colour */
export const css = ([red, green, blue]) => `rgb(${red} ${green} ${blue})`;

/** Red, green and blue of a colour. @param {string} colour @returns {[number, number, number]} */
export function rgb(colour) {
  if (colour.startsWith("#")) return /** @type {[number, number, number]} */ ([1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16)));
  const parts = colour.match(/[\d.]+/g)?.map(Number) ?? [];
  return [parts[0] ?? 255, parts[1] ?? 255, parts[2] ?? 255];
}

/** Black or white, the one that is easier to read on a colour. @param {[number, number, number]} colour */
export function inkOn([red, green, blue]) {
  return 0.3 * red + 0.59 * green + 0.11 * blue > 120 ? "#000" : "#fff";
}
