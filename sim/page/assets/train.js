// A whole training: when it ends, what is lost, what interrupts it.
function showTraining(data) {
  const {result} = data;
  return [factList(data.facts ?? []), cards(trainingCards(result)), finishView(data), lossView(result), interruptionsView(result),
    data.timeline ? medianRunView(data.timeline) : null, view("All figures", allTrainingFigures(result)),
    notesView(result.notes), scenarioView("The scenario", "the scenario", data.scenario)];
}

function trainingCards(result) {
  return [
    {name: "Done after", value: format.seconds(result.finish_time_s), lines: [`the median of ${format.whole(result.samples)} runs`, `\u00b1 ${format.seconds(result.finish_time_error_s)} by chance`]},
    {name: "95 % are done after", value: format.seconds(result.finish_time_p95_s), lines: [`\u00b1 ${format.seconds(result.finish_time_p95_error_s)} by chance`]},
    {name: "Goodput", value: format.percent(result.goodput), lines: [`undisturbed ${format.seconds(result.undisturbed_time_s)}`]},
    {name: "Restarts", value: format.number(result.restarts), lines: ["on average"]},
    {name: "Cost", value: shown("cost_usd", result.cost_usd), lines: ["of all nodes, spares too"]},
    {name: "Energy", value: format.wattHours(result.facility_energy_j), lines: ["of the facility", `GPUs ${format.wattHours(result.energy_j)}`]},
    result.co2_kg !== null && {name: "CO2", value: format.kilograms(result.co2_kg), lines: ["of the facility's energy"]},
    {name: "Checkpoints", value: shown("interval_s", result.checkpoint_interval_s), lines: [
      result.best_checkpoint_interval_s === null ? null : `best every ${format.seconds(result.best_checkpoint_interval_s)}`,
      `${result.spares} spares${result.best_spares === null ? "" : `, best ${result.best_spares}`}`]},
  ];
}

// `data.finish`: [[share of the runs, seconds]], ascending.
function finishView(data) {
  if (!data.finish || data.finish.length < 2) return null;
  const points = data.finish.map(([share, seconds]) => ({x: seconds, y: share, name: `${format.percent(share)} of the runs are done after ${format.seconds(seconds, 4)}`}));
  const marked = points.filter(point => [0.05, 0.5, 0.95].some(share => Math.abs(point.y - share) < 1e-9));
  return view("When it ends", plot("Share of runs that are done", "The share of simulated runs that are done by a time; the table has the numbers", {
    points: marked.map(point => ({...point, mark: format.percent(point.y)})), lines: [{points: points.map(point => [point.x, point.y])}],
    x: {title: "time to finish", show: format.seconds}, y: {title: "share of the runs", show: format.percent, zero: true}}),
    folded("As a table", sortableTable("Share of runs that are done", [{title: "share of the runs"}, {title: "done after"}],
      data.finish.map(([share, seconds]) => [cell(format.percent(share), share), cell(format.seconds(seconds, 4), seconds)]))));
}

function lossView(result) {
  const keys = Object.keys(result.lost);
  const lost = keys.filter(key => result.lost[key] > 0);
  const rows = [{label: "mean run", parts: [{name: "undisturbed", kind: "training", value: result.undisturbed_time_s},
    ...lost.map(key => ({name: words(key), kind: key.replace("_s", ""), value: result.lost[key]}))]},
    {label: "lost", parts: lost.map(key => ({name: words(key), kind: key.replace("_s", ""), value: result.lost[key]}))}];
  const all = result.finish_time_mean_s;
  const table = sortableTable("Mean time that is lost, by what takes it", [{title: "what", text: true}, {title: "time"}, {title: "share of the whole"}],
    [["undisturbed", result.undisturbed_time_s], ...keys.map(key => [words(key), result.lost[key]])]
      .map(([name, value]) => [cell(name), cell(format.seconds(value), value), cell(format.percent(value / all), value / all)]));
  return view("Where the time goes", legend([["undisturbed", "training"], ...lost.map(key => [words(key), key.replace("_s", "")])]),
    stackedBars("Time of the mean run", "All of the mean run, and what is lost of it alone; the table has the numbers",
      lost.length > 0 ? rows : rows.slice(0, 1), format.seconds), table);
}

function interruptionsView(result) {
  const columns = [{title: "cause", text: true}, {title: "a day"}, {title: "mean number"}, {title: "time lost"}, {title: "source", text: true}];
  return view("What interrupts it", sortableTable("Interruptions by cause", columns, result.interruptions.map(of => [cell(of.cause),
    cell(format.number(of.rate_per_day), of.rate_per_day), cell(format.number(of.count), of.count), figureCell("lost_s", of.lost_s), cell(of.source ?? "")])));
}

function medianRunView(timeline) {
  return view("The run that ends at the median", legend(timeline.names.map(name => [name.text, name.kind])),
    timelineView("The median run over time", timeline, {describe: ([name, , , cause]) =>
      timeline.names[name].text + (timeline.causes?.[cause] ? `, ${timeline.causes[cause]}` : "")}));
}

function allTrainingFigures(result) {
  const keys = Object.keys(result).filter(key => result[key] === null || typeof result[key] !== "object");
  return sortableTable("Every figure of the training", [{title: "figure", text: true}, {title: "value"}, {title: "in full"}], keys.map(key => [
    cell([words(key), " ", h("code", {}, key)], key), figureCell(key, result[key]), cell(String(result[key] ?? ""), result[key])]));
}
