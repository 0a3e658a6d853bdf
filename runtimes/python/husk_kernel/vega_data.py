"""The values of an Altair chart, from its Vega-Lite specification, in the form of chart_data.py.

Supported is a single view with inline data: a mark, fields for x, y, colour and angle, and the aggregates that charts
of small tables use. Concatenated views become a superchart. Transforms, bins and time units change the values, so
charts with them are left out.
"""

from .chart_data import POINTS_MAX, box_from, labels_of, plain_value, text_or_none, thinned
from .describe import AXES_MAX, SERIES_MAX, text

_KINDS = {"line": "line", "point": "scatter", "circle": "scatter", "square": "scatter", "bar": "bar", "arc": "pie", "boxplot": "box_and_whisker"}
_SCALES = {"quantitative": "linear", "temporal": "datetime", "nominal": "categorical", "ordinal": "categorical"}
_AGGREGATES = {"sum": sum, "mean": lambda vs: sum(vs) / len(vs), "average": lambda vs: sum(vs) / len(vs), "min": min, "max": max, "count": len}
ROWS_MAX = 100_000


def altair_chart(spec):
    """Return the chart, or None if the values it shows are not in its data as they are (for example, binned values)."""
    for key in ("hconcat", "vconcat", "concat"):
        if key in spec:
            views = spec[key][:AXES_MAX]
            charts = [_view({**spec, **view, "data": view.get("data") or spec.get("data")}, POINTS_MAX // len(views)) for view in views]
            return {"type": "superchart", "title": _title(spec), "elements": charts} if all(charts) else None
    return _view(spec, POINTS_MAX)


def _view(spec, points):
    mark, encoding = spec.get("mark"), spec.get("encoding") or {}
    kind = _KINDS.get(mark.get("type") if isinstance(mark, dict) else mark)
    rows = _rows(spec)
    computed = any(one.get("bin") or one.get("timeUnit") for one in encoding.values() if isinstance(one, dict))
    if not kind or rows is None or computed or spec.get("transform") or {"row", "column", "facet"} & set(encoding):
        return None
    chart = {"type": kind, "title": _title(spec)}
    if kind == "pie":
        return {**chart, "elements": _slices(rows, encoding, points)}
    x, y = encoding.get("x") or {}, encoding.get("y") or {}
    across, along = (y, x) if kind in ("bar", "box_and_whisker") and x.get("type") == "quantitative" != y.get("type") else (x, y)
    chart |= labels_of(_axis_title(across), _axis_title(along))
    if kind == "box_and_whisker":
        groups = _grouped(rows, across.get("field"))
        return {**chart, "elements": [box_from(text(plain_value(name)), [row.get(along.get("field")) for row in group]) for name, group in groups.items()][:points]}
    series = _series(rows, encoding, across, along)
    share = points // max(len(series), 1)
    if kind == "bar":
        return {**chart, "elements": [{"label": str(plain_value(place)), "group": name, "value": plain_value(value)} for name, pairs in series for place, value in pairs[:share]]}
    for name, axis in (("x", x), ("y", y)):
        chart |= {f"{name}_ticks": [], f"{name}_tick_labels": [], f"{name}_scale": _scale(axis)}
    return {**chart, "elements": [_points(name, pairs, share) for name, pairs in series]}


def _points(name, pairs, share):
    kept = thinned(pairs, share)
    more = {"total": len(pairs)} if len(kept) < len(pairs) else {}
    return {"label": name, "points": [[plain_value(x), plain_value(y)] for x, y in kept], **more}


def _rows(spec):
    data = spec.get("data") or {}
    rows = data.get("values") if "values" in data else (spec.get("datasets") or {}).get(data.get("name"))
    return rows if isinstance(rows, list) and len(rows) <= ROWS_MAX and all(isinstance(row, dict) for row in rows) else None


def _title(owner):
    title = owner.get("title")
    return text_or_none((title.get("text") if isinstance(title, dict) else title) or "")


def _axis_title(channel):
    return text_or_none(channel.get("title") or (channel.get("axis") or {}).get("title") or channel.get("field") or channel.get("aggregate") or "")


def _scale(channel):
    scale = (channel.get("scale") or {}).get("type")
    return scale if scale in ("log", "sqrt", "symlog", "pow") else _SCALES.get(channel.get("type"), "linear")


def _grouped(rows, *fields):
    """Group rows by their value of the first field that is not None; groups and rows keep their order."""
    field = next((field for field in fields if field), None)
    groups = {}
    for row in rows:
        groups.setdefault(row.get(field) if field else "", []).append(row)
    return groups


def _series(rows, encoding, across, along):
    colour = (encoding.get("color") or encoding.get("xOffset") or {}).get("field")
    groups = list(_grouped(rows, colour).items())[:SERIES_MAX]
    return [(text(name) if colour else f"Series {n}", _pairs(group, across, along)) for n, (name, group) in enumerate(groups)]


def _pairs(rows, across, along):
    aggregate = along.get("aggregate")
    if not aggregate:
        return [(row.get(across.get("field")), row.get(along.get("field"))) for row in rows]
    return [(place, _aggregated(group, aggregate, along)) for place, group in _grouped(rows, across.get("field")).items()]


def _aggregated(rows, aggregate, channel):
    """Aggregate a field of the rows. An unsupported aggregate raises KeyError, and the chart gets no values."""
    return _AGGREGATES[aggregate]([row.get(channel.get("field")) for row in rows])


def _slices(rows, encoding, points):
    theta, field = encoding["theta"], (encoding.get("color") or {}).get("field")
    values = [(name, sum(value for _, value in _pairs(group, {"field": field}, theta))) for name, group in _grouped(rows, field).items()]
    whole = sum(value for _, value in values) or 1
    return [{"label": text(name), "angle": round(360 * value / whole, 3), "radius": 1.0} for name, value in values[:points]]
