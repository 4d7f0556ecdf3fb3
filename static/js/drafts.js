// What was typed and not sent, by person and conversation, across reloads.
import { $, store } from "./dom.js";

const key = (form) => `draft:${document.body.dataset.user ?? ""}:${form.dataset.draft}`;

export const form = () => $("#composer");

/** {text, marks, key, waiting}: the words and which are not typed, the idempotency key of a failed attempt, and whether they wait for a connection. */
export function read(composer = form()) {
  return store.get(key(composer)) ?? { text: "" };
}

export function write(draft, composer = form()) {
  if (draft.text) store.set(key(composer), draft);
  else store.remove(key(composer));
}
