// What a question would cost, told before it is sent.

import { ApiError, inputTokens } from "./api.js";
import { byId, say } from "./dom.js";
import { count, seconds } from "./format.js";

const pause = 350; // milliseconds without a key pressed

// A CostMeter asks the server when the draft rests. request() returns a promise of the request's body, or of null when
// there is no draft; done gets the pictures' receipts.
export class CostMeter {
  constructor(request, idle, done) {
    Object.assign(this, { request, idle, done });
    this.element = byId("cost");
    this.took = 0;
  }

  schedule() {
    clearTimeout(this.timer);
    this.controller?.abort();
    this.timer = setTimeout(() => this.ask(), Math.max(pause, 2 * this.took)); // large pictures take their time
  }

  async ask() {
    const controller = (this.controller = new AbortController());
    try {
      const body = await this.request();
      if (controller.signal.aborted) return;
      if (!body) {
        this.tell(this.idle(), "");
        this.done([]);
        return;
      }
      const start = performance.now();
      const cost = await inputTokens(body, controller.signal);
      this.took = performance.now() - start;
      this.tell(...words(cost));
      this.done(cost.images ?? []);
    } catch (error) {
      if (error.name === "AbortError") return;
      this.tell(error instanceof ApiError && error.status === 400 ? error.message : "", "bad");
      this.done([]);
    }
  }

  tell(text, kind) {
    say(this.element, text);
    this.element.title = text;
    this.element.className = kind;
  }
}

// words says the cost in words, and whether that is bad news.
function words(cost) {
  if (!cost.fits)
    return [`${count(cost.input_tokens)} tokens do not fit the context of ${count(cost.context_window)}`, "bad"];
  const parts = [`${count(cost.input_tokens)} tokens`];
  if (cost.image_tokens) parts.push(`${count(cost.image_tokens)} for pictures`);
  if (cost.reusable_tokens) parts.push(`${count(cost.reusable_tokens)} known already`);
  if (cost.expected_seconds >= 1) parts.push(`first word in about ${seconds(cost.expected_seconds)}`);
  const tight = cost.room_for_answer < 256 && cost.room_for_answer < cost.context_window / 4;
  if (tight) parts.push(`room for ${count(cost.room_for_answer)} in the answer`);
  return [parts.join(" · "), tight ? "bad" : ""];
}
