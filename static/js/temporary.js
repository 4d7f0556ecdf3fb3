// A temporary conversation is gone when it is left: for another page, or with its tab. A reload shows it again. It is asked
// for before the page it replaces is told to go, so a cookie of its address names that page all the while: the server
// then knows which leaving is only a reload.
import { $, headers, onContent } from "./dom.js";

let open = null; // {id, url, page} of the one in sight

const base = (url) => url.replace(/\/[^/]+$/, "");

function setLeaving({ id, url, page }, age = "") {
  document.cookie = `left=${id}.${page}; path=${base(url)}; samesite=lax${age}`;
}

function close(conversation) {
  const form = new FormData();
  form.set("csrf_token", headers()["X-CSRFToken"]);
  form.set("leaving", conversation.page);
  setLeaving(conversation, "; max-age=0");
  navigator.sendBeacon(conversation.url, form);
}

const restore = ({ url }) => fetch(`${base(url)}/undelete`, { method: "POST", headers: headers() });

function track() {
  const element = $(".conversation[data-temporary]");
  const id = element?.dataset.conversation;
  if (id === open?.id) return;
  if (open && $(".conversation, #page")) close(open);
  open = id ? { id, url: element.dataset.temporary, page: String(Date.now()) } : null;
  if (open) setLeaving(open);
}

onContent(track);
addEventListener("pagehide", () => open && close(open));
addEventListener("pageshow", (event) => event.persisted && open && restore(open).then(() => location.reload()));
