// The sidebar collapses and remembers it; on narrow screens it is a drawer over the page.
import { $, isNarrow, on, setCookie } from "./dom.js";

let opener = null;

export function closeDrawers() {
  const sidebar = $("#sidebar.drawer-open");
  if (!sidebar) return false;
  sidebar.classList.remove("drawer-open");
  $("#main").inert = false;
  if (opener?.isConnected) opener.focus();
  opener = null;
  return true;
}

function openDrawer(button) {
  opener = button;
  const sidebar = $("#sidebar");
  sidebar.classList.add("drawer-open");
  $("#main").inert = true;
  $("a, button", sidebar).focus();
}

on("click", "[data-toggle-sidebar]", (_event, button) => {
  if (isNarrow()) {
    if (!closeDrawers()) openDrawer(button);
    return;
  }
  const workspace = $("#workspace");
  const closed = workspace.dataset.sidebar !== "closed";
  workspace.dataset.sidebar = closed ? "closed" : "open";
  setCookie("sidebar", workspace.dataset.sidebar);
  (closed ? $(".open-sidebar") : $("#sidebar [data-toggle-sidebar]"))?.focus();
});

on("click", "[data-close-drawers]", closeDrawers);
on("click", "#sidebar .side-link, #sidebar [data-new]", () => {
  opener = null;
  closeDrawers();
});
