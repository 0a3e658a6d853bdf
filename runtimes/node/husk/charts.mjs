// The values of charts as data, in the form of E2B's code interpreter (see chart_data.py of the Python kernel).
//
// Charts in Node are plain objects for a library in the browser: figures of Plotly, specifications of Vega-Lite,
// configurations of Chart.js and options of ECharts. They are read from the bundle, which is a copy of bounded size in
// JSON, so no user code runs here.

import { vegaLiteChart } from "./vega.mjs";
import {
  POINTS_MAX,
  SERIES_MAX,
  boxOf,
  chartBase,
  list,
  pairsOf,
  plain,
  pointSeries,
  slices,
  text,
} from "./series.mjs";

export const CHART = "application/vnd.husk.chart+json";

/** Adds the values of the first chart that the bundle has. */
export function addChart(bundle) {
  for (const [mime, value] of Object.entries(bundle)) {
    if (!mime.endsWith("json") || typeof value !== "object" || value === null || Array.isArray(value)) continue;
    const chart = read(mime, value);
    if (!chart) continue;
    bundle[CHART] = chart;
    return;
  }
}

/** Returns the values of a chart; undefined if this is not a chart, or its values are not simply its data. */
function read(mime, value) {
  try {
    if (mime.includes("vegalite") || String(value.$schema).includes("/vega-lite/")) return vegaLiteChart(value);
    if (Array.isArray(value.data) && (mime.includes("plotly") || value.layout)) return plotlyChart(value);
    if (Array.isArray(value.data?.datasets)) return chartJsChart(value);
    if (Array.isArray(value.series) && (value.xAxis || value.title || mime.includes("echarts"))) return eChart(value);
  } catch {
    // A chart of an unusual form is shown without its values.
  }
  return undefined;
}

/** The kind that all series have in common, or "scatter" for lines with points; undefined for other mixtures. */
function commonKind(kinds) {
  const all = new Set(kinds);
  if (all.size === 1) return kinds[0];
  return all.size && [...all].every((kind) => kind === "line" || kind === "scatter") ? "scatter" : undefined;
}

/** Returns a chart of series, each with a name and [x, y] pairs. */
function seriesChart(kind, series, about) {
  const limit = Math.floor(POINTS_MAX / series.length);
  const chart = chartBase(kind, about);
  if (kind === "bar")
    chart.elements = series.flatMap(({ name, pairs }) =>
      pairs.slice(0, limit).map(([x, y]) => ({ label: text(x), group: name, value: plain(y) })),
    );
  else chart.elements = series.map(({ name, pairs }) => pointSeries(name, pairs, limit));
  return chart;
}

// Plotly

const PLOTLY = { bar: "bar", pie: "pie", box: "box_and_whisker" };
const TYPED = {
  i1: "Int8",
  u1: "Uint8",
  i2: "Int16",
  u2: "Uint16",
  i4: "Int32",
  u4: "Uint32",
  f4: "Float32",
  f8: "Float64",
};

function plotlyValues(values) {
  if (typeof values?.bdata !== "string") return list(values);
  const bytes = new Uint8Array(Buffer.from(values.bdata, "base64")).buffer;
  return Array.from(new globalThis[`${TYPED[values.dtype]}Array`](bytes));
}

function plotlyChart({ data, layout = {} }) {
  const traces = data.slice(0, SERIES_MAX);
  const kind = commonKind(
    traces.map(({ type = "scatter", mode = "lines" }) => {
      if (type === "scatter" || type === "scattergl") return mode.includes("lines") ? "line" : "scatter";
      return PLOTLY[type];
    }),
  );
  if (!kind) return undefined;
  const title = (owner) => owner?.title?.text ?? owner?.title;
  const about = { title: title(layout), x: { label: title(layout.xaxis), scale: plotlyScale(layout.xaxis) } };
  about.y = { label: title(layout.yaxis), scale: plotlyScale(layout.yaxis) };
  if (kind === "pie") {
    const parts = traces.flatMap((one) => pairsOf(plotlyValues(one.labels), plotlyValues(one.values)));
    return { ...chartBase(kind, about), elements: slices(parts) };
  }
  const across = traces[0].orientation === "h" ? ["y", "x"] : ["x", "y"];
  if (kind === "box_and_whisker") {
    const boxes = traces.flatMap((one, n) => plotlyBoxes(one, text(one.name ?? `Box ${n}`), across));
    return { ...chartBase(kind, about), elements: boxes.slice(0, POINTS_MAX) };
  }
  const series = traces.map((one, n) => ({
    name: text(one.name ?? `Series ${n}`),
    pairs: pairsOf(plotlyValues(one[across[0]]), plotlyValues(one[across[1]])),
  }));
  return seriesChart(kind, series, about);
}

