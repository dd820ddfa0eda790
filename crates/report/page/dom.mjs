// SPDX-License-Identifier: GPL-2.0-or-later
// Elements of the page.

/** @param {string} id @returns {any} */
export const byId = (id) => document.getElementById(id);

/** @param {string} tag @param {Record<string, unknown>} [properties] @param {(Node | string)[]} children @returns {any} */
export function element(tag, properties = {}, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

/** An element with a text. @param {string} tag @param {string} text */
export const textElement = (tag, text) => element(tag, { textContent: text });

/** A button. @param {string} id @param {string} text @param {() => void} onclick */
export const button = (id, text, onclick) => element("button", { type: "button", id, textContent: text, onclick });

/** A heading with sentences. Sentences with a leading space are details. @param {string} title @param {string[]} sentences */
export function section(title, sentences) {
  const items = sentences.map((sentence) => element("li", { textContent: sentence.trim(), className: sentence.startsWith(" ") ? "detail" : "" }));
  return element("div", {}, textElement("h2", title), element("ul", {}, ...items));
}

/** A row of a table. @param {(Node | string)[]} cells */
export function tableRow(cells) {
  return element("tr", {}, ...cells.map((cell) => typeof cell === "string" ? textElement("td", cell) : cell));
}

/** Fills a table. @param {string} id @param {(Node | string)[]} head @param {(Node | string)[][]} rows */
export function fillTable(id, head, rows) {
  const heads = head.map((cell) => typeof cell === "string" ? element("th", { scope: "col", textContent: cell }) : cell);
  byId(id).replaceChildren(element("thead", {}, tableRow(heads)), element("tbody", {}, ...rows.map((cells) => tableRow(cells))));
}

/** Options of a selection. The selected one stays if it still exists. @param {any} select @param {[string, string][]} options Texts and values. */
export function fillSelect(select, options) {
  const chosen = select.value;
  select.replaceChildren(...options.map(([text, value]) => new Option(text, value)));
  select.value = options.some(([, value]) => value === chosen) ? chosen : options[0]?.[1] ?? "";
}

/** An entry of a legend. @param {string} text @param {string} colour @param {string} [dash] Style of a line, or `hatched`. */
export function legendItem(text, colour, dash) {
  const sign = document.createElement("i");
  if (dash === "hatched") {
    sign.className = dash;
    sign.style.setProperty("--hatching", colour);
  } else if (dash) {
    sign.className = "line";
    sign.style.borderTop = `3px ${dash} ${colour}`;
  } else {
    sign.style.background = colour;
  }
  return element("li", {}, sign, text);
}

/**
 * A canvas that is as wide as its place on the page.
 * @param {HTMLCanvasElement} canvas @param {number} height In pixels of the page.
 */
export function surface(canvas, height) {
  const width = canvas.clientWidth, scale = devicePixelRatio, style = getComputedStyle(canvas);
  canvas.style.height = `${height}px`;
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(height * scale);
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  context.scale(scale, scale);
  context.font = `11px ${style.fontFamily}`;
  context.textBaseline = "middle";
  return { context, width, style };
}
