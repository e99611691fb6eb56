// Pictures on their way into a question.

import { newID } from "./conversation.js";
import { bytes } from "./format.js";

// What the server decodes, by the first bytes. Others are converted here if this browser can read them.
const kinds = [
  ["image/png", /^\x89PNG\r\n/],
  ["image/jpeg", /^\xff\xd8\xff/],
  ["image/gif", /^GIF8/],
  ["image/webp", /^RIFF....WEBP/s],
  ["image/bmp", /^BM/],
  ["image/tiff", /^(?:II\*\0|MM\0\*)/],
];

// take makes a picture for a question of a file: {id, blob, name, type, bytes, width, height, detail, note}. width and
// height are 0 where this browser cannot show the format. It throws an Error for people.
export async function take(file, detail, limits) {
  const name = file.name || "pasted picture";
  const type = await sniff(file);
  const blob = type ? file : await convert(file, name);
  const note = type ? "" : `${name} was converted to PNG, for the server does not read its format.`;
  if (limits && blob.size > limits.max_bytes_per_image) {
    throw new Error(
      `${name} has ${bytes(blob.size)}; the server takes ${bytes(limits.max_bytes_per_image)} a picture.`,
    );
  }
  const kept = new Blob([await blob.arrayBuffer()], { type: type ?? "image/png" }); // the file may change or vanish
  return { id: newID(), blob: kept, name, type: kept.type, bytes: kept.size, detail, note, ...(await measure(kept)) };
}

async function sniff(file) {
  const head = new Uint8Array(await file.slice(0, 16).arrayBuffer());
  const text = String.fromCharCode(...head);
  return kinds.find(([, magic]) => magic.test(text))?.[0];
}

// convert has the browser decode a format that the server does not know, such as AVIF, or HEIC in Safari.
async function convert(file, name) {
  try {
    const bitmap = await createImageBitmap(file);
    const canvas = new OffscreenCanvas(bitmap.width, bitmap.height);
    canvas.getContext("2d").drawImage(bitmap, 0, 0);
    return await canvas.convertToBlob({ type: "image/png" });
  } catch {
    throw new Error(`${name} is not a picture that can be read here.`);
  }
}

async function measure(blob) {
  const url = URL.createObjectURL(blob);
  try {
    const image = new Image();
    image.src = url;
    await image.decode();
    return { width: image.naturalWidth, height: image.naturalHeight };
  } catch {
    return { width: 0, height: 0 };
  } finally {
    URL.revokeObjectURL(url);
  }
}

// files returns the files of a drop or paste.
export const files = (transfer) => [...(transfer?.files ?? [])];