function plotlyScale(axis) {
  return { log: "log", date: "datetime", category: "categorical" }[axis?.type] ?? "linear";
}

function plotlyBoxes(trace, name, [across, along]) {
  const values = plotlyValues(trace[along]);
  const places = plotlyValues(trace[across]);
  const groups = new Map();
  values.forEach((value, n) => {
    const place = places.length ? text(places[n]) : name;
    if (!groups.has(place)) groups.set(place, []);
    groups.get(place).push(value);
  });
  return [...groups].map(([place, group]) => boxOf(place, group));
}

// Chart.js

const CHART_JS = { line: "line", scatter: "scatter", bubble: "scatter", bar: "bar", pie: "pie", doughnut: "pie" };
const CHART_JS_SCALES = { logarithmic: "log", time: "datetime", timeseries: "datetime", category: "categorical" };

function chartJsChart({ type, data, options = {} }) {
  const sets = data.datasets.slice(0, SERIES_MAX);
  const kind = commonKind(sets.map((set) => CHART_JS[set.type ?? type]));
  if (!kind) return undefined;
  const labels = list(data.labels);
  const axis = (name, usual) => {
    const { title, type: scale } = options.scales?.[name] ?? {};
    return { label: title?.text, scale: CHART_JS_SCALES[scale] ?? (scale ? "linear" : usual) };
  };
  const names = labels.length ? "categorical" : "linear";
  const turned = options.indexAxis === "y";
  const about = {
    title: options.plugins?.title?.text,
    x: axis(turned ? "y" : "x", names),
    y: axis(turned ? "x" : "y", "linear"),
  };
  if (kind === "pie") return { ...chartBase(kind, about), elements: slices(pairsOf(labels, list(sets[0].data))) };
  const series = sets.map((set, n) => ({
    name: text(set.label ?? `Series ${n}`),
    pairs: list(set.data).map((one, i) =>
      typeof one === "object" && one !== null ? [one.x ?? one[0], one.y ?? one[1]] : [labels[i] ?? i, one],
    ),
  }));
  return seriesChart(kind, series, about);
}

// ECharts

const ECHARTS = { line: "line", scatter: "scatter", bar: "bar", pie: "pie", boxplot: "box_and_whisker" };
const ECHARTS_SCALES = { log: "log", time: "datetime", category: "categorical" };

function eChart(option) {
  const first = (value) => (Array.isArray(value) ? value[0] : value) ?? {};
  const all = option.series.slice(0, SERIES_MAX);
  const kind = commonKind(all.map((one) => ECHARTS[one.type]));
  if (!kind || !all.every((one) => Array.isArray(one.data))) return undefined;
  let [across, along] = [first(option.xAxis), first(option.yAxis)];
  if (along.type === "category" && across.type !== "category") [across, along] = [along, across];
  const axis = (one) => ({ label: one.name, scale: ECHARTS_SCALES[one.type] ?? "linear" });
  const about = { title: first(option.title).text, x: axis(across), y: axis(along) };
  if (kind === "pie") {
    const parts = all[0].data.map((one, n) => [one?.name ?? n, one?.value ?? one]);
    return { ...chartBase(kind, about), elements: slices(parts) };
  }
  const places = list(across.data);
  const value = (one) => (typeof one === "object" && one !== null && !Array.isArray(one) ? one.value : one);
  const pairs = all.map(({ data }) =>
    data.map((one, n) => {
      const got = value(one);
      const place = value(places[n]) ?? n;
      return kind !== "box_and_whisker" && Array.isArray(got) ? [got[0], got[1]] : [place, got];
    }),
  );
  if (kind === "box_and_whisker") {
    const elements = pairs.flat().map(([place, five]) => {
      const [min, first_quartile, median, third_quartile, max] = five.map(plain);
      return { label: text(place), min, first_quartile, median, third_quartile, max, outliers: [] };
    });
    return { ...chartBase(kind, about), elements: elements.slice(0, POINTS_MAX) };
  }
  const series = all.map(({ name }, n) => ({ name: text(name ?? `Series ${n}`), pairs: pairs[n] }));
  return seriesChart(kind, series, about);
}
