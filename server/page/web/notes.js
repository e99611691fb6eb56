// Small things to remember, under the prefix "fieldfare.": for the browser, or for this tab. A browser that refuses
// storage forgets them with the page.

class Notes {
  constructor(name) {
    try {
      this.storage = window[name];
      this.storage.getItem("fieldfare");
    } catch {
      const map = new Map();
      this.storage = {
        getItem: (key) => map.get(key) ?? null,
        setItem: (key, value) => map.set(key, value),
        removeItem: (key) => map.delete(key),
      };
    }
  }

  // get returns a text, or null.
  get(key) {
    return this.storage.getItem(`fieldfare.${key}`);
  }

  // set keeps a text; null forgets it.
  set(key, text) {
    if (text === null) this.storage.removeItem(`fieldfare.${key}`);
    else this.storage.setItem(`fieldfare.${key}`, text);
  }
}

export const browser = new Notes("localStorage");
export const tab = new Notes("sessionStorage");
