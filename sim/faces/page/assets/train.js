// A whole training: when it ends, what is lost, what interrupts it.
function showTraining(data) {
  const {result} = data;
  const why = new Explanation(data.explanation);
  return [factList(data.facts ?? []), cards(trainingCards(result, why)), finishView(data), lossView(result, why), interruptionsView(result, why),
    data.timeline ? medianRunView(data.timeline) : null, trainingPowerView(data.power), view("All figures", allFigures("Every figure of the training", result, why)),
    notesView(result.notes), why.view("How the iteration comes about"), scenarioView("The scenario", "the scenario", data.scenario)];
}

function trainingCards(result, why) {
  return [
    {name: "Done after", why: why.why("finish_time_s"), value: format.seconds(result.finish_time_s), lines: [`the median of ${format.whole(result.samples)} runs`, `\u00b1 ${format.seconds(result.finish_time_error_s)} by chance`]},
    {name: "95 % are done after", why: why.why("finish_time_p95_s"), value: format.seconds(result.finish_time_p95_s), lines: [`\u00b1 ${format.seconds(result.finish_time_p95_error_s)} by chance`]},
    {name: "Goodput", why: why.why("goodput"), value: format.percent(result.goodput), lines: [`undisturbed ${format.seconds(result.undisturbed_time_s)}`]},
    {name: "Restarts", why: why.why("restarts"), value: format.number(result.restarts), lines: ["on average"]},
    {name: "Cost", why: why.why("cost_usd"), value: shown("cost_usd", result.cost_usd), lines: ["of all nodes, spares too"]},
    {name: "Energy", why: why.why("facility_energy_j"), value: format.wattHours(result.facility_energy_j), lines: ["of the facility", `GPUs ${format.wattHours(result.energy_j)}`]},
    result.co2_kg !== null && {name: "CO2", why: why.why("co2_kg"), value: format.kilograms(result.co2_kg), lines: ["of the facility's energy"]},
    {name: "Checkpoints", why: why.why("best_checkpoint_interval_s"), value: shown("interval_s", result.checkpoint_interval_s), lines: [
      result.best_checkpoint_interval_s === null ? null : `best every ${format.seconds(result.best_checkpoint_interval_s)}`,
      `${result.learners > 1 ? `${result.learners} learners; ` : ""}${result.spares} spares${result.best_spares === null ? "" : `, best ${result.best_spares}`}`]},
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

function lossView(result, why) {
  const keys = Object.keys(result.lost);
  const lost = keys.filter(key => result.lost[key] > 0);
  const rows = [{label: "mean run", parts: [{name: "undisturbed", kind: "training", value: result.undisturbed_time_s},
    ...lost.map(key => ({name: words(key), kind: key.replace("_s", ""), value: result.lost[key]}))]},
    {label: "lost", parts: lost.map(key => ({name: words(key), kind: key.replace("_s", ""), value: result.lost[key]}))}];
  const all = result.finish_time_mean_s;
  const table = sortableTable("Mean time that is lost, by what takes it", [{title: "what", text: true}, {title: "time"}, {title: "share of the whole"}],
    [["undisturbed", result.undisturbed_time_s, why.why("undisturbed_time_s")],
      ...keys.map(key => [words(key), result.lost[key], why.why(`lost.${key}`, words(key))])]
      .map(([name, value, because]) => [cell([name, because], name), cell(format.seconds(value), value), cell(format.percent(value / all), value / all)]));
  return view("Where the time goes", legend([["undisturbed", "training"], ...lost.map(key => [words(key), key.replace("_s", "")])]),
    stackedBars("Time of the mean run", "All of the mean run, and what is lost of it alone; the table has the numbers",
      lost.length > 0 ? rows : rows.slice(0, 1), format.seconds), table);
}

function interruptionsView(result, why) {
  const columns = [{title: "cause", text: true}, {title: "a day"}, {title: "mean number"}, {title: "time lost"}, {title: "lost each time"}, {title: "share of all time"}, {title: "source", text: true}];
  const all = result.finish_time_mean_s;
  const causes = result.interruptions.filter(of => of.lost_s > 0);
  const rows = causes.map(of => ({label: of.cause, parts: [{name: "lost", kind: "rework", value: of.lost_s}]}));
  return view("What interrupts it", h("p", {class: "lead"}, "Of each cause: work that it takes back, detection, waiting, restart and reading. ", why.why("restarts")),
    rows.length > 1 ? stackedBars("Time lost by cause", "What each cause takes of the mean run; the table has the numbers", rows, format.seconds) : null,
    sortableTable("Interruptions by cause", columns, result.interruptions.map(of => [cell(of.cause),
      cell(format.number(of.rate_per_day), of.rate_per_day), cell(format.number(of.count), of.count), figureCell("lost_s", of.lost_s),
      of.count > 0 ? figureCell("lost_s", of.lost_s / of.count) : cell("", null), cell(format.percent(of.lost_s / all), of.lost_s / all), cell(of.source ?? "")])));
}

function medianRunView(timeline) {
  return view("The run that ends at the median", legend(timeline.names.map(name => [name.text, name.kind])),
    timelineView("The median run over time", timeline, {describe: ([name, , , cause]) =>
      timeline.names[name].text + (timeline.causes?.[cause] ? `, ${timeline.causes[cause]}` : "")}));
}
