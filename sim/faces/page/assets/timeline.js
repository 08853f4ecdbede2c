// Drawings over time, with a window that zooms and moves: by wheel, by dragging, by buttons and by keys.

// `end`: the end of time, in multiples of unit_s; `left`: room for labels; `hint`: what is told until something is chosen.
// Classes that follow have bottom(), where the drawing ends, draw(), which fills this.boxes, point(event), choose(down, along)
// and chosenTime().
class TimeWindow {
  constructor({end, unit_s, left}) {
    Object.assign(this, {end, unit: unit_s, left, from: 0, to: end, chosen: null});
  }

  // Makes the element. `more`: what stands below the drawing.
  build(title, hint, more = []) {
    this.reading = h("p", {class: "told", "aria-live": "polite"}, hint);
    this.place = drawing(width => this.picture(title, width));
    this.element = h("figure", {class: "timeline"}, this.buttons(), this.place, this.reading, more);
  }

  buttons() {
    const button = (name, label, action) => h("button", {type: "button", "aria-label": label, title: label, onclick: action}, name);
    return h("div", {class: "buttons", role: "group", "aria-label": "Window of the timeline"},
      button("+", "Zoom in", () => this.zoom(0.5)), button("\u2212", "Zoom out", () => this.zoom(2)),
      button("\u2190", "Earlier", () => this.move(-0.5)), button("\u2192", "Later", () => this.move(0.5)),
      button("Whole", "The whole iteration", () => this.window(0, this.end)),
      h("span", {class: "hint"}, "Drag to move. Click it, then the wheel zooms. Keys: + \u2212 zoom, Page Up and Down move, Home shows all, arrows choose."));
  }

  picture(title, width) {
    const id = newId("timeline");
    this.width = width;
    this.boxes = s("g");
    this.axis = s("g", {class: "axis", "aria-hidden": "true"});
    const height = this.bottom() + 28;
    const clip = newId("clip");
    const svg = s("svg", {viewBox: `0 0 ${width} ${height}`, class: "chart grab", role: "group", tabindex: 0,
      "aria-labelledby": id, onkeydown: event => this.key(event), onpointerdown: event => this.drag(event),
      onpointermove: event => this.point(event)},
      s("title", {id}, title), s("clipPath", {id: clip}, s("rect", {x: this.left, y: 0, width: width - this.left - 6, height})),
      this.axis, s("g", {"clip-path": `url(#${clip})`}, this.boxes), this.labels());
    svg.addEventListener("wheel", event => this.wheel(event), {passive: false});
    this.svg = svg;
    this.draw();
    return svg;
  }

  x(time) {
    return this.left + (this.width - this.left - 6) * (time - this.from) / (this.to - this.from);
  }

  timeAt(event) {
    const box = this.svg.getBoundingClientRect();
    const x = (event.clientX - box.left) * this.width / box.width;
    return this.from + (this.to - this.from) * (x - this.left) / (this.width - this.left - 6);
  }

  window(from, to) {
    const {end} = this;
    const length = Math.min(end, Math.max(to - from, end * 1e-6));
    this.from = Math.min(Math.max(0, from), end - length);
    this.to = this.from + length;
    this.draw();
  }

  zoom(factor, around = (this.from + this.to) / 2) {
    this.window(around - (around - this.from) * factor, around + (this.to - around) * factor);
  }

  move(share) {
    const by = (this.to - this.from) * share;
    this.window(this.from + by, this.to + by);
  }

  drawAxis() {
    const bottom = this.bottom() + 4;
    const {unit} = this;
    const ticks = ticksFor(this.from * unit, this.to * unit, Math.max(2, Math.floor((this.width - this.left) / 110)), format.seconds);
    const digits = ticks.length > 1 ? digitsForSteps(ticks[1] - ticks[0], ticks.at(-1)) : 4;
    this.axis.replaceChildren(...ticks.flatMap(value => {
      const x = this.x(value / unit);
      return [s("path", {class: "grid", d: `M${x} 0V${bottom}`}),
        s("text", {x, y: bottom + 16, class: x > this.width - 40 ? "end" : "middle"}, format.seconds(value, digits))];
    }));
  }

  drag(event) {
    if (event.button !== 0) return;
    const start = event.clientX;
    const {from, to} = this;
    const scale = (to - from) / (this.svg.getBoundingClientRect().width * (this.width - this.left - 6) / this.width);
    const follow = moved => {
      this.dragging = true;
      this.window(from - (moved.clientX - start) * scale, to - (moved.clientX - start) * scale);
    };
    const stop = () => {
      this.dragging = false;
      removeEventListener("pointermove", follow);
    };
    addEventListener("pointermove", follow);
    addEventListener("pointerup", stop, {once: true});
    addEventListener("pointercancel", stop, {once: true});
  }

  // The page scrolls until the timeline is the one that is meant.
  wheel(event) {
    if (document.activeElement !== this.svg && !event.ctrlKey) return;
    event.preventDefault();
    if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) return this.move(event.deltaX / 800);
    this.zoom(Math.exp(event.deltaY / 400), this.timeAt(event));
  }

  key(event) {
    const steps = {ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0]}[event.key];
    if (steps) this.choose(...steps);
    else if (event.key === "+" || event.key === "=") this.zoom(0.5, this.chosenTime());
    else if (event.key === "-") this.zoom(2, this.chosenTime());
    else if (event.key === "PageDown") this.move(0.5);
    else if (event.key === "PageUp") this.move(-0.5);
    else if (event.key === "Home") this.window(0, this.end);
    else return;
    event.preventDefault();
  }
}

