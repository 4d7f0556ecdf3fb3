// A message that waits for the reply before it: it goes out when that is done. If the reply was stopped or failed, the
// words go back to where they were typed.
import { $, $$, on, store } from "./dom.js";
import { form } from "./drafts.js";
import { joinTexts, markedText, setMarkedText, trimText } from "./origins.js";

const keyOf = (draft) => `queued:${document.body.dataset.user ?? ""}:${draft}`;
const key = () => keyOf(form()?.dataset.draft);
let isForNew = false; // what waits belongs to the conversation that is being made
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
  save(joinTexts("\n\n", queued(), words));
  setText(EMPTY);
  text().focus();
}

function restore() {
  const words = queued();
  save(EMPTY);
  setText(joinTexts("\n\n", words, markedText(text())));
}

function sendNext() {
  show();
  if (!queued().text || !$("[data-send]") || $("[data-streaming]") || form().classList.contains("htmx-request")) return;
  const last = $$("#thread .message").at(-1);
  if (last?.dataset.status !== "complete") return restore();
  const draft = markedText(text());
  const words = queued();
  save(EMPTY);
  setText(words);
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
setTimeout(sendNext);
