// SPDX-License-Identifier: GPL-2.0-or-later
// Types of what the page uses of CodeMirror.

export type Extension = object | readonly Extension[];
export interface Line { readonly from: number; readonly to: number; readonly number: number; readonly text: string }
export interface Text { readonly length: number; readonly lines: number; line(number: number): Line; lineAt(position: number): Line; toString(): string }
export interface Transaction { readonly state: EditorState }
export interface Update { readonly docChanged: boolean; readonly state: EditorState }
interface Facet<Input> { of(value: Input): Extension }

export class EditorState {
  static create(config: { doc: string, extensions: Extension }): EditorState;
  static readonly phrases: Facet<Record<string, string>>;
  readonly doc: Text;
}

export interface KeyBinding { key?: string }
export const keymap: Facet<readonly KeyBinding[]>;
export class EditorView {
  constructor(config: { state: EditorState, parent?: Element });
  static readonly lineWrapping: Extension;
  static readonly contentAttributes: Facet<Record<string, string>>;
  static readonly updateListener: Facet<(update: Update) => void>;
  static theme(rules: Record<string, Record<string, string>>): Extension;
  readonly dom: HTMLElement;
  readonly state: EditorState;
  setState(state: EditorState): void;
  dispatch(...transactions: object[]): void;
}
export function lineNumbers(): Extension;

export const historyKeymap: readonly KeyBinding[], lintKeymap: readonly KeyBinding[], standardKeymap: readonly KeyBinding[];
export function history(): Extension;

export interface StringStream {
  eatSpace(): boolean;
  eol(): boolean;
  match(pattern: string | RegExp, consume?: boolean): boolean | RegExpMatchArray | null;
  next(): string | void;
  skipToEnd(): void;
  sol(): boolean;
}
export class StreamLanguage {
  static define<State>(parser: { name: string, startState(): State, token(stream: StringStream, state: State): string | null, languageData?: Record<string, unknown> }): Extension;
}
export interface Tag { readonly set: readonly Tag[] }
export const tags: Record<"atom" | "comment" | "keyword" | "number" | "propertyName" | "string" | "typeName", Tag>;
export class HighlightStyle { static define(specs: readonly { tag: Tag | readonly Tag[], [property: string]: unknown }[]): HighlightStyle }
export function syntaxHighlighting(style: HighlightStyle): Extension;
export function bracketMatching(): Extension;

export interface Diagnostic { from: number; to: number; severity: "error" | "warning" | "info"; message: string }
export function setDiagnostics(state: EditorState, diagnostics: readonly Diagnostic[]): object;

export interface Completion { label: string; detail?: string; info?: string; type?: string; apply?: string }
export interface CompletionContext { readonly state: EditorState; readonly pos: number; readonly explicit: boolean }
export interface CompletionResult { from: number; options: readonly Completion[]; validFor?: RegExp }
export type CompletionSource = (context: CompletionContext) => CompletionResult | null;
/** Rectangles are those of the list, the option, the text about it, and the window. */
export type PositionInfo = (view: EditorView, list: DOMRect, option: DOMRect, info: DOMRect, space: DOMRect) => { style: string, class: string };
export function autocompletion(options: { override: readonly CompletionSource[], icons?: boolean, positionInfo?: PositionInfo }): Extension;

export class StyleModule {
  static mount(root: Document | ShadowRoot, modules: StyleModule | readonly StyleModule[]): void;
  getRules(): string;
}
