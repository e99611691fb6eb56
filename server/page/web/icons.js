// The page's drawings: lines on a grid of 24, in the colour of the text around them.

const lines = {
  plus: "M12 5v14M5 12h14",
  send: "M12 19V5M6 11l6-6 6 6",
  stop: "M7.5 7.5h9v9h-9z",
  copy: "M9 9h10v10H9zM15 9V5H5v10h4",
  check: "M5 12.5l4.5 4.5L19 7.5",
  retry: "M19 12a7 7 0 1 1-2-4.9M19 4v4h-4",
  edit: "M5 19h3.5L19 8.5 15.5 5 5 15.5zM13.5 7l3.5 3.5",
  left: "M14 6l-6 6 6 6",
  right: "M10 6l6 6-6 6",
  down: "M12 5v13M6.5 12.5L12 18l5.5-5.5",
  close: "M6 6l12 12M18 6L6 18",
  menu: "M5 7h14M5 12h14M5 17h9",
  more: "M6 12h.01M12 12h.01M18 12h.01",
  picture: "M5 5h14v14H5zM5 16l4.5-4.5L14 16l2-2 3 3M14.5 9h.01",
  thought: "M9.5 18h5M10.5 21h3M12 3a6 6 0 0 0-3.5 10.9c.7.6 1 1.3 1 2.1h5c0-.8.3-1.5 1-2.1A6 6 0 0 0 12 3z",
  settings: "M5 7h8M17 7h2M5 12h2M11 12h8M5 17h6M15 17h4M15 5v4M9 10v4M13 15v4",
  gauge: "M4.5 17a8.5 8.5 0 1 1 15 0M12 14l4-4.5M12 14h.01",
  moon: "M19 14.5A7.5 7.5 0 0 1 9.5 5 7.5 7.5 0 1 0 19 14.5z",
  sun: "M12 8.5a3.5 3.5 0 1 0 0 7 3.5 3.5 0 0 0 0-7zM12 3v2M12 19v2M3 12h2M19 12h2M5.6 5.6L7 7M17 17l1.4 1.4M5.6 18.4L7 17M17 7l1.4-1.4",
  half: "M12 4a8 8 0 1 0 0 16 8 8 0 0 0 0-16zM12 4v16M15 5.5v13M18 7.5v9",
  help: "M9.5 9.5a2.5 2.5 0 1 1 3.5 2.3c-.7.3-1 .8-1 1.7v.5M12 17h.01",
  tool: "M14.5 6.5a4 4 0 0 0-5 5L4.5 16.5l3 3 5-5a4 4 0 0 0 5-5l-2.5 2.5-2.5-.5-.5-2.5z",
  warn: "M12 4.5l8.5 15h-17zM12 10v4M12 16.8h.01",
};

// icon draws one of lines. Icons are ornaments: the button around them has the name.
export function icon(name) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("class", "icon");
  svg.setAttribute("aria-hidden", "true");
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  path.setAttribute("d", lines[name]);
  svg.append(path);
  return svg;
}
