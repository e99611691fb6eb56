// Menus of actions.

import { el } from "./dom.js";

// openMenu opens a menu beside the button that asks for it. actions are {label, run, danger}.
export function openMenu(opener, label, actions) {
  const menu = el("div", { class: "menu", role: "menu", popover: "auto", aria: { label } });
  for (const { label, run, danger } of actions) {
    const act = () => {
      menu.remove();
      run();
    };
    menu.append(
      el("button", { type: "button", role: "menuitem", class: danger && "danger", text: label, on: { click: act } }),
    );
  }
  menu.addEventListener("toggle", ({ newState }) => {
    if (newState === "closed") menu.remove();
  });
  menu.addEventListener("keydown", (event) => walk(event, [...menu.children]));
  opener.after(menu);
  menu.showPopover();
  const place = opener.getBoundingClientRect();
  menu.style.left = `${Math.max(8, Math.min(place.left, innerWidth - menu.offsetWidth - 8))}px`;
  menu.style.top = `${Math.min(place.bottom + 4, innerHeight - menu.offsetHeight - 8)}px`;
  menu.firstChild.focus();
}

// walk moves focus through the entries of a menu by arrow keys.
function walk(event, entries) {
  const steps = { ArrowDown: 1, ArrowUp: -1 };
  if (!(event.key in steps)) return;
  event.preventDefault();
  const at = entries.indexOf(document.activeElement);
  entries[(at + steps[event.key] + entries.length) % entries.length].focus();
}
