// The page: every change of the form or of the text is sent as the scenario and the keys that changed; the answer is the
// scenario's text, its values for the form, and what the views show.
const editor = scenarioEditor(() => ask());
const pending = new Map();  // keys changed in the form that no answer holds yet
let fields = null;
let latest = 0;             // number of the last request: older answers are dropped
let shown = null;           // the scenario of the last answer: its text, what it states, and with every default
let running = null;         // AbortController of the request under way
let searching = null;       // ... of the search
let titled = "";            // what the figures are of
const undone = [];          // texts before changes of the form and of the search
const mostLetters = 400 * 1024;  // of files given to the page: a request may have 512 KiB
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
  return {ok: answer.ok, status: answer.status, data: await answer.json()};
}

// An error of the scenario, at its place in the text.
function showError(error) {
  const known = error !== null && error.file === "scenario" && error.line > 0;
  byId("error").hidden = error === null;
  editor.mark(known ? {line: error.line, column: error.column} : null);
  fields.markInvalid(error?.message ?? null);
  byId("views").classList.toggle("stale", error !== null);
  byId("figures").classList.toggle("stale", error !== null);
  if (titled) showTitle(error === null ? titled : `Before the last change: ${titled}`);
  if (error === null) return;
  const place = byId("place");
  place.hidden = !known;
  place.textContent = known ? `line ${error.line}, column ${error.column}` : "";
  place.onclick = () => editor.goTo(error);
  byId("message").textContent = error.message;
  byId("hint").textContent = error.hint;
}

function showTitle(text) {
  byId("title").textContent = text;
  document.title = `${text} - mirfak`;
}

// The views anew, with what was unfolded still so; what stands at the top of them is moved to `top`, figures first.
function showViews(place, data, top = null) {
  const nameOf = details => details.querySelector("summary")?.getAttribute("aria-label") ?? details.querySelector("summary")?.textContent;
  const places = top ? [place, top] : [place];
  const unfolded = places.flatMap(at => [...at.querySelectorAll("details[open]")]).filter(details => !details.matches(".card .why"));
  const open = new Set(unfolded.map(nameOf));
  mirfak.show(place, data);
  for (const details of place.querySelectorAll("details")) details.open ||= open.has(nameOf(details));
  if (!top) return;
  const cards = place.querySelector(":scope > .cards");
  const first = [...place.children].slice(0, [...place.children].indexOf(cards) + 1);
  const facts = first.filter(part => part.matches(".facts"));
  top.replaceChildren(element("div", {class: "mirfak"}, first.filter(part => !facts.includes(part)), facts));
}

// A button that looks for a strategy, where the one that is stated does not fit; it stands in front of the figures.
function offerSearch(why) {
  byId("offer")?.remove();
  if (why === null) return;
  const button = element("button", {type: "button", id: "fit", onclick: () => search(true)}, "Find a strategy that fits");
  byId("figures").prepend(element("p", {class: "offer", id: "offer"}, button, element("span", {}, why)));
}

// True for an error that another strategy may mend.
function isOfStrategy({status, data}) {
  return status === 422 || data.error.message.startsWith("strategy.");
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
  titled = data.page.title;
  showTitle(titled);
  data.page.facts = data.page.facts.filter(([name]) => name !== "scenario");  // it has no name here
  showViews(byId("views"), data.page, byId("figures"));
  if (data.broken_assertions !== null) byId("figures").prepend(element("p", {class: "warning", role: "note"}, data.broken_assertions));
  offerSearch(data.shortage !== null ? "This one needs more memory than there is." : null);
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
    const answer = await post("/api/simulate", {scenario: editor.value, set: Object.fromEntries(sent)}, running.signal);
    const {ok, data} = answer;
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
    offerSearch(isOfStrategy(answer) ? "This one does not fit the model and the GPUs." : null);
    document.body.dataset.answered = String(number);
    say(`not simulated: ${data.error.message}`, true);
  } catch (failure) {
    if (failure.name === "AbortError") return;
    say("mirfak serve does not answer: is it still running?", true);
  }
}

// Adds notes on keys that change nothing; these take some simulations more.
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
  showReadAs(null);
  editor.value = text;
  ask.now();
}

