// Dictation and reading aloud, by the browser's own means; where it has none, nothing is offered.
import { $, $$, on } from "./dom.js";
import { toast } from "./toasts.js";
import { t } from "./i18n.js";

const Recognition = window.SpeechRecognition ?? window.webkitSpeechRecognition;
let listening = null;
let speaking = null; // the button of what is being read

function listen(button) {
  const field = $("#composer-text");
  const prefix = field.value;
  const space = prefix && !/\s$/.test(prefix) ? " " : "";
  listening = new Recognition();
  listening.lang = navigator.language;
  listening.interimResults = true;
  listening.continuous = true;
  listening.onresult = (event) => {
    const words = [...event.results].map((result) => result[0].transcript).join("");
    field.value = prefix + space + words;
    field.dispatchEvent(new InputEvent("input", { bubbles: true, inputType: "insertFromDictation" }));
  };
  listening.onerror = (event) => {
    if (event.error === "no-speech" || event.error === "aborted") return;
    toast(event.error === "not-allowed" ? t("The microphone is not allowed for this site.") : t("Dictation does not work in this browser right now."));
  };
  listening.onend = () => {
    listening = null;
    button.setAttribute("aria-pressed", "false");
    field.focus();
  };
  listening.start();
  button.setAttribute("aria-pressed", "true");
}

on("click", "[data-voice]", (_event, button) => (listening ? listening.stop() : listen(button)));
on("submit", "#composer", () => listening?.stop());

function stopSpeaking() {
  speechSynthesis.cancel();
  speaking?.setAttribute("aria-pressed", "false");
  speaking = null;
}

/** What a reply says, without what only the eye can use. */
function spokenText(message) {
  const copy = $(".prose", message).cloneNode(true);
  for (const part of $$(".code, .katex-html, .footnote-reference, .table-copy, button", copy)) part.remove();
  return copy.textContent.replace(/\s+/g, " ").trim();
}

on("click", "[data-read-aloud]", (_event, button) => {
  const isSame = speaking === button;
  stopSpeaking();
  if (isSame) return;
  const utterance = new SpeechSynthesisUtterance(spokenText(button.closest(".message")));
  utterance.onend = utterance.onerror = () => speaking === button && stopSpeaking();
  speaking = button;
  button.setAttribute("aria-pressed", "true");
  speechSynthesis.speak(utterance);
});
addEventListener("pagehide", () => speaking && stopSpeaking());
