// Keeps what is read, so that it can be read again without a connection; all of it goes when its person signs out.
import { $, $$, on, store } from "./dom.js";
import { READER, drop, forget, keep } from "./kept.js";

const reader = document.body.dataset.user ?? "";
const PAUSE = 1500;
// What needs a server, a script or a style sheet of its own. Formulas stay as MathML.
const OWN = "script, template, form, button, iframe, .message-foot, .earlier, .why, .katex-html, [hidden], details:not(.prose details)";
let soon = 0;
let gone = ""; // deleted, and still in sight until the next page has come

/** The thread as it stands, without what needs a server. */
function snapshot() {
  const copy = $("#thread").cloneNode(true);
  for (const part of $$(OWN, copy)) part.remove();
  for (const part of $$("*", copy)) {
    for (const { name } of [...part.attributes]) {
      if (name.startsWith("hx-") || name.startsWith("data-") || name === "id") part.removeAttribute(name);
    }
  }
  return copy.innerHTML;
}

function note() {
  const open = $(".conversation");
  const id = open?.dataset.conversation;
  if (!id || id === gone || open.dataset.temporary || $("#thread [data-streaming]") || !$("#thread .message")) return;
  keep(reader, { id, title: $(".title-text")?.textContent.trim() ?? "", html: snapshot(), at: Date.now() });
}

function noteSoon() {
  if ($(".conversation")?.dataset.conversation !== gone) gone = "";
  clearTimeout(soon);
  soon = setTimeout(note, PAUSE);
}

/** What is gone on the server is gone here. */
function noteGone() {
  const [, id] = location.pathname.match(/\/c\/(\d+)$/) ?? [];
  if (id && $(".error-page")) drop(reader, id);
}

if (reader) {
  if (store.get(READER) !== reader) forget(reader);
  store.set(READER, reader);
  noteGone();
  noteSoon();
  document.addEventListener("htmx:after:settle", noteSoon);
  document.addEventListener("conversation:gone", ({ detail }) => {
    gone = detail;
    drop(reader, detail);
  });
} else if ("nobody" in document.body.dataset) {
  store.remove(READER);
  forget();
}

// Before the server hears of it: nothing is left for whoever comes next, and nothing is kept from here on.
on("submit", 'form[action$="/logout"]', (event, form) => {
  if (form.isEmptied) return;
  event.preventDefault();
  clearTimeout(soon);
  store.remove(READER);
  form.isEmptied = true;
  forget().finally(() => form.requestSubmit());
});

if ("serviceWorker" in navigator) {
  const root = document.documentElement.dataset.root ?? "/";
  addEventListener("load", () => navigator.serviceWorker.register(`${root}sw.js`, { scope: root }).catch(() => {}));
}
