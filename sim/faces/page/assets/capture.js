// One step of a captured program.
const mostWork = 500;

function showCapture(data) {
  const {result} = data;
  const why = new Explanation(data.explanation);
  return [factList(data.facts ?? []), captureWarning(result), cards(iterationCards(data, why)), view("Where the time goes", rankTimes(result, why)),
    view("Timeline of the ranks", rankTimeline(data.timeline)), view("Memory by rank", rankMemory(result, why)),
    view("Operators by time", workTable(result, "operators")), view("Modules by time", workTable(result, "modules")),
    spreadView(result.spread), sensitivityView(result.sensitivity),
    view("All figures", allFigures("Every figure of the iteration", result, why)), notesView(result.notes), why.view(),
    scenarioView("The scenario", "the scenario", data.scenario)];
}

// Reserved memory that is free again is no reason why a program would not run.
function captureWarning(result) {
  if (result.fits) return null;
  const {rank, peak_allocated_bytes: allocated, graph_bytes: graphs, memory_capacity_bytes: capacity} =
    result.ranks.find(each => !each.fits);
  return h("p", {class: "warning", role: "note"}, "This program does not fit in memory: rank ", String(rank), " needs ",
    format.bytes(allocated + graphs + result.platform_bytes), " of ", format.bytes(capacity), ".");
}

const rankName = ({rank}) => `rank ${rank}`;

function rankTimes(result, why) {
  return timesOf("rank", result, why, result.ranks.map(rank => ({label: rankName(rank), order: rank.rank, gpu: rank.gpu,
    activities: rank.activities, power: rank.energy_j / result.iteration_time_s})));
}

function rankTimeline(timeline) {
  return [h("p", {class: "lead"}, "Captured ranks over the step. Tall: kernels of the stream that computes most, by module and phase. Low: communication, and kernels of other streams."),
    legend(timeline.kinds), timelineView("Modules of each rank over time", timeline, {describe: ([name]) => timeline.names[name].text})];
}

// The parts of a rank's memory: what is reserved beyond the peak of what is allocated was handed out before or after.
function memoryParts(rank, result) {
  const {peak_allocated_bytes: allocated, graph_bytes: graph, peak_reserved_bytes: reserved} = rank;
  return [["allocated", "allocated", allocated], ["graph", "kept by CUDA graphs", graph],
    ["cached", "reserved besides", Math.max(0, reserved - allocated - graph)], ["platform", "platform", result.platform_bytes]];
}

function rankMemory(result, why) {
  const ranks = thinned(result.ranks, mostBars);
  const used = memoryParts(result.ranks[0], result).filter((_, index) => result.ranks.some(rank => memoryParts(rank, result)[index][2] > 0));
  const rows = ranks.map(rank => ({label: rankName(rank), limit: rank.memory_capacity_bytes,
    parts: memoryParts(rank, result).map(([kind, name, value]) => ({name, kind: `memory-${kind}`, value}))}));
  const graphs = result.ranks.some(rank => rank.graph_bytes > 0);
  const columns = [{title: "rank"}, {title: "allocated"}, ...graphs ? [{title: "kept by CUDA graphs"}] : [], {title: "reserved"},
    {title: "platform"}, {title: "total"}, {title: "capacity"}, {title: "fits", text: true}];
  const table = sortableTable("Memory of each captured rank at its peak", columns, result.ranks.map(rank => [
    cell(rankName(rank), rank.rank), figureCell("a_bytes", rank.peak_allocated_bytes),
    ...graphs ? [figureCell("a_bytes", rank.graph_bytes)] : [], figureCell("a_bytes", rank.peak_reserved_bytes), figureCell("a_bytes", result.platform_bytes),
    figureCell("a_bytes", rank.memory_peak_bytes), figureCell("a_bytes", rank.memory_capacity_bytes), cell(rank.fits ? "yes" : "no")]));
  return [legend([...used.map(([kind, name]) => [name, `memory-${kind}`]), ["capacity", "limit-swatch"]]),
    stackedBars("Memory by rank", "Parts of the memory of each captured rank, and its capacity; the table has the numbers", rows, format.bytes),
    leftOutText(result.ranks, ranks, "ranks"), h("p", {class: "lead"}, "What the allocator reserves and does not hand out is returned where memory is short. ",
      why.why("memory_headroom")), table];
}

// `key`: "operators" or "modules" of the rank whose kernels take longest.
function workTable(result, key) {
  const all = result[key];
  const drawn = all.slice(0, mostWork);
  const ofOperators = key === "operators";
  const hasLines = all.some(work => work.line);  // captures of before have none
  const columns = [...ofOperators ? [{title: "operator", text: true}] : [], {title: "module", text: true},
    ...hasLines ? [{title: "called at", text: true}] : [], {title: "phase", text: true},
    {title: "time"}, {title: "share"}, {title: "calls"}, ...ofOperators ? [{title: "tensors", text: true}, {title: "FLOP"}, {title: "bytes"}] : []];
  const rows = drawn.map(work => [...ofOperators ? [cell(work.name)] : [], cell(work.module || "-", work.module),
    ...hasLines ? [cell(work.line || "-", work.line ?? "")] : [], cell(work.phase),
    figureCell("a_s", work.seconds), cell(format.percent(work.share), work.share), cell(format.whole(work.calls), work.calls),
    ...ofOperators ? [cell(work.tensors), cell(work.flop > 0 ? format.flop(work.flop) : "-", work.flop), figureCell("a_bytes", work.bytes)] : []]);
  return [h("p", {class: "lead"}, `Of rank ${result.longest_rank}, whose kernels take longest. Numbers in paths of modules are *: blocks of a list are one place. Shares are of the step.`),
    sortableTable(ofOperators ? "Calls of an operator with the same tensors in the same place, and communication" : "Kernels of each module",
      columns, rows), all.length > drawn.length ? h("p", {class: "left-out"}, `The first ${drawn.length} of ${all.length} are shown; --format json has all.`) : null];
}
