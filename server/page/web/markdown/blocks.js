// The blocks of Markdown: CommonMark with tables, tasks and struck-out text, as models write it. HTML is text,
// definitions of references are not known, and a line break in a paragraph stays one.

import { blank, fence, heading, inParagraph, indent, interrupts, marker, quote, rule, untabbed } from "./lines.js";
import { isTable, table } from "./table.js";

const underline = /^ {0,3}(=+|-+)[ \t]*$/;

// Deeper nesting is text: nobody writes it, and it must not end the stack.
const deepest = 24;

// parse returns the blocks of source. A block is {type, from, to, …}, with the lines [from, to) that it was made of:
//   heading   level, text            paragraph  text            rule
//   code      language, text         quote      blocks
//   list      ordered, start, loose, items: [{task, blocks}]    task: null, false or true
//   table     align, head, rows      align: per column "", left, center or right
export function parse(source) {
  return blocks(untabbed(source.replace(/\r\n?/g, "\n").split("\n")), 0);
}

function blocks(lines, depth) {
  const out = [];
  for (let at = 0; at < lines.length;) {
    if (blank(lines[at])) {
      at++;
      continue;
    }
    const [block, next] = read(lines, at, depth);
    out.push({ ...block, from: at, to: next });
    at = next;
  }
  return out;
}

// read returns the block that begins at a line, and the line behind it.
function read(lines, at, depth) {
  const line = lines[at];
  let match;
  if (indent(line) >= 4) return indented(lines, at);
  if ((match = fence.exec(line))) return fenced(lines, at, match);
  if ((match = heading.exec(line))) return [{ type: "heading", level: match[1].length, text: match[2] ?? "" }, at + 1];
  if (rule.test(line)) return [{ type: "rule" }, at + 1];
  if (depth < deepest) {
    if (quote.test(line)) return quoted(lines, at, depth);
    if (marker.test(line)) return list(lines, at, depth);
  }
  if (isTable(lines, at)) return table(lines, at);
  return paragraph(lines, at);
}

function paragraph(lines, at) {
  let next = at + 1;
  for (; next < lines.length && !blank(lines[next]); next++) {
    const match = underline.exec(lines[next]);
    if (match) {
      return [{ type: "heading", level: match[1][0] === "=" ? 1 : 2, text: joined(lines.slice(at, next)) }, next + 1];
    }
    if (interrupts(lines[next]) || isTable(lines, next)) break;
  }
  return [{ type: "paragraph", text: joined(lines.slice(at, next)) }, next];
}

const joined = (lines) =>
  lines
    .map((line) => line.trimStart())
    .join("\n")
    .trimEnd();

// fenced ends at its closing fence, or with the text: an answer that still comes has no end yet.
function fenced(lines, at, [, margin, ticks, info]) {
  const closing = new RegExp(`^ {0,3}${ticks[0]}{${ticks.length},}[ \\t]*$`);
  let next = at + 1;
  while (next < lines.length && !closing.test(lines[next])) next++;
  const text = lines.slice(at + 1, next).map((line) => line.slice(Math.min(indent(line), margin.length)));
  return [
    { type: "code", language: info.trim().split(/\s/)[0], text: text.join("\n") },
    Math.min(next + 1, lines.length),
  ];
}

function indented(lines, at) {
  let next = at;
  while (next < lines.length && (blank(lines[next]) || indent(lines[next]) >= 4)) next++;
  while (blank(lines[next - 1])) next--;
  return [
    {
      type: "code",
      language: "",
      text: lines
        .slice(at, next)
        .map((line) => line.slice(4))
        .join("\n"),
    },
    next,
  ];
}

function quoted(lines, at, depth) {
  const inner = [];
  let next = at;
  let code = false; // inside a fence
  for (; next < lines.length && !blank(lines[next]); next++) {
    const marked = quote.test(lines[next]);
    if (!marked && !continues(inner, code, lines[next])) break;
    inner.push(marked ? lines[next].replace(/^ {0,3}> ?/, "") : lines[next]);
    code = code !== fence.test(inner.at(-1));
  }
  return [{ type: "quote", blocks: blocks(inner, depth + 1) }, next];
}

// continues tells whether a line goes on with the paragraph that inner ends in, though it has not its margin.
function continues(inner, code, line) {
  const last = inner.at(-1).replace(/^(?: *(?:[-*+]|\d{1,9}[.)]) +| {0,3}> ?)+/, "");
  return inParagraph(last) && indent(last) < 4 && !interrupts(line) && !code;
}

function list(lines, at, depth) {
  const first = marker.exec(lines[at]);
  const kind = first[2].at(-1);
  const items = [];
  let next = at;
  let loose = false;
  while (next < lines.length) {
    const match = marker.exec(lines[next]);
    if (!match || match[2].at(-1) !== kind || match[1].length >= 4 + first[1].length || rule.test(lines[next])) break;
    const [inner, after] = item(lines, next, match);
    const [task, content] = tasked(inner);
    const made = blocks(content, depth + 1);
    loose ||= made.some((block, i) => i > 0 && blank(content[block.from - 1]));
    items.push({ task, blocks: made });
    next = after;
    while (next < lines.length && blank(lines[next])) next++;
    loose ||= next > after && next < lines.length && marker.exec(lines[next])?.[2].at(-1) === kind;
    if (next === lines.length) next = after;
  }
  while (blank(lines[next - 1])) next--;
  const ordered = kind === "." || kind === ")";
  return [{ type: "list", ordered, start: ordered ? parseInt(first[2], 10) : 1, loose, items }, next];
}

// item returns the lines of a list's item without its margin, and the line behind it. Models indent what is nested by
// two spaces even below "1. ", so any mark that stands further in than the item's own belongs to it.
function item(lines, at, [, margin, mark, space, text]) {
  const width = margin.length + mark.length + (space && space.length < 5 ? space.length : 1);
  const inner = [space && space.length >= 5 ? " ".repeat(space.length - 1) + text : (text ?? "")];
  let next = at + 1;
  let code = fence.test(inner[0]);
  for (; next < lines.length; next++) {
    const line = lines[next];
    const nested = marker.test(line) && indent(line) >= margin.length + 2;
    if (blank(line)) {
      inner.push("");
    } else if (indent(line) >= width || nested) {
      inner.push(line.slice(Math.min(indent(line), width)));
    } else if (marker.test(line) || !continues(inner, code, line)) {
      break;
    } else {
      inner.push(line);
    }
    code = code !== fence.test(inner.at(-1));
  }
  while (inner.length > 1 && blank(inner.at(-1))) {
    inner.pop();
    next--;
  }
  return [inner, next];
}

function tasked(inner) {
  const match = /^\[([ xX])\] +(?=\S)/.exec(inner[0]);
  if (!match) return [null, inner];
  return [match[1] !== " ", [inner[0].slice(match[0].length), ...inner.slice(1)]];
}
