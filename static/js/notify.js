// Notifications that a reply is done, for who asked for them in the settings: only for one that took a while, and only
// when the tab is out of sight. A hidden tab reads no stream, so it asks the server until the reply is there.
import { $, $$, onContent, store } from "./dom.js";
import { t } from "./i18n.js";

const key = `notify:${document.body.dataset.user ?? ""}`;
const LONG_REPLY_MS = 8_000; // milliseconds that a reply takes before anybody wants to be told
const WAIT_SECONDS = 25; // seconds that one question stays open
const firstSeen = new Map(); // turn id → when it was first seen here
let watchedTurn = "";

const isSupported = "Notification" in window;
const isWanted = () => isSupported && Notification.permission === "granted" && store.get(key) === true;

async function notify(turn) {
  const title = $(".title-text")?.textContent.trim() || t("New conversation");
  const options = { body: t("The reply is done."), tag: `turn-${turn}`, data: { place: location.pathname } };
  const worker = await navigator.serviceWorker?.getRegistration();
  if (worker?.active) return worker.showNotification(title, options);
  const notification = new Notification(title, options);
  notification.onclick = () => {
    window.focus();
    notification.close();
  };
}

async function watch(turn) {
  if (watchedTurn === turn) return;
  watchedTurn = turn;
  while (document.hidden && isWanted()) {
    let answer = null;
    try {
      answer = await fetch(`/api/messages/${turn}/response?wait=${WAIT_SECONDS}`, { cache: "no-store" });
    } catch { /* away for a moment: asked again */ }
    if (answer?.status === 200) {
      if (document.hidden && Date.now() - (firstSeen.get(turn) ?? 0) >= LONG_REPLY_MS) await notify(turn);
      break;
    }
    if (answer && answer.status !== 202) break;
    if (!answer) await new Promise((resolve) => setTimeout(resolve, LONG_REPLY_MS));
  }
  watchedTurn = "";
}

function watchOpenTurn() {
  for (const turn of $$("[data-turn]:not([data-settling])")) if (!firstSeen.has(turn.dataset.turn)) firstSeen.set(turn.dataset.turn, Date.now());
  const open = $("#thread [data-streaming]")?.closest("[data-turn]");
  if (open && document.hidden && isWanted()) watch(open.dataset.turn);
}
onContent(watchOpenTurn);
document.addEventListener("visibilitychange", watchOpenTurn);

// The server forgets a browser that signs out.
const section = isSupported && $("[data-notifications]");
const isNew = isWanted() && !sessionStorage[key];
if (section || isNew) {
  import("./push.js").then((push) => {
    if (section) push.showChoice(section, key, isWanted());
    if (isNew) push.subscribe();
  });
  if (isNew) sessionStorage[key] = "asked";
}
