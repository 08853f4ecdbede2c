// Views of questions beside the iteration: draws of its perturbations, and what more of each resource would gain.
function spreadView(spread) {
  if (!spread) return null;
  const quantiles = [["median", spread.p50], ["95 % are shorter", spread.p95], ["99 % are shorter", spread.p99]];
  const columns = [{title: "", text: true}, {title: "time"}, {title: "from"}, {title: "to"}];
  return view("With its perturbations", h("p", {class: "lead"}, `${spread.samples} iterations, each with a draw: ${
    format.seconds(spread.mean_s)} on average, ${format.seconds(spread.without_perturbations_s)} without perturbations.`),
    sortableTable("Times of the iterations, and where they lie by chance", columns, quantiles.map(([name, of], index) => [
      cell(name, index), figureCell("a_s", of.value_s), figureCell("a_s", of.low_s), figureCell("a_s", of.high_s)])),
    objectTable("What binds them", ["cause", "binds", "mean_excess_s"], spread.causes, {binds: "iterations that it binds"}));
}

function sensitivityView(sensitivity) {
  if (!sensitivity) return null;
  const columns = [{title: "resource", text: true}, {title: "iteration"}, {title: "gained"}, {title: "share"}, {title: "elasticity"}];
  return view("What more would gain", sortableTable(`With ${sensitivity.factor} times as much of each resource`, columns,
    sensitivity.resources.map(of => [cell(of.resource), figureCell("a_s", of.iteration_time_s), figureCell("a_s", of.gained_s),
      cell(format.percent(of.gained_share), of.gained_share), cell(format.number(of.elasticity), of.elasticity)])),
    sensitivity.notes.length > 0 ? h("ul", {class: "notes"}, sensitivity.notes.map(note => h("li", {}, note))) : null);
}
