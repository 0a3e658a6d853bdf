"""A description of a figure or table in a few words: parts of a MIME bundle for readers who cannot see it.

`application/vnd.husk.figure+json` and `application/vnd.husk.frame+json` are always bounded. The libraries are not
imported here: a session without such objects does not load them.
"""

FIGURE = "application/vnd.husk.figure+json"
FRAME = "application/vnd.husk.frame+json"

AXES_MAX = 12
SERIES_MAX = 20
COLUMNS_MAX = 50
TEXT_MAX = 100  # characters of a title or name


def text(value):
    value = " ".join(str(value).split())
    return value if len(value) <= TEXT_MAX else value[: TEXT_MAX - 1] + "…"


def bounded(items, limit):
    """The first items of a list, and the number of those left out."""
    items = list(items)
    return items[:limit] + ([{"more": len(items) - limit}] if len(items) > limit else [])


def filled(**fields):
    """Return the fields that have a value."""
    return {name: value for name, value in fields.items() if value not in (None, "", [], {})}


# Tables


def frame(table):
    """A pandas DataFrame."""
    columns = [{"name": text(name), "dtype": str(dtype)} for name, dtype in _head(table.dtypes.items())]
    return _table("DataFrame", table.shape, columns, table.index)


def series(column):
    """A pandas Series."""
    return _table("Series", column.shape, [filled(name=text(column.name), dtype=str(column.dtype))], column.index)


def _table(kind, shape, columns, index):
    return {"kind": kind, "shape": list(shape), "columns": _cut(columns, shape),
            "index": filled(kind=type(index).__name__, dtype=str(index.dtype), names=[text(n) for n in index.names if n is not None])}


def polars_frame(table):
    columns = [{"name": text(name), "dtype": str(dtype)} for name, dtype in _head(table.schema.items())]
    return {"kind": "DataFrame", "shape": list(table.shape), "columns": _cut(columns, table.shape)}


def _head(pairs):
    for n, pair in enumerate(pairs):
        if n == COLUMNS_MAX:
            return
        yield pair


def _cut(columns, shape):
    more = (shape[1] if len(shape) > 1 else 1) - len(columns)
    return columns + ([{"more": more}] if more > 0 else [])


# Matplotlib

_COLLECTIONS = {"PathCollection": "scatter", "PolyCollection": "area", "FillBetweenPolyCollection": "area", "QuadMesh": "mesh",
                "LineCollection": "lines", "QuadContourSet": "contour", "Quiver": "arrows", "Poly3DCollection": "surface",
                "Path3DCollection": "scatter", "Line3DCollection": "lines"}


def matplotlib_figure(figure):
    title = figure._suptitle.get_text() if figure._suptitle else ""
    return filled(kind="matplotlib", title=text(title), axes=bounded(map(_axes, figure.axes[: AXES_MAX + 1]), AXES_MAX))


def _axes(axes):
    legend = axes.get_legend()
    return filled(
        title=text(axes.get_title()),
        x=_axis(axes.xaxis), y=_axis(axes.yaxis),
        series=bounded(_series(axes), SERIES_MAX),
        legend=bounded([text(entry.get_text()) for entry in legend.get_texts()], SERIES_MAX) if legend else None,
    )


def _axis(axis):
    scale = axis.get_scale()
    low, high = (float(f"{limit:.6g}") for limit in axis.get_view_interval())
    return filled(label=text(axis.get_label_text()), scale=scale if scale != "linear" else "", limits=[low, high])


def _series(axes):
    in_containers = {id(part) for container in axes.containers for part in _parts(container)}
    for container in axes.containers:
        kind = type(container).__name__.removesuffix("Container").lower()
        yield _one(kind, container.get_label(), count=len(container))
    for line in axes.lines:
        if id(line) not in in_containers:
            yield _one("line", line.get_label(), points=len(line.get_xdata(orig=False)))
    for collection in axes.collections:
        if id(collection) not in in_containers:
            name = type(collection).__name__
            yield _one(_COLLECTIONS.get(name, name), collection.get_label(), points=_points(collection))
    for image in axes.images:
        yield _one("image", image.get_label(), shape=list(image.get_array().shape))
    patches = [type(patch).__name__ for patch in axes.patches if id(patch) not in in_containers]
    for name in dict.fromkeys(patches):
        yield _one({"Wedge": "pie", "Polygon": "area", "StepPatch": "steps"}.get(name, name), "", count=patches.count(name))


def _parts(container):
    for part in container:
        if isinstance(part, tuple):
            yield from part
        else:
            yield part


def _one(kind, label, **size):
    label = "" if str(label or "").startswith("_") else text(label or "")
    return filled(type=kind, label=label, **size)


def _points(collection):
    offsets = collection.get_offsets()
    return len(offsets) if len(offsets) > 1 else len(collection.get_paths()) or None


# Plotly: a figure as sent to the browser


