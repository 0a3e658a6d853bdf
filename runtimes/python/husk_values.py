"""Values that move to and from sessions of other languages (docs/design/values.md describes the file).

The manager runs give() in one session and take() in another. Whatever is in the file is hostile.
"""

import json
import math
import os
import re
import sys

BYTES_MAX = 256 << 20
HEADER_MAX = 1 << 20
COLUMNS_MAX = 10_000
PNG = b"\x89PNG\r\n\x1a\n"
WIDTHS = {"bool": 1, "int32": 4, "int64": 8, "float64": 8, "time": 8, "date": 4, "duration": 8, "category": 4}
TYPES = {"bool": "u1", "int32": "<i4", "int64": "<i8", "float64": "<f8", "time": "<i8", "date": "<i4", "duration": "<i8", "category": "<i4"}


class CannotCross(TypeError):
    """The value cannot be copied to another session."""


def _names():
    return vars(sys.modules["__main__"])


def give(name, path):
    """Write a variable to a file."""
    if name not in _names():
        raise NameError(f"there is no variable '{name}'")
    header, parts = _pack(_names()[name])
    head = json.dumps({"husk_value": 1, **header}, ensure_ascii=True).encode() + b"\n"
    size = len(head) + sum(map(len, parts))
    if len(head) > HEADER_MAX or size > BYTES_MAX:
        raise CannotCross(f"'{name}' takes {size >> 20} MB; at most {BYTES_MAX >> 20} MB can be copied as a variable. Export a file instead.")
    with open(path, "xb") as file:
        file.write(head)
        file.writelines(parts)


def take(name, path):
    """Read a variable from a file, which is deleted."""
    try:
        if not name.isidentifier():
            raise CannotCross(f"'{name}' is not a name of a variable in Python")
        with open(path, "rb") as file:
            data = file.read(BYTES_MAX + 1)
    finally:
        os.unlink(path)
    value = _unpack(data)
    _names()[name] = value


# Out ----------------------------------------------------------------------------------------------------------------


def _pack(value):
    pandas, numpy = sys.modules.get("pandas"), sys.modules.get("numpy")
    if pandas is None and not isinstance(value, (str, int, float, bytes, type(None))) and callable(getattr(type(value), "to_pandas", None)):
        import pandas
    if callable(getattr(type(value), "to_pandas", None)):  # polars, pyarrow
        value = value.to_pandas()
    if pandas is not None and isinstance(value, pandas.DataFrame):
        return _pack_frame(value, pandas)
    if pandas is not None and isinstance(value, (pandas.Series, pandas.Index)):
        return _columns("vector", [("", value)], len(value))
    if numpy is not None and isinstance(value, numpy.ndarray) and value.ndim:
        return _pack_array(value, numpy)
    picture = _picture(value)
    if picture is not None:
        return {"kind": "png"}, [picture]
    if isinstance(value, (bytes, bytearray, memoryview)):
        data = bytes(value)
        return {"kind": "png" if data.startswith(PNG) else "bytes"}, [data]
    if numpy is not None and isinstance(value, numpy.generic):
        value = value.item()
    return {"kind": "json"}, [json.dumps(_plain(value, "the value", 0), ensure_ascii=False, allow_nan=False).encode()]


def _picture(value):
    """Return a figure or an image as PNG; None for anything else."""
    from io import BytesIO

    figure, image, out = sys.modules.get("matplotlib.figure"), sys.modules.get("PIL.Image"), BytesIO()
    if figure is not None and isinstance(getattr(value, "figure", value), figure.Figure):
        getattr(value, "figure", value).savefig(out, format="png")
    elif image is not None and isinstance(value, image.Image):
        value.save(out, "PNG")
    else:
        return None
    return out.getvalue()


