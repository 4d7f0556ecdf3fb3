// A temporary conversation is gone when it is left: for another page, or with its tab. A reload shows it again. It is asked
// for before the page it replaces is told to go, so a cookie of its address names that page all the while: the server
// then knows which leaving is only a reload.
import { $, headers } from "./dom.js";

let open = null; // {id, address, page} of the one in sight

const base = (address) => address.replace(/\/[^/]+$/, "");

function mark({ id, address, page }, age = "") {
  document.cookie = `left=${id}.${page}; path=${base(address)}; samesite=lax${age}`;
}

function close(left) {
  const form = new FormData();
  form.set("csrf_token", headers()["X-CSRFToken"]);
  form.set("leaving", left.page);
  mark(left, "; max-age=0");
  navigator.sendBeacon(left.address, form);
}

const bringBack = ({ address }) => fetch(`${base(address)}/undelete`, { method: "POST", headers: headers() });

function look() {
  const place = $(".conversation[data-temporary]");
  const id = place?.dataset.conversation;
  if (id === open?.id) return;
  if (open && $(".conversation, #page")) close(open);
  open = id ? { id, address: place.dataset.temporary, page: String(Date.now()) } : null;
  if (open) mark(open);
}

document.addEventListener("htmx:after:settle", look);
addEventListener("pagehide", () => open && close(open));
addEventListener("pageshow", (event) => event.persisted && open && bringBack(open).then(() => location.reload()));

look();
