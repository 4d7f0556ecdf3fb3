// A temporary conversation is gone when it is left: for another page, or with its tab. A reload brings it back.
import { $ } from "./dom.js";

const KEY = "temporary";
let open = null; // {id, address} of the one in sight

const token = () => JSON.parse(document.body.getAttribute("hx-headers:inherited") ?? "{}")["X-CSRFToken"] ?? "";

function close({ address }) {
  const form = new FormData();
  form.set("csrf_token", token());
  navigator.sendBeacon(address, form);
}

async function bringBack(id) {
  const answer = await fetch(`/c/${id}/undelete`, { method: "POST", headers: { "X-CSRFToken": token(), "HX-Request": "true" } });
  if (answer.ok) location.reload();
}

function look() {
  const place = $(".conversation[data-temporary]");
  const now = place ? { id: place.dataset.conversation, address: place.dataset.temporary } : null;
  if (open && open.id !== now?.id && $(".conversation, #page")) close(open);
  open = now;
}

document.addEventListener("htmx:after:settle", look);
addEventListener("pagehide", () => {
  if (!open) return;
  try { sessionStorage.setItem(KEY, open.id); } catch { /* then a reload finds it gone */ }
  close(open);
});
addEventListener("pageshow", (event) => event.persisted && open && bringBack(open.id));

look();
try {
  const left = sessionStorage.getItem(KEY);
  sessionStorage.removeItem(KEY);
  if (left && location.pathname === `/c/${left}` && !open && $(".error-page")) bringBack(left);
} catch { /* no storage, nothing to bring back */ }
