// What a screen reader is told. A streaming answer is not read piece by piece: its beginning and its end are said, and
// short answers are read out when they are complete.

import { byId } from "./dom.js";
import { plural } from "./format.js";

const longest = 400; // letters that are read out unasked

export function announce(text) {
  const region = byId("announcer");
  region.textContent = "";
  setTimeout(() => (region.textContent = text), 50); // the same words twice are news twice
}

export function announceEnd(node) {
  const words = node.text.trim();
  if (node.state === "failed") announce(`No answer: ${node.error.message}`);
  else if (node.calls.length > 0) announce(`The model calls ${node.calls.map((call) => call.name).join(", ")}.`);
  else if (node.state === "stopped") announce("Stopped.");
  else if (words.length <= longest) announce(`Answer: ${words}`);
  else announce(`The answer is complete, ${plural(words.split(/\s+/).length, "word")}.`);
}
