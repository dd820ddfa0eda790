// SPDX-License-Identifier: GPL-2.0-or-later
// Languages of workload texts: words that are highlighted, and completions.
import { HighlightStyle, StreamLanguage, autocompletion, syntaxHighlighting, tags } from "./codemirror.mjs";

/**
 * Words of scenario files, from `crates/workload`.
 * @typedef {object} ScenarioWords
 * @property {[keyword: string, syntax: string, meaning: string][]} statements
 * @property {string[]} operations Operations of a task's program.
 */

/** Colours have a contrast of at least 4.5 on the background of fields. */
const highlighting = syntaxHighlighting(HighlightStyle.define([
  { tag: tags.keyword, color: "var(--accent)", fontWeight: "600" },
  { tag: tags.typeName, color: "var(--accent)" },
  { tag: [tags.number, tags.atom], color: "light-dark(#8a4600, #f0b060)" },
  { tag: tags.propertyName, color: "light-dark(#6b3fa0, #c8a8ff)" },
  { tag: tags.string, color: "light-dark(#1b6a3c, #84cf9c)" },
  { tag: tags.comment, color: "var(--quiet)" },
]));

/** rt-app's JSON: with comments, single quotes, and commas before a closing bracket. */
const json = StreamLanguage.define({
  name: "rt-app",
  startState: () => ({ isComment: false }),
  token(stream, state) {
    if (state.isComment || stream.match("/*")) {
      state.isComment = !stream.match(/^.*?\*\//);
      if (state.isComment) stream.skipToEnd();
      return "comment";
    }
    if (stream.eatSpace()) return null;
    if (stream.match("//")) {
      stream.skipToEnd();
      return "comment";
    }
    if (stream.match(/^(?:"(?:[^"\\]|\\.)*"?|'(?:[^'\\]|\\.)*'?)/)) return stream.match(/^\s*:/, false) ? "propertyName" : "string";
    if (stream.match(/^-?\d[\d.eE+-]*/)) return "number";
    if (stream.match(/^(?:true|false|null)\b/)) return "atom";
    stream.next();
    return null;
  },
  languageData: { commentTokens: { line: "//", block: { open: "/*", close: "*/" } } },
});

/** Scenario files: a statement per line. @param {ScenarioWords} words */
function scenario({ statements, operations }) {
  const keywords = new Set(statements.map(([keyword]) => keyword)), programs = new Set(operations);
  return StreamLanguage.define({
    name: "scenario",
    startState: () => ({ statement: "" }),
    token(stream, state) {
      if (stream.sol()) state.statement = "";
      if (stream.eatSpace()) return null;
      if (stream.match("#")) {
        stream.skipToEnd();
        return "comment";
      }
      if (state.statement !== "" && stream.match(/^[a-z]+=/)) return "propertyName";
      const [word] = /** @type {RegExpMatchArray} */ (stream.match(/^[^\s#]+/));
      if (state.statement === "") {
        state.statement = word;
        return keywords.has(word) ? "keyword" : null;
      }
      if (/^-?\d[\d.]*(?:[num]?s)?(?:[-/:][\d.]+(?:[num]?s)?)*$/.test(word)) return "number";
      return state.statement === "task" && programs.has(word) ? "typeName" : null;
    },
    languageData: { commentTokens: { line: "#" } },
  });
}

/** Completes the statement with which a line begins. @param {ScenarioWords} words @returns {import("./codemirror.mjs").CompletionSource} */
function completeStatement({ statements }) {
  const options = statements.map(([label, detail, info]) => ({ label, detail, info, type: "keyword", apply: `${label} ` }));
  return ({ state, pos, explicit }) => {
    const { from, text } = state.doc.lineAt(pos), [, word] = /^\s*(\w*)$/.exec(text.slice(0, pos - from)) ?? [];
    if (word === undefined || (word === "" && !explicit)) return null;
    return { from: pos - word.length, options, validFor: /^\w*$/ };
  };
}

/** Place of a meaning: beside the list, or below it in a narrow window. @type {import("./codemirror.mjs").PositionInfo} */
function positionInfo(_view, list, option, info, space) {
  const isBeside = space.right - list.right >= info.right - info.left;
  return isBeside ? { style: `top: ${option.top - list.top}px`, class: "cm-completionInfo-right" }
    : { style: `top: ${list.bottom - list.top}px`, class: "cm-completionInfo-right-narrow" };
}

/**
 * What the editor knows of a file's language.
 * @param {string} name @param {string} text @param {ScenarioWords} words @returns {import("./codemirror.mjs").Extension}
 */
export function languageOf(name, text, words) {
  if (/\.json$/.test(name) || /^\s*(?:\{|\/\*)/.test(text)) return [json, highlighting];
  if (/\.rec$/.test(name)) return [];
  return [scenario(words), highlighting, autocompletion({ override: [completeStatement(words)], icons: false, positionInfo })];
}
