// Quantities by the rules of base/units.hpp: three significant digits, with a prefix where one is usual.
const shownDigits = 3;

// Of what lies exactly between two roundings the even one is taken, as C++ does.
function fixed(value, decimals) {
  if (Math.abs(value) >= 1e21) return BigInt(value).toString();
  const halves = Math.abs(value) * 2 ** (decimals + 1);
  const text = value.toFixed(decimals);
  if (halves % 2 !== 1 || decimals > 20) return text;
  const below = Math.floor(Math.abs(value) * 10 ** decimals);
  const even = below % 2 === 0 ? below : below + 1;
  return (Math.sign(value) * even / 10 ** decimals).toFixed(decimals);
}

function decimalsOf(value, digits) {
  return digits - 1 - Math.floor(Math.log10(Math.abs(value)));
}

// The value as its digits show it, so that 999.7 counts as 1000 where a prefix is chosen.
function asShown(value, digits) {
  if (value === 0 || !Number.isFinite(value)) return value;
  const scale = 10 ** decimalsOf(value, digits);
  if (!Number.isFinite(scale) || scale === 0) return value;
  return Math.sign(value) * Math.round(Math.abs(value) * scale) / scale;
}

// Trailing zeros are kept: they are digits that are known.
function significant(value, digits = shownDigits) {
  const shown = asShown(value, digits);
  if (shown === 0) return "0";
  if (!Number.isFinite(shown)) return String(shown);
  return fixed(shown, Math.min(100, Math.max(0, decimalsOf(shown, digits))));
}

function withPrefix(value, step, units, digits = shownDigits) {
  let index = 0;
  while (Math.max(Math.abs(value), Math.abs(asShown(value, digits))) >= step && index + 1 < units.length) {
    value /= step;
    ++index;
  }
  const whole = index === 0 && Number.isInteger(value);
  return `${whole ? fixed(value, 0) : significant(value, digits)} ${units[index]}`.trimEnd();
}

// From how many seconds on a unit is taken, and how many it has.
const timeUnits = [[2 * 86400, 86400, "days"], [2 * 3600, 3600, "h"], [1000, 60, "min"], [1, 1, "s"],
  [1e-3, 1e-3, "ms"], [1e-6, 1e-6, "us"], [0, 1e-9, "ns"]];
const siPrefixes = ["", "k", "M", "G", "T", "P", "E", "Z", "Y"];

const format = {
  number: significant,
  count: (value, digits) => withPrefix(value, 1000, siPrefixes, digits),
  whole: value => Number.isInteger(value) ? String(value) : significant(value),
  bytes: (value, digits) => withPrefix(value, 1024, ["B", "KiB", "MiB", "GiB", "TiB", "PiB"], digits),
  flop: (value, digits) => withPrefix(value, 1000, siPrefixes.map(prefix => `${prefix}FLOP`), digits),
  joules: (value, digits) => withPrefix(value, 1000, siPrefixes.map(prefix => `${prefix}J`), digits),
  watts: (value, digits) => withPrefix(value, 1000, ["W", "kW", "MW", "GW", "TW"], digits),
  wattHours: (joules, digits) => withPrefix(joules / 3600, 1000, ["Wh", "kWh", "MWh", "GWh", "TWh", "PWh"], digits),
  kilograms: (value, digits) => withPrefix(value * 1000, 1000, ["g", "kg", "t", "kt", "Mt", "Gt"], digits),
  percent: value => `${fixed(value * 100, 1)} %`,
  signedPercent: value => `${value >= 0 ? "+" : ""}${fixed(value * 100, 1)} %`,
  seconds(value, digits = shownDigits) {
    const magnitude = Math.abs(asShown(value, digits));
    if (magnitude === 0) return "0 s";
    const [, seconds, name] = timeUnits.find(([least]) => magnitude >= least);
    return `${significant(value / seconds, digits)} ${name}`;
  },
  usd(value, digits = shownDigits) {
    let magnitude = Math.abs(value);
    let index = 0;
    for (; asShown(magnitude, digits) >= 1000 && index < 4; ++index) magnitude /= 1000;
    return `${value < 0 ? "-" : ""}$${significant(magnitude, digits)}${["", " k", " M", " G", " T"][index]}`;
  },
};

// The digits with which values up to `largest` must be shown for steps of `step` to be told apart.
function digitsForSteps(step, largest) {
  if (!(step > 0) || !(largest > step)) return shownDigits;
  return Math.min(15, Math.max(shownDigits, 1 + Math.ceil(Math.log10(largest / step))));
}

const shares = /(^|[._])(mfu|hfu|.*fraction|.*saving|.*headroom|.*share|goodput|error|mape|.*_ape|coverage|tolerance)$/;

// How the value of a key is shown: its last word is its unit.
function formatOf(key) {
  if (/_per_s(_|$)|_hours$|^tokens$|^events$|^iterations$/.test(key)) return format.count;
  if (/usd/.test(key)) return format.usd;
  if (/(_|^)(tflops)/.test(key)) return format.number;
  if (/_s$/.test(key)) return format.seconds;
  if (/_bytes$/.test(key)) return format.bytes;
  if (/_j$/.test(key)) return format.joules;
  if (/_w$/.test(key)) return format.watts;
  if (/_kg$/.test(key)) return format.kilograms;
  if (/_flop$/.test(key)) return format.flop;
  if (/_count$|_mhz$/.test(key)) return format.number;
  if (shares.test(key)) return format.percent;
  return format.whole;
}

function shown(key, value) {
  if (value === null || value === undefined) return "not known";
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value !== "number") return String(value);
  return formatOf(key)(value);
}

const units = /_(s|bytes|j|w|kg|flop|usd)$/;
const spelled = {mfu: "MFU", hfu: "HFU", gpus: "GPUs", gpu: "GPU", usd: "USD", co2: "CO2", gemm: "GEMM",
  tflops: "TFLOP/s", flop: "FLOP"};

// A key in words: "iteration_time_s" is "iteration time".
function words(key) {
  const flop = /_flop$/.test(key) ? " FLOP" : "";
  const bare = key.replace("_usd_per_iteration", " per iteration").replace(/per_s(_|$)/, "per second$1");
  return bare.replace(units, "").split(/[_ ]+/).map(word => spelled[word] ?? word).join(" ") + flop;
}
