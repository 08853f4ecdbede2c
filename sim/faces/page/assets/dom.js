// Elements with attributes and children; texts are never read as markup.
const svgNamespace = "http://www.w3.org/2000/svg";

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(Infinity).filter(child => child !== null && child !== undefined && child !== ""));
  return element;
}

function h(name, attributes = {}, ...children) {
  return fill(document.createElement(name), attributes, children);
}

function s(name, attributes = {}, ...children) {
  return fill(document.createElementNS(svgNamespace, name), attributes, children);
}

let ids = 0;
function newId(subject) {
  return `mirfak-${subject}-${++ids}`;
}

// A view: a part of the page with a heading.
function view(title, ...children) {
  const id = newId("view");
  return h("section", {class: "view", "aria-labelledby": id}, h("h2", {id}, title), children);
}

function copyButton(what, text) {
  const button = h("button", {type: "button", class: "copy", onclick: async () => {
    let said = "copied";
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      said = "not allowed here: select it and copy";
    }
    status.textContent = said;
    setTimeout(() => { status.textContent = ""; }, 4000);
  }}, `Copy ${what}`);
  const status = h("span", {class: "said", role: "status"});
  return h("span", {class: "copying"}, button, status);
}

// Text that is read in a fixed font, with a button that copies it.
function listing(what, text) {
  return h("div", {class: "listing"}, copyButton(what, text),
    h("pre", {tabindex: 0, role: "group", "aria-label": what}, text));
}

function factList(facts) {
  return h("dl", {class: "facts"}, facts.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))));
}

function notesView(notes) {
  if (!notes || notes.length === 0) return null;
  return view("Notes", h("ul", {class: "notes"}, notes.map(note => h("li", {}, note))));
}

function scenarioView(title, what, text) {
  return text ? view(title, listing(what, text)) : null;
}

// A drawing that is made again for the width that it has.
function drawing(draw) {
  const place = h("div", {class: "drawing"});
  let width = 0;
  const redraw = wanted => {
    if (Math.abs(wanted - width) < 1) return;
    width = wanted;
    place.replaceChildren(draw(width));
  };
  redraw(720);
  new ResizeObserver(entries => {
    const found = entries.at(-1).contentRect.width;
    if (found > 0) requestAnimationFrame(() => redraw(Math.max(240, Math.floor(found))));
  }).observe(place);
  return place;
}

function legend(entries) {
  return h("ul", {class: "legend"}, entries.map(([name, kind]) =>
    h("li", {}, s("svg", {class: "swatch", viewBox: "0 0 10 10", "aria-hidden": "true"},
      s("rect", {width: 10, height: 10, class: `fill ${kind}`})), name)));
}
