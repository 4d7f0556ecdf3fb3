// Whose words are in the composer: what was pasted, dropped or dictated is marked, and the marks move with the text.
// What was pasted is no evidence of what its sender says of themselves, so in doubt a mark stays.
import { $, on } from "./dom.js";

const BROUGHT = {
  insertFromPaste: "pasted",
  insertFromPasteAsQuotation: "pasted",
  insertFromDrop: "pasted",
  insertFromYank: "pasted",
  insertFromDictation: "spoken",
};
const RETURNS = new Set(["historyUndo", "historyRedo"]);
const MOST = 200;
const NONE = { text: "", marks: [] };
const known = new WeakMap();

// A text from a link is not its sender's.
const first = ({ form, defaultValue: text }) =>
  ({ text, marks: form && $("[data-spans=given]", form) ? [[0, text.length, "pasted"]] : [] });

/** {text, marks} of a field; a mark is [start, end, origin], in UTF-16 units. */
export function taken(field) {
  const state = known.get(field) ?? first(field);
  return state?.text === field.value ? { text: state.text, marks: state.marks } : { text: field.value, marks: [] };
}

/** Puts a text with its marks into a field; its form sends them along. */
export function put(field, { text, marks = [] }) {
  field.value = text;
  known.delete(field);
  note(field, text, marks);
}

/** Texts one after the other; empty ones are left out. */
export function joined(gap, ...parts) {
  return parts.filter((part) => part.text).reduce((before, part) => {
    const at = before.text ? before.text.length + gap.length : 0;
    const moved = (part.marks ?? []).map(([start, end, origin]) => [start + at, end + at, origin]);
    return { text: before.text + (before.text ? gap : "") + part.text, marks: [...before.marks, ...moved] };
  }, NONE);
}

export function trimmed({ text, marks }) {
  const left = text.length - text.trimStart().length;
  const words = text.trim();
  const moved = marks.map(([start, end, origin]) => [Math.max(0, start - left), Math.min(words.length, end - left), origin]);
  return { text: words, marks: moved.filter(([start, end]) => start < end) };
}

function note(field, text, marks) {
  const had = known.get(field)?.had || marks.some((mark) => mark[2] === "pasted"); // what is undone may come back
  known.set(field, { text, marks, had });
  const place = field.form && $("[data-spans]", field.form);
  if (place) place.value = marks.length ? JSON.stringify(marks.map((mark) => counted(text, mark))) : "";
}

/** A mark in characters, as the server counts them. */
function counted(text, [start, end, origin]) {
  const from = [...text.slice(0, start)].length;
  return { start: from, end: from + [...text.slice(start, end)].length, origin };
}

/** What was replaced: from where, to where before, and to where now. */
function change(before, after, caret) {
  const common = Math.min(before.length, after.length);
  let end = after.length - caret;
  if (end > common || !before.endsWith(after.slice(caret))) {
    end = 0;
    while (end < common && before[before.length - 1 - end] === after[after.length - 1 - end]) end += 1;
  }
  let start = 0;
  while (start < common - end && before[start] === after[start]) start += 1;
  return { start, was: before.length - end, is: after.length - end };
}

function moved(marks, { start, was, is }) {
  const by = is - was;
  const kept = [];
  for (const [from, to, origin] of marks) {
    if (to <= start) kept.push([from, to, origin]);
    else if (from >= was) kept.push([from + by, to + by, origin]);
    else if (from < start && to > was) kept.push([from, to + by, origin]); // changed in the middle
    else if (from < start) kept.push([from, start, origin]);
    else if (to > was) kept.push([is, to + by, origin]);
  }
  return kept;
}

function merged(marks) {
  const found = [];
  for (const [start, end, origin] of [...marks].sort((a, b) => a[0] - b[0])) {
    const last = found.at(-1);
    if (last && last[2] === origin && start <= last[1]) last[1] = Math.max(last[1], end);
    else found.push([start, end, origin]);
  }
  return found.length <= MOST ? found : [[found[0][0], Math.max(...found.map((mark) => mark[1])), "pasted"]];
}

on("input", "textarea", (event, field) => {
  if (!field.form || !$("[data-spans]", field.form)) return;
  const before = known.get(field) ?? first(field);
  if (before.text === field.value) return;
  const place = change(before.text, field.value, field.selectionStart);
  let marks = moved(before.marks, place);
  const origin = BROUGHT[event.inputType] ?? (RETURNS.has(event.inputType) && before.had ? "pasted" : null);
  if (origin && place.start < place.is) marks = [...marks, [place.start, place.is, origin]];
  note(field, field.value, merged(marks));
}, true);
