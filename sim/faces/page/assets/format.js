// Quantities as base/units.hpp shows them: three significant digits, with a prefix where one is usual.
const shownDigits = 3;

// Rounds a value exactly between two roundings to the even one, as C++ does.
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

// All that base/units.hpp knows of units, and the labels of figures: {names, times, words, labels}; it comes with the data.
let known;

function learn(units) {
  known = units ?? known;
}

function withName(value, {size, step, names}, digits = shownDigits) {
  value /= size;
  let index = 0;
  while (Math.max(Math.abs(value), Math.abs(asShown(value, digits))) >= step && index + 1 < names.length) {
    value /= step;
    ++index;
  }
  const whole = index === 0 && Number.isInteger(value);
  return `${whole ? fixed(value, 0) : significant(value, digits)} ${names[index]}`.trimEnd();
}

const named = unit => (value, digits) => withName(value, known.names[unit], digits);

const format = {
  number: significant,
  whole: value => Number.isInteger(value) ? String(value) : significant(value),
  count: named("count"),
  bytes: named("bytes"),
  flop: named("flop"),
  joules: named("joules"),
  watts: named("watts"),
  wattHours: named("wattHours"),
  kilograms: named("kilograms"),
  percent: value => `${fixed(value * 100, 1)} %`,
  signedPercent: value => `${value >= 0 ? "+" : ""}${fixed(value * 100, 1)} %`,
  seconds(value, digits = shownDigits) {
    const magnitude = Math.abs(asShown(value, digits));
    if (magnitude === 0) return "0 s";
    const [, seconds, name] = known.times.find(([least]) => magnitude >= least);
    return `${significant(value / seconds, digits)} ${name}`;
  },
  usd(value, digits = shownDigits) {
    const {step, names} = known.names.usd;
    let magnitude = Math.abs(value);
    let index = 0;
    for (; asShown(magnitude, digits) >= step && index + 1 < names.length; ++index) magnitude /= step;
    return `${value < 0 ? "-" : ""}$${significant(magnitude, digits)} ${names[index]}`.trimEnd();
  },
};

// The digits with which values up to `largest` must be shown for steps of `step` to be told apart.
function digitsForSteps(step, largest) {
  if (!(step > 0) || !(largest > step)) return shownDigits;
  return Math.min(15, Math.max(shownDigits, 1 + Math.ceil(Math.log10(largest / step))));
}

// "tokens_per_s" of "tokens_per_s_per_gpu".
function withoutShares(key) {
  const at = key.lastIndexOf("_per_");
  return at < 0 || key.endsWith("_per_s") ? key : withoutShares(key.slice(0, at));
}

// Returns the format of a key's values: its last word is its unit (unit_of_key in base/units.hpp).
function formatOf(key) {
  const bare = withoutShares(key);
  if (bare.endsWith("_per_s")) return format.count;
  return format[known.words[bare.slice(Math.max(bare.lastIndexOf("_"), bare.lastIndexOf(".")) + 1)] ?? "whole"];
}

function shown(key, value) {
  if (value === null || value === undefined) return "not known";
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value !== "number") return String(value);
  return formatOf(key)(value);
}

const spelled = {gpus: "GPUs", gpu: "GPU", usd: "USD", co2: "CO2", gemm: "GEMM"};

// A key in words: the label of a figure, else "time_to_finish_s" is "time to finish".
function words(key) {
  if (known.labels[key]) return known.labels[key];
  const bare = withoutShares(key);
  const all = bare.split(/[_ ]+/);
  if (all.length > 1 && !bare.endsWith("_per_s") && known.words[all.at(-1)] && formatOf(key) !== format.percent) all.pop();
  return all.map(word => spelled[word] ?? word).join(" ");
}
