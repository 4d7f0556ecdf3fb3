// From a quotation to the words: opens the message, in whatever conversation, and marks them for a moment.
import { $, on, visit } from "./dom.js";

const SECONDS = 4;
let target = null;
let timer = 0;

/** The range of the characters from..to of a message's text. */
function rangeOf(element, from, to) {
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  const range = new Range();
  let offset = 0;
  let isStarted = false;
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const end = offset + node.length;
    if (!isStarted && from < end) {
      range.setStart(node, from - offset);
      isStarted = true;
    }
    if (isStarted && to <= end) {
      range.setEnd(node, to - offset);
      return range;
    }
    offset = end;
  }
  return null;
}

function mark({ message, from, to }) {
  const element = $(`[data-message="${message}"]`);
  if (!element) return false;
  // The server counts whole characters, the browser UTF-16 units.
  const text = $(".message-text", element);
  const units = (count) => [...text.textContent].slice(0, count).join("").length;
  const range = text && to > from ? rangeOf(text, units(from), units(to)) : null;
  clearTimeout(timer);
  if (range && CSS.highlights) {
    CSS.highlights.set("said", new Highlight(range));
    timer = setTimeout(() => CSS.highlights.delete("said"), SECONDS * 1000);
  }
  element.classList.add("said");
  element.addEventListener("animationend", () => element.classList.remove("said"), { once: true });
  element.tabIndex = -1;
  element.scrollIntoView({ block: "center" });
  element.focus({ preventScroll: true });
  return true;
}

function read(link) {
  const [from, to] = (link.dataset.said ?? "0-0").split("-").map(Number);
  return { message: link.dataset.jump, from, to };
}

on("click", "a[data-jump]", (event, link) => {
  if (event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  $("#panel")?.close();
  if (mark(read(link))) return;
  target = read(link);
  const href = link.getAttribute("href");
  if ($("#main .conversation")) visit(href);
  else location.assign(href);
});

// A page that was opened for a quotation: ?at=12&said=10-34
function markTarget() {
  if (target && mark(target)) target = null;
}
document.addEventListener("htmx:after:settle", () => setTimeout(markTarget));

const query = new URLSearchParams(location.search);
if (query.get("said") && query.get("at")) {
  const [from, to] = query.get("said").split("-").map(Number);
  mark({ message: query.get("at"), from, to });
}
