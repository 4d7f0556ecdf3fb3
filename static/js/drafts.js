// What was typed and not sent, by person and conversation, across reloads.
import { $, $$, store } from "./dom.js";

const key = (form) => `draft:${document.body.dataset.user ?? ""}:${form.dataset.draft}`;

export const form = () => $("#composer");

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