def plotly_figure(figure):
    layout = figure.get("layout", {})
    return filled(
        kind="plotly", title=_plotly_title(layout),
        axes=bounded((filled(axis=name.replace("axis", ""), label=_plotly_title(axis))
                      for name, axis in layout.items() if name.startswith(("xaxis", "yaxis")) and isinstance(axis, dict)), AXES_MAX),
        series=bounded((_plotly_trace(trace) for trace in figure.get("data", [])), SERIES_MAX),
    )


def _plotly_title(owner):
    title = owner.get("title")
    return text((title.get("text") if isinstance(title, dict) else title) or "")


def _plotly_trace(trace):
    sizes = [_plotly_length(trace[key]) for key in ("x", "y", "z", "values", "labels", "lat", "locations", "r") if key in trace]
    return filled(type=trace.get("type", "scatter"), mode=trace.get("mode"), label=text(trace.get("name") or ""), points=max(sizes, default=None))


def _plotly_length(values):
    if isinstance(values, dict):  # numbers in base64
        size = {"f8": 8, "i8": 8, "u8": 8, "f4": 4, "i4": 4, "u4": 4, "i2": 2, "u2": 2}.get(values.get("dtype"), 1)
        data = values.get("bdata", "")
        return (len(data) * 3 // 4 - data.count("=", -2)) // size
    return len(values) if hasattr(values, "__len__") else 1


# Altair: a Vega-Lite specification


def altair_chart(spec):
    rows = {name: len(values) for name, values in spec.get("datasets", {}).items() if isinstance(values, list)}
    return filled(kind="altair", title=_vega_title(spec), series=bounded(_vega_marks(spec, rows, None), SERIES_MAX))


def _vega_title(spec):
    title = next((part["title"] for part in (spec, *spec.get("layer", [])) if part.get("title")), "")
    title = title.get("text") if isinstance(title, dict) else title
    return text(" ".join(title) if isinstance(title, list) else title or "")


def _vega_marks(spec, rows, data):
    data = spec.get("data", data)
    if "mark" in spec:
        mark = spec["mark"]
        encoding = {channel: text(how.get("field") or how.get("aggregate") or how.get("shorthand") or how.get("value", ""))
                    for channel, how in spec.get("encoding", {}).items() if isinstance(how, dict)}
        yield filled(type=mark.get("type") if isinstance(mark, dict) else mark, encoding=filled(**encoding), points=_vega_rows(data, rows))
    for group in ("layer", "hconcat", "vconcat", "concat"):
        for part in spec.get(group, []):
            yield from _vega_marks(part, rows, data)
    if isinstance(spec.get("spec"), dict):  # facets and repetitions
        yield from _vega_marks(spec["spec"], rows, data)


def _vega_rows(data, rows):
    if not isinstance(data, dict):
        return None
    if isinstance(data.get("values"), list):
        return len(data["values"])
    return rows.get(data.get("name"))


# As text


def summary(about):
    """Describe a figure's kind, axes and series as text."""
    name = {"plotly": "Plotly figure", "altair": "Altair chart"}.get(about["kind"], about["kind"])
    lines = [f"{name}: {about['title']}" if about.get("title") else name]
    axes = [f"{axis['axis']}: {axis['label']}" for axis in about.get("axes", []) if axis.get("label")]
    if axes:
        lines.append("  axes: " + ", ".join(axes))
    for one in about.get("series", []):
        if "more" in one:
            lines.append(f"  and {one['more']} more")
            continue
        words = [one["type"], one.get("mode"), one.get("label") and repr(one["label"])]
        words += [f"{channel}={field}" for channel, field in one.get("encoding", {}).items()]
        points = one.get("points")
        lines.append("  " + " ".join(filter(None, words)) + (f", {points:,} points" if points is not None else ""))
    return "\n".join(lines)


# Styler


def styled_table(styler, max_rows=60, max_columns=20):
    """The table as the Styler formats it, in columns."""
    lines = styler.to_string(delimiter="\x1f", max_rows=max_rows, max_columns=max_columns).rstrip("\n").split("\n")
    rows = [[" ".join(cell.split()) for cell in line.split("\x1f")] for line in lines]
    widths = [max(len(row[n]) for row in rows if n < len(row)) for n in range(max(map(len, rows)))]
    return "\n".join(" ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=False)).rstrip() for row in rows)


_DESCRIBED = {
    ("pandas", "DataFrame"): (FRAME, frame),
    ("pandas", "Series"): (FRAME, series),
    ("polars", "DataFrame"): (FRAME, polars_frame),
    ("matplotlib", "Figure"): (FIGURE, matplotlib_figure),
    ("altair", "TopLevelMixin"): (FIGURE, lambda chart: altair_chart(chart.to_dict())),
}


def part(value):
    """Return the MIME type and the content of a value's description; None if the value has none."""
    for kind in type(value).__mro__[:-1]:
        described = _DESCRIBED.get((kind.__module__.partition(".")[0], kind.__name__))
        if described:
            mime, describe = described
            try:
                return mime, describe(value)
            except Exception:  # another version of the library; the value itself is shown anyway
                return None
    return None
