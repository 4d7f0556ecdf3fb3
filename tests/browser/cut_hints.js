() => [...document.querySelectorAll("input[placeholder]")]
  .filter((field) => field.checkVisibility() && !field.value)
  .filter((field) => {
    const style = getComputedStyle(field);
    const pen = document.createElement("canvas").getContext("2d");
    pen.font = style.font;
    const room = field.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
    return pen.measureText(field.placeholder).width > room;
  })
  .map((field) => field.placeholder)
