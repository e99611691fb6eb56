// Tables, as GitHub has them.

import { blank, indent, interrupts } from "./lines.js";

const delimiter = /^ {0,3}\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$/;

// isTable tells whether a line and the one below it begin a table.
export function isTable(lines, at) {
  const rulers = lines[at + 1];
  if (rulers === undefined || !lines[at].includes("|") || !delimiter.test(rulers) || !/[|:]/.test(rulers)) return false;
  return cells(lines[at]).length === cells(rulers).length;
}

// table returns the table that begins at a line, and the line behind it.
export function table(lines, at) {
  const head = cells(lines[at]);
  const align = cells(lines[at + 1]).map((cell) => {
    const [left, right] = [cell.startsWith(":"), cell.endsWith(":")];
    return left && right ? "center" : right ? "right" : left ? "left" : "";
  });
  const rows = [];
  let next = at + 2;
  for (; next < lines.length && !blank(lines[next]) && !interrupts(lines[next]) && indent(lines[next]) < 4; next++) {
    const row = cells(lines[next]);
    rows.push(head.map((_, i) => row[i] ?? ""));
  }
  return [{ type: "table", align, head, rows }, next];
}

// cells splits a row at its bars; one behind a backslash, or in code, is text.
function cells(line) {
  const out = [""];
  let code = false;
  const row = line.trim().replace(/^\|/, "");
  for (let i = 0; i < row.length; i++) {
    if (row[i] === "\\" && row[i + 1] === "|") {
      out[out.length - 1] += "|";
      i++;
      continue;
    }
    if (row[i] === "`") code = !code && row.includes("`", i + 1);
    if (row[i] === "|" && !code) out.push("");
    else out[out.length - 1] += row[i];
  }
  if (out.length > 1 && blank(out.at(-1))) out.pop();
  return out.map((cell) => cell.trim());
}
