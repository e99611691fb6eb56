// Copying, also where the page came over plain HTTP from another machine and has no clipboard of its own.

import { button, el } from "./dom.js";
import { icon } from "./icons.js";

async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = el("textarea", { class: "unseen", text });
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
}

// copyButton makes a button that copies what text() returns, and shows that it did.
export function copyButton(label, text) {
  const copier = button(label, icon("copy"), async () => {
    await copy(text());
    copier.replaceChildren(icon("check"));
    setTimeout(() => copier.replaceChildren(icon("copy")), 1500);
  });
  return copier;
}

// codeBlock is a piece of code with its language and a button to copy it.
export function codeBlock(text, language) {
  return el(
    "figure",
    { class: "code" },
    el(
      "figcaption",
      {},
      el("span", { text: language || "text" }),
      copyButton("Copy the code", () => text),
    ),
    el(
      "pre",
      { tabindex: "0", role: "region", aria: { label: language ? `Code, ${language}` : "Code" } },
      el("code", { text }),
    ),
  );
}
