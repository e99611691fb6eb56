// The list of conversations.

import { byId, button, el, show } from "./dom.js";
import { day } from "./format.js";
import { icon } from "./icons.js";
import { openMenu } from "./menu.js";
import * as notes from "./notes.js";
import { download, exported } from "./transfer.js";
import { toast } from "./toast.js";

const narrow = matchMedia("(max-width: 800px)");

export class History {
  constructor(app) {
    this.app = app;
    this.element = byId("history");
    this.list = byId("conversations");
    byId("new").append(icon("plus"), el("span", { text: "New conversation" }));
    byId("history-open").append(icon("menu"));
    byId("history-close").append(icon("left"));
    byId("new").addEventListener("click", () => {
      app.fresh();
      this.leave();
    });
    byId("search").addEventListener("input", () => this.refresh());
    byId("history-open").addEventListener("click", () => this.open());
    byId("history-close").addEventListener("click", () => this.close());
    byId("scrim").addEventListener("click", () => this.close());
    narrow.addEventListener("change", () => this.arrange());
    this.arrange();
  }

  arrange() {
    this.visible(!narrow.matches && notes.browser.get("list") !== "closed");
  }

  visible(open) {
    show(this.element, open);
    show(byId("history-open"), !open);
    show(byId("scrim"), open && narrow.matches);
    document.querySelector("main").inert = open && narrow.matches;
  }

  open() {
    this.visible(true);
    if (!narrow.matches) notes.browser.set("list", "open");
    (narrow.matches ? byId("history-close") : byId("search")).focus();
  }

  close() {
    this.visible(false);
    if (!narrow.matches) notes.browser.set("list", "closed");
    byId("history-open").focus();
  }

  // leave closes the list where it covers the conversation.
  leave() {
    if (narrow.matches) this.visible(false);
  }

  get covers() {
    return narrow.matches && !this.element.hidden;
  }

  async refresh() {
    const turn = (this.turn = {});
    const words = byId("search").value.trim().toLowerCase();
    const headings = await this.find(words);
    if (turn !== this.turn) return; // something newer is on its way
    const groups = [...group(headings)];
    const shown = JSON.stringify([
      words,
      groups.map(([name, list]) => [name, list.map(({ id, title }) => [id, title])]),
    ]);
    if (shown !== this.shown) this.rebuild(groups, words);
    this.shown = shown;
    this.mark();
  }

  // rebuild makes the list anew. While it stays as it is, menus and pointers on it are left alone.
  rebuild(groups, words) {
    const parts = groups.map(([name, list]) => {
      const entries = list.map((heading) => this.entry(heading));
      return el("section", {}, el("h2", { text: name }), el("ul", {}, entries));
    });
    const none = words ? "Nothing was found." : "Conversations will stand here.";
    const focused = document.activeElement?.closest("#conversations li")?.dataset.id;
    this.list.replaceChildren(...(parts.length ? parts : [el("p", { class: "hint", text: none })]));
    if (focused) this.list.querySelector(`[data-id="${focused}"] a`)?.focus();
  }

  // mark shows which conversation is open, and where answers are made.
  mark() {
    for (const entry of this.list.querySelectorAll("li")) {
      const { id } = entry.dataset;
      entry.classList.toggle("running", this.app.runs.has(id));
      const link = entry.querySelector("a");
      if (id === this.app.conversation.id) link?.setAttribute("aria-current", "page");
      else link?.removeAttribute("aria-current");
    }
  }

  // find returns the headings of conversations whose title or text holds words.
  async find(words) {
    const headings = await this.app.store.headings();
    if (!words) return headings;
    const holds = (text) => text?.toLowerCase().includes(words);
    const all = await this.app.store.all("conversations");
    const found = new Set(
      all.filter((c) => holds(c.title) || c.nodes.some((node) => holds(node.text))).map((c) => c.id),
    );
    return headings.filter((heading) => found.has(heading.id));
  }

  entry({ id, title }) {
    const name = title || "Untitled";
    const more = button(`More for ${name}`, icon("more"), () => this.menu(more, id, name));
    more.setAttribute("aria-haspopup", "menu");
    const link = el("a", { href: `#${id}`, title: name, text: name, on: { click: () => this.leave() } });
    return el("li", { data: { id } }, link, more);
  }

  // menu opens the actions on one conversation.
  menu(opener, id, name) {
    openMenu(opener, `Actions for ${name}`, [
      { label: "Rename", run: () => this.rename(id, name) },
      { label: "Export", run: async () => download("conversation.json", await exported(this.app.store, [id])) },
      { label: "Delete", run: () => this.remove(id), danger: true },
    ]);
  }

  rename(id, name) {
    const link = this.list.querySelector(`[data-id="${id}"] a`);
    const field = el("input", {
      type: "text",
      class: "rename",
      value: name,
      maxlength: "120",
      aria: { label: "New name" },
    });
    let settled = false;
    const settle = async (save) => {
      if (settled) return;
      settled = true;
      if (save && field.value.trim()) await this.app.rename(id, field.value.trim());
      this.shown = null; // the field makes way
      await this.refresh();
      this.list.querySelector(`[data-id="${id}"] a`)?.focus();
    };
    field.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== "Escape") return;
      event.preventDefault();
      event.stopPropagation();
      settle(event.key === "Enter");
    });
    field.addEventListener("blur", () => settle(true));
    link.replaceWith(field);
    field.select();
  }

  // remove deletes at once and offers to bring the conversation back.
  async remove(id) {
    const entries = [...this.list.querySelectorAll("li")];
    const at = entries.findIndex((entry) => entry.dataset.id === id);
    const next = (entries[at + 1] ?? entries[at - 1])?.dataset.id;
    const restore = await this.app.remove(id);
    await this.refresh();
    (this.list.querySelector(`[data-id="${next}"] a`) ?? byId("new")).focus();
    toast("The conversation was deleted.", {
      label: "Undo",
      run: async () => {
        await restore();
        await this.refresh();
      },
    });
  }
}

// group sorts headings by day, in their order.
function group(headings) {
  const groups = new Map();
  for (const heading of headings) {
    const name = day(heading.updated);
    groups.set(name, [...(groups.get(name) ?? []), heading]);
  }
  return groups;
}
