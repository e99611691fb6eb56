// What stands inside a paragraph: code, emphasis, links, breaks.

import { merge, pair } from "./emphasis.js";

const escapable = /[!-/:-@[-`{-~]/;
const bareURL = /https?:\/\/[^\s<>"'`\\]+/y;
const bracketed = /<([a-z][a-z0-9+.-]{1,31}:[^\s<>]*|[\w.+-]+@[\w-]+(?:\.[\w-]+)+)>/iy;
const lineBreak = /<br\s*\/?>/iy;
const entity = /&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|(amp|lt|gt|quot|apos|nbsp));/iy;
const entities = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", nbsp: "\u00a0" };
const space = (c) => c === undefined || /\s/u.test(c);
const punctuation = (c) => c !== undefined && /[\p{P}\p{S}]/u.test(c);

// inline returns what text consists of: strings, and nodes {type, children} of type em, strong, del and link (with
// href), {type: "code", text} and {type: "break"}. href is where a link says that it leads; who shows it decides
// whether it may.
export function inline(text) {
  const scanner = new Scanner(text);
  scanner.run();
  pair(scanner.out, 0);
  return merge(scanner.out);
}

class Scanner {
  constructor(text) {
    this.text = text;
    this.at = 0;
    this.out = []; // strings, nodes, and marks of emphasis.js
    this.brackets = []; // places in out
    this.unclosed = new Set(); // lengths of runs of backticks that nothing closes
  }

  run() {
    const { text } = this;
    while (this.at < text.length) {
      const c = text[this.at];
      if (c === "\\") this.escape();
      else if (c === "`") this.code();
      else if (c === "\n") this.newline();
      else if (c === "*" || c === "_" || c === "~") this.mark(c);
      else if (c === "[" || (c === "!" && text[this.at + 1] === "[")) this.open(c);
      else if (c === "]") this.close();
      else if (c === "<" || c === "&" || c === "h") this.special(c);
      else this.take(1);
    }
  }

  take(length) {
    this.push(this.text.slice(this.at, this.at + length));
    this.at += length;
  }

  push(item) {
    const last = this.out.length - 1;
    if (typeof item === "string" && typeof this.out[last] === "string") this.out[last] += item;
    else this.out.push(item);
  }

  escape() {
    const next = this.text[this.at + 1];
    if (next === "\n") {
      this.at++;
    } else if (next !== undefined && escapable.test(next)) {
      this.push(next);
      this.at += 2;
    } else {
      this.take(1);
    }
  }

  newline() {
    const last = this.out.length - 1;
    if (typeof this.out[last] === "string") this.out[last] = this.out[last].trimEnd();
    this.out.push({ type: "break" });
    this.at++;
    while (this.text[this.at] === " ") this.at++;
  }

  code() {
    const { text, at } = this;
    const ticks = /`+/y;
    ticks.lastIndex = at;
    const run = ticks.exec(text)[0];
    for (let end = at + run.length; !this.unclosed.has(run.length);) {
      end = text.indexOf(run, end);
      if (end < 0) {
        this.unclosed.add(run.length);
        break;
      }
      ticks.lastIndex = end;
      const closing = ticks.exec(text)[0];
      if (closing.length === run.length) {
        const inner = text.slice(at + run.length, end).replace(/\n/g, " ");
        const padded = inner.startsWith(" ") && inner.endsWith(" ") && inner.trim() !== "";
        this.out.push({ type: "code", text: padded ? inner.slice(1, -1) : inner });
        this.at = end + run.length;
        return;
      }
      end += closing.length;
    }
    this.take(run.length);
  }

  // mark takes a run of *, _ or ~ and says by its neighbours whether it can begin or end emphasis.
  mark(c) {
    const { text, at } = this;
    let end = at;
    while (text[end] === c) end++;
    const [before, after] = [text[at - 1], text[end]];
    const left = !space(after) && (!punctuation(after) || space(before) || punctuation(before));
    const right = !space(before) && (!punctuation(before) || space(after) || punctuation(after));
    const word = c === "_"; // inside words it is part of a name
    const length = end - at;
    if (c === "~" && length > 2) {
      this.take(length);
      return;
    }
    this.out.push({
      mark: c,
      length,
      run: length,
      opens: left && (!word || !right || punctuation(before)),
      closes: right && (!word || !left || punctuation(after)),
    });
    this.at = end;
  }

  open(c) {
    this.brackets.push(this.out.length);
    this.out.push({ bracket: c === "!" ? "![" : "[" });
    this.at += c === "!" ? 2 : 1;
  }

  // close makes a link of the brackets if a target follows. A picture becomes a link, too: nothing is fetched.
  close() {
    const from = this.brackets.pop();
    const target = from === undefined ? null : destination(this.text, this.at + 1);
    if (!target) {
      this.take(1);
      return;
    }
    const children = this.out.splice(from).slice(1);
    pair(children, 0);
    const label = merge(children);
    this.out.push({ type: "link", href: target.href, children: label.length ? label : [target.href] });
    this.at = target.end;
    this.brackets = this.brackets.filter((place) => this.out[place].bracket === "!["); // no links inside links
  }

  special(c) {
    for (const [first, pattern, make] of specials) {
      if (c !== first) continue;
      pattern.lastIndex = this.at;
      const match = pattern.exec(this.text);
      if (match && make(this, match)) return;
    }
    this.take(1);
  }

  link(href, text, length) {
    this.out.push({ type: "link", href, children: [text] });
    this.at += length;
    return true;
  }
}

const specials = [
  [
    "<",
    lineBreak,
    (s, [all]) => {
      s.out.push({ type: "break" });
      s.at += all.length;
      return true;
    },
  ],
  [
    "<",
    bracketed,
    (s, [all, address]) => s.link(address.includes(":") ? address : `mailto:${address}`, address, all.length),
  ],
  [
    "&",
    entity,
    (s, [all, decimal, hex, name]) => {
      const code = decimal ? parseInt(decimal, 10) : parseInt(hex ?? "0", 16);
      s.push(
        name ? entities[name.toLowerCase()] : code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : "\ufffd",
      );
      s.at += all.length;
      return true;
    },
  ],
  [
    "h",
    bareURL,
    (s, [all]) => {
      if (/[\p{L}\p{N}_]/u.test(s.text[s.at - 1] ?? "") || s.brackets.length > 0) return false;
      let url = all.replace(/[.,;:!?*_~]+$/, "");
      while (url.endsWith(")") && url.split(")").length > url.split("(").length) url = url.slice(0, -1);
      return s.link(url, url, url.length);
    },
  ],
];

// destination reads "(href "title")" at a place in text; null if there is none.
function destination(text, at) {
  const pattern =
    /\(\s*(?:<([^<>\n]*)>|((?:[^\s()\\]|\\.|\((?:[^\s()\\]|\\.)*\))*))(?:\s+(?:"[^"]*"|'[^']*'|\([^()]*\)))?\s*\)/y;
  pattern.lastIndex = at;
  const match = pattern.exec(text);
  if (!match) return null;
  return { href: (match[1] ?? match[2]).replace(/\\([!-/:-@[-`{-~])/g, "$1"), end: pattern.lastIndex };
}
