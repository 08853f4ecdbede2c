// One job on each of several clusters and clouds.
function showComparison(data) {
  const {result} = data;
  const runs = result.options.filter(option => option.runs);
  return [h("p", {class: "lead"}, data.question), data.winner ? h("p", {class: "answer"}, data.winner) : null, factList(data.facts ?? []), runs.length > 0 ? view("Options", optionTable(result, runs)) : null,
    runs.length > 1 && runs.some(option => option.cost_usd !== null) ? view("Cost over time", costPlot(runs)) : null,
    runs.length > 0 ? view("Their strategies", sortableTable("The best strategy of each option", [{title: "option", text: true}, {title: "nodes"}, {title: "strategy", text: true}],
      runs.map(option => [cell(option.option), cell(String(option.nodes), option.nodes), cell(option.strategy)]))) : null,
    refusedView(result.options.filter(option => !option.runs)), notesView(result.notes)];
}

function rangedCell(option, stem, unit, show) {
  const value = option[`${stem}${unit}`];
  if (value === null || value === undefined) return cell("not known", null);
  const [low, high] = [option[`${stem}_low${unit}`], option[`${stem}_high${unit}`]];
  const range = low && low !== high ? h("small", {}, `${show(low)} to ${show(high)}`) : null;
  return cell([show(value), range], value);
}

function inTime(option) {
  return option.surely_in_time ? cell("yes", 0) : option.in_time ? cell("maybe", 1) : cell("too late", 2);
}

function optionTable(result, runs) {
  const dated = runs.some(option => option.latest_start);
  const columns = [{title: "#"}, {title: "option", text: true}, {title: "nodes"}, {title: "GPUs"}, {title: "iteration"}, {title: "MFU"}, {title: "done after"}, {title: "cost"}, {title: "energy"}, {title: "CO2"}, {title: "memory free"},
    ...(result.deadline_s ? [{title: "in time", text: true}] : []), ...(dated ? [{title: "start by", text: true}] : [])];
  return sortableTable("Options that run", columns, runs.map((option, index) => {
    const ofFacility = option.facility_energy_j !== null;
    const row = [cell(`${option.ties_with_first && index > 0 ? "=" : ""}${index + 1}`, index + 1), cell(option.option), cell(String(option.nodes), option.nodes),
      cell(String(option.gpus), option.gpus), rangedCell(option, "iteration_time", "_s", format.seconds), figureCell("mfu", option.mfu),
      rangedCell(option, "finish_time", "_s", format.seconds), rangedCell(option, "cost", "_usd", format.usd),
      ofFacility ? cell(format.wattHours(option.facility_energy_j), option.facility_energy_j) : cell(`${format.wattHours(option.energy_j)} *`, option.energy_j),
      rangedCell(option, "co2", "_kg", format.kilograms), figureCell("memory_headroom", option.memory_headroom)];
    if (result.deadline_s) row.push(inTime(option));
    if (dated) row.push(cell([option.latest_start ?? "", option.latest_sure_start ? h("small", {}, `${option.latest_sure_start} to be sure`) : null], option.latest_start));
    if (result.deadline_s && !option.in_time) row.kind = "late";
    return row;
  }));
}

function costPlot(runs) {
  const points = runs.map((option, index) => ({option, index})).filter(({option}) => option.cost_usd !== null).map(({option, index}) => ({
    x: option.finish_time_s / 86400, y: option.cost_usd, mark: String(index + 1), kind: option.in_time ? "" : "bad",
    range: {xLow: option.finish_time_low_s / 86400, xHigh: option.finish_time_high_s / 86400, yLow: option.cost_low_usd, yHigh: option.cost_high_usd},
    name: `${index + 1}, ${option.option}: ${format.number(option.finish_time_s / 86400)} days, ${format.usd(option.cost_usd)}`}));
  return plot("Cost over days", "The cost of each option over the days that it takes, with ranges; the table has the numbers", {points,
    x: {title: "days", show: format.number, zero: true}, y: {title: "cost", show: format.usd, zero: true}});
}

function refusedView(options) {
  if (options.length === 0) return null;
  return view("What does not run", h("ul", {class: "notes"}, options.map(option => h("li", {}, h("b", {}, option.option),
    `${option.nodes > 0 ? `, ${option.nodes} nodes` : ""}: ${option.reason}`))));
}
