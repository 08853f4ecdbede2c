// The fields of the form: each is a key of the scenario. What they may hold is what the JSON Schema of scenarios and the
// catalogue say.
const groups = [
  {title: "Model", keys: ["model"]},
  {title: "Cluster", keys: []},  // of each entry of cluster.nodes
  {title: "Training", keys: ["training.framework", "training.global_batch", "training.sequence_length", "training.precision"]},
  {title: "Strategy", pairs: ["strategy.tensor", "strategy.pipeline", "strategy.context", "strategy.expert", "strategy.data",
    "strategy.virtual_pipeline"],
    keys: ["strategy.micro_batch", "strategy.schedule", "strategy.zero", "strategy.recompute", "strategy.sequence_parallel"]},
];
const mostEntries = 16;
const titles = {type: "node type", count: "nodes", "strategy.micro_batch": "microbatch",
  "strategy.virtual_pipeline": "chunks", "training.global_batch": "batch", "training.sequence_length": "sequence",
  "strategy.sequence_parallel": "sequence parallel", "strategy.zero": "ZeRO", model: "name"};

// "cluster.nodes[0].type" as ["cluster", "nodes", 0, "type"].
const stepsOf = key => key.split(/[.[]/).map(step => (step.endsWith("]") ? Number(step.slice(0, -1)) : step));
const lastStep = key => key.split(".").at(-1);
const valueAt = (root, key) => stepsOf(key).reduce((at, step) => at?.[step], root);

// Finds the schema of a key, through lists and alternatives.
function schemaOf(schema, key) {
  let at = schema;
  for (const step of stepsOf(key)) {
    const choices = [at, ...(at?.anyOf ?? [])];
    at = typeof step === "number" ? choices.find(choice => choice.items)?.items : choices.find(choice => choice.properties)?.properties[step];
    if (!at) return {};
  }
  const inner = (at.anyOf ?? []).find(choice => choice.enum || choice.type === "integer" || choice.type === "number");
  return {...inner, ...at};
}

const billions = count => (count >= 1e12 ? `${(count / 1e12).toPrecision(3)}T` : count >= 1e9 ? `${(count / 1e9).toPrecision(3)}B` : `${(count / 1e6).toPrecision(3)}M`);
const kindWords = kind => `${kind.gpus} × ${kind.gpu}, ${Math.round(kind.memory_bytes / 2 ** 30)} GiB each, ${
  kind.usd_per_gpu_hour === null ? "no price known" : `$${kind.usd_per_gpu_hour.toFixed(2)} per GPU hour`}`;
const nodeWords = node => node.kinds.map(kindWords).join(" + ");

function optionsOf(key, catalogue) {
  if (key === "model") {
    return catalogue.models.map(model => ({name: model.name, more: `${billions(model.parameters)} parameters, ${model.layers} layers`}));
  }
  if (key.endsWith(".type")) return catalogue.nodes.map(node => ({name: node.name, more: nodeWords(node)}));
  if (key === "training.framework") return catalogue.frameworks.map(name => ({name, more: ""}));
  return null;
}

function choicesOf(key, schema, catalogue) {
  if (key === "strategy.schedule") return catalogue.schedules.map(schedule => schedule.name);
  if (schema.enum) return schema.enum.map(String);
  if (schema.type === "boolean") return ["true", "false"];
  if (schema.type === "integer" && schema.maximum - schema.minimum < 8) {
    return Array.from({length: schema.maximum - schema.minimum + 1}, (_, index) => String(schema.minimum + index));
  }
  return null;
}

// `changed(key, value)`: value is null where the field is left to its default.
function scenarioFields(catalogue, changed) {
  const fields = new Map();

  function makeField(key) {
    const schema = schemaOf(catalogue.schema, key);
    const id = `field-${key.replace(/[^a-z_0-9]/g, "-")}`;
    const options = optionsOf(key, catalogue);
    const choices = options ? null : choicesOf(key, schema, catalogue);
    let input;
    let shown;
    if (options) {
      const box = combobox(id, options, value => changed(key, value));
      [input, shown] = [box.input, box.element];
    } else if (choices) {
      input = element("select", {id}, element("option", {value: ""}, "default"), choices.map(choice => element("option", {value: choice}, choice)));
      shown = input;
    } else {
      input = element("input", {id, type: "text", inputmode: "numeric"});
      shown = input;
    }
    if (!options) {
      input.addEventListener(choices ? "change" : "input", () => changed(key, input.value.trim() === "" ? null : input.value.trim()));
    }
    const label = element("label", {for: id, title: `${key}: ${schema.description ?? ""}`}, titles[key] ?? titles[lastStep(key)] ?? lastStep(key).replaceAll("_", " "));
    fields.set(key, {input, label, choices});
    return element("div", {class: "row"}, label, shown);
  }

  const entries = element("div", {});
  const aside = element("p", {class: "aside"});
  for (const group of groups) {
    byId("groups").append(element("fieldset", {}, element("legend", {}, group.title),
      group.pairs ? element("div", {class: "pairs"}, group.pairs.map(makeField)) : null, group.keys.map(makeField),
      group.title === "Cluster" ? [entries, aside] : null));
  }

  const entryKeys = index => ["type", "count"].map(key => `cluster.nodes[${index}].${key}`);

  // Fields for as many entries as there are, and one where there are none.
  function fitEntries(count) {
    while (entries.children.length < count) {
      const index = entries.children.length;
      entries.append(element("div", {class: "entry", role: "group"}, entryKeys(index).map(makeField), element("p", {class: "aside"})));
    }
    while (entries.children.length > count) {
      entries.lastElementChild.remove();
      for (const key of entryKeys(entries.children.length)) fields.delete(key);
    }
    [...entries.children].forEach((entry, index) => entry.setAttribute("aria-label", `nodes, entry ${index + 1} of ${count}`));
  }

  function showNodes(stated) {
    const nodes = valueAt(stated, "cluster.nodes");
    const count = Array.isArray(nodes) ? nodes.length : 0;
    fitEntries(Math.min(Math.max(1, count), mostEntries));
    [...entries.children].forEach((entry, index) => {
      const node = catalogue.nodes.find(each => each.name === nodes?.[index]?.type);
      entry.lastElementChild.textContent = node ? nodeWords(node) : "";
    });
    aside.textContent = count > mostEntries ? `the first ${mostEntries} of ${count} entries: the others are in the text` : "";
  }

  // `stated`: what the scenario says; `resolved`: with every default. `kept`: keys that were changed since.
  function show(stated, resolved, kept) {
    showNodes(stated);
    for (const [key, {input, label, choices}] of fields) {
      const own = valueAt(stated, key);
      const whole = valueAt(resolved, key);
      const plain = value => value !== null && value !== undefined && typeof value !== "object";
      label.classList.toggle("set", own !== undefined);
      if (choices) input.options[0].textContent = plain(whole) && own === undefined ? `${whole} (default)` : "default";
      else input.placeholder = plain(whole) ? String(whole) : typeof own === "object" ? "in the text" : "";
      const chosen = input === document.activeElement && input.getAttribute("aria-expanded") === "true";
      if (kept.has(key) || chosen) continue;
      const text = plain(own) ? String(own) : "";
      if (choices && text !== "" && !choices.includes(text)) input.append(element("option", {value: text}, text));
      if (input.value !== text) input.value = text;
    }
  }

  fitEntries(1);

  function markInvalid(message) {
    for (const [key, {input}] of fields) {
      const named = message !== null && message.startsWith(`${key}:`);
      named ? input.setAttribute("aria-invalid", "true") : input.removeAttribute("aria-invalid");
    }
  }

  return {show, markInvalid};
}
