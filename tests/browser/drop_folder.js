() => {
  const item = (name, isDirectory) =>
    ({ kind: "file", getAsFile: () => new File(["Snails crawl."], name), webkitGetAsEntry: () => ({ isDirectory }) });
  const dataTransfer = { types: ["Files"], files: [1, 2], items: [item("garden", true), item("snails.txt", false)] };
  document.dispatchEvent(Object.assign(new Event("drop", { cancelable: true }), { dataTransfer }));
}
