// A message that waits for the reply before it: it goes out when that is done. If the reply was stopped or failed, the
// words go back to where they were typed.
import { $, $$, on, store } from "./dom.js";
import { form } from "./drafts.js";
import { joined, put as fill, taken, trimmed } from "./origins.js";

const keyOf = (draft) => `queued:${document.body.dataset.user ?? ""}:${draft}`;
const key = () => keyOf(form()?.dataset.draft);
let isBeginning = false; // what waits belongs to the conversation that is being made
const text = () => $("#composer-text");

const NONE = { text: "" };

export const queued = () => (form() ? store.get(key()) ?? NONE : NONE);

function keep(words) {
  if (words.text) store.set(key(), words);
  else store.remove(key());
  show();
}

function show() {
  const line = $("[data-queued]");
  if (!line) return;
  if (isBeginning && form().dataset.draft !== "new") {
    isBeginning = false;
    store.set(key(), store.get(keyOf("new")) ?? NONE);
    store.remove(keyOf("new"));
  }
  const words = queued().text;
  line.hidden = !words;
  $("[data-queued-text]", line).textContent = words;
}

function put(words) {
  fill(text(), words);
  text().dispatchEvent(new Event("input", { bubbles: true }));
}

/** Takes what is typed and lets it wait. */
export function queue() {
  const words = trimmed(taken(text()));
  if (!words.text) return;
  isBeginning = form().dataset.draft === "new";
  keep(joined("\n\n", queued(), words));
  put(NONE);
  text().focus();
}

function takeBack() {
  const words = queued();
  keep(NONE);
  put(joined("\n\n", words, taken(text())));
}

function look() {
  show();
  if (!queued().text || !$("[data-send]") || $("[data-streaming]") || form().classList.contains("htmx-request")) return;
  const last = $$("#thread .message").at(-1);
  if (last?.dataset.status !== "complete") return takeBack();
  const typed = taken(text());
  const words = queued();
  keep(NONE);
  put(words);
  form().addEventListener("composer:taken", () => typed.text && put(typed), { once: true });
  form().requestSubmit();
}

on("click", "[data-queue]", queue);
on("click", "[data-queued-drop]", () => {
  keep(NONE);
  text().focus();
});
on("click", "[data-queued-edit]", () => {
  takeBack();
  text().focus();
});
document.addEventListener("reply:finished", () => setTimeout(look));
document.addEventListener("htmx:after:settle", () => setTimeout(show));
setTimeout(look);
