// SPDX-License-Identifier: GPL-2.0-or-later
// Lessons: a question about a change of arm B, and the answer that follows from runs of both arms.
import { byId, element, section, textElement } from "./dom.mjs";

/** Worker that derives answers: that of arm B. */
const WORKER = 1;

/**
 * @typedef {import("./live.mjs").Spec} Spec
 * @typedef {{ name: string, title: string, published?: string, lesson: string, change: string, question: string, metric: string, choices: string[],
 *   specs: [Spec, Spec] }} Lesson
 * @typedef {{ answer: string, metric: string, texts: [string, string], difference: string | null, reasons: [string[], string[]],
 *   rule: string }} DerivedAnswer
 */

export class Lessons {
  /** @type {Lesson[]} */
  #all = [];
  /** The open lesson. @type {Lesson | null} */
  #open = null;
  /** Answers of the reader, by name of the lesson. @type {Record<string, string>} */
  #answers = {};

  /** @param {import("./view.mjs").View} view @param {import("./live.mjs").LiveArms} live @param {string} version Version of fairlab. */
  constructor(view, live, version) {
    this.view = view;
    this.live = live;
    live.onLesson = () => this.#recall();
    live.onUpdate = (spec) => { if (this.#open && spec !== this.#open.specs[0]) this.#close(); };
    byId("lesson").onchange = () => {
      const lesson = this.#all.find(({ name }) => name === byId("lesson").value);
      if (lesson) return this.#show(lesson);
      this.#close();
      live.update();
    };
    byId("answer-lesson").onclick = () => this.#answer();
    byId("next-lesson").onclick = () => this.#next();
    byId("save-answers").onclick = () => {
      const answers = { schema: "answers/1", fairlab: version, answers: this.#answers };
      view.save("fairlab-answers.json", "application/json", `${JSON.stringify(answers, null, 2)}\n`);
    };
  }

  /** Fills the list of lessons. */
  async load() {
    this.#all = await this.live.lessons();
    const options = this.#all.map(({ name, title }, index) => new Option(`${index + 1}. ${title}`, name));
    const groupOf = (/** @type {string} */ label, /** @type {boolean} */ isStory) =>
      element("optgroup", { label }, ...options.filter((_, index) => (this.#all[index].published !== undefined) === isStory));
    byId("lesson").replaceChildren(new Option("none", ""), groupOf("Lessons", false), groupOf("Published patches", true));
    this.#recall();
  }

  /** Opens the lesson of the address. */
  #recall() {
    const lesson = this.#all.find(({ name }) => name === this.live.lesson);
    if (!lesson) return;
    byId("lesson").value = lesson.name;
    this.#show(lesson);
  }

  /** Asks the question of a lesson, and runs its arm A. An answered lesson shows both arms. @param {Lesson} lesson */
  #show(lesson) {
    const known = this.#answers[lesson.name];
    this.#open = lesson;
    this.live.lesson = lesson.name;
    byId("lesson-part").hidden = false;
    byId("lesson-title").textContent = lesson.title;
    byId("lesson-published").textContent = lesson.published ?? "";
    byId("lesson-text").textContent = lesson.lesson;
    byId("lesson-question").textContent = lesson.question;
    byId("lesson-result").replaceChildren();
    const choices = lesson.choices.map((choice, index) => {
      const input = element("input", { type: "radio", name: "lesson-choice", id: `choice-${index}`, value: choice, checked: choice === known });
      input.onchange = () => { byId("answer-lesson").disabled = false; };
      return element("label", {}, input, ` ${choice}`);
    });
    byId("lesson-choices").replaceChildren(byId("lesson-question"), ...choices);
    byId("answer-lesson").disabled = true;
    if (known !== undefined) return this.#showAnswer(lesson, known);
    this.#setAnswered(false);
    return this.live.runSpec(lesson.specs[0], null);
  }

  /** Takes the chosen answer. */
  #answer() {
    const lesson = this.#open, chosen = /** @type {HTMLInputElement | null} */ (document.querySelector("input[name=lesson-choice]:checked"));
    if (!lesson || !chosen) return;
    this.#answers[lesson.name] = chosen.value;
    this.#showAnswer(lesson, chosen.value);
    byId("next-lesson").focus();
  }

  /** Runs both arms and shows what follows from them. @param {Lesson} lesson @param {string} choice */
  async #showAnswer(lesson, choice) {
    this.#setAnswered(true);
    const { features = {}, tunables = {} } = lesson.specs[1].settings;
    try {
      await this.live.runSpec(lesson.specs[0], { features, tunables });
      const { answer: { derived, error } } = await this.live.clients[WORKER].ask({ derive: { run: 0, lesson: lesson.name } });
      if (this.#open !== lesson) return;
      if (!derived) return this.live.showError(error ?? null);
      this.#showDerived(choice, lesson.change, derived);
    } catch (error) {
      this.live.showFailure(error);
    }
  }

  /** @param {string} choice @param {string} change @param {DerivedAnswer} derived */
  #showDerived(choice, change, { answer, metric, texts: [a, b], difference, reasons, rule }) {
    const verdict = choice === answer ? `Right: ${answer}.` : `Wrong. The answer is: ${answer}.`;
    byId("lesson-result").replaceChildren(
      element("p", {}, textElement("b", verdict), ` With ${change}, ${metric} is ${b}; without it, ${a}.`),
      textElement("p", difference ?? "The arms run the same tasks at all times, and differ in the work of the kernel."),
      element("div", { className: "reasons" }, ...reasons.map((sentences, arm) => section(`Arm ${"AB"[arm]}`, sentences))),
      element("p", {}, ...rule.split("`").map((text, index) => index % 2 === 1 ? textElement("code", text) : text)),
    );
  }

  /** @param {boolean} isAnswered */
  #setAnswered(isAnswered) {
    for (const input of byId("lesson-choices").querySelectorAll("input")) input.disabled = isAnswered;
    byId("answer-lesson").hidden = isAnswered;
    byId("change").hidden = !isAnswered;
    byId("save-answers").disabled = Object.keys(this.#answers).length === 0;
  }

  /** Opens the lesson behind the open one, after the last one the first. */
  #next() {
    const index = this.#all.findIndex((lesson) => lesson === this.#open), next = this.#all[(index + 1) % this.#all.length];
    byId("lesson").value = next.name;
    this.#show(next);
    byId("lesson-choices").querySelector("input").focus();
  }

  /** Leaves the lesson. The next run has both arms. */
  #close() {
    this.#open = this.live.lesson = null;
    this.live.hidesArmB = false;
    byId("lesson").value = "";
    byId("lesson-part").hidden = true;
    byId("change").hidden = false;
  }
}
