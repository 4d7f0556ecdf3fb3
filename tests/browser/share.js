([words, picture]) => {
  const form = document.createElement("form");
  Object.assign(form, {method: "post", action: "/share", enctype: "multipart/form-data"});
  for (const [name, value] of Object.entries(words)) {
    form.append(Object.assign(document.createElement("input"), {name, value}));
  }
  const chosen = new DataTransfer();
  chosen.items.add(new File([Uint8Array.from(picture)], "wabe ä.png", {type: "image/png"}));
  const files = Object.assign(document.createElement("input"), {type: "file", name: "files"});
  files.files = chosen.files;
  form.append(files);
  document.body.append(form);
  setTimeout(() => form.submit()); // once this has returned: what it leads to takes its context away
}
