// Tables of replies: sorted by a click on a heading, copied as CSV.
import { $, $$, make, on } from "./dom.js";
import { copy } from "./copy.js";
import { t } from "./i18n.js";

const collator = new Intl.Collator(undefined, { numeric: true, sensitivity: "base" });
const ORDERS = { none: "ascending", ascending: "descending", descending: "none" };

/** The number that a cell says, NaN for words: "1,234.5", "12 %", "€ 3". */
function numeric(text) {
  const bare = text.replace(/[\s\u00a0,%€$£]/g, "");
  return /^[-+−]?\d*\.?\d+$/.test(bare) ? Number(bare.replace("−", "-")) : NaN;
}

function sort(table, column, order) {
  const body = $("tbody", table);
  if (!body) return;
  table.original ??= [...body.rows];
  const rows = [...table.original];
  if (order !== "none") {
    const text = (row) => row.cells[column]?.textContent.trim() ?? "";
    const sign = order === "ascending" ? 1 : -1;
    rows.sort((a, b) => {
      const [x, y] = [numeric(text(a)), numeric(text(b))];
      if (Number.isNaN(x) !== Number.isNaN(y)) return Number.isNaN(x) ? 1 : -1;
      return sign * (Number.isNaN(x) ? collator.compare(text(a), text(b)) : x - y);
    });
  }
  body.append(...rows);
}

function csv(table) {
  const quote = (text) => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  return [...table.rows].map((row) => [...row.cells].map((cell) => quote(cell.innerText.trim())).join(",")).join("\r\n");
}

/** Gives a finished table its headings to click and its line of tools. */
export function addTools(box) {
  if ("ready" in box.dataset) return;
  box.dataset.ready = "";
  const table = $("table", box);
  if ($("tbody", table)?.rows.length > 1) {
    for (const heading of $$("th", table)) {
      if (!heading.textContent.trim()) continue;
      heading.setAttribute("aria-sort", "none");
      const button = make("button", { type: "button", className: "table-sort" });
      button.append(...heading.childNodes);
      heading.append(button);
    }
  }
  box.append(make("button", { type: "button", className: "table-copy", textContent: t("Copy as CSV") }));
}

on("click", ".table-sort", (_event, button) => {
  const heading = button.closest("th");
  const table = heading.closest("table");
  const order = ORDERS[heading.getAttribute("aria-sort")];
  for (const other of $$("th[aria-sort]", table)) other.setAttribute("aria-sort", "none");
  heading.setAttribute("aria-sort", order);
  sort(table, heading.cellIndex, order);
});

on("click", ".table-copy", (_event, button) => {
  if (!("copied" in button.dataset)) copy(button, csv($("table", button.closest(".table-box"))));
});
