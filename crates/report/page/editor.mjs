// SPDX-License-Identifier: GPL-2.0-or-later
// Editor of workload texts, by CodeMirror. The page imports it when the reader opens the text.
import {
  EditorState, EditorView, StyleModule, bracketMatching, history, historyKeymap, keymap, lineNumbers, lintKeymap, setDiagnostics,
  standardKeymap,
} from "./codemirror.mjs";
import { languageOf } from "./languages.mjs";

/** Characters that end a wrong word. */
const WORD = /^[^\s,:#{}[\]]+/;

const theme = EditorView.theme({
  "&": { backgroundColor: "var(--field)", border: "1px solid var(--line)", borderRadius: "5px", fontSize: ".87rem", margin: "4px 0" },
  "&.cm-focused": { outline: "2px solid var(--accent)", outlineOffset: "1px" },
  ".cm-scroller": { fontFamily: "monospace", lineHeight: "1.4", maxHeight: "min(26em, 70vh)", overflow: "auto" },
  ".cm-content": { caretColor: "var(--text)", minHeight: "14em" },
  ".cm-gutters": { backgroundColor: "var(--field)", border: "0", color: "var(--quiet)" },
  ".cm-tooltip, .cm-panels": { backgroundColor: "var(--back)", border: "1px solid var(--line)", color: "var(--text)" },
  ".cm-panels.cm-panels-top": { borderWidth: "0 0 1px" },
  ".cm-panels.cm-panels-bottom": { borderWidth: "1px 0 0" },
  ".cm-textfield": { backgroundColor: "var(--field)", border: "1px solid var(--line)", fontSize: "inherit" },
  ".cm-button": { backgroundColor: "var(--field)", backgroundImage: "none", border: "1px solid var(--line)", fontSize: "inherit" },
  ".cm-panel.cm-panel-lint ul [aria-selected]": { backgroundColor: "var(--field)", color: "var(--text)" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul": { fontFamily: "monospace", maxWidth: "min(44em, 90vw)" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul > li[aria-selected]": { backgroundColor: "var(--accent)", color: "var(--back)" },
  ".cm-completionDetail": { fontStyle: "normal", opacity: ".85" },
  ".cm-tooltip.cm-completionInfo": { maxWidth: "min(26em, 80vw)" },
  ".cm-diagnostic-error": { borderLeftColor: "var(--mark)" },
  ".cm-lintRange-error": { backgroundImage: "none", textDecoration: "underline wavy var(--mark)", textUnderlineOffset: "3px" },
});

// CodeMirror puts its styles into an element, which the policy of the page forbids. The page has one editor, and no other adopted
// style sheets.
/** @type {Map<StyleModule, CSSStyleSheet>} */
const sheets = new Map();
StyleModule.mount = (_root, modules) => {
  document.adoptedStyleSheets = /** @type {StyleModule[]} */ ([modules].flat()).map((module) => {
    const sheet = sheets.get(module) ?? new CSSStyleSheet();
    if (!sheets.has(module)) sheet.replaceSync(module.getRules());
    sheets.set(module, sheet);
    return sheet;
  });
};

/** Editor of one text at a time. */
export class Editor {
  /** @type {EditorView} */
  #view;

  /**
   * @param {HTMLElement} parent
   * @param {import("./languages.mjs").ScenarioWords} words
   * @param {(text: string) => void} onEdit Called with the text after each change by the reader.
   */
  constructor(parent, words, onEdit) {
    this.words = words;
    this.onEdit = onEdit;
    this.#view = new EditorView({ state: this.#stateOf("", ""), parent });
  }

  /** Shows a text, without the history of the one before. @param {string} name @param {string} text */
  show(name, text) {
    this.#view.setState(this.#stateOf(name, text));
  }

  /** Marks the wrong word, or removes the mark. @param {import("./client.mjs").Message | null} error An error at a line of the text. */
  showError(error) {
    const { state } = this.#view, { line = null, column = null } = error?.place ?? {};
    const diagnostics = [];
    if (error && line !== null && line <= state.doc.lines) {
      const { from, to, text } = state.doc.line(line);
      // Columns are counted in characters, positions in UTF-16 code units.
      const before = [...text].slice(0, (column ?? 1) - 1).join("").length, length = WORD.exec(text.slice(before))?.[0].length ?? 1;
      const start = Math.min(from + before, to);
      diagnostics.push({ from: start, to: Math.min(start + length, to), severity: /** @type {const} */ ("error"), message: messageOf(error) });
    }
    this.#view.dispatch(setDiagnostics(state, diagnostics));
  }

  /** @param {string} name @param {string} text */
  #stateOf(name, text) {
    return EditorState.create({ doc: text, extensions: [
      languageOf(name, text, this.words), lineNumbers(), history(), bracketMatching(), theme, EditorView.lineWrapping,
      // Tab moves the focus.
      keymap.of([...standardKeymap, ...historyKeymap, ...lintKeymap]),
      // Tools for accessibility do not count editable elements among those that can have the focus.
      EditorView.contentAttributes.of({ id: "editor-text", tabindex: "0", "aria-label": "Workload text", spellcheck: "false" }),
      EditorView.updateListener.of(({ docChanged, state }) => { if (docChanged) this.onEdit(state.doc.toString()); }),
    ] });
  }
}

/** @param {import("./client.mjs").Message} error */
const messageOf = ({ text, help }) => help ? `${text}\nhelp: ${help}` : text;
