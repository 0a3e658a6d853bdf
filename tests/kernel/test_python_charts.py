"""The Python kernel over its link: the values of charts, in the form of E2B's code interpreter. Each test states one fact."""

import datetime
import json

import pytest

RUNTIME = "python"
CHART = "application/vnd.husk.chart+json"


@pytest.fixture
def chart(kernel):
    """Draws with `plt`, `np` and `dt`, and returns the chart's data or None."""

    def draw(code):
        outcome = kernel.run(f"import datetime as dt, matplotlib.pyplot as plt, numpy as np\n{code};")
        assert outcome.error is None and outcome.stderr == "", outcome
        return outcome.displays[0]["data"].get(CHART)

    return draw


AXES = {"x_label": "Time (s)", "y_label": "Level [dB]", "x_unit": "s", "y_unit": "dB"}


def axes_of(chart):
    return {name: chart[name] for name in AXES}


def test_lines(chart):
    got = chart("plt.plot([1, 2], [3, 4.5], label='a'); plt.plot([2, 1]); plt.axhline(3)\n"
                "plt.title('T'); plt.xlabel('Time (s)'); plt.ylabel('Level [dB]')")
    assert got["type"] == "line" and got["title"] == "T" and axes_of(got) == AXES
    assert got["elements"] == [{"label": "a", "points": [[1, 3], [2, 4.5]]}, {"label": "Line 1", "points": [[0, 2], [1, 1]]}]
    assert all(isinstance(tick, float) for tick in got["x_ticks"] + got["y_ticks"])
    assert all(isinstance(label, str) for label in got["x_tick_labels"]) and got["x_tick_labels"]


def test_scales(chart):
    got = chart("plt.plot([dt.date(2023, 9, 1), dt.date(2023, 9, 2)], [1, 10]); plt.yscale('log')")
    assert (got["x_scale"], got["y_scale"]) == ("datetime", "log") and got["elements"][0]["points"][0] == ["2023-09-01", 1]
    assert datetime.datetime.fromisoformat(got["x_ticks"][0]).year == 2023
    got = chart("plt.plot(np.array(['2024-05-01T12:00'], 'M8[m]'), [1], 'o')")
    assert got["elements"][0]["points"] == [["2024-05-01T12:00:00", 1]]
    got = chart("plt.plot([1, 2], ['A', 'B'])")
    assert (got["x_scale"], got["y_scale"]) == ("linear", "categorical") and got["y_tick_labels"] == ["A", "B"]
    assert got["elements"][0]["points"] == [[1, "A"], [2, "B"]]
    assert chart("plt.plot([0.1, 0.2, 0.7])")["y_ticks"] == [0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8]


def test_scatters(chart):
    got = chart("plt.scatter([1, 2], [3, 4], c='blue', label='D'); plt.scatter([5], [6]); plt.xlabel('A')")
    assert got["type"] == "scatter" and got["title"] is None and got["x_label"] == "A" and got["y_label"] is None
    assert got["elements"] == [{"label": "D", "points": [[1, 3], [2, 4]]}, {"label": "Scatter 1", "points": [[5, 6]]}]


@pytest.mark.parametrize("call, x_label, y_label", [("bar", "names", "sold"), ("barh", "sold", "names")])
def test_bars(chart, call, x_label, y_label):
    got = chart(f"plt.{call}(['A', 'B'], [7, 7], label='Sold'); plt.xlabel('{x_label}'); plt.ylabel('{y_label}')")
    assert got["type"] == "bar" and (got["x_label"], got["y_label"]) == ("names", "sold")
    assert got["elements"] == [{"label": "A", "group": "Sold", "value": 7}, {"label": "B", "group": "Sold", "value": 7}]


def test_pies(chart):
    got = chart("plt.pie([90, 10], labels=['No', 'No, in blue'], autopct='%1.1f%%', startangle=90); plt.title('P'); plt.axis('equal')")
    assert got == {"type": "pie", "title": "P", "elements": [
        {"label": "No", "angle": 324, "radius": 1}, {"label": "No, in blue", "angle": 36, "radius": 1}]}


