// Questions to begin with, and the points of a journey: bubbles fill the composer, the points keep themselves up to date.
import { $, on } from "./dom.js";
import { setText, text } from "./drafts.js";

const bubbles = () => $("#suggestionBubbles");

function show(isOpen) {
  if (!bubbles()) return;
  bubbles().hidden = !isOpen;
  $("[data-ask-question]")?.setAttribute("aria-expanded", String(isOpen));
}

function clear() {
  bubbles()?.replaceChildren();
  show(false);
}

on("click", "[data-suggest]", (event, bubble) => {
  event.preventDefault();
  setText({ text: bubble.dataset.suggest });
  text().focus();
  clear();
});

on("click", "[data-ask-question]", () => {
  if (!bubbles().hidden) return show(false);
  bubbles().replaceChildren($("#default-suggestions").content.cloneNode(true));
  show(true);
});

on("submit", "#composer", clear);

// A point was chosen: its question comes in the conversation, so the drawer gives way, and a welcome too.
on("submit", "[data-open-point]", () => {
  $("#panel").close();
  $(".journey-begin")?.setAttribute("hidden", "");
});

on("click", "[data-show-points]", (event) => {
  if (event.ctrlKey || event.metaKey || event.shiftKey || $("#tab-points")?.hidden !== false) return;
  event.preventDefault();
  $("#panel").open();
  $("#tab-points").click();
});

const isGuided = () => $("#points[hx-get]") !== null;

/** The tab is there in a guided conversation only. */
function showTab() {
  const tab = $("#tab-points");
  if (!tab) return;
  tab.hidden = !isGuided();
  if (tab.hidden && tab.getAttribute("aria-selected") === "true") $("#tab-memory").click();
}

document.addEventListener("memories:reading", () => {
  const note = $("[data-points-working]");
  if (note) note.hidden = false;
});
document.addEventListener("htmx:after:settle", showTab);
if (isGuided() && !matchMedia("(max-width: 1099px)").matches) $("#tab-points")?.click();

on("click", "[data-print]", () => window.print());
