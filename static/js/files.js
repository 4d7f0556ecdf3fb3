// Files in the composer: chosen, dropped or pasted, shown as chips, gone once the message is taken.
import { $, on } from "./dom.js";

const field = () => $("[data-attach]");

function add(files) {
  if (!files.length || !field()) return false;
  const chosen = new DataTransfer();
  for (const file of files) chosen.items.add(file);
  field().files = chosen.files;
  field().dispatchEvent(new Event("change", { bubbles: true }));
  return true;
}

on("click", "[data-remove-file]", (_event, button) => button.closest("[data-file-chip]").remove());

// They stay at hand until the message has arrived: if it does not, they come back with its words.
document.addEventListener("composer:taken", (event) => {
  const place = $("#composer-files", event.target);
  event.target.sent.chips = [...place.children];
  place.replaceChildren();
}, true);

document.addEventListener("paste", (event) => {
  if (event.target.id === "composer-text" && add(event.clipboardData.files)) event.preventDefault();
});

document.addEventListener("dragover", (event) => {
  if (field() && event.dataTransfer.types.includes("Files")) event.preventDefault();
});

document.addEventListener("drop", (event) => {
  if (field() && event.dataTransfer.files.length) {
    event.preventDefault();
    add(event.dataTransfer.files);
  }
});

document.addEventListener("htmx:after:request", (event) => {
  // The same file may be chosen again, and a file field must not be sent along with the message.
  if (event.detail.ctx?.sourceElement === field()) field().value = "";
});