const rowHeight = 26;
const laneHeights = [15, 5];

// Rows of boxes. `timeline`: {unit_s, end, names: [{text, kind}], rows: [{label, lanes: [[[name, start, duration, microbatch]]]}],
// left_out: sentences}; start, duration and end are multiples of unit_s.
class TimelineView extends TimeWindow {
  constructor(title, timeline, {describe, colour}) {
    super({...timeline, left: Math.min(120, 14 + 7 * Math.max(...timeline.rows.map(row => row.label.length)))});
    Object.assign(this, {timeline, describe, colour});
    this.build(title, "Point at a box, or choose one with the arrow keys.", timeline.left_out.map(text => h("p", {class: "left-out"}, text)));
  }

  bottom() {
    return this.timeline.rows.length * rowHeight;
  }

  labels() {
    return this.timeline.rows.map((row, index) => s("text", {x: this.left - 8, y: index * rowHeight + 16, class: "end"}, row.label));
  }

  draw() {
    const boxes = [];
    this.timeline.rows.forEach((row, index) => {
      let top = index * rowHeight + 3;
      row.lanes.forEach((spans, lane) => {
        boxes.push(...this.lane(spans, index, lane, top));
        top += laneHeights[lane] + 1;
      });
    });
    this.boxes.replaceChildren(...boxes);
    this.drawAxis();
  }

  // Draws spans narrower than a pixel as one box with their neighbours, up to two pixels, as the longest of them.
  lane(spans, row, lane, top) {
    const out = [];
    let last = null;
    for (let i = firstAfter(spans, this.from); i < spans.length && spans[i][1] < this.to; ++i) {
      const begin = this.x(spans[i][1]);
      const end = this.x(spans[i][1] + spans[i][2]);
      if (last && end - begin < 1 && begin - last.end < 1 && last.many && last.end - last.begin < 2) {
        if (spans[i][2] > spans[last.first][2]) last.first = i;
        last.end = Math.max(last.end, end);
        last.count += 1;
        continue;
      }
      last = {begin, end, first: i, count: 1, many: end - begin < 1};
      out.push(last);
    }
    return out.map(box => this.box(box, spans, row, lane, top));
  }

  box({begin, end, first, count}, spans, row, lane, top) {
    const span = spans[first];
    const overlaps = lane === 0 && (crosses(spans, first, first + 1) || crosses(spans, first - 1, first));
    const lower = overlaps && crosses(spans, first - 1, first);
    const height = laneHeights[lane] / (overlaps ? 2 : 1);
    const chosen = this.chosen && this.chosen.row === row && lane === 0 && this.chosen.index === first;
    return s("rect", {x: begin.toFixed(2), y: top + (lower ? height : 0), width: Math.max(0.6, (end - begin) - Math.min(0.5, (end - begin) / 8)).toFixed(2), height,
      class: `${this.colour ? "" : "fill "}${this.timeline.names[span[0]].kind}${chosen ? " chosen" : ""}`, fill: this.colour?.(span),
      "data-box": `${row} ${lane} ${first} ${count}`});
  }

  tell(row, lane, index, count = 1) {
    const of = this.timeline.rows[row];
    const span = of.lanes[lane][index];
    const unit = this.timeline.unit_s;
    const what = count > 1 ? `${count} boxes, the longest: ${this.describe(span)}` : this.describe(span);
    this.reading.textContent = `${of.label}: ${what}; ${format.seconds(span[2] * unit)}, from ${format.seconds(span[1] * unit, 5)}`;
  }

  point(event) {
    const box = event.target.dataset?.box;
    if (box && !this.dragging) this.tell(...box.split(" ").map(Number));
  }

  chosenTime() {
    if (!this.chosen) return undefined;
    const span = this.timeline.rows[this.chosen.row].lanes[0][this.chosen.index];
    return span[1] + span[2] / 2;
  }

  choose(down, along) {
    const {rows} = this.timeline;
    const time = this.chosenTime() ?? this.from;
    const row = Math.min(rows.length - 1, Math.max(0, (this.chosen?.row ?? 0) + (this.chosen ? down : 0)));
    const spans = rows[row].lanes[0];
    if (spans.length === 0) return;
    const index = this.chosen && down === 0 ? this.chosen.index + along : firstAfter(spans, time);
    this.chosen = {row, index: Math.min(spans.length - 1, Math.max(0, index))};
    const [, start, duration] = spans[this.chosen.index];
    if (start < this.from || start + duration > this.to) {
      const half = (this.to - this.from) / 2;
      this.window(start + duration / 2 - half, start + duration / 2 + half);
    } else {
      this.draw();
    }
    this.tell(row, 0, this.chosen.index);
  }
}

// The first that ends after `time`; ends ascend but where two boxes share their time.
function firstAfter(spans, time) {
  let low = 0;
  let high = spans.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (spans[middle][1] + spans[middle][2] <= time) low = middle + 1;
    else high = middle;
  }
  return Math.max(0, Math.min(low, spans.length - 1));
}

function crosses(spans, one, other) {
  return one >= 0 && other < spans.length && spans[other][1] < spans[one][1] + spans[one][2] - 1;
}

function timelineView(title, timeline, options) {
  return new TimelineView(title, timeline, options).element;
}
