// Elements with attributes and children; texts are never read as markup.
function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children.flat().filter(child => child !== null && child !== undefined));
  return made;
}

const byId = id => document.getElementById(id);

// Calls `work` once nothing more has happened for so many milliseconds.
function debounced(work, milliseconds) {
  let timer = 0;
  const later = () => {
    clearTimeout(timer);
    timer = setTimeout(work, milliseconds);
  };
  later.now = () => {
    clearTimeout(timer);
    work();
  };
  return later;
}

async function copyText(text, what) {
  try {
    await navigator.clipboard.writeText(text);
    return `${what} is copied`;
  } catch {
    return `the browser does not let this page copy: select ${what} and copy it`;
  }
}
