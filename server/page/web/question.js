// A question on the screen, and the result of a call.

import { siblings } from "./conversation.js";
import { copyButton } from "./clipboard.js";
import { button, el, say, show } from "./dom.js";
import { plural } from "./format.js";
import { icon } from "./icons.js";
import { describe, thumb } from "./thumb.js";
import { values } from "./calls.js";

export class QuestionTurn {
  constructor(node, app) {
    this.node = node;
    this.app = app;
    this.variants = new Variants(node, app, "wording");
    this.costs = node.pictures.map(() => el("figcaption"));
    const pictures = node.pictures.map((picture, i) =>
      el("figure", {}, thumb(picture, app.store.picture(picture.id)), this.costs[i]),
    );
    this.element = el(
      "article",
      { class: "turn question", tabindex: "-1", aria: { label: "Your question" } },
      el("h2", { class: "unseen", text: "Your question" }),
      pictures.length > 0 && el("div", { class: "pictures" }, pictures),
      node.text && el("div", { class: "bubble", text: node.text }),
      el(
        "div",
        { class: "actions" },
        this.variants.element,
        copyButton("Copy the question", () => node.text),
        button("Edit the question", icon("edit"), () => app.edit(node)),
      ),
    );
  }

  update() {
    this.variants.update();
    this.element.classList.toggle("edited", this.app.editing === this.node);
    this.node.pictures.forEach((picture, i) => {
      if (!picture.receipt) return;
      say(this.costs[i], plural(picture.receipt.soft_tokens, "token"));
      this.costs[i].title = describe(picture).join(" · ");
    });
  }
}

export class ResultTurn {
  constructor(node) {
    this.node = node;
    this.element = el(
      "article",
      { class: "turn call", tabindex: "-1", aria: { label: `Result of ${node.name}` } },
      el("h2", {}, icon("check"), `Result of ${node.name}`),
      values(node.text),
    );
  }

  update() {}
}

// Variants leaf through the nodes that stand in one place.
export class Variants {
  constructor(node, app, what) {
    Object.assign(this, { node, app });
    this.previous = button(`Previous ${what}`, icon("left"), () => this.step(-1));
    this.next = button(`Next ${what}`, icon("right"), () => this.step(1));
    this.text = el("span");
    this.element = el(
      "span",
      { class: "variants", role: "group", aria: { label: `Choose the ${what}` } },
      this.previous,
      this.text,
      this.next,
    );
  }

  step(by) {
    const all = siblings(this.app.conversation, this.node);
    this.app.choose(all[all.indexOf(this.node) + by], by);
  }

  update() {
    const all = siblings(this.app.conversation, this.node);
    const at = all.indexOf(this.node);
    show(this.element, all.length > 1);
    say(this.text, `${at + 1} / ${all.length}`);
    this.previous.disabled = at === 0;
    this.next.disabled = at === all.length - 1;
  }
}
