// Diagrams of Mermaid and drawings in SVG, shown as pictures: a picture can run no script and fetch nothing.
// Mermaid itself runs in a hidden frame without an origin, from which only the finished picture comes back.
import { $, make, on } from "./dom.js";
import { t } from "./i18n.js";

const TIMEOUT_MS = 30_000; // for one, from when its turn has come: of many on an old phone the last waits for all others
let queue = Promise.resolve();
const pending = new Map();
let frame = null;
let ready = null;
let lastId = 0;

function openFrame() {
  ready ??= new Promise((resolve) => {
    frame = make("iframe", { sandbox: "allow-scripts", className: "diagram-maker", title: t("Draws diagrams"), ariaHidden: "true", tabIndex: -1 });
    addEventListener("message", (event) => {
      if (event.source !== frame.contentWindow) return;
      if (event.data.ready) return resolve();
      const { id, svg, error } = event.data;
      pending.get(id)?.(typeof svg === "string" ? { svg } : { error: String(error) });
      pending.delete(id);
    });
    frame.src = "/diagrams";
    document.body.append(frame);
  });
  return ready;
}

function draw(kind, text) {
  const drawing = queue.then(() => drawNext(kind, text));
  queue = drawing;
  return drawing;
}

async function drawNext(kind, text) {
  await openFrame();
  const id = ++lastId;
  return new Promise((resolve) => {
    pending.set(id, resolve);
    setTimeout(() => resolve({ error: t("It takes too long to draw.") }), TIMEOUT_MS);
    frame.contentWindow.postMessage({ id, kind, text, isDark: isDark() }, "*");
  });
}

function show(block, svg, label) {
  const image = make("img", { className: "diagram", alt: label });
  image.onload = () => {
    $(".diagram", block)?.remove();
    $("pre", block).before(image);
    block.setAttribute("data-drawn", "");
    block.removeAttribute("data-folded");
    const bar = $(".code-bar", block);
    if ($("[data-show-code]", bar)) return;
    const button = make("button", { type: "button", className: "code-tool code-source", ariaPressed: "false", textContent: t("Code") });
    button.dataset.showCode = "";
    $(".code-lang", bar).after(button);
  };
  image.onerror = () => showProblem(block, t("This drawing cannot be shown."));
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
}

function showProblem(block, why) {
  if (!$(".diagram-note", block)) block.append(make("p", { className: "diagram-note", textContent: why }));
}

const isDark = () => getComputedStyle(document.documentElement).colorScheme === "dark"
  || (document.documentElement.dataset.theme !== "light" && matchMedia("(prefers-color-scheme: dark)").matches);

async function drawBlock(block) {
  block.dataset.diagram = "";
  const kind = block.dataset.lang === "mermaid" ? "mermaid" : "svg";
  const { svg, error } = await draw(kind, $("pre", block).textContent);
  if (!block.isConnected) return;
  if (svg) show(block, svg, kind === "svg" ? t("Drawing") : t("Diagram"));
  else if (/^No diagram type detected/.test(error)) showProblem(block, t("Diagrams of this kind cannot be drawn here."));
  else showProblem(block, t("This diagram cannot be drawn: %(why)s", { why: error.split("\n")[0].slice(0, 160) }));
}

/** Draws those of some blocks of code that are diagrams, and finished. */
export function drawDiagrams(blocks) {
  for (const block of blocks) {
    if ("diagram" in block.dataset || block.closest(".stream-tail")) continue;
    if (block.dataset.lang === "xml" && !/^\s*<svg[\s>]/.test($("pre", block).textContent)) continue;
    drawBlock(block);
  }
}

on("click", "[data-show-code]", (_event, button) => {
  const isOn = button.closest(".code").toggleAttribute("data-code-shown");
  button.setAttribute("aria-pressed", String(isOn));
});
