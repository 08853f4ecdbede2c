// One simulated iteration.
const activityKeys = activities => Object.keys(activities).map(key => key.slice(0, -"_s".length));
// The parts of a GPU's memory, which stand in front of their sum.
function memoryKeys(memory) {
  const keys = Object.keys(memory);
  return keys.slice(0, keys.indexOf("peak_bytes")).map(key => key.slice(0, -"_bytes".length));
}
const mostBars = 48;

function showSimulation(data) {
  const {result} = data;
  const why = new Explanation(data.explanation);
  return [factList(data.facts ?? []), fitWarning(result, data.shortage), cards(iterationCards(data, why)), timeView(result, why),
    data.timeline ? passesView(data.timeline) : null, powerView(data.power), memoryView(result, why), spreadView(result.spread),
    sensitivityView(result.sensitivity), view("All figures", allFigures("Every figure of the iteration", result, why)),
    notesView(result.notes), why.view(), scenarioView("The scenario", "the scenario", data.scenario)];
}

// `shortage`: {message, hint} where it was found out what would help.
function fitWarning(result, shortage) {
  if (result.fits !== false) return null;
  if (shortage) return h("p", {class: "warning", role: "note"}, `Out of memory: ${shortage.message}\n${shortage.hint}`);
  return h("p", {class: "warning", role: "note"}, "This iteration does not fit in memory: the fullest GPU needs ",
    format.bytes(result.memory_peak_bytes), " of ", format.bytes(result.memory_capacity_bytes), ".");
}

// `list`: {name, value, lines, why, range}.
function cards(list) {
  return h("dl", {class: "cards", onclick: closeOthers, onkeydown: closeByEscape}, list.filter(Boolean).map(card => h("div", {class: `card ${card.kind ?? ""}`},
    h("dt", {}, card.name), h("dd", {class: "value"}, card.value),
    card.range ? h("dd", {}, rangeBar(...card.range)) : null,
    card.lines.filter(Boolean).map(line => h("dd", {class: "more"}, line)), card.why ? h("dd", {}, card.why) : null)));
}

// One reason of a tile is open at a time, since it lies over what follows.
function closeOthers(event) {
  const opened = event.target.closest("summary")?.parentElement;
  if (opened?.matches(".card .why")) for (const why of this.querySelectorAll(".why[open]")) if (why !== opened) why.open = false;
}

function closeByEscape(event) {
  if (event.key !== "Escape") return;
  const why = event.target.closest(".card .why[open]");
  if (!why) return;
  why.open = false;
  why.querySelector("summary").focus();
}

// Draws the place of the value in its range.
function rangeBar(low, value, high, show) {
  const at = number => 4 + 112 * (number - low) / (high - low || 1);
  return s("svg", {class: "range-bar", viewBox: "0 0 120 10", role: "img", "aria-label": `${show(low)} to ${show(high)}`},
    s("path", {class: "range", d: "M4 5H116M4 1v8M116 1v8"}), s("circle", {cx: at(value), cy: 5, r: 3.5}));
}

