// Saved prompts: `/` at the beginning of a message opens them; arrows choose, Enter takes one, what it asks for is
// filled in a small form.
import { $, $$, headers, on } from "./dom.js";
import { setText, text } from "./drafts.js";
import { options, select, selected, step } from "./listbox.js";
import { toast } from "./toasts.js";
import { t } from "./i18n.js";

const popup = () => $("#slash");
const list = () => $("#slash-list");
const isOpen = () => popup() !== null && !popup().hidden;
const isCommand = () => /^\/[^\n/]*$/.test(text()?.value ?? "");
let isAsking = false;
// The words at which the list was closed: it stays closed until there are others.
let closedText = null;

function close() {
  if (!isOpen()) return;
  popup().hidden = true;
  popup().replaceChildren();
  clearReferences();
}

/** The field points at nothing that is gone. */
function clearReferences() {
  text()?.removeAttribute("aria-activedescendant");
  text()?.removeAttribute("aria-controls");
}

function filter() {
  const words = text().value.slice(1).toLowerCase().split(/\s+/).filter(Boolean);
  for (const option of $$(".slash-option", popup())) {
    const content = option.textContent.toLowerCase();
    option.hidden = !words.every((word) => content.includes(word));
  }
  for (const group of $$("[data-slash-group]", popup())) group.hidden = !$(".slash-option:not([hidden])", group);
  $("[data-slash-none]", popup()).hidden = options(list()).length > 0;
  select(list(), text());
}

async function request(url, body) {
  try {
    const answer = await fetch(url, { method: body ? "POST" : "GET", headers: headers(), body });
    if (answer.ok || answer.status === 422) return { ok: answer.ok, text: await answer.text() };
  } catch { /* said below */ }
  toast(t("Saved prompts are not available at the moment."));
  return null;
}

async function showList() {
  if (isOpen() && list()) return filter();
  if (isAsking) return;
  isAsking = true;
  const answer = await request(popup().dataset.url);
  isAsking = false;
  if (!answer?.ok || !isCommand() || text().value === closedText) return;
  popup().innerHTML = answer.text;
  popup().hidden = false;
  text().setAttribute("aria-controls", "slash-list");
  filter();
}

function insert(words) {
  close();
  // Others may have written them.
  setText({ text: words, marks: [[0, words.length, "pasted"]] });
  text().focus();
}

async function usePrompt(option) {
  const url = option.dataset.slash;
  const hasFields = option.hasAttribute("data-asks");
  const answer = await request(url, hasFields ? undefined : new URLSearchParams({ csrf_token: $('#composer [name="csrf_token"]').value }));
  if (!answer || !popup()) return;
  if (!hasFields) return insert(answer.text);
  showForm(answer.text);
}

function showForm(form) {
  clearReferences();
  popup().innerHTML = form;
  const first = $("[aria-invalid]", popup()) ?? $("textarea, select", popup());
  first.focus();
  first.select?.();
}

on("input", "#composer-text", (_event, field) => {
  if (!isCommand()) closedText = null;
  if (!isCommand() || field.value === closedText) return list() && close();
  closedText = null;
  showList();
});

on("click", ".slash-option", (_event, option) => usePrompt(option));
on("click", "[data-slash-close]", () => {
  close();
  text().focus();
});

on("submit", "[data-slash-form]", async (event, form) => {
  event.preventDefault();
  const answer = await request(form.getAttribute("action"), new URLSearchParams(new FormData(form)));
  if (answer?.ok) insert(answer.text);
  else if (answer) showForm(answer.text);
});

// Before anybody else hears of the key.
document.addEventListener("keydown", (event) => {
  if (!isOpen()) return;
  const inForm = event.target.closest?.("[data-slash-form]");
  if (event.key === "Escape" && (inForm || event.target === text())) {
    closedText = text().value;
    close();
    text().focus();
  } else if (inForm && event.key === "Enter" && !event.shiftKey && event.target.matches("textarea")) {
    inForm.requestSubmit();
  } else if (event.target !== text() || !list()) {
    return;
  } else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
    step(list(), text(), event.key);
  } else if ((event.key === "Enter" || event.key === "Tab") && !event.shiftKey && selected(list())) {
    usePrompt(selected(list()));
  } else {
    return;
  }
  event.preventDefault();
  event.stopPropagation();
}, true);

document.addEventListener("click", (event) => {
  if (isOpen() && !event.target.closest?.("#slash, #composer-text")) close();
});
on("submit", "#composer", close);
