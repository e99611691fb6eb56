// From Markdown to elements. Model text only ever becomes text nodes; links lead to the web or to mail, nowhere else;
// pictures become links, for showing one would fetch it.

import { el } from "../dom.js";
import { parse } from "./blocks.js";
import { inline } from "./inline.js";

// Headings of an answer come below the page's own.
const headingOffset = 2;

// A Rendering keeps an element in step with a text that grows. Blocks whose source did not change keep their elements:
// selections, scroll positions and focus in them stay.
export class Rendering {
  // code makes the element of a code block from its text and language.
  constructor(element, code = plainCode) {
    this.element = element;
    this.code = code;
    this.sources = [];
  }

  update(text) {
    const lines = text.replace(/\r\n?/g, "\n").split("\n");
    const blocks = parse(text);
    const sources = blocks.map(({ type, from, to }) => `${type}\n${lines.slice(from, to).join("\n")}`);
    let same = 0;
    while (same < sources.length && sources[same] === this.sources[same]) same++;
    while (this.element.children.length > same) this.element.lastElementChild.remove();
    this.element.append(...blocks.slice(same).map((block) => this.block(block)));
    this.sources = sources;
  }

  block(block) {
    switch (block.type) {
      case "heading":
        return el(`h${Math.min(6, block.level + headingOffset)}`, {}, spans(block.text));
      case "rule":
        return el("hr");
      case "code":
        return this.code(block.text, block.language);
      case "quote":
        return el(
          "blockquote",
          {},
          block.blocks.map((inner) => this.block(inner)),
        );
      case "list":
        return this.list(block);
      case "table":
        return table(block);
      default:
        return el("p", {}, spans(block.text));
    }
  }

  list({ ordered, start, loose, items }) {
    return el(
      ordered ? "ol" : "ul",
      { start: ordered && start !== 1 ? start : null },
      items.map((item) => {
        const content = item.blocks.flatMap((b) =>
          b.type === "paragraph" && !loose ? spans(b.text) : [this.block(b)],
        );
        if (item.task === null) return el("li", {}, content);
        const box = el("input", {
          type: "checkbox",
          disabled: true,
          checked: item.task,
          aria: { label: item.task ? "done" : "open" },
        });
        return el("li", { class: "task" }, box, content);
      }),
    );
  }
}

function table({ align, head, rows }) {
  const cell = (name) => (text, i) =>
    el(name, { class: align[i] || null, scope: name === "th" ? "col" : null }, spans(text));
  return el(
    "div",
    { class: "scroll", role: "region", tabindex: "0", aria: { label: "Table" } },
    el(
      "table",
      {},
      el("thead", {}, el("tr", {}, head.map(cell("th")))),
      rows.length > 0 &&
        el(
          "tbody",
          {},
          rows.map((row) => el("tr", {}, row.map(cell("td")))),
        ),
    ),
  );
}

const plainCode = (text) => el("pre", {}, el("code", { text }));

const spans = (text) => inline(text).map(span);

function span(node) {
  if (typeof node === "string") return document.createTextNode(node);
  switch (node.type) {
    case "code":
      return el("code", { text: node.text });
    case "break":
      return el("br");
    case "link":
      return link(node);
  }
  return el(node.type, {}, node.children.map(span));
}

// link leads where it says, or is only text when that is no place on the web.
function link({ href, children }) {
  const url = safeURL(href);
  if (!url) return el("span", {}, children.map(span));
  return el("a", { href: url, target: "_blank", rel: "noopener noreferrer", title: url }, children.map(span));
}

// safeURL returns a full address of http, https or mailto, else null. The browser's own parser decides, so that tricks
// with blanks and controls end as they would in the browser.
export function safeURL(href) {
  const url = URL.parse?.(href) ?? tryURL(href);
  return url && ["http:", "https:", "mailto:"].includes(url.protocol) ? url.href : null;
}

function tryURL(href) {
  try {
    return new URL(href);
  } catch {
    return null;
  }
}