@pytest.mark.parametrize("options", ["patch_artist=True", "patch_artist=False", "orientation='horizontal', patch_artist=True"])
def test_boxes(chart, options):
    got = chart("fig, ax = plt.subplots(); ax.set_title('Exam')\n"
                f"b = ax.boxplot([[85, 90, 78, 92, 88], [95, 89, 76, 91, 84, 87]], tick_labels=['A', 'B'], {options})")
    assert got["type"] == "box_and_whisker" and got["title"] == "Exam" and got["x_unit"] is None
    assert got["elements"] == [
        {"label": "A", "min": 78, "first_quartile": 85, "median": 88, "third_quartile": 90, "max": 92, "outliers": []},
        {"label": "B", "min": 84, "first_quartile": 84.75, "median": 88, "third_quartile": 90.5, "max": 95, "outliers": [76]}]


def test_several_axes(chart):
    got = chart("fig, axs = plt.subplots(1, 2); fig.suptitle('Both'); axs[0].plot([1, 2]); axs[1].scatter([1], [2]); axs[1].set_title('S')")
    assert got["type"] == "superchart" and got["title"] == "Both"
    assert [(one["type"], one["title"], len(one["elements"])) for one in got["elements"]] == [("line", None, 1), ("scatter", "S", 1)]


def test_other_figures(chart):
    got = chart("fig, ax = plt.subplots(); c = ax.add_artist(plt.Circle((0, 0), 1)); ax.grid(True); plt.title('Circle')")
    assert got == {"type": "unknown", "title": "Circle", "elements": []}
    assert chart("fig, ax = plt.subplots()") is None


def test_values_are_bounded(chart):
    got = chart("for n in range(50): plt.plot(np.arange(100_000), label='x' * 900)")
    assert len(got["elements"]) == 20 and sum(len(one["points"]) for one in got["elements"]) <= 1000 and len(json.dumps(got)) < 50_000
    assert got["elements"][0]["total"] == 100_000 and got["elements"][0]["points"][-1] == [99_999, 99_999]
    assert len(chart("plt.plot(range(1000))")["elements"][0]["points"]) == 1000


def test_only_points_that_are_kept_become_objects(kernel):
    """Millions of points would otherwise take more memory and time than the picture."""
    kernel.run("import sys, tracemalloc; sys.path.insert(0, '/husk/runtimes/python'); from husk_kernel.chart_data import matplotlib_chart\n"
               "import matplotlib.pyplot as plt, numpy as np\n"
               "fig, ax = plt.subplots(); ax.plot(np.arange(1e6)); ax.scatter(np.arange(1e6), np.arange(1e6)); plt.close(fig)")
    outcome = kernel.run("tracemalloc.start(); values = matplotlib_chart(fig); peak = tracemalloc.get_traced_memory()[1]; tracemalloc.stop()\n"
                         "[one['total'] for one in values['elements']], peak < 20_000_000 or peak")
    assert outcome.text == "([1000000, 1000000], True)"


def test_figures_as_the_last_value_have_their_values(kernel):
    bundle = kernel.run("import matplotlib.pyplot as plt\nfig, ax = plt.subplots(); ax.plot([1, float('nan')]); fig").result
    assert bundle[CHART]["elements"][0]["points"] == [[0, 1], [1, None]]


