// <side-panel>: what stands at a side of the page. It folds, and remembers it. Where the style sheet lays it over the page
// it is a drawer: nothing else is within reach until it closes.
import { $, on, setCookie } from "./dom.js";

const drawer = () => $("side-panel.drawer-open");
let opener = null; // of the drawer
let closeWatcher = null; // what hears of the Back of a phone while it is open, where the browser tells

class SidePanel extends HTMLElement {
  get isDrawer() {
    return getComputedStyle(this).position === "fixed";
  }

  get isOpen() {
    const { display, visibility } = getComputedStyle(this);
    return this.isDrawer ? this === drawer() : display !== "none" && visibility === "visible";
  }

  open(from = document.activeElement) {
    if (this.isOpen) return;
    if (!this.isDrawer) return this.#fold("open");
    opener = from;
    this.#lay(true);
  }

  /** Closes the drawer, which gives the focus back; what stands beside the page stays. */
  close() {
    if (this !== drawer()) return;
    this.#lay(false);
    (opener?.isConnected ? opener : $(`.open-${this.id}`))?.focus(); // its page may have gone
  }

  toggle(from) {
    if (this === drawer()) return this.close();
    const isClosing = this.isOpen;
    if (isClosing) this.#fold("closed");
    else this.open(from);
    (isClosing ? $(`.open-${this.id}`) : $("[aria-selected='true'], [data-side]", this))?.focus();
  }

  #fold(state) {
    this.parentElement.dataset[this.id] = state;
    setCookie(this.id, state);
  }

  #lay(isOpen) {
    this.classList.toggle("drawer-open", isOpen);
    for (const other of this.parentElement.children) other.inert = isOpen && other !== this;
    closeWatcher?.destroy();
    closeWatcher = isOpen && globalThis.CloseWatcher ? Object.assign(new CloseWatcher(), { onclose: () => this.close() }) : null;
  }
}

customElements.define("side-panel", SidePanel);

on("click", "[data-side]", (event, button) => {
  event.preventDefault(); // without scripts it may be a link to a page
  $(`#${button.dataset.side}`).toggle(button);
});

// Beside a drawer there is nothing but what it lies over.
on("click", "#workspace", (event, workspace) => event.target === workspace && drawer()?.close());
addEventListener("resize", () => drawer()?.isDrawer === false && drawer().close());
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || !drawer() || $("dialog[open], :popover-open") || event.target.closest?.("form[data-esc]")) return;
  drawer().close();
  event.stopImmediatePropagation(); // it stops no reply
}, { capture: true });

// What leads elsewhere closes it, and the focus goes there.
on("click", "#sidebar :is(.side-link, [data-new])", () => {
  opener = $("#main");
  drawer()?.close();
});
