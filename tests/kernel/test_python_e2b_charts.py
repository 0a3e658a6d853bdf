"""Facts about charts that E2B's own suites check, 11 in Python and 10 in JavaScript, restated for our charts.

The ten in JavaScript check the facts of ten in Python, and in addition the types of JSON values: `number_pairs` and
`typed_axes` check these for both. Drawings and values are ours.
"""

import datetime
import json

import pytest

RUNTIME = "python"
CHART = "application/vnd.husk.chart+json"


@pytest.fixture
def chart(kernel):
    """The data of the first picture of a cell, after a trip through JSON."""

    def draw(code):
        outcome = kernel.run(f"import datetime\nimport matplotlib.pyplot as plt\nimport numpy as np\n{code}\nplt.show()\n")
        assert outcome.error is None, outcome
        return json.loads(json.dumps(outcome.displays[0]["data"][CHART]))

    return draw


def typed_axes(chart, x=float, y=float):
    """Ticks are numbers, or text on an axis of dates. Their labels are text."""
    for axis, kind in (("x", x), ("y", y)):
        assert chart[f"{axis}_ticks"] and all(isinstance(tick, kind) for tick in chart[f"{axis}_ticks"])
        assert all(isinstance(label, str) for label in chart[f"{axis}_tick_labels"])


def number_pairs(series, count, x=float):
    assert len(series["points"]) == count
    return all(len(point) == 2 and isinstance(point[0], x) and isinstance(point[1], float) for point in series["points"])


def axis_names(chart):
    return [chart[name] for name in ("x_label", "y_label", "x_unit", "y_unit")]


def test_bars_have_labels_values_and_their_group(chart):
    got = chart("plt.figure(figsize=(9, 5)); plt.bar(['Oak', 'Elm', 'Fir'], [12, 7, 30], label='Felled', color='green')\n"
                "plt.title('Trees by kind'); plt.xlabel('Kind'); plt.ylabel('How many'); plt.tight_layout()")
    assert (got["type"], got["title"], axis_names(got)) == ("bar", "Trees by kind", ["Kind", "How many", None, None])
    assert [(bar["label"], bar["group"], bar["value"]) for bar in got["elements"]] == [("Oak", "Felled", 12), ("Elm", "Felled", 7), ("Fir", "Felled", 30)]


def test_boxes_have_quartiles_whiskers_and_outliers(chart):
    # `labels=` is the old name of `tick_labels=`, and the legend has nothing to show: both warn.
    got = chart("fig, ax = plt.subplots(figsize=(9, 5)); ax.set_title('Heights'); ax.set_xlabel('Team'); ax.set_ylabel('Height')\n"
                "ax.boxplot({'Red': [1, 2, 3, 4, 5], 'Blue': [10, 11, 12, 13, 14, 40]}.values(), labels=['Red', 'Blue'], patch_artist=True)\n"
                "ax.legend(); plt.tight_layout()")
    assert (got["type"], got["title"], axis_names(got)) == ("box_and_whisker", "Heights", ["Team", "Height", None, None])
    assert got["elements"] == [
        {"label": "Red", "min": 1, "first_quartile": 2, "median": 3, "third_quartile": 4, "max": 5, "outliers": []},
        {"label": "Blue", "min": 10, "first_quartile": 11.25, "median": 12.5, "third_quartile": 13.75, "max": 14, "outliers": [40]}]


def test_a_chart_is_json(chart):
    assert chart("plt.scatter(np.random.rand(4), np.random.rand(4), c='red', label='Only'); plt.xlabel('A')")["type"] == "scatter"


def test_lines_over_time_have_dates_as_text(chart):
    got = chart("days = [datetime.date(2024, 2, 1) + datetime.timedelta(seconds=n) for n in range(100)]\n"
                "plt.plot(days, np.linspace(0, 1, 100), label='up'); plt.plot(days, np.linspace(1, 0, 100), label='down')\n"
                "plt.xlabel('When (s)'); plt.ylabel('Pitch (Hz)'); plt.title('Up and down')")
    assert (got["type"], got["title"], axis_names(got)) == ("line", "Up and down", ["When (s)", "Pitch (Hz)", "s", "Hz"])
    assert (got["x_scale"], got["y_scale"]) == ("datetime", "linear")
    typed_axes(got, x=str)
    assert datetime.datetime.fromisoformat(got["x_ticks"][0])
    assert [line["label"] for line in got["elements"]] == ["up", "down"] and all(number_pairs(line, 100, x=str) for line in got["elements"])
    assert datetime.datetime.fromisoformat(got["elements"][0]["points"][0][0]) == datetime.datetime(2024, 2, 1)


