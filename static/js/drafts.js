// What was typed and not sent, by person and conversation, across reloads.
import { $, $$, store } from "./dom.js";
import { setMarkedText } from "./origins.js";

export const form = () => $("#composer");
export const text = () => $("#composer-text");

/** Where a conversation's words of a kind are kept. */
export const keyOf = (kind, conversation) => `${kind}:${document.body.dataset.user ?? ""}:${conversation}`;
const key = (composer) => keyOf("draft", composer.dataset.draft);

/** Puts a text with its marks where one types, as if it had been typed. */
export function setText(words) {
  setMarkedText(text(), words);
  text().dispatchEvent(new Event("input", { bubbles: true }));
}

/** The files that are attached, as they are added again after a reload. */
export const filesOf = (composer) => $$("[name=file_ids]", composer).map(({ value: id, parentElement: chip }) =>
  ({ id, name: $("a, [data-file-name]", chip).textContent, mode: $("select", chip)?.value ?? "" }));

/**
 * {text, marks, key, waiting, files}: the words and which are not typed, the idempotency key of a failed attempt, whether
 * they wait for a connection, and what goes along.
 */
export function read(composer = form()) {
  return store.get(key(composer)) ?? { text: "" };
}

export function write(draft, composer = form()) {
  const files = filesOf(composer);
  if (draft.text || files.length) store.set(key(composer), { ...draft, files });
  else store.remove(key(composer));
}
