// The settings: those of a conversation go into its requests, those of the browser stay here.

import { key, setKey } from "./api.js";
import { byId, el, say } from "./dom.js";
import { icon } from "./icons.js";
import * as notes from "./notes.js";
import { defaults, parseTools, sampling } from "./request.js";
import { download, exported, imported } from "./transfer.js";
import { toast } from "./toast.js";

const stored = "defaults";

// initial returns the settings of new conversations. What is stored may be older than this page.
export function initial() {
  const settings = { ...defaults };
  try {
    const kept = JSON.parse(notes.browser.get(stored)) ?? {};
    for (const name of Object.keys(defaults)) if (name in kept) settings[name] = kept[name];
  } catch {
    notes.browser.set(stored, null);
  }
  return settings;
}

export class Settings {
  constructor(app) {
    this.app = app;
    this.dialog = byId("settings");
    this.fields = this.dialog.querySelector("form").elements;
    for (const closer of document.querySelectorAll('dialog button[value="close"]')) closer.append(icon("close"));
    byId("settings-open").append(icon("settings"));
    byId("settings-open").addEventListener("click", () => this.open());
    this.dialog.addEventListener("input", ({ target }) => this.changed(target));
    this.dialog.addEventListener("click", ({ target }) => {
      if (target === this.dialog) this.dialog.close(); // beside it
    });
    byId("settings-default").addEventListener("click", () => this.keep());
    byId("settings-reset").addEventListener("click", () => {
      this.fill({ ...defaults });
      app.set(this.read());
    });
    byId("key").addEventListener("submit", ({ target }) => {
      setKey(target.elements.namedItem("key").value.trim(), target.elements.namedItem("keep").checked);
      target.reset();
      app.machine.refresh();
    });
    this.history();
  }

  open() {
    this.fill(this.app.conversation.settings);
    this.fields.namedItem("enter").value = notes.browser.get("enter") ?? "send";
    this.fields.namedItem("key").value = key();
    this.fields.namedItem("keep").checked = notes.browser.get("key") !== null;
    this.dialog.showModal();
  }

  fill(settings) {
    const { fields } = this;
    const tokens = this.app.machine.model?.image_limits?.detail_soft_tokens ?? {};
    fields.namedItem("detail").replaceChildren(
      ...["auto", "low", "high"].map((value) => {
        const budget = tokens[value] ? `, at most ${tokens[value]} tokens` : ", the model’s usual size";
        return el("option", { value, text: value + budget });
      }),
    );
    for (const name of ["system", "detail", "tools"]) fields.namedItem(name).value = settings[name];
    fields.namedItem("thinking").checked = settings.thinking;
    for (const name of sampling) fields.namedItem(name).value = settings[name] ?? "";
    this.check();
  }

  // read returns the settings as entered. What the browser finds no number, or functions that are none, is left out.
  read() {
    const { fields } = this;
    const settings = {
      system: fields.namedItem("system").value,
      thinking: fields.namedItem("thinking").checked,
      detail: fields.namedItem("detail").value,
    };
    for (const name of sampling) {
      const field = fields.namedItem(name);
      if (field.validity.valid) settings[name] = field.value === "" ? null : field.valueAsNumber;
    }
    if (this.check()) settings.tools = fields.namedItem("tools").value;
    return settings;
  }

  // check says what is wrong with the functions.
  check() {
    let problem = "";
    try {
      parseTools(this.fields.namedItem("tools").value);
    } catch (error) {
      problem = error.message;
    }
    say(byId("tools-problem"), problem);
    return problem === "";
  }

  // changed takes an entry at once: there is nothing to confirm.
  changed({ name }) {
    if (name in defaults) this.app.set(this.read());
    if (name === "enter") notes.browser.set("enter", this.fields.namedItem("enter").value);
    if (name === "key" || name === "keep") {
      setKey(this.fields.namedItem("key").value.trim(), this.fields.namedItem("keep").checked);
      this.app.machine.refresh();
    }
  }

  keep() {
    const settings = { ...this.app.conversation.settings, ...this.read() };
    notes.browser.set(stored, JSON.stringify(settings));
    toast("New conversations begin with these settings.");
  }

  // history has the buttons about all conversations.
  history() {
    const { app } = this;
    byId("export").addEventListener("click", async () => {
      const ids = (await app.store.headings()).map((heading) => heading.id);
      download("fieldfare-conversations.json", await exported(app.store, ids));
    });
    byId("import").addEventListener("click", () => byId("import-file").click());
    byId("import-file").addEventListener("change", async ({ target }) => {
      const [file] = target.files;
      target.value = "";
      try {
        const n = await imported(app.store, await file.text());
        toast(n === 1 ? "One conversation was imported." : `${n} conversations were imported.`);
      } catch (error) {
        toast(`Nothing was imported. ${error.message}`);
      }
      app.history.refresh();
    });
    byId("clear").addEventListener("click", () => this.clear());
  }

  async clear() {
    if (!(await confirm("Delete all conversations?", "They cannot be brought back unless they were exported."))) return;
    for (const { id } of await this.app.store.headings()) await this.app.remove(id);
    this.app.history.refresh();
    toast("All conversations were deleted.");
  }
}

// confirm asks before something that cannot be undone.
export function confirm(title, text) {
  const dialog = byId("confirm");
  byId("confirm-title").textContent = title;
  byId("confirm-text").textContent = text;
  dialog.returnValue = "no";
  dialog.showModal();
  return new Promise((resolve) =>
    dialog.addEventListener("close", () => resolve(dialog.returnValue === "yes"), { once: true }),
  );
}

// askKey asks for the API key.
export function askKey() {
  if (!byId("key").open) byId("key").showModal();
}
