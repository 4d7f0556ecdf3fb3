// The list of conversations: archive and delete with undo, the mark of the open one, and a refresh that waits while
// the pointer or the focus is in it.
import { $, $$, load, on, visit } from "./dom.js";

const list = () => $("#side-list");
let isStale = false;

function markCurrent() {
  for (const link of $$(".side-link, .side-room")) {
    const isBelow = location.pathname.startsWith(link.dataset.below);
    if (link.pathname === location.pathname || isBelow) link.setAttribute("aria-current", isBelow ? "true" : "page");
    else link.removeAttribute("aria-current");
  }
}

function refresh() {
  isStale = false;
  const count = Math.min(100, Math.max(30, $$(".side-item", list()).length));
  load(`${list().dataset.url}?count=${count}`, "#side-list", "innerMorph");
}

function refreshSoon() {
  // Refreshed once the page is shown.
  if (!list() || document.hidden) return;
  // Items would move under the pointer or away from the focus; an empty list has nothing to move.
  isStale = list().matches(":hover, :focus-within") && $(".side-item", list()) !== null;
  if (!isStale) refresh();
}

on("pointerout", "#side-list", (event, element) => {
  if (isStale && !element.contains(event.relatedTarget)) refreshSoon();
});
on("focusout", "#side-list", (event, element) => {
  if (isStale && !element.contains(event.relatedTarget)) setTimeout(refreshSoon);
});

// Other tabs of the same person hear of it.
export const otherTabs = "BroadcastChannel" in window ? new BroadcastChannel(`conversations:${document.body.dataset.user ?? ""}`) : null;
otherTabs?.addEventListener("message", refreshSoon);
// Other devices and schedules tell nobody, and yesterday's list is not today's.
document.addEventListener("visibilitychange", refreshSoon);

const tellTabs = () => otherTabs?.postMessage("changed");

function publishChange() {
  tellTabs();
  refreshSoon();
}

document.addEventListener("conversations:changed", publishChange);
// Their lists have not heard what the work after a reply changed; this one got the title by the stream.
document.addEventListener("htmx:sse:close", (event) => event.detail.reason === "message" && tellTabs());

// Not from the list: of what is asked from one place at a time, htmx gives up the third.
const postSeen = (page) => htmx.ajax("POST", page.dataset.seen, { target: "#side-list", swap: "none", source: ".conversation" });

function clearState(item) {
  if (!item) return;
  item.removeAttribute("data-unread");
  item.removeAttribute("data-writing");
  $(".side-state", item)?.remove();
}

/** The conversation in sight is read: the list need not say that something in it is not, whenever it was asked for. */
async function markSeen() {
  const page = $(".conversation");
  const open = page?.dataset.conversation;
  const item = open && $(`#side-${open}[data-unread]`);
  // A list that came with the page never says so of the conversation in sight, and an old one is not in it.
  if (!(item || (open && "unseen" in page.dataset)) || document.hidden) return;
  clearState(item);
  if ($("#thread [data-streaming]")) return; // told when it has ended
  delete page.dataset.unseen;
  await postSeen(page);
  tellTabs();
}
document.addEventListener("reply:finished", () => {
  const page = $(".conversation[data-seen]");
  if (!page) return;
  page.dataset.unseen = "";
  const item = $(`#side-${page.dataset.conversation}`);
  clearState(item);
  if (item?.previousElementSibling) refreshSoon(); // another began meanwhile: this one is the newest again
  markSeen();
});
document.addEventListener("htmx:after:swap", markSeen);
document.addEventListener("htmx:after:settle", () => setTimeout(markSeen));
document.addEventListener("visibilitychange", markSeen);
addEventListener("load", () => setTimeout(markSeen));

// A reply that is being written elsewhere is looked after until it is done.
const POLL_MS = 3000;
setInterval(() => {
  const open = $("#thread [data-streaming]") && $(".conversation").dataset.conversation;
  const isWritingElsewhere = $$(".side-item[data-writing]").some((item) => item.dataset.conversation !== open);
  if (isWritingElsewhere && !document.hidden) refreshSoon();
}, POLL_MS);
for (const type of ["htmx:after:history:push", "htmx:after:history:replace", "htmx:after:swap", "popstate"]) {
  addEventListener(type, markCurrent);
}

// What was open when it was deleted or archived is opened again by its undo.
let lastOpen = "";
document.addEventListener("htmx:after:request", (event) => {
  const form = event.detail.ctx.sourceElement;
  if (!form?.matches?.("[data-undo]")) return;
  const base = form.getAttribute("action").replace(/\/[^/]+$/, "");
  if (base === lastOpen && event.detail.ctx.response?.status < 400) {
    lastOpen = "";
    visit(base);
  } else {
    $("#composer-text, #page")?.focus({ preventScroll: true }); // the button that had the focus is gone
  }
});

export function act(verb, id, base) {
  if (verb === "delete") document.dispatchEvent(new CustomEvent("conversation:gone", { detail: id }));
  const item = $(`#side-${id}`);
  const row = $(`#archived-${id}`);
  const isOpen = $(".conversation")?.dataset.conversation === id;
  const next = item?.nextElementSibling ?? item?.previousElementSibling;
  for (const element of [item, row]) if (element) element.hidden = true;
  if (item?.contains(document.activeElement) || document.activeElement === document.body) $(".side-link", next ?? undefined)?.focus();
  lastOpen = isOpen ? base : lastOpen;
  htmx.ajax("POST", `${base}/${verb}`, { target: "#toasts", swap: "beforeend" }).then(() => {
    if (isOpen) visit($("[data-new]").getAttribute("href"));
  });
}

for (const verb of ["delete", "archive"]) {
  on("click", `button[data-${verb}]`, (_event, button) => {
    const link = $(".side-link", button.closest(".side-item"));
    act(verb, button.dataset[verb], link.getAttribute("href"));
  });
  on("submit", `form[data-${verb}]`, (event, form) => {
    event.preventDefault();
    act(verb, form.dataset[verb], form.getAttribute("action").replace(/\/[^/]+$/, ""));
  });
}

// A failure brings back what was hidden in advance.
document.addEventListener("htmx:response:error", () => {
  for (const element of $$(".side-item[hidden], [id^='archived-'][hidden]")) element.hidden = false;
});
