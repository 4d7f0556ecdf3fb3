// Changing the theme shows at once; the form is saved in the background.
import { $, $$, on, setCookie } from "./dom.js";

function show(value) {
  if (value === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = value;
  for (const bar of $$("meta[data-scheme]")) {
    const { scheme } = bar.dataset;
    bar.media = value === "system" ? `(prefers-color-scheme: ${scheme})` : scheme === value ? "all" : "not all";
  }
  const choice = $(`[data-theme-form] input[value="${value}"]`);
  if (choice) choice.checked = true;
}

/** Takes a theme: "light", "dark" or the system's. It holds in this browser. */
export function setTheme(value) {
  setCookie("theme", value);
  show(value);
}

// What was chosen in another tab holds in this one as soon as it is looked at.
for (const type of ["focus", "pageshow"]) {
  addEventListener(type, () => {
    const theme = document.cookie.match(/(?:^|; )theme=(\w+)/)?.[1];
    if (theme) show(theme);
  });
}

on("change", "[data-theme-form] input", (_event, input) => {
  setTheme(input.value);
  fetch(input.form.action, { method: "POST", body: new URLSearchParams(new FormData(input.form)), keepalive: true });
});
