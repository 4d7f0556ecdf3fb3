// Changing the theme shows at once; the form is saved in the background.
import { on, setCookie } from "./dom.js";

on("change", "[data-theme-form] input", (_event, input) => {
  const { value } = input;
  setCookie("theme", value);
  if (value === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = value;
  fetch(input.form.action, { method: "POST", body: new URLSearchParams(new FormData(input.form)), keepalive: true });
});
