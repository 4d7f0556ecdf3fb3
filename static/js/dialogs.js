// Dialogs open and close by their buttons (commandfor); one that a link fills opens once it is filled, and what is pressed
// beside one closes it.
import { on } from "./dom.js";

on("htmx:after:settle", "[data-dialog-body]", (_event, body) => body.closest("dialog:not([open])")?.showModal());

on("click", "dialog", (event, dialog) => {
  if (event.target === dialog) dialog.close();
});
