// Editing in place: titles in the sidebar (double click or F2), and Esc, which puts back what was there.
import { $, $$, afterSwap, isTouch, load, on, onContent } from "./dom.js";
import { markedText, setMarkedText } from "./origins.js";

function rename(item) {
  const link = $(".side-link", item);
  if (link) load(`${link.getAttribute("href")}/title?place=sidebar`, `#${item.id}`, "innerHTML");
}

function restore(form) {
  const target = form.matches(".side-rename") ? form.closest(".side-item") : form.closest(".message, .review-queue") ?? form;
  const hadFocus = form.contains(document.activeElement);
  forget(form);
  const loaded = load(form.dataset.esc, `#${target.id}`, "outerHTML");
  if (hadFocus) loaded.then(() => focusOpener(target.id, form.getAttribute("action")));
}

/** The focus goes to what the form was opened from, which is there again. */
function focusOpener(id, action) {
  if (document.activeElement !== document.body && document.activeElement?.id !== "main") return;
  const element = document.getElementById(id);
  if (!element) return;
  ($(`.side-link, .title-show, [data-edit], a[href="${action}"]`, element) ?? $("a, button", element))?.focus({ preventScroll: true });
}

// A title that was saved: the focus stays with it.
document.addEventListener("htmx:before:swap", (event) => {
  const { ctx } = event.detail;
  const form = ctx.sourceElement;
  if (!form?.matches?.(".title-edit, .side-rename") || ctx.response?.status >= 400) return;
  const id = form.matches(".side-rename") ? form.closest(".side-item").id : form.id;
  afterSwap(ctx, () => setTimeout(() => focusOpener(id)));
});

on("dblclick", ".side-item", (_event, item) => rename(item));
on("click", "[data-rename]", (_event, button) => rename(button.closest(".side-item")));
on("click", "[data-cancel]", (event, button) => {
  event.preventDefault();
  restore(button.closest("form"));
});

document.addEventListener("keydown", (event) => {
  const item = event.target.closest?.(".side-item");
  if (event.key === "F2" && item) rename(item);
  const form = event.target.closest?.("form[data-esc]");
  if (event.key === "Escape" && form) {
    event.preventDefault();
    form.dataset.cancelled = "";
    restore(form);
  }
  if (event.key === "Enter" && !event.shiftKey && !isTouch && event.target.matches?.("[data-enter-sends]")) {
    event.preventDefault();
    event.target.form.requestSubmit();
  }
});

on("focusout", "[data-save-on-blur]", (_event, field) => {
  const form = field.form;
  if (!form?.isConnected || "cancelled" in form.dataset || form.classList.contains("htmx-request")) return;
  if (field.value.trim() && field.value !== field.defaultValue) form.requestSubmit();
  else restore(form);
});

// A message that is being changed is kept in this tab, until it is sent or given up.
function forget(form) {
  delete sessionStorage[$("textarea", form)?.id];
}
on("submit", ".edit-message", (_event, form) => forget(form));
on("input", ".edit-message textarea", (_event, field) => { sessionStorage[field.id] = JSON.stringify(markedText(field)); });
onContent(() => {
  for (const id in sessionStorage) {
    const link = id.startsWith("edit-") && $(`#m-${id.slice(5)} [data-edit]`);
    if (link) load(link.getAttribute("href"), link.getAttribute("hx-target"), "outerHTML");
  }
});

// Whoever changes a message goes on where it ends.
function begin(field) {
  if ("begun" in field.dataset) return;
  field.dataset.begun = "";
  const words = sessionStorage[field.id];
  if (words) setMarkedText(field, JSON.parse(words));
  field.setSelectionRange(field.value.length, field.value.length);
}
on("focusin", ".edit-message textarea", (_event, field) => begin(field));
onContent(() => $$(".edit-message textarea").forEach(begin));

onContent((root) => {
  const field = root.matches("[data-select]") ? root : $("[data-select]", root);
  if (field && document.activeElement !== field) field.focus();
  field?.select();
});
