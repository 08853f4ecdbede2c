// The points of a sweep: `data.columns`: {key, axis: whether it is one}; `data.rows`: a value for each.
function showSweep(data) {
  const {result, columns, rows} = told(data);
  const counts = ["ok", "out-of-memory", "infeasible", "input", "internal"].filter(status => result[status] > 0);
  return [factList([["points", String(result.points)], ...counts.map(status => [words(status.replaceAll("-", " ")), `${result[status]}${
    result.reasons?.[status] ? `, such as: ${result.reasons[status]}` : ""}`])]),
    data.left_out ? h("p", {class: "left-out"}, data.left_out) : null,
    rows.length > 0 ? view("Two figures of every point", sweepPlot(columns, rows)) : null,
    rows.length > 0 ? view("Points", pointsTable(columns, rows)) : null,
    notesView(result.notes)];
}

// The figures of a point that are read first; a button shows the rest.
const firstFigures = ["status", "iteration_time_s", "tokens_per_s", "mfu", "bubble_fraction", "memory_peak_bytes", "energy_j",
  "cost_usd_per_iteration", "training_time_s", "training_cost_usd", "reason"];

function pointsTable(columns, rows) {
  const first = columns.filter(column => column.axis || firstFigures.includes(column.key));
  const place = h("div", {}, tableOf(columns, first, rows));
  if (first.length === columns.length) return place;
  const button = h("button", {type: "button", "aria-expanded": "false", onclick: () => {
    const all = button.getAttribute("aria-expanded") === "false";
    button.setAttribute("aria-expanded", String(all));
    button.textContent = all ? `Only ${first.length} columns` : `All ${columns.length} columns`;
    place.replaceChildren(tableOf(columns, all ? columns : first, rows));
  }}, `All ${columns.length} columns`);
  return [h("div", {class: "buttons"}, button), place];
}

function tableOf(columns, kept, rows) {
  const places = kept.map(column => columns.indexOf(column));
  return sortableTable("Every point, its place on the axes and its figures",
    kept.map(column => ({title: column.axis ? column.key : words(column.key), text: isWord(columns, rows, column)})),
    rows.map(row => sweepRow(kept, places.map(at => row[at]))));
}

// Leaves out columns that hold nothing, such as reasons where all points run.
function told({result, columns, rows}) {
  const known = columns.map((_, at) => rows.some(row => row[at] !== null));
  return {result, columns: columns.filter((_, at) => known[at]), rows: rows.map(row => row.filter((_, at) => known[at]))};
}

function isWord(columns, rows, column) {
  const at = columns.indexOf(column);
  return rows.some(row => typeof row[at] === "string");
}

function sweepRow(columns, row) {
  return row.map((value, at) => columns[at].key === "reason" && value !== null ? reasonCell(value) : columns[at].axis || typeof value === "string" || value === null ? cell(value === null ? "" : String(value), value)
    : figureCell(columns[at].key, value));
}

// A sentence, folded up so that its row stays as low as the others.
function reasonCell(text) {
  return cell(h("details", {class: "why"}, h("summary", {"aria-label": `Why: ${text}`}, "why"), h("div", {class: "because"}, h("p", {}, text))), text);
}

// `columns` whose values can be drawn: numbers, and words by their place.
function sweepPlot(columns, rows) {
  const drawn = columns.filter((column, at) => column.key !== "reason" && rows.some(row => row[at] !== null));
  const axis = drawn.find(column => column.axis) ?? drawn[0];
  const figure = drawn.find(column => column.key === "iteration_time_s") ?? drawn.at(-1);
  const place = h("div", {});
  const choose = (title, start) => {
    const id = newId("axis");
    const select = h("select", {id, onchange: draw}, drawn.map(column =>
      h("option", {value: column.key, selected: column === start}, column.axis ? column.key : words(column.key))));
    return [h("label", {for: id}, title), select];
  };
  const [xLabel, xSelect] = choose("across", axis);
  const [yLabel, ySelect] = choose("up", figure);
  function draw() {
    const [x, y] = [xSelect.value, ySelect.value].map(key => axisOf(columns, rows, key));
    const points = rows.map((row, index) => ({row, index, x: x.valueOf(row), y: y.valueOf(row)}))
      .filter(point => point.x !== null && point.y !== null)
      .map(point => ({...point, kind: statusKind(columns, point.row), name: pointName(columns, point.row, x, y)}));
    place.replaceChildren(points.length === 0 ? h("p", {}, "No point has both.")
      : plot(`${y.title} over ${x.title}`, "A mark for each point of the sweep; the table has the numbers", {points, x, y}));
  }
  draw();
  const at = columns.findIndex(column => column.key === "status");
  const failed = [...new Set(rows.map(row => row[at]))].filter(status => status !== "ok");
  return [h("div", {class: "choices"}, xLabel, xSelect, yLabel, ySelect),
    failed.length > 0 ? legend([["ok", "ok"], [failed.map(status => words(status.replaceAll("-", " "))).join(", "), "bad"]]) : null, place];
}

function axisOf(columns, rows, key) {
  const at = columns.findIndex(column => column.key === key);
  const title = columns[at].axis ? key : words(key);
  if (!isWord(columns, rows, columns[at]) && !rows.some(row => typeof row[at] === "boolean")) {
    return {title, show: columns[at].axis ? format.count : formatOf(key), valueOf: row => row[at]};
  }
  const categories = [...new Set(rows.map(row => row[at]).filter(value => value !== null).map(String))];
  return {title, categories, show: String, valueOf: row => row[at] === null ? null : categories.indexOf(String(row[at]))};
}

function statusKind(columns, row) {
  return row[columns.findIndex(column => column.key === "status")] === "ok" ? "" : "bad";
}

function pointName(columns, row, x, y) {
  const axes = columns.map((column, at) => column.axis ? `${column.key} ${row[at]}` : null).filter(Boolean).join(", ");
  const value = axis => axis.categories ? axis.categories[axis.valueOf(row)] : axis.show(axis.valueOf(row));
  return `${axes}: ${x.title} ${value(x)}, ${y.title} ${value(y)}`;
}
