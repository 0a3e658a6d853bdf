"""The Node kernel over its link: the values of charts that cells show as objects for a library in the browser."""

import json

import pytest
from node_binary import node  # noqa: F401

RUNTIME = "node"
CHART = "application/vnd.husk.chart+json"
PLOTLY = "application/vnd.plotly.v1+json"
VEGA = "application/vnd.vegalite.v5+json"


@pytest.fixture
def chart(kernel):
    """Shows a value as a MIME type, or as the result of a cell, and returns the chart's data or None."""

    def show(value, mime=None):
        value = value if isinstance(value, str) else json.dumps(value)
        outcome = kernel.run(f"display({{ '{mime}': {value} }})" if mime else f"({value})")
        assert outcome.error is None, outcome
        return (outcome.displays[0]["data"] if mime else outcome.result).get(CHART)

    return show


def bars_of(chart):
    return [(one["label"], one["group"], one["value"]) for one in chart["elements"]]


def axes_of(chart):
    return [chart[f"{axis}_{what}"] for axis in "xy" for what in ("label", "unit")]


def test_plotly(chart):
    layout = {"title": {"text": "T"}, "xaxis": {"title": {"text": "Time (s)"}}, "yaxis": {"title": "Level [dB]", "type": "log"}}
    got = chart({"data": [{"x": [1, 2], "y": [3, 4.5], "name": "a"}, {"y": [2, None], "mode": "lines"}], "layout": layout}, PLOTLY)
    assert (got["type"], got["title"], got["x_scale"], got["y_scale"]) == ("line", "T", "linear", "log") and axes_of(got) == ["Time (s)", "s", "Level [dB]", "dB"]
    assert got["elements"] == [{"label": "a", "points": [[1, 3], [2, 4.5]]}, {"label": "Series 1", "points": [[0, 2], [1, None]]}]
    got = chart("{ data: [{ type: 'scatter', mode: 'markers', x: new Float64Array([1, 2]), y: ['A', 'B'] }] }", PLOTLY)
    assert got["type"] == "scatter" and got["elements"][0]["points"] == [[1, "A"], [2, "B"]]
    got = chart({"data": [{"type": "bar", "x": ["A", "B"], "y": [3, 4], "name": "g"}], "layout": {}})
    assert got["type"] == "bar" and bars_of(got) == [("A", "g", 3), ("B", "g", 4)]
    got = chart({"data": [{"type": "bar", "orientation": "h", "y": ["A"], "x": [{"y": 1}, 4][1:]}], "layout": {}})
    assert bars_of(got) == [("A", "Series 0", 4)]
    got = chart({"data": [{"type": "pie", "labels": ["No", "Yes"], "values": {"bdata": "WgAKAA==", "dtype": "i2"}}]}, PLOTLY)
    assert got == {"type": "pie", "title": None, "elements": [{"label": "No", "angle": 324, "radius": 1}, {"label": "Yes", "angle": 36, "radius": 1}]}
    got = chart({"data": [{"type": "box", "y": [1, 2, 3, 4, 5, 20], "name": "a"}]}, PLOTLY)
    assert got["elements"] == [{"label": "a", "min": 1, "first_quartile": 2, "median": 3.5, "third_quartile": 5, "max": 5, "outliers": [20]}]


ROWS = [{"day": 1, "price": 3, "who": "a"}, {"day": 2, "price": 4.5, "who": "a"}, {"day": 1, "price": 5, "who": "b"}, {"day": 2, "price": 7, "who": "b"}]


def vega(mark, encoding, **more):
    return {"data": {"values": ROWS}, "mark": mark, "encoding": encoding, "title": "S", **more}


def test_vega_lite(chart):
    day, price, who = ({"field": name, "type": kind} for name, kind in (("day", "quantitative"), ("price", "quantitative"), ("who", "nominal")))
    lines = vega({"type": "line"}, {"x": day, "y": {**price, "title": "Price (EUR)"}, "color": who})
    got = chart({**lines, "$schema": "https://vega.github.io/schema/vega-lite/v5.json"})
    assert (got["type"], got["title"], got["x_scale"]) == ("line", "S", "linear") and axes_of(got) == ["day", None, "Price (EUR)", "EUR"]
    assert got["elements"] == [{"label": "a", "points": [[1, 3], [2, 4.5]]}, {"label": "b", "points": [[1, 5], [2, 7]]}]
    got = chart(vega("bar", {"y": who, "x": {**price, "aggregate": "mean"}}), VEGA)
    assert got["x_label"] == "who" and bars_of(got) == [("a", "Series 0", 3.75), ("b", "Series 0", 6)]
    got = chart(vega("arc", {"theta": {"aggregate": "count"}, "color": who}), VEGA)
    assert got["type"] == "pie" and [one["angle"] for one in got["elements"]] == [180, 180]
    got = chart(vega("boxplot", {"x": who, "y": price}), VEGA)
    assert got["type"] == "box_and_whisker" and [(one["label"], one["median"]) for one in got["elements"]] == [("a", 3.75), ("b", 6)]
    got = chart({"data": {"values": ROWS}, "hconcat": [{"mark": "point", "encoding": {"x": day, "y": price}}, {"mark": "bar", "encoding": {"x": who, "y": price}}]}, VEGA)
    assert got["type"] == "superchart" and [one["type"] for one in got["elements"]] == ["scatter", "bar"]
    assert chart({**lines, "transform": [{"filter": "datum.day > 1"}]}, VEGA) is None


