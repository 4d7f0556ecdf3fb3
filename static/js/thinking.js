// How far a slow model has read, second by second; and what a model thinks, above its reply: a fold that was opened while it thought stays open when the reply is done.
import { $$, on, onContent } from "./dom.js";

const openFolds = new Set();

on("toggle", "details[data-thinking]", (_event, fold) => {
  if (fold.open) openFolds.add(fold.dataset.thinking);
  else openFolds.delete(fold.dataset.thinking);
}, true);

onContent(() => {
  for (const fold of $$("details[data-thinking]:not([open])")) fold.open = openFolds.has(fold.dataset.thinking);
});

setInterval(() => {
  for (const bar of $$("progress[data-second]")) bar.value += 1;
}, 1000);
