// The composer: Enter sends, the words appear in the thread at once, and come back if they did not arrive.
import { $, $$, afterSwap, checkNetwork, isOffline, isTouch, make, on, onContent, randomKey, size } from "./dom.js";
import { form, read, text, write } from "./drafts.js";
import { add } from "./files.js";
import { newest } from "./news.js";
import { queue } from "./queue.js";
import { joinTexts, markedText, setMarkedText } from "./origins.js";
import { follow } from "./scroll.js";
import { toast } from "./toasts.js";
import { t, tn } from "./i18n.js";

const OFFLINE = t("There is no connection at the moment. This is sent when it is back.");
const RETRY_MS = 4000;
let byPointer = false;
const canGrow = CSS.supports("field-sizing", "content");

function showMessage(message) {
  $("#composer-error").replaceChildren(...(message ? [make("p", { className: "field-hint", textContent: message })] : []));
}

function refresh() {
  const field = text();
  if (!field) return;
  const limit = Number(form().dataset.limit);
  const over = size(field.value, limit) - limit;
  const count = $("[data-count]");
  count.hidden = over < -limit / 10;
  count.textContent = over > 0
    ? tn("%(num)s characters too many", "%(num)s characters too many", over)
    : tn("%(num)s characters left", "%(num)s characters left", -over);
  count.classList.toggle("field-error", over > 0);
  field.toggleAttribute("aria-invalid", over > 0);
  const cannotSend = over > 0 || !field.value.trim();
  $("[data-send]").disabled = cannotSend;
  $("[data-queue]")?.toggleAttribute("hidden", cannotSend);
  if (!canGrow) {
    field.style.height = "auto";
    field.style.height = `${field.scrollHeight}px`;
  }
}

function fill(words) {
  setMarkedText(text(), words);
  refresh();
}

/** Shows the words in the thread before the server has them. */
function showPending(words) {
  const node = $("#pending-template").content.firstElementChild.cloneNode(true);
  $(".message-text", node).textContent = words;
  $(".welcome")?.setAttribute("hidden", "");
  $("#thread").append(node);
  follow();
}

function removePending() {
  for (const node of $$(".message-pending")) node.remove();
  $(".welcome")?.removeAttribute("hidden");
}

/** The words did not arrive: they and their files go back where they were, before anything typed since. */
function restoreMessage({ waiting = false } = {}) {
  const sent = form()?.sent;
  if (!sent) return;
  removePending();
  const rest = markedText(text());
  $("#composer-files").prepend(...sent.chips);
  fill(rest.text === sent.text ? sent : joinTexts("\n", sent, rest));
  write({ ...markedText(text()), key: rest.text ? undefined : sent.key, waiting });
  form().sent = null;
  showMessage(waiting ? OFFLINE : "");
}

on("input", "#composer-text", (_event, field) => {
  const draft = read();
  write({ ...markedText(field), waiting: draft.waiting && field.value.trim() !== "" });
  if (!draft.waiting) showMessage("");
  refresh();
});

on("keydown", "#composer-text", (event, field) => {
  if (event.key !== "Enter" || event.shiftKey || isTouch) return;
  event.preventDefault();
  if ($("#thread [data-streaming]")) queue();
  else $("[data-send]").click();
});

document.addEventListener("htmx:config:request", (event) => {
  const { ctx } = event.detail;
  if (ctx.sourceElement.id !== "composer") return;
  const words = text().value;
  if (!words.trim()) return event.preventDefault();
  if (form().sent) {
    // The one before is still on its way.
    event.preventDefault();
    return queue();
  }
  const key = read().text === words && read().key ? read().key : randomKey();
  if (isOffline) {
    event.preventDefault();
    write({ ...markedText(text()), key, waiting: true });
    return showMessage(OFFLINE);
  }
  ctx.request.headers["Idempotency-Key"] = key;
  if (newest()) ctx.request.headers["Last-Message"] = newest();
  form().sent = { ...markedText(text()), key, chips: [] };
  write({ ...markedText(text()), key, waiting: false });
  showMessage("");
  showPending(words);
  fill({ text: "" });
  form().dispatchEvent(new Event("composer:sent"));
});

document.addEventListener("htmx:before:swap", (event) => {
  const { ctx } = event.detail;
  if (ctx.sourceElement.id !== "composer") return;
  if (ctx.response.status >= 400) return restoreMessage();
  const rest = markedText(text());
  const chips = [...$("#composer-files").children];
  write(rest, ctx.sourceElement);
  form().sent = null;
  removePending();
  follow();
  // A new conversation brings a composer of its own: what was typed and attached meanwhile moves there.
  afterSwap(ctx, () => {
    $("#composer-files")?.append(...chips);
    if (rest.text && text() && !text().value) fill(rest);
  });
});

document.addEventListener("htmx:error", (event) => {
  if (event.detail.ctx?.sourceElement?.id !== "composer") return;
  restoreMessage({ waiting: true });
  setTimeout(sendWhenOnline, RETRY_MS);
});

/** Words that wait for a connection go out once: their key makes a second arrival of the same words harmless. */
async function sendWhenOnline() {
  if (!form() || !read().waiting || await checkNetwork()) return;
  try {
    await fetch("/healthz", { cache: "no-store" });
  } catch {
    return void setTimeout(sendWhenOnline, RETRY_MS);
  }
  if (form() && read().waiting && text().value.trim()) form().requestSubmit();
}
addEventListener("online", sendWhenOnline);
addEventListener("offline", async () => {
  if (await checkNetwork()) toast(t("You are offline. You can keep writing."));
  else sendWhenOnline();
});

/** A composer that has just appeared gets its draft. */
function setUp() {
  const composer = form();
  if (!composer || composer.ready) return refresh();
  composer.ready = true;
  if (isTouch) $("#composer-hint").remove(); // there Enter makes a line
  const draft = read();
  if (!text().value && draft.text) setMarkedText(text(), draft);
  add(draft.files ?? []);
  refresh();
  if (draft.waiting) {
    showMessage(OFFLINE);
    sendWhenOnline();
  }
  const focused = document.activeElement;
  // Whoever came with the pointer wants to type; whoever came with the keyboard wants to stay where they are.
  const mayFocus = focused === document.body || focused?.id === "main" || (byPointer && focused?.matches(".side-link, [data-new]"));
  if (!isTouch && mayFocus) text().focus({ preventScroll: true });
}

// It is hidden when the reply has ended.
on("click", "[data-stop]:focus", () => isTouch || text().focus({ preventScroll: true }));

on("click", ".side-link, [data-new]", (event) => {
  byPointer = event.detail > 0;
});

onContent(setUp);

// Keeps the composer above an on-screen keyboard where the browser does not resize the page for it (iOS).
const viewport = window.visualViewport;
if (viewport && isTouch) {
  const fit = () => document.documentElement.style.setProperty("--visible-height", `${Math.round(viewport.height)}px`);
  viewport.addEventListener("resize", fit);
  fit();
}
