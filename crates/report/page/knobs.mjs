// SPDX-License-Identifier: GPL-2.0-or-later
// The change of arm B: features and tunables of the kernel, found by typing.
import { element } from "./dom.mjs";
import { duration } from "./format.mjs";

/**
 * @typedef {{ series: string, scenario: string, effect: string }} Demo
 * @typedef {{ name: string, series: string[], meaning: string, demos: Demo[] }} Feature
 * @typedef {Feature & { unit: string, min: number, max: number, test_values: [number, number] }} Tunable
 * @typedef {{ name: string, description: string, nr_cpus: number, kernel: string }} Machine
 * @typedef {{ machines: Machine[], kernels: { name: string, series: string }[], features: Feature[], tunables: Tunable[] }} Catalogue
 * @typedef {{ features: Record<string, boolean>, tunables: Record<string, number> }} Change
 */

/** Positions of a slider on each side of the value in arm A. */
const LIMIT = 15;
/** Positions per doubling of the value. */
const PER_DOUBLING = 3;
/** Ranges with so many values have a position for each. */
const MAX_POSITIONS = 64;
/** Most results of a search. */
const MAX_RESULTS = 6;

/** @param {number} value @param {string} unit */
function valueText(value, unit) {
  const factor = { ns: 1, us: 1e3, ms: 1e6 }[unit];
  return factor && value > 0 ? duration(value * factor) : `${value}`;
}

export class Knobs {
  /** Names of the shown switches, in the order in which they were added. */
  shown = ["base_slice_ns"];
  /** @type {Change} */
  change = { features: {}, tunables: {} };
  /** @type {Catalogue | null} */
  catalogue = null;
  /** State of arm A. @type {Change} */
  defaults = { features: {}, tunables: {} };
  series = "";

  /**
   * @param {HTMLElement} list Place of the switches.
   * @param {HTMLInputElement} search @param {HTMLElement} results
   * @param {() => void} onChange
   */
  constructor(list, search, results, onChange) {
    this.list = list;
    this.search = search;
    this.results = results;
    this.onChange = onChange;
    search.addEventListener("input", () => this.#find());
    search.addEventListener("keydown", (event) => {
      if (event.key === "Escape") this.#close();
      const first = results.querySelector("button");
      if (event.key === "Enter" && first) first.click();
    });
  }

  /** Switches that differ from arm A. @returns {Change} */
  changes() {
    /** @template T @param {Record<string, T>} values @param {Record<string, T>} defaults */
    const different = (values, defaults) => Object.fromEntries(Object.entries(values).filter(([name, value]) => value !== defaults[name]));
    return { features: different(this.change.features, this.defaults.features), tunables: different(this.change.tunables, this.defaults.tunables) };
  }

  /** The change as an arm of `fairlab compare`. */
  text() {
    const { features, tunables } = this.changes();
    const ofFeatures = Object.entries(features).map(([name, isOn]) => isOn ? name : `NO_${name}`);
    return [...ofFeatures, ...Object.entries(tunables).map(([name, value]) => `${name}=${value}`)].join(",");
  }

  /** Scenarios in which the changed switches make a difference. */
  demos() {
    const { features, tunables } = this.changes();
    return [...Object.keys(features), ...Object.keys(tunables)].flatMap((name) =>
      (this.#entryOf(name)?.demos ?? []).filter((demo) => demo.series === this.series).map((demo) => ({ name, ...demo })));
  }

  /** Takes the state of arm A. Switches that its kernel does not have are removed. @param {Change} defaults @param {string} kernel */
  setDefaults(defaults, kernel) {
    this.defaults = defaults;
    this.series = this.catalogue?.kernels.find(({ name }) => name === kernel)?.series ?? "";
    this.shown = this.shown.filter((name) => name in defaults.features || name in defaults.tunables);
    for (const name of Object.keys(this.change.features)) if (!(name in defaults.features)) delete this.change.features[name];
    for (const name of Object.keys(this.change.tunables)) if (!(name in defaults.tunables)) delete this.change.tunables[name];
    this.draw();
  }

  /** Takes a change as a whole, with its switches. @param {Change} change */
  take(change) {
    this.change = change;
    this.shown = [...new Set([...Object.keys(change.features), ...Object.keys(change.tunables)])];
    if (this.shown.length === 0) this.shown = ["base_slice_ns"];
  }

  /** @param {string} name */
  #entryOf(name) {
    return this.catalogue?.features.find((one) => one.name === name) ?? this.catalogue?.tunables.find((one) => one.name === name);
  }

  /** Draws all switches. An element that has the focus stays. */
  draw() {
    const rows = new Map([.../** @type {HTMLCollectionOf<HTMLElement>} */ (this.list.children)].map((row) => [row.dataset.name, row]));
    const wanted = this.shown.map((name) => rows.get(name) ?? this.#row(name));
    if (wanted.length !== this.list.children.length || wanted.some((row, index) => this.list.children[index] !== row)) {
      this.list.replaceChildren(...wanted);
    }
    for (const name of this.shown) this.#showValue(name);
  }

  /** @param {string} name */
  #row(name) {
    const isFeature = name in this.defaults.features, id = `knob-${name}`;
    const entry = this.#entryOf(name);
    const remove = element("button", { type: "button", id: `remove-${name}`, ariaLabel: `Remove ${name}`, textContent: "\u00d7" });
    remove.onclick = () => this.#remove(name);
    const title = element("label", { htmlFor: id, title: entry?.meaning ?? "" }, element("code", { textContent: name }));
    const row = element("div", { className: "knob" }, title);
    row.dataset.name = name;
    if (isFeature) {
      const input = element("input", { id, type: "checkbox", role: "switch" });
      input.onchange = () => this.#setFeature(name, input.checked);
      row.append(input);
    } else {
      const slider = element("input", { id, type: "range", step: 1 });
      slider.oninput = () => this.#setTunable(name, this.#valueAt(name, Number(slider.value)));
      const { min = 0, max = 0, unit = "" } = /** @type {Partial<Tunable>} */ (entry ?? {});
      const number = element("input", { id: `${id}-value`, type: "number", min, max, ariaLabel: `${name}, ${unit}` });
      number.onchange = () => { if (number.reportValidity() && number.value !== "") this.#setTunable(name, Number(number.value)); };
      row.append(slider, number, element("output", { htmlFor: id }));
    }
    row.append(remove, element("small", { textContent: entry?.meaning ?? "" }));
    return row;
  }

  /** @param {string} name */
  #showValue(name) {
    const id = `knob-${name}`, input = /** @type {any} */ (document.getElementById(id));
    if (name in this.defaults.features) {
      input.checked = this.change.features[name] ?? this.defaults.features[name];
      return;
    }
    const value = this.change.tunables[name] ?? this.defaults.tunables[name], isDefault = value === this.defaults.tunables[name];
    const unit = /** @type {Tunable | undefined} */ (this.#entryOf(name))?.unit ?? "", [first, last] = this.#positions(name);
    input.min = first;
    input.max = last;
    input.value = this.#positionOf(name, value);
    /** @type {any} */ (document.getElementById(`${id}-value`)).value = value;
    const text = `${valueText(value, unit)}${isDefault ? " (as A)" : ""}`;
    /** @type {HTMLElement} */ (input.parentElement.querySelector("output")).textContent = text;
    input.setAttribute("aria-valuetext", text);
  }

  /** @param {string} name */
  #range(name) {
    const entry = /** @type {Tunable | undefined} */ (this.#entryOf(name)), fallback = this.defaults.tunables[name];
    return entry?.unit === "0 or 1" ? { min: 0, max: 1 } : { min: entry?.min ?? fallback, max: entry?.max ?? fallback };
  }

  /** First and last position of a slider. @param {string} name */
  #positions(name) {
    const { min, max } = this.#range(name);
    return max - min <= MAX_POSITIONS ? [min, max] : [-LIMIT, LIMIT];
  }

  /** @param {string} name @param {number} position */
  #valueAt(name, position) {
    const { min, max } = this.#range(name), middle = this.defaults.tunables[name];
    if (max - min <= MAX_POSITIONS) return position;
    // Without a value to double, positions to the right double from 1.
    const value = position === 0 ? middle : middle > 0 ? middle * 2 ** (position / PER_DOUBLING) : position < 0 ? min : 2 ** (2 * (position - 1));
    return Math.min(max, Math.max(min, Math.round(value)));
  }

  /** @param {string} name @param {number} value */
  #positionOf(name, value) {
    const [first, last] = this.#positions(name);
    let best = first;
    for (let position = first; position <= last; position++) {
      if (Math.abs(this.#valueAt(name, position) - value) < Math.abs(this.#valueAt(name, best) - value)) best = position;
    }
    return best;
  }

  /** @param {string} name @param {boolean} isOn */
  #setFeature(name, isOn) {
    this.change.features[name] = isOn;
    this.#changed(name);
  }

  /** @param {string} name @param {number} value */
  #setTunable(name, value) {
    this.change.tunables[name] = value;
    this.#changed(name);
  }

