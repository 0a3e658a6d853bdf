// The values of a Vega-Lite specification, if they are simply its data: no transforms, bins or facets.

import { POINTS_MAX, SERIES_MAX, boxOf, chartBase, list, plain, pointSeries, slices, text } from "./series.mjs";

const KINDS = {
  line: "line",
  point: "scatter",
  circle: "scatter",
  square: "scatter",
  bar: "bar",
  arc: "pie",
  boxplot: "box_and_whisker",
};
const SCALES = { quantitative: "linear", temporal: "datetime", nominal: "categorical", ordinal: "categorical" };
const VIEWS_MAX = 12;
const sum = (values) => values.reduce((a, b) => a + b, 0);
const AGGREGATES = {
  sum,
  mean: (values) => sum(values) / values.length,
  average: (values) => sum(values) / values.length,
  min: (values) => values.reduce((a, b) => Math.min(a, b)),
  max: (values) => values.reduce((a, b) => Math.max(a, b)),
  count: (values) => values.length,
};

/** Returns the values of a chart; undefined if they are computed. */
export function vegaLiteChart(spec) {
  const views = (spec.hconcat ?? spec.vconcat ?? spec.concat)?.slice(0, VIEWS_MAX);
  if (!views) return view(spec, POINTS_MAX);
  const charts = views.map((one) =>
    view({ ...one, data: one.data ?? spec.data, datasets: spec.datasets }, POINTS_MAX / views.length),
  );
  return charts.every(Boolean) ? { type: "superchart", title: titleOf(spec) ?? null, elements: charts } : undefined;
}

const titleOf = (owner) => owner.title?.text ?? owner.title;

function rowsOf({ data, datasets }) {
  const values = data?.values ?? datasets?.[data?.name];
  return Array.isArray(values)
    ? list(values).map((row) => (typeof row === "object" && row !== null ? row : { data: row }))
    : undefined;
}

/** True if the values are not simply the data. */
function isComputed({ encoding, transform }) {
  const { row, column, facet } = encoding;
  return (
    Boolean(transform ?? row ?? column ?? facet) || Object.values(encoding).some((one) => one?.bin || one?.timeUnit)
  );
}

function view({ encoding = {}, ...spec }, points) {
  const kind = KINDS[spec.mark?.type ?? spec.mark];
  const rows = rowsOf(spec);
  if (!kind || !rows || isComputed({ ...spec, encoding })) return undefined;
  if (kind === "pie") return pie(spec, encoding, rows);
  let { x = {}, y = {} } = encoding;
  const hasNames = kind === "bar" || kind === "box_and_whisker";
  if (hasNames && x.type === "quantitative" && y.type !== "quantitative") [x, y] = [y, x];
  const chart = chartBase(kind, { title: titleOf(spec), x: axisOf(x), y: axisOf(y) });
  if (kind === "box_and_whisker") {
    const values = (group) => group.map((row) => row[y.field]);
    const boxes = [...grouped(rows, x.field)].map(([name, group]) => boxOf(text(name), values(group)));
    return { ...chart, elements: boxes.slice(0, points) };
  }
  const colour = (encoding.color ?? encoding.xOffset)?.field;
  const groups = [...grouped(rows, colour)].slice(0, SERIES_MAX);
  const share = Math.floor(points / Math.max(groups.length, 1));
  chart.elements = groups.flatMap(([key, group], n) => {
    const name = colour ? text(key) : `Series ${n}`;
    const all = pairs(group, x, y);
    if (kind !== "bar") return [pointSeries(name, all, share)];
    return all.slice(0, share).map(([place, value]) => ({ label: text(place), group: name, value: plain(value) }));
  });
  return chart;
}

function pie(spec, { theta, color = {} }, rows) {
  const parts = [...grouped(rows, color.field)].map(([name, group]) => [
    name,
    sum(pairs(group, color, theta).map(([, value]) => value)),
  ]);
  return { ...chartBase("pie", { title: titleOf(spec) }), elements: slices(parts) };
}

function axisOf(channel) {
  const scale = channel.scale?.type;
  return {
    label: channel.title ?? channel.axis?.title ?? channel.field ?? channel.aggregate,
    scale: ["log", "sqrt", "symlog", "pow"].includes(scale) ? scale : (SCALES[channel.type] ?? "linear"),
  };
}

/** Groups rows by the value of a field; groups and rows keep their order. */
function grouped(rows, field) {
  const groups = new Map();
  for (const row of rows) {
    const key = field === undefined ? "" : row[field];
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push(row);
  }
  return groups;
}

/** Returns [x, y] pairs. An unknown aggregate throws a TypeError, and the chart gets no values. */
function pairs(rows, across, along) {
  if (!along.aggregate) return rows.map((row) => [row[across.field], row[along.field]]);
  const aggregate = AGGREGATES[along.aggregate];
  return [...grouped(rows, across.field)].map(([place, group]) => [
    place,
    aggregate(group.map((row) => row[along.field])),
  ]);
}
