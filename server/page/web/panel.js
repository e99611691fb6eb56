// Where the figures about model and machine are shown, and the states that everybody must see.

import { byId, button, el, say, show } from "./dom.js";
import { figures, states } from "./figures.js";
import { rate } from "./format.js";
import { icon } from "./icons.js";
import * as notes from "./notes.js";

// A Panel shows what machine knows. It opens beside the conversation, or over it where there is no room.
export class Panel {
  constructor(app) {
    this.app = app;
    this.element = byId("machine");
    this.opener = byId("state");
    this.opener.addEventListener("click", () => this.toggle(this.element.hidden));
    this.body = el("div", { class: "figures" });
    this.element.append(
      el(
        "header",
        {},
        el("h2", { text: "Model and machine" }),
        button("Close the figures", icon("close"), () => this.toggle(false)),
      ),
      this.body,
    );
    app.machine.addEventListener("change", () => this.update());
    if (notes.browser.get("panel") === "open" && matchMedia("(min-width: 1200px)").matches) this.toggle(true, true);
  }

  toggle(open, quietly) {
    const { machine } = this.app;
    show(this.element, open);
    this.opener.setAttribute("aria-expanded", open);
    notes.browser.set("panel", open ? "open" : "closed");
    machine.watched = open;
    if (open) machine.refresh();
    if (quietly) return;
    (open ? this.element.querySelector("button") : this.opener).focus();
  }

  update() {
    const { state, health } = this.app.machine;
    this.opener.dataset.state = state;
    const percentage =
      state === "loading" && health?.loading?.bytes_total ? ` ${Math.round(health.loading.percent)} %` : "";
    say(byId("state-text"), state === "ready" ? this.readyText() : states[state] + percentage);
    this.notice();
    if (!this.element.hidden) this.body.replaceChildren(...figures(this.app.machine));
  }

  readyText() {
    const { machine } = this.app;
    const { model, live } = machine.health;
    if (machine.busy && machine.rate > 0) return `${rate(machine.rate)} tokens/s`;
    return live?.decode_tokens_per_second ? `${model} · ${rate(live.decode_tokens_per_second)} tokens/s` : model;
  }

  // notice is the bar above the conversation while it cannot be used.
  notice() {
    const { state, health } = this.app.machine;
    const [text, hint, extra] = notices[state]?.(health) ?? [];
    const bar = byId("notice");
    show(bar, Boolean(text));
    const key = `${state}${text}${hint}`;
    if (!text || bar.dataset.shown === key) return;
    bar.dataset.shown = key;
    bar.replaceChildren(...[el("p", { text }), extra, hint && el("p", { class: "hint", text: hint })].filter(Boolean));
    if (state === "locked") {
      bar.append(
        el("button", { type: "button", class: "plain", text: "Enter the key", on: { click: () => this.app.askKey() } }),
      );
    }
  }
}

const notices = {
  loading: (health) => [
    "The model is being loaded.",
    "You can write your question already.",
    el("progress", {
      max: "100",
      value: health?.loading?.bytes_total ? String(health.loading.percent) : null,
      aria: { label: "Loading the model" },
    }),
  ],
  failed: (health) => [
    health?.reason ?? "There is no model.",
    "The terminal in which the server runs says what to do.",
  ],
  shutting_down: () => ["The server is shutting down.", ""],
  unreachable: () => ["The server does not answer.", "Start “fieldfare serve” again; this page notices by itself."],
  locked: () => ["This server needs an API key.", ""],
};
