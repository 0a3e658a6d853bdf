"""The values of base graphics, in the form of E2B's code interpreter."""

import json

import pytest
from r_session import Session

CHART = "application/vnd.husk.chart+json"


@pytest.fixture(scope="module")
def r():
    with Session() as session:
        yield session


@pytest.fixture
def draw(r):
    """Draws one page and returns its values, or None."""

    def draw(code):
        outcome = r.run(code)
        assert outcome.error is None and outcome.stderr == "" and len(outcome.displays) == 1, outcome
        return outcome.displays[0]["data"].get(CHART)

    return draw


def points_of(chart):
    return [(one["label"], one["points"]) for one in chart["elements"]]


def test_points_and_lines_carry_their_values(draw):
    got = draw("plot(c(1, 2, 5), c(3, 4, 4.5), main = 'T', xlab = 'Time (s)', ylab = 'Level [dB]')")
    assert (got["type"], got["title"], got["x_label"], got["y_label"], got["x_unit"], got["y_unit"]) == ("scatter", "T", "Time (s)", "Level [dB]", "s", "dB")
    assert points_of(got) == [("Series 1", [[1, 3], [2, 4], [5, 4.5]])]
    assert (got["x_scale"], got["y_scale"], got["x_ticks"], got["x_tick_labels"]) == ("linear", "linear", [1, 2, 3, 4, 5], ["1", "2", "3", "4", "5"])
    got = draw("plot(c(1, NA), type = 'l', ann = FALSE); lines(2:1, col = 2); abline(h = 1); grid()")
    assert got["type"] == "line" and got["title"] is None and got["x_label"] is None
    assert points_of(got) == [("Series 1", [[1, 1], [2, None]]), ("Series 2", [[1, 2], [2, 1]])]
    got = draw("plot(1:2, type = 'n'); lines(1:2); points(2, 2); title('Later')")
    assert (got["type"], got["title"], len(got["elements"])) == ("scatter", "Later", 2)


def test_a_legend_names_the_series_and_is_none_of_them(draw):
    code = "plot(1:2, type = 'l'); lines(2:1, lty = 2); legend('top', legend = c('up', 'down'), lty = 1:2, pch = 1:2)"
    assert points_of(draw(code)) == [("up", [[1, 1], [2, 2]]), ("down", [[1, 2], [2, 1]])]


def test_scales_are_named(draw):
    got = draw("plot(as.Date('2024-05-01') + 0:1, c(1, 100), log = 'y', type = 'l')")
    assert (got["x_scale"], got["y_scale"], got["x_ticks"][0], got["y_ticks"]) == ("datetime", "log", "2024-05-01", [1, 10, 100])
    assert got["elements"][0]["points"] == [["2024-05-01", 1], ["2024-05-02", 100]]
    got = draw("plot(as.POSIXct('2024-05-01 12:00', tz = 'UTC') + c(0, 3600), 1:2)")
    assert got["elements"][0]["points"][1] == ["2024-05-01T13:00:00", 2]


def test_bars_carry_their_values(draw):
    got = draw("b <- barplot(c(a = 1, b = 2.5), main = 'B', ylab = 'Sold (pcs)')")
    assert (got["type"], got["title"], got["y_unit"]) == ("bar", "B", "pcs")
    assert got["elements"] == [{"label": "a", "group": "Group 1", "value": 1}, {"label": "b", "group": "Group 1", "value": 2.5}]
    sold = "m <- rbind(old = c(p = 1, q = 2), new = c(3, 4)); "
    bars = [("p", "old", 1), ("p", "new", 3), ("q", "old", 2), ("q", "new", 4)]
    for options in ("beside = TRUE", "beside = FALSE", "beside = TRUE, legend.text = TRUE"):
        got = draw(f"{sold}b <- barplot(m, {options})")
        assert [(one["label"], one["group"], one["value"]) for one in got["elements"]] == bars, options
    got = draw("b <- barplot(table(c('x', 'y', 'x')), horiz = TRUE, xlab = 'count', ylab = 'name')")
    assert (got["x_label"], got["y_label"]) == ("name", "count")
    assert [(one["label"], one["value"]) for one in got["elements"]] == [("x", 2), ("y", 1)]


