// What a reply's blocks can do beyond being read. Looks at what is put into the page before it is painted.
import { $, $$, make, on, store } from "./dom.js";
import { setFormulas } from "./math.js";
import { addTools } from "./tables.js";
import { toast } from "./toasts.js";
import { t, tn } from "./i18n.js";

const LONG_CODE = 28; // lines of code shown of a longer block
const EXTENSIONS = {
  bash: "sh", "c++": "cpp", csharp: "cs", css: "css", csv: "csv", go: "go", html: "html", java: "java", javascript: "js",
  js: "js", json: "json", kotlin: "kt", latex: "tex", markdown: "md", md: "md", mermaid: "mmd", php: "php", py: "py",
  python: "py", r: "r", ruby: "rb", rust: "rs", sh: "sh", sql: "sql", svg: "svg", swift: "swift", toml: "toml",
  ts: "ts", tsx: "tsx", typescript: "ts", xml: "xml", yaml: "yaml", yml: "yaml",
};

const code = (block) => $("pre", block).textContent;

function setPressed(button, isOn) {
  button.setAttribute("aria-pressed", String(isOn));
}

function setNumbers(block, isOn) {
  $(".code-numbers", block)?.remove();
  block.toggleAttribute("data-numbered", isOn);
  if (!isOn) return;
  const lines = code(block).replace(/\n$/, "").split("\n").length;
  const textContent = Array.from({ length: lines }, (_, at) => at + 1).join("\n");
  $("pre", block).before(make("span", { className: "code-numbers", ariaHidden: "true", textContent }));
}

const actions = {
  wrap(block, button) {
    const isOn = block.toggleAttribute("data-wrapped");
    setPressed(button, isOn);
    store.set("code:wrap", isOn);
    if (isOn) actions.lines(block, $('[data-code="lines"]', block), false); // numbers stand beside whole lines only
  },
  lines(block, button, isOn = !block.hasAttribute("data-numbered")) {
    setNumbers(block, isOn);
    setPressed(button, isOn);
    if (isOn && block.hasAttribute("data-wrapped")) actions.wrap(block, $('[data-code="wrap"]', block));
  },
  download(block) {
    const href = URL.createObjectURL(new Blob([code(block)], { type: "text/plain;charset=utf-8" }));
    make("a", { href, download: `code.${EXTENSIONS[block.dataset.lang] ?? "txt"}` }).click();
    setTimeout(() => URL.revokeObjectURL(href), 10_000);
  },
  unfold(block, button) {
    block.removeAttribute("data-folded");
    button.remove();
    $("pre", block).focus({ preventScroll: true });
  },
};

on("click", ".code [data-code]", (_event, button) => actions[button.dataset.code](button.closest(".code"), button));

function fold(block) {
  if (block.closest(".turn:not([data-settling])")) return; // it was read while it was written: folding it would move what follows
  const lines = code(block).split("\n").length;
  if (lines <= LONG_CODE + 8 || $(".code-unfold", block)) return;
  block.setAttribute("data-folded", "");
  const textContent = tn("Show %(num)s line", "Show all %(num)s lines", lines - 1);
  const button = make("button", { type: "button", className: "code-unfold", textContent });
  button.dataset.code = "unfold";
  block.append(button);
}

// The server makes a reply's HTML once, for whoever reads it.
const TOOLS = { lines: t("Lines"), wrap: t("Wrap"), download: t("Download"), copy: t("Copy") };

function enhance(root) {
  setFormulas(root);
  for (const box of $$(".table-box", root)) if (!box.closest(".stream-tail")) addTools(box);
  for (const block of $$(".prose .code", root)) {
    if (block.closest(".stream-tail") || "seen" in block.dataset) continue;
    block.dataset.seen = "";
    for (const tool of $$("[data-code], [data-copy]", block)) tool.textContent = TOOLS[tool.dataset.code ?? "copy"] ?? tool.textContent;
    if (store.get("code:wrap")) {
      block.setAttribute("data-wrapped", "");
      setPressed($('[data-code="wrap"]', block), true);
    }
    fold(block);
  }
  const drawings = $$('.code:is([data-lang="mermaid"], [data-lang="svg"], [data-lang="xml"])', root);
  if (drawings.length) import("./diagrams.js").then(({ drawDiagrams }) => drawDiagrams(drawings));
}

// A footnote and back.
function goToNote(reference) {
  const note = $(`.footnote[data-note="${CSS.escape(reference.dataset.note)}"]`, reference.closest(".prose"));
  if (!note) return;
  note.scrollIntoView({ block: "center" });
  note.focus({ preventScroll: true });
  note.back = reference;
}
on("click", ".footnote-reference", (_event, reference) => goToNote(reference));
on("keydown", ".footnote-reference", (event, reference) => event.key === "Enter" && goToNote(reference));
on("keydown", ".footnote", (event, note) => {
  if (event.key !== "Escape" || !note.back?.isConnected) return;
  event.stopPropagation();
  note.back.focus();
});

// An image from elsewhere is fetched when it is asked for, in a frame of its own that sends no referrer and runs nothing.
on("click", "a.image-link", (event, link) => {
  if (event.ctrlKey || event.metaKey || event.shiftKey || link.closest("[data-streaming]")) return;
  event.preventDefault();
  const next = link.nextElementSibling;
  if (next?.matches(".image-frame")) return next.remove();
  if (!link.protocol.startsWith("http")) return toast(t("This image has no address that can be opened."));
  const src = `/image?src=${encodeURIComponent(link.href)}`;
  link.after(make("iframe", { className: "image-frame", sandbox: "", referrerPolicy: "no-referrer", title: link.textContent, src }));
});

const main = $("#main");
if (main) {
  // A mutation is seen before the next frame: nothing is painted as it was written.
  new MutationObserver((records) => {
    for (const record of records) {
      for (const node of record.addedNodes) if (node.nodeType === 1 && !node.closest(".katex")) enhance(node);
    }
  }).observe(main, { childList: true, subtree: true });
  enhance(main);
}
