(node) => {
  const first = document.createRange();
  first.setStart(node.firstChild, 0);
  first.setEnd(node.firstChild, 1);
  const letter = first.getBoundingClientRect(), box = node.getBoundingClientRect();
  return node.scrollWidth > node.clientWidth && letter.left >= box.left - 1 && letter.right <= box.right + 1;
}
