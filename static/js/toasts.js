// Passing notices. The server puts them in as HTML, scripts with toast(); both leave by themselves.
import { $, on } from "./dom.js";

const SECONDS = 6;
const timers = new WeakMap();

export function toast(text) {
  const node = $("#toast-template")?.content.firstElementChild.cloneNode(true);
  if (!node) return;
  $(".toast-text", node).textContent = text;
  $("#toasts").append(node);
}

function countDown(node) {
  const seconds = Number(node.dataset.seconds ?? SECONDS);
  timers.set(node, setTimeout(() => node.remove(), seconds * 1000));
}

/** What is said again takes the place of what was said; what can be undone is said for each. */
function replaceSame(node) {
  if ($("form", node)) return;
  for (const other of [...list.children]) {
    if (other !== node && !$("form", other) && other.textContent.trim() === node.textContent.trim()) other.remove();
  }
}

/** Notices stand right above the composer however high it is: with files, several lines, or a note on a phone; on a page
 * without one, at the foot, where they cover the least. */
function moveList() {
  const composer = $("#composer");
  if (composer !== observedComposer) {
    resizeObserver.disconnect();
    if (composer) resizeObserver.observe(composer);
    observedComposer = composer;
  }
  if (!composer) return void (list.style.bottom = "16px");
  const top = composer.getBoundingClientRect().top;
  list.style.bottom = top > innerHeight / 2 ? `${Math.round(innerHeight - top) + 12}px` : "";
}

let observedComposer = null;
const resizeObserver = new ResizeObserver(moveList);
const list = $("#toasts");
addEventListener("resize", moveList);
moveList();
for (const node of list.children) countDown(node);
new MutationObserver((records) => {
  moveList();
  for (const record of records) {
    for (const node of record.addedNodes) {
      if (!node.matches?.("[data-toast]")) continue;
      replaceSame(node);
      countDown(node);
    }
  }
  while (list.children.length > 3) list.firstElementChild.remove();
}).observe(list, { childList: true });

// Nothing disappears under the pointer or the focus.
for (const type of ["pointerover", "focusin"]) on(type, "[data-toast]", (_event, node) => clearTimeout(timers.get(node)));
on("pointerout", "[data-toast]", (event, node) => {
  if (!node.contains(event.relatedTarget)) countDown(node);
});
on("click", "[data-dismiss]", (_event, button) => button.closest("[data-toast]").remove());
on("submit", "[data-undo]", (_event, form) => setTimeout(() => form.closest("[data-toast]").remove()));
