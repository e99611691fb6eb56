// The history as a file, and back.

import { newID } from "./conversation.js";
import { defaults } from "./request.js";
import { dataURL } from "./store.js";

const format = "fieldfare-conversations";

// exported returns conversations with their pictures as JSON text.
export async function exported(store, ids) {
  const conversations = [];
  const pictures = {};
  for (const id of ids) {
    const conversation = await store.conversation(id);
    if (!conversation) continue;
    conversations.push(conversation);
    for (const picture of await store.pictures(id)) pictures[picture.id] = await dataURL(picture.blob);
  }
  return JSON.stringify({ format, version: 1, exported: new Date().toISOString(), conversations, pictures }, null, 1);
}

// imported stores the conversations of a file beside those that are there, and returns how many. Nothing of the file
// is believed: what has not the shape of a conversation is refused with an Error before anything is stored.
export async function imported(store, text) {
  const file = read(text);
  const made = [];
  for (const [i, from] of file.conversations.entries()) {
    const c = conversation(from, `Conversation ${i + 1}`);
    const pictures = [];
    for (const picture of c.nodes.flatMap((node) => node.pictures ?? [])) {
      const blob = pictureBlob(file.pictures?.[picture.id], picture.name);
      picture.id = newID();
      pictures.push({ id: picture.id, blob });
    }
    made.push([c, pictures]);
  }
  for (const [c, pictures] of made) await store.save(c, pictures);
  return made.length;
}

function read(text) {
  let file;
  try {
    file = JSON.parse(text);
  } catch {
    throw new Error("The file is not JSON.");
  }
  if (file?.format !== format || !Array.isArray(file.conversations))
    throw new Error("The file holds no conversations of this page.");
  if (file.version !== 1) throw new Error(`The file has version ${file.version}; this page reads version 1.`);
  return file;
}

const string = (value, otherwise = "") => (typeof value === "string" ? value : otherwise);
const number = (value, otherwise) => (Number.isFinite(value) ? value : otherwise);
const list = (value) => (Array.isArray(value) ? value : []);

function conversation(from, where) {
  const ids = new Map();
  const nodes = list(from?.nodes).map((n) => {
    const made = node(n, where);
    made.parent = n.parent === null ? null : ids.get(n.parent);
    if (made.parent === undefined) throw new Error(`${where}: a message has no place.`);
    ids.set(n.id, made.id);
    return made;
  });
  if (nodes.length === 0) throw new Error(`${where} holds no messages.`);
  const settings = { ...defaults };
  for (const [name, value] of Object.entries(from.settings ?? {})) {
    const fits = typeof value === typeof defaults[name] || (defaults[name] === null && Number.isFinite(value));
    if (Object.hasOwn(defaults, name) && fits) settings[name] = value;
  }
  return {
    id: newID(),
    title: string(from.title, where),
    named: from.named === true,
    settings,
    nodes,
    created: number(from.created, Date.now()),
    updated: number(from.updated, Date.now()),
    leaf: ids.get(from.leaf) ?? nodes.at(-1).id,
  };
}

function node(from, where) {
  const base = { id: newID(), at: number(from?.at, 0), role: from?.role, text: string(from?.text) };
  switch (base.role) {
    case "user":
      return { ...base, pictures: list(from.pictures).map(picture) };
    case "tool":
      return { ...base, call: string(from.call), name: string(from.name) };
    case "assistant":
      return {
        ...base,
        reasoning: string(from.reasoning),
        thoughtSeconds: number(from.thoughtSeconds, 0),
        model: string(from.model),
        calls: list(from.calls).map((c) => ({
          id: string(c?.id),
          name: string(c?.name),
          arguments: string(c?.arguments),
        })),
        state: ["done", "stopped", "failed"].includes(from.state) ? from.state : "cut",
        finish: string(from.finish),
        ...figures(from),
        error: { code: string(from.error?.code), message: string(from.error?.message) },
      };
  }
  throw new Error(`${where}: a message has an unknown role.`);
}

// figures takes the numbers about an answer, all or none.
function figures({ facts, usage }) {
  const numbers = (from) =>
    Object.fromEntries(Object.entries(from ?? {}).filter(([, value]) => Number.isFinite(value)));
  const out = { timings: numbers(facts?.timings), reuse: numbers(facts?.reuse), experts: numbers(facts?.experts) };
  const whole = [
    out.experts.hit_rate,
    out.experts.bytes_read,
    out.reuse.tokens,
    facts?.seed,
    usage?.prompt_tokens,
    usage?.completion_tokens,
  ];
  if (!whole.every(Number.isFinite)) return {};
  return {
    facts: { ...out, seed: facts.seed },
    usage: {
      ...numbers(usage),
      prompt_tokens_details: numbers(usage.prompt_tokens_details),
      completion_tokens_details: numbers(usage.completion_tokens_details),
    },
  };
}

const picture = (from) => ({
  id: string(from?.id),
  name: string(from?.name, "picture"),
  type: string(from?.type),
  bytes: number(from?.bytes, 0),
  width: number(from?.width, 0),
  height: number(from?.height, 0),
  detail: ["low", "auto", "high"].includes(from?.detail) ? from.detail : "auto",
});

// pictureBlob reads a data URL without fetching it: the page's policy forbids that.
function pictureBlob(url, name) {
  const match = /^data:(image\/[a-z0-9.+-]+);base64,([A-Za-z0-9+/=]*)$/.exec(string(url));
  if (!match) throw new Error(`The file lacks the picture “${name}”.`);
  const bytes = Uint8Array.from(atob(match[2]), (c) => c.charCodeAt(0));
  return new Blob([bytes], { type: match[1] });
}

// download hands text to the user as a file.
export function download(name, text) {
  const url = URL.createObjectURL(new Blob([text], { type: "application/json" }));
  const link = Object.assign(document.createElement("a"), { href: url, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}
