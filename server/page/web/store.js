// The history, in the browser's own database: headings for the list, conversations, and pictures as files.
// Where a browser refuses the database, everything is kept until the page closes.

import { newID } from "./conversation.js";

const stores = ["headings", "conversations", "pictures"];

const settled = (request) =>
  new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });

export class Store extends EventTarget {
  // open never fails; kept says whether the history outlives the page.
  static async open() {
    const store = new Store();
    try {
      const opening = indexedDB.open("fieldfare", 1);
      opening.onupgradeneeded = () => {
        for (const name of stores) opening.result.createObjectStore(name, { keyPath: "id" });
        opening.transaction.objectStore("pictures").createIndex("conversation", "conversation");
      };
      store.db = await settled(opening);
      store.db.onversionchange = () => store.db.close(); // a newer page in another tab
    } catch {
      store.memory = Object.fromEntries(stores.map((name) => [name, new Map()]));
    }
    store.tabs = new BroadcastChannel("fieldfare");
    store.tabs.onmessage = ({ data }) => store.dispatchEvent(new CustomEvent("change", { detail: data }));
    return store;
  }

  get kept() {
    return this.db !== undefined;
  }

  // write runs work on the stores in one transaction and resolves when it is on disk. work gets objects with put and
  // delete, by name of the store.
  async write(work) {
    if (!this.db) {
      const plain = (map) => ({
        put: (value) => map.set(value.id, structuredClone(value)),
        delete: (id) => map.delete(id),
      });
      work(Object.fromEntries(stores.map((name) => [name, plain(this.memory[name])])));
      return;
    }
    const transaction = this.db.transaction(stores, "readwrite");
    const done = new Promise((resolve, reject) => {
      transaction.oncomplete = resolve;
      transaction.onerror = transaction.onabort = () => reject(transaction.error);
    });
    work(Object.fromEntries(stores.map((name) => [name, transaction.objectStore(name)])));
    await done;
  }

  async get(name, id) {
    if (!this.db) return structuredClone(this.memory[name].get(id));
    return settled(this.db.transaction(name).objectStore(name).get(id));
  }

  async all(name, conversation) {
    if (!this.db) {
      return [...this.memory[name].values()].filter((value) => !conversation || value.conversation === conversation);
    }
    const from = this.db.transaction(name).objectStore(name);
    return settled(conversation ? from.index("conversation").getAll(conversation) : from.getAll());
  }

  // headings are {id, title, updated}, newest first.
  async headings() {
    return (await this.all("headings")).sort((a, b) => b.updated - a.updated);
  }

  conversation(id) {
    return this.get("conversations", id);
  }

  pictures(conversation) {
    return this.all("pictures", conversation);
  }

  // save writes a conversation, and pictures that are new in it: {id, blob}.
  async save(conversation, pictures = []) {
    const { id, title, updated } = conversation;
    await this.write((to) => {
      to.headings.put({ id, title, updated });
      to.conversations.put(conversation);
      for (const picture of pictures) to.pictures.put({ ...picture, conversation: id });
    });
    this.tabs.postMessage(id);
  }

  // remove deletes a conversation and returns a function that brings it back.
  async remove(id) {
    const [conversation, pictures] = await Promise.all([this.conversation(id), this.pictures(id)]);
    await this.write((to) => {
      to.headings.delete(id);
      to.conversations.delete(id);
      for (const picture of pictures) to.pictures.delete(picture.id);
    });
    this.tabs.postMessage(id);
    return () => this.save(conversation, pictures);
  }

  async addPicture(blob, conversation) {
    const picture = { id: newID(), blob, conversation };
    await this.write((to) => to.pictures.put(picture));
    return picture.id;
  }

  async picture(id) {
    return (await this.get("pictures", id))?.blob;
  }
}

// dataURL reads a blob as a data URL.
export const dataURL = (blob) =>
  new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result);
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(blob);
  });
