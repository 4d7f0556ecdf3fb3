// What cannot be undone, and has no page of its own that asks, asks once: its button says what it does, and may say in
// `data-ask` what follows.
import { $, make, on } from "./dom.js";
import { t } from "./i18n.js";

const confirmed = new WeakSet();

function ask(button) {
  const what = button.getAttribute("aria-label") ?? button.textContent.trim();
  const dialog = make("dialog", { className: "dialog" });
  dialog.setAttribute("aria-labelledby", "ask-title");
  dialog.innerHTML = `<form method="dialog"><h2 id="ask-title" dir="auto"></h2><p></p><div class="form-actions">
    <button class="button button-danger" value="yes"></button><button class="button" autofocus></button></div></form>`;
  $("h2", dialog).textContent = t("%(what)s?", { what });
  $("p", dialog).textContent = button.dataset.ask || t("This cannot be undone.");
  $("[value=yes]", dialog).textContent = button.textContent.trim() || button.title;
  $("[autofocus]", dialog).textContent = t("Cancel");
  document.body.append(dialog);
  dialog.addEventListener("close", () => {
    dialog.remove();
    if (dialog.returnValue !== "yes") return;
    confirmed.add(button);
    button.form.requestSubmit(button);
  });
  dialog.showModal();
}

on("submit", "form", (event) => {
  const button = event.submitter;
  if (!button?.hasAttribute("data-ask") || confirmed.delete(button)) return;
  event.preventDefault();
  event.stopImmediatePropagation();
  ask(button);
}, { capture: true });
