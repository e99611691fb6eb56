// Pictures as small buttons that open large.

import { byId, el } from "./dom.js";
import { bytes, plural } from "./format.js";

// thumb shows a picture. blob is a promise of its bytes, or of undefined when they are gone.
export function thumb(picture, blob) {
  const image = el("img", { alt: `Picture: ${picture.name}` });
  const opener = el(
    "button",
    { type: "button", class: "thumb", title: picture.name, on: { click: () => enlarge(picture, blob) } },
    image,
  );
  load(image, blob).then((shown) => {
    if (!shown) opener.replaceChildren(el("span", { text: `${picture.name} (no preview)` }));
  });
  return opener;
}

async function load(image, blob) {
  const bytes = await blob;
  if (!bytes) return false;
  const url = URL.createObjectURL(bytes);
  image.src = url;
  const shown = await image.decode().then(
    () => true,
    () => false,
  );
  URL.revokeObjectURL(url); // a decoded picture stays
  return shown;
}

async function enlarge(picture, blob) {
  const image = byId("lightbox-image");
  image.removeAttribute("src");
  image.alt = picture.name;
  byId("lightbox-text").textContent = describe(picture).join(" · ");
  byId("lightbox").showModal();
  await load(image, blob);
}

// describe says what is known of a picture, with the server's receipt once it was read.
export function describe({ name, width, height, bytes: size, receipt }) {
  const facts = [name];
  if (width) facts.push(`${width} × ${height}`);
  if (size) facts.push(bytes(size));
  const own = receipt?.receipt;
  if (own?.processed_width) {
    facts.push(
      `read at ${own.processed_width} × ${own.processed_height}${own.shrink > 1.005 ? `, ${own.shrink.toFixed(1)} times smaller` : ""}`,
    );
  }
  if (receipt) facts.push(plural(receipt.soft_tokens, "token"));
  return [...facts, ...(own?.notes ?? [])];
}
