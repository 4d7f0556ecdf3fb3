// Sends a form that was interrupted, once.
import { $ } from "./dom.js";

$("[data-continue]").requestSubmit();
