// Parts of a chart's values that are the same for every library (charts.mjs).

import { valid } from "./text.mjs";

export const POINTS_MAX = 1000;
export const SERIES_MAX = 20;
const VALUES_MAX = 100_000;
const TEXT_MAX = 100;
const OUTLIERS_MAX = 100;
const UNIT = /\s\(([^()]+)\)|\[([^[\]]+)\]/;

/** Returns a name in a chart: text of limited length. */
export const text = (value) => valid(typeof value === "object" ? JSON.stringify(value) : value).slice(0, TEXT_MAX);

/** A value in a chart: a number, a text or null. */
export function plain(value) {
  if (typeof value === "number" || value === null) return value;
  return value === undefined ? null : text(value);
}

/** Returns the values of an array, or of a typed array, which is an object in JSON. Throws a RangeError if there are
 * too many. */
export function list(values) {
  const all = Array.isArray(values) ? values : Object.values(typeof values === "object" ? (values ?? {}) : {});
  if (all.length > VALUES_MAX) throw new RangeError("too many values");
  return all;
}

export const pairsOf = (xs, ys) => ys.map((y, n) => [xs.length ? xs[n] : n, y]);

const title = (value) => (Array.isArray(value) ? value.join(" ") : typeof value === "string" ? value : "") || null;

/** Returns a chart's type, title and, except for pies, axes. `about` has a title, and x and y with a label and a
 * scale. */
export function chartBase(type, about) {
  const name = title(about.title);
  const chart = { type, title: name && text(name) };
  if (type === "pie") return chart;
  for (const axis of ["x", "y"]) {
    const label = title(about[axis].label);
    const unit = UNIT.exec(label ?? "");
    chart[`${axis}_label`] = label && text(label);
    chart[`${axis}_unit`] = unit ? text(unit[1] ?? unit[2]) : null;
    if (type !== "line" && type !== "scatter") continue;
    Object.assign(chart, { [`${axis}_ticks`]: [], [`${axis}_tick_labels`]: [], [`${axis}_scale`]: about[axis].scale });
  }
  return chart;
}

/** At most `limit` of the items: the first, the last and evenly spaced ones between them. */
function thinned(items, limit) {
  if (items.length <= limit) return items;
  const step = (items.length - 1) / Math.max(limit - 1, 1);
  return Array.from({ length: Math.max(limit, 1) }, (_, n) => items[Math.round(n * step)]);
}

export function pointSeries(label, pairs, limit) {
  const points = thinned(pairs, limit).map((pair) => pair.map(plain));
  return points.length < pairs.length ? { label, points, total: pairs.length } : { label, points };
}

/** Slices of a pie, from names and their values. */
export function slices(parts) {
  const whole = parts.reduce((sum, [, value]) => sum + Number(value), 0) || 1;
  return parts.slice(0, POINTS_MAX).map(([name, value]) => ({
    label: text(name),
    angle: Math.round((360_000 * Number(value)) / whole) / 1000,
    radius: 1,
  }));
}

/** Computes a box as Plotly and Vega-Lite draw it: a whisker is at most 1.5 times as long as the box. */
export function boxOf(label, values) {
  const sorted = values.filter(Number.isFinite).sort((a, b) => a - b);
  const quantile = (share) => {
    const place = Math.min(Math.max(share * sorted.length - 0.5, 0), sorted.length - 1);
    const below = Math.floor(place);
    return sorted[below] + (sorted[Math.min(below + 1, sorted.length - 1)] - sorted[below]) * (place - below);
  };
  const [low, median, high] = [0.25, 0.5, 0.75].map(quantile);
  const reach = 1.5 * (high - low);
  const near = sorted.filter((value) => value >= low - reach && value <= high + reach);
  const [min, max] = [near[0], near.at(-1)];
  const outliers = thinned(
    sorted.filter((value) => value < min || value > max),
    OUTLIERS_MAX,
  );
  return { label, min, first_quartile: low, median, third_quartile: high, max, outliers };
}
