// Formulas: KaTeX is fetched where one occurs, and sets them before they are seen. It styles elements through the
// object model, which the page's policy allows; what it cannot read is shown as it was written.
import { $$ } from "./dom.js";

const OPTIONS = { throwOnError: true, strict: "ignore", trust: false, maxExpand: 500, maxSize: 40 };
const KNOWN = 400;
const known = new Map(); // the last formulas as they were set: a reply that grows shows the same ones again and again
const CHEMISTRY = /\\(?:ce|pu)\s*\{/; // its commands come from an extension
const loading = new Map();

function fetched(name) {
  const isSheet = name.endsWith(".css");
  const address = new URL(`../vendor/katex/${name}`, import.meta.url);
  const element = Object.assign(document.createElement(isSheet ? "link" : "script"),
    isSheet ? { rel: "stylesheet", href: address } : { src: address });
  return new Promise((done, fail) => {
    element.onload = done;
    element.onerror = fail;
    document.head.append(element);
  });
}

const PARTS = {
  katex: () => Promise.all(["katex.css", "katex.js"].map(fetched)),
  chemistry: () => load("katex").then(() => fetched("mhchem.js")),
};

/** Fetches a part once; its state is "here" or "failed" when that has ended, whatever came of it. */
function load(part) {
  if (!loading.has(part)) {
    const entry = { state: "coming" };
    entry.end = PARTS[part]().then(() => (entry.state = "here"), () => (entry.state = "failed"));
    loading.set(part, entry);
  }
  return loading.get(part).end;
}

/** Lets KaTeX work while style attributes are set as the page's policy allows: through the object model. */
function styled(work) {
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

function set(element) {
  const tex = element.dataset.tex ?? element.textContent;
  const displayMode = element.classList.contains("math-display");
  const key = `${displayMode}${tex}`;
  let content = known.get(key);
  if (!content) {
    const place = document.createElement("span");
    try {
      styled(() => window.katex.render(tex, place, { ...OPTIONS, displayMode }));
    } catch (error) {
      place.className = "math-unread";
      place.textContent = tex;
      place.title = String(error.message ?? error).replace(/^KaTeX parse error: /, "");
    }
    content = place;
    known.set(key, content);
    if (known.size > KNOWN) known.delete(known.keys().next().value);
  }
  element.dataset.tex = tex;
  element.replaceChildren(content.cloneNode(true));
  element.dataset.set = "";
}

const partOf = (element) => (CHEMISTRY.test(element.textContent) ? "chemistry" : "katex");

/** Sets all formulas in an element that are not set yet. */
export function setFormulas(root) {
  const waiting = $$(".math:not([data-set])", root);
  if (root.matches?.(".math:not([data-set])")) waiting.push(root);
  const missing = new Set();
  for (const element of waiting) {
    const part = partOf(element);
    if (loading.get("katex")?.state === "failed") element.dataset.set = ""; // shown as it was written
    else if (["here", "failed"].includes(loading.get(part)?.state)) set(element);
    else missing.add(part);
  }
  for (const part of missing) load(part).then(() => setFormulas(document.body));
}
