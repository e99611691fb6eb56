// From a conversation to the request that continues it.

import { path } from "./conversation.js";

// sampling are the settings that go into a request under their own names; unset ones are left to the server.
export const sampling = ["temperature", "top_p", "top_k", "min_p", "max_tokens", "seed"];

// defaults are the settings of a new conversation. null leaves a value to the server.
export const defaults = Object.freeze({
  system: "",
  thinking: false,
  detail: "auto",
  tools: "",
  temperature: null,
  top_p: null,
  top_k: null,
  min_p: null,
  max_tokens: null,
  seed: null,
});

// parseTools reads what a user entered as functions: OpenAI's list of tools, or of their functions alone. It throws an
// Error that says what is wrong.
export function parseTools(text) {
  if (!text.trim()) return [];
  let list;
  try {
    list = JSON.parse(text);
  } catch (error) {
    throw new Error(`This is not JSON: ${error.message}`, { cause: error });
  }
  if (!Array.isArray(list)) list = [list];
  return list.map((tool) => {
    const declared = tool?.type === "function" ? tool.function : tool;
    if (typeof declared?.name !== "string") throw new Error("Each function needs a name.");
    return { type: "function", function: declared };
  });
}

// messages writes nodes as the API's messages. urls gives the data URL of each picture by its id.
export function messages(settings, nodes, urls) {
  const out = [];
  if (settings.system.trim()) out.push({ role: "system", content: settings.system });
  for (const node of nodes) {
    if (node.role === "user") out.push({ role: "user", content: content(node, urls) });
    else if (node.role === "tool")
      out.push({ role: "tool", tool_call_id: node.call, name: node.name, content: node.text });
    else if (answered(node)) out.push(answer(node));
  }
  return out;
}

// answered tells answers from those that never said anything; the model would take silence for its own style.
const answered = (node) => node.text || node.calls?.length > 0;

function content(node, urls) {
  if (!node.pictures?.length) return node.text;
  const parts = node.pictures.map((p) => ({ type: "image_url", image_url: { url: urls.get(p.id), detail: p.detail } }));
  if (node.text) parts.push({ type: "text", text: node.text });
  return parts;
}

function answer(node) {
  const message = { role: "assistant", content: node.text };
  if (node.reasoning) message.reasoning_content = node.reasoning;
  if (node.calls?.length) {
    message.tool_calls = node.calls.map((call) => ({
      id: call.id,
      type: "function",
      function: { name: call.name, arguments: call.arguments },
    }));
  }
  return message;
}

// body is the request for what follows nodes. pictureURL returns a promise of a picture's data URL.
export async function body(settings, nodes, pictureURL) {
  const urls = new Map();
  for (const { id } of nodes.flatMap((node) => node.pictures ?? [])) urls.set(id, await pictureURL(id));
  const request = {
    messages: messages(settings, nodes, urls),
    chat_template_kwargs: { enable_thinking: settings.thinking },
  };
  for (const name of sampling) if (settings[name] !== null) request[name] = settings[name];
  const tools = parseTools(settings.tools);
  if (tools.length) request.tools = tools;
  return request;
}

// before returns the nodes that an answer to, or in place of, node continues.
export const before = (conversation, node) => (node.parent ? path(conversation, node.parent) : []);
