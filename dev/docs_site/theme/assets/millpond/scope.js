// What Material's bundle expects in the page before it: where the site begins, and how it remembers choices there.
const begin = new URL(document.currentScript.dataset.base, location);
window.__md_scope = begin;
window.__md_hash = (text) => [...text].reduce((sum, letter) => ((sum << 5) - sum + letter.charCodeAt(0)) | 0, 0);
window.__md_get = (name, storage = localStorage, scope = begin) => {
  try {
    return JSON.parse(storage.getItem(`${scope.pathname}.${name}`));
  } catch {
    return null;
  }
};
window.__md_set = (name, value, storage = localStorage, scope = begin) => {
  try {
    storage.setItem(`${scope.pathname}.${name}`, JSON.stringify(value));
  } catch {
    // A browser that keeps nothing: the choice holds for this page.
  }
};
