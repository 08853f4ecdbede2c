// A predicted trace beside a measured one, task by task.
function showTraces(data) {
  const {result} = data;
  const {iteration, measurement, kernels} = result;
  const within = measurement.iterations > 1 ? `${measurement.within_range ? "within" : "outside of"} ${format.seconds(measurement.shortest_s)} to ${
    format.seconds(measurement.longest_s)}, measured` : null;
  return [factList([["predicted", result.predicted], ["measured", result.measured], ["tasks", format.whole(result.tasks)]]), cards([
    {name: "Predicted", value: format.seconds(iteration.predicted), lines: [within]},
    {name: "Measured", value: format.seconds(iteration.measured), lines: [measurement.iterations === 1 ? "1 iteration" : `${format.whole(measurement.iterations)} iterations`,
      measurement.clock_error_s > 0 ? `clocks of ranks may differ by ${format.seconds(measurement.clock_error_s)}` : null]},
    {name: "Error", value: format.signedPercent(iteration.error), lines: ["of the iteration; above 0: predicted too long"]},
    {name: "Kernel by kernel", value: format.percent(kernels.median_ape), lines: [`median error of ${kernels.n}`, `90 % are below ${format.percent(kernels.p90_ape)}`]}]),
    view("Why the iterations differ", h("p", {class: "lead"}, `Critical paths of ${result.critical_path.predicted.tasks} and ${
      result.critical_path.measured.tasks} tasks, which take the whole iteration.`), pathBars(result.critical_path),
      timesTable("Causes of the difference", result.causes)),
    view("By kind", timesTable("Times by kind of task, over all ranks", result.kinds)),
    view("By stage", ranksTable("Mean of the ranks of each stage", "stage", result.stages)),
    view("By rank", ranksTable("Of each rank", "rank", result.ranks)),
    view("Operators", timesTable("Times by operator, over all ranks", result.names))];
}

function pathBars(path) {
  const kinds = [...new Set([path.predicted, path.measured].flatMap(of => Object.keys(of.kinds_s)))];
  const kind = name => `source-${kinds.indexOf(name) % 6}`;
  const row = (label, of) => ({label, parts: [...kinds.map(name => ({name, kind: kind(name), value: of.kinds_s[name] ?? 0})),
    {name: "between tasks", kind: "waiting", value: of.between_tasks_s}].filter(part => part.value > 0)});
  return [legend([...kinds.map(name => [name, kind(name)]), ["between tasks", "waiting"]]),
    stackedBars("Critical paths", "What the critical path of either goes through; the table has the numbers", [row("predicted", path.predicted), row("measured", path.measured)], format.seconds)];
}

function timesTable(caption, times) {
  const columns = [{title: "what", text: true}, {title: "tasks"}, {title: "predicted"}, {title: "measured"}, {title: "difference"}, {title: "error"}];
  return sortableTable(caption, columns, times.map(time => [cell(time.name), time.tasks > 0 ? cell(String(time.tasks), time.tasks) : cell("", null),
    figureCell("a_s", time.predicted), figureCell("a_s", time.measured), cell(signedSeconds(time.predicted - time.measured), time.predicted - time.measured),
    time.error === null ? cell("", null) : cell(format.signedPercent(time.error), time.error)]));
}

function signedSeconds(seconds) {
  return `${seconds < 0 ? "-" : "+"}${format.seconds(Math.abs(seconds))}`;
}

function ranksTable(caption, what, ranks) {
  const parts = ["kernels", "communication", "waiting"];
  const columns = [{title: what}, ...parts.flatMap(part => [{title: `${part}, predicted`}, {title: "measured"}, {title: "difference"}])];
  return sortableTable(caption, columns, ranks.map(rank => [cell(String(rank[what]), rank[what]), ...parts.flatMap(part => {
    const [predicted, measured] = [rank[`${part}_predicted_s`], rank[`${part}_measured_s`]];
    return [figureCell("a_s", predicted), figureCell("a_s", measured), cell(signedSeconds(predicted - measured), predicted - measured)];
  })]));
}
