// Answers that are being made. They go on when another conversation is looked at.

import { ApiError, chat } from "./api.js";

const saveEvery = 1000; // milliseconds

// A Run fills a node with the answer to a request. It sends "change" whenever the node is different, "save" when that
// is worth keeping, and "end" once.
export class Run extends EventTarget {
  constructor(conversation, node) {
    super();
    Object.assign(this, { conversation, node, progress: null, pieces: 0, firstAt: 0, lastAt: 0 });
    this.controller = new AbortController();
  }

  // start resolves when the answer has ended, in whatever way; the node says how.
  async start(request) {
    const { node } = this;
    const began = performance.now();
    let saved = began;
    try {
      const body = await request;
      for await (const chunk of chat({ ...body, ...streaming }, this.controller.signal)) {
        this.take(chunk, began);
        this.dispatchEvent(new Event("change"));
        if (performance.now() - saved > saveEvery) {
          saved = performance.now();
          this.dispatchEvent(new Event("save"));
        }
      }
      node.state = "done";
    } catch (error) {
      this.fail(error);
    }
    this.dispatchEvent(new Event("change"));
    this.dispatchEvent(new Event("save"));
    this.dispatchEvent(new Event("end"));
  }

  fail(error) {
    const { node } = this;
    if (error.name === "AbortError") {
      node.state = "stopped";
      return;
    }
    const known = error instanceof ApiError ? error : new ApiError("page", error.message);
    const { code, message, status, retryAfter } = known;
    node.state = "failed";
    node.error = { code, message, status, retryAfter };
  }

  stop() {
    this.controller.abort();
  }

  // rate estimates tokens a second while the answer comes: a piece is a token, nearly always.
  get rate() {
    return this.pieces > 4 ? ((this.pieces - 1) * 1000) / (this.lastAt - this.firstAt) : 0;
  }

  take(chunk, began) {
    const { node } = this;
    const [choice] = chunk.choices ?? [];
    if (chunk.model) node.model = chunk.model;
    if (chunk.prompt_progress) this.progress = chunk.prompt_progress;
    if (choice) this.delta(choice.delta ?? {}, began);
    if (choice?.finish_reason) node.finish = choice.finish_reason;
    if (chunk.usage) node.usage = chunk.usage;
    if (chunk.fieldfare) this.account(chunk.fieldfare);
  }

  delta(delta, began) {
    const { node } = this;
    const now = performance.now();
    if (delta.reasoning_content) {
      node.reasoning += delta.reasoning_content;
      node.thoughtSeconds = (now - began) / 1000;
    }
    if (delta.content) node.text += delta.content;
    for (const part of delta.tool_calls ?? []) {
      const call = (node.calls[part.index ?? 0] ??= { id: part.id, name: "", arguments: "" });
      call.name += part.function?.name ?? "";
      call.arguments += part.function?.arguments ?? "";
    }
    if (delta.content || delta.reasoning_content || delta.tool_calls) {
      this.pieces++;
      this.firstAt ||= now;
      this.lastAt = now;
      this.progress = null;
    }
  }

  // account keeps the server's own figures, and takes back calls that turned out to be none.
  account(facts) {
    const { node } = this;
    node.facts = facts;
    const malformed = new Set((facts.malformed_tool_calls ?? []).map((call) => call.index));
    node.calls = node.calls.filter((_, index) => !malformed.has(index));
    const pictures = this.asked.flatMap((asked) => asked.pictures ?? []);
    (facts.images ?? []).forEach((receipt, i) => {
      if (pictures[i]) pictures[i].receipt = receipt;
    });
  }

  // asked are the nodes that the request was made of; their pictures get the receipts.
  asked = [];
}

const streaming = { stream: true, stream_options: { include_usage: true }, return_progress: true };
