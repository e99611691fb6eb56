// What a line of Markdown can be taken for.

export const fence = /^( {0,3})(`{3,}|~{3,})[ \t]*([^`]*)$/;
export const heading = /^ {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*$/;
export const rule = /^ {0,3}([-*_])(?:[ \t]*\1){2,}[ \t]*$/;
export const quote = /^ {0,3}>/;
export const marker = /^( *)([-*+]|\d{1,9}[.)])(?:( +)(.*)|[ \t]*)$/;
export const blank = (line) => line.trim() === "";
export const inParagraph = (line) => !blank(line) && !fence.test(line) && !heading.test(line) && !rule.test(line);
export const indent = (line) => line.length - line.trimStart().length;

// interrupts tells whether a line ends the paragraph above it.
export function interrupts(line) {
  if (fence.test(line) || heading.test(line) || rule.test(line) || quote.test(line)) return true;
  const match = marker.exec(line);
  return (
    match !== null && match[4] !== undefined && match[1].length < 4 && !/^\d/.test(match[2].replace(/^1[.)]$/, "-"))
  );
}

const anyFence = /^[\s>]*(?:(?:[-*+]|\d{1,9}[.)])\s+)*(`{3,}|~{3,})/; // also inside lists and quotes

// untabbed makes blanks of the tabs that a line begins with, but not in code.
export function untabbed(lines) {
  let open = "";
  return lines.map((line) => {
    const ticks = anyFence.exec(line)?.[1];
    const code = open !== "";
    if (ticks && !open) open = ticks;
    else if (ticks && ticks[0] === open[0] && ticks.length >= open.length) open = "";
    return code ? line : line.replace(/^[ \t]+/, (margin) => margin.replace(/\t/g, "    "));
  });
}
