// The question that is being written: kept over a reload, and weighed before it is sent.

import { path } from "./conversation.js";
import { CostMeter } from "./cost.js";
import { count } from "./format.js";
import * as notes from "./notes.js";
import { before, body } from "./request.js";
import { dataURL } from "./store.js";

export class Draft {
  urls = new Map(); // promises of the conversation's pictures as data URLs

  constructor(app) {
    this.app = app;
    this.meter = new CostMeter(
      () => this.body(),
      () => this.used(),
      (receipts) => app.composer.cost(receipts),
    );
    app.composer.addEventListener("change", () => this.changed());
  }

  // enter brings back what was written in the conversation that is open now.
  enter() {
    this.urls.clear();
    this.app.composer.fill(notes.tab.get(this.name) ?? "");
  }

  get name() {
    const { id, nodes } = this.app.conversation;
    return `draft.${nodes.length ? id : "new"}`;
  }

  changed() {
    const { editing, composer } = this.app;
    notes.tab.set(this.name, (!editing && composer.draft.text) || null);
    this.weigh();
  }

  forget() {
    notes.tab.set(this.name, null);
  }

  // weigh has the cost told again.
  weigh() {
    this.meter.schedule();
  }

  // body is the request that sending would make, null without a draft.
  async body() {
    const { conversation, composer, editing, machine } = this.app;
    if (composer.empty || machine.state !== "ready") return null;
    const nodes = editing ? before(conversation, editing) : path(conversation);
    return body(conversation.settings, [...nodes, { role: "user", ...composer.draft }], (id) => this.pictureURL(id));
  }

  // used says how much of the context the conversation fills.
  used() {
    const last = path(this.app.conversation).findLast((node) => node.usage);
    const window = this.app.machine.health?.context_window;
    return last && window ? `${count(last.usage.total_tokens)} of ${count(window)} tokens used` : "";
  }

  // pictureURL returns a promise of a picture as a data URL.
  pictureURL(id) {
    const { composer, store } = this.app;
    const drafted = composer.pictures.find((picture) => picture.id === id)?.blob;
    if (!this.urls.has(id)) this.urls.set(id, Promise.resolve(drafted ?? store.picture(id)).then(encoded));
    return this.urls.get(id);
  }
}

function encoded(blob) {
  if (!blob) throw new Error("A picture of this conversation is gone from the browser’s storage.");
  return dataURL(blob);
}