def test_chart_js(chart):
    options = {"plugins": {"title": {"text": "T"}}, "scales": {"y": {"type": "logarithmic", "title": {"text": "Sold (pcs)"}}}}
    data = {"labels": ["A", "B"], "datasets": [{"label": "Sold", "data": [7, 8]}]}
    got = chart({"type": "bar", "data": data, "options": options})
    assert (got["type"], got["title"]) == ("bar", "T") and axes_of(got)[2:] == ["Sold (pcs)", "pcs"] and bars_of(got) == [("A", "Sold", 7), ("B", "Sold", 8)]
    got = chart({"type": "line", "data": data, "options": options})
    assert (got["x_scale"], got["y_scale"]) == ("categorical", "log") and got["elements"] == [{"label": "Sold", "points": [["A", 7], ["B", 8]]}]
    got = chart({"type": "scatter", "data": {"datasets": [{"data": [{"x": 1, "y": 2}]}]}})
    assert got["type"] == "scatter" and got["elements"][0]["points"] == [[1, 2]]
    got = chart({"type": "doughnut", "data": {"labels": ["No", "Yes"], "datasets": [{"data": [90, 10]}]}})
    assert [(one["label"], one["angle"]) for one in got["elements"]] == [("No", 324), ("Yes", 36)]
    assert chart({"type": "radar", "data": data}) is None


def test_echarts(chart):
    axes = {"title": {"text": "T"}, "xAxis": {"type": "category", "data": ["A", "B"], "name": "names"}, "yAxis": {"name": "Sold (pcs)"}}
    got = chart({**axes, "series": [{"type": "bar", "name": "s", "data": [1, {"value": 2}]}]})
    assert (got["type"], got["title"]) == ("bar", "T") and axes_of(got) == ["names", None, "Sold (pcs)", "pcs"] and bars_of(got) == [("A", "s", 1), ("B", "s", 2)]
    got = chart({**axes, "series": [{"type": "line", "data": [1, 2]}, {"type": "scatter", "data": [["A", 3]]}]})
    assert (got["type"], got["x_scale"]) == ("scatter", "categorical") and [one["points"] for one in got["elements"]] == [[["A", 1], ["B", 2]], [["A", 3]]]
    got = chart({**axes, "series": [{"type": "boxplot", "data": [[1, 2, 3, 4, 5]]}]})
    assert got["elements"] == [{"label": "A", "min": 1, "first_quartile": 2, "median": 3, "third_quartile": 4, "max": 5, "outliers": []}]
    got = chart({"title": {"text": "P"}, "series": [{"type": "pie", "data": [{"name": "No", "value": 90}, {"name": "Yes", "value": 10}]}]})
    assert got["title"] == "P" and [one["angle"] for one in got["elements"]] == [324, 36]


def test_values_are_bounded(chart):
    got = chart("{ data: Array(30).fill({ y: Array.from({ length: 2000 }, (_, n) => n), name: 'n'.repeat(9999) }), layout: {} }", PLOTLY)
    assert len(got["elements"]) == 20 and sum(len(one["points"]) for one in got["elements"]) <= 1000 and len(json.dumps(got)) < 40_000
    assert got["elements"][0]["total"] == 2000 and got["elements"][0]["points"][-1] == [1999, 1999]
    assert chart("{ data: [{ y: Array(200_000).fill(1) }], layout: {} }", PLOTLY) is None


@pytest.mark.parametrize("code", [
    "{ data: [null], layout: 5 }", "{ data: [{ type: {}, mode: 7 }], layout: {} }", "{ data: { datasets: [null] }, type: 'bar' }",
    "{ data: [{ type: 'bar', x: 'text', y: 5 }], layout: { title: [[]] } }", "{ series: [{ type: 'boxplot', data: [1] }], xAxis: [] }",
    "{ data: [{ type: 'pie', values: { bdata: 'AA', dtype: 'constructor' } }], layout: {} }", "{ $schema: '/vega-lite/', mark: [], hconcat: 5 }",
    "{ series: [], title: {} }", "{ data: [], layout: {} }",
])
def test_odd_objects_are_shown_as_they_are(chart, kernel, code):
    assert chart(code) is None or not chart(code)["elements"] or all(isinstance(one, dict) for one in chart(code)["elements"])
    assert "text/plain" in kernel.run(f"({code})").result


def test_getters_of_the_user_are_not_called(kernel):
    got = kernel.run("let calls = 0; const trap = { get data() { calls++; return [] }, layout: {}, get series() { calls++; return [] } }; trap")
    assert got.error is None and CHART not in got.result and kernel.run("calls").text == "0"
