// The page as a whole: which conversation is open, what runs, and what buttons do.

import { byId, say, show } from "./dom.js";
import { add, choose, create, path, titleOf } from "./conversation.js";
import { announce, announceEnd } from "./announce.js";
import { Composer } from "./composer.js";
import { Draft } from "./draft.js";
import { History } from "./history.js";
import { body } from "./request.js";
import { Run } from "./runs.js";
import { Settings, askKey, initial } from "./settings.js";
import { toast } from "./toast.js";
import { Transcript } from "./transcript.js";

export class App extends EventTarget {
  runs = new Map(); // by conversation
  took = 0; // milliseconds to draw the last piece of an answer
  editing = null; // the question that the draft is another wording of

  constructor(store, machine) {
    super();
    Object.assign(this, { store, machine, conversation: create(initial()) });
    this.transcript = new Transcript(this);
    this.composer = new Composer(this);
    this.settings = new Settings(this);
    this.history = new History(this);
    this.draft = new Draft(this);
    store.addEventListener("change", ({ detail }) => this.elsewhere(detail));
  }

  // open shows a stored conversation; an unknown id shows a new one.
  async open(id) {
    if (id === this.conversation.id) return;
    const stored = this.runs.get(id)?.conversation ?? (await this.store.conversation(id));
    if (!stored) return this.fresh();
    for (const node of stored.nodes) if (node.state === "running" && !this.runs.has(id)) node.state = "cut";
    this.enter(stored);
  }

  fresh() {
    history.replaceState(null, "", location.pathname);
    this.enter(create(initial()));
    this.composer.question.focus();
  }

  enter(conversation) {
    this.conversation = conversation;
    this.editing = null;
    this.draft.enter();
    this.shown();
    this.history.refresh();
  }

  // shown brings everything in step with the conversation.
  shown() {
    const { conversation } = this;
    say(byId("title"), conversation.title || "New conversation");
    document.title = conversation.title ? `${conversation.title} · fieldfare` : "fieldfare";
    show(byId("welcome"), conversation.nodes.length === 0);
    this.transcript.show(conversation);
    this.composer.update();
    this.draft.weigh();
  }

  get run() {
    return this.runs.get(this.conversation.id);
  }

  runOf(node) {
    return this.run?.node === node ? this.run : null;
  }

  // ask adds a question and has it answered. It returns false when it cannot be sent now.
  ask({ text, pictures }) {
    if (this.machine.state !== "ready") {
      toast("The model is not ready yet. The question stays here.");
      return false;
    }
    const { conversation } = this;
    this.draft.forget();
    const parent = this.editing ? this.editing.parent : conversation.leaf;
    const plain = pictures.map(({ blob, note, ...picture }) => picture);
    const node = add(conversation, parent, { role: "user", text, pictures: plain });
    conversation.title ||= titleOf(node);
    this.editing = null;
    this.save(
      conversation,
      pictures.map(({ id, blob }) => ({ id, blob })),
    );
    history.replaceState(null, "", `#${conversation.id}`);
    this.answer(node.id);
    return true;
  }

  // answer has the model continue behind a node.
  answer(parent) {
    const { conversation } = this;
    const asked = path(conversation, parent);
    const node = add(conversation, parent, {
      role: "assistant",
      state: "running",
      text: "",
      reasoning: "",
      calls: [],
      finish: "",
      model: "",
    });
    const run = new Run(conversation, node);
    run.asked = asked;
    this.runs.set(conversation.id, run);
    const wanted = () => this.runs.get(conversation.id) === run; // not after its conversation was deleted
    run.addEventListener("change", () => wanted() && this.progressed(run));
    run.addEventListener("save", () => wanted() && this.save(conversation));
    run.addEventListener("end", () => wanted() && this.ended(run));
    run.start(body(conversation.settings, asked, (id) => this.draft.pictureURL(id)));
    this.transcript.follows = true;
    this.shown();
    this.history.refresh();
    this.machine.busy = true;
    this.machine.refresh();
    announce("The model answers.");
  }

  // progressed has the screen follow, as often as leaves most of the time to the model: it may need the same processor.
  progressed(run) {
    this.machine.rate = run.rate;
    if (this.drawing) return;
    this.drawing = true;
    setTimeout(() => requestAnimationFrame(() => this.draw()), 4 * this.took);
  }

  draw() {
    const start = performance.now();
    this.drawing = false;
    if (this.run) this.transcript.update(this.run.node);
    this.took = performance.now() - start;
  }

  ended(run) {
    const { conversation, node } = run;
    this.runs.delete(conversation.id);
    this.machine.busy = this.runs.size > 0;
    this.machine.refresh();
    this.history.refresh();
    if (conversation === this.conversation) this.shown();
    announceEnd(node);
    if (node.error?.code === "invalid_api_key") this.askKey();
  }

  stop() {
    this.run?.stop();
  }

  // retry asks the same again. An answer that said nothing makes way; others stay beside the new one.
  retry(node) {
    if (this.run) return;
    const { conversation } = this;
    const empty = !node.text && !node.reasoning && node.calls.length === 0;
    if (empty) conversation.nodes = conversation.nodes.filter((other) => other !== node);
    this.answer(node.parent);
    this.transcript.focus();
  }

  // results answers calls and has the model go on.
  results(node, results) {
    if (this.run) return;
    let parent = node.id;
    for (const { call, text } of results) {
      parent = add(this.conversation, parent, { role: "tool", call: call.id, name: call.name, text }).id;
    }
    this.answer(parent);
  }

  // edit takes a question back into the composer; sent, it becomes another wording beside the first.
  async edit(node) {
    if (this.run) return;
    this.editing = node;
    const pictures = await Promise.all(
      node.pictures.map(async ({ receipt, ...picture }) => ({
        ...picture,
        blob: await this.store.picture(picture.id),
      })),
    );
    this.composer.fill(
      node.text,
      pictures.filter((picture) => picture.blob),
    );
    this.shown();
    this.composer.question.focus();
  }

  editLast() {
    const last = path(this.conversation).findLast((node) => node.role === "user");
    if (last) this.edit(last);
  }

  endEdit() {
    this.editing = null;
    this.composer.fill("");
    this.shown();
    this.composer.question.focus();
  }

  // choose shows another sibling.
  choose(node) {
    if (this.run) return;
    choose(this.conversation, node);
    this.save(this.conversation);
    this.shown();
    this.transcript.focus(node);
  }

  set(settings) {
    Object.assign(this.conversation.settings, settings);
    if (this.conversation.nodes.length > 0) this.save(this.conversation);
    this.composer.update();
    this.draft.weigh();
  }

  async rename(id, title) {
    const c = id === this.conversation.id ? this.conversation : await this.store.conversation(id);
    Object.assign(c, { title, named: true });
    await this.save(c);
    this.shown();
  }

  // remove deletes a conversation and returns a function that brings it back.
  async remove(id) {
    this.runs.get(id)?.stop();
    this.runs.delete(id);
    this.machine.busy = this.runs.size > 0;
    const restore = await this.store.remove(id);
    if (id === this.conversation.id) this.fresh();
    return restore;
  }

  askKey() {
    askKey();
  }

  save(conversation, pictures) {
    return this.store
      .save(conversation, pictures)
      .catch((error) => toast(`The conversation could not be kept: ${error.message}`));
  }

  // elsewhere follows what another tab did to a conversation.
  async elsewhere(id) {
    this.history.refresh();
    if (id !== this.conversation.id || this.runs.has(id)) return;
    const stored = await this.store.conversation(id);
    if (stored) {
      this.conversation = stored;
      this.shown();
    }
  }
}
