// A text field with a list that shrinks to what fits the letters typed: arrows, Enter and Escape as in the pattern
// "combobox" of the ARIA Authoring Practices. `options`: {name, more}.
function combobox(id, options, changed) {
  const list = element("ul", {id: `${id}-list`, role: "listbox", hidden: true});
  const input = element("input", {id, type: "text", role: "combobox", "aria-expanded": "false", "aria-autocomplete": "list",
    "aria-controls": `${id}-list`, spellcheck: "false"});
  let shown = [];
  let active = -1;
  let before = "";

  function fitting(text) {
    const words = text.toLowerCase().split(/\s+/).filter(Boolean);
    const holds = option => words.every(word => `${option.name} ${option.more}`.toLowerCase().includes(word));
    const found = options.filter(holds);
    const first = text.toLowerCase();
    return found.sort((a, b) => b.name.startsWith(first) - a.name.startsWith(first));
  }

  function open(text) {
    shown = fitting(text);
    active = -1;
    list.replaceChildren(...shown.map((option, index) => element("li", {role: "option", id: `${id}-${index}`, "aria-selected": "false",
      onmousedown: event => event.preventDefault(), onclick: () => take(option.name)}, option.name, option.more ? element("small", {}, option.more) : null)));
    if (shown.length === 0) list.append(element("li", {class: "none"}, "no such name in the catalogue"));
    list.hidden = false;
    input.setAttribute("aria-expanded", "true");
  }

  function close() {
    list.hidden = true;
    input.setAttribute("aria-expanded", "false");
    input.removeAttribute("aria-activedescendant");
  }

  function activate(index) {
    if (shown.length === 0) return;
    list.children[active]?.setAttribute("aria-selected", "false");
    active = (index + shown.length) % shown.length;
    const item = list.children[active];
    item.setAttribute("aria-selected", "true");
    item.scrollIntoView({block: "nearest"});
    input.setAttribute("aria-activedescendant", item.id);
  }

  function take(name) {
    input.value = name;
    close();
    if (name !== before) changed(name);
    before = name;
  }

  input.addEventListener("focus", () => {
    before = input.value;
    input.select();
  });
  input.addEventListener("click", () => { if (list.hidden) open(""); });
  input.addEventListener("input", () => open(input.value));
  input.addEventListener("blur", () => {
    if (list.hidden && input.value === before) return;
    close();
    const typed = input.value.trim();
    take(typed === "" ? before : typed);
  });
  input.addEventListener("keydown", event => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      if (list.hidden) open("");
      activate(event.key === "ArrowDown" ? active + 1 : active < 0 ? -1 : active - 1);
    } else if (event.key === "Enter") {
      event.preventDefault();
      take(active >= 0 ? shown[active].name : input.value.trim() || before);
    } else if (event.key === "Escape" && !list.hidden) {
      input.value = before;
      close();
    }
  });
  return {input, element: element("div", {class: "choice"}, input, list)};
}
