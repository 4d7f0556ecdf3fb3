// The page without a connection: what was read last, and what is being written.
import { $, make, store } from "./dom.js";
import { READER, readAll } from "./reading-cache.js";

const RETRY_MS = 4000;
const theme = document.cookie.match(/(?:^|; )theme=(light|dark)/)?.[1];
if (theme) document.documentElement.dataset.theme = theme;
const reader = store.get(READER) ?? "";
const words = document.body.dataset;
const [, currentId] = location.pathname.match(/\/c\/(\d+)$/) ?? [];
const keyOf = (id) => `draft:${reader}:${id}`;

const locale = document.documentElement.lang === "en" ? "en-GB" : document.documentElement.lang;
const formatTime = (at) => new Intl.DateTimeFormat(locale, { dateStyle: "medium", timeStyle: "short" }).format(at);

function rowOf(conversation) {
  const { id, title, at } = conversation;
  const link = make("a", { className: "row-title", href: `${words.root}c/${id}`, textContent: title || words.untitled, dir: "auto" });
  const draft = store.get(keyOf(id))?.text;
  const note = draft ? `${formatTime(at)} · ${words.draft}: ${draft.slice(0, 80)}` : formatTime(at);
  const main = make("div", { className: "row-main" });
  main.append(link, make("div", { className: "row-note", textContent: note }));
  const item = make("li", { className: "row" });
  item.append(main);
  return item;
}

function showDraft(id) {
  const field = $("#offline-text");
  field.value = store.get(keyOf(id))?.text ?? "";
  field.addEventListener("input", () => {
    if (field.value) store.set(keyOf(id), { text: field.value });
    else store.remove(keyOf(id));
  });
  $("#offline-write").hidden = false;
}

const conversations = await readAll(reader);
const open = conversations.find((conversation) => conversation.id === currentId);
if (open) {
  document.title = open.title || words.untitled;
  $("#offline-title").textContent = open.title || words.untitled;
  $("#offline-title").dir = "auto";
  $("#offline-thread").innerHTML = open.html;
  $("#offline-thread").hidden = false;
  $("#offline-as-of").textContent = formatTime(open.at);
}
const others = conversations.filter((conversation) => conversation !== open);
$("#offline-list").replaceChildren(...others.map(rowOf));
$("#offline-others").hidden = others.length === 0;
$("#offline-none").hidden = conversations.length > 0;
if (reader) showDraft(open?.id ?? "new");

// Whether there is a network says nothing of whether we can be reached, and browsers are wrong about it in both ways: we are
// asked again and again. A page that loads in vain would take the reader's place along.
async function reloadWhenOnline() {
  clearTimeout(timer);
  try {
    const answer = await fetch(`${words.root}healthz`, { cache: "no-store" });
    if (answer.ok) return void location.reload();
  } catch {
    // Still away.
  }
  clearTimeout(timer); // of another one, begun meanwhile by the browser's word
  timer = setTimeout(reloadWhenOnline, RETRY_MS);
}

let timer = setTimeout(reloadWhenOnline, RETRY_MS);
addEventListener("online", reloadWhenOnline);
$("#offline-again").addEventListener("click", () => location.reload());
document.body.dataset.ready = "";
