// Stacked horizontal bars, with a line where the room of each ends.

// `rows`: {label, parts: [{name, kind, value}], limit: undefined or where its line stands}.
function stackedBars(title, description, rows, show) {
  const rowHeight = 22;
  const most = Math.max(...rows.map(row => Math.max(row.limit ?? 0, row.parts.reduce((sum, part) => sum + part.value, 0))));
  return drawing(width => {
    const left = Math.min(Math.max(110, 0.15 * width), 12 + 7 * Math.max(...rows.map(row => row.label.length)));
    const scale = (width - left - 12) / most;
    const height = rowHeight * rows.length + 24;
    const id = newId("bars");
    return s("svg", {viewBox: `0 0 ${width} ${height}`, class: "chart", role: "img", "aria-labelledby": id},
      s("title", {id}, title), s("desc", {}, description),
      rows.map((row, index) => bar(row, left, 4 + index * rowHeight, rowHeight - 6, scale, show)),
      valueAxis(left, width - left - 12, height - 18, most, show));
  });
}

function bar(row, left, top, height, scale, show) {
  let x = left;
  const parts = row.parts.map(part => {
    const wide = part.value * scale;
    const box = s("rect", {x, y: top, width: Math.max(0, wide), height, class: `fill ${part.kind}`},
      s("title", {}, `${row.label}, ${part.name}: ${show(part.value)}`));
    x += wide;
    return box;
  });
  const limit = row.limit === undefined ? null : s("path", {class: "limit",
    d: `M${left + row.limit * scale} ${top - 2}v${height + 4}`}, s("title", {}, `${row.label}: ${show(row.limit)} there are`));
  return s("g", {}, s("text", {x: left - 8, y: top + height - 4, class: "end"}, s("title", {}, row.label), fitting(row.label, left - 12)), parts, limit);
}

// Returns as much of a label as so many pixels hold.
function fitting(label, width) {
  const most = Math.floor(width / 7);
  return label.length <= most ? label : `${label.slice(0, most - 1)}\u2026`;
}

function valueAxis(left, width, top, most, show) {
  const ticks = ticksFor(0, most, Math.max(2, Math.floor(width / 110)), show);
  return s("g", {class: "axis", "aria-hidden": "true"}, ticks.map(value => {
    const x = left + width * value / most;
    return [s("path", {class: "tick", d: `M${x} ${top - 2}v4`}),
      s("text", {x, y: top + 14, class: x > left + width - 30 ? "end" : x < left + 20 ? null : "middle"}, show(value))];
  }));
}

// Returns how much is one of the unit in which `show` writes such values.
function unitOf(show, value) {
  if (show === format.bytes) return 1024 ** Math.max(0, Math.floor(Math.log(value) / Math.log(1024)));
  return show === format.seconds ? known.times.find(([least]) => value >= least)[1] : 1;
}

// Multiples of 1, 2 or 5 times a power of ten of the unit that they are shown in, about `count` of them.
function ticksFor(least, most, count, show) {
  const unit = unitOf(show, Math.max(Math.abs(least), Math.abs(most)));
  const raw = (most - least) / count / unit;
  if (!(raw > 0)) return [least];
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = unit * [1, 2, 5, 10].map(times => times * power).find(value => value >= raw * (1 - 1e-9));
  const out = [];
  for (let i = Math.ceil(least / step - 1e-9); i * step <= most * (1 + 1e-9); ++i) out.push(i * step);
  return out.length < 2 ? ticksFor(least, most, 2 * count, show) : out;
}

// Returns at most so many entries, evenly, the last and those of `kept` among them.
function thinned(list, most, kept = []) {
  const every = Math.ceil(list.length / most);
  return list.filter((_, index) => index % every === 0 || index === list.length - 1 || kept.includes(index));
}
