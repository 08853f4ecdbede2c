// The reasons of figures: their formula with its numbers, and the sections that say the rest.

// Reads `data.explanation`: {figures: {key: {meaning, formula, see: [titles]}}, sections: [{title, text}]}.
class Explanation {
  constructor(explanation) {
    this.figures = explanation?.figures ?? {};
    this.sections = (explanation?.sections ?? []).map(({title, text}) => ({title,
      element: h("details", {class: "section"}, h("summary", {}, title),
        h("pre", {tabindex: 0, role: "group", "aria-label": title}, text))}));
  }

  // Makes the reason that stands beside a figure; null where nothing is said of it.
  why(key, name = words(key)) {
    const known = this.figures[key];
    if (!known) return null;
    return h("details", {class: "why"}, h("summary", {"aria-label": `Why: ${name}`}, "why"),
      h("div", {class: "because"}, h("p", {}, known.meaning),
        known.formula ? h("p", {class: "formula"}, known.formula) : null,
        (known.sources ?? []).map(source => h("p", {class: "source"}, `Source: ${source}`)), this.links(known.see ?? [])));
  }

  links(titles) {
    const found = this.sections.filter(section => titles.some(title => section.title.startsWith(title)));
    if (found.length === 0) return null;
    return h("p", {class: "see"}, "More: ", found.map(section => h("button", {type: "button", class: "link",
      onclick: () => this.open(section.element)}, section.title)));
  }

  open(element) {
    for (let at = element; at; at = at.parentElement?.closest("details")) at.open = true;
    element.scrollIntoView({block: "start"});
    element.querySelector("summary").focus();
  }

  parts() {
    if (this.sections.length === 0) return [];
    return [h("p", {class: "lead"}, "Kernels, collectives, memory and habits of the framework, each with its formula, numbers and sources."),
      this.sections.map(section => section.element)];
  }

  view(title = "How every cost comes about") {
    return this.sections.length === 0 ? null : view(title, this.parts());
  }
}
