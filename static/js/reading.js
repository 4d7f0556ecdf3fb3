// Keeps what is read, so that it can be read again without a connection; all of it goes when its person signs out.
import { $, $$, on, store } from "./dom.js";
import { READER, clear, remove, save } from "./reading-cache.js";

const reader = document.body.dataset.user ?? "";
const PAUSE_MS = 1500;
// What needs a server, a script or a style sheet of its own. Formulas stay as MathML.
const DEPENDENT = "script, template, form, button, iframe, .message-foot, .earlier, .why, .katex-html, [hidden], details:not(.prose details)";
const LEFT = "left"; // who has just signed out
let timer = 0;
let deletedId = ""; // deleted, and still in sight until the next page has come

/** The thread as it stands, without what needs a server. */
function snapshot() {
  const copy = $("#thread").cloneNode(true);
  for (const part of $$(DEPENDENT, copy)) part.remove();
  for (const part of $$("*", copy)) {
    for (const { name } of [...part.attributes]) {
      if (name.startsWith("hx-") || name.startsWith("data-") || name === "id") part.removeAttribute(name);
    }
  }
  return copy.innerHTML;
}

function saveOpen() {
  const open = $(".conversation");
  const id = open?.dataset.conversation;
  if (!id || id === deletedId || open.dataset.temporary || $("#thread [data-streaming]") || !$("#thread .message")) return;
  save(reader, { id, title: $(".title-text")?.textContent.trim() ?? "", html: snapshot(), at: Date.now() });
}

function saveSoon() {
  if ($(".conversation")?.dataset.conversation !== deletedId) deletedId = "";
  clearTimeout(timer);
  timer = setTimeout(saveOpen, PAUSE_MS);
}

/** What is gone on the server is gone here. */
function removeDeleted() {
  const [, id] = location.pathname.match(/\/c\/(\d+)$/) ?? [];
  if (id && $(".error-page")) remove(reader, id);
}

if (reader) {
  if (store.get(READER) !== reader) clear(reader);
  store.set(READER, reader);
  store.remove(LEFT);
  removeDeleted();
  saveSoon();
  document.addEventListener("htmx:after:settle", saveSoon);
  document.addEventListener("conversation:gone", ({ detail }) => {
    deletedId = detail;
    remove(reader, detail);
  });
} else if ("nobody" in document.body.dataset) {
  store.remove(READER);
  clear();
}

// Before the server hears of it: nothing is left for whoever comes next, and nothing is kept from here on.
on("submit", 'form[action$="/logout"]', (event, form) => {
  if (form.isEmptied) return;
  event.preventDefault();
  clearTimeout(timer);
  store.remove(READER);
  store.removeWords(reader);
  store.set(LEFT, reader);
  form.isEmptied = true;
  clear().finally(() => form.requestSubmit());
});

// Whoever signs out in another tab leaves nothing in this one.
addEventListener("storage", ({ key }) => key === LEFT && store.get(LEFT) === reader && store.removeWords(reader));

if ("serviceWorker" in navigator) {
  const root = document.documentElement.dataset.root ?? "/";
  addEventListener("load", () => navigator.serviceWorker.register(`${root}sw.js`, { scope: root }).catch(() => {}));
}
