// The thread follows the newest words until the reader scrolls up; "Newest" brings them back.
import { $, $$, afterSwap, on } from "./dom.js";

const NEAR_PX = 80;
const main = $("#main");
let following = true;
let currentThread = null;
let lastTop = 0;

// Once a frame, after the browser has laid it out: to measure at each word of a reply would lay out the page each time.
const sizes = new ResizeObserver(update);

const scroller = () => $("#thread-scroll");
const distance = (element) => element.scrollHeight - element.scrollTop - element.clientHeight;

function scrollToEnd() {
  const element = scroller();
  if (!element) return;
  element.scrollTop = element.scrollHeight;
  lastTop = element.scrollTop;
}

export function follow() {
  following = true;
  update();
}

/** Moves the thread, and nothing else, so that an element in it is seen: all of it, or its top if it is too long. */
export function reveal(element) {
  following = false;
  const frame = scroller().getBoundingClientRect();
  const box = element.getBoundingClientRect();
  const above = box.top - frame.top - 12;
  const below = box.bottom - frame.bottom + 56; // where the button "Newest" floats
  if (above < 0 || below > 0) scroller().scrollTop += above < 0 ? above : Math.min(above, below);
  update();
}

function update() {
  const element = scroller();
  if (!element) return;
  // A greeting is read from its top, however little room there is for it; and what is edited stays in sight.
  if (following && !$(".welcome:not([hidden]), .journey-begin:not([hidden]), .edit-message", element)) scrollToEnd();
  offerNewest(element);
}

function offerNewest(element) {
  const newest = $("[data-newest]");
  if (newest) newest.hidden = following || distance(element) < NEAR_PX;
}

// Another version takes the place of a message: the arrows that switch stay where they are, under the pointer and focused.
let switching = null;
on("submit", "[data-switch]", (_event, form) => {
  switching = { top: form.closest(".message").getBoundingClientRect().top, step: form.dataset.switch };
});

function holdPosition(message) {
  const { top, step } = switching;
  switching = null;
  following = false;
  scroller().scrollTop += message.getBoundingClientRect().top - top;
  lastTop = scroller().scrollTop;
  ($(`[data-switch="${step}"] button`, message) ?? $("[data-switch] button", message))?.focus({ preventScroll: true });
}

/** Where a page that has just been opened stands: at the message it was opened for, or at the end. */
function positionThread() {
  const element = scroller();
  currentThread = element;
  lastTop = 0;
  following = true;
  sizes.disconnect();
  if (!element) return;
  for (const part of [element, ...element.children]) sizes.observe(part);
  const version = switching && $(`#m-${element.dataset.switched}`);
  if (version) {
    holdPosition(version);
    return update();
  }
  const messageId = element.dataset.at ?? location.hash.match(/^#m-(\d+)$/)?.[1];
  const message = messageId && $(`#m-${messageId}`);
  if (message) {
    following = false;
    message.scrollIntoView({ block: "center" });
    message.classList.add("flash");
  }
  update();
}

document.addEventListener("scroll", (event) => {
  const element = event.target;
  if (element !== scroller()) return;
  // Where less is left to scroll, the browser moves up, and stays at the end.
  if (element.scrollTop < lastTop - 2 && distance(element) > 2) following = false;
  else if (distance(element) < NEAR_PX) following = true;
  lastTop = element.scrollTop;
  offerNewest(element);
}, { capture: true, passive: true });

on("click", "[data-newest]", () => {
  follow();
  $("#composer-text")?.focus({ preventScroll: true });
});

/** Earlier messages are put in above: what is being read must not move. Returns what puts it back. */
function holdFromEnd() {
  const element = scroller();
  const fromEnd = element.scrollHeight - element.scrollTop;
  following = false;
  return () => {
    element.scrollTop = element.scrollHeight - fromEnd;
    lastTop = element.scrollTop;
  };
}

document.addEventListener("htmx:before:swap", ({ detail: { ctx } }) => {
  if (ctx.sourceElement?.matches?.(".earlier")) afterSwap(ctx, holdFromEnd());
});

// What is printed begins at the beginning; nothing but a request that holds everything up is waited for.
window.addEventListener("beforeprint", () => {
  for (let link; (link = $(".earlier[hx-get]")); ) {
    const request = new XMLHttpRequest();
    request.open("GET", link.href, false);
    request.setRequestHeader("HX-Request", "true");
    request.send();
    if (request.status !== 200) return;
    const putBack = holdFromEnd();
    link.outerHTML = request.response;
    htmx.process(scroller());
    putBack();
  }
});

// A row of tabs too long for the window shows the one whose page this is. scrollIntoView would move the beginning of the
// keyboard's way through the page there, too.
for (const tab of $$(".page nav [aria-current]")) {
  const row = tab.closest("nav");
  const [from, to] = [row, tab].map((element) => element.getBoundingClientRect());
  const covered = ($(".mem-nav-end", row)?.offsetWidth ?? 0) * (document.dir === "rtl" ? -1 : 1);
  row.scrollBy(to.left - from.left + (to.width - from.width + covered) / 2, 0);
}

if (main) {
  new MutationObserver(() => currentThread === scroller() || positionThread()).observe(main, { childList: true, subtree: true });
  positionThread();
}
