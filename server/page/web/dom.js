// Elements without markup: nothing in this page ever parses a string as HTML.

// el makes an element. props: "class", "text", "on" (listeners by event), "data" (data-*), "aria" (aria-*), and
// attributes; a value of false, null or undefined leaves an attribute out, true writes it without a value.
export function el(name, props = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(props)) set(element, key, value);
  element.append(
    ...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false),
  );
  return element;
}

function set(element, key, value) {
  if (value === false || value === null || value === undefined) return;
  switch (key) {
    case "class":
      element.className = value;
      break;
    case "text":
      element.textContent = value;
      break;
    case "on":
      for (const [event, listener] of Object.entries(value)) element.addEventListener(event, listener);
      break;
    case "data":
      Object.assign(element.dataset, value);
      break;
    case "aria":
      for (const [attribute, v] of Object.entries(value)) element.setAttribute(`aria-${attribute}`, v);
      break;
    default:
      element.setAttribute(key, value === true ? "" : value);
  }
}

export const byId = (id) => document.getElementById(id);

// show hides or shows an element; hidden ones leave the tab order, too.
export function show(element, visible) {
  element.hidden = !visible;
}

// say replaces a text only if it changed, so that screen readers and selections are left alone.
export function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

// button makes a button that shows an icon and is named by its label.
export function button(label, symbol, onClick, props = {}) {
  return el(
    "button",
    { type: "button", class: "quiet", title: label, aria: { label }, on: { click: onClick }, ...props },
    symbol,
  );
}
