// Short notices at the bottom, with at most one thing to do about them.

import { announce } from "./announce.js";
import { byId, el } from "./dom.js";

const visible = 8000; // milliseconds; those with an action stay for as long, and while pointed at or focused

// toast shows text above everything, dialogs too, and with action {label, run} a button.
export function toast(text, action) {
  const note = el("div", { class: "toast" }, el("span", { text }));
  const list = byId("toasts");
  const close = () => {
    note.remove();
    if (list.children.length === 0) list.hidePopover();
  };
  if (action) {
    note.append(
      el("button", {
        type: "button",
        class: "link",
        text: action.label,
        on: {
          click: () => {
            close();
            action.run();
          },
        },
      }),
    );
  }
  list.append(note);
  if (list.matches(":popover-open")) list.hidePopover();
  list.showPopover();
  announce(text);
  const leave = () => (note.matches(":hover, :focus-within") ? setTimeout(leave, 1000) : close());
  setTimeout(leave, visible);
}
