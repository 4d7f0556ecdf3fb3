// Notifications that a reply is done, for who asked for them in the settings: only for one that took a while, and only
// when the tab is out of sight. A hidden tab reads no stream, so it asks the server until the reply is there.
import { $, $$, store } from "./dom.js";
import { t } from "./words.js";

const key = `notify:${document.body.dataset.user ?? ""}`;
const LONG = 8_000; // milliseconds that a reply takes before anybody wants to be told
const WAIT = 25; // seconds that one question stays open
const begun = new Map(); // turn id → when it was first seen here
let asking = "";

const can = "Notification" in window;
const isWanted = () => can && Notification.permission === "granted" && store.get(key) === true;

async function tell(turn) {
  const title = $(".title-text")?.textContent.trim() || t("New conversation");
  const said = { body: t("The reply is done."), tag: `turn-${turn}`, data: { place: location.pathname } };
  const worker = await navigator.serviceWorker?.getRegistration();
  if (worker?.active) return worker.showNotification(title, said);
  const shown = new Notification(title, said);
  shown.onclick = () => {
    window.focus();
    shown.close();
  };
}

async function watch(turn) {
  if (asking === turn) return;
  asking = turn;
  while (document.hidden && isWanted()) {
    let answer = null;
    try {
      answer = await fetch(`/api/messages/${turn}/response?wait=${WAIT}`, { cache: "no-store" });
    } catch { /* away for a moment: asked again */ }
    if (answer?.status === 200) {
      if (document.hidden && Date.now() - (begun.get(turn) ?? 0) >= LONG) await tell(turn);
      break;
    }
    if (answer && answer.status !== 202) break;
    if (!answer) await new Promise((done) => setTimeout(done, LONG));
  }
  asking = "";
}

function look() {
  for (const turn of $$("[data-turn]:not([data-settling])")) if (!begun.has(turn.dataset.turn)) begun.set(turn.dataset.turn, Date.now());
  const open = $("#thread [data-streaming]")?.closest("[data-turn]");
  if (open && document.hidden && isWanted()) watch(open.dataset.turn);
}
document.addEventListener("htmx:after:settle", look);
document.addEventListener("visibilitychange", look);
look();

// The server forgets a browser that signs out.
const section = can && $("[data-notifications]");
const isNew = isWanted() && !sessionStorage[key];
if (section || isNew) {
  import("./push.js").then((push) => {
    if (section) push.showChoice(section, key, isWanted());
    if (isNew) push.subscribe();
  });
  if (isNew) sessionStorage[key] = "asked";
}
