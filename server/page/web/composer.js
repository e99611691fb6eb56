// Where questions are written: text, pictures, what they cost, and the buttons around.

import { byId, button, el, say, show } from "./dom.js";
import { plural } from "./format.js";
import { icon } from "./icons.js";
import * as notes from "./notes.js";
import { files, take } from "./pictures.js";
import { thumb } from "./thumb.js";
import { toast } from "./toast.js";

const coarse = matchMedia("(pointer: coarse)"); // fingers, and a keyboard on the screen

// A Composer sends "change" when the draft is different, and calls app.ask with what was sent.
export class Composer extends EventTarget {
  constructor(app) {
    super();
    this.app = app;
    this.pictures = [];
    this.form = byId("composer");
    this.question = byId("question");
    this.list = byId("pictures");
    byId("attach").append(icon("picture"));
    byId("think").append(icon("thought"), el("span", { text: "Think" }));
    byId("send").append(icon("send"));
    byId("stop").append(icon("stop"));
    byId("latest").append(icon("down"));
    this.listen();
    this.dropping();
  }

  listen() {
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.send();
    });
    this.question.addEventListener("input", () => this.changed());
    this.question.addEventListener("keydown", (event) => this.key(event));
    this.question.addEventListener("paste", (event) => {
      const pasted = files(event.clipboardData);
      if (pasted.length === 0) return;
      event.preventDefault();
      this.attach(pasted);
    });
    byId("attach").addEventListener("click", () => byId("picker").click());
    byId("picker").addEventListener("change", ({ target }) => {
      this.attach([...target.files]);
      target.value = "";
    });
    byId("think").addEventListener("click", () => this.app.set({ thinking: !this.app.conversation.settings.thinking }));
    byId("stop").addEventListener("click", () => this.app.stop());
    byId("editing-end").addEventListener("click", () => this.app.endEdit());
  }

  key(event) {
    if (event.isComposing) return; // an input method's own Enter
    const { key, shiftKey, ctrlKey, metaKey } = event;
    if (key === "Enter" && !shiftKey) {
      const sends = (!coarse.matches && notes.browser.get("enter") !== "line") || ctrlKey || metaKey;
      if (!sends) return;
      event.preventDefault();
      this.send();
    } else if (key === "ArrowUp" && this.question.value === "" && this.pictures.length === 0) {
      event.preventDefault();
      this.app.editLast();
    }
  }

  // dropping takes files dragged anywhere over the window.
  dropping() {
    const carries = (event) => event.dataTransfer?.types.includes("Files");
    const over = (event) => {
      if (!carries(event)) return;
      event.preventDefault();
      show(byId("drop"), true);
    };
    addEventListener("dragenter", over);
    addEventListener("dragover", over);
    addEventListener("dragleave", (event) => {
      if (!event.relatedTarget) show(byId("drop"), false);
    });
    addEventListener("drop", (event) => {
      show(byId("drop"), false);
      if (!carries(event)) return;
      event.preventDefault();
      this.attach(files(event.dataTransfer));
    });
  }

  async attach(list) {
    const { model, health } = this.app.machine;
    if (!this.app.machine.takesPictures) {
      toast(`Pictures cannot be read: ${health?.vision?.reason || "the model is not ready yet"}.`);
      return;
    }
    for (const file of list) {
      const most = model?.image_limits?.max_images ?? Infinity;
      if (this.pictures.length >= most) {
        toast(`${plural(most, "picture")} are the most that one question may hold.`);
        break;
      }
      try {
        this.add(await take(file, this.app.conversation.settings.detail, model?.image_limits));
      } catch (error) {
        toast(error.message);
      }
    }
    this.question.focus();
  }

  add(picture) {
    if (picture.note) toast(picture.note);
    this.pictures.push(picture);
    const chip = el(
      "li",
      { data: { id: picture.id } },
      thumb(picture, picture.blob),
      el("span", { class: "name", text: picture.name }),
      el("span", { class: "tokens" }),
      el(
        "select",
        {
          aria: { label: `Detail of ${picture.name}` },
          title: "How many tokens the picture may take",
          on: {
            change: ({ target }) => {
              picture.detail = target.value;
              this.changed();
            },
          },
        },
        ["low", "auto", "high"].map((value) =>
          el("option", { value, text: value, selected: value === picture.detail }),
        ),
      ),
      button(`Remove ${picture.name}`, icon("close"), () => this.remove(picture)),
    );
    this.list.append(chip);
    this.changed();
  }

  remove(picture) {
    this.pictures = this.pictures.filter((other) => other !== picture);
    this.list.querySelector(`[data-id="${picture.id}"]`).remove();
    this.question.focus();
    this.changed();
  }

  get draft() {
    return { text: this.question.value.trim(), pictures: this.pictures };
  }

  get empty() {
    return this.draft.text === "" && this.pictures.length === 0;
  }

  // fill replaces the draft.
  fill(text, pictures = []) {
    this.question.value = text;
    this.pictures = [];
    this.list.replaceChildren();
    for (const picture of pictures) this.add(picture);
    this.changed();
  }

  changed() {
    show(this.list, this.pictures.length > 0);
    this.grow();
    this.update();
    this.dispatchEvent(new Event("change"));
  }

  // grow fits the field to its text where the browser does not do that itself.
  grow() {
    if (CSS.supports("field-sizing", "content")) return;
    this.question.style.height = "auto";
    this.question.style.height = `${this.question.scrollHeight + 2}px`;
  }

  // update shows which buttons make sense.
  update() {
    const running = Boolean(this.app.run);
    const { settings } = this.app.conversation;
    show(byId("stop"), running);
    show(byId("send"), !running);
    byId("send").disabled = this.empty;
    byId("think").setAttribute("aria-pressed", settings.thinking);
    show(byId("editing"), Boolean(this.app.editing));
  }

  // cost shows what input_tokens said about the pictures: receipts of all of them, ours come last.
  cost(receipts = []) {
    const own = receipts.slice(receipts.length - this.pictures.length);
    this.pictures.forEach((picture, i) => {
      const chip = this.list.querySelector(`[data-id="${picture.id}"] .tokens`);
      say(chip, own[i] ? plural(own[i].soft_tokens, "token") : "");
    });
  }

  send() {
    if (this.empty || this.app.run) return;
    const { draft } = this;
    if (!this.app.ask(draft)) return;
    this.fill("");
  }
}
