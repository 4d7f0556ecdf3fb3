// Whose words are in the composer: what was pasted, dropped or dictated is marked, and the marks move with the text.
// What was pasted is no evidence of what its sender says of themselves, so in doubt a mark stays.
import { $, on } from "./dom.js";

const ORIGIN_OF_INPUT = {
  insertFromPaste: "pasted",
  insertFromPasteAsQuotation: "pasted",
  insertFromDrop: "pasted",
  insertFromYank: "pasted",
  insertFromDictation: "spoken",
};
const HISTORY_INPUTS = new Set(["historyUndo", "historyRedo"]);
const MAX_MARKS = 200;
const EMPTY = { text: "", marks: [] };
const states = new WeakMap();

// A text from a link is not its sender's.
const initialState = ({ form, defaultValue: text }) =>
  ({ text, marks: form && $("[data-spans=given]", form) ? [[0, text.length, "pasted"]] : [] });

/** {text, marks} of a field; a mark is [start, end, origin], in UTF-16 units. */
export function markedText(field) {
  const state = states.get(field) ?? initialState(field);
  return state?.text === field.value ? { text: state.text, marks: state.marks } : { text: field.value, marks: [] };
}

/** Puts a text with its marks into a field; its form sends them along. */
export function setMarkedText(field, { text, marks = [] }) {
  field.value = text;
  states.delete(field);
  setState(field, text, marks);
}

/** Texts one after the other; empty ones are left out. */
export function joinTexts(gap, ...parts) {
  return parts.filter((part) => part.text).reduce((before, part) => {
    const at = before.text ? before.text.length + gap.length : 0;
    const shifted = (part.marks ?? []).map(([start, end, origin]) => [start + at, end + at, origin]);
    return { text: before.text + (before.text ? gap : "") + part.text, marks: [...before.marks, ...shifted] };
  }, EMPTY);
}

export function trimText({ text, marks }) {
  const left = text.length - text.trimStart().length;
  const words = text.trim();
  const shifted = marks.map(([start, end, origin]) => [Math.max(0, start - left), Math.min(words.length, end - left), origin]);
  return { text: words, marks: shifted.filter(([start, end]) => start < end) };
}

function setState(field, text, marks) {
  // What is undone may come back.
  const hadPaste = states.get(field)?.hadPaste || marks.some((mark) => mark[2] === "pasted");
  states.set(field, { text, marks, hadPaste });
  const place = field.form && $("[data-spans]", field.form);
  if (place) place.value = marks.length ? JSON.stringify(marks.map((mark) => toCharacters(text, mark))) : "";
}

/** A mark in characters, as the server counts them. */
function toCharacters(text, [start, end, origin]) {
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

function shiftMarks(marks, { start, was, is }) {
  const shift = is - was;
  const result = [];
  for (const [from, to, origin] of marks) {
    if (to <= start) result.push([from, to, origin]);
    else if (from >= was) result.push([from + shift, to + shift, origin]);
    else if (from < start && to > was) result.push([from, to + shift, origin]); // changed in the middle
    else if (from < start) result.push([from, start, origin]);
    else if (to > was) result.push([is, to + shift, origin]);
  }
  return result;
}

function mergeMarks(marks) {
  const result = [];
  for (const [start, end, origin] of [...marks].sort((a, b) => a[0] - b[0])) {
    const last = result.at(-1);
    if (last && last[2] === origin && start <= last[1]) last[1] = Math.max(last[1], end);
    else result.push([start, end, origin]);
  }
  return result.length <= MAX_MARKS ? result : [[result[0][0], Math.max(...result.map((mark) => mark[1])), "pasted"]];
}

on("input", "textarea", (event, field) => {
  if (!field.form || !$("[data-spans]", field.form)) return;
  const before = states.get(field) ?? initialState(field);
  if (before.text === field.value) return;
  const changed = change(before.text, field.value, field.selectionStart);
  let marks = shiftMarks(before.marks, changed);
  const origin = ORIGIN_OF_INPUT[event.inputType] ?? (HISTORY_INPUTS.has(event.inputType) && before.hadPaste ? "pasted" : null);
  if (origin && changed.start < changed.is) marks = [...marks, [changed.start, changed.is, origin]];
  setState(field, field.value, mergeMarks(marks));
}, true);
