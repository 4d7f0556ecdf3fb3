// A message that waits for the reply before it: it goes out when that is done. If the reply was stopped or failed, the
// words go back to where they were typed.
import { $, $$, on, store } from "./dom.js";
import { form } from "./drafts.js";

const keyOf = (draft) => `queued:${document.body.dataset.user ?? ""}:${draft}`;
const key = () => keyOf(form()?.dataset.draft);
let isBeginning = false; // what waits belongs to the conversation that is being made
const text = () => $("#composer-text");

export const queued = () => (form() ? store.get(key()) ?? "" : "");

function keep(words) {
  if (words) store.set(key(), words);
  else store.remove(key());
  show();
}

function show() {
  const place = $("[data-queued]");
  if (!place) return;
  if (isBeginning && form().dataset.draft !== "new") {
    isBeginning = false;
    store.set(key(), store.get(keyOf("new")) ?? "");
    store.remove(keyOf("new"));
  }
  const words = queued();
  place.hidden = !words;
  $("[data-queued-text]", place).textContent = words;
}

function put(words) {
  text().value = words;
  text().dispatchEvent(new Event("input", { bubbles: true }));
}

/** Takes what is typed and lets it wait. */
export function queue() {
  const words = text().value.trim();
  if (!words) return;
  isBeginning = form().dataset.draft === "new";
  keep([queued(), words].filter(Boolean).join("\n\n"));
  put("");
  text().focus();
}

function takeBack() {
  const words = queued();
  keep("");
  put([words, text().value].filter(Boolean).join("\n\n"));
}

function look() {
  show();
  if (!queued() || !$("[data-send]") || $("[data-streaming]") || form().classList.contains("htmx-request")) return;
  const last = $$("#thread .message").at(-1);
  if (last?.dataset.status !== "complete") return takeBack();
  const typed = text().value;
  const words = queued();
  keep("");
  put(words);
  form().addEventListener("composer:taken", () => typed && put(typed), { once: true });
  form().requestSubmit();
}

on("click", "[data-queue]", queue);
on("click", "[data-queued-drop]", () => {
  keep("");
  text().focus();
});
on("click", "[data-queued-edit]", () => {
  takeBack();
  text().focus();
});
document.addEventListener("reply:finished", () => setTimeout(look));
document.addEventListener("htmx:after:settle", () => setTimeout(show));
setTimeout(look);
