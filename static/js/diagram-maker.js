// Runs in the frame that draws: no origin, no network; what comes out is text.
/* global mermaid, isMindmap, flowchartOf */
let loading = null;
const mermaidUrl = document.currentScript.dataset.mermaid;

function load() {
  loading ??= new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = mermaidUrl;
    script.onload = resolve;
    script.onerror = () => reject(new Error("The program that draws could not be loaded."));
    document.head.append(script);
  });
  return loading;
}

/** A drawing on its own: as a picture it needs its namespace and a size. */
function toPicture(text, scale) {
  const svg = text.trim();
  const namespaced = /<svg[^>]*\sxmlns=/.test(svg) ? svg : svg.replace(/<svg/, '<svg xmlns="http://www.w3.org/2000/svg"');
  const xml = new DOMParser().parseFromString(namespaced, "image/svg+xml");
  const drawing = xml.documentElement;
  if (drawing.localName !== "svg" || xml.querySelector("parsererror")) throw new Error("This is not a whole drawing.");
  const [, , width, height] = (drawing.getAttribute("viewBox") ?? "").trim().split(/[\s,]+/).map(Number);
  if (width > 0 && height > 0 && (scale || !drawing.getAttribute("width"))) {
    drawing.setAttribute("width", Math.ceil(width));
    drawing.setAttribute("height", Math.ceil(height));
    drawing.style.maxWidth = "";
  }
  return new XMLSerializer().serializeToString(drawing);
}

async function draw({ id, kind, text, isDark }) {
  if (kind === "svg") return toPicture(text, false);
  await load();
  mermaid.initialize({
    startOnLoad: false,
    securityLevel: "strict",
    htmlLabels: false, // HTML inside a picture would need fonts and styles that it does not have
    flowchart: { htmlLabels: false },
    theme: isDark ? "dark" : "neutral",
    fontFamily: "system-ui, sans-serif",
    suppressErrorRendering: true,
  });
  const { svg } = await mermaid.render(`diagram-${id}`, isMindmap(text) ? flowchartOf(text, isDark) : text);
  const box = document.createElement("div");
  box.innerHTML = svg; // as HTML it may hold what XML does not allow
  return toPicture(new XMLSerializer().serializeToString(box.querySelector("svg")), true);
}

addEventListener("message", async (event) => {
  if (event.source !== parent || typeof event.data?.text !== "string") return;
  const { id } = event.data;
  try {
    parent.postMessage({ id, svg: await draw(event.data) }, "*");
  } catch (error) {
    parent.postMessage({ id, error: error.message ?? String(error) }, "*");
  }
});
parent.postMessage({ ready: true }, "*");
