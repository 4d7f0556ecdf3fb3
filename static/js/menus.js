// Menus are <details>: they open without a script; with one they close as menus do.
import { $, $$, on } from "./dom.js";

const EDGE = 8; // pixels that stay free beside a menu

export function closeMenus(except) {
  const open = $$("details.menu[open]").filter((menu) => menu !== except);
  for (const menu of open) menu.open = false;
  return open.length > 0;
}

document.addEventListener("click", (event) => {
  const menu = event.target.closest?.("details.menu");
  closeMenus(event.target.closest?.(".menu-item") ? undefined : menu);
});

// A menu hangs from its button, at whichever end that has room for it; one that is too wide there is moved into the window.
document.addEventListener("toggle", (event) => {
  const items = event.target.matches?.("details.menu[open]") && $(":scope > .menu-items", event.target);
  if (!items) return;
  items.style.translate = "";
  const { left, right } = items.getBoundingClientRect();
  const over = right - (document.documentElement.clientWidth - EDGE);
  const by = over > 0 ? -Math.min(over, left - EDGE) : Math.max(0, EDGE - left);
  if (by) items.style.translate = `${by}px`;
}, true);

document.addEventListener("focusin", (event) => closeMenus(event.target.closest?.("details.menu")));

on("keydown", "details.menu[open]", (event, menu) => {
  if (event.key === "Escape") {
    menu.open = false;
    $("summary", menu).focus();
    event.stopPropagation();
  }
  if (event.key === "ArrowDown" || event.key === "ArrowUp") {
    const items = $$(".menu-item", menu);
    if (!items.length) return; // fields, in which arrows have a meaning of their own
    const next = items.indexOf(document.activeElement) + (event.key === "ArrowDown" ? 1 : -1);
    items.at(next % items.length)?.focus();
    event.preventDefault();
  }
});

// A panel of fields that was saved has nothing more to say: what holds now stands beside it.
document.addEventListener("htmx:after:settle", () => {
  const menu = $("[data-saved]")?.closest("details.menu[open]");
  $("[data-saved]")?.removeAttribute("data-saved");
  if (!menu) return;
  menu.open = false;
  $("summary", menu).focus();
});

on("click", "[data-open-dialog]", (_event, button) => $(`#${button.dataset.openDialog}`).showModal());
on("click", "[data-close-dialog]", (_event, button) => button.closest("dialog").close());
on("click", "dialog", (event, dialog) => {
  if (event.target === dialog) dialog.close();
});
