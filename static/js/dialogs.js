// Dialogs open and close by their buttons (commandfor); one that a link fills opens once it is filled, and what is pressed
// beside one closes it. Deleting a conversation asks first when memories rest on it; otherwise it goes at once, with Undo.
import { $, headers, on } from "./dom.js";
import { act } from "./list.js";

on("htmx:after:settle", "[data-dialog-body]", (_event, body) => body.closest("dialog:not([open])")?.showModal());

on("click", "dialog", (event, dialog) => {
  if (event.target === dialog) dialog.close();
});

let base = ""; // of the conversation that is asked about

async function ask(event, id, address) {
  event.preventDefault();
  event.stopImmediatePropagation();
  base = address;
  let answer;
  try {
    answer = await fetch(`${base}/delete`, { headers: headers() });
  } catch {
    return act("delete", id, base); // which says what is the matter
  }
  if (answer.status !== 200) return act("delete", id, base);
  const dialog = $("#delete-dialog");
  dialog.innerHTML = await answer.text();
  dialog.showModal();
}

// Before the list's own handlers, which delete without asking.
on("click", "button[data-delete]", (event, button) => {
  ask(event, button.dataset.delete, $(".side-link", button.closest(".side-item")).getAttribute("href"));
}, { capture: true });

on("submit", "form[data-delete]", (event, form) => {
  ask(event, form.dataset.delete, form.getAttribute("action").replace(/\/[^/]+$/, ""));
}, { capture: true });

on("submit", "dialog form[data-delete-choice]", (event, form) => {
  event.preventDefault();
  form.closest("dialog").close();
  act(event.submitter?.value === "forget" ? "delete-with-memories" : "delete", form.dataset.deleteChoice, base);
});