def test_plotly(kernel):
    kernel.run("import numpy, plotly.graph_objects as go")
    code = "f = go.Figure({}); f.update_layout(title='S', xaxis_title='Time (s)'); f.show()"
    got = kernel.run(code.format("go.Scatter(x=numpy.array([1, 2], 'i1'), y=[1.5, 2], mode='lines', name='a')")).displays[0]["data"][CHART]
    assert got["type"] == "line" and got["title"] == "S" and got["x_unit"] == "s" and got["elements"] == [{"label": "a", "points": [[1, 1.5], [2, 2]]}]
    got = kernel.run(code.format("go.Bar(x=['A', 'B'], y=[3, 4], name='g')")).displays[0]["data"][CHART]
    assert got["elements"] == [{"label": "A", "group": "g", "value": 3}, {"label": "B", "group": "g", "value": 4}]
    got = kernel.run(code.format("go.Pie(labels=['A', 'B'], values=[3, 1])")).displays[0]["data"][CHART]
    assert got["elements"] == [{"label": "A", "angle": 270, "radius": 1}, {"label": "B", "angle": 90, "radius": 1}]
    got = kernel.run(code.format("[go.Box(y=[1, 2, 3, 4, 5, 20], name='a'), go.Box(x=['p', 'q', 'p'], y=[1, 2, 3], name='b')]")).displays[0]["data"][CHART]
    assert got["type"] == "box_and_whisker" and [box["label"] for box in got["elements"]] == ["a", "p", "q"]
    assert got["elements"][0] == {"label": "a", "min": 1, "first_quartile": 2, "median": 3.5, "third_quartile": 5, "max": 5, "outliers": [20]}
    got = kernel.run(code.format("go.Box(q1=[2], median=[3], q3=[4], lowerfence=[1], upperfence=[5], x=['pre'])")).displays[0]["data"][CHART]
    assert got["elements"] == [{"label": "pre", "min": 1, "first_quartile": 2, "median": 3, "third_quartile": 4, "max": 5, "outliers": []}]


def stock(chart, encoding="x='day', y='price', color='who'"):
    return f"alt.Chart(frame, title='S').mark_{chart}().encode({encoding})"


@pytest.fixture
def altair(kernel):
    """Shows an Altair chart of `frame`, and returns its data or None."""
    kernel.run("import altair as alt, pandas as pd\n"
               "frame = pd.DataFrame({'day': [1, 2, 1, 2], 'price': [3, 4.5, 5, 7], 'who': ['a', 'a', 'b', 'b'], 'at': pd.to_datetime(['2024-05-01'] * 4)})")

    def show(code):
        outcome = kernel.run(code)
        assert outcome.error is None, outcome
        return outcome.result.get(CHART)

    return show


def test_altair_lines_and_scatters(altair):
    got = altair(stock("line"))
    assert (got["type"], got["title"], got["x_label"], got["y_label"], got["x_scale"]) == ("line", "S", "day", "price", "linear")
    assert got["elements"] == [{"label": "a", "points": [[1, 3], [2, 4.5]]}, {"label": "b", "points": [[1, 5], [2, 7]]}]
    got = altair(stock("circle", "x='at', y=alt.Y('price', title='Price (EUR)')"))
    assert (got["type"], got["x_scale"], got["y_unit"]) == ("scatter", "datetime", "EUR") and len(got["elements"][0]["points"]) == 4
    assert got["elements"][0]["points"][0] == ["2024-05-01T00:00:00", 3]


def test_altair_bars_pies_and_boxes(altair):
    got = altair(stock("bar", "x='who', y='mean(price)'"))
    assert got["type"] == "bar" and [(bar["label"], bar["value"]) for bar in got["elements"]] == [("a", 3.75), ("b", 6)]
    got = altair(stock("bar", "y='who:N', x='count()'"))
    assert got["x_label"] == "who" and [(bar["label"], bar["value"]) for bar in got["elements"]] == [("a", 2), ("b", 2)]
    got = altair(stock("arc", "theta='sum(price)', color='who'"))
    assert got["type"] == "pie" and [part["label"] for part in got["elements"]] == ["a", "b"] and sum(part["angle"] for part in got["elements"]) == 360
    got = altair(stock("boxplot", "x='who', y='price'"))
    assert got["type"] == "box_and_whisker" and [(box["label"], box["median"]) for box in got["elements"]] == [("a", 3.75), ("b", 6)]


def test_altair_views_and_charts_without_values(altair):
    got = altair(f"{stock('line')} | {stock('bar', chr(34).join(['x=', 'who', ', y=', 'sum(price)', '']))}")
    assert got["type"] == "superchart" and [one["type"] for one in got["elements"]] == ["line", "bar"]
    assert altair(stock("bar", "x=alt.X('price', bin=True), y='count()'")) is None
    assert altair(stock("line") + ".transform_filter('datum.day > 1')") is None
    assert len(altair("alt.data_transformers.disable_max_rows(); alt.Chart(pd.DataFrame({'x': range(9000), 'y': 1})).mark_line().encode(x='x', y='y')")
               ["elements"][0]["points"]) == 1000
