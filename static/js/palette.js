// Search and commands from anywhere: arrows choose, Enter opens.
import { $, $$, on } from "./dom.js";
import { setTheme } from "./theme.js";

const palette = $("#palette");
const field = palette && $("#palette-text");
const options = () => $$('[role="option"]:not([hidden])', palette);
const chosen = () => $('[aria-selected="true"]:not([hidden])', palette);

function choose(option) {
  for (const other of $$('[role="option"]', palette)) other.setAttribute("aria-selected", String(other === option));
  $("#palette-list").role = option ? "listbox" : "status"; // with nothing to choose, what it says is all there is
  option?.scrollIntoView({ block: "nearest" });
  if (option) field.setAttribute("aria-activedescendant", option.id);
  else field.removeAttribute("aria-activedescendant");
}

let isPicked = false; // by the arrow keys: what arrives later takes nothing away from under the person's hand

/** Shows the commands that what is typed may mean; the first ones are for who types nothing. */
function offer() {
  isPicked = false;
  const isAnyKind = !new FormData($("#palette-form")).get("kind");
  const typed = field.value.toLowerCase().split(/\s+/).filter(Boolean);
  let any = false;
  for (const command of $$(".result-command", palette)) {
    const says = `${command.textContent} ${command.dataset.words}`.toLowerCase();
    const isThere = !command.dataset.press || $(command.dataset.press) !== null;
    command.hidden = !isThere || !isAnyKind || !typed.every((word) => says.includes(word));
    any ||= !command.hidden;
  }
  $("[data-commands-title]", palette).hidden = !any;
  choose(options()[0]);
}

export function openPalette() {
  palette.showModal();
  offer();
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
      choose(all.at((all.indexOf(chosen()) + step) % all.length));
      isPicked = true;
    } else if (event.key === "Escape") {
      event.preventDefault(); // a search field would only be emptied by it
      palette.close();
    } else if (event.key === "Enter" && event.target === field && chosen()) {
      event.preventDefault();
      chosen().click();
    }
  });
  $("#palette-form").addEventListener("input", offer);
  $("#palette-results").addEventListener("htmx:after:settle", () => choose((isPicked && chosen()) || options()[0]));
  on("click", "#palette [data-press]", (_event, option) => {
    const pressed = $(option.dataset.press);
    palette.close();
    pressed?.click();
  });
  on("click", "#palette [data-set-theme]", (_event, option) => setTheme(option.dataset.setTheme));
  on("click", '#palette [role="option"]', (event) => {
    if (!event.ctrlKey && !event.metaKey && !event.shiftKey) palette.close();
  });
}
