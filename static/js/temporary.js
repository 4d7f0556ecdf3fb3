// A temporary conversation is gone when it is left: for another page, or with its tab. A reload shows it again: a cookie of
// its address alone, for a few seconds, says that it is only being reloaded.
import { $ } from "./dom.js";

const KEY = "temporary";
const SECONDS = 20;
let open = null; // {id, address} of the one in sight
let leaving = null; // one that was left, of which the server has still to hear
let returning = Promise.resolve(); // while the server is told that a reload brought it back

const token = () => JSON.parse(document.body.getAttribute("hx-headers:inherited") ?? "{}")["X-CSRFToken"] ?? "";
const headers = () => ({ "X-CSRFToken": token(), "HX-Request": "true" });
const base = (address) => address.replace(/\/[^/]+$/, "");

function close({ address }) {
  const form = new FormData();
  form.set("csrf_token", token());
  navigator.sendBeacon(address, form);
}

function closeLeft() {
  if (leaving) close(leaving);
  leaving = null;
}

/** Says to the page that comes next at this address, and to no other, that this one only goes to come again. */
function mark({ id, address }, seconds) {
  document.cookie = `left=${id}; path=${base(address)}; max-age=${seconds}; samesite=lax`;
}

const bringBack = ({ address }) => fetch(`${base(address)}/undelete`, { method: "POST", headers: headers() });

function look() {
  const place = $(".conversation[data-temporary]");
  const now = place ? { id: place.dataset.conversation, address: place.dataset.temporary } : null;
  if (open && open.id !== now?.id && $(".conversation, #page")) {
    leaving = open;
    returning.finally(closeLeft); // in this order, or it would come back after it was left
  }
  open = now;
}

document.addEventListener("htmx:after:settle", look);
addEventListener("pagehide", () => {
  closeLeft();
  if (!open) return;
  mark(open, SECONDS);
  try { sessionStorage.setItem(KEY, JSON.stringify(open)); } catch { /* then a reload finds it gone */ }
  close(open);
});
addEventListener("pageshow", (event) => event.persisted && open && bringBack(open).then(() => location.reload()));

look();
try {
  const left = JSON.parse(sessionStorage.getItem(KEY));
  sessionStorage.removeItem(KEY);
  if (left) {
    mark(left, 0); // whichever page came: it has had its effect, or has none
    // The word that it was left may arrive after this page was asked for.
    if (open?.id === left.id) returning = bringBack(left).catch(() => {});
  }
} catch { /* no storage, nothing to bring back */ }
