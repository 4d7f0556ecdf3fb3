// A browser labels its file fields in its own language. The field stays where it is, unseen, for clicks, drops and keys.
import { $$, make, onContent } from "./dom.js";
import { dropped } from "./files.js";
import { t } from "./i18n.js";
import { toast } from "./toasts.js";

onContent((root) => {
  for (const field of $$("input.input[type='file']", root)) {
    if (field.closest(".file-field")) continue;
    const box = make("span", { className: "file-field" });
    const button = make("span", { className: "button", textContent: field.multiple ? t("Choose files") : t("Choose a file") });
    const names = make("span", { className: "file-names muted" });
    const showNames = () => { names.textContent = [...field.files].map((file) => file.name).join(", ") || t("No file chosen"); };
    field.before(box);
    box.append(field, button, names);
    field.addEventListener("change", showNames);
    field.form?.addEventListener("reset", () => setTimeout(showNames));
    showNames();
  }
});

// What is dropped beside a field goes into it too: the browser would open it in a tab. A field for one file takes the first.
for (const type of ["dragover", "drop"]) document.addEventListener(type, (event) => {
  const field = $$(".file-field input").find((each) => each.checkVisibility());
  if (!field || !event.dataTransfer.types.includes("Files")) return;
  event.preventDefault();
  if (type === "dragover") return;
  const [first, ...others] = dropped(event.dataTransfer);
  if (!first) return;
  const taken = new DataTransfer();
  for (const file of field.multiple ? [first, ...others] : [first]) taken.items.add(file);
  if (taken.items.length <= others.length) toast(t("One file goes here: %(name)s was taken, the others were not.", { name: first.name }));
  field.files = taken.files;
  field.dispatchEvent(new Event("change"));
});