def test_histograms_carry_their_values(draw):
    got = draw("hist(c(1, 2, 2, 3, 3, 3), breaks = 0:3, main = 'H', xlab = 'v')")
    assert (got["type"], got["title"], got["x_label"], got["y_label"]) == ("bar", "H", "v", "Frequency")
    assert [(one["label"], one["value"]) for one in got["elements"]] == [("0.5", 1), ("1.5", 2), ("2.5", 3)]


def test_pies_carry_their_values(draw):
    got = draw("pie(c(No = 90, `No, in blue` = 10), main = 'P')")
    assert got == {"type": "pie", "title": "P", "elements": [
        {"label": "No", "angle": 324, "radius": 1}, {"label": "No, in blue", "angle": 36, "radius": 1}]}


@pytest.mark.parametrize("options, labels", [("ylab = 'v', xlab = 'n'", ("n", "v")), ("horizontal = TRUE, xlab = 'v', ylab = 'n'", ("n", "v"))])
def test_boxes_carry_their_values(draw, options, labels):
    got = draw(f"boxplot(list(A = c(1, 2, 3, 4, 5, 40), B = c(2, 2, 3, 3, 4, 4)), main = 'X', {options})")
    assert (got["type"], got["title"], (got["x_label"], got["y_label"])) == ("box_and_whisker", "X", labels)
    assert got["elements"] == [
        {"label": "A", "min": 1, "first_quartile": 2, "median": 3.5, "third_quartile": 5, "max": 5, "outliers": [40]},
        {"label": "B", "min": 2, "first_quartile": 2, "median": 3, "third_quartile": 4, "max": 4, "outliers": []}]


def test_several_plots_and_other_plots(draw):
    got = draw("par(mfrow = c(1, 2)); plot(1:2, type = 'l', main = 'Left'); pie(c(a = 1), main = 'Right')")
    assert got["type"] == "superchart" and [(one["type"], one["title"]) for one in got["elements"]] == [("line", "Left"), ("pie", "Right")]
    assert draw("image(volcano, main = 'V')") == {"type": "unknown", "title": "V", "elements": []}


def test_every_page_has_its_own_values(r):
    got = [one["data"][CHART] for one in r.run("plot(1); { b <- barplot(2); invisible(dev.off()) }; for (i in 3:4) plot(i)").displays]
    assert [one["type"] for one in got] == ["scatter", "bar", "scatter", "scatter"]
    assert [one["elements"][0]["points"][0][1] for one in got[2:]] == [3, 4]
    assert CHART not in r.run("plot(1); grid::grid.newpage(); grid::grid.rect(width = 0.5)").displays[1]["data"]


def test_values_are_bounded(draw):
    got = draw("plot(1:20000, pch = '.'); for (i in 1:49) lines(1:20000)")
    assert sum(len(one["points"]) for one in got["elements"]) <= 1000 and got["elements"][0]["total"] == 20000
    assert got["elements"][0]["points"][-1] == [20000, 20000]
    got = draw("b <- barplot(1:3000, names.arg = rep(strrep('n', 200), 3000))")
    assert len(got["elements"]) == 1000 and len(json.dumps(got)) < 300_000
    assert draw("plot(1); for (i in 1:10000) points(1, 1)") is None


def test_classes_and_functions_of_the_user_are_not_called(draw, r):
    hostile = "as.character.odd <- length.odd <- `[.odd` <- `[[.odd` <- format.odd <- function(x, ...) stop('called')\n" \
              "z <- boxplot(list(A = 1:5), plot = FALSE); z$names <- structure('A', class = 'odd')\nbxp(z, show.names = FALSE)"
    assert draw(hostile)["elements"][0]["label"] == "A"
    assert draw("pie <- function(dx, labels) plot(dx)\npie(1:2, stop('forced'))")["type"] == "scatter"
    outcome = r.run("rm(pie); plot.xy(xy.coords(1, 1), type = 'p')")  # no page was opened
    assert outcome.error["type"] == "simpleError" and "plot.new has not been called yet" in outcome.error["message"]
