// Everything the pages do beyond HTML and htmx. Each module looks after one thing and works through delegated events,
// so that nothing has to be set up again after a swap.
import "./announce.js";
import "./composer.js";
import "./copy.js";
import "./dialogs.js";
import "./files.js";
import "./keyboard.js";
import "./list.js";
import "./memory.js";
import "./menu-button.js";
import "./news.js";
import "./notify.js";
import "./palette.js";
import "./queue.js";
import "./quotes.js";
import "./reading.js";
import "./rename.js";
import "./requests.js";
import "./rich.js";
import "./scroll.js";
import "./side-panel.js";
import "./slash.js";
import "./suggestions.js";
import "./theme.js";
import "./thinking.js";
import "./toasts.js";
import "./voice.js";
import { $, onContent } from "./dom.js";

// Few pages have a file field or a list to choose from, few conversations are temporary; the others need not carry what
// serves them. Nor does a conversation what keeps the words of forms: its composer does so itself.
onContent((root) => {
  if (!$("#composer")) import("./interrupted-form.js");
  if ($("input.input[type='file']", root)) import("./file-fields.js");
  if ($("[data-temporary]")) import("./temporary.js");
  if ($("[data-choose]", root)) import("./selection.js");
  if ($("[data-ask]", root)) import("./ask.js");
});
