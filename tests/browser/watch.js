() => {
  window.read = 0;
  window.raw = [];
  const marks = /\\[a-z([]|\$|`{3}|\[\^|~~|\|\s|:--/i;
  const look = () => {
    const prose = document.querySelector(".message-assistant[data-streaming] .prose");
    if (prose) {
      const blocks = [...prose.querySelectorAll("p, .math, li, td, th, h3")].slice(-6);
      for (const block of blocks) {
        if (block.closest(".code, .katex")) continue;
        let unset = block.innerText;  // without what is set, which may hold a bar of its own
        for (const one of block.querySelectorAll(".katex")) unset = unset.replace(one.innerText, "");
        window.read += unset.includes("it is");
        if (marks.test(unset)) window.raw.push(unset);
      }
    }
    requestAnimationFrame(look);
  };
  look();
}
