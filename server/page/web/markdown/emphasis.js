// Emphasis, by the rules of CommonMark for runs of *, _ and ~. Marks are {mark, length, run, opens, closes}; run is the
// length at first.

const reach = 1000; // items that emphasis may span, so that a text full of marks takes no time

// pair makes emphasis of the marks in items, from the innermost outwards, as CommonMark says.
export function pair(items, from) {
  const bottom = {}; // by kind of mark: no opener before here
  for (let close = from; close < items.length; close++) {
    const closer = items[close];
    if (!closer.mark || !closer.closes) continue;
    const kind = `${closer.mark}${closer.opens}${closer.run % 3}`;
    let open = close - 1;
    const last = Math.max(bottom[kind] ?? from, close - reach);
    while (open >= last && !matches(items[open], closer)) open--;
    if (open < last) {
      bottom[kind] = close;
      continue;
    }
    const opener = items[open];
    const used = closer.mark === "~" ? closer.length : Math.min(2, opener.length, closer.length);
    const type = closer.mark === "~" ? "del" : used === 2 ? "strong" : "em";
    const node = { type, children: merge(items.slice(open + 1, close)) };
    opener.length -= used;
    closer.length -= used;
    const rest = [opener, node, closer].filter((item) => item.mark === undefined || item.length > 0);
    items.splice(open, close - open + 1, ...rest);
    for (const key in bottom) bottom[key] = Math.min(bottom[key], open);
    close = items.indexOf(node, open); // what is left of the closer comes next
  }
}

function matches(opener, closer) {
  if (opener.mark !== closer.mark || !opener.opens) return false;
  if (closer.mark === "~") return opener.length === closer.length;
  const both = opener.closes || closer.opens;
  return !both || (opener.run + closer.run) % 3 !== 0 || (opener.run % 3 === 0 && closer.run % 3 === 0);
}

// merge turns marks and brackets that nothing came of back into text, and joins neighbouring strings.
export function merge(items) {
  const out = [];
  for (const item of items) {
    const text = typeof item === "string" ? item : item.mark ? item.mark.repeat(item.length) : item.bracket;
    if (text === undefined) out.push(item);
    else if (typeof out.at(-1) === "string") out[out.length - 1] += text;
    else if (text) out.push(text);
  }
  return out;
}
