// Several jobs on one cluster: what each takes alone and beside the others, and which links they wait for.
function showJobs(data) {
  const {result} = data;
  const slowest = result.jobs.reduce((most, job) => job.slowdown > most.slowdown ? job : most);
  return [factList(data.facts ?? []), cards([
    {name: "Slowed most", value: format.signedPercent(slowest.slowdown), lines: [slowest.name, `${format.seconds(slowest.mean_s)} for ${format.seconds(slowest.alone_s)} alone`]},
    {name: "All jobs ran for", value: format.seconds(result.together_s), lines: [`${format.whole(result.jobs.reduce((sum, job) => sum + job.iterations, 0))} iterations`]},
    {name: "Links that may be short", value: format.whole(result.contended_links), lines: ["that several jobs send over"]},
    {name: "Energy", value: format.joules(result.cluster.energy_j), lines: [`${format.watts(result.cluster.average_power_w)} on average`,
      result.cluster.idle_nodes > 0 ? `${format.joules(result.cluster.idle_energy_j)} of ${result.cluster.idle_nodes} nodes without a job` : null]},
    {name: "Cost", value: shown("cost_usd", result.cluster.cost_usd), lines: ["while all jobs run"]}]),
    view("Iterations with the others running", addedBars(result.jobs), jobTable(result.jobs)), jobLinksView(result.links),
    view("Job by job", h("p", {class: "lead"}, "One iteration of each while all jobs run, on average; the timeline shows one of them."),
      result.jobs.map((job, index) => h("details", {class: "section"}, h("summary", {}, job.name), iterationParts(job.iteration, data.jobs[index])))),
    networkView(data.network ?? []), notesView(result.notes), scenarioView("The scenario", "the scenario", data.scenario)];
}

// An iteration as if no link were short, what own traffic adds, and what that of the others does.
function addedBars(jobs) {
  const parts = job => [{name: "if no link were short", kind: "gemm", value: job.unbound_s},
    {name: "own traffic adds", kind: "data_communication", value: Math.max(0, job.alone_s - job.unbound_s)},
    {name: "the others add", kind: "pipeline_communication", value: Math.max(0, job.mean_s - job.alone_s)}];
  const shownJobs = thinned(jobs, mostBars);
  return [legend(parts(jobs[0]).map(part => [part.name, part.kind])),
    stackedBars("What the network adds", "Parts of an iteration of each job with the others running; the table has the numbers",
      shownJobs.map(job => ({label: job.name, parts: parts(job)})), format.seconds), leftOutText(jobs, shownJobs, "jobs")];
}

function jobTable(jobs) {
  const columns = [{title: "job", text: true}, {title: "nodes", text: true}, {title: "GPUs"}, {title: "no link short"}, {title: "alone"}, {title: "together"}, {title: "slower by"},
    {title: "least"}, {title: "most"}, {title: "iterations"}, {title: "waiting for others"}, {title: "... its cost"}, {title: "fits", text: true}];
  return sortableTable("An iteration of each job", columns, jobs.map(job => [cell(job.name), cell(job.nodes), cell(String(job.gpus), job.gpus),
    figureCell("a_s", job.unbound_s), figureCell("a_s", job.alone_s), figureCell("a_s", job.mean_s), cell(format.signedPercent(job.slowdown), job.slowdown),
    figureCell("a_s", job.least_s), figureCell("a_s", job.most_s), cell(String(job.iterations), job.iterations),
    figureCell("energy_j", job.waiting_for_others.energy_j), figureCell("cost_usd", job.waiting_for_others.cost_usd), cell(job.fits ? "yes" : "no")]));
}

function jobLinksView(links) {
  const kinds = links?.kinds ?? [];
  if (kinds.length === 0) return null;
  const columns = [{title: "links", text: true}, {title: "number"}, {title: "of each"}, {title: "sent"}, {title: "mean use"}, {title: "peak"}, {title: "short"},
    {title: "for up to"}, {title: "asked for"}];
  const gigabytes = value => `${format.number(value / 1e9)} GB/s`;
  const ofEach = kind => kind.least_bytes_per_s === kind.most_bytes_per_s ? gigabytes(kind.most_bytes_per_s)
    : `${gigabytes(kind.least_bytes_per_s)} to ${gigabytes(kind.most_bytes_per_s)}`;
  return view("Links of the network", sortableTable("Use of the links of each kind while all jobs run", columns, kinds.map(kind => [cell(kind.kind),
    cell(format.whole(kind.links), kind.links), cell(ofEach(kind), kind.most_bytes_per_s), figureCell("a_bytes", kind.bytes),
    cell(format.percent(kind.mean_use), kind.mean_use), cell(format.percent(kind.peak_use), kind.peak_use), cell(format.whole(kind.binding_links), kind.binding_links),
    figureCell("a_s", kind.binds_s), cell(kind.most_asked > 0 ? `${format.number(kind.most_asked)} x` : "", kind.most_asked)])));
}

function networkView(sections) {
  if (sections.length === 0) return null;
  return view("What the network adds, and whose traffic slows whose", sections.map(({title, text}) => h("details", {class: "section"}, h("summary", {}, title),
    h("pre", {tabindex: 0, role: "region", "aria-label": title}, text))));
}
