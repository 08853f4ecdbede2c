// The strategies that a search found.
function showSearch(data) {
  const {result} = data;
  const best = result.strategies[0];
  return [factList([["model", result.model], ["objective", result.objective], ["strategies found", String(result.strategies.length)],
    ["searched for", format.seconds(result.search_time_s)], ["finished", result.complete ? "yes" : "no: stopped before"], ...baselineFacts(result), ...robustFacts(result), ...limitFacts(result)]),
    best ? null : h("p", {class: "warning", role: "note"}, data.failure ?? "No strategy was found."),
    best ? view("Strategies", paretoPlot(data), strategyTable(data)) : null,
    best ? view("One by one", h("p", {class: "lead"}, "What each does with its time and memory, why, and a whole scenario for mirfak simulate."),
      strategyDetails(data)) : null,
    funnelView(result), notesView(result.notes), scenarioView("What was searched", "the scenario", data.scenario)];
}

// The strategy that the scenario states, for a search that chooses it.
function baselineFacts({baseline, strategies}) {
  if (!baseline) return [];
  if (baseline.refused) return [["yours", `cannot run: ${baseline.refused}`]];
  const best = strategies[0] && `; the best ${format.seconds(strategies[0].iteration_time_s)}, ${format.signedPercent(strategies[0].iteration_time_s / baseline.iteration_time_s - 1)}`;
  return [["yours", `${format.seconds(baseline.iteration_time_s)}${baseline.fits ? "" : ", does not fit in memory"}${best ?? ""}`]];
}

// The least p90 of the time, beside that of the fastest strategy.
function robustFacts({robust}) {
  if (!robust) return [];
  const least = `${format.seconds(robust.robust.p90_s)}: ${differences(robust.robust.strategy, robust.fastest.strategy)}`;
  return [["p90 of the fastest", format.seconds(robust.fastest.p90_s)], ["least p90", robust.differs ? least : "that of the fastest"]];
}

function limitFacts(result) {
  const {deadline_days: days, budget_usd: usd, power_cap_w: watts} = result.limits ?? {};
  return [days && ["deadline", `${format.number(days)} days`], usd && ["budget", format.usd(usd)], watts && ["power cap", format.watts(watts)],
    result.headroom && ["memory left free", format.percent(result.headroom)],
    result.least_possible && ["none is below", format.number(result.least_possible)],
    result.least_shortage_bytes && ["nearest miss", `lacks ${format.bytes(result.least_shortage_bytes)} of memory`],
    result.headroom_that_fits && ["headroom that would fit", format.percent(result.headroom_that_fits)],
    ...(result.left_out ?? []).map(type => [`left out: ${type.nodes}`, type.reason])].filter(Boolean);
}

function strategyName(data, index) {
  return data.names?.[index] ?? `strategy ${index + 1}`;
}

function paretoPlot(data) {
  const {strategies} = data.result;
  const priced = strategies.every(found => found.cost_usd_per_iteration !== null);
  const [key, title] = priced ? ["cost_usd_per_iteration", "cost of an iteration"] : ["energy_j", "energy of an iteration"];
  const points = strategies.map((found, index) => ({x: found.iteration_time_s, y: found[key], mark: String(index + 1),
    kind: found.fits ? (index === 0 ? "best" : "") : "bad",
    range: found.iteration_time_low_s ? {xLow: found.iteration_time_low_s, xHigh: found.iteration_time_high_s} : undefined,
    name: `${index + 1}: ${strategyName(data, index)}; ${format.seconds(found.iteration_time_s)}, ${shown(key, found[key])}`}));
  return plot(`Time and ${title}`, "Each strategy by time and cost, with the range of its time; the table has the numbers", {points,
    x: {title: "time of an iteration", show: format.seconds}, y: {title, show: formatOf(key)}});
}

// Adds to each row a button that uses its strategy, where the page can use one.
function takeCells(data, index) {
  if (!data.take) return [];
  const time = data.result.strategies[index].iteration_time_s;
  return [cell(h("button", {type: "button", class: "take", "data-time": time, onclick: () => data.take(index),
    "aria-label": `Use this: strategy ${index + 1}`}, "Use this"), index)];
}

function strategyTable(data) {
  const keys = ["iteration_time_s", "time_to_finish_s", "tokens_per_s", "mfu", "bubble_fraction", "memory_peak_bytes", "memory_headroom",
    "energy_j", "average_power_w", "cost_usd_per_iteration", "training_time_s", "training_cost_usd", "gpus"];
  const known = keys.filter(key => data.result.strategies.some(found => found[key] !== null && found[key] !== undefined));
  const columns = [{title: "#"}, ...(data.take ? [{title: "scenario", text: true}] : []), {title: "strategy", text: true}, {title: "nodes", text: true}, ...known.map(key => ({title: words(key)}))];
  return sortableTable("Strategies found, best first", columns, data.result.strategies.map((found, index) => [
    cell(`${found.ties_with_best && index > 0 ? "=" : ""}${index + 1}`, index + 1), ...takeCells(data, index),
    cell(strategyName(data, index)),
    cell(found.nodes.map(group => `${group.count} ${group.type}`).join(" + ")), ...known.map(key => figureCell(key, found[key]))]));
}

function strategyDetails(data) {
  const explained = data.explanations?.length ?? 0;
  const strategies = data.result.strategies.map((found, index) => h("details", {class: "section"},
    h("summary", {}, `${index + 1}: ${strategyName(data, index)}`),
    iterationParts(found, {explanation: data.explanations?.[index], range_level: data.range_level}),
    variantTable(found), data.scenarios?.[index] ? listing("the scenario", data.scenarios[index]) : listing("the strategy", JSON.stringify(found.strategy, null, 2))));
  const left = explained > 0 && explained < strategies.length ? h("p", {class: "left-out"},
    `The reasons of the figures are given for the first ${explained}; mirfak simulate --explain gives them for any strategy.`) : null;
  return [strategies, left];
}

function variantTable(found) {
  if (!found.variants || found.variants.length === 0) return null;
  const keys = ["iteration_time_s", "cost_usd_per_iteration", "energy_j", "time_to_finish_s"];
  const columns = [{title: "variant of the same layout", text: true}, ...keys.map(key => ({title: words(key)}))];
  return sortableTable("Variants", columns, found.variants.map(variant => [
    cell(differences(variant.strategy, found.strategy)), ...keys.map(key => figureCell(key, variant[key]))]));
}

// "micro_batch 2, recompute full": what is set otherwise.
function differences(strategy, from) {
  return Object.keys(strategy).filter(key => JSON.stringify(strategy[key]) !== JSON.stringify(from[key]))
    .map(key => `${key} ${typeof strategy[key] === "object" ? JSON.stringify(strategy[key]) : strategy[key]}`).join(", ") || "the same";
}

function funnelView(result) {
  const rows = result.funnel.map((step, index) => [cell(step.name, index), cell(format.count(step.count), step.count), figureCell("time_s", step.time_s)]);
  return view("How the search went", sortableTable("Strategies left after each step", [{title: "step", text: true}, {title: "left"}, {title: "time"}], rows));
}
