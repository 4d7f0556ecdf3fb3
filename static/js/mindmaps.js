// Mind maps as flowcharts: the one-file build of Mermaid has none of its own. Runs in the frame that draws.
const SHAPES = [
  // Opening, closing, and the shape that a flowchart has for it; the longer brackets first.
  ["((", "))", "circle"],
  ["))", "((", "hex"],
  ["{{", "}}", "hex"],
  ["[", "]", "rect"],
  ["(", ")", "rounded"],
  [")", "(", "stadium"],
];
const FILLS = {
  light: ["#faf0dc", "#e3ecf7", "#e4f0e6", "#f6e6e4", "#efe8f5", "#e8eef0"],
  dark: ["#3a3020", "#22303f", "#23332a", "#3d2725", "#322a3b", "#2a3133"],
};

/** Whether this text describes a mind map: behind a preamble and comments, its first word says so. */
function isMindmap(text) {
  return /^\s*(?:---\n[\s\S]*?\n---\s*)?(?:%%[^\n]*\n\s*)*mindmap\b/.test(text);
}

function node(line) {
  for (const [open, close, shape] of SHAPES) {
    const start = line.indexOf(open);
    if (start >= 0 && line.length >= start + open.length + close.length && line.endsWith(close)) {
      const name = line.slice(0, start);
      if (/[()[\]{}]/.test(name) || (/\s/.test(name.trim()) && !/["`]/.test(line))) continue;
      return { label: line.slice(start + open.length, -close.length), shape };
    }
  }
  return { label: line, shape: "rounded" };
}

/** A label as the text of a flowchart's: its own quotes curled, marks of Markdown left out. */
function label(text) {
  const bare = text.trim().replace(/^"(.*)"$/, "$1");
  const plain = /^`.*`$/.test(bare) ? bare.slice(1, -1).replace(/\*{1,2}([^*]+)\*{1,2}/g, "$1") : bare;
  return plain.replace(/"([^"]*)"/g, "“$1”").replaceAll('"', "”").replaceAll("\\", "＼");
}

/** The lines of a mind map as a tree, by how far each is indented. Throws where there is no root, or a second. */
function tree(text) {
  // What stands in quotes may go on for several lines.
  const source = text.slice(text.search(/\bmindmap\b/)).replace(/"[^"]*"/g, (quoted) => quoted.replace(/\n\s*/g, "<br>"));
  const lines = source.split("\n").slice(1);
  const nodes = [];
  const ancestors = [];
  for (const raw of lines) {
    const line = raw.replace(/\s%%.*$/, "").trimEnd();
    const content = line.trim();
    if (!content || content.startsWith("%%") || content.startsWith("::")) continue; // icons and classes have no picture here
    const depth = line.length - line.trimStart().length;
    while (ancestors.length && ancestors.at(-1).depth >= depth) ancestors.pop();
    if (!ancestors.length && nodes.length) throw new Error(`There can be only one root; “${content}” is another.`);
    const parent = ancestors.at(-1);
    const item = { id: nodes.length, depth, parent, ...node(content) };
    item.branch = !parent ? -1 : parent.branch >= 0 ? parent.branch : nodes.filter((other) => other.parent === parent).length;
    nodes.push(item);
    ancestors.push(item);
  }
  if (!nodes.length) throw new Error("The mind map has no root.");
  return nodes;
}

/** The flowchart of a mind map: the root in the middle, half of its branches on either side where there are many. */
function flowchartOf(text, isDark) {
  const nodes = tree(text);
  const branches = nodes.filter((item) => item.parent === nodes[0]).length;
  const isLeft = (item) => branches > 3 && item.branch >= Math.ceil(branches / 2);
  const fills = FILLS[isDark ? "dark" : "light"];
  const lines = ["flowchart LR"];
  for (const item of nodes) {
    lines.push(`n${item.id}@{ shape: ${item.shape}, label: "${label(item.label)}" }`);
    if (!item.parent) continue;
    const [from, to] = isLeft(item) ? [item, item.parent] : [item.parent, item];
    lines.push(`n${from.id} --- n${to.id}`, `style n${item.id} fill:${fills[item.branch % fills.length]}`);
  }
  return lines.join("\n");
}
