// Tool calls, readably: names and values instead of JSON where that is possible.

import { el, say, show } from "./dom.js";
import { icon } from "./icons.js";

// values shows JSON text: a flat object as names and values, other JSON indented, anything else as it is.
export function values(text) {
  let value;
  try {
    value = JSON.parse(text);
  } catch {
    return el("pre", { tabindex: "0" }, el("code", { text }));
  }
  const flat =
    value !== null &&
    typeof value === "object" &&
    !Array.isArray(value) &&
    Object.values(value).every((v) => typeof v !== "object" || v === null);
  if (!flat)
    return el(
      "pre",
      { tabindex: "0" },
      el("code", { text: typeof value === "object" ? JSON.stringify(value, null, 2) : text }),
    );
  const pairs = Object.entries(value);
  if (pairs.length === 0) return el("p", { class: "hint", text: "without arguments" });
  return el(
    "dl",
    {},
    pairs.map(([name, v]) => [el("dt", { text: name }), el("dd", { text: String(v) })]),
  );
}

// A CallView shows one call and, while nothing answered it, a field for the result.
export class CallView {
  constructor(call) {
    this.call = call;
    this.title = el("h3", {}, icon("tool"), el("span"));
    this.content = el("div");
    this.field = el("textarea", { rows: "2", spellcheck: "false", placeholder: "JSON or text" });
    this.answer = el("label", { class: "block" }, "Result", this.field);
    this.element = el("div", { class: "call" }, this.title, this.content, this.answer);
  }

  update(open) {
    const { call } = this;
    say(this.title.lastChild, `Calls ${call.name}`);
    this.field.setAttribute("aria-label", `Result of ${call.name}`);
    if (this.shown !== call.arguments) this.content.replaceChildren(values(call.arguments));
    this.shown = call.arguments;
    show(this.answer, open);
  }
}

// Calls shows the calls of an answer. send is told the results, by call, when all are entered.
export class Calls {
  constructor(node, send) {
    this.node = node;
    this.views = [];
    this.list = el("div");
    this.submit = el("button", { type: "submit", class: "strong", text: "Send the result" });
    this.element = el(
      "form",
      {
        class: "calls",
        on: {
          submit: (event) => {
            event.preventDefault();
            send(this.views.map(({ call, field }) => ({ call, text: field.value })));
          },
        },
      },
      this.list,
      this.submit,
    );
  }

  update(open) {
    const { calls } = this.node;
    const same = calls.length >= this.views.length && this.views.every((view, i) => view.call === calls[i]);
    if (!same) {
      this.views = [];
      this.list.replaceChildren();
    }
    for (const call of calls.slice(this.views.length)) {
      const view = new CallView(call);
      this.views.push(view);
      this.list.append(view.element);
    }
    for (const view of this.views) view.update(open.has(view.call));
    show(
      this.submit,
      this.views.some((view) => open.has(view.call)),
    );
    say(this.submit, calls.length > 1 ? "Send the results" : "Send the result");
    show(this.element, calls.length > 0);
  }
}
