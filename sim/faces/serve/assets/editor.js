// The scenario's text with the numbers of its lines, and a mark where an error stands.
function scenarioEditor(changed) {
  const text = byId("text");
  const numbers = byId("numbers");
  const marks = byId("marks");
  let bad = null;  // {line, column}, from 1

  function drawNumbers() {
    const lines = text.value.split("\n").length;
    numbers.replaceChildren(...Array.from({length: lines}, (_, index) =>
      element("span", {class: index + 1 === bad?.line ? "bad" : null}, `${index + 1}\n`)));
  }

  function drawMarks() {
    marks.replaceChildren();
    if (!bad) return;
    const lines = text.value.split("\n");
    const line = lines[bad.line - 1] ?? "";
    const letters = Array.from(line);  // columns count characters
    const from = Math.min(Math.max(bad.column - 1, 0), letters.length);
    const word = letters.slice(from).join("").match(/^[^\s,}\]]+/)?.[0] ?? " ";
    const marked = element("span", {class: "line"}, letters.slice(0, from).join(""), element("span", {class: "at"}, word),
      letters.slice(from + Array.from(word).length).join(""));
    marks.append("\n".repeat(bad.line - 1), marked);
  }

  function scroll() {
    numbers.scrollTop = text.scrollTop;
    marks.scrollTop = text.scrollTop;
    marks.scrollLeft = text.scrollLeft;
  }

  function draw() {
    drawNumbers();
    drawMarks();
    scroll();
  }

  function goTo({line, column}) {
    const lines = text.value.split("\n");
    const before = lines.slice(0, line - 1).reduce((sum, each) => sum + each.length + 1, 0);
    const at = before + Array.from(lines[line - 1] ?? "").slice(0, Math.max(column - 1, 0)).join("").length;
    text.focus();
    text.setSelectionRange(at, at);
  }

  text.addEventListener("scroll", scroll);
  text.addEventListener("input", () => {
    bad = null;
    draw();
    changed();
  });
  return {
    get value() { return text.value; },
    set value(wanted) {
      if (text.value === wanted) return;
      const {selectionStart, selectionEnd, scrollTop} = text;
      text.value = wanted;
      text.setSelectionRange(selectionStart, selectionEnd);
      text.scrollTop = scrollTop;
      draw();
    },
    mark(place) {
      bad = place;
      text.setAttribute("aria-invalid", place ? "true" : "false");
      draw();
    },
    goTo,
  };
}
