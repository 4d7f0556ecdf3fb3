// Dialogs open and close by their buttons (commandfor); here are those that a link fills, and what is pressed beside one.
import { $, on } from "./dom.js";

on("click", "a[data-dialog]", async (event, link) => {
  if (event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  const dialog = $(`#${link.dataset.dialog}`);
  await htmx.ajax("GET", link.getAttribute("href"), { target: `#${dialog.id} [data-dialog-body]`, swap: "innerHTML", source: dialog });
  dialog.showModal();
});

on("click", "dialog", (event, dialog) => {
  if (event.target === dialog) dialog.close();
});
