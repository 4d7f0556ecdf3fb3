// The memory panel: kept up to date without moving what is under the pointer, and its tabs.
import { $, $$, load, on, onContent } from "./dom.js";
import { reveal } from "./scroll.js";

const panel = () => $("#panel");
let isStale = false;
let isDeferred = false;

const conversation = () => $(".conversation")?.dataset.conversation ?? "";
const filters = () => $("#memory-filters");

/** What must not move now: a card that is read, edited or asked about. */
function isBusy() {
  const list = $("#memory-list, .mem-list");
  return Boolean(list && (list.matches(":hover") || list.contains(document.activeElement))) || $(".mem-editing, .mem-confirm, .mem-until[open]") !== null;
}

function refresh({ moved = false, list = true } = {}) {
  isStale = false;
  isDeferred = !filters();
  if (isDeferred) return;
  const query = new URLSearchParams(new FormData(filters()));
  query.set("conversation", conversation());
  query.set("limit", Math.min(100, Math.max(12, $$("#memory-list :is(.mem-entry, .mem-row)").length)));
  if (moved) query.set("moved", "1");
  if ($("#memory-facets")) query.set("facets", "1");
  // A report of what was just done stays until it is closed.
  if (!list || $("#memory-list [data-stays]")) query.set("keep", "list");
  load(`${$("#memory-list").dataset.url}?${query}`, "#memory-list");
}

function refreshSoon() {
  // Refreshed once the page is shown.
  if (document.hidden) return;
  const busy = isBusy();
  refresh({ list: !busy });
  isStale = busy;
}

for (const type of ["memories:changed", "visibilitychange"]) document.addEventListener(type, refreshSoon);
on("change", "#memory-filters [name='space']", () => refresh({ list: false })); // the list comes by itself

// While a turn is read for memories, a thin line says so.
document.addEventListener("memories:reading", () => panel()?.setAttribute("data-reading", ""));
for (const type of ["memories:changed", "settled"]) {
  document.addEventListener(type, () => panel()?.removeAttribute("data-reading"));
}
for (const type of ["pointerout", "focusout"]) {
  document.addEventListener(type, () => {
    if (isStale) setTimeout(() => isStale && !isBusy() && refresh(), 60);
  });
}

// Another conversation: its switches, its filters, what its replies used.
function followConversation() {
  const element = panel();
  if (isDeferred && filters()) refresh(); // something changed while the list was on its way
  if (!element || !$(".conversation") || element.dataset.conversation === conversation()) return;
  element.dataset.conversation = conversation();
  const rest = $("#memory-rest");
  if (rest) {
    const urlOf = (part) => `${element.dataset.url}?part=${part}&conversation=${conversation()}`;
    rest.setAttribute("hx-get", urlOf("rest"));
    load(urlOf("moved"), "#memory-here");
  } else refresh({ moved: true });
}
document.addEventListener("htmx:after:settle", followConversation);

// Tabs
function selectTab(tab) {
  if (!tab) return;
  for (const other of $$("[role='tab']", panel())) {
    const isSelected = other === tab;
    other.setAttribute("aria-selected", String(isSelected));
    other.tabIndex = isSelected ? 0 : -1;
    $(`#${other.getAttribute("aria-controls")}`).hidden = !isSelected;
  }
  htmx.trigger($(`#${tab.getAttribute("aria-controls")}`), "panel:shown");
}
on("click", ".panel-tabs [role='tab']", (_event, tab) => selectTab(tab));
on("keydown", ".panel-tabs [role='tab']", (event, tab) => {
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key] * (document.dir === "rtl" ? -1 : 1);
  if (!step) return;
  const tabs = $$("[role='tab']:not([hidden])", panel());
  const next = tabs.at((tabs.indexOf(tab) + step) % tabs.length);
  selectTab(next);
  next.focus();
});

// Cards
on("click", "[data-remove-card]", (_event, button) => {
  const card = button.closest(".mem");
  const next = card.nextElementSibling ?? card.previousElementSibling;
  card.remove();
  (next?.matches(".mem") ? next : panel())?.focus();
  refresh();
});

// What was discarded last waits for its Undo: who goes elsewhere leaves it discarded, and is not asked about it there.
// The form that forgets it.
let discarded = null;
async function forgetDiscarded() {
  const form = discarded;
  discarded = null;
  if (form) await fetch(form.action, { method: "POST", body: new FormData(form), keepalive: true }).catch(() => {});
}
onContent(() => {
  if (!$("#review-queue")) forgetDiscarded();
  discarded = $("#queue-last [data-discards]");
});
on("click", "a:not([hx-get])", (event, link) => {
  if (!discarded || link.hash || link.target || event.ctrlKey || event.metaKey || event.shiftKey) return; // stays here
  event.preventDefault();
  forgetDiscarded().then(() => location.assign(link.href));
});
addEventListener("pagehide", forgetDiscarded);

// Esc in the form for a new one puts the link back.
on("keydown", "[data-close-add]", (event, form) => {
  if (event.key !== "Escape") return;
  event.stopPropagation();
  $("[data-cancel-add]", form).click();
});

// What is opened under a reply comes into sight: all of it, or its top when there is more than the window holds.
document.addEventListener("toggle", ({ target }) => {
  if (target.open && target.matches(".thread .trace")) reveal(target);
}, { capture: true });
document.addEventListener("htmx:after:settle", ({ target }) => {
  // Its contents have come; what is done inside it later moves nothing.
  if (target.matches?.(".thread .trace[open], .thread .trace[open] > .trace-body")) reveal(target.closest(".trace"));
});
