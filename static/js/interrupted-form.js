// What was typed into a form that was answered by an error's page, or by the one for signing in, is there again when the
// form is next opened: this tab keeps it that long.
import { $, $$, on } from "./dom.js";

const KEY = "interrupted-form";
const SECONDS = 60; // from sending a form to the page for signing in; what is older was taken
const UNSAVED = new Set(["hidden", "password", "file", "select-multiple", "submit", "button"]);
const fieldsOf = (form) => [...form.elements].filter((field) => field.name && !UNSAVED.has(field.type));

on("submit", "form", (_event, form) => {
  const { user } = document.body.dataset;
  if (!user || form.method !== "post" || form.id === "composer") return;
  const fields = fieldsOf(form).map(({ name, value, checked }) => ({ name, value, checked }));
  const entry = { user, path: location.pathname, action: form.getAttribute("action"), fields, at: Date.now() };
  sessionStorage.setItem(KEY, JSON.stringify(entry));
});

function restore(entry) {
  const form = $$("form").find((other) => other.getAttribute("action") === entry.action);
  if (!form || entry.path !== location.pathname || entry.user !== document.body.dataset.user) return;
  fieldsOf(form).forEach((field, index) => {
    const { name, value, checked } = entry.fields[index] ?? {};
    if (name !== field.name) return;
    if (field.type === "checkbox" || field.type === "radio") field.checked = checked;
    else field.value = value;
    field.dispatchEvent(new Event("input", { bubbles: true }));
  });
}

const entry = JSON.parse(sessionStorage.getItem(KEY) ?? "null");
const retry = $(".error-page a[href='']");
if (entry && retry) retry.href = entry.path;
if (entry && (retry || "nobody" in document.body.dataset)) {
  if (!entry.isInterrupted && Date.now() - entry.at > SECONDS * 1000) sessionStorage.removeItem(KEY);
  else sessionStorage.setItem(KEY, JSON.stringify({ ...entry, isInterrupted: true }));
} else if (entry) {
  sessionStorage.removeItem(KEY);
  if (entry.isInterrupted) restore(entry);
}

// The answer to a form counts, once it is left, as the page at its address: going back to it would otherwise end at a
// warning of the browser's. Whoever reloads it gets it again. When a page goes, the browser may have its next one already.
const becomePage = () => history.replaceState(history.state, "");
on("click", "a[href]", becomePage);
addEventListener("pagehide", becomePage);
