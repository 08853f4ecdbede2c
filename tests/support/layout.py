"""Faults that a reader could not see on a page: text cut off without a cue, and parts of drawings beyond their box."""

FAULTS = """
  const faults = [];
  const name = element => `${element.tagName.toLowerCase()}.${element.className.baseVal ?? element.className}: ${element.textContent.trim().slice(0, 40)}`;
  const seen = element => element.checkVisibility() && element.getBoundingClientRect().width > 1;
  for (const element of document.querySelectorAll('body *')) {
    if (element.namespaceURI.endsWith('svg') || !seen(element)) continue;
    const style = getComputedStyle(element);
    if (style.overflowX === 'visible' || element.scrollWidth <= element.clientWidth + 1) continue;
    const shades = element.matches('.scrolled') && element.parentElement.matches('.cued.cut-left, .cued.cut-right') && !element.parentElement.nextElementSibling.hidden;
    const dots = style.textOverflow === 'ellipsis' && element.title;
    if (!shades && !dots && !element.matches('input, select, textarea, .editor *')) faults.push(`cut off without a cue: ${name(element)}`);
  }
  for (const svg of document.querySelectorAll('svg')) {
    if (!seen(svg)) continue;
    const box = svg.getBoundingClientRect();
    const around = svg.closest('.view, .card, .mirfak, main').getBoundingClientRect();
    if (box.left < around.left - 1 || box.right > around.right + 1) faults.push(`a drawing beyond its view: ${name(svg)}`);
    for (const text of svg.querySelectorAll('text')) {
      const {left, right, top, bottom, width} = text.getBoundingClientRect();
      if (width > 0 && (left < box.left - 1 || right > box.right + 1 || top < box.top - 2 || bottom > box.bottom + 2)) faults.push(`text beyond its drawing: ${text.textContent}`);
    }
    for (const circle of svg.querySelectorAll('.point circle')) {
      const {left, right} = circle.getBoundingClientRect();
      if (left < box.left - 1 || right > box.right + 1) faults.push(`a mark beyond its drawing: ${circle.parentElement.textContent}`);
    }
  }
  return [...new Set(faults)];"""


def layout_faults(driver):
    return driver.execute_script(FAULTS)
