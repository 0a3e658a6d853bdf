"""Converts the MIME bundles of Python objects to the link's format (docs/protocol.md, section 2)."""

import base64
import json
import math
import re

from . import images, markup
from .errors import shorten
from .link import Base64
from .text import valid_text

TEXT_MAX = 1 << 20  # characters of text/plain
SPOKEN_MAX = 10_000  # characters of another form that replaces text/plain
PAGE_MAX = 2000  # characters, if that form is the text of an html page
JSON_DEPTH_MAX = 200
INT_MAX = (1 << 63) - 1  # some JSON parsers cannot read larger integers
_SAYS_NOTHING = re.compile(r"<[\w.<>]+ object(?: at 0x[0-9a-f]+)?>")
_BASE64_LETTERS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/="


def _is_json(mime):
    return mime == "application/json" or mime.endswith("+json")


def _is_text(mime):
    return mime.startswith("text/") or mime.endswith(("+xml", "/javascript", "/xml"))


def _jsonable(value, depth=0):
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return valid_text(value)
    if isinstance(value, int):
        return int(value) if -INT_MAX <= value <= INT_MAX else str(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if depth < JSON_DEPTH_MAX:
        if isinstance(value, dict):
            return {valid_text(str(k)): _jsonable(v, depth + 1) for k, v in value.items()}
        if isinstance(value, (list, tuple)):
            return [_jsonable(v, depth + 1) for v in value]
    if isinstance(value, (bytes, bytearray)):
        return base64.b64encode(value).decode()
    if hasattr(value, "tolist"):  # numpy arrays and scalars
        return _jsonable(value.tolist(), depth + 1)
    return valid_text(str(value))


def _entry(mime, value):
    if _is_json(mime):
        return _jsonable(value)
    if isinstance(value, (list, tuple)) and all(isinstance(line, str) for line in value):
        value = "".join(value)
    if _is_text(mime):
        if isinstance(value, (bytes, bytearray)):
            value = value.decode("utf-8", "replace")
        return valid_text(value if isinstance(value, str) else str(value))
    if isinstance(value, (bytes, bytearray, memoryview)):
        return Base64(base64.b64encode(value))
    text = "".join(valid_text(str(value)).split())  # base64 already, perhaps with line breaks
    letters = text.encode()
    return text if letters.translate(None, _BASE64_LETTERS) else Base64(letters)


def _plain(text):
    return shorten(text, TEXT_MAX, "characters (print a part of it, or write it to a file in /workspace)")


def _spoken(bundle):
    """Return a readable form to replace a text/plain that is missing or only names the object's type."""
    for mime, told in _SPOKEN:
        form = told(bundle[mime]) if mime in bundle else ""
        if form:
            return shorten(form, PAGE_MAX if mime == "text/html" else SPOKEN_MAX)
    return bundle.get("text/plain")


def _same(form):
    return form if isinstance(form, str) else json.dumps(form, ensure_ascii=False)


_SPOKEN = (("text/markdown", _same), ("text/latex", _same), ("application/json", _same), ("image/svg+xml", markup.svg_line),
           ("text/html", markup.html_text))


def clean(data):
    """Return a copy of a bundle that the link accepts, unless it is too long."""
    if len(data) == 1 and type(text := data.get("text/plain")) is str:  # most values
        if len(text) > TEXT_MAX or not text.isascii() or "\0" in text:
            text = _plain(valid_text(text))
        return {"text/plain": text}
    bundle = {}
    for mime, value in data.items():
        if value is not None and isinstance(mime, str) and mime.isprintable():
            bundle[valid_text(mime)] = _entry(mime, value)
    if "image/svg+xml" in bundle and not {"image/png", "image/jpeg"} & bundle.keys():
        picture = markup.svg_picture(bundle["image/svg+xml"])
        if picture:
            bundle["image/png"] = Base64(base64.b64encode(picture))
    if "image/png" in bundle:
        bundle.pop("image/jpeg", None)  # PIL offers its images as both
    for mime in ("image/png", "image/jpeg"):
        if type(bundle.get(mime)) is Base64:
            kind, encoded = images.fit(mime, bundle.pop(mime))
            bundle[kind] = Base64(encoded)
    plain = bundle.get("text/plain")
    if (plain is None and "image/svg+xml" in bundle) or (plain and len(bundle) > 1 and _SAYS_NOTHING.fullmatch(plain)):
        plain = _spoken(bundle)
    if plain is not None:
        bundle["text/plain"] = _plain(plain)
    return bundle


def drop_largest(bundle):
    """Removes the largest part of a bundle that is too long for one message, and adds a note about that."""
    sizes = {mime: len(value) if type(value) is Base64 else len(json.dumps(value))
             for mime, value in bundle.items() if mime != "text/plain"}
    largest = max(sizes, key=sizes.get)
    del bundle[largest]
    note = (
        f"[{largest} of {sizes[largest]:,} bytes left out: one output holds 12 MiB at most. "
        "Write it to a file in /workspace and export that.]"
    )
    text = bundle.get("text/plain")
    bundle["text/plain"] = f"{text}\n{note}" if text else note