// Files of the reader's own, of which the first decides.
async function give(files) {
  const whole = files.reduce((sum, file) => sum + file.text.length, 0);
  if (whole > mostLetters) return say(`these files have ${Math.round(whole / 1024)} KiB, and ${mostLetters / 1024} KiB is the most that is read here: use mirfak import`, true);
  try {
    const {ok, data} = await post("/api/import", {files, scenario: editor.value});
    if (!ok) return say(`not read: ${data.error.message}${data.error.hint ? `; ${data.error.hint}` : ""}`, true);
    remember();
    load(data.text);
    showReadAs({...data, names: files.map(file => file.name).join(", ")});
  } catch {
    say("mirfak serve does not answer: is it still running?", true);
  }
}

// Says what the reader's files were read as; null: there are none.
function showReadAs(given) {
  const place = byId("read-as");
  place.hidden = given === null;
  if (given) place.textContent = [`${given.names}: read as ${given.read_as}`, ...given.obstacles.map(text => `Not known: ${text}`)].join("\n");
}

// The kind of a text without a name, by how it begins.
function nameOfPasted(text) {
  if (text.trimStart().startsWith("{")) return "pasted.json";
  return /^\s*(#[^!].*\n\s*)*[A-Za-z_]+:(\s|$)/.test(text) ? "pasted.yaml" : "pasted.sh";
}

const textsOf = list => Promise.all([...list].map(async file => ({name: file.name, text: await file.text()})));

function takeFiles() {
  const dropping = on => event => {
    if (![...event.dataTransfer.types].includes("Files")) return;
    event.preventDefault();
    document.body.classList.toggle("dropping", on);
  };
  addEventListener("dragover", dropping(true));
  addEventListener("dragleave", dropping(false));
  addEventListener("drop", async event => {
    dropping(false)(event);
    if (event.dataTransfer.files.length > 0) await give(await textsOf(event.dataTransfer.files));
  });
  byId("choose").addEventListener("click", () => byId("files").click());
  byId("files").addEventListener("change", async event => {
    await give(await textsOf(event.target.files));
    event.target.value = "";
  });
  addEventListener("paste", event => {
    const text = event.clipboardData.getData("text/plain");
    const at = event.target;
    const box = byId("text");
    const whole = at === box && box.selectionStart === 0 && box.selectionEnd === box.value.length;
    if (text.trim() === "" || (at.matches("input, textarea, select") && !whole)) return;
    event.preventDefault();
    give([{name: nameOfPasted(text), text}]);
  });
}

function showExamples(examples) {
  const select = byId("example");
  select.append(element("option", {value: ""}, "choose"), ...examples.map(({name, about}, index) => element("option", {value: String(index), title: about}, name)));
  select.addEventListener("change", () => {
    if (select.value === "") return;
    remember();
    load(examples[Number(select.value)].text);
    select.value = "";
  });
}

// `use`: the best that is found is used at once.
async function search(use = false) {
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
    if (ok) await showFound(data, base, use);
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

async function showFound(data, base, use) {
  const {result} = data.page;
  const found = byId("found");
  found.hidden = false;
  const take = async index => {
    remember();
    say("simulating what the search found");
    load(await textWith(result.strategies[index], base, data.page.scenarios[index]));
  };
  showViews(found, {...data.page, take});
  found.prepend(element("p", {class: "searched"}, `${data.page.title} `,
    element("button", {type: "button", onclick: () => { found.hidden = true; }}, "Close")));
  const stopped = result.complete ? "" : `; stopped after ${data.time_limit_s} s, others may be better`;
  const count = result.strategies.length;
  say(data.failure ? `nothing found: ${data.failure.message}` : `${count} ${count === 1 ? "strategy" : "strategies"} found in ${
    mirfak.format.seconds(result.search_time_s)}${stopped}`, data.failure !== null);
  if (use && count > 0) return await take(0);
  found.scrollIntoView({block: "nearest"});
}

async function start() {
  const catalogue = await (await fetch("/api/catalogue")).json();
  mirfak.learn(catalogue.units);
  fields = scenarioFields(catalogue, changeKey);
  const objectives = schemaOf(catalogue.schema, "search.objective").enum ?? [];
  byId("objective").append(...objectives.map(name => element("option", {value: name}, name === "pareto" ? "time and cost (Pareto)" : `least ${name.replaceAll("-", " ")}`)));
  byId("form").addEventListener("submit", event => event.preventDefault());
  byId("search").addEventListener("click", () => search());
  showExamples(catalogue.examples);
  takeFiles();
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
  load(scenarioOfLink() ?? catalogue.start);
}

start().catch(() => say("mirfak serve does not answer: is it still running?", true));
