// What is told about an answer: how fast it was, what was reused, and what came out otherwise than asked.

import { bytes, count, percent, plural, rate, seconds } from "./format.js";

// summary is one line.
export function summary({ facts: { timings } }) {
  const parts = [];
  if (timings.decode_tokens_per_second > 0) parts.push(`${rate(timings.decode_tokens_per_second)} tokens/s`);
  if (timings.first_token_seconds > 0) parts.push(`first after ${seconds(timings.first_token_seconds)}`);
  return parts.join(" · ") || "Figures";
}

// facts are pairs of a name and a value.
export function facts({ facts: { timings, reuse, experts, seed }, usage, model }) {
  const out = [];
  if (model) out.push(["Model", model]);
  if (usage) {
    const thought = usage.completion_tokens_details?.reasoning_tokens;
    out.push(["Prompt", plural(usage.prompt_tokens, "token") + pictureTokens(usage)]);
    out.push([
      "Answer",
      plural(usage.completion_tokens, "token") + (thought ? `, ${count(thought)} of them thought` : ""),
    ]);
  }
  if (reuse) out.push(["Reused", `${plural(reuse.tokens, "token")} of the prompt`]);
  const spans = [
    ["Queue", timings.queue_seconds],
    ["Pictures", timings.encode_seconds],
    ["Reading", timings.prefill_seconds],
    ["Writing", timings.decode_seconds],
  ];
  for (const [name, s] of spans) if (s >= 0.005) out.push([name, seconds(s)]);
  if (timings.prompt_tokens_per_second > 0)
    out.push(["Reading speed", `${rate(timings.prompt_tokens_per_second)} tokens/s`]);
  out.push(["Experts", `${percent(experts.hit_rate)} in memory, ${bytes(experts.bytes_read)} read`]);
  out.push(["Seed", String(seed)]);
  return out;
}

const pictureTokens = (usage) => {
  const n = usage.prompt_tokens_details?.image_tokens;
  return n ? `, ${count(n)} of them pictures` : "";
};

// notes are what the reader of an answer must know without asking.
export function notes(node) {
  const { facts: known = {}, finish, state } = node;
  const out = [];
  if (state === "stopped") out.push("Stopped.");
  if (state === "cut") out.push("The page was closed before this answer was complete.");
  if (known.context_full) out.push("The context is full: the answer ends here.");
  else if (finish === "length") out.push("The answer reached its limit of tokens and ends here.");
  for (const call of known.malformed_tool_calls ?? []) {
    out.push(`A call${call.name ? ` of ${call.name}` : ""} could not be read: ${call.error}`);
  }
  if (state === "done" && !node.text && node.calls.length === 0) out.push("The model ended its answer without a word.");
  return [...out, ...(known.notes ?? [])];
}
