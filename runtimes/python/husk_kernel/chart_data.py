"""The values of a chart as data, in the form of E2B's code interpreter: `application/vnd.husk.chart+json`.

A chart is {"type": "line" | "scatter" | "bar" | "pie" | "box_and_whisker" | "superchart" | "unknown", "title",
"elements": [...]} and, except for pies, labels and units of its axes. Each figure has at most POINTS_MAX points:
longer series are thinned out evenly, and `total` is the original number of points. Matplotlib is not imported here:
its objects are recognized by the names of their classes.
"""

import re

from .describe import AXES_MAX, SERIES_MAX, text

CHART = "application/vnd.husk.chart+json"

POINTS_MAX = 1000
TICKS_MAX = 100
_UNIT = re.compile(r"\s\(([^()]+)\)|\[([^\[\]]+)\]")
_UNNAMED = re.compile(r"_(?:child|container)(\d+)")
_NEAR = 1e-6


def matplotlib_chart(figure):
    """Return the chart of a figure, or None if the figure has no data."""
    all_axes = [axes for axes in figure.axes if axes.get_label() != "<colorbar>"][:AXES_MAX]
    if not any(axes.has_data() for axes in all_axes):
        return None
    charts = [_chart(axes, POINTS_MAX // len(all_axes)) for axes in all_axes]
    if len(charts) == 1:
        return charts[0]
    return {"type": "superchart", "title": text_or_none(figure._suptitle.get_text() if figure._suptitle else ""), "elements": charts}


def _chart(axes, points):
    chart = {"type": "unknown", "title": text_or_none(axes.get_title())}
    boxes = _boxes(axes)
    bars = [one for one in axes.containers if type(one).__name__ == "BarContainer"]
    kinds = {type(one).__name__ for one in (*axes.collections, *axes.patches, *axes.images, *axes.artists)}
    if boxes:
        vertical, elements = boxes
        return {**chart, "type": "box_and_whisker", **_labels(axes, vertical), "elements": elements}
    if kinds <= {"PathCollection"} and (axes.lines or kinds):
        series = [("Line", line, line.get_xdata(), line.get_ydata()) for line in axes.lines if not _is_rule(line)]
        series += [("Scatter", one, *one.get_offsets().T) for one in axes.collections]
        return {**chart, "type": "scatter" if kinds else "line", **_labels(axes), **_scale("x", axes.xaxis), **_scale("y", axes.yaxis),
                "elements": [_points(*one, points // len(series[:SERIES_MAX])) for one in series[:SERIES_MAX]]}
    if kinds == {"Wedge"}:
        return {**chart, "type": "pie", "elements": [_slice(wedge) for wedge in axes.patches[:points]]}
    if bars and kinds == {"Rectangle"}:
        vertical = bars[0].orientation != "horizontal"
        elements = [bar for one in bars[:SERIES_MAX] for bar in _bars(axes, one, points // len(bars[:SERIES_MAX]))]
        return {**chart, "type": "bar", **_labels(axes, vertical), "elements": elements}
    return {**chart, "elements": []}


def text_or_none(value):
    return text(value) or None


def _labels(axes, vertical=True):
    """Return the axis labels. In horizontal bar and box plots they are swapped: x is the axis with the names."""
    return labels_of(*(text_or_none(axes.get_xlabel()), text_or_none(axes.get_ylabel()))[:: 1 if vertical else -1])


def labels_of(x, y):
    return {"x_label": x, "y_label": y, "x_unit": _unit(x), "y_unit": _unit(y)}


def _unit(label):
    found = _UNIT.search(label or "")
    return (found[1] or found[2]) if found else None


def _series_name(kind, artist):
    label = str(artist.get_label())
    unnamed = _UNNAMED.fullmatch(label)
    return f"{kind} {unnamed[1]}" if unnamed else text(label)


def _plain(values):
    """Return dates as ISO text, and other values unchanged."""
    kind = getattr(getattr(values, "dtype", None), "kind", "")
    if kind == "M":
        return values.astype("datetime64[s]").astype(str).tolist()
    return values.tolist() if kind else list(values)


def plain_value(value):
    if hasattr(value, "isoformat"):
        return value.isoformat()
    try:
        return text(value) if isinstance(value, str) else float(value)
    except (TypeError, ValueError):
        return text(value)


def thinned(items, limit):
    """At most `limit` of the items: the first, the last and evenly spaced ones between them."""
    if len(items) <= limit:
        return items
    step = (len(items) - 1) / max(limit - 1, 1)
    return [items[round(n * step)] for n in range(max(limit, 1))]


def _points(kind, artist, xs, ys, limit):
    """Convert only the points that are kept to Python objects, because a line may have millions of points."""
    total = min(len(xs), len(ys))
    kept = list(thinned(range(total), limit))
    more = {"total": total} if len(kept) < total else {}
    points = [[plain_value(x), plain_value(y)] for x, y in zip(_plain_at(xs, kept), _plain_at(ys, kept), strict=True)]
    return {"label": _series_name(kind, artist), "points": points, **more}


def _plain_at(values, places):
    return _plain(values[places] if hasattr(values, "dtype") else [values[place] for place in places])


def _is_rule(line):
    """True for the lines of axhline(), axvline() and the like."""
    xs, ys = line.get_xdata(), line.get_ydata()
    return len(xs) == 2 and len(ys) == 2 and (xs[0] == xs[1] or ys[0] == ys[1])


def _scale(name, axis):
    converter = type(axis.get_converter() if hasattr(axis, "get_converter") else axis.converter).__name__
    # Locators multiply a step, so that ticks may be 0.30000000000000004.
    scale, ticks = axis.get_scale(), [float(f"{tick:.12g}") for tick in axis.get_ticklocs()[:TICKS_MAX]]
    if "Date" in converter:
        from matplotlib.dates import num2date

        scale, ticks = "datetime", [num2date(tick).isoformat() for tick in ticks]
    elif "Category" in converter:
        scale = "categorical"
    return {f"{name}_ticks": ticks, f"{name}_tick_labels": [label.get_text() for label in axis.get_ticklabels()[:TICKS_MAX]],
            f"{name}_scale": scale}


class _Names:
    """The label of the tick at a position, else the position itself."""

    def __init__(self, axis):
        self._ticks = [(place, text(label.get_text())) for place, label in zip(axis.get_ticklocs(), axis.get_ticklabels(), strict=False)]

    def at(self, place):
        return next((label for tick, label in self._ticks if label and abs(tick - place) < _NEAR), f"{place:g}")


def _bars(axes, container, limit):
    vertical = container.orientation != "horizontal"
    names, group = _Names(axes.xaxis if vertical else axes.yaxis), _series_name("Group", container)
    for bar in container.patches[:limit]:
        start, width, value = bar.get_x(), bar.get_width(), bar.get_height()
        if not vertical:
            start, width, value = bar.get_y(), value, width
        yield {"label": names.at(start + width / 2), "group": group, "value": float(value)}


def _slice(wedge):
    return {"label": text(wedge.get_label()), "angle": round(float(wedge.theta2 - wedge.theta1), 3), "radius": float(wedge.r)}


# Box plots: rectangles, and lines for their medians, whiskers and outliers


def _boxes(axes):
    """Return whether the boxes are vertical, and their values; None if the axes contain anything but boxes."""
    if axes.collections or axes.images or not axes.lines or {type(one).__name__ for one in axes.patches} - {"PathPatch"}:
        return None
    if not axes.patches and not any(_is_frame(line.get_xdata(), line.get_ydata()) for line in axes.lines):
        return None
    lines = [(_plain(line.get_xdata()), _plain(line.get_ydata())) for line in axes.lines]
    shapes = [patch.get_path().vertices.T.tolist() for patch in axes.patches] or [line for line in lines if _is_frame(*line)]
    if not shapes or not all(isinstance(number, (int, float)) for line in lines for half in line for number in half):
        return None
    for vertical in (True, False):
        turned = [line if vertical else line[::-1] for line in lines]
        names = _Names(axes.xaxis if vertical else axes.yaxis)
        boxes = [_box(*(shape if vertical else shape[::-1]), turned, names) for shape in shapes[:POINTS_MAX]]
        if all(boxes):
            return vertical, boxes
    return None


def _is_frame(xs, ys):
    return len(xs) >= 5 and (xs[0], ys[0]) == (xs[-1], ys[-1])


def _near(a, b):
    return abs(a - b) <= _NEAR * max(abs(a), abs(b), 1)


def _box(xs, ys, lines, names):
    left, right, low, high = min(xs), max(xs), min(ys), max(ys)
    middle = (left + right) / 2
    found = {"label": names.at(middle), "min": None, "first_quartile": low, "median": None, "third_quartile": high, "max": None, "outliers": []}
    for line_xs, line_ys in lines:
        stands = line_xs and all(_near(x, middle) for x in line_xs)
        if len(line_xs) == 2 and _near(*line_ys) and left - _NEAR <= min(line_xs) < middle < max(line_xs) <= right + _NEAR:
            if low - _NEAR <= line_ys[0] <= high + _NEAR and found["median"] is None:
                found["median"] = line_ys[0]
        elif stands and len(line_xs) == 2 and _near(line_ys[0], low) and line_ys[1] <= low and found["min"] is None:
            found["min"] = line_ys[1]
        elif stands and len(line_xs) == 2 and _near(line_ys[0], high) and line_ys[1] >= high:
            found["max"] = line_ys[1]
        elif stands:
            found["outliers"] += thinned(line_ys, 100)
    return found if None not in found.values() else None


# Plotly: a figure as sent to the browser, without numbers in base64


_PLOTLY = {"bar": "bar", "pie": "pie", "box": "box_and_whisker"}


def plotly_chart(figure):
    """Return the chart of a figure, or None if its traces are of several kinds or of an unsupported kind."""
    layout, traces = figure.get("layout", {}), figure.get("data", [])[:SERIES_MAX]
    kinds = {_plotly_kind(trace) for trace in traces}
    if len(kinds) != 1 or None in kinds:
        return None
    kind, limit = kinds.pop(), POINTS_MAX // len(traces)
    chart = {"type": kind, "title": _title(layout)}
    if kind == "pie":
        return {**chart, "elements": [part for trace in traces for part in _plotly_slices(trace, limit)]}
    x, y = (_title(layout.get(f"{name}axis") or {}) for name in "xy")
    chart |= labels_of(x, y)
    if kind == "box_and_whisker":
        return {**chart, "elements": [box for n, trace in enumerate(traces) for box in _plotly_boxes(trace, n, limit)]}
    pairs = [(str(trace.get("name") or f"{kind.capitalize()} {n}"), _plotly_pairs(trace)) for n, trace in enumerate(traces)]
    if kind == "bar":
        return {**chart, "elements": [{"label": str(plain_value(x)), "group": text(name), "value": plain_value(y)} for name, pairs in pairs for x, y in pairs[:limit]]}
    ticks = {f"{name}_{what}": value for name in "xy" for what, value in (("ticks", []), ("tick_labels", []), ("scale", "linear"))}
    elements = [{"label": text(name), "points": [[plain_value(x), plain_value(y)] for x, y in thinned(pairs, limit)]} for name, pairs in pairs]
    return {**chart, **ticks, "elements": elements}


def _plotly_kind(trace):
    if trace.get("type", "scatter") in ("scatter", "scattergl"):
        return "line" if "lines" in (trace.get("mode") or "lines") else "scatter"
    return _PLOTLY.get(trace["type"])


def _title(owner):
    title = owner.get("title")
    return text_or_none((title.get("text") if isinstance(title, dict) else title) or "")


def _plotly_pairs(trace):
    ys = _plotly_values(trace.get("y"))
    xs = _plotly_values(trace.get("x")) or list(range(len(ys)))
    return list(zip(*((ys, xs) if trace.get("orientation") == "h" else (xs, ys)), strict=False))


def _plotly_slices(trace, limit):
    values = [float(value) for value in _plotly_values(trace.get("values"))][:limit]
    labels = _plotly_values(trace.get("labels")) or list(range(len(values)))
    for label, value in zip(labels, values, strict=False):
        yield {"label": text(label), "angle": round(360 * value / (sum(values) or 1), 3), "radius": 1.0}


def _plotly_boxes(trace, n, limit):
    name = text(trace.get("name") or f"Box {n}")
    across, along = ("y", "x") if trace.get("orientation") == "h" else ("x", "y")
    values, places = _plotly_values(trace.get(along)), _plotly_values(trace.get(across))
    if trace.get("q1") is not None:  # the figure has the computed quartiles
        rows = zip(*(_plotly_values(trace.get(key)) for key in ("lowerfence", "q1", "median", "q3", "upperfence")), strict=False)
        names = places or [name]
        return [_box_of(text(label), row, []) for label, row in zip(names, rows, strict=False)][:limit]
    groups = {}
    for place, value in zip(places or [name] * len(values), values, strict=False):
        groups.setdefault(text(plain_value(place)), []).append(value)
    return [box_from(label, group) for label, group in list(groups.items())[:limit]]


def _box_of(label, five, outliers):
    parts = ("min", "first_quartile", "median", "third_quartile", "max")
    return {"label": label, **dict(zip(parts, map(float, five), strict=True)), "outliers": thinned(outliers, 100)}


def box_from(label, values):
    """Compute a box as Plotly and Vega-Lite draw it: a whisker is at most 1.5 times as long as the box."""
    values = sorted(float(value) for value in values if isinstance(value, (int, float)) and value == value)
    low, middle, high = (_quantile(values, share) for share in (0.25, 0.5, 0.75))
    reach = 1.5 * (high - low)
    near = [value for value in values if low - reach <= value <= high + reach]
    return _box_of(label, (near[0], low, middle, high, near[-1]), [value for value in values if value < near[0] or value > near[-1]])


def _quantile(values, share):
    """Compute a quantile by Plotly's `linear` method."""
    place = min(max(share * len(values) - 0.5, 0), len(values) - 1)
    below = int(place)
    above = min(below + 1, len(values) - 1)
    return values[below] + (values[above] - values[below]) * (place - below)


def _plotly_values(values):
    if isinstance(values, dict):  # numbers in base64
        import base64

        import numpy

        return numpy.frombuffer(base64.b64decode(values["bdata"]), values["dtype"]).tolist()
    return _plain(values) if values is not None and not isinstance(values, str) else []
