// Copies the few third-party browser files we use from node_modules into static/vendor and makes one icon sprite.
// Run with `npm run build`; the result is not committed.
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const modules = join(root, "node_modules");
const vendor = join(root, "static", "vendor");

// Several sources become one file, in their order. htmx goes over the page in a task of its own right after its script:
// an extension in a second file may come later than that, and then a reply being written is never connected.
const SCRIPTS = {
  "htmx.js": ["htmx.org/dist/htmx.min.js", "htmx.org/dist/ext/hx-sse.min.js"],
  "swagger-ui.js": ["swagger-ui-dist/swagger-ui-bundle.js"],
  // Fetched only by pages with formulas or diagrams on them.
  "katex/katex.js": ["katex/dist/katex.min.js"],
  "katex/mhchem.js": ["katex/dist/contrib/mhchem.min.js"],
  "mermaid.js": ["@mermaid-js/tiny/dist/mermaid.tiny.js"],
};

// Latin is fetched by everyone; the other ranges only by pages that contain such letters.
const FONTS = {
  // Headings and names only: one weight of it is a third of the variable font.
  "@fontsource/literata": ["500.css"],
  "@fontsource-variable/source-sans-3": ["index.css", "wght-italic.css"],
  "@fontsource-variable/source-code-pro": ["index.css"],
};
const RANGES = /-(latin|latin-ext|cyrillic|greek|vietnamese)-(wght|500)-/;

const ICONS = `archive archive-restore arrow-down arrow-right arrow-up check chevron-down chevron-left chevron-right circle-alert
  circle-help clock columns-2 copy diamond download ellipsis eraser feather file-text flask-conical folder globe history hourglass info key-round
  keyboard log-out maximize-2 message-square mic monitor moon notebook-pen panel-left panel-right
  pencil pin pin-off plus radio refresh-cw rotate-ccw route scroll-text search settings share-2 shield-check sliders-horizontal split square
  sun text-quote thumbs-down thumbs-up trash-2 undo-2 user users volume-2 wand-sparkles wrench x`.split(/\s+/);

function copyScripts() {
  for (const [name, sources] of Object.entries(SCRIPTS)) {
    // Source maps are not shipped, so the reference to one would only be a 404 in the console.
    const texts = sources.map((source) =>
      readFileSync(join(modules, source), "utf8").replace(/\n?\/\/# sourceMappingURL=.*\s*$/, "\n"),
    );
    writeFileSync(join(vendor, name), texts.join(";\n"));
  }
  const sheet = readFileSync(join(modules, "swagger-ui-dist", "swagger-ui.css"), "utf8");
  writeFileSync(join(vendor, "swagger-ui.css"), sheet.replace(/\n?\/\*# sourceMappingURL=.*?\*\/\s*$/, "\n"));
  // Only the browser tests use this one; it is absent after `npm ci --omit=dev`.
  const axe = join(modules, "axe-core", "axe.min.js");
  if (existsSync(axe)) copyFileSync(axe, join(vendor, "axe.js"));
}

function copyKatex() {
  const home = join(modules, "katex", "dist");
  // Every browser that runs our scripts reads woff2.
  const sheet = readFileSync(join(home, "katex.min.css"), "utf8").replace(/,url\([^)]*\.(woff|ttf)\) format\("\w+"\)/g, "");
  writeFileSync(join(vendor, "katex", "katex.css"), sheet);
  for (const file of readdirSync(join(home, "fonts"))) {
    if (file.endsWith(".woff2")) copyFileSync(join(home, "fonts", file), join(vendor, "katex", "fonts", file));
  }
}

function copyFonts() {
  let css = "";
  for (const [family, sheets] of Object.entries(FONTS)) {
    const home = join(modules, family);
    for (const sheet of sheets) {
      for (const [block] of readFileSync(join(home, sheet), "utf8").matchAll(/@font-face \{[^}]*\}/g)) {
        const file = block.match(/url\(\.\/files\/([^)]+)\)/)[1];
        if (!RANGES.test(file)) continue;
        copyFileSync(join(home, "files", file), join(vendor, "fonts", file));
        css += block.replaceAll("./files/", "").replace(/, url\([^)]*\.woff\) format\('woff'\)/, "") + "\n";
      }
    }
  }
  writeFileSync(join(vendor, "fonts", "fonts.css"), css);
}

function makeSprite() {
  const symbols = ICONS.map((name) => {
    const svg = readFileSync(join(modules, "lucide-static", "icons", `${name}.svg`), "utf8");
    const body = svg.slice(svg.indexOf(">", svg.indexOf("<svg")) + 1, svg.lastIndexOf("</svg>")).replace(/\s*\n\s*/g, "");
    return `<symbol id="${name}" viewBox="0 0 24 24">${body}</symbol>`;
  });
  const svg = `<svg xmlns="http://www.w3.org/2000/svg">\n${symbols.join("\n")}\n</svg>\n`;
  writeFileSync(join(vendor, "icons.svg"), svg);
}

rmSync(vendor, { recursive: true, force: true });
mkdirSync(join(vendor, "fonts"), { recursive: true });
mkdirSync(join(vendor, "katex", "fonts"), { recursive: true });
copyScripts();
copyKatex();
copyFonts();
makeSprite();
