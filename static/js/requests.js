// What htmx requests have in common: failures are said, never swapped in blindly, and nothing typed is lost.
import { $, $$, afterSwap, isOffline, on } from "./dom.js";
import { toast } from "./toasts.js";
import { t } from "./i18n.js";

const isOwnPage = (response) => response.headers.has("HX-Retarget") || response.headers.has("HX-Redirect");

document.addEventListener("htmx:before:swap", (event) => {
  const { ctx } = event.detail;
  const status = ctx.response?.status ?? 200;
  if (status >= 400 && (ctx.sourceElement?.id === "thread" || isStreamLost(ctx))) return event.preventDefault(); // nobody asked for news
  if (status < 400 || isOwnPage(ctx.response)) return;
  if (status === 422) return; // the form itself, with its errors
  // Not our page but a proxy's.
  event.preventDefault();
  toast(status >= 502 ? t("The server cannot be reached at the moment. Try again in a few seconds.") : t("That did not work. Try again."));
});

// htmx opens a stream again that was open once; here, one that was not. Meanwhile the page says why nothing comes.
const isStreamLost = (ctx) => ctx.sourceElement?.dataset.turn && (ctx.response?.status ?? 503) >= 500;
const showLost = (turn, isLost) => $("[data-lost]", turn)?.replaceChildren(isLost ? $("[data-lost]", turn).dataset.lost : "");
document.addEventListener("htmx:sse:error", (event) => showLost(event.target, true));
document.addEventListener("htmx:sse:after:connection", (event) => showLost(event.target, false));
document.addEventListener("htmx:finally:request", ({ target: turn, detail: { ctx } }) => {
  if (!isStreamLost(ctx)) return;
  showLost(turn, true);
  setTimeout(() => turn.isConnected && htmx.ajax("GET", turn.getAttribute("hx-sse:connect"), { source: turn }), 3000);
});

// A settled stream is not opened again when the page around it is looked at anew.
document.addEventListener("htmx:sse:close", (event) => {
  if (event.detail.reason === "message") event.target.removeAttribute("hx-sse:connect");
});

/** What the page asks for by itself, now and then or after a reply, it asks for again; so does a stream. */
const isBackground = (from, event) =>
  ["composer", "thread", "side-list"].includes(from.id) || from.dataset.turn || from.dataset.seen || /:|^every$/.test(event?.type);

const sayUnreachable = () =>
  toast(isOffline ? t("You are offline. Try again when the connection is back.") : t("The server did not answer. Try again."));

document.addEventListener("htmx:error", ({ detail: { ctx } }) => {
  if (ctx && !isBackground(ctx.sourceElement, ctx.sourceEvent)) sayUnreachable();
});

// What takes the place of a focused link takes the focus.
document.addEventListener("htmx:before:swap", ({ detail: { ctx }, defaultPrevented }) => {
  if (defaultPrevented || !ctx.sourceElement?.matches("a[hx-swap='outerHTML']:not([hx-target^='#']):focus")) return;
  const list = ctx.target.parentElement;
  const place = $$("a, button, summary", list).indexOf(ctx.sourceElement);
  afterSwap(ctx, () => $$("a, button, summary", list)[place]?.focus());
});

// A double click sends a form once; offline none is sent, or the browser's own page would take the place of its words.
// One that waits for another server says so, and is sent once however long it takes.
on("submit", "form", (event, form) => {
  if (event.defaultPrevented || form.method !== "post") return;
  if (isOffline) sayUnreachable();
  if (isOffline || event.timeStamp - form.sentAt < 1000) return event.preventDefault();
  form.sentAt = event.timeStamp;
  const button = event.submitter;
  if (!button?.dataset.busy) return;
  const label = button.textContent;
  setTimeout(() => {
    button.disabled = true;
    button.textContent = button.dataset.busy;
  });
  window.addEventListener("pageshow", () => {
    button.disabled = false;
    button.textContent = label;
  }, { once: true });
});
