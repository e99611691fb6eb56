// The figures about model and machine, and the states that everybody must see.

import { byId, button, el, say, show } from "./dom.js";
import { bytes, count, percent, rate, seconds } from "./format.js";
import { icon } from "./icons.js";
import * as notes from "./notes.js";

const words = {
  connecting: "Connecting", ready: "Ready", loading: "Loading", failed: "No model", shutting_down: "Closing",
  unreachable: "No server", locked: "Key needed",
};

const visions = {
  ready: "can be sent", missing: "no image pack is installed", invalid: "the image pack is damaged or belongs to another model",
  unsupported: "this machine cannot run the image pack",
};

// A Panel shows what machine knows. It opens beside the conversation, or over it where there is no room.
export class Panel {
  constructor(app) {
    this.app = app;
    this.element = byId("machine");
    this.opener = byId("state");
    this.opener.addEventListener("click", () => this.toggle(this.element.hidden));
    this.body = el("div", { class: "figures" });
    this.element.append(
      el("header", {}, el("h2", { text: "Model and machine" }), button("Close the figures", icon("close"), () => this.toggle(false))),
      this.body);
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
    const percentage = state === "loading" && health?.loading?.bytes_total ? ` ${Math.round(health.loading.percent)} %` : "";
    say(byId("state-text"), state === "ready" ? this.readyText() : words[state] + percentage);
    this.notice();
    if (!this.element.hidden) this.body.replaceChildren(...this.sections());
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
      bar.append(el("button", { type: "button", class: "plain", text: "Enter the key", on: { click: () => this.app.askKey() } }));
    }
  }

  sections() {
    const { machine } = this.app;
    const { health, model } = machine;
    const out = [section("Model", pairs([
      ["State", words[machine.state]],
      ["Name", health?.model], ["Backend", health?.backend],
      ["Context", health?.context_window && `${count(health.context_window)} tokens`],
      ["Pictures", health && visions[health.vision.state] + (health.vision.state === "invalid" && health.vision.reason ? `: ${health.vision.reason}` : "")],
      ["Per picture", model?.image_limits && `up to ${count(model.image_limits.max_soft_tokens_per_image)} tokens`],
    ]))];
    if (!health?.live) return out;
    out.push(section("Speed", this.speed(health.live)), section("Experts", this.experts(health.live)), section("Memory", memory(health.live.memory_bytes)));
    out.push(section("Server", pairs([
      ["Answers", health.queue.running ? `${health.queue.running} running, ${health.queue.waiting} waiting` : "none running"],
      ["Conversations", `${count(health.live.conversations)} ready to go on`],
    ])));
    return out;
  }

  speed(live) {
    const { machine } = this.app;
    const writing = machine.busy && machine.rate > 0 ? machine.rate : live.decode_tokens_per_second;
    return [
      el("div", { class: "big" }, figure(writing ? rate(writing) : "–", "tokens/s writing"), figure(live.prompt_tokens_per_second ? rate(live.prompt_tokens_per_second) : "–", "tokens/s reading")),
      spark(machine.history.map((sample) => sample.rate), "Writing speed in the last minute"),
    ];
  }

  experts(live) {
    const { metrics, history } = this.app.machine;
    const hits = metrics?.recent ?? live.expert_hit_rate;
    return [
      el("label", { class: "meter" }, el("span", { text: `${percent(hits)} found in memory` }), el("meter", { min: "0", max: "1", value: String(hits) })),
      spark(history.map((sample) => sample.read), "Reads from the disk in the last minute"),
      pairs([
        ["Reading now", `${bytes(history.at(-1)?.read ?? 0)}/s`], ["Read so far", bytes(live.expert_bytes_read)],
        ["A read takes", metrics?.readSeconds ? `${milliseconds(metrics.readSeconds)}, at most ${milliseconds(metrics.slowestRead)}` : null],
      ]),
    ];
  }
}

const notices = {
  loading: (health) => [
    "The model is being loaded.", "You can write your question already.",
    el("progress", { max: "100", value: health?.loading?.bytes_total ? String(health.loading.percent) : null, aria: { label: "Loading the model" } }),
  ],
  failed: (health) => [health?.reason ?? "There is no model.", "The terminal in which the server runs says what to do."],
  shutting_down: () => ["The server is shutting down.", ""],
  unreachable: () => ["The server does not answer.", "Start “fieldfare serve” again; this page notices by itself."],
  locked: () => ["This server needs an API key.", ""],
};

const section = (title, ...content) => el("section", {}, el("h3", { text: title }), ...content);

const pairs = (list) => el("dl", {}, list.filter(([, value]) => value).map(([name, value]) => [el("dt", { text: name }), el("dd", { text: value })]));

const figure = (value, name) => el("p", {}, el("strong", { text: value }), el("span", { text: name }));

const milliseconds = (s) => (s < 1 ? `${(s * 1000).toFixed(s < 0.01 ? 1 : 0)} ms` : seconds(s));

// memory is a bar of all classes, and the list of them, largest first.
function memory(classes) {
  const list = Object.entries(classes ?? {}).filter(([, n]) => n > 0).sort((a, b) => b[1] - a[1]);
  const all = list.reduce((sum, [, n]) => sum + n, 0);
  const bar = el("div", { class: "stack", aria: { hidden: "true" } });
  list.forEach(([, n], i) => {
    const part = el("span", { class: `part${Math.min(i, 5)}` });
    part.style.flexGrow = String(n / all);
    bar.append(part);
  });
  const named = list.map(([name, n], i) => [el("dt", { class: `part${Math.min(i, 5)}`, text: name }), el("dd", { text: bytes(n) })]);
  return el("div", {}, el("p", { class: "total", text: `${bytes(all)} outside the Go heap` }), bar, el("dl", { class: "legend" }, named));
}

// spark draws samples as a line; the newest is at the right.
function spark(samples, label) {
  const most = Math.max(...samples, 0);
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", "0 0 60 16");
  svg.setAttribute("preserveAspectRatio", "none");
  svg.setAttribute("class", "spark");
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", label);
  const line = document.createElementNS("http://www.w3.org/2000/svg", "polyline");
  line.setAttribute("points", samples.map((n, i) => `${60 - samples.length + i + 1},${(15 - (most > 0 ? (14 * n) / most : 0)).toFixed(2)}`).join(" "));
  svg.append(line);
  return svg;
}
