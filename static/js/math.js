// Formulas: KaTeX is fetched where one occurs, and sets them before they are seen. It styles elements through the
// object model, which the page's policy allows; what it cannot read is shown as it was written.
import { $$, make } from "./dom.js";

const OPTIONS = { throwOnError: true, strict: "ignore", trust: false, maxExpand: 500, maxSize: 40 };
const CACHE_SIZE = 400;
const cache = new Map(); // the last formulas as they were set: a reply that grows shows the same ones again and again
const CHEMISTRY = /\\(?:ce|pu)\s*\{/; // its commands come from an extension
const loading = new Map();

function fetchFile(name) {
  const isSheet = name.endsWith(".css");
  const url = new URL(`../vendor/katex/${name}`, import.meta.url);
  const element = isSheet ? make("link", { rel: "stylesheet", href: url }) : make("script", { src: url });
  return new Promise((resolve, reject) => {
    element.onload = resolve;
    element.onerror = reject;
    document.head.append(element);
  });
}

const PARTS = {
  katex: () => Promise.all(["katex.css", "katex.js"].map(fetchFile)),
  chemistry: () => load("katex").then(() => fetchFile("mhchem.js")),
};

/** Fetches a part once; its state is "loaded" or "failed" when that has ended, whatever came of it. */
function load(part) {
  if (!loading.has(part)) {
    const entry = { state: "loading" };
    entry.end = PARTS[part]().then(() => (entry.state = "loaded"), () => (entry.state = "failed"));
    loading.set(part, entry);
  }
  return loading.get(part).end;
}

/** Lets KaTeX work while style attributes are set as the page's policy allows: through the object model. */
function withStyles(work) {
  const { setAttribute } = Element.prototype;
  Element.prototype.setAttribute = function (name, value) {
    if (name === "style") this.style.cssText = value;
    else setAttribute.call(this, name, value);
  };
  try {
    work();
  } finally {
    Element.prototype.setAttribute = setAttribute;
  }
}

function typeset(element) {
  const tex = element.dataset.tex ?? element.textContent;
  const displayMode = element.classList.contains("math-display");
  const key = `${displayMode}${tex}`;
  let content = cache.get(key);
  if (!content) {
    const place = make("span");
    try {
      withStyles(() => window.katex.render(tex, place, { ...OPTIONS, displayMode }));
    } catch (error) {
      place.className = "math-unread";
      place.textContent = tex;
      place.title = String(error.message ?? error).replace(/^KaTeX parse error: /, "");
    }
    content = place;
    cache.set(key, content);
    if (cache.size > CACHE_SIZE) cache.delete(cache.keys().next().value);
  }
  element.dataset.tex = tex;
  element.replaceChildren(content.cloneNode(true));
  element.dataset.set = "";
}

const partOf = (element) => (CHEMISTRY.test(element.textContent) ? "chemistry" : "katex");

/** Sets all formulas in an element that are not set yet. */
export function setFormulas(root) {
  const elements = $$(".math:not([data-set])", root);
  if (root.matches?.(".math:not([data-set])")) elements.push(root);
  const missing = new Set();
  for (const element of elements) {
    const part = partOf(element);
    if (loading.get("katex")?.state === "failed") element.dataset.set = ""; // shown as it was written
    else if (["loaded", "failed"].includes(loading.get(part)?.state)) typeset(element);
    else missing.add(part);
  }
  for (const part of missing) load(part).then(() => setFormulas(document.body));
}
