// The server's API, as any other client sees it.

import * as notes from "./notes.js";
import { events } from "./sse.js";

// An ApiError is an answer that the server refused, or could not be asked for. code is the server's, or "unreachable",
// or "interrupted" for a stream that ended early.
export class ApiError extends Error {
  constructor(code, message, { status = 0, retryAfter = 0, param = null } = {}) {
    super(message);
    Object.assign(this, { code, status, retryAfter, param });
  }
}

export const key = () => notes.tab.get("key") ?? notes.browser.get("key") ?? "";

// setKey remembers the API key for this tab, or with keep for this browser. An empty one is forgotten.
export function setKey(value, keep) {
  notes.tab.set("key", value && !keep ? value : null);
  notes.browser.set("key", value && keep ? value : null);
}

async function call(path, { body, signal } = {}) {
  const headers = {};
  if (key()) headers.Authorization = `Bearer ${key()}`;
  if (body !== undefined) headers["Content-Type"] = "application/json";
  const options = { method: body === undefined ? "GET" : "POST", headers, signal, cache: "no-store" };
  if (body !== undefined) options.body = JSON.stringify(body);
  try {
    return await fetch(path, options);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError("unreachable", "The server does not answer.");
  }
}

async function refusal(response) {
  let said = {};
  try {
    said = (await response.json()).error ?? {};
  } catch {
    // not from our server, or cut off: the status has to do
  }
  return new ApiError(said.code ?? "http", said.message ?? `The server answered with status ${response.status}.`, {
    status: response.status,
    retryAfter: Number(response.headers.get("Retry-After")) || 0,
    param: said.param ?? null,
  });
}

async function json(path, options) {
  const response = await call(path, options);
  if (!response.ok) throw await refusal(response);
  return response.json();
}

// health is the report of /health, which comes with a status of failure while there is no model.
export async function health(signal) {
  const response = await call("/health", { signal });
  if (response.status === 503) {
    const report = await response
      .clone()
      .json()
      .catch(() => ({}));
    if (report.status) return report;
  }
  if (!response.ok) throw await refusal(response);
  return response.json();
}

export async function model() {
  return (await json("/v1/models")).data[0];
}

export const inputTokens = (body, signal) => json("/v1/chat/completions/input_tokens", { body, signal });

// chat yields the chunks of an answer as they come.
export async function* chat(body, signal) {
  const response = await call("/v1/chat/completions", { body, signal });
  if (!response.ok) throw await refusal(response);
  const source = events(response.body);
  try {
    for (;;) {
      const { done, value } = await source.next();
      if (done) throw new ApiError("interrupted", "The connection ended before the answer did.");
      if (value === "[DONE]") return;
      const chunk = JSON.parse(value);
      if (chunk.error) throw new ApiError(chunk.error.code, chunk.error.message, { param: chunk.error.param });
      yield chunk;
    }
  } catch (error) {
    if (error instanceof ApiError || error.name === "AbortError") throw error;
    throw new ApiError("interrupted", "The connection broke off before the answer was complete.");
  } finally {
    source.return();
  }
}

// advice says what to do about an error, beyond the server's own words.
export function advice(error) {
  switch (error.code) {
    case "unreachable":
    case "interrupted":
      return "See whether “fieldfare serve” still runs in its terminal; then try again.";
    case "context_length_exceeded":
      return (
        "Edit an earlier question to go on from there, begin a new conversation, " +
        "or start the server with a larger --max-context."
      );
    case "invalid_api_key":
      return "Enter the key that the server was started with.";
    case "queue_full":
      return error.retryAfter ? `There should be room in about ${error.retryAfter} s.` : "Try again in a moment.";
    case "model_not_ready":
      return "It can be asked as soon as the model is loaded.";
    case "vision_unavailable":
      return "Take the pictures out by editing the question, or install the image pack.";
  }
  return "";
}