  /** @param {string} name */
  #changed(name) {
    this.#showValue(name);
    this.onChange();
  }

  /** @param {string} name */
  #remove(name) {
    this.shown = this.shown.filter((one) => one !== name);
    delete this.change.features[name];
    delete this.change.tunables[name];
    this.draw();
    this.search.focus();
    this.onChange();
  }

  /** Adds a switch, a feature with its other state. @param {string} name */
  add(name) {
    if (!this.shown.includes(name)) this.shown.push(name);
    if (name in this.defaults.features) this.change.features[name] = !this.defaults.features[name];
    this.#close();
    this.draw();
    document.getElementById(`knob-${name}`)?.focus();
    if (name in this.defaults.features) this.onChange();
  }

  #close() {
    this.search.value = "";
    this.results.replaceChildren();
  }

  /** Lists the switches of arm A's kernel whose names or meanings have all typed words. */
  #find() {
    const words = this.search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const all = [...this.catalogue?.features ?? [], ...this.catalogue?.tunables ?? []];
    const exists = all.filter(({ name }) => name in this.defaults.features || name in this.defaults.tunables);
    const inName = (/** @type {Feature} */ { name }) => words.every((word) => name.toLowerCase().includes(word));
    const found = exists.filter(({ name, meaning }) => words.every((word) => `${name} ${meaning}`.toLowerCase().includes(word)));
    found.sort((one, other) => Number(inName(other)) - Number(inName(one)));
    const items = words.length === 0 ? [] : found.slice(0, MAX_RESULTS).map(({ name, meaning }) => {
      const button = element("button", { type: "button", id: `add-${name}` }, element("code", { textContent: name }), ` ${meaning}`);
      button.onclick = () => this.add(name);
      return element("li", {}, button);
    });
    if (words.length > 0 && items.length === 0) items.push(element("li", { textContent: "No feature or tunable of this kernel has these words." }));
    this.results.replaceChildren(...items);
  }
}
