// Search and commands from anywhere: arrows choose, Enter opens.
import { $, $$, on } from "./dom.js";
import { options, select, selected, step } from "./listbox.js";
import { setTheme } from "./theme.js";

const palette = $("#palette");
const field = palette && $("#palette-text");
const list = palette && $("#palette-list");
// Moved by the arrow keys: what arrives later takes nothing away from under the person's hand.
let isMoved = false;

/** Shows the commands that what is typed may mean; the first ones are for who types nothing. */
function showCommands() {
  isMoved = false;
  const isAnyKind = !new FormData($("#palette-form")).get("kind");
  const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
  let hasCommands = false;
  for (const command of $$(".result-command", palette)) {
    const content = `${command.textContent} ${command.dataset.words}`.toLowerCase();
    const isThere = !command.dataset.press || $(command.dataset.press) !== null;
    command.hidden = !isThere || !isAnyKind || !words.every((word) => content.includes(word));
    hasCommands ||= !command.hidden;
  }
  $("[data-commands-title]", palette).hidden = !hasCommands;
  select(list, field);
}

export function openPalette() {
  palette.showModal();
  showCommands();
  field.focus();
  // At once: the next key may be pressed already.
  field.select();
}

if (palette) {
  on("click", "[data-open-palette]", (event) => {
    event.preventDefault(); // without scripts the button leads to the page of search
    openPalette();
  });
  palette.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      step(list, field, event.key);
      isMoved = true;
    } else if (event.key === "Escape") {
      event.preventDefault(); // a search field would only be emptied by it
      palette.close();
    } else if (event.key === "Enter" && event.target === field && selected(list)) {
      event.preventDefault();
      selected(list).click();
    }
  });
  $("#palette-form").addEventListener("input", showCommands);
  $("#palette-results").addEventListener("htmx:after:settle", () => select(list, field, (isMoved && selected(list)) || options(list)[0]));
  on("click", "#palette [data-press]", (_event, option) => {
    const target = $(option.dataset.press);
    palette.close();
    target?.click();
  });
  on("click", "#palette [data-set-theme]", (_event, option) => setTheme(option.dataset.setTheme));
  on("click", '#palette [role="option"]', (event) => {
    if (!event.ctrlKey && !event.metaKey && !event.shiftKey) palette.close();
  });
}