def test_logarithmic_scales_are_named_and_units_are_in_brackets(chart):
    got = chart("x = np.linspace(0, 100, 100); plt.plot(x, np.exp(x), label='growth'); plt.yscale('log'); plt.legend(); plt.grid(True)\n"
                "plt.xlabel('Steps'); plt.ylabel('Size (log scale)'); plt.title('Growth')")
    assert (got["type"], got["title"], axis_names(got)) == ("line", "Growth", ["Steps", "Size (log scale)", None, "log scale"])
    assert (got["x_scale"], got["y_scale"]) == ("linear", "log")
    typed_axes(got)
    [line] = got["elements"]
    assert line["label"] == "growth" and number_pairs(line, 100)


def test_slices_have_labels_angles_and_radii(chart):
    got = chart("fig, ax = plt.subplots(figsize=(7, 7)); plt.xlabel('x'); plt.ylabel('y')\n"
                "ax.pie([75, 25], labels=['Yes', 'Yes, but'], autopct='%1.1f%%', startangle=90); ax.axis('equal'); plt.title('Well?')")
    assert (got["type"], got["title"]) == ("pie", "Well?")
    assert got["elements"] == [{"label": "Yes", "angle": 270, "radius": 1}, {"label": "Yes, but", "angle": 90, "radius": 1}]


@pytest.mark.parametrize("values, scales", [
    ("[datetime.date(2024, 2, 1 + n) for n in range(5)], np.sin(range(5)), label='s'", ("datetime", "linear")),
    ("[1, 2, 3], ['low', 'mid', 'high']", ("linear", "categorical")),
])
def test_scales_of_cells_that_are_indented(kernel, values, scales):
    lines = ["import datetime", "import numpy as np", "import matplotlib.pyplot as plt", "", "# Draw", f"plt.plot({values})", "plt.show()"]
    outcome = kernel.run("\n" + "".join(f"    {line}\n" if line else "\n" for line in lines) + "    ")
    got = outcome.displays[0]["data"][CHART]
    assert (got["type"], got["x_scale"], got["y_scale"]) == ("line", *scales)


def test_scatters_have_a_series_each(chart):
    got = chart("plt.xlabel('A'); plt.ylabel('B'); plt.scatter(np.random.rand(5), np.random.rand(5), c='blue', label='few')\n"
                "plt.scatter(np.random.rand(10), np.random.rand(10), c='red', label='more')")
    assert (got["type"], got["title"], got["x_label"], got["y_label"], got["x_scale"], got["y_scale"]) == ("scatter", None, "A", "B", "linear", "linear")
    typed_axes(got)
    few, more = got["elements"]
    assert (few["label"], more["label"]) == ("few", "more") and number_pairs(few, 5) and number_pairs(more, 10)


def test_several_plots_are_one_superchart(chart):
    got = chart("fig, (left, right) = plt.subplots(1, 2, figsize=(10, 8)); fig.suptitle('Two plots', fontsize=16)\n"
                "x = np.linspace(0, 10, 100); left.plot(x, np.cos(x), 'r'); left.set_title('Wave'); left.grid(True)\n"
                "right.scatter(np.random.rand(5), np.random.rand(5), label='dots'); right.set_title('Dots'); right.grid(True)\n"
                "right.set_xlabel('X'); right.set_ylabel('Y')")
    assert (got["type"], got["title"]) == ("superchart", "Two plots")
    left, right = got["elements"]
    assert (left["type"], left["title"], left["x_label"], left["y_label"]) == ("line", "Wave", None, None)
    assert (right["type"], right["title"], right["x_label"], right["y_label"]) == ("scatter", "Dots", "X", "Y")
    assert [len(one["points"]) for one in left["elements"] + right["elements"]] == [100, 5]


def test_other_drawings_are_unknown_and_have_a_title(chart):
    got = chart("fig, ax = plt.subplots(); ax.add_artist(plt.Circle((0, 0), 1, fill=False)); ax.add_artist(plt.Circle((0, 0), 2, color='red'))\n"
                "ax.grid(True); plt.title('Rings')")
    assert (got["type"], got["title"], got["elements"]) == ("unknown", "Rings", [])
