"""Converts HTML and SVG for readers who only see text and pictures: HTML to its text, SVG to a picture or to one line
of text.

The markup comes from the session's code, so its length is limited first, and every scan takes linear time.
"""

import html
import importlib.util
import re

from . import images

HTML_MAX = 1 << 20  # characters that are read
SVG_MAX = 4 << 20
SVG_TEXT_MAX = 300
_NAME = re.compile(r"/?([A-Za-z][A-Za-z0-9:-]*)")
_SKIPPED = frozenset({"script", "style", "template", "head", "svg", "math", "audio", "video", "object", "iframe", "noscript", "canvas"})
_SHOWN_AS = {"audio": "[audio]", "video": "[video]", "iframe": "[page in a frame]", "svg": "[drawing]", "canvas": "[drawing]", "img": "[picture]"}
_LINES = frozenset({"address", "article", "aside", "blockquote", "br", "dd", "details", "div", "dl", "dt", "figure", "footer", "form", "h1", "h2",
                    "h3", "h4", "h5", "h6", "header", "hr", "li", "main", "nav", "ol", "p", "pre", "section", "summary", "table", "tbody",
                    "thead", "title", "tr", "ul"})
_CELL = "\v"  # marks the start of a table cell
_SPACE = re.compile(r"\s+")
_SVG_SIZE = re.compile(r"""\s(width|height|viewBox)\s*=\s*["']([^"'<>]{1,100})["']""")


def html_text(page):
    """Return the text that a browser would show, or an empty string."""
    page = page[:HTML_MAX]
    lower = page.lower() if page.isascii() else "".join(c.lower() if c.isascii() else c for c in page)
    parts, at, kept = [], 0, 0  # `kept`: depth of <pre>
    while at < len(page):
        start = page.find("<", at)
        parts.append(_text(page[at : start if start >= 0 else len(page)], kept))
        if start < 0:
            break
        if page.startswith("<!--", start):
            at = _after(page, "-->", start + 4)
            continue
        name = _NAME.match(lower, start + 1)
        if not name and page[start + 1 : start + 2] not in ("!", "?"):
            parts.append("<")
            at = start + 1
            continue
        at = _after(page, ">", start + 1)
        if not name:
            continue
        tag, ends = name[1], lower[start + 1] == "/"
        if tag in _SHOWN_AS and not ends:
            parts.append(_SHOWN_AS[tag])
        if tag in _SKIPPED and not ends and page[at - 2 : at] != "/>":
            at = _after(lower, ">", _after(lower, f"</{tag}", at))
        elif tag == "pre":
            kept = max(0, kept + (-1 if ends else 1))
            parts.append("\n")
        elif tag in _LINES:
            parts.append("\n- " if tag == "li" and not ends else "\n")
        elif tag in ("td", "th") and not ends:
            parts.append(_CELL)
    lines = [line.lstrip(_CELL).replace(_CELL, "  ").rstrip() for line in "".join(parts).split("\n")]
    return "\n".join(line for n, line in enumerate(lines) if line or (n and lines[n - 1])).strip("\n")


def _after(page, what, at):
    found = page.find(what, at)
    return found + len(what) if found >= 0 else len(page)


def _text(raw, kept):
    return html.unescape(raw if kept else _SPACE.sub(" ", raw)).replace("\xa0", " ")


def svg_line(svg):
    """A description of a drawing in one line: its size and its text."""
    width, height = _svg_size(svg)
    size = f", {width:.0f} x {height:.0f}" if width and height else ""
    words = " ".join(html_text(svg[svg.find(">") + 1 :]).split())
    words = words if len(words) <= SVG_TEXT_MAX else words[: SVG_TEXT_MAX - 1] + "…"
    return f"<SVG drawing{size}>" + (f" {words}" if words else "")


def _svg_size(svg):
    start = svg.find("<svg")
    tag = svg[start : svg.find(">", start, start + 10_000)] if start >= 0 else ""
    found = dict(_SVG_SIZE.findall(tag))
    box = found.get("viewBox", "").replace(",", " ").split()
    return tuple(_number(found.get(name, "")) or _number(box[n] if n < len(box) else "") for name, n in (("width", 2), ("height", 3)))


def _number(text):
    match = re.match(r"\s*(\d{1,7}(?:\.\d{0,9})?)\s*(?:px|pt|$)", text)
    return float(match[1]) if match else 0


def svg_picture(svg):
    """Return the drawing as a PNG within the limits, or None if no library here can draw it."""
    if len(svg) > SVG_MAX or "<svg" not in svg:
        return None
    for library, draw in (("cairosvg", _draw_cairo), ("vl_convert", _draw_vega)):
        try:
            if importlib.util.find_spec(library) is not None:
                return draw(svg)
        except Exception:  # broken markup, or a library without its dependencies
            continue
    return None


def _draw_cairo(svg):
    import cairosvg

    width, height = _svg_size(svg)
    scale = min(1, images.PIXELS_MAX / max(width, height, 1))
    size = {} if width and height else {"output_width": 800}
    return cairosvg.svg2png(bytestring=svg.encode(), scale=scale, background_color="white", **size)


def _draw_vega(svg):
    import vl_convert

    return vl_convert.svg_to_png(svg)
