// Search and commands from anywhere: arrows choose, Enter opens.
import { $, $$, on } from "./dom.js";
import { setTheme } from "./theme.js";

const palette = $("#palette");
const field = palette && $("#palette-text");
const options = () => $$('[role="option"]:not([hidden])', palette);
const selected = () => $('[aria-selected="true"]:not([hidden])', palette);

function select(option) {
  for (const other of $$('[role="option"]', palette)) other.setAttribute("aria-selected", String(other === option));
  $("#palette-list").role = option ? "listbox" : "status"; // with nothing to choose, what it says is all there is
  option?.scrollIntoView({ block: "nearest" });
  if (option) field.setAttribute("aria-activedescendant", option.id);
  else field.removeAttribute("aria-activedescendant");
}

let isMoved = false; // by the arrow keys: what arrives later takes nothing away from under the person's hand

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
  select(options()[0]);
}

export function openPalette() {
  palette.showModal();
  showCommands();
  field.focus();
  field.select(); // at once: the next key may be pressed already
}

if (palette) {
  on("click", "[data-open-palette]", (event) => {
    event.preventDefault(); // without scripts the button leads to the page of search
    openPalette();
  });
  palette.addEventListener("keydown", (event) => {
    const all = options();
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      const step = event.key === "ArrowDown" ? 1 : -1;
      select(all.at((all.indexOf(selected()) + step) % all.length));
      isMoved = true;
    } else if (event.key === "Escape") {
      event.preventDefault(); // a search field would only be emptied by it
      palette.close();
    } else if (event.key === "Enter" && event.target === field && selected()) {
      event.preventDefault();
      selected().click();
    }
  });
  $("#palette-form").addEventListener("input", showCommands);
  $("#palette-results").addEventListener("htmx:after:settle", () => select((isMoved && selected()) || options()[0]));
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
