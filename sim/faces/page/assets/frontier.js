// The least energy of an iteration for every time that it may take.
function showFrontier(data) {
  const {result} = data;
  const first = result.points[0];
  const last = result.points.at(-1);
  return [factList([["job", result.title]]), cards([
    {name: "Shortest iteration", value: format.seconds(result.t_min_s), lines: [`with ${format.joules(first.energy_j)}`]},
    {name: "Least energy", value: format.joules(last.energy_j), lines: [`in ${format.seconds(result.t_star_s)}`]},
    {name: "Saved for nothing", value: format.percent(result.intrinsic_saving), lines: ["of the energy at the highest clocks, without slowing down"]},
    {name: "Waiting", value: format.watts(result.blocked_w), lines: ["of all ranks while they wait"]}]),
    view("The frontier", frontierPlot(result), folded("As a table", objectTable("Corners of the frontier", ["iteration_time_s", "energy_j"], result.points))),
    result.plans.map((plan, index) => planView(plan, data.clocks?.[index])), notesView(result.notes)];
}

function planName(plan) {
  return plan.slowdown === 1 ? "No straggler" : `A straggler takes ${plan.slowdown} times as long`;
}

// Executed clocks as marks, those at the same place as one.
function executedMarks(result) {
  const marks = [];
  const add = ({iteration_time_s: x, energy_j: y}, mark, kind) => {
    const known = marks.find(other => other.x === x && other.y === y);
    if (known) known.mark += `, ${mark}`;
    else marks.push({x, y, mark, kind});
  };
  for (const plan of result.plans) add(plan, plan.slowdown === 1 ? "no straggler" : `straggler x ${plan.slowdown}`, "best");
  for (const baseline of result.plans[0].baselines) add(baseline, baseline.name, "baseline");
  return marks.map(of => ({...of, name: `${of.mark}: ${format.seconds(of.x, 4)}, ${format.joules(of.y, 4)}`}));
}

function frontierPlot(result) {
  const points = executedMarks(result);
  return plot("Energy over time of an iteration", "The frontier as a line; executed clocks as marks; the tables have the numbers", {points,
    lines: [{points: result.points.map(point => [point.iteration_time_s, point.energy_j])}],
    x: {title: "time of an iteration", show: format.seconds, near: true}, y: {title: "energy", show: format.joules}});
}

function planView(plan, clocks) {
  const columns = [{title: "clocks", text: true}, {title: "done after"}, {title: "energy until the deadline"}, {title: "energy of the iteration"}, {title: "saved"}, {title: "in time", text: true}];
  const row = (name, of) => [cell(name), cell(format.seconds(of.iteration_time_s), of.iteration_time_s), figureCell("a_j", of.energy_until_deadline_j),
    figureCell("a_j", of.energy_j), figureCell("saving", of.saving), cell(of.keeps_deadline ? "yes" : "no")];
  return view(planName(plan), h("p", {class: "lead"}, `Deadline ${format.seconds(plan.deadline_s)}; planned ${format.joules(plan.planned_energy_j)} in ${format.seconds(plan.planned_time_s)}.`),
    sortableTable(`${planName(plan)}: clocks compared`, columns, [row("frontier", plan), ...plan.baselines.map(baseline => row(baseline.name, baseline))]),
    clocks ? clocksDrawing(clocks) : null);
}

// Blue at the lowest clock over yellow to red at the highest; a span's fifth number is its clock.
function clockColour(share) {
  const colours = [[58, 110, 196], [240, 200, 90], [200, 58, 44]];
  const first = share < 0.5 ? 0 : 1;
  const part = 2 * share - first;
  return `rgb(${[0, 1, 2].map(at => Math.round(colours[first][at] * (1 - part) + colours[first + 1][at] * part)).join(",")})`;
}

// The colours of the clocks from the lowest to the highest.
function clockBar(lowest, highest) {
  const id = newId("clocks");
  const label = share => `${format.whole(Math.round(lowest + share * (highest - lowest)))} MHz`;
  const shares = highest > lowest ? [0, 0.5, 1] : [1];
  return s("svg", {class: "chart clock-bar", viewBox: "0 0 420 32", role: "img", "aria-labelledby": id},
    s("title", {id}, "Colours of the clocks"), s("desc", {}, `Blue at ${label(0)} over yellow to red at ${label(1)}`),
    s("linearGradient", {id: `${id}-colours`}, [0, 0.5, 1].map(share => s("stop", {offset: share, "stop-color": clockColour(highest > lowest ? share : 1)}))),
    s("rect", {x: 1, y: 2, width: 418, height: 10, fill: `url(#${id}-colours)`}),
    s("g", {class: "axis", "aria-hidden": "true"}, shares.map(share => s("text", {x: 1 + 418 * share, y: 27,
      class: share === 0 ? null : share === 1 ? "end" : "middle"}, label(share)))));
}

function clocksDrawing(clocks) {
  const {lowest_mhz: lowest, highest_mhz: highest} = clocks;
  const colour = span => clockColour(highest > lowest ? (span[4] - lowest) / (highest - lowest) : 1);
  const describe = ([name, , , microbatch, clock]) => `${clocks.names[name].text} of microbatch ${microbatch} at ${format.whole(clock)} MHz`;
  return [h("p", {class: "lead"}, "Clocks of the passes; forward passes lighter."), clockBar(lowest, highest),
    timelineView("Clocks of the passes of each stage over time", clocks, {describe, colour})];
}
