// The figures about model and machine.

import { el } from "./dom.js";
import { bytes, count, percent, rate, seconds } from "./format.js";

// states names the states of a Machine.
export const states = {
  connecting: "Connecting",
  ready: "Ready",
  loading: "Loading",
  failed: "No model",
  shutting_down: "Closing",
  unreachable: "No server",
  locked: "Key needed",
};

const visions = {
  ready: "can be sent",
  missing: "no image pack is installed",
  invalid: "the image pack is damaged or belongs to another model",
  unsupported: "this machine cannot run the image pack",
};

// figures returns what is known, as elements.
export function figures(machine) {
  const { health, model } = machine;
  const out = [
    section(
      "Model",
      pairs([
        ["State", states[machine.state]],
        ["Name", health?.model],
        ["Backend", health?.backend],
        ["Context", health?.context_window && `${count(health.context_window)} tokens`],
        [
          "Pictures",
          health &&
            visions[health.vision.state] +
              (health.vision.state === "invalid" && health.vision.reason ? `: ${health.vision.reason}` : ""),
        ],
        ["Per picture", model?.image_limits && `up to ${count(model.image_limits.max_soft_tokens_per_image)} tokens`],
      ]),
    ),
  ];
  if (!health?.live) return out;
  out.push(
    section("Speed", speed(machine)),
    section("Experts", experts(machine)),
    section("Memory", memory(health.live.memory_bytes)),
  );
  out.push(
    section(
      "Server",
      pairs([
        [
          "Answers",
          health.queue.running ? `${health.queue.running} running, ${health.queue.waiting} waiting` : "none running",
        ],
        ["Conversations", `${count(health.live.conversations)} ready to go on`],
      ]),
    ),
  );
  return out;
}

function speed(machine) {
  const { live } = machine.health;
  const writing = machine.busy && machine.rate > 0 ? machine.rate : live.decode_tokens_per_second;
  return [
    el(
      "div",
      { class: "big" },
      figure(writing ? rate(writing) : "–", "tokens/s writing"),
      figure(live.prompt_tokens_per_second ? rate(live.prompt_tokens_per_second) : "–", "tokens/s reading"),
    ),
    spark(
      machine.history.map((sample) => sample.rate),
      "Writing speed in the last minute",
    ),
  ];
}

function experts({ health: { live }, metrics, history }) {
  const hits = metrics?.recent ?? live.expert_hit_rate;
  return [
    el(
      "label",
      { class: "meter" },
      el("span", { text: `${percent(hits)} found in memory` }),
      el("meter", { min: "0", max: "1", value: String(hits) }),
    ),
    spark(
      history.map((sample) => sample.read),
      "Reads from the disk in the last minute",
    ),
    pairs([
      ["Reading now", `${bytes(history.at(-1)?.read ?? 0)}/s`],
      ["Read so far", bytes(live.expert_bytes_read)],
      [
        "A read takes",
        metrics?.readSeconds
          ? `${milliseconds(metrics.readSeconds)}, at most ${milliseconds(metrics.slowestRead)}`
          : null,
      ],
    ]),
  ];
}

const section = (title, ...content) => el("section", {}, el("h3", { text: title }), ...content);

const pairs = (list) =>
  el(
    "dl",
    {},
    list.filter(([, value]) => value).map(([name, value]) => [el("dt", { text: name }), el("dd", { text: value })]),
  );

const figure = (value, name) => el("p", {}, el("strong", { text: value }), el("span", { text: name }));

const milliseconds = (s) => (s < 1 ? `${(s * 1000).toFixed(s < 0.01 ? 1 : 0)} ms` : seconds(s));

// memory is a bar of all classes, and the list of them, largest first.
function memory(classes) {
  const list = Object.entries(classes ?? {})
    .filter(([, n]) => n > 0)
    .sort((a, b) => b[1] - a[1]);
  const all = list.reduce((sum, [, n]) => sum + n, 0);
  const bar = el("div", { class: "stack", aria: { hidden: "true" } });
  list.forEach(([, n], i) => {
    const part = el("span", { class: `part${Math.min(i, 5)}` });
    part.style.flexGrow = String(n / all);
    bar.append(part);
  });
  const named = list.map(([name, n], i) => [
    el("dt", { class: `part${Math.min(i, 5)}`, text: name }),
    el("dd", { text: bytes(n) }),
  ]);
  return el(
    "div",
    {},
    el("p", { class: "total", text: `${bytes(all)} outside the Go heap` }),
    bar,
    el("dl", { class: "legend" }, named),
  );
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
  line.setAttribute(
    "points",
    samples
      .map((n, i) => `${60 - samples.length + i + 1},${(15 - (most > 0 ? (14 * n) / most : 0)).toFixed(2)}`)
      .join(" "),
  );
  svg.append(line);
  return svg;
}