def _plain(value, where, depth):
    """Return the value for JSON. Raises CannotCross with the place of anything that JSON does not have."""
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, int):
        if abs(value) >= 1 << 63:
            raise CannotCross(f"{where} is an integer beyond 64 bits, which other languages do not have. Convert it to text.")
        return int(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise CannotCross(f"{where} is {value}, which JSON does not have. Use None, or a numpy array.")
        return float(value)
    if depth > 100:
        raise CannotCross(f"{where[:100]}… is nested too deeply, or contains itself")
    if isinstance(value, dict):
        for key in value:
            if not isinstance(key, str):
                raise CannotCross(f"{where} has a key of the type {type(key).__name__}; only text can be a key")
        return {key: _plain(one, f"{where}[{key!r:.50}]", depth + 1) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(one, f"{where}[{i}]", depth + 1) for i, one in enumerate(value)]
    if type(value).__module__ == "numpy" and hasattr(value, "tolist"):
        return _plain(value.tolist(), where, depth + 1)
    raise CannotCross(f"{where} is of the type {type(value).__name__}, which other languages do not have. "
                      "Frames, arrays, pictures, bytes, and dicts and lists of numbers and text can be copied.")


def _pack_frame(frame, pandas):
    if isinstance(frame.columns, pandas.MultiIndex):
        raise CannotCross("the frame has columns with several levels. Give each column one name.")
    if not (isinstance(frame.index, pandas.RangeIndex) and frame.index.start == 0 and frame.index.step == 1):
        frame = frame.reset_index()
    names = [str(name) for name in frame.columns]
    if len(set(names)) < len(names):
        raise CannotCross("the frame has two columns of the same name")
    if len(names) > COLUMNS_MAX:
        raise CannotCross(f"the frame has {len(names)} columns; at most {COLUMNS_MAX} can be copied")
    return _columns("frame", [(name, frame.iloc[:, i]) for i, name in enumerate(names)], len(frame))


def _pack_array(array, numpy):
    import pandas

    if array.dtype.names or array.dtype.kind not in "biufMmUO":
        raise CannotCross(f"an array of {array.dtype} cannot be copied")
    if array.dtype.kind == "U":
        array = array.astype(object)
    header, parts = _columns("vector", [("", pandas.Series(array.ravel(order="F")))], array.size)
    if array.ndim > 1:
        header["shape"] = list(array.shape)
    return header, parts


def _columns(kind, columns, rows):
    described, parts = [], []
    for name, column in columns:
        description, data = _column(column, f"the column '{name}'" if kind == "frame" else "the value")
        described.append({"name": name, **description})
        parts += data
    return {"kind": kind, "rows": rows, "columns": described}, parts


def _column(column, where):
    """Return a column's description and its data."""
    import numpy
    import pandas

    column = pandas.Series(column).reset_index(drop=True)
    dtype, missing = column.dtype, column.isna().to_numpy(dtype=bool)
    if isinstance(dtype, pandas.CategoricalDtype):
        levels = [str(level) for level in dtype.categories]
        if sum(map(len, levels)) < HEADER_MAX // 16:
            return {"type": "category", "levels": levels, "ordered": bool(dtype.ordered)}, [column.cat.codes.to_numpy("<i4").tobytes()]
        column = column.astype(object)
        dtype = column.dtype
    more, nulls = {}, missing
    if isinstance(dtype, pandas.DatetimeTZDtype) or dtype.kind == "M":
        if isinstance(dtype, pandas.DatetimeTZDtype):
            more["zone"] = str(dtype.tz)
            column = column.dt.tz_convert("UTC").dt.tz_localize(None)
        kind, data = "time", column.to_numpy("datetime64[us]").astype("<i8")
    elif dtype.kind == "m":
        kind, data = "duration", column.to_numpy("timedelta64[us]").astype("<i8")
    elif dtype.kind == "b":
        kind, data = "bool", column.fillna(False).to_numpy("u1")
    elif dtype.kind in "iu":
        filled = column.fillna(0)
        if dtype.kind == "u" and len(filled) and int(filled.max()) >= 1 << 63:
            raise CannotCross(f"{where} has integers beyond 63 bits")
        kind = "int64" if dtype.itemsize > 4 or (dtype.kind == "u" and dtype.itemsize == 4) else "int32"
        data = filled.to_numpy(TYPES[kind])
    elif dtype.kind == "f":
        kind, data = "float64", column.to_numpy("<f8", na_value=float("nan"))
        nulls = missing if pandas.api.types.is_extension_array_dtype(dtype) else missing & False
    else:
        return _objects(column, missing, where, numpy)
    head = {"type": kind, "nulls": bool(nulls.any()), **more}
    data = numpy.where(nulls, 0, data).astype(TYPES[kind]) if head["nulls"] else data
    return head, [(~nulls).astype("u1").tobytes()] * head["nulls"] + [data.tobytes()]


def _objects(column, missing, where, numpy):
    """A column of Python's objects, which must all be text, booleans or dates."""
    import datetime

    values = [None if gone else value for value, gone in zip(column, missing)]
    kinds = {type(value) for value in values if value is not None}
    valid = [(~missing).astype("u1").tobytes()] if missing.any() else []
    head = {"nulls": bool(valid)}
    if kinds == {bool}:
        return {"type": "bool", **head}, [*valid, bytes(bool(value) for value in values)]
    if kinds == {datetime.date}:
        days = [value.toordinal() - 719163 if value else 0 for value in values]
        return {"type": "date", **head}, [*valid, numpy.array(days, "<i4").tobytes()]
    for kind in kinds:
        if not issubclass(kind, str):
            raise CannotCross(f"{where} has values of the type {kind.__name__}, which cannot be copied. Convert them to numbers or text.")
    texts = [(value or "").encode("utf-8", "replace") for value in values]
    ends = numpy.cumsum([0, *map(len, texts)])
    if ends[-1] > BYTES_MAX:
        raise CannotCross(f"{where} has more than {BYTES_MAX >> 20} MB of text")
    return {"type": "text", "size": int(ends[-1]), **head}, [*valid, ends.astype("<u4").tobytes(), b"".join(texts)]


# In -----------------------------------------------------------------------------------------------------------------


class _Damaged(ValueError):
    def __init__(self):
        super().__init__("the other session sent a value that is damaged")


def _unpack(data):
    end = data.find(b"\n", 0, HEADER_MAX)
    try:
        header = json.loads(data[:end]) if end > 0 and len(data) <= BYTES_MAX else None
        kind = header["kind"] if header["husk_value"] == 1 else None
        body = memoryview(data)[end + 1:]
        if kind == "json":
            return json.loads(bytes(body))
        if kind == "bytes":
            return bytes(body)
        if kind == "png":
            return _open_picture(bytes(body))
        if kind in ("frame", "vector"):
            return _read_columns(header, body)
    except (TypeError, KeyError, RecursionError, ValueError, OverflowError) as error:
        raise _Damaged from error
    raise _Damaged


def _open_picture(data):
    try:
        from io import BytesIO

        from PIL import Image
    except ImportError:
        return data
    if not data.startswith(PNG):
        raise _Damaged
    return Image.open(BytesIO(data))


class _Reader:
    def __init__(self, body):
        self._body, self._at = body, 0

    def take(self, size):
        if type(size) is not int or size < 0 or self._at + size > len(self._body):
            raise _Damaged
        self._at += size
        return self._body[self._at - size:self._at]


def _read_columns(header, body):
    rows, columns, reader = header["rows"], header["columns"], _Reader(body)
    if type(rows) is not int or not 0 <= rows <= BYTES_MAX or type(columns) is not list or len(columns) > COLUMNS_MAX:
        raise _Damaged
    try:
        import pandas
    except ImportError:
        raise CannotCross("frames and vectors need pandas, which this session does not have") from None
    read = [(column["name"], _read_column(column, rows, reader, pandas)) for column in columns]
    if header["kind"] == "vector":
        return _vector(read[0][1], columns[0], header.get("shape"))
    for name, _ in read:
        if type(name) is not str:
            raise _Damaged
    return pandas.DataFrame(dict(read), index=pandas.RangeIndex(rows))


def _vector(series, column, shape):
    if column["type"] == "text":
        return [None if value is None else value for value in series]
    if column["type"] in ("bool", "int32", "int64", "float64") and not column.get("nulls"):
        array = series.to_numpy()
        return array if shape is None else array.reshape([_size(one) for one in shape], order="F")
    return series


def _size(one):
    if type(one) is not int or one < 0:
        raise _Damaged
    return one


def _read_column(column, rows, reader, pandas):
    import numpy

    kind = column["type"]
    valid = numpy.frombuffer(reader.take(rows), "u1") != 0 if column.get("nulls") else numpy.ones(rows, bool)
    if kind == "text":
        return pandas.Series(_texts(reader, rows, column["size"], valid, numpy), dtype=object)
    data = numpy.frombuffer(reader.take(rows * WIDTHS[kind]), TYPES[kind])
    if kind == "category":
        levels = column["levels"]
        if type(levels) is not list or not all(type(level) is str for level in levels) or (len(data) and int(data.max()) >= len(levels)):
            raise _Damaged
        return pandas.Series(pandas.Categorical.from_codes(numpy.maximum(data, -1), levels, ordered=bool(column.get("ordered"))))
    if kind in ("time", "duration", "date"):
        unit = "datetime64[us]" if kind == "time" else "timedelta64[us]" if kind == "duration" else "datetime64[D]"
        series = pandas.Series(data.astype("<i8").view(unit).astype(unit if kind != "date" else "datetime64[s]"))
        series[~valid] = pandas.NaT
        zone = column.get("zone")
        if kind == "time" and type(zone) is str and re.fullmatch(r"[A-Za-z0-9_+/:-]{1,64}", zone):
            series = _in_zone(series.dt.tz_localize("UTC"), zone)
        return series
    series = pandas.Series(data.astype(bool) if kind == "bool" else data.copy())
    if valid.all():
        return series
    extension = {"bool": "boolean", "int32": "Int32", "int64": "Int64", "float64": "Float64"}[kind]
    if kind == "float64":
        series[~valid] = float("nan")
        return series
    series = series.astype(extension)
    series[~valid] = pandas.NA
    return series


def _in_zone(series, zone):
    try:
        return series.dt.tz_convert(zone)
    except Exception:  # this session does not know the zone
        return series


def _texts(reader, rows, size, valid, numpy):
    ends = numpy.frombuffer(reader.take(4 * (rows + 1)), "<u4").astype("<i8")
    data = bytes(reader.take(size))
    if (ends[1:] < ends[:-1]).any() or ends[0] != 0 or ends[-1] != size:
        raise _Damaged
    return [data[start:end].decode("utf-8", "replace") if there else None for start, end, there in zip(ends[:-1], ends[1:], valid)]
