// Lists to choose from: all at once, how many, and by keyboard (j and k move, x chooses).
import { $, $$, on } from "./dom.js";
import { t, tn } from "./i18n.js";

const boxes = (form) => $$("input[name='ids']:not(:disabled), input[name='id']", form);

function showCount(form) {
  const all = boxes(form);
  const chosen = all.filter((box) => box.checked).length;
  $("[data-chosen]", form).textContent = chosen ? tn("%(num)s selected", "%(num)s selected", chosen) : t("Select all");
  const selectAll = $("[data-choose-all]", form);
  selectAll.checked = chosen > 0 && chosen === all.length;
  selectAll.indeterminate = chosen > 0 && chosen < all.length;
}

addEventListener("pageshow", () => $$("[data-choose]").forEach(showCount)); // back on the page, the browser ticks them again
on("change", "[data-choose] input[type='checkbox']", (_event, box) => {
  const form = box.closest("[data-choose]");
  if (box.matches("[data-choose-all]")) for (const other of boxes(form)) other.checked = box.checked;
  showCount(form);
});

// A tag is asked for in place: the answer of the server would cost the choice of many.
on("change", "#wish", (_event, { form, value }) => { form.elements.to_tag.required = value.endsWith("tag"); });

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || !["j", "k", "x"].includes(event.key)) return;
  const active = document.activeElement;
  const form = active?.closest("[data-choose]") ?? (active === document.body ? $("[data-choose]") : null);
  if (!form || (active.matches("input, textarea, select") && !active.matches("[type='checkbox']"))) return;
  const all = boxes(form);
  const here = all.indexOf(active);
  if (event.key === "x") {
    if (here >= 0) active.click();
  } else all[Math.min(all.length - 1, Math.max(0, here + (event.key === "j" ? 1 : -1)))]?.focus();
  event.preventDefault();
});

// One question at a time: a letter for each answer. A key that is held down answers only once.
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || event.target.matches("input, textarea, select")) return;
  const queue = event.target === document.body ? $("[data-keys]") : event.target.closest("[data-keys]");
  const answer = queue && $(`[data-key="${CSS.escape(event.key.toLowerCase())}"]`, queue);
  if (!answer) return;
  event.preventDefault();
  answer.click();
});
