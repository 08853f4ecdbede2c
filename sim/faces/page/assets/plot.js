// Points and lines over two axes. One stop of the keyboard; arrows go from point to point.

// Of logarithms: those of 1, 2 and 5 times powers of ten, or of round numbers where these are few.
function logarithmicTicks(least, most, count) {
  const ticks = [];
  for (let power = Math.floor(least); power <= most; ++power) ticks.push(...[1, 2, 5].map(times => power + Math.log10(times)));
  const inside = ticks.filter(value => value >= least && value <= most);
  if (inside.length < 3) return ticksFor(10 ** least, 10 ** most, count, format.seconds).map(Math.log10);
  return thinned(inside, count);
}

// An axis: {title, show(value, digits), zero: whether it begins there, categories: names in place of numbers, logarithmic}.
function scaleOf(axis, values, first, last) {
  let least = axis.zero ? 0 : Math.min(...values);
  let most = Math.max(...values);
  if (axis.categories) [least, most] = [-0.5, axis.categories.length - 0.5];
  const margin = (most - least || Math.abs(most) || 1) * 0.06;
  if (!axis.categories) {
    most += margin;
    if (!axis.zero) least -= margin;
  }
  const at = value => first + (last - first) * (value - least) / (most - least);
  const count = Math.max(2, Math.floor(Math.abs(last - first) / (last > first ? 90 : 56)));
  const ticks = axis.categories ? axis.categories.map((_, index) => index)
    : axis.logarithmic ? logarithmicTicks(least, most, count) : ticksFor(least, most, count, axis.show);
  const digits = ticks.length > 1 ? digitsForSteps(ticks[1] - ticks[0], Math.max(...ticks.map(Math.abs))) : shownDigits;
  return {at, ticks, label: value => axis.categories ? axis.categories[value] : value === 0 ? "0" : axis.show(value, digits)};
}

// `points`: {x, y, name, kind, mark: a word beside it, range: {xLow, xHigh, yLow, yHigh}}; `lines`: {kind, points}.
function plot(title, description, {points, lines = [], x, y, diagonal = false}) {
  const said = h("p", {class: "told", "aria-live": "polite"},
    points.length > 0 ? "Point at a mark, or go through them with the arrow keys." : "");
  let chosen = -1;
  const order = points.map((_, index) => index).sort((a, b) => points[a].x - points[b].x || points[a].y - points[b].y);
  const place = drawing(width => {
    const area = {left: 76, right: width - 14, top: 12, bottom: Math.min(380, Math.max(240, width * 0.5))};
    const spread = key => points.flatMap(point => [point[key], point.range?.[`${key}Low`] ?? point[key],
      point.range?.[`${key}High`] ?? point[key]]).concat(lines.flatMap(line => line.points.map(at => at[key === "x" ? 0 : 1])));
    const [xs, ys] = diagonal ? Array(2).fill([...spread("x"), ...spread("y")]) : [spread("x"), spread("y")];
    const across = scaleOf(x, xs, area.left, area.right);
    const up = scaleOf(y, ys, area.bottom, area.top);
    const labels = new Labels(area.right);
    const id = newId("plot");
    return s("svg", {viewBox: `0 0 ${width} ${area.bottom + 46}`, class: "chart", role: "group", tabindex: 0,
      "aria-labelledby": id, onkeydown: go},
      s("title", {id}, title), s("desc", {}, description), frame(area, across, up, x, y),
      diagonal ? s("path", {class: "diagonal", d: `M${area.left} ${area.bottom}L${area.right} ${area.top}`}) : null,
      lines.map(line => curve(line, across, up)),
      points.map((point, index) => marker(point, index, across, up, labels)));
  });

  function marker(point, index, across, up, labels) {
    const cx = across.at(point.x);
    const cy = up.at(point.y);
    const range = point.range && s("path", {class: "range", d: rangePath(point, across, up, cx, cy)});
    return s("g", {class: `point ${point.kind ?? ""}`, "data-index": index, onpointerenter: () => tell(index)},
      s("title", {}, point.name), range, s("circle", {cx, cy, r: points.length > 200 ? 3 : 5}),
      point.mark ? labels.place(point.mark, cx, cy) : null);
  }

  function tell(index) {
    chosen = index;
    said.textContent = points[index].name;
    for (const group of place.querySelectorAll(".point")) {
      group.classList.toggle("chosen", group.dataset.index === String(index));
    }
  }

  function go(event) {
    const step = {ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1}[event.key];
    if (step === undefined || points.length === 0) return;
    event.preventDefault();
    const now = order.indexOf(chosen);
    tell(order[now < 0 ? 0 : (now + step + order.length) % order.length]);
  }

  return h("figure", {}, place, said);
}

// Words beside marks, where they cover no others; else none: pointing at the mark tells them.
class Labels {
  constructor(right) {
    this.right = right;
    this.placed = [];
  }

  place(text, cx, cy) {
    const wide = 7 * text.length;
    for (const [dx, dy] of [[9, -7], [9, 16], [-9 - wide, -7], [-9 - wide, 16]]) {
      const box = {left: cx + dx, right: cx + dx + wide, top: cy + dy - 11, bottom: cy + dy + 3};
      if (box.right > this.right || box.left < 76) continue;
      if (this.placed.some(of => box.left < of.right && of.left < box.right && box.top < of.bottom && of.top < box.bottom)) continue;
      this.placed.push(box);
      return s("text", {x: box.left, y: cy + dy}, text);
    }
    return null;
  }
}

function rangePath(point, across, up, cx, cy) {
  const {xLow, xHigh, yLow, yHigh} = point.range;
  const horizontal = xLow === undefined ? "" : `M${across.at(xLow)} ${cy}H${across.at(xHigh)}`;
  return horizontal + (yLow === undefined ? "" : `M${cx} ${up.at(yLow)}V${up.at(yHigh)}`);
}

function curve(line, across, up) {
  const path = line.points.map(([a, b], index) => `${index === 0 ? "M" : "L"}${across.at(a).toFixed(1)} ${up.at(b).toFixed(1)}`);
  return s("path", {class: `curve ${line.kind ?? ""}`, d: path.join("")});
}

function frame(area, across, up, x, y) {
  const middle = (area.left + area.right) / 2;
  return s("g", {class: "axis", "aria-hidden": "true"},
    across.ticks.map(value => [s("path", {class: "grid", d: `M${across.at(value)} ${area.top}V${area.bottom}`}),
      s("text", {x: across.at(value), y: area.bottom + 17, class: "middle"}, across.label(value))]),
    up.ticks.map(value => [s("path", {class: "grid", d: `M${area.left} ${up.at(value)}H${area.right}`}),
      s("text", {x: area.left - 7, y: up.at(value) + 4, class: "end"}, up.label(value))]),
    s("path", {class: "frame", d: `M${area.left} ${area.top}V${area.bottom}H${area.right}`}),
    s("text", {x: middle, y: area.bottom + 38, class: "middle name"}, x.title),
    s("text", {x: area.left + 6, y: area.top + 4, class: "name"}, y.title));
}
