// Helpers shared by the modules.

export const $ = (selector, root = document) => root.querySelector(selector);
export const $$ = (selector, root = document) => [...root.querySelectorAll(selector)];

/** An element with these properties. */
export const make = (tag, properties) => Object.assign(document.createElement(tag), properties);

/** True where people type on glass: there Enter begins a new line instead of sending. */
export const isTouch = matchMedia("(hover: none) and (pointer: coarse)").matches;

/** True while the server cannot be reached for want of a network; one on this machine is reached without any. */
export let isOffline = false;

export async function checkNetwork() {
  isOffline = !navigator.onLine;
  if (isOffline) isOffline = await fetch("/healthz", { cache: "no-store" }).then(() => false, () => true);
  return isOffline;
}
addEventListener("online", checkNetwork);
checkNetwork();

/** Calls handler(event, element) for events of that type on elements that match now or ever. */
export function on(type, selector, handler, options) {
  document.addEventListener(type, (event) => {
    const element = event.target instanceof Element ? event.target.closest(selector) : null;
    if (element) handler(event, element);
  }, options);
}

/** Calls handler(root) now and after every swap, with what was put in. */
export function onContent(handler) {
  handler(document.body);
  document.addEventListener("htmx:after:settle", (event) => handler(event.target));
}

/** Calls action once that request's answer is in the page or was not taken. */
export function afterSwap(request, action) {
  const listener = ({ detail: { ctx } }) => {
    if (ctx !== request) return;
    document.removeEventListener("htmx:finally:swap", listener);
    action();
  };
  document.addEventListener("htmx:finally:swap", listener);
}

/** Loads a part of the page, of which the answer may say itself where it goes. */
export const load = (url, target, swap = "none") => htmx.ajax("GET", url, { target, swap, source: target });

/** Goes to another page in the main part of this one. */
export const visit = (url) => htmx.ajax("GET", url, { target: "#main", swap: "innerHTML", push: "true", source: "#main" });

export function setCookie(name, value) {
  document.cookie = `${name}=${value}; path=/; max-age=31536000; samesite=lax`;
}

/** What a request for a part of this page is sent with, whoever sends it. */
export const headers = () => ({ "HX-Request": "true", ...JSON.parse(document.body.getAttribute("hx-headers:inherited") ?? "{}") });

/** Local storage that may be full, switched off or not ours: then it just remembers nothing. */
export const store = {
  get(key) {
    try { return JSON.parse(localStorage.getItem(key)); } catch { return null; }
  },
  set(key, value) {
    try { localStorage.setItem(key, JSON.stringify(value)); } catch { /* nothing is remembered */ }
  },
  remove(key) {
    try { localStorage.removeItem(key); } catch { /* nothing was remembered */ }
  },
  /** Removes what somebody typed and did not send, here and in this tab. */
  removeWords(person) {
    const isTheirs = (key) => ["draft", "queued"].some((kind) => key.startsWith(`${kind}:${person}:`));
    try {
      Object.keys(localStorage).filter(isTheirs).forEach((key) => localStorage.removeItem(key));
      sessionStorage.clear();
    } catch { /* nothing was remembered */ }
  },
};

/** A random key; crypto.randomUUID is missing on plain http. */
export function randomKey() {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** How much of a limit a text takes: the server counts bytes, which are characters as long as they are plain. */
export const size = (value, limit) => (value.length * 3 < limit ? value.length : new TextEncoder().encode(value).length);
