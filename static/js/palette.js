// Search from anywhere: arrows choose, Enter opens.
import { $, $$, on } from "./dom.js";

const palette = $("#palette");
const field = palette && $("#palette-text");
const options = () => $$('[role="option"]', palette);
const chosen = () => $('[aria-selected="true"]', palette);

function choose(option) {
  for (const other of options()) other.setAttribute("aria-selected", String(other === option));
  option?.scrollIntoView({ block: "nearest" });
  if (option) field.setAttribute("aria-activedescendant", option.id);
  else field.removeAttribute("aria-activedescendant");
}

export function openPalette() {
  palette.showModal();
  field.focus();
  field.select(); // at once: the next key may be pressed already
}

if (palette) {
  on("click", "[data-open-palette]", openPalette);
  palette.addEventListener("keydown", (event) => {
    const all = options();
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      const step = event.key === "ArrowDown" ? 1 : -1;
      choose(all.at((all.indexOf(chosen()) + step) % all.length));
    } else if (event.key === "Escape") {
      event.preventDefault(); // a search field would only be emptied by it
      palette.close();
    } else if (event.key === "Enter" && event.target === field && chosen()) {
      event.preventDefault();
      chosen().click();
    }
  });
  $("#palette-results").addEventListener("htmx:after:settle", () => choose(options()[0]));
  on("click", '#palette [role="option"]', (event) => {
    if (!event.ctrlKey && !event.metaKey && !event.shiftKey) palette.close();
  });
}
