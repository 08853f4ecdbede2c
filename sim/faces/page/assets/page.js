// The views of each kind of data, and a page that holds its data.
const views = {simulate: showSimulation, capture: showCapture, jobs: showJobs, search: showSearch, plan: showPlan, sweep: showSweep,
  frontier: showFrontier, train: showTraining, validate: showValidation, traces: showTraces, compare: showComparison};

// Draws the views of `data` into `element`, in place of what was there. `data.kind` says which.
function show(element, data) {
  learn(data.units);
  const draw = views[data.kind];
  if (!draw) throw new Error(`there are no views of '${data.kind}'`);
  element.classList.add("mirfak");
  element.replaceChildren(...[draw(data)].flat(Infinity).filter(Boolean));
}

// Links to the views of a page, in front of them.
function contents(element) {
  const links = [...element.querySelectorAll("h2")].map(heading => h("li", {}, h("a", {href: `#${heading.id}`}, heading.textContent)));
  return links.length > 2 ? h("nav", {"aria-label": "Contents"}, h("ul", {}, links)) : null;
}

// Unfolds everything for printing.
let opened = [];
addEventListener("beforeprint", () => {
  opened = [...document.querySelectorAll(".mirfak details:not([open])")];
  for (const details of opened) details.open = true;
});
addEventListener("afterprint", () => {
  for (const details of opened) details.open = false;
  opened = [];
});

const held = document.getElementById("mirfak-data");
if (held) {
  const main = document.querySelector("main");
  show(main, JSON.parse(held.textContent));
  main.before(contents(main) ?? "");
}

return {show, format, learn};
