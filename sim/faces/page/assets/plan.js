// Plans of Alpa's planner for a search's scenario: stages of a plan, other plans, the search's best beside them.
function showPlan(data) {
  const {result} = data;
  const best = result.strategies[0];
  return [factList([["model", result.model], ["planner", `Alpa, ${planLevels(result.levels)}`], ["plans told", String(result.strategies.length)],
    ["planned for", format.seconds(result.planning.total_s)], ["finished", result.complete ? "yes" : "no: stopped before"]]),
    best ? cards(planCards(result)) : h("p", {class: "warning", role: "note"}, data.failure ?? "No plan was found."),
    result.plan ? view("Stages of the plan", planText(result), planStages(result.plan)) : null,
    best ? view("Plans by the engine", paretoPlot(data), strategyTable(data)) : null,
    best ? view("One by one", h("p", {class: "lead"}, "What each plan does with its time and memory, why, and a whole scenario for mirfak simulate."),
      strategyDetails(data)) : null,
    planningView(result.planning), notesView(result.notes), scenarioView("What was planned", "the scenario", data.scenario)];
}

function planLevels(levels) {
  return {both: "intra- and inter-operator parallelism", "intra-only": "intra-operator parallelism alone", "inter-only": "inter-operator parallelism alone"}[levels];
}

function planCards(result) {
  const {plan, search} = result;
  const best = result.strategies[0];
  return [
    {name: "Iteration", value: format.seconds(plan.iteration_time_s), lines: [
      `${format.seconds(plan.planned_time_s)} as planned, before changes of one thing`, `${format.seconds(plan.estimate_s)} by the planner's count`]},
    search && {name: "The search's best", value: format.seconds(search.iteration_time_s), lines: [
      `the plan takes ${format.signedPercent(plan.iteration_time_s / search.iteration_time_s - 1)}`]},
    {name: "Memory", value: format.bytes(best.memory_peak_bytes), lines: [`of ${format.bytes(best.memory_capacity_bytes)}`]},
    plan.any_sharding && {name: "Any shardings of the blocks", value: format.seconds(plan.any_sharding.any_s), lines: [
      `${format.seconds(plan.any_sharding.expressible_s)} as strategies can say`, plan.any_sharding.proven ? "proven" : "the best found in its time"]},
  ];
}

function planText(result) {
  const changed = differences(result.strategies[0].strategy, result.plan.strategy);
  return h("p", {class: "lead"}, changed === "the same" ? "The engine found no change of one thing that is faster."
    : `Changed by what the engine says of changes: ${changed}.`);
}

function planStages(plan) {
  const columns = [{title: "stage"}, {title: "layers", text: true}, {title: "GPUs"}, {title: "mesh", text: true}, {title: "tensor"}, {title: "data"}, {title: "expert"},
    {title: "in flight"}, {title: "a microbatch"}, {title: "by integer programs"}, {title: "memory"}];
  const whole = value => cell(String(value), value);
  const table = sortableTable("Stages of the plan, as the planner counts them", columns, plan.stages.map((stage, index) => [
    whole(index), cell(`${stage.first_layer}-${stage.first_layer + stage.layers - 1}`, stage.first_layer), whole(stage.nodes * stage.gpus_per_node),
    cell(stage.mesh.join(" x ")), whole(stage.tensor), whole(stage.data), whole(stage.expert), whole(stage.in_flight),
    figureCell("a_s", stage.microbatch_s), figureCell("a_s", stage.integer_programs_s), figureCell("a_bytes", stage.memory_bytes)]));
  const rows = plan.stages.map((stage, index) => ({label: `stage ${index}`, parts: [{name: "a microbatch", kind: "gemm", value: stage.microbatch_s}]}));
  return [rows.length > 1 ? stackedBars("Time of a microbatch by stage", "What a microbatch takes on each stage; the table has the numbers", rows, format.seconds) : null, table];
}

function planningView(planning) {
  const rows = [["choices of what stages share", planning.choices, null], ["logical meshes of submeshes", planning.meshes, null],
    ["integer programs, of all threads", planning.integer_programs, planning.integer_programs_s], ["partitions, of all threads", planning.partitions, planning.partitions_s],
    ["executed by the engine", planning.executed, planning.executed_s], ["... of these changes of one thing", planning.changes, null]];
  return view("The planner's work", sortableTable("Steps of planning", [{title: "step", text: true}, {title: "number"}, {title: "time"}],
    rows.map(([name, count, time], index) => [cell(name, index), cell(format.count(count), count), time === null ? cell("", null) : figureCell("a_s", time)])));
}
