// Saved prompts: `/` at the beginning of a message opens them; arrows choose, Enter takes one, what it asks for is
// filled in a small form.
import { $, $$, headers, on } from "./dom.js";
import { toast } from "./toasts.js";
import { t } from "./words.js";

const place = () => $("#slash");
const text = () => $("#composer-text");
const options = () => $$(".slash-option:not([hidden])", place());
const chosen = () => $('.slash-option[aria-selected="true"]:not([hidden])', place() ?? undefined);
const isOpen = () => place() !== null && !place().hidden;
const isCommand = () => /^\/[^\n/]*$/.test(text()?.value ?? "");
let isAsking = false;
let closedAt = null; // the words at which the list was closed: it stays closed until there are others

function close() {
  if (!isOpen()) return;
  place().hidden = true;
  place().replaceChildren();
  forget();
}

/** The field points at nothing that is gone. */
function forget() {
  text()?.removeAttribute("aria-activedescendant");
  text()?.removeAttribute("aria-controls");
}

function choose(option) {
  for (const other of $$(".slash-option", place())) other.setAttribute("aria-selected", String(other === option));
  option?.scrollIntoView({ block: "nearest" });
  if (option) text().setAttribute("aria-activedescendant", option.id);
  else text().removeAttribute("aria-activedescendant");
}

function filter() {
  const words = text().value.slice(1).toLowerCase().split(/\s+/).filter(Boolean);
  for (const option of $$(".slash-option", place())) {
    const says = option.textContent.toLowerCase();
    option.hidden = !words.every((word) => says.includes(word));
  }
  for (const group of $$("[data-slash-group]", place())) group.hidden = !$(".slash-option:not([hidden])", group);
  $("[data-slash-none]", place()).hidden = options().length > 0;
  choose(options()[0]);
}

async function ask(address, body) {
  try {
    const answer = await fetch(address, { method: body ? "POST" : "GET", headers: headers(), body });
    if (answer.ok || answer.status === 422) return { ok: answer.ok, text: await answer.text() };
  } catch { /* said below */ }
  toast(t("Saved prompts are not available at the moment."));
  return null;
}

async function offer() {
  if (isOpen() && $("#slash-list")) return filter();
  if (isAsking) return;
  isAsking = true;
  const answer = await ask(place().dataset.url);
  isAsking = false;
  if (!answer?.ok || !isCommand() || text().value === closedAt) return;
  place().innerHTML = answer.text;
  place().hidden = false;
  text().setAttribute("aria-controls", "slash-list");
  filter();
}

function put(words) {
  close();
  text().value = words;
  text().dispatchEvent(new Event("input", { bubbles: true }));
  text().focus();
  text().setSelectionRange(words.length, words.length);
}

async function take(option) {
  const address = option.dataset.slash;
  const asks = option.hasAttribute("data-asks");
  const answer = await ask(address, asks ? undefined : new URLSearchParams({ csrf_token: $('#composer [name="csrf_token"]').value }));
  if (!answer || !place()) return;
  if (!asks) return put(answer.text);
  show(answer.text);
}

function show(form) {
  forget();
  place().innerHTML = form;
  const first = $("[aria-invalid]", place()) ?? $("textarea, select", place());
  first.focus();
  first.select?.();
}

on("input", "#composer-text", (_event, field) => {
  if (!isCommand()) closedAt = null;
  if (!isCommand() || field.value === closedAt) return $("#slash-list") && close();
  closedAt = null;
  offer();
});

on("click", ".slash-option", (_event, option) => take(option));
on("click", "[data-slash-close]", () => {
  close();
  text().focus();
});

on("submit", "[data-slash-form]", async (event, form) => {
  event.preventDefault();
  const answer = await ask(form.getAttribute("action"), new URLSearchParams(new FormData(form)));
  if (answer?.ok) put(answer.text);
  else if (answer) show(answer.text);
});

// Before anybody else hears of the key.
document.addEventListener("keydown", (event) => {
  if (!isOpen() || event.isComposing) return;
  const inForm = event.target.closest?.("[data-slash-form]");
  if (event.key === "Escape" && (inForm || event.target === text())) {
    closedAt = text().value;
    close();
    text().focus();
  } else if (inForm && event.key === "Enter" && !event.shiftKey && event.target.matches("textarea")) {
    inForm.requestSubmit();
  } else if (event.target !== text() || !$("#slash-list")) {
    return;
  } else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
    const all = options();
    if (all.length) choose(all.at((all.indexOf(chosen()) + (event.key === "ArrowDown" ? 1 : -1)) % all.length));
  } else if ((event.key === "Enter" || event.key === "Tab") && !event.shiftKey && chosen()) {
    take(chosen());
  } else {
    return;
  }
  event.preventDefault();
  event.stopPropagation();
}, true);

document.addEventListener("click", (event) => {
  if (isOpen() && !event.target.closest?.("#slash, #composer-text")) close();
});
document.addEventListener("submit", (event) => event.target.id === "composer" && close());
