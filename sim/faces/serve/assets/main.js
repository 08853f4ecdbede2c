// The page: every change of the form or of the text is sent as the scenario and the keys that changed; the answer is the
// scenario's text, its values for the form, and what the views show.
const editor = scenarioEditor(() => ask());
const pending = new Map();  // keys changed in the form that no answer holds yet
let fields = null;
let latest = 0;             // number of the last request: older answers are dropped
let shown = null;           // the scenario of the last answer: its text, what it states, and with every default
let running = null;         // AbortController of the request under way
let searching = null;       // ... of the search
const undone = [];          // texts before changes of the form and of the search
const status = byId("status");

const scenarioOfLink = () => {
  if (!location.hash.startsWith("#s=")) return null;
  try {
    const bytes = Uint8Array.from(atob(location.hash.slice(3).replaceAll("-", "+").replaceAll("_", "/")), letter => letter.charCodeAt(0));
    return new TextDecoder("utf-8", {fatal: true}).decode(bytes);
  } catch {
    say("this link holds no scenario", true);
    return null;
  }
};

function linkOf(text) {
  const bytes = new TextEncoder().encode(text);
  let letters = "";
  for (const byte of bytes) letters += String.fromCharCode(byte);
  return `#s=${btoa(letters).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "")}`;
}

function say(text, bad = false) {
  status.textContent = text;
  status.classList.toggle("bad", bad);
}

async function post(path, body, signal) {
  const answer = await fetch(path, {method: "POST", headers: {"Content-Type": "application/json"}, body: JSON.stringify(body), signal});
  return {ok: answer.ok, data: await answer.json()};
}

// An error of the scenario, at its place in the text.
function showError(error) {
  const known = error !== null && error.file === "scenario" && error.line > 0;
  byId("error").hidden = error === null;
  editor.mark(known ? {line: error.line, column: error.column} : null);
  fields.markInvalid(error?.message ?? null);
  byId("views").classList.toggle("stale", error !== null);
  if (error === null) return;
  const place = byId("place");
  place.hidden = !known;
  place.textContent = known ? `line ${error.line}, column ${error.column}` : "";
  place.onclick = () => editor.goTo(error);
  byId("message").textContent = error.message;
  byId("hint").textContent = error.hint;
}

// The views anew, with what was unfolded still so.
function showViews(place, data) {
  const nameOf = details => details.querySelector("summary")?.textContent;
  const open = new Set([...place.querySelectorAll("details[open]")].map(nameOf));
  mirfak.show(place, data);
  for (const details of place.querySelectorAll("details")) details.open ||= open.has(nameOf(details));
}

function showNotes(notes) {
  const list = byId("notes");
  list.replaceChildren(...notes.map(note => element("li", {}, note)));
  list.hidden = notes.length === 0;
}

function summary(data, milliseconds) {
  const {iteration_time_s: seconds, gpus, mfu} = data.page.result;
  const fits = data.shortage === null ? "" : "; does not fit in memory";
  return `${mirfak.format.seconds(seconds)} an iteration on ${gpus} GPUs, MFU ${mirfak.format.percent(mfu)}${fits}; answered in ${Math.round(milliseconds)} ms`;
}

function showAnswer(data, sent, milliseconds) {
  for (const [key, value] of sent) if (pending.get(key) === value) pending.delete(key);
  shown = data.scenario;
  editor.value = data.scenario.text;
  fields.show(data.scenario.stated, data.scenario.resolved, pending);
  showError(null);
  byId("title").textContent = data.page.title;
  data.page.facts = data.page.facts.filter(([name]) => name !== "scenario");  // it has no name here
  document.title = `${data.page.title} - mirfak`;
  showViews(byId("views"), data.page);
  if (data.broken_assertions !== null) byId("views").prepend(element("p", {class: "warning", role: "note"}, data.broken_assertions));
  if (data.shortage !== null) byId("views").prepend(element("p", {class: "warning", role: "note"}, `Out of memory: ${data.shortage.message}\n${data.shortage.hint}`));
  history.replaceState(null, "", linkOf(data.scenario.text));
  say(summary(data, milliseconds), data.shortage !== null);
}

async function simulate() {
  const number = ++latest;
  document.body.dataset.asked = String(number);
  running?.abort();
  running = new AbortController();
  const sent = new Map(pending);
  const begin = performance.now();
  try {
    const {ok, data} = await post("/api/simulate", {scenario: editor.value, set: Object.fromEntries(sent)}, running.signal);
    if (number !== latest) return;
    if (ok) {
      showAnswer(data, sent, performance.now() - begin);
      document.body.dataset.answered = String(number);
      return await addNotes(number);
    }
    if (data.text !== undefined) {
      editor.value = data.text;
      pending.clear();
      if (data.stated !== null) fields.show(data.stated, shown?.resolved ?? {}, pending);
    }
    showNotes([]);
    showError(data.error);
    document.body.dataset.answered = String(number);
    say(`not simulated: ${data.error.message}`, true);
  } catch (failure) {
    if (failure.name === "AbortError") return;
    say("mirfak serve does not answer: is it still running?", true);
  }
}

