// A page that was left alone catches up: what was said elsewhere in its conversation, or remembered from it late, is
// fetched when it is looked at again, and now and then while it is in sight. What is being typed, edited or sent stays
// as it is.
import { $, $$, isOffline, load } from "./dom.js";
import { otherTabs } from "./list.js";

const INTERVAL_MS = 25_000;
// Replies whose memories are asked about.
const MAX_REPLIES = 30;
// The last message at the time of the question, while it is open.
let shownBefore = null;
// A correction that came meanwhile may not be in the answer.
let isOutdated = false;

/** The id of the last message shown; "0" when the end of the conversation is not, "" when there is none. */
export function newest() {
  if ($("#thread:not([data-news])")) return "0";
  return $$("#thread .message[id^='m-']").at(-1)?.id.slice(2) ?? "";
}

const isBusy = () => document.hidden || isOffline || $(".message-pending, #thread form:is([data-esc], .htmx-request)") !== null;

async function fetchNews() {
  const url = $("#thread[data-news]")?.dataset.news;
  if (!url || shownBefore !== null || isBusy()) return;
  shownBefore = newest();
  const query = new URLSearchParams({ shown: shownBefore });
  // What lies open is not replaced.
  for (const { id, dataset } of $$(".remembered:not(:has([open]))").slice(-MAX_REPLIES)) {
    query.append("remembered", `${id.slice("remembered-".length)} ${dataset.state}`);
  }
  // A title that is being edited is not there to be compared.
  const title = $(".title-text")?.textContent;
  if (title) query.set("title", title);
  try {
    await load(`${url}?${query}`, "#thread");
  } finally {
    shownBefore = null;
    if (isOutdated) {
      isOutdated = false;
      fetchNews();
    }
  }
}

document.addEventListener("htmx:before:swap", (event) => {
  // What was sent from here in the meantime comes by itself.
  if (event.detail.ctx.sourceElement?.id === "thread" && (isBusy() || newest() !== shownBefore)) event.preventDefault();
});

document.addEventListener("visibilitychange", fetchNews);
for (const type of ["focus", "pageshow", "online"]) addEventListener(type, fetchNews);
setInterval(fetchNews, INTERVAL_MS);
otherTabs?.addEventListener("message", fetchNews);
// What is forgotten or undone may stand under any reply.
document.addEventListener("memories:corrected", () => {
  isOutdated = shownBefore !== null;
  fetchNews();
});