function iterationCards(data, why) {
  const {result} = data;
  const {iteration_time_s: time, iteration_time_low_s: low, iteration_time_high_s: high} = result;
  const level = data.range_level ? `as ${fixed(100 * data.range_level, 0)} % of measured iterations` : null;
  const priced = result.cost_usd_per_iteration !== null;
  const tflops = format.number(result.hardware_tflops_per_gpu);
  return [
    {name: "Iteration", value: format.seconds(time), why: why.why("iteration_time_s"),
      range: low ? [low, time, high, format.seconds] : null,
      lines: low ? [`${format.seconds(low)} to ${format.seconds(high)},`, level] : ["of its range nothing is known"]},
    result.mfu === undefined && {name: "TFLOP/s per GPU", value: tflops, why: why.why("hardware_tflops_per_gpu"), lines: ["of kernels, on average"]},
    result.mfu !== undefined && {name: "Tokens per second", value: format.count(result.tokens_per_s), why: why.why("tokens_per_s"),
      lines: [`${format.count(result.tokens_per_s_per_gpu)} per GPU`]},
    result.mfu !== undefined && {name: "MFU", value: format.percent(result.mfu), why: why.why("mfu"),
      lines: [`${format.number(result.tflops_per_gpu)} model TFLOP/s per GPU`, `HFU ${format.percent(result.hfu)}`]},
    {name: "Bubble", value: format.percent(result.bubble_fraction), why: why.why("bubble_fraction"),
      lines: [`exposed communication ${format.percent(result.exposed_communication_s / time)}`]},
    {name: "Memory", value: format.bytes(result.memory_peak_bytes), why: why.why("memory_peak_bytes"), kind: result.fits ? "" : "bad",
      lines: [`of ${format.bytes(result.memory_capacity_bytes)}, ${result.memory_headroom >= 0 ? `${format.percent(result.memory_headroom)} free`
        : `${format.bytes(result.memory_peak_bytes - result.memory_capacity_bytes)} too much`}`,
        result.memory_peak_low_bytes ? `${format.bytes(result.memory_peak_low_bytes)} to ${format.bytes(result.memory_peak_high_bytes)}` : null]},
    {name: "Energy", value: format.joules(result.energy_j), why: why.why("energy_j"),
      lines: [result.energy_high_j ? `${format.joules(result.energy_low_j)} to ${format.joules(result.energy_high_j)}` : null,
        `${format.watts(result.average_power_w)} on average`, result.co2_kg ? `CO2 ${format.kilograms(result.co2_kg)}` : null]},
    {name: "Cost", value: priced ? format.usd(result.cost_usd_per_iteration) : "not known", why: why.why("cost_usd_per_iteration"),
      lines: ["of an iteration", priced && low ? `${format.usd(result.cost_usd_per_iteration / time * low)} to ${
        format.usd(result.cost_usd_per_iteration / time * high)}` : null]},
    result.training_time_s && {name: "Training", value: format.seconds(result.training_time_s), why: why.why("training_time_s"),
      lines: [result.training_cost_usd ? `for ${format.usd(result.training_cost_usd)}` : null,
        `${format.count(result.training_time_s / time)} iterations`]},
  ];
}

function activityParts(activities) {
  return activityKeys(activities).filter(key => activities[`${key}_s`] > 0)
    .map(key => ({name: words(`${key}_s`), kind: key, value: activities[`${key}_s`]}));
}

function stageName(stage) {
  return stage.replicas === undefined ? `stage ${stage.stage}` : `stage ${stage.stage}, ${stage.replicas}`;
}

function leftOutText(all, kept, what) {
  return all.length === kept.length ? null : h("p", {class: "left-out"}, `${kept.length} of ${all.length} ${what} are drawn; the table has all.`);
}

function timeView(result, why) {
  return view("Where the time goes", timeParts(result, why));
}

function timeParts(result, why) {
  return timesOf("stage", result, why, result.stages.map(stage => ({label: stageName(stage), order: stage.stage, gpu: stage.gpu,
    activities: stage.activities, power: stage.average_power_w})));
}

// `what`: the word for a row; `all`: rows of {label, order, gpu, activities, power}.
function timesOf(what, result, why, all) {
  const parts = activityParts(result.activities);
  const drawn = thinned(all, mostBars);
  const rows = [{label: "mean", parts}, ...drawn.map(row => ({label: row.label, parts: activityParts(row.activities)}))];
  const used = activityKeys(result.activities).filter(key => all.some(row => row.activities[`${key}_s`] > 0) || result.activities[`${key}_s`] > 0);
  const columns = [{title: "activity", text: true}, {title: "mean"}, {title: "share"}, {title: `least of a ${what}`}, {title: `most of a ${what}`}];
  const table = sortableTable(`Where the time of a GPU goes, mean over ${what}s`, columns, used.map(key => {
    const name = `${key}_s`;
    const each = all.map(row => row.activities[name]);
    const share = result.activities[name] / result.iteration_time_s;
    return [cell([words(name), why.why(`activities.${name}`, words(name))], words(name)), figureCell(name, result.activities[name]),
      cell(format.percent(share), share), figureCell(name, Math.min(...each)), figureCell(name, Math.max(...each))];
  }));
  return [legend(used.map(key => [words(`${key}_s`), key])),
    stackedBars(`Time by ${what}`, `Parts of the iteration's time on a GPU of each ${what}; the tables have the numbers`, rows, format.seconds),
    leftOutText(all, drawn, `${what}s`), table, timeTable(what, all, used)];
}

