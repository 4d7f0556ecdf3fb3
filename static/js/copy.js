// Copy buttons: of a block of code, of a message as it was written, of a token.
import { $, make, on } from "./dom.js";
import { toast } from "./toasts.js";
import { t } from "./i18n.js";

async function writeClipboard(text) {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  // Plain http has no clipboard API.
  const field = make("textarea", { value: text, className: "visually-hidden" });
  document.body.append(field);
  field.select();
  const isCopied = document.execCommand("copy");
  field.remove();
  if (!isCopied) throw new Error("copying is switched off");
}

export async function copy(button, text) {
  try {
    await writeClipboard(text);
  } catch {
    toast(t("This browser did not allow copying. Select the text instead."));
    return;
  }
  button.dataset.copied = "";
  const use = $("use", button);
  const label = button.textContent.trim();
  if (use) use.setAttribute("href", use.getAttribute("href").replace(/#.*/, "#check"));
  else button.textContent = t("Copied");
  $("#announcer").textContent = t("Copied");
  setTimeout(() => {
    delete button.dataset.copied;
    if (use) use.setAttribute("href", use.getAttribute("href").replace(/#.*/, "#copy"));
    else button.textContent = label;
  }, 1500);
}

on("click", "[data-copy]", (_event, button) => {
  if (!("copied" in button.dataset)) copy(button, $("pre", button.closest(".code")).textContent);
});

on("click", "[data-copy-message]", (_event, button) => {
  const message = button.closest(".message");
  const source = $("template[data-source]", message)?.content ?? $(".message-text", message);
  copy(button, source.textContent);
});

on("click", "[data-copy-from]", (_event, button) => copy(button, $(`#${button.dataset.copyFrom}`).textContent));