// Of keys that change nothing; they take some simulations more.
async function addNotes(number) {
  const {ok, data} = await post("/api/notes", {scenario: editor.value}, running.signal);
  if (number === latest && ok) showNotes(data.notes);
}

const ask = debounced(simulate, 150);

function remember() {
  if (undone.at(-1) !== editor.value) undone.push(editor.value);
  byId("undo").disabled = false;
}

function changeKey(key, value) {
  remember();
  pending.set(key, value);
  ask();
}

function load(text) {
  pending.clear();
  editor.value = text;
  ask.now();
}

async function search() {
  searching?.abort();
  const mine = searching = new AbortController();
  byId("stop").hidden = false;
  byId("search").disabled = true;
  const seconds = Number(byId("limit").value) || 20;
  const base = shown?.text === editor.value ? shown : null;
  say(`searching, for ${seconds} s at most`);
  try {
    const {ok, data} = await post("/api/search", {scenario: editor.value, time_limit_s: seconds,
      set: {strategy: null, assert: null, "search.objective": byId("objective").value}}, mine.signal);
    if (ok) showFound(data, base);
    else say(`not searched: ${data.error.message}`, true);
  } catch (failure) {
    say(failure.name === "AbortError" ? "the search was stopped" : "mirfak serve does not answer: is it still running?", true);
  }
  if (searching !== mine) return;
  byId("stop").hidden = true;
  byId("search").disabled = false;
}

// The searched scenario with the strategy that was found, as it is written where the keys of its strategy are all that
// changes; else the whole scenario that the search gives.
async function textWith(found, base, whole) {
  const nodesOf = cluster => JSON.stringify(cluster.map(({type, count}) => [type, count]));
  if (base === null || nodesOf(found.nodes) !== nodesOf(base.resolved.cluster.nodes)) return whole;
  const stated = base.stated.strategy ?? {};
  const before = base.resolved.strategy;
  const differs = (a, b) => JSON.stringify(a) !== JSON.stringify(b);
  const set = {};
  for (const key of Object.keys(stated)) if (!(key in found.strategy)) set[`strategy.${key}`] = null;
  for (const [key, value] of Object.entries(found.strategy)) if (differs(value, before[key])) set[`strategy.${key}`] = value;
  const {ok, data} = await post("/api/simulate", {scenario: base.text, set});
  const same = ok && !differs(Object.entries(data.scenario.resolved.strategy).sort(), Object.entries(found.strategy).sort());
  return same ? data.scenario.text : whole;
}

function showFound(data, base) {
  const {result} = data.page;
  const found = byId("found");
  found.hidden = false;
  const take = async index => {
    remember();
    say("simulating what the search found");
    load(await textWith(result.strategies[index], base, data.page.scenarios[index]));
  };
  showViews(found, {...data.page, take});
  const stopped = result.complete ? "" : `; stopped after ${data.time_limit_s} s, others may be better`;
  const count = result.strategies.length;
  say(data.failure ? `nothing found: ${data.failure.message}` : `${count} ${count === 1 ? "strategy" : "strategies"} found in ${
    mirfak.format.seconds(result.search_time_s)}${stopped}`, data.failure !== null);
  found.scrollIntoView({block: "nearest"});
}

async function start() {
  const catalogue = await (await fetch("/api/catalogue")).json();
  mirfak.learn(catalogue.units);
  fields = scenarioFields(catalogue, changeKey);
  const objectives = schemaOf(catalogue.schema, "search.objective").enum ?? [];
  byId("objective").append(...objectives.map(name => element("option", {value: name}, name === "pareto" ? "time and cost (Pareto)" : name.replaceAll("-", " "))));
  byId("form").addEventListener("submit", event => event.preventDefault());
  byId("search").addEventListener("click", search);
  byId("stop").addEventListener("click", () => searching?.abort());
  byId("copy").addEventListener("click", async () => say(await copyText(editor.value, "the scenario")));
  byId("link").addEventListener("click", async () => say(await copyText(location.href, "the link")));
  byId("undo").addEventListener("click", () => {
    const text = undone.pop();
    byId("undo").disabled = undone.length === 0;
    if (text !== undefined) load(text);
  });
  addEventListener("hashchange", () => {
    const text = scenarioOfLink();
    if (text !== null && text !== editor.value) load(text);
  });
  load(scenarioOfLink() ?? catalogue.example);
}

start().catch(() => say("mirfak serve does not answer: is it still running?", true));
