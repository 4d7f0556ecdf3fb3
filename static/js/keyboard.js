// The keys of the help dialog; those of an input method are left to it.
import { $, $$ } from "./dom.js";
import { openPalette } from "./palette.js";

const isApple = /mac|iphone|ipad/i.test(navigator.userAgent);
const isTyping = (element) => element?.matches?.("input, textarea, select, [contenteditable]");

if (isApple) for (const key of $$("[data-mod]")) key.textContent = "⌘";

// A key that an input method composes with is its own: its Enter ends a word. All browsers have this code for it; Safari
// says isComposing of no Enter.
addEventListener("keydown", (event) => event.keyCode === 229 && event.stopPropagation(), true);

document.addEventListener("keydown", (event) => {
  const command = isApple ? event.metaKey : event.ctrlKey;
  const key = event.key.toLowerCase();
  if (command && !event.shiftKey && !event.altKey && key === "k") {
    const palette = $("#palette");
    if (!palette) return;
    event.preventDefault();
    if (palette.open) palette.close();
    else openPalette();
  } else if (command && event.shiftKey && key === "o") {
    event.preventDefault();
    document.activeElement.blur(); // the focus goes where one writes
    $("#sidebar [data-new]")?.click();
  } else if (command && !event.shiftKey && key === "z" && !event.target.value) {
    const undo = $$("#toasts [data-undo] button").at(-1);
    if (!undo) return;
    event.preventDefault();
    undo.focus(); // out of the list, which waits with what comes back while it has the focus
    undo.click();
  } else if (event.key === "?" && !isTyping(event.target) && !command) {
    $("#keys")?.showModal();
  } else if (event.key === "Escape" && !$("dialog[open], :popover-open") && !event.target.closest?.("form[data-esc]")) {
    $(".conversation:has([data-streaming]) [data-stop]")?.click();
  } else if (event.key === "ArrowUp" && event.target.id === "composer-text" && !event.target.value) {
    const edit = $$(".message-user [data-edit]").at(-1);
    if (edit) {
      event.preventDefault();
      edit.click();
    }
  }
});
