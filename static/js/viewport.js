// Keeps the composer above an on-screen keyboard where the browser does not resize the page for it (iOS).
const viewport = window.visualViewport;
if (viewport && matchMedia("(hover: none)").matches) {
  const fit = () => document.documentElement.style.setProperty("--visible-height", `${Math.round(viewport.height)}px`);
  viewport.addEventListener("resize", fit);
  fit();
}
