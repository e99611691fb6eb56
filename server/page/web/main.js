// Where the page starts.

import { App } from "./app.js";
import { byId, el } from "./dom.js";
import { icon } from "./icons.js";
import { Machine } from "./machine.js";
import * as notes from "./notes.js";
import { Panel } from "./panel.js";
import { Store } from "./store.js";
import { toast } from "./toast.js";
import { welcome } from "./welcome.js";

const mac = navigator.platform.startsWith("Mac");
const command = mac ? "⌘" : "Ctrl+";

const shortcuts = [
  ["Enter", "Send the question"],
  ["Shift+Enter", "Begin a new line"],
  ["Esc", "Stop the answer; close what is open"],
  ["↑", "Edit the last question, in an empty field"],
  [`${command}K`, "Search conversations"],
  [mac ? "⌘⇧O" : "Ctrl+Shift+O", "New conversation"],
  [`${command},`, "Settings"],
  [`${command}I`, "Model and machine"],
  [`${command}/`, "This list"],
];

const themes = ["", "light", "dark"];
const themeNames = { "": "as the system", light: "light", dark: "dark" };

function themeButton() {
  const control = byId("theme");
  const now = () => document.documentElement.dataset.theme ?? "";
  const label = () => {
    control.replaceChildren(icon({ "": "half", light: "sun", dark: "moon" }[now()]));
    control.title = `Colours: ${themeNames[now()]}`;
    control.setAttribute("aria-label", control.title);
  };
  control.addEventListener("click", () => {
    const next = themes[(themes.indexOf(now()) + 1) % themes.length];
    if (next) document.documentElement.dataset.theme = next;
    else delete document.documentElement.dataset.theme;
    notes.browser.set("theme", next);
    label();
  });
  label();
}

function openHelp() {
  byId("help").showModal();
}

function keyboard(app, panel) {
  byId("help-open").append(icon("help"));
  byId("help-open").addEventListener("click", openHelp);
  byId("shortcuts").append(
    ...shortcuts.flatMap(([keys, what]) => [el("dt", {}, el("kbd", { text: keys })), el("dd", { text: what })]),
  );
  const commands = {
    k: () => app.history.open(),
    ",": () => app.settings.open(),
    i: () => panel.toggle(byId("machine").hidden),
    "/": openHelp,
  };
  addEventListener("keydown", (event) => {
    if (document.querySelector("dialog[open]")) return;
    const held = mac ? event.metaKey && !event.ctrlKey : event.ctrlKey && !event.metaKey;
    const act =
      event.key === "Escape"
        ? () => escape(app, panel)
        : !held || event.altKey
          ? null
          : event.shiftKey
            ? event.key.toLowerCase() === "o"
              ? () => app.fresh()
              : event.key === "/" || event.key === "?"
                ? openHelp
                : null
            : commands[event.key.toLowerCase()];
    if (!act) return;
    if (event.key !== "Escape") event.preventDefault();
    act();
  });
}

// escape closes what covers the conversation, else stops the answer, else ends editing.
function escape(app, panel) {
  if (document.querySelector(":popover-open[role=menu]")) return; // the browser closes it
  if (app.history.covers) app.history.close();
  else if (app.run) app.stop();
  else if (app.editing) app.endEdit();
  else if (!byId("machine").hidden && byId("machine").contains(document.activeElement)) panel.toggle(false);
}

async function start() {
  themeButton();
  const machine = new Machine();
  const store = await Store.open();
  const app = new App(store, machine);
  const panel = new Panel(app);
  keyboard(app, panel);
  machine.addEventListener("change", () => {
    welcome(app);
    byId("attach").classList.toggle("off", machine.state === "ready" && !machine.takesPictures);
    if (machine.state !== app.machineState) app.draft.weigh();
    app.machineState = machine.state;
  });
  addEventListener("hashchange", () => app.open(location.hash.slice(1)));
  addEventListener("pagehide", () => {
    for (const { conversation } of app.runs.values()) store.save(conversation);
  });
  await (location.hash.length > 1 ? app.open(location.hash.slice(1)) : app.fresh());
  welcome(app);
  machine.start();
  if (!store.kept) toast("This browser window keeps no history: conversations end with the page.");
}

start();
