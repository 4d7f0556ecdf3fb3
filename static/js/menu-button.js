// <menu-button>: a button and the menu, or the fields, that it opens. The browser opens, places and closes it (popover);
// what a menu does besides is here: arrow keys, and an end when something is chosen or the focus goes elsewhere.
import { $, $$ } from "./dom.js";

class MenuButton extends HTMLElement {
  connectedCallback() {
    for (const type of ["click", "focusout", "keydown"]) this.addEventListener(type, this);
  }

  handleEvent(event) {
    const menu = $(":scope > :popover-open", this);
    if (!menu) return;
    if (event.type === "click" && event.target.closest(".menu-item")) menu.hidePopover();
    if (event.type === "focusout" && event.relatedTarget && !this.contains(event.relatedTarget)) menu.hidePopover();
    if (event.type !== "keydown") return;
    // Some are for narrow windows.
    const items = $$(".menu-item", menu).filter((item) => item.offsetHeight);
    if (!items.length) return; // fields, in which arrows have a meaning of their own
    const at = items.indexOf(document.activeElement);
    const next = { ArrowDown: at + 1, ArrowUp: Math.max(at, 0) - 1, Home: 0, End: -1 }[event.key];
    if (next === undefined) return;
    items.at(next % items.length).focus();
    event.preventDefault();
  }
}

customElements.define("menu-button", MenuButton);

// Fields that were saved have nothing more to say: what holds now stands beside their button.
document.addEventListener("htmx:after:settle", () => {
  const saved = $("[data-saved]");
  saved?.removeAttribute("data-saved");
  saved?.closest(":popover-open")?.hidePopover();
});
