// A message that waits for the reply before it: it goes out when that is done, whatever else is being written then, and
// once, although every tab of the conversation sends it. If the reply was stopped or failed, the words go back to where
// they were typed.
import { $, $$, on, onContent, randomKey, store } from "./dom.js";
import { filesOf, form, keyOf, setText, text, write } from "./drafts.js";
import { add } from "./files.js";
import { joinTexts, markedText, trimText } from "./origins.js";

const key = (conversation = form()?.dataset.draft) => keyOf("queued", conversation);
// The tab in which it was written comes first; others send it if that is gone.
const OTHERS_MS = 1000;
let isMine = false;
// What waits belongs to the conversation that is being made.
let isForNew = false;
const attached = () => $("#composer-files");
const files = () => $("[data-queued-files]");

const EMPTY = { text: "" };

const queued = () => (form() ? store.get(key()) ?? EMPTY : EMPTY);

function save(words) {
  isMine = words.text !== "";
  if (words.text) store.set(key(), words);
  else store.remove(key());
  show();
}

function show() {
  const line = $("[data-queued]");
  if (!line) return;
  if (isForNew && form().dataset.draft !== "new") {
    isForNew = false;
    store.set(key(), store.get(key("new")) ?? EMPTY);
    store.remove(key("new"));
  }
  const words = queued();
  line.hidden = !words.text;
  $("[data-queued-text]", line).textContent = words.text;
  if (!words.files?.length) files().replaceChildren();
  else if (!files().firstElementChild) add(words.files, files());
}

/** Takes what is typed and lets it wait. */
export function queue() {
  const words = trimText(markedText(text()));
  if (!words.text) return;
  isForNew = form().dataset.draft === "new";
  // None yet while what it answers is on its way.
  const follows = $$("#thread [data-streaming]").at(-1)?.dataset.message;
  files().append(...attached().children);
  save({ ...joinTexts("\n\n", queued(), words), follows, key: randomKey(), files: filesOf(files()) });
  setText(EMPTY);
  text().focus();
}

function restore() {
  const words = queued();
  attached().prepend(...files().children);
  save(EMPTY);
  setText(joinTexts("\n\n", words, markedText(text())));
}

function sendNext() {
  show();
  const words = queued();
  const before = words.follows ? $(`#m-${words.follows}`) : $$("#thread .message").at(-1);
  if (!words.text || before?.matches("[data-streaming]") || form().classList.contains("htmx-request")) return;
  if (before?.dataset.status !== "complete") return restore();
  const draft = markedText(text());
  const others = [...attached().children];
  attached().replaceChildren(...files().children);
  save(EMPTY);
  setText(words);
  write(words);
  form().addEventListener("composer:sent", () => {
    attached().append(...others);
    if (draft.text) setText(draft);
  }, { once: true });
  form().requestSubmit();
}

on("click", "[data-queue]", queue);
on("click", "[data-queued-drop]", () => {
  save(EMPTY);
  text().focus();
});
on("click", "[data-queued-edit]", () => {
  restore();
  text().focus();
});
document.addEventListener("reply:finished", () => setTimeout(sendNext, isMine ? 0 : OTHERS_MS));
addEventListener("storage", show);
onContent((root) => {
  setTimeout(show);
  if (root.contains(form())) setTimeout(sendNext, OTHERS_MS);
});
