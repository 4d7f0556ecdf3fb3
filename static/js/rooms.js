// On a phone the first page of the rooms lists them: an address with an anchor of the page itself shows the page.
import { $ } from "./dom.js";

function showAnchor() {
  const anchor = location.hash.slice(1);
  if (anchor && $(`.room [id="${CSS.escape(anchor)}"]`)) $(".rooms").classList.remove("is-first");
}

showAnchor();
addEventListener("hashchange", showAnchor);
