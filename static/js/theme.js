// Changing the theme shows at once; the form is saved in the background.
import { $, on, setCookie } from "./dom.js";

/** Takes a theme: "light", "dark" or the system's. It holds in this browser. */
export function setTheme(value) {
  setCookie("theme", value);
  if (value === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = value;
  const choice = $(`[data-theme-form] input[value="${value}"]`);
  if (choice) choice.checked = true;
}

on("change", "[data-theme-form] input", (_event, input) => {
  setTheme(input.value);
  fetch(input.form.action, { method: "POST", body: new URLSearchParams(new FormData(input.form)), keepalive: true });
});
