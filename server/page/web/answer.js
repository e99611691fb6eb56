// An answer on the screen, while it comes and afterwards.

import { advice } from "./api.js";
import { Calls } from "./calls.js";
import { codeBlock, copyButton } from "./clipboard.js";
import { button, el, say, show } from "./dom.js";
import { facts, notes, summary } from "./facts.js";
import { count, percent, seconds } from "./format.js";
import { icon } from "./icons.js";
import { Rendering } from "./markdown/render.js";
import { Variants } from "./question.js";

export class AnswerTurn {
  constructor(node, app) {
    Object.assign(this, { node, app });
    this.phase = new Phase();
    this.thought = new Thought();
    this.body = el("div", { class: "prose" });
    this.rendering = new Rendering(this.body, codeBlock);
    this.calls = new Calls(node, (results) => app.results(node, results));
    this.failure = el("div", { class: "failure" });
    this.notes = el("ul", { class: "notes" });
    this.facts = el("details", { class: "facts" }, el("summary"), el("dl"));
    this.variants = new Variants(node, app, "answer");
    this.copy = copyButton("Copy the answer", () => node.text);
    this.actions = el(
      "div",
      { class: "actions" },
      this.variants.element,
      this.copy,
      button("Answer again", icon("retry"), () => app.retry(node)),
      this.facts,
    );
    this.element = el(
      "article",
      { class: "turn answer", tabindex: "-1", aria: { label: "Answer" } },
      el("h2", { class: "unseen", text: "Answer" }),
      this.thought.element,
      this.phase.element,
      this.body,
      this.calls.element,
      this.failure,
      this.notes,
      this.actions,
    );
  }

  update(open) {
    const { node } = this;
    const running = node.state === "running";
    this.element.classList.toggle("running", running);
    this.element.setAttribute("aria-busy", running);
    this.phase.update(running && !node.text ? this.app.runOf(node) : null, node);
    this.thought.update(node, running);
    if (this.text !== node.text) this.rendering.update(node.text);
    this.text = node.text;
    this.calls.update(open);
    this.end(running);
    this.variants.update();
  }

  // end shows what is only known of an answer that does not run any more.
  end(running) {
    const { node } = this;
    show(this.actions, !running);
    show(this.copy, node.text !== "");
    show(this.failure, node.state === "failed");
    if (this.state === node.state && this.known === node.facts) return;
    this.state = node.state;
    this.known = node.facts;
    if (node.state === "failed") this.failure.replaceChildren(...this.failed());
    const told = running ? [] : notes(node);
    this.notes.replaceChildren(...told.map((text) => el("li", { text })));
    show(this.notes, told.length > 0);
    show(this.facts, !running && Boolean(node.facts));
    if (!node.facts) return;
    say(this.facts.firstChild, summary(node));
    this.facts.lastChild.replaceChildren(
      ...facts(node).flatMap(([name, value]) => [el("dt", { text: name }), el("dd", { text: value })]),
    );
  }

  failed() {
    const { error } = this.node;
    const hint = advice(error);
    const act =
      error.code === "invalid_api_key"
        ? el("button", {
            type: "button",
            class: "plain",
            text: "Enter the key",
            on: { click: () => this.app.askKey() },
          })
        : el("button", {
            type: "button",
            class: "plain",
            text: "Try again",
            on: { click: () => this.app.retry(this.node) },
          });
    return [
      el("p", {}, icon("warn"), el("span", { text: error.message })),
      hint && el("p", { class: "hint", text: hint }),
      el("p", {}, act),
    ].filter(Boolean);
  }
}

// A Phase says what happens before the first word.
class Phase {
  constructor() {
    this.text = el("span");
    this.bar = el("progress", { max: "100", aria: { label: "Progress of the prompt" } });
    this.element = el("div", { class: "phase" }, this.text, this.bar);
  }

  update(run, node) {
    show(this.element, run !== null && run !== undefined && !node.reasoning && node.calls.length === 0);
    if (this.element.hidden) return;
    const p = run.progress;
    say(this.text, p ? phaseText(p) : "Waiting for the first word");
    show(this.bar, p !== null && p.phase !== "queue");
    if (p) this.bar.value = p.percent;
  }
}

function phaseText(p) {
  const left = p.remaining_seconds > 1 ? `, about ${seconds(p.remaining_seconds)} left` : "";
  switch (p.phase) {
    case "queue":
      return p.queue_position > 1
        ? `Waiting: ${count(p.queue_position)} answers come first`
        : "Waiting: another answer comes first";
    case "encode":
      return `Looking at the pictures, ${percent(p.percent / 100)}${left}`;
  }
  return `Reading ${count(p.total)} tokens, ${percent(p.percent / 100)}${left}`;
}

// A Thought is the model's reasoning: open while it comes, folded when the answer begins, then as the user likes.
class Thought {
  constructor() {
    this.summary = el("summary", { on: { click: () => (this.touched = true) } });
    this.body = el("div", { class: "prose" });
    this.rendering = new Rendering(this.body, codeBlock);
    this.element = el("details", { class: "thought" }, this.summary, this.body);
  }

  update(node, running) {
    show(this.element, Boolean(node.reasoning));
    if (!node.reasoning) return;
    const thinking = running && !node.text && node.calls.length === 0;
    if (!this.touched) this.element.open = thinking;
    say(
      this.summary,
      thinking ? "Thinking" : node.thoughtSeconds ? `Thought for ${seconds(node.thoughtSeconds)}` : "Thought",
    );
    if (this.text !== node.reasoning) this.rendering.update(node.reasoning);
    this.text = node.reasoning;
  }
}
