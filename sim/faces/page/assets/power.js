// The power of an iteration over time, and the lines of its spectrum.

// Height of the drawing, in which 0 W lies at the bottom.
const powerHeight = 230;
const powerKinds = {passes: "forward", optimizer: "optimizer", collectives: "collective", waiting: "waiting", floor: "host"};
// Parts of a training are drawn as its timeline draws them.
const powerKind = name => powerKinds[name] ?? name;

// `power`: {interval_s, unit_w, machine, parts: {name: numbers}, lines: [{frequency_hz, amplitude_w}], strongest,
// swing_w, swing_without_collectives_w, notes}; machine and parts are multiples of unit_w, an entry for each interval.
class PowerView extends TimeWindow {
  constructor(power, title) {
    super({end: power.machine.length, unit_s: power.interval_s, left: 76});
    this.power = power;
    this.most = Math.max(...power.machine) * 1.05;
    this.build(title, "Point at a time, or choose one with the arrow keys.");
  }

  bottom() {
    return powerHeight;
  }

  y(value) {
    return powerHeight - (powerHeight - 8) * value / this.most;
  }

  labels() {
    const ticks = ticksFor(0, this.most * this.power.unit_w, 5, format.watts);
    return s("g", {class: "axis", "aria-hidden": "true"}, ticks.map(value => {
      const y = this.y(value / this.power.unit_w);
      return [s("path", {class: "grid", d: `M${this.left} ${y}H${this.width - 6}`}),
        s("text", {x: this.left - 7, y: y + 4, class: "end"}, value === 0 ? "0" : format.watts(value))];
    }));
  }

  draw() {
    const first = Math.max(0, Math.floor(this.from));
    const last = Math.min(this.end, Math.ceil(this.to));
    const {parts, machine} = this.power;
    const below = new Array(last - first).fill(0);
    const areas = Object.entries(parts).map(([name, values]) => {
      const lower = below.slice();
      for (let i = first; i < last; ++i) below[i - first] += values[i];
      return s("path", {class: `fill ${powerKind(name)}`, d: `${this.steps(below, first)}L${this.back(lower, first)}Z`});
    });
    const line = s("path", {class: "curve", d: this.steps(machine.slice(first, last), first)});
    const at = this.chosen === null ? null : s("path", {class: "limit", d: `M${this.x(this.chosen + 0.5)} 0V${powerHeight}`});
    this.boxes.replaceChildren(...areas, line, ...(at ? [at] : []));
    this.drawAxis();
  }

  // The corners of a series of steps that begins at the interval `first`.
  corners(values, first) {
    return values.flatMap((value, index) => {
      const y = this.y(value).toFixed(1);
      return [`${this.x(first + index).toFixed(1)} ${y}`, `${this.x(first + index + 1).toFixed(1)} ${y}`];
    });
  }

  steps(values, first) {
    return `M${this.corners(values, first).join("L")}`;
  }

  back(values, first) {
    return this.corners(values, first).reverse().join("L");
  }

  tell(interval) {
    const {parts, machine, unit_w: unit, interval_s: length} = this.power;
    const shares = Object.entries(parts).filter(([, values]) => values[interval] > 0)
      .map(([name, values]) => `${name} ${format.watts(values[interval] * unit)}`);
    this.reading.textContent = `${format.seconds(interval * length, 5)}: ${format.watts(machine[interval] * unit)}; ${shares.join(", ")}`;
  }

  point(event) {
    const interval = Math.floor(this.timeAt(event));
    if (!this.dragging && interval >= this.from && interval < this.to) this.tell(interval);
  }

  chosenTime() {
    return this.chosen === null ? undefined : this.chosen + 0.5;
  }

  // Arrows up and down go a tenth of the window.
  choose(down, along) {
    const step = along - down * Math.max(1, Math.round((this.to - this.from) / 10));
    const wanted = this.chosen === null ? Math.floor(this.from) : this.chosen + step;
    this.chosen = Math.min(this.end - 1, Math.max(0, wanted));
    const half = (this.to - this.from) / 2;
    if (this.chosen < this.from || this.chosen >= this.to) this.window(this.chosen - half, this.chosen + half);
    else this.draw();
    this.tell(this.chosen);
  }
}

// Lines of the spectrum: amplitude over frequency, with a scale of logarithms. No line: a sentence.
function spectrumParts({lines, strongest, band}) {
  if (lines.length === 0) return [h("p", {class: "lead"}, `No line of the spectrum lies ${band}.`)];
  const points = lines.map(line => ({x: Math.log10(line.frequency_hz), y: line.amplitude_w, kind: "",
    name: `${format.number(line.frequency_hz)} Hz: ${format.watts(line.amplitude_w)}`}));
  const columns = [{title: "frequency"}, {title: "amplitude"}];
  const table = sortableTable("The strongest lines of all GPUs' power", columns, strongest.map(line => [
    cell(`${format.number(line.frequency_hz)} Hz`, line.frequency_hz), figureCell("amplitude_w", line.amplitude_w)]));
  const hertz = value => `${format.number(10 ** value)} Hz`;
  return [plot("Spectrum of the power", `Amplitude of each line ${band}; the table has the strongest`, {points,
    lines: points.map(({x, y}) => ({points: [[x, 0], [x, y]]})), x: {title: "frequency", show: hertz, logarithmic: true},
    y: {title: "amplitude", show: format.watts, zero: true}}), table];
}

function powerView(power) {
  if (!power) return null;
  const text = `Means over ${format.seconds(power.interval_s)}. Areas: all GPUs, by the work under way. Line: the machine with hosts and network. `
    + `The GPUs swing by ${format.watts(power.swing_w)}; without waiting in collectives it would be ${format.watts(power.swing_without_collectives_w)}.`;
  return view("Power over time", h("p", {class: "lead"}, text),
    legend(Object.keys(power.parts).map(name => [name, powerKind(name)])), new PowerView(power, "Power over the iteration").element,
    spectrumParts(power), power.notes.map(note => h("p", {class: "left-out"}, note)));
}

// `power` of a training has no spectrum, and its parts add up to the machine.
function trainingPowerView(power) {
  if (!power) return null;
  const saves = power.saves > 0 ? ` Each of ${format.whole(power.saves)} saves is a fall by ${format.watts(power.training_w - power.idle_w)}.` : "";
  const text = `The machine over the median run, means over ${format.seconds(power.interval_s)}: ${format.watts(power.mean_w)} on average, `
    + `${format.watts(power.peak_w)} at most, ${format.watts(power.least_w)} at least.${saves} Power within an iteration is not even: mirfak simulate has it.`;
  return view("Power over the run", h("p", {class: "lead"}, text), legend(Object.keys(power.parts).map(name => [name, powerKind(name)])),
    new PowerView(power, "Power over the median run").element, power.notes.map(note => h("p", {class: "left-out"}, note)));
}
