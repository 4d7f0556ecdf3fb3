// A message that waits for the reply before it: it goes out when that is done, whatever else is being written then, and
// once, although every tab of the conversation sends it. If the reply was stopped or failed, the words go back to where
// they were typed.
import { $, $$, on, randomKey, store } from "./dom.js";
import { form, write } from "./drafts.js";
import { joinTexts, markedText, setMarkedText, trimText } from "./origins.js";

const keyOf = (draft) => `queued:${document.body.dataset.user ?? ""}:${draft}`;
const key = () => keyOf(form()?.dataset.draft);
let isForNew = false; // what waits belongs to the conversation that is being made
let ours = ""; // the key of what was typed in this tab
const text = () => $("#composer-text");

const EMPTY = { text: "" };

export const queued = () => (form() ? store.get(key()) ?? EMPTY : EMPTY);

function save(words) {
  if (words.text) store.set(key(), words);
  else store.remove(key());
  show();
}

function show() {
  const line = $("[data-queued]");
  if (!line) return;
  if (isForNew && form().dataset.draft !== "new") {
    isForNew = false;
    store.set(key(), store.get(keyOf("new")) ?? EMPTY);
    store.remove(keyOf("new"));
  }
  const words = queued().text;
  line.hidden = !words;
  $("[data-queued-text]", line).textContent = words;
}

function setText(words) {
  setMarkedText(text(), words);
  text().dispatchEvent(new Event("input", { bubbles: true }));
}

/** Takes what is typed and lets it wait. */
export function queue() {
  const words = trimText(markedText(text()));
  if (!words.text) return;
  isForNew = form().dataset.draft === "new";
  const follows = $$("#thread [data-streaming]").at(-1)?.dataset.message; // none yet while what it answers is on its way
  ours = randomKey();
  save({ ...joinTexts("\n\n", queued(), words), follows, key: ours });
  setText(EMPTY);
  text().focus();
}

function restore() {
  const words = queued();
  save(EMPTY);
  setText(joinTexts("\n\n", words, markedText(text())));
}

function sendNext(isLoading = false) {
  show();
  const words = queued();
  const before = words.follows ? $(`#m-${words.follows}`) : $$("#thread .message").at(-1);
  if (!words.text || before?.matches("[data-streaming]") || form().classList.contains("htmx-request")) return;
  if (before?.dataset.status !== "complete") {
    if (isLoading || words.key === ours) restore();
    return;
  }
  const draft = markedText(text());
  save(EMPTY);
  setText(words);
  write(words);
  form().addEventListener("composer:sent", () => draft.text && setText(draft), { once: true });
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
document.addEventListener("reply:finished", () => setTimeout(sendNext));
document.addEventListener("htmx:after:settle", () => setTimeout(show));
addEventListener("storage", show);
setTimeout(() => sendNext(true));
