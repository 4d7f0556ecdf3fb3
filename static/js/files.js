// Files in the composer: chosen, dropped or pasted, uploaded one after the other, gone once the message is taken.
import { $, $$, isOffline, on } from "./dom.js";
import { form, read, write } from "./drafts.js";
import { toast } from "./toasts.js";
import { number, t } from "./i18n.js";

/** The files that were dropped. Says that a folder is left out: a browser gives its name as if it were a file. */
export function dropped(transfer) {
  const isFolder = (item) => item.webkitGetAsEntry()?.isDirectory;
  const items = [...transfer.items].filter((item) => item.kind === "file");
  if (items.some(isFolder)) toast(t("A folder cannot be uploaded. Open it and drop its files."));
  return items.filter((item) => !isFolder(item)).map((item) => item.getAsFile());
}

const field = () => $("[data-attach]");
const chips = () => $("#composer-files");
const uploads = new Map();
let lastUpload = Promise.resolve();
// The composer whose message waits for its files.
let waitingComposer = null;

// What is on its way for this page: the files of a composer that was left hold up nobody else's message.
const isBusy = () => [...uploads.keys()].some((chip) => chip.isConnected);

/** A chip with the progress of an upload. */
function chipOf(file, place) {
  const chip = $("#file-chip-template").content.firstElementChild.cloneNode(true);
  $("[data-file-name]", chip).textContent = file.name;
  if (file.id) chip.insertAdjacentHTML("beforeend", `<input type="hidden" name="file_ids" value="${Number(file.id)}">`);
  place.append(chip);
  return chip;
}

function fail(chip, problem) {
  // Whoever sends it now knows that this one does not go along.
  waitingComposer = null;
  chip.classList.add("file-chip-bad");
  chip.setAttribute("role", "alert");
  for (const part of $$("progress, input", chip)) part.remove();
  $("[data-file-name]", chip).textContent += `: ${problem}`;
}

const problemOf = (status) => {
  if (status === 413) return t("The file is too large.");
  if (status === 429) return t("Too many files at once. Try again in a minute.");
  if (status || !isOffline) return t("It was not uploaded. Try again.");
  return t("You are offline. Try again when the connection is back.");
};

const saveDraft = () => form() && write(read());

/** Uploads a file, or names one of a draft, and puts what the server makes of it in the place of its chip. */
function upload(file, chip) {
  const request = uploads.get(chip);
  if (!request || !chip.isConnected) { // taken out, or its page left, while it waited
    uploads.delete(chip);
    return Promise.resolve();
  }
  const body = new FormData();
  body.append("csrf_token", $("[name=csrf_token]", $("#composer")).value);
  body.append("model", $("#composer-model")?.value ?? "");
  if (file.id) {
    body.append("file_ids", file.id);
    body.append(`mode-${file.id}`, file.mode);
  } else body.append("file", file);
  return new Promise((resolve) => {
    request.upload.onprogress = (event) => {
      if (event.lengthComputable) $("progress", chip).value = event.loaded / event.total;
    };
    request.upload.onload = () => $("progress", chip)?.removeAttribute("value"); // it is being read
    request.onloadend = () => {
      uploads.delete(chip);
      if (request.status === 200) chip.outerHTML = request.response;
      else if (chip.isConnected) fail(chip, problemOf(request.status));
      saveDraft();
      resolve();
    };
    request.open("POST", field().dataset.attach);
    request.setRequestHeader("HX-Request", "true");
    request.send(body);
  });
}

/** Attaches files, to the composer or to what waits: those of the browser, or `{id, name, mode}` of a draft. */
export function add(files, place = chips()) {
  if (!files.length || !field()) return false;
  for (const file of files) {
    const chip = chipOf(file, place);
    if (file.size > Number(field().dataset.largest)) {
      fail(chip, t("The file is larger than %(size)s MB.", { size: number(Math.floor(field().dataset.largest / 2 ** 20)) }));
      continue;
    }
    uploads.set(chip, new XMLHttpRequest());
    lastUpload = lastUpload.then(() => upload(file, chip)).then(send);
  }
  return true;
}

/** The message that was sent too early goes out once everything is there. */
function send() {
  if (!waitingComposer || isBusy()) return;
  const composer = waitingComposer;
  waitingComposer = null;
  if (composer.isConnected) composer.requestSubmit();
}

document.addEventListener("htmx:config:request", (event) => {
  if (event.detail.ctx.sourceElement.id !== "composer" || !isBusy()) return;
  event.preventDefault();
  event.stopImmediatePropagation();
  waitingComposer = event.detail.ctx.sourceElement;
  toast(t("Your files are still being uploaded. The message is sent once they are there."));
}, true);

on("change", "[data-attach]", (_event, input) => {
  add([...input.files]);
  // The same file may be chosen again.
  input.value = "";
});

on("click", "[data-remove-file]", (_event, button) => {
  const chip = button.closest("[data-file-chip]");
  const request = uploads.get(chip);
  uploads.delete(chip);
  chip.remove();
  $("#composer-text").focus();
  saveDraft();
  request?.abort();
  send();
});

on("change", ".file-mode", saveDraft);

// What is on its way is nowhere yet: whoever leaves or reloads is asked.
window.addEventListener("beforeunload", (event) => isBusy() && event.preventDefault());

// They stay at hand until the message has arrived: if it does not, they come back with its words.
document.addEventListener("composer:sent", (event) => {
  event.target.sent.chips = [...chips().children];
  chips().replaceChildren();
}, true);

on("paste", "#composer-text", (event) => {
  if (add(event.clipboardData.files)) event.preventDefault();
});

// The composer shows that what is dragged over the page goes there.
document.addEventListener("dragover", (event) => {
  if (!field() || !event.dataTransfer.types.includes("Files")) return;
  event.preventDefault();
  form().classList.add("drop");
});
for (const type of ["dragleave", "drop"]) document.addEventListener(type, (event) => event.relatedTarget || form()?.classList.remove("drop"));

document.addEventListener("drop", (event) => {
  if (field() && event.dataTransfer.files.length) {
    event.preventDefault();
    add(dropped(event.dataTransfer));
  }
});
