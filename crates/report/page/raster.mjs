// SPDX-License-Identifier: GPL-2.0-or-later
// Pixels of a timeline row: each shows the family that ran longest in its time, as strong as its CPU was busy.
import { firstEndingAfter } from "./timeline-data.mjs";

/** Steps between an idle and a busy pixel. */
const LEVELS = 16;
/** Least strength of a pixel in which anything ran. */
const MIN_LEVEL = 3;
/** Segments of this width in pixels and more have a gap before them. */
const GAP_FROM = 4;

/**
 * Colours of families, as pixels of an image.
 * @typedef {object} Palette
 * @property {Uint32Array} pixels For each family, [LEVELS] pixels from idle to busy.
 * @property {number} background
 */

/**
 * @param {[number, number, number][]} colours Red, green and blue of each family.
 * @param {[number, number, number]} background
 * @returns {Palette}
 */
export function palette(colours, background) {
  /** @param {number[]} colour */
  const pixel = ([red, green, blue]) => (255 << 24 | blue << 16 | green << 8 | red) >>> 0;
  const pixels = new Uint32Array(colours.length * LEVELS);
  colours.forEach((colour, family) => {
    for (let level = 0; level < LEVELS; level++) {
      const strength = level / (LEVELS - 1);
      pixels[family * LEVELS + level] = pixel(colour.map((part, at) => Math.round(background[at] + (part - background[at]) * strength)));
    }
  });
  return { pixels, background: pixel(background) };
}

/**
 * Colour of each segment of a row.
 * @typedef {object} Keys
 * @property {ArrayLike<number>} keys Key of each segment, such as its thread.
 * @property {ArrayLike<number>} familyOf Position in the palette for each key.
 * @property {number} running Position in the palette for the thread that the CPU runs.
 */

/** Draws rows of one width into an image. */
export class Raster {
  /** @param {number} width @param {number} height @param {Palette} colours */
  constructor(width, height, colours) {
    this.width = width;
    this.colours = colours;
    this.image = new ImageData(width, height);
    this.pixels = new Uint32Array(this.image.data.buffer).fill(colours.background);
    /** Busy part of each pixel of the present row, and the longest part of one segment. */
    this.busy = new Float32Array(width);
    this.longest = new Float32Array(width);
    this.family = new Uint16Array(width);
  }

  /**
   * Draws a row.
   * @param {import("./timeline-data.mjs").Row} row
   * @param {Keys} keys
   * @param {{ from: number, to: number }} view Time that the width stands for.
   * @param {number} until Time up to which the CPU's present thread has run.
   * @param {number} top @param {number} height
   */
  drawRow(row, { keys, familyOf, running }, view, until, top, height) {
    const { width, busy, longest } = this, scale = width / (view.to - view.from);
    busy.fill(0);
    longest.fill(0);
    const { start, end, length } = row;
    const { from, to } = view, { family } = this;
    for (let index = firstEndingAfter(row, from); index < length && start[index] < to; index++) {
      const left = (start[index] - from) * scale, right = (end[index] - from) * scale, pixel = left | 0;
      if (left < 0 || right > pixel + 1) {
        this.#add(left, right, familyOf[keys[index]]);
        continue;
      }
      // Most segments of a crowded row lie within a pixel.
      const part = right - left;
      busy[pixel] += part;
      if (part > longest[pixel]) {
        longest[pixel] = part;
        family[pixel] = familyOf[keys[index]];
      }
    }
    if (row.running && row.running.since < view.to && until > view.from) {
      this.#add((row.running.since - view.from) * scale, (until - view.from) * scale, running);
    }
    this.#paint(top, height);
  }

  /**
   * Draws a row of averages over equal parts of a run as colours of values.
   * @param {Uint32Array} values @param {number} most Value of the last colour.
   * @param {{ from: number, to: number }} view @param {number} length Length of the run, in ns.
   * @param {number} top @param {number} height
   */
  drawSeries(values, most, view, length, top, height) {
    const { width, pixels, colours } = this, first = top * width, nr = colours.pixels.length / LEVELS;
    for (let pixel = 0; pixel < width; pixel++) {
      const at = view.from + (pixel + 0.5) * (view.to - view.from) / width, part = Math.floor(at / length * values.length);
      const shade = Math.min(nr - 1, Math.floor((values[part] ?? 0) / most * nr));
      pixels[first + pixel] = colours.pixels[shade * LEVELS + LEVELS - 1];
    }
    for (let line = 1; line < height; line++) pixels.copyWithin(first + line * width, first, first + width);
  }

  /** @param {number} from @param {number} to @param {number} family */
  #add(from, to, family) {
    const { width, busy, longest } = this, hasGap = to - from >= GAP_FROM && from >= 0;
    from = Math.max(0, from) + (hasGap ? 1 : 0);
    to = Math.min(width, to);
    for (let pixel = Math.floor(from); pixel < to; pixel++) {
      const part = Math.min(to, pixel + 1) - Math.max(from, pixel);
      busy[pixel] += part;
      if (part > longest[pixel]) {
        longest[pixel] = part;
        this.family[pixel] = family;
      }
    }
  }

  /**
   * Stretches of equal colour in a line of the image, without those of the background.
   * @param {number} line @returns {{ from: number, to: number, colour: string }[]}
   */
  stretches(line) {
    const { width, pixels, colours } = this, found = [];
    for (let pixel = 0; pixel < width;) {
      const value = pixels[line * width + pixel], from = pixel;
      while (pixel < width && pixels[line * width + pixel] === value) pixel++;
      const part = (/** @type {number} */ shift) => (value >> shift & 255).toString(16).padStart(2, "0");
      if (value !== colours.background) found.push({ from, to: pixel, colour: `#${part(0)}${part(8)}${part(16)}` });
    }
    return found;
  }

  /** @param {number} top @param {number} height */
  #paint(top, height) {
    const { width, busy, family, pixels, colours } = this, first = top * width;
    for (let pixel = 0; pixel < width; pixel++) {
      const part = busy[pixel];
      if (part === 0) {
        pixels[first + pixel] = colours.background;
        continue;
      }
      const level = Math.min(LEVELS - 1, Math.max(MIN_LEVEL, Math.round(part * (LEVELS - 1))));
      pixels[first + pixel] = colours.pixels[family[pixel] * LEVELS + level];
    }
    for (let line = 1; line < height; line++) pixels.copyWithin(first + line * width, first, first + width);
  }
}
