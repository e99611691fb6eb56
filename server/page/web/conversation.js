// A conversation is a tree: another answer to the same question, or another wording of a question, is a sibling.
// What is shown and sent is the path from the first question to the leaf.
//
//   conversation  {id, title, named, created, updated, settings, nodes, leaf}
//   node          {id, parent, role, at, …}; parent null begins a conversation
//     user        text, pictures: [{id, name, type, bytes, width, height, detail, receipt}]
//     assistant   text, reasoning, calls: [{id, name, arguments}], state, finish, error, facts
//     tool        text, call, name: the result of a call
//
// state is running, done, stopped, failed or cut (the page went away while it ran).

// newID is random; crypto.randomUUID is missing where the page comes over plain HTTP from another machine.
export function newID() {
  const bytes = crypto.getRandomValues(new Uint8Array(12));
  return "n" + Array.from(bytes, (b) => b.toString(16).padStart(2, "0")).join("");
}

export function create(settings) {
  const now = Date.now();
  return {
    id: newID(),
    title: "",
    named: false,
    created: now,
    updated: now,
    settings: { ...settings },
    nodes: [],
    leaf: null,
  };
}

const find = (c, id) => c.nodes.find((node) => node.id === id);

// path returns the nodes from the first one to id, by default the leaf.
export function path(c, id = c.leaf) {
  const nodes = [];
  for (let node = find(c, id); node; node = find(c, node.parent)) nodes.unshift(node);
  return nodes;
}

// add puts a node behind parent and makes it the leaf.
export function add(c, parent, node) {
  const made = { id: newID(), parent, at: Date.now(), ...node };
  c.nodes.push(made);
  c.leaf = made.id;
  c.updated = made.at;
  return made;
}

// siblings are the nodes that stand in the same place, oldest first.
export const siblings = (c, node) =>
  c.nodes.filter((other) => other.parent === node.parent && other.role === node.role);

// choose makes node part of the path, together with what came after it last.
export function choose(c, node) {
  let leaf = node;
  for (;;) {
    const next = c.nodes.findLast((other) => other.parent === leaf.id);
    if (!next) break;
    leaf = next;
  }
  c.leaf = leaf.id;
}

// openCalls are the calls of the leaf that have no result yet.
export function openCalls(c) {
  const nodes = path(c);
  const at = nodes.findLastIndex((node) => node.role === "assistant");
  if (at < 0 || nodes[at].state === "running") return [];
  const answered = new Set(nodes.slice(at + 1).map((node) => node.call));
  return nodes.slice(at + 1).some((node) => node.role === "user")
    ? []
    : (nodes[at].calls ?? []).filter((call) => !answered.has(call.id));
}

// titleOf makes a title of a question.
export function titleOf(node) {
  const line = node.text.trim().split("\n")[0].replace(/\s+/g, " ");
  if (!line) return node.pictures?.length ? "A picture" : "";
  return line.length <= 60 ? line : line.slice(0, 59).replace(/\s+\S*$/, "") + "…";
}
