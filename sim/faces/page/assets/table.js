// Tables whose columns sort by the values behind their cells.

// {text, value}: `value` sorts; null: not known, and last whichever way.
function cell(text, value, more = {}) {
  return {text, value: value === undefined ? text : value, ...more};
}

function figureCell(key, value) {
  return cell(shown(key, value), value ?? null);
}

function compare(a, b) {
  if (a === null || b === null) return (a === null) - (b === null);
  return typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b));
}

// `columns`: {title, text: true where cells are words}; `rows`: lists of cells.
function sortableTable(caption, columns, rows) {
  const said = h("p", {class: "said", role: "status"});
  const body = h("tbody", {}, rows.map(tableRow));
  const heads = columns.map((column, index) => h("th", {scope: "col", class: column.text ? "word" : null},
    h("button", {type: "button", onclick: () => sortBy(index)}, column.title)));
  const rowOf = new Map([...body.rows].map((element, index) => [element, rows[index]]));

  function sortBy(index) {
    const up = heads[index].getAttribute("aria-sort") !== "ascending";
    for (const head of heads) head.removeAttribute("aria-sort");
    heads[index].setAttribute("aria-sort", up ? "ascending" : "descending");
    const valueOf = row => rowOf.get(row)[index].value;
    const sorted = [...body.rows].sort((one, other) => {
      const a = valueOf(one);
      const b = valueOf(other);
      return a === null || b === null ? compare(a, b) : (up ? 1 : -1) * compare(a, b);
    });
    body.append(...sorted);
    said.textContent = `sorted by ${columns[index].title}, ${up ? "ascending" : "descending"}`;
  }

  function tableRow(cells) {
    return h("tr", {class: cells.kind}, cells.map((content, index) => {
      const long = typeof content.text === "string" && content.text.length > 52 ? " long" : "";
      const attributes = {class: columns[index].text ? `word${long}` : null, "data-value": content.value};
      if (index === 0) return h("th", {...attributes, scope: "row"}, content.text);
      return h("td", attributes, content.text);
    }));
  }

  return h("div", {class: "sortable"}, scrolled(caption, rows.length > 60, h("table", {}, h("caption", {}, h("span", {}, caption)),
    h("thead", {}, h("tr", {}, heads)), body)), said);
}

// Wide content moves by itself, not the page, and so does a long one; the keyboard reaches it. Shades at its sides and a
// sentence say that there is more of it.
function scrolled(name, long, content) {
  const place = h("div", {class: long ? "scrolled tall" : "scrolled", tabindex: 0, role: "group", "aria-label": name}, content);
  const cued = h("div", {class: "cued"}, place);
  const words = h("p", {class: "more-columns", hidden: true}, "Scroll sideways for more columns.");
  const look = () => {
    const more = place.scrollWidth - place.clientWidth;
    cued.classList.toggle("cut-left", place.scrollLeft > 1);
    cued.classList.toggle("cut-right", more - place.scrollLeft > 1);
    words.hidden = more <= 1;
  };
  place.addEventListener("scroll", look, {passive: true});
  new ResizeObserver(look).observe(place);
  new ResizeObserver(look).observe(content);
  return [cued, words];
}

// The table of objects with the same keys: one column for each of `keys`.
function objectTable(caption, keys, objects, titles = {}) {
  const columns = keys.map(key => ({title: titles[key] ?? words(key),
    text: objects.some(object => typeof object[key] === "string")}));
  return sortableTable(caption, columns, objects.map(object => keys.map(key => figureCell(key, object[key]))));
}
