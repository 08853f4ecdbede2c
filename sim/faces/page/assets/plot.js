// Points and lines over two axes. One stop of the keyboard; arrows go from point to point.

// Ticks at 1, 2 and 5 times powers of ten, given as logarithms; at round numbers where these are few.
function logarithmicTicks(least, most, count) {
  const ticks = [];
  for (let power = Math.floor(least); power <= most; ++power) ticks.push(...[1, 2, 5].map(times => power + Math.log10(times)));
  const inside = ticks.filter(value => value >= least && value <= most);
  if (inside.length < 3) return ticksFor(10 ** least, 10 ** most, count, format.seconds).map(Math.log10);
  return thinned(inside, count);
}

// An axis: {title, show(value, digits), zero: true where it begins at 0, categories: names in place of numbers, logarithmic,
// near: true where a mark far off stays out of the axis}.
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
  const isZero = value => value === 0 && !axis.logarithmic;
  return {at, ticks, label: value => axis.categories ? axis.categories[value] : isZero(value) ? "0" : axis.show(value, digits)};
}

const letterWidth = 6.6;
const labelRoom = {least: 44, most: 150};

// The width that the labels of the vertical axis need, beside the space between them and the axis.
function roomOfLabels(scale) {
  const longest = Math.max(...scale.ticks.map(value => scale.label(value).length));
  return Math.min(labelRoom.most, Math.max(labelRoom.least, 14 + letterWidth * longest));
}

// The points without those that lie so far off along an axis with `near` that the others and the lines would share less
// than half of it.
function nearPoints(points, lines, axis) {
  if (!axis.near) return points;
  const ends = of => [...of.map(point => point.x), ...lines.flatMap(line => line.points.map(([x]) => x))];
  const span = of => Math.max(...ends(of)) - Math.min(...ends(of));
  for (let kept = points; ;) {
    const without = kept.map((_, left) => kept.filter((_, index) => index !== left));
    const next = without.find(rest => ends(rest).length > 1 && span(rest) > 0 && span(rest) < span(kept) / 2);
    if (!next) return kept;
    kept = next;
  }
}

// `points`: {x, y, name, kind, mark: a word beside it, range: {xLow, xHigh, yLow, yHigh}}; `lines`: {kind, points}.
function plot(title, description, {points, lines = [], x, y, diagonal = false}) {
  const said = h("p", {class: "told", "aria-live": "polite"},
    points.length > 0 ? "Point at a mark, or go through them with the arrow keys." : "");
  let chosen = -1;
  const order = points.map((_, index) => index).sort((a, b) => points[a].x - points[b].x || points[a].y - points[b].y);
  const near = nearPoints(points, lines, x);
  const place = drawing(width => {
    const area = {left: 76, right: width - 14, top: 26, bottom: Math.min(394, Math.max(254, width * 0.5 + 14))};
    const spread = key => near.flatMap(point => [point[key], point.range?.[`${key}Low`] ?? point[key],
      point.range?.[`${key}High`] ?? point[key]]).concat(lines.flatMap(line => line.points.map(at => at[key === "x" ? 0 : 1])));
    const [xs, ys] = diagonal ? Array(2).fill([...spread("x"), ...spread("y")]) : [spread("x"), spread("y")];
    area.left = roomOfLabels(scaleOf(y, ys, area.bottom, area.top));
    if (diagonal) {  // as wide as high, so that the diagonal has 45 degrees
      const side = Math.min(520, area.right - area.left);
      area.right = area.left + side;
      area.bottom = area.top + side;
    }
    const across = scaleOf(x, xs, area.left, area.right);
    const up = scaleOf(y, ys, area.bottom, area.top);
    const labels = new Labels(area, near.map(point => [across.at(point.x), up.at(point.y)]));
    const id = newId("plot");
    return s("svg", {viewBox: `0 0 ${width} ${area.bottom + 46}`, class: "chart", role: "group", tabindex: 0,
      "aria-labelledby": id, onkeydown: go},
      s("title", {id}, title), s("desc", {}, description), frame(area, across, up, x, y),
      diagonal ? s("path", {class: "diagonal", d: `M${area.left} ${area.bottom}L${area.right} ${area.top}`}) : null,
      lines.map(line => curve(line, across, up)),
      points.map((point, index) => near.includes(point) ? marker(point, index, across, up, labels) : awayMarker(point, index, area, across, up)));
  });

  // A triangle at the edge that points to where the mark lies, with the place in words.
  function awayMarker(point, index, area, across, up) {
    const right = across.at(point.x) > area.right;
    const edge = right ? area.right : area.left;
    const cy = Math.min(area.bottom - 8, Math.max(area.top + 8, up.at(point.y)));
    const d = right ? `M${edge - 11} ${cy - 6}l11 6l-11 6z` : `M${edge + 11} ${cy - 6}l-11 6l11 6z`;
    return s("g", {class: `point ${point.kind ?? ""}`, "data-index": index, onpointerenter: () => tell(index)}, s("title", {}, point.name),
      s("path", {class: "away", d}),
      s("text", {x: right ? edge - 16 : edge + 16, y: cy + 4, class: right ? "end" : null}, `${point.mark ?? ""}, outside: ${x.show(point.x)}`));
  }

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
  constructor(area, marks) {
    this.area = area;
    this.placed = marks.map(([x, y]) => ({left: x - 5, right: x + 5, top: y - 5, bottom: y + 5}));
  }

  place(text, cx, cy) {
    const wide = 7 * text.length;
    for (const [dx, dy] of [[9, -7], [9, 16], [-9 - wide, -7], [-9 - wide, 16], [9, -18], [9, 26]]) {
      const box = {left: cx + dx, right: cx + dx + wide, top: cy + dy - 11, bottom: cy + dy + 3};
      if (box.right > this.area.right || box.left < this.area.left) continue;
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
    across.ticks.map(value => s("path", {class: "grid", d: `M${across.at(value)} ${area.top}V${area.bottom}`})), labelsAcross(area, across),
    up.ticks.map(value => [s("path", {class: "grid", d: `M${area.left} ${up.at(value)}H${area.right}`}),
      s("text", {x: area.left - 7, y: up.at(value) + 4, class: "end"}, s("title", {}, up.label(value)), fitting(up.label(value), area.left))]),
    s("path", {class: "frame", d: `M${area.left} ${area.top}V${area.bottom}H${area.right}`}),
    s("text", {x: middle, y: area.bottom + 38, class: "middle name"}, x.title), s("text", {x: 0, y: 12, class: "name"}, y.title));
}

// Labels below their ticks, none over another and none beyond the drawing; a tick without a label keeps its line.
function labelsAcross(area, across) {
  let free = 0;
  const most = area.right + 14;
  const step = (area.right - area.left) / Math.max(1, across.ticks.length);
  return across.ticks.map(value => {
    const label = fitting(across.label(value), Math.max(step, 60));
    const wide = letterWidth * label.length;
    const left = Math.max(0, Math.min(across.at(value) - wide / 2, most - wide));
    if (left < free) return null;
    free = left + wide + 6;
    return s("text", {x: left + wide / 2, y: area.bottom + 17, class: "middle"}, s("title", {}, across.label(value)), label);
  });
}
