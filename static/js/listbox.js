// A list to choose from under a field that keeps the focus: the arrows move along its options, Enter takes the chosen one.
import { $, $$ } from "./dom.js";

export const options = (list) => $$('[role="option"]:not([hidden])', list);
export const selected = (list) => $('[aria-selected="true"]:not([hidden])', list);

export function select(list, field, option = options(list)[0]) {
  for (const other of $$('[role="option"]', list)) other.setAttribute("aria-selected", String(other === option));
  list.role = option ? "listbox" : "status"; // with nothing to choose, what it says is all there is
  option?.scrollIntoView({ block: "nearest" });
  if (option) field.setAttribute("aria-activedescendant", option.id);
  else field.removeAttribute("aria-activedescendant");
}

/** Chooses the next option or the one before, by the key. */
export function step(list, field, key) {
  const all = options(list);
  select(list, field, all.at((all.indexOf(selected(list)) + (key === "ArrowDown" ? 1 : -1)) % all.length));
}
