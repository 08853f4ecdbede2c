// Predictions beside measurements.
function showValidation(data) {
  const {result} = data;
  return [cards([{name: "Mean error", value: shown("mape", result.mape), lines: [`of ${result.n} runs`]},
    {name: "Median error", value: shown("median_ape", result.median_ape), lines: [`90 % are below ${shown("p90_ape", result.p90_ape)}`]},
    {name: "Mean deviation", value: result.n > 0 ? format.signedPercent(result.mean_error) : "not known", lines: ["above 0: predicted too long"]},
    {name: "Rank correlation", value: result.n > 0 ? fixed(result.spearman, 3) : "not known", lines: ["Spearman's"]},
    result.coverage !== undefined && {name: "In their range", value: format.percent(result.coverage), lines: [`mean width ${format.percent(result.mean_width)}`]},
    {name: "Fits in memory", value: `${result.ran.predicted_to_fit} of ${result.ran.n}`, lines: ["that ran were predicted to"]}]),
    result.rows.length > 0 ? view("Predicted and measured", scatter(result.rows)) : null,
    view("Errors by source", sourceTable(result.tables)), result.rows.length > 0 ? view("Runs", runTable(result.rows)) : null,
    skippedView(result)];
}

function runName(row) {
  return `${row.table}, line ${row.line}: ${row.model} on ${row.gpus} ${row.gpu}`;
}

function scatter(rows) {
  const log = rows.map(row => ({x: Math.log10(row.measured), y: Math.log10(row.predicted), kind: `source-${[...new Set(rows.map(of => of.table))].indexOf(row.table) % 6}`,
    name: `${runName(row)}: measured ${format.seconds(row.measured)}, predicted ${format.seconds(row.predicted)}, ${format.signedPercent(row.error)}`}));
  const show = value => format.seconds(10 ** value);
  return [legend([...new Set(rows.map(row => row.table))].map((table, index) => [table, `source-${index % 6}`])),
    plot("Predicted over measured time of an iteration", "A mark for each run on logarithmic axes; on the line both agree; the table has the numbers",
      {points: log, diagonal: true, x: {title: "measured", show, logarithmic: true}, y: {title: "predicted", show, logarithmic: true}})];
}

function sourceTable(tables) {
  const keys = ["n", "skipped", "mape", "median_ape", "p90_ape", "mean_error", "spearman", "too_large", "coverage", "mean_width"];
  const titles = {n: "runs", mape: "mean error", median_ape: "median", p90_ape: "90 % below", mean_error: "mean deviation", spearman: "Spearman", coverage: "in range", mean_width: "width"};
  const known = keys.filter(key => tables.some(table => table[key] !== undefined));
  const show = (key, value) => value === undefined || value === null ? cell("", null) : key === "spearman" ? cell(fixed(value, 3), value)
    : /ape|error|coverage|width/.test(key) ? cell(key === "mean_error" ? format.signedPercent(value) : format.percent(value), value) : cell(String(value), value);
  return sortableTable("Errors of each table of runs", [{title: "table", text: true}, ...known.map(key => ({title: titles[key] ?? words(key)}))],
    tables.map(table => [cell(table.table), ...known.map(key => show(key, table[key]))]));
}

function runTable(rows) {
  const columns = [{title: "run", text: true}, {title: "GPUs"}, {title: "measured"}, {title: "predicted"}, {title: "error"}, {title: "range", text: true}, {title: "fits", text: true}, {title: "source", text: true}];
  return sortableTable("Every run of which a time is compared", columns, rows.map(row => [
    cell(`${row.table}:${row.line} ${row.model}, ${row.gpu}`), cell(String(row.gpus), row.gpus), figureCell("a_s", row.measured), figureCell("a_s", row.predicted),
    cell(format.signedPercent(row.error), row.error), cell(row.low === undefined ? "" : `${format.seconds(row.low)} to ${format.seconds(row.high)}`, row.low ?? null),
    cell(row.fits ? "yes" : "no"), cell(row.source ?? "")]));
}

function skippedView(result) {
  const rows = result.skipped_rows ?? [];
  if (rows.length === 0) return null;
  return view("Rows left out", sortableTable("Rows that could not be simulated", [{title: "row", text: true}, {title: "model", text: true}, {title: "reason", text: true}],
    rows.map(row => [cell(`${row.table}:${row.line}`), cell(row.model ?? ""), cell(row.reason)])));
}
