() => [...document.querySelectorAll("button, .button, h1, h2, h3, .tag, label, nav a, th, dt, .field-hint")]
  .filter((node) => node.offsetParent && node.textContent.trim() && !node.closest(".visually-hidden"))
  .filter((node) => {
    const style = getComputedStyle(node);
    const hides = ["hidden", "clip"].includes(style.overflowX) && style.textOverflow !== "ellipsis";
    return hides && node.scrollWidth > node.clientWidth + 1;
  })
  .map((node) => node.textContent.trim().slice(0, 60))
