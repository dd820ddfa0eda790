// SPDX-License-Identifier: GPL-2.0-or-later
// Text of the workload: in an editor that is loaded when the reader opens the text, or in a plain field.
import { byId } from "./dom.mjs";

/** Longest text that can be edited, and longest that the editor takes, in characters. */
export const MAX_TEXT = 1 << 20;
const MAX_EDITOR_TEXT = 1 << 18;
/** Time without a keystroke after which an edited text is run, in milliseconds. */
const EDIT_PAUSE = 300;

/**
 * @typedef {import("./client.mjs").Message} Message
 * @typedef {() => Promise<typeof import("./editor.mjs")>} ImportEditor
 */

export class WorkloadText {
  #name = "";
  #text = "";
  /** Error of the last check. @type {Message | null} */
  #error = null;
  /** Timer that runs the edited text. */
  #timer = 0;
  /** @type {import("./editor.mjs").Editor | null} */
  #editor = null;
  #isLoading = false;
  /** Called with the text once the reader has paused. @type {(text: string) => void} */
  onEdit = () => {};

  /** @param {ImportEditor} importEditor @param {import("./languages.mjs").ScenarioWords} words */
  constructor(importEditor, words) {
    byId("text").oninput = () => this.#edit(byId("text").value);
    byId("edit").ontoggle = () => { if (byId("edit").open) this.#load(importEditor, words); };
  }

  /** Shows the text of a workload. The history of changes ends if it is another one. @param {string} name @param {string} text */
  show(name, text) {
    byId("edit").hidden = text.length > MAX_TEXT;
    if (name === this.#name && text === this.#text) return;
    this.forget();
    this.#name = name;
    this.#text = text;
    this.#error = null;
    this.#fill();
  }

  /** Shows where the text is wrong. @param {Message | null} error */
  showError(error) {
    const isHere = error?.place?.file === this.#name && this.#timer === 0;
    this.#error = isHere ? error : null;
    this.#editor?.showError(this.#error);
  }

  /** Forgets a change that has not run yet. */
  forget() {
    clearTimeout(this.#timer);
    this.#timer = 0;
  }

  /** @param {string} text */
  #edit(text) {
    this.forget();
    this.#text = text;
    this.#timer = setTimeout(() => {
      this.#timer = 0;
      this.onEdit(text);
    }, EDIT_PAUSE);
  }

  /** Puts the text into the editor if it is loaded and takes it, otherwise into the field. */
  #fill() {
    const isInEditor = this.#editor !== null && this.#text.length <= MAX_EDITOR_TEXT, isTooLong = this.#text.length > MAX_TEXT;
    byId("editor-part").hidden = !isInEditor;
    byId("text").hidden = isInEditor;
    byId("text").value = isInEditor || isTooLong ? "" : this.#text;
    this.#editor?.show(this.#name, isInEditor ? this.#text : "");
    this.#editor?.showError(this.#error);
  }

  /** Loads the editor. The field stays if this fails. @param {ImportEditor} importEditor @param {import("./languages.mjs").ScenarioWords} words */
  async #load(importEditor, words) {
    if (this.#isLoading) return;
    this.#isLoading = true;
    try {
      const { Editor } = await importEditor();
      this.#editor = new Editor(byId("editor-part"), words, (text) => this.#edit(text));
    } catch (error) {
      return console.warn(`the editor cannot be loaded: ${error}`);
    }
    const hasFocus = document.activeElement === byId("text");
    this.#fill();
    if (hasFocus) byId("editor-text").focus();
  }
}
