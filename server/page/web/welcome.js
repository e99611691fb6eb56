// What stands where nothing was asked yet.

import { byId, el } from "./dom.js";

// The built-in demo model knows little; these it can do.
const demo = ["What is the capital of Austria?", "Reverse “brick”.", "List 6 animals.", "Compute 56 + 78."];

export function welcome(app) {
  const area = byId("welcome");
  const { health, state } = app.machine;
  const isDemo = health?.model === "demo";
  const key = `${isDemo}${state === "ready"}`;
  if (area.dataset.shown === key) return;
  area.dataset.shown = key;
  area.replaceChildren(
    el("img", { src: "mark.svg", alt: "", width: "72", height: "72" }),
    el("h2", { text: "What would you like to know?" }),
    el("p", { class: "hint", text: "Add pictures with the button below, or drop or paste them anywhere." }),
  );
  if (!isDemo) return;
  const suggestions = demo.map((text) =>
    el("button", {
      type: "button",
      class: "suggestion",
      text,
      on: { click: () => app.composer.fill(text) || app.composer.question.focus() },
    }),
  );
  area.append(
    el("div", { class: "suggestions" }, suggestions),
    el(
      "p",
      { class: "hint" },
      "This is the small built-in demo model. ",
      el("code", { text: "fieldfare install" }),
      " fetches the real one.",
    ),
  );
}
