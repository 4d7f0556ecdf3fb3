// Reads a reply to screen readers by the sentence while it is written, never by the token.
import { $, make } from "./dom.js";

// Between two looks at what a reply says: each lays out the page.
const PAUSE_MS = 500;
// Characters announced, by the id of their turn.
const lengths = new Map();
const SENTENCE_END = /[.!?…:。！？]["'”’)\]]*(?=\s)|\n/g;

function announce(text) {
  const words = text.replace(/\s+/g, " ").trim();
  if (!words) return;
  const announcer = $("#announcer");
  announcer.append(make("p", { textContent: words }));
  while (announcer.children.length > 4) announcer.firstChild.remove();
}

function read(turn) {
  turn.reading = null;
  const reply = turn.isConnected && $(".message", turn);
  if (!reply) return;
  const text = $(".prose", reply).innerText;
  const from = lengths.get(turn.dataset.turn) ?? 0;
  let end = from;
  if (reply.hasAttribute("data-streaming")) {
    for (const match of text.slice(from).matchAll(SENTENCE_END)) end = from + match.index + match[0].length;
  } else {
    end = text.length;
  }
  if (end > from) {
    lengths.set(turn.dataset.turn, end);
    announce(text.slice(from, end));
  }
}

document.addEventListener("htmx:sse:after:message", (event) => {
  const turn = event.target.closest?.("[data-turn]:not([data-settling])");
  if (turn) turn.reading ??= setTimeout(read, PAUSE_MS, turn);
});
