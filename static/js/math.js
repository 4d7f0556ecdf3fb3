// Formulas: KaTeX is fetched where one occurs, and sets them before they are seen. It styles elements through the
// object model, which the page's policy allows; what it cannot read is shown as it was written.
import { $$ } from "./dom.js";

const OPTIONS = { throwOnError: true, strict: "ignore", trust: false, maxExpand: 500, maxSize: 40 };
const KNOWN = 400;
const known = new Map(); // the last formulas as they were set: a reply that grows shows the same ones again and again
let loading = null;
let failed = false;

function load() {
  loading ??= new Promise((done, fail) => {
    const sheet = document.createElement("link");
    sheet.rel = "stylesheet";
    sheet.href = new URL("../vendor/katex/katex.css", import.meta.url);
    const script = document.createElement("script");
    script.src = new URL("../vendor/katex/katex.js", import.meta.url);
    const arrived = [sheet, script].map((element) => new Promise((ok, no) => {
      element.onload = ok;
      element.onerror = no;
    }));
    Promise.all(arrived).then(done, fail);
    document.head.append(sheet, script);
  });
  return loading;
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

/** Sets all formulas in an element that are not set yet. */
export function setFormulas(root) {
  const waiting = $$(".math:not([data-set])", root);
  if (root.matches?.(".math:not([data-set])")) waiting.push(root);
  if (!waiting.length) return;
  if (window.katex) return waiting.forEach(set);
  if (failed) return waiting.forEach((element) => (element.dataset.set = ""));
  load().catch(() => (failed = true)).then(() => setFormulas(document.body));
}