function timeTable(what, all, used) {
  const columns = [{title: what}, {title: "GPU", text: true}, ...used.map(key => ({title: words(`${key}_s`)})), {title: "power"}];
  return folded(`By ${what}`, sortableTable(`Time and power of a GPU of each ${what}`, columns, all.map(row => [
    cell(row.label, row.order), cell(row.gpu), ...used.map(key => figureCell(`${key}_s`, row.activities[`${key}_s`])),
    figureCell("average_power_w", row.power)])));
}

function folded(title, content) {
  return h("details", {class: "folded"}, h("summary", {}, title), content);
}

function passesView(timeline) {
  return view("Timeline of the pipeline", passParts(timeline));
}

function passParts(timeline) {
  const describe = ([name, , , microbatch]) => timeline.names[name].text + (microbatch >= 0 ? `, microbatch ${microbatch}` : "");
  return [h("p", {class: "lead"}, "One GPU of each stage over the iteration. Tall: passes. Low: communication."), legend(timeline.kinds),
    timelineView("Passes of each stage over time", timeline, {describe})];
}

function memoryView(result, why) {
  return view("Memory by stage", memoryTables(result, why));
}

function memoryTables(result, why) {
  const bytes = (stage, key) => stage.memory[`${key}_bytes`];
  const used = memoryKeys(result.stages[0].memory).filter(key => result.stages.some(stage => bytes(stage, key) > 0));
  const stages = thinned(result.stages, mostBars, [result.stages.findIndex(stage => stage.stage === result.fullest_stage)]);
  const rows = stages.map(stage => ({label: stageName(stage), limit: stage.memory.capacity_bytes,
    parts: used.map(key => ({name: words(key), kind: `memory-${key}`, value: bytes(stage, key)}))}));
  const columns = [{title: "stage"}, ...used.map(key => ({title: words(key)})), {title: "peak"}, {title: "capacity"},
    {title: "free"}, {title: "passes in flight"}, {title: "on its host"}, {title: "capacity of the host"}, {title: "fits", text: true}];
  const table = sortableTable("Memory of a GPU of each stage at its peak", columns, result.stages.map(({memory, ...stage}) => [
    cell(stageName(stage), stage.stage), ...used.map(key => figureCell("a_bytes", memory[`${key}_bytes`])),
    figureCell("a_bytes", memory.peak_bytes), figureCell("a_bytes", memory.capacity_bytes),
    cell(format.percent(1 - memory.peak_bytes / memory.capacity_bytes), 1 - memory.peak_bytes / memory.capacity_bytes),
    cell(format.whole(memory.passes_in_flight), memory.passes_in_flight), figureCell("a_bytes", memory.host_bytes),
    figureCell("a_bytes", memory.host_capacity_bytes), cell(memory.fits ? "yes" : "no")]));
  return [legend([...used.map(key => [words(key), `memory-${key}`]), ["capacity", "limit-swatch"]]),
    stackedBars("Memory by stage", "Parts of the memory of a GPU of each stage, and its capacity; the table has the numbers", rows, format.bytes),
    leftOutText(result.stages, stages, "stages"), h("p", {class: "lead"}, "Fullest: stage ", String(result.fullest_stage), ". ",
      why.why("memory_peak_bytes")), table];
}

// Every single figure, as `--format json` names it, with all its digits behind the three shown.
function allFigures(caption, result, why) {
  const keys = Object.keys(result).filter(key => result[key] === null || typeof result[key] !== "object");
  const columns = [{title: "figure", text: true}, {title: "value"}, {title: "in full"}, {title: "explanation", text: true}];
  const rows = keys.map(key => [cell([words(key), " ", h("code", {}, key)], key), figureCell(key, result[key]),
    cell(result[key] === null ? "" : String(result[key]), result[key]), cell(why.why(key) ?? "", key)]);
  return sortableTable(caption, columns, rows);
}

// All that is said of an iteration that is one of several on a page: each part folded up. `more`: of its explanation.
function iterationParts(result, more) {
  const why = new Explanation(more.explanation);
  return [more.facts ? factList(more.facts) : null, fitWarning(result), cards(iterationCards({result, ...more}, why)),
    folded("Where the time goes", timeParts(result, why)), more.timeline ? folded("Timeline of the pipeline", passParts(more.timeline)) : null,
    folded("Memory by stage", memoryTables(result, why)), folded("All figures", allFigures("Every figure of the iteration", result, why)),
    why.sections.length > 0 ? folded("How every cost comes about", why.parts()) : null];
}
