// SPDX-License-Identifier: GPL-2.0-or-later
// What the page uses of CodeMirror. `cargo xtask lab vendor` bundles it into codemirror.mjs.
export { EditorState } from "@codemirror/state";
export { EditorView, keymap, lineNumbers } from "@codemirror/view";
export { standardKeymap, history, historyKeymap } from "@codemirror/commands";
export { HighlightStyle, StreamLanguage, bracketMatching, syntaxHighlighting } from "@codemirror/language";
export { lintKeymap, setDiagnostics } from "@codemirror/lint";
export { autocompletion } from "@codemirror/autocomplete";
export { tags } from "@lezer/highlight";
export { StyleModule } from "style-mod";
